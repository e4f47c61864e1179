//! The decision whether an append to shards is committed: kept on the Spider server, in a table beside the
//! target.
//!
//! ```text
//! begun --decide--> decided --(every branch is committed)--> done --> forgotten, or told
//!   '-----give up-> given up --(every branch is rolled back)--> forgotten
//! ```
//!
//! Both arrows out of `begun` are one UPDATE of one row that must still exist: the first to come, the loader
//! or, after it was lost, a clean-up, has decided for all. The work of a decision can be done again, from any
//! machine. A decision that others than its own command carried out stays as told, so that this command does
//! not add the rows again.

use schema::TableName;
use server::error::{Error, Result};
use server::identifier::quote_text;
use server::session::{Row, Session};
use targets::Names;
use targets::torn::rows_if_there;

use crate::branches::{Branch, settle, settled};
use crate::map::Shard;

/// The line that is the append itself, before those of its branches.
const JOB_LINE: i64 = -1;
const COLUMNS: &str =
    "job, branch, state, row_count, duplicates, home_partition, server, address, db, tbl, note";

/// How far an append is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing of it stays if its loader is gone.
    Begun,
    /// It is to be rolled back.
    GivenUp,
    /// It is to be committed.
    Decided,
    /// All of it is committed.
    Done,
    /// And nothing is left of it; its own command has not heard of it.
    Told,
}

/// An append, as it is written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Append {
    /// Its name, and that of its branches.
    pub(crate) job: String,
    /// How far it is.
    pub(crate) state: State,
    /// Rows that went in, or replaced others; known once it is decided.
    pub(crate) rows: u64,
    /// Rows that were left out, or replaced others.
    pub(crate) duplicates: u64,
    /// The identity of two equal appends: files and options.
    pub(crate) input: String,
    /// One a shard.
    pub(crate) branches: Vec<Branch>,
}

/// The table on the head.
#[derive(Clone, Debug)]
pub(crate) struct Decisions {
    table: TableName,
}

impl State {
    const ALL: [State; 5] =
        [State::Begun, State::GivenUp, State::Decided, State::Done, State::Told];

    fn name(self) -> &'static str {
        match self {
            State::Begun => "begun",
            State::GivenUp => "given up",
            State::Decided => "decided",
            State::Done => "done",
            State::Told => "told",
        }
    }

    fn read(name: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.name() == name)
    }
}

impl Decisions {
    /// That of a target; it need not be there.
    pub(crate) fn of(names: &Names) -> Decisions {
        Decisions { table: names.appends.clone() }
    }

    /// Its name.
    pub(crate) fn table(&self) -> &TableName {
        &self.table
    }

    /// All that is written down.
    ///
    /// Errors: the server's; [`Error::Leftover`] of what no load writes.
    pub(crate) fn read(&self, session: &mut Session) -> Result<Vec<Append>> {
        let base = self.table.base();
        let sql = format!("SELECT {COLUMNS} FROM {base} ORDER BY job, branch");
        let rows = rows_if_there(session, &self.table, |session| session.query(&sql))?;
        let mut all: Vec<Append> = Vec::new();
        for row in &rows {
            let job = row.text(0)?;
            if row.number::<i64>(1)? == JOB_LINE {
                all.push(self.append(row, job)?);
                continue;
            }
            let Some(append) = all.last_mut().filter(|append| append.job == job) else {
                return Err(self.strange(&job));
            };
            let text = |at| row.text_or_null(at).map(Option::unwrap_or_default);
            append.branches.push(Branch {
                job,
                number: row.number(1)?,
                shard: Shard {
                    partition: text(5)?,
                    server: text(6)?,
                    address: text(7)?,
                    table: TableName::new(text(8)?, text(9)?),
                },
            });
        }
        Ok(all)
    }

    fn append(&self, row: &Row, job: String) -> Result<Append> {
        let state = State::read(&row.text(2)?).ok_or_else(|| self.strange(&job))?;
        Ok(Append {
            job,
            state,
            rows: row.number(3)?,
            duplicates: row.number(4)?,
            input: row.text_lossy(10),
            branches: Vec::new(),
        })
    }

    fn strange(&self, job: &str) -> Error {
        Error::Leftover(format!("{} has an entry for {job} that no load writes", self.table))
    }

