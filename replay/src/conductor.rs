//! Which statement may run when.
//!
//! What it uses of its neighbours, as they land (all `pub(crate)`):
//!
//! ```text
//! // sources::sql
//! SqlReader::open(files: &[PathBuf], temp_dir: &Path, statement_bytes_max: usize) -> Result<SqlReader>
//! reader.next(&mut self) -> Result<Option<Statement>>
//! reader.set_modes(no_backslash_escapes: bool, ansi_quotes: bool)    if SET sql_mode is beyond it
//! reader.rest(self/&mut self) -> Result<Statement>                   the INSERT before us, whole
//! reader.skip_rows(&mut self) -> Result<()>                          the rest of this run, not sent
//! reader.into_run(head, chunk_bytes) -> Result<(RowRun, Handback)>   handback.wait() -> Result<SqlReader>
//! reader.bytes_read() / bytes_total() -> u64 / Option<u64>           of the files, for progress
//! run.place() -> RunPlace;  place.open(chunk_bytes) -> Result<RowRun>
//! run.is_longer_than(&mut self, bytes: usize) -> Result<bool>        reads ahead, keeps what it read
//! run.statements() -> iterator or next_statement() -> Result<Option<Vec<u8>>>   whole ones, for serial
//!
//! // rows.rs, lanes.rs: by Work (work.rs); the run is used up, `RunPlace` opens it again
//! rows::load(work: &Work<'_>, run: RowRun) -> Result<Sent, Stopped>
//! lanes::send(work: &Work<'_>, run: RowRun) -> Result<Sent, Stopped>
//! lanes::serial(work: &Work<'_>, run: RowRun, session: &mut Session) -> Result<Sent, Stopped>
//!
//! // table.rs: `Sessions { dump, own }` is in sessions.rs: `dump` runs the dump's statements, under
//! // the dump's settings, `own` is ours: utf8mb4, strict
//! Tables::new(&ReplayOptions) -> Tables
//! tables.hold_drop(&Statement, TableName)                            the DROP waits for its CREATE
//! tables.held_drop() -> Option<&TableName>; tables.run_held_drop(&mut Sessions) -> Result<(), Error>
//! tables.create(&mut Sessions, &Statement, TableName) -> Result<Created, Error>
//!     enum Created { Shadow, AsItIs(why), Exists }                   AsItIs: not done, run it as it is
//! tables.shadow(&TableName) -> Option<&Shadow>                       in our hands, not published
//!     Shadow: Clone { name: TableName (of the shadow), .. }; shadow.remake(&self, &mut Session)
//! tables.publish(&mut Sessions, &[TableName]) -> Result<(), Error>   rows are in: the swap, and the
//!                                                                    foreign keys that can be added
//! tables.finish(&mut Sessions) -> Result<(), Error>                  all of them, --atomic's RENAME
//! tables.abandon(&mut Session)                                       what is not published goes
//! Tables::clean(&mut Session, ..)                                    what a killed replay left
//!
//! // journal.rs: Place { part, file: u32, offset: u64 } of a statement
//! Journal::begin(&ReplayOptions, server: &str, dump: &Dump) -> Result<Journal, Error>
//! journal.is_done(Place) -> bool; journal.is_table_done(&TableName) -> bool
//! journal.barrier(Place) / journal.table(&TableName) -> Result<(), Error>; journal.end(self)
//!
//! // names.rs
//! Names::new(&ReplayOptions) -> Result<Names, Error>
//! names.table(&ObjectName as strings, current database) -> TableName; names.wants(&TableName) -> bool
//! names.rewrite(&Statement) -> Option<Vec<u8>>                       --into: its text, other databases
//!
//! // dump.rs
//! Dump::open(&Path) -> Result<Dump, Error> { parts: Vec<Part>, notes: Vec<String>, bytes_total }
//!     enum Part { Sql { files, database: Option<String>, prelude: Vec<String> },
//!                 Rows { table: TableName, files, how: Delimited -> LoadOptions } }
//! ```