    /// Writes an append down, before anything of it is on a shard.
    pub(crate) fn begin(&self, session: &mut Session, append: &Append) -> Result<()> {
        session.exec(&format!(
            "CREATE TABLE IF NOT EXISTS {} (\
             job CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, \
             branch INT NOT NULL, \
             state VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, \
             row_count BIGINT UNSIGNED NOT NULL, \
             duplicates BIGINT UNSIGNED NOT NULL, \
             home_partition TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, \
             server TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, \
             address TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, \
             db TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, \
             tbl TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, \
             note LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, \
             PRIMARY KEY (job, branch)) ENGINE=InnoDB \
             COMMENT='appends to shards by inrush that have not ended'",
            self.table.quoted()
        ))?;
        let (job, state) = (quote_text(&append.job), append.state.name());
        let note = quote_text(&append.input);
        let mut lines = vec![format!(
            "({job}, {JOB_LINE}, '{state}', 0, 0, NULL, NULL, NULL, NULL, NULL, {note})"
        )];
        for Branch { number, shard, .. } in &append.branches {
            let Shard { partition, server, address, table } = shard;
            let words = [partition, server, address, &table.database, &table.table];
            let words = words.map(|word| quote_text(word)).join(", ");
            lines.push(format!("({job}, {number}, '{state}', 0, 0, {words}, NULL)"));
        }
        let (table, lines) = (self.table.quoted(), lines.join(", "));
        let insert = format!("INSERT INTO {table} ({COLUMNS}) VALUES {lines}");
        let label = "INSERT of an append to shards";
        session.write_to(&self.table, |session| session.exec_rows(&insert, label))?;
        settle(session, &self.table)
    }

    /// Decides that an append is to be, if nobody has given it up; says how far it is now. May be asked
    /// again where the answer was lost.
    pub(crate) fn decide(&self, session: &mut Session, append: &Append) -> Result<State> {
        let counts = format!(", row_count={}, duplicates={}", append.rows, append.duplicates);
        self.turn(session, &append.job, State::Begun, State::Decided, &counts)
    }

    /// Decides that an append is not to be, if nobody has decided; says how far it is now.
    pub(crate) fn give_up(&self, session: &mut Session, job: &str) -> Result<State> {
        self.turn(session, job, State::Begun, State::GivenUp, "")
    }

    /// All branches are committed.
    pub(crate) fn done(&self, session: &mut Session, job: &str) -> Result<()> {
        self.turn(session, job, State::Decided, State::Done, "").map(drop)
    }

    /// Nothing is left of an append that was done, of which its own command is to hear.
    pub(crate) fn tell(&self, session: &mut Session, job: &str) -> Result<()> {
        self.turn(session, job, State::Done, State::Told, "").map(drop)
    }

    /// Turns an append that is `from` one state to another; gives the one that it is in then. Durable.
    fn turn(
        &self,
        session: &mut Session,
        append: &str,
        from: State,
        to: State,
        more: &str,
    ) -> Result<State> {
        let (table, job) = (self.table.quoted(), quote_text(append));
        let line = format!("WHERE job={job} AND branch={JOB_LINE}");
        let sql = format!(
            "UPDATE {table} SET state='{}'{more} {line} AND state='{}'",
            to.name(),
            from.name()
        );
        session.write_to(&self.table, |session| session.exec(&sql))?;
        settle(session, &self.table)?;
        self.state(session, append)
    }

    /// How far an append is. One that is gone was cleaned up after: then it was given up.
    pub(crate) fn state(&self, session: &mut Session, job: &str) -> Result<State> {
        let (base, name) = (self.table.base(), quote_text(job));
        let line = format!("WHERE job={name} AND branch={JOB_LINE}");
        let state = session.query_text(&format!("SELECT state FROM {base} {line}"))?;
        state.map_or(Ok(State::GivenUp), |state| {
            State::read(&state).ok_or_else(|| self.strange(job))
        })
    }

    /// Forgets an append, and removes the table if there is no other in it. Does nothing the second time.
    pub(crate) fn forget(&self, session: &mut Session, job: &str) -> Result<()> {
        let (table, job) = (self.table.quoted(), quote_text(job));
        let delete = format!("DELETE FROM {table} WHERE job={job}");
        let is_there = rows_if_there(session, &self.table, |session| {
            session.write_to(&self.table, |session| session.exec(&delete)).map(|_| true)
        })?;
        if !is_there {
            return Ok(());
        }
        let base = self.table.base();
        let others = session.query_text(&format!("SELECT COUNT(*) FROM {base}"))?;
        if others.as_deref() == Some("0") {
            self.drop(session)?;
        }
        Ok(())
    }

    /// Forgets all of them.
    pub(crate) fn drop(&self, session: &mut Session) -> Result<()> {
        let tables = format!("{}, {}", self.table.quoted(), settled(&self.table).quoted());
        session.exec(&format!("DROP TABLE IF EXISTS {tables}"))?;
        Ok(())
    }
}
