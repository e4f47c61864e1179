//! `inrush load --into DB` and `inrush plan --into DB`: several tables in one command.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use encode::mapped::Share;
use load::several::files::{FileMap, TableFiles, in_folder, shared_folder, tables_of};
use load::several::{check_several, give_statements};
use load::{
    CommandLine, LinesOf, LinesReport, LoadOptions, Plan, Progress, SeveralPlan, SeveralReport,
};
use schema::TableName;
use sources::Preset;
use terminal::failure::{Failure, REJECTS, USAGE};
use terminal::signals;
use terminal::size::{count, group, show};

use crate::args::{LoadArgs, WrittenArgs, said_of};
use crate::html::{self, ReportFile};
use crate::job_file::JobFile;
use crate::load::{detail, options_but_ddl, read_ddl, refuse_unwritten, tell_dialect};
use crate::print::Detail;
use crate::watch::{Totals, Watch};
use crate::{connect, dialect, files, guess, input, left_keys, print, proof, sniff, tuned};

/// Loads, and prints the report.
pub(crate) fn run(args: &LoadArgs, database: &str, watch: &Watch) -> Result<u8, Failure> {
    let Meant { mut tables, lines } = meant(args, database)?;
    files::check_load(args, &tables)?;
    args.report.as_deref().map_or(Ok(()), html::check)?;
    check_several(&tables)?;
    note_command(&mut tables, args);
    let server = connect::meant(&args.connect)?;
    let has_statements = args.create || tables.iter().any(|table| table.ddl.is_some());
    if !server.is_made() && !has_statements {
        return Err(no_tables(database));
    }
    let visit = server.resolve(args.quiet)?;
    let server = watch.label(visit.connect.clone());
    left_keys::carry_over(&server, args.state_dir.as_deref());
    ::load::evaluate_expressions(&server, &mut tables)?;
    guess::guess(args, &server, &mut tables)?;
    if args.is_verbose() && args.format.dialect.is_none() {
        tell_dialects(&tables);
    }
    files::tell_notes(args, &tables)?;
    signals::watch(&tables[0].interrupt, signals::LOADED, args.quiet)?;
    let server = proof::before_load(server, &args.untested, &tables[0], |server| {
        let is_known = lines.is_none() && tables.iter().all(proof::may_be_planned);
        let planned = || spider::plan_several(server, &tables, args.each);
        Ok(!is_known || planned()?.tables.iter().any(Plan::is_direct))
    })?;
    let load = |progress: &dyn Progress| match &lines {
        Some(lines) => load::load_lines(&server, &tables, lines, progress),
        None if args.each => spider::load_each(&server, &tables, progress),
        None => load::load_several(&server, &tables, progress),
    };
    let report = |path| ReportFile::create(path, &tables[0], database, &server);
    let file = args.report.as_deref().map(report).transpose()?;
    let outcome = html::recorded(file, watch.progress(), load);
    let report = outcome.map_err(failed)?;
    watch.totals(Totals { rows: report.rows, bytes: Some(report.bytes), rejected: report.rejects });
    // The rows are in, whether or not anybody can be told.
    print::tell_unprinted("load", show_report(&mut terminal::lines(), args, &report));
    report.warnings.iter().for_each(|warning| tell!("inrush: warning: {warning}"));
    let rejects = if report.rejects > 0 { REJECTS } else { 0 };
    Ok(tell_tables(&report.tables).unwrap_or(rejects))
}

/// Tells the warnings of loaded tables, and gives the exit status of foreign keys and triggers that are left.
fn tell_tables(tables: &[load::Report]) -> Option<u8> {
    for warning in tables.iter().flat_map(|table| &table.warnings) {
        tell!("inrush: warning: {warning}");
    }
    // With --each it is the job of the table.
    let is_left = |table: &&load::Report| {
        !table.foreign_keys_left.is_empty() || !table.triggers_left.is_empty()
    };
    let job = tables.iter().find(is_left).map_or("", |table| table.job.as_str());
    left_keys::tell(job, tables)
}

/// The failure of a load, behind what there is to say of tables that were loaded before it.
fn failed(error: load::Error) -> Failure {
    let mut are_kept = false;
    if let load::Error::Each { table, done, .. } = &error {
        done.iter().map(print::left_out).for_each(print::tell_left_out);
        tell_tables(done);
        are_kept = load::leave_jobs(table);
    }
    let mut failure = Failure::of_load(error);
    if are_kept {
        failure.text += "; the same command loads the missing tables only, as long as the files \
                         of loaded tables are unchanged";
    }
    failure
}

/// Prints what a load would do; touches nothing.
pub(crate) fn plan(args: &LoadArgs, database: &str) -> Result<u8, Failure> {
    refuse_unwritten(&["report", "metrics"])?;
    let Meant { mut tables, lines } = meant(args, database)?;
    files::check_load(args, &tables)?;
    let Ok(visit) = connect::visit(&args.connect)? else { return Err(no_tables(database)) };
    tuned::recover(&visit.connect, args.state_dir.as_deref());
    ::load::evaluate_expressions(&visit.connect, &mut tables)?;
    guess::guess(args, &visit.connect, &mut tables)?;
    let (server, note) = proof::foresee(&visit.connect, &args.untested, &tables[0])?;
    let mut plan = spider::plan_several(&server, &tables, args.each)?;
    plan.notes.extend(note.filter(|_| plan.tables.iter().any(Plan::is_direct)));
    plan.notes.extend(lines.as_ref().and_then(|lines| entities_note(lines, &tables)));
    plan.notes.extend(left_keys::found(&visit.connect));
    print::result(args, &plan, |mut out| show_plan(&mut out, &plan))?;
    Ok(if plan.is_open() { 0 } else { USAGE })
}

/// The note on entities, which a plan cannot count, since it reads the first lines only.
fn entities_note(lines: &LinesOf, tables: &[LoadOptions]) -> Option<String> {
    let entities = lines.mappings.iter().zip(tables).filter(|(of, _)| of.entity.is_some());
    let names: Vec<&str> = entities.map(|(_, options)| options.table.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "estimates count one row of {} for each line; the number of entities is known only \
             after all lines are read",
            names.join(", ")
        )
    })
}

fn no_tables(database: &str) -> Failure {
    Failure::usage(format!(
        "there are no tables in {database} yet: create the private server with `inrush sandbox \
         start`, or with a load with --create or --ddl FILE"
    ))
}

/// The tables to load.
pub(crate) struct Meant {
    /// The options of each table.
    pub(crate) tables: Vec<LoadOptions>,
    /// The part of each line for each table, if a job file declares it.
    pub(crate) lines: Option<LinesOf>,
}

pub(crate) fn meant(args: &LoadArgs, database: &str) -> Result<Meant, Failure> {
    match &args.job {
        Some(path) => tables_of_job(args, database, &JobFile::read(path)?),
        None => Ok(Meant { tables: tables(args, database)?, lines: None }),
    }
}

/// The options of each table.
fn tables(args: &LoadArgs, database: &str) -> Result<Vec<LoadOptions>, Failure> {
    if args.format.columns.is_some() {
        return Err(Failure::usage(format!(
            "--columns is for one table, but --into {database} is for several: --header takes the \
             names from the first line of each file; or use --into {database}.TABLE"
        )));
    }
    let maps = args.map.iter().map(|map| FileMap::parse(map)).collect::<Result<Vec<_>, _>>()?;
    input::open_urls(&args.files)?;
    let (mut files, mut listed) = (Vec::new(), HashSet::new());
    for path in &args.files {
        match path.is_dir() {
            true => {
                let found = in_folder(path)?;
                listed.extend(found.iter().cloned());
                files.extend(found);
            }
            false => files.append(&mut input::files_of(&input::in_folder_of_store(path))?),
        }
    }
    let tables = tables_of(&files, database, &maps)?;
    check_said(args, &tables)?;
    let mut all: Vec<LoadOptions> = Vec::new();
    for TableFiles { table, files } in tables {
        check_endings(args, &table, &files)?;
        let target = TableName::new(database, table.as_str());
        let below =
            shared_folder(&files).filter(|_| files.iter().all(|file| listed.contains(file)));
        let mut options = options_but_ddl(args, &target, files)?;
        options.input.below = below;
        options.rows.rejects =
            args.rejects.as_ref().map(|folder| log_of(folder, &table, "rejects"));
        let duplicates = args.duplicates.as_ref();
        options.rows.duplicates = duplicates.map(|folder| log_of(folder, &table, "duplicates"));
        options.input.written.columns = said_of(&args.written.format_of, &table);
        options.rows.constants = args.written.constants(Some(&table));
        if let Some(first) = all.first() {
            options.interrupt = first.interrupt.clone();
        }
        all.push(options);
    }
    if let Some(ddl) = &args.ddl {
        give_statements(&read_ddl(ddl)?, &mut all).map_err(Failure::from)?;
    }
    if args.create {
        sniff::create(args, &mut all)?;
    }
    Ok(all)
}

/// The same of a job file: all tables get rows of all files.
fn tables_of_job(args: &LoadArgs, database: &str, job: &JobFile) -> Result<Meant, Failure> {
    if args.each || !args.map.is_empty() {
        return Err(Failure::usage(
            "--each and --map are for files of one table each; with a job file, lines have rows \
             of several tables",
        ));
    }
    if args.create || args.format.columns.is_some() {
        return Err(Failure::usage(
            "--create and --columns are for one table: with a job file, columns of [input] names \
             the fields of a line, and --ddl FILE creates tables",
        ));
    }
    let files = input::files(&args.files)?;
    let (mut all, mut mappings): (Vec<LoadOptions>, _) = (Vec::new(), Vec::new());
    for table in job.tables()? {
        let target = TableName::new(database, table.name.as_str());
        let mut options = options_but_ddl(args, &target, files.clone())?;
        let duplicates = args.duplicates.as_ref();
        options.rows.duplicates =
            duplicates.map(|folder| log_of(folder, &table.name, "duplicates"));
        options.input.written.columns = said_of(&args.written.format_of, &table.name);
        options.rows.constants = args.written.constants(Some(&table.name));
        table.apply(&mut options, args);
        if args.ddl.is_none() {
            job.give_statement(&table, &mut options)?;
        }
        let mapping = Arc::clone(&table.mapping);
        options.input.selection = Some(Arc::new(Share { mapping, ..Share::default() }));
        mappings.push(table.mapping);
        if let Some(first) = all.first() {
            options.interrupt = first.interrupt.clone();
        }
        all.push(options);
    }
    if let Some(ddl) = &args.ddl {
        give_statements(&read_ddl(ddl)?, &mut all).map_err(Failure::from)?;
    }
    let lines = LinesOf { mappings, rules: job.rules()? };
    Ok(Meant { tables: all, lines: Some(lines) })
}

/// Has the journal note the command: that of all tables, or of each that is a job by itself.
fn note_command(tables: &mut [LoadOptions], args: &LoadArgs) {
    let command =
        |files: &[PathBuf]| CommandLine::of_this_process(files.iter().map(PathBuf::as_path));
    if args.each {
        tables.iter_mut().for_each(|table| table.command = command(&table.input.files));
    } else {
        // The lines of all tables of a job file are those of the same files.
        let tables_with_files = if args.job.is_some() { 1 } else { tables.len() };
        let files = tables[..tables_with_files].iter().flat_map(|table| table.input.files.clone());
        let files: Vec<PathBuf> = files.chain(args.job.clone()).collect();
        tables[0].command = command(&files);
    }
}

/// Refuses what is said of a column of a table that no file goes to.
fn check_said(args: &LoadArgs, tables: &[TableFiles]) -> Result<(), Failure> {
    let WrittenArgs { format_of, set, set_sql, .. } = &args.written;
    for (name, _) in format_of.iter().chain(set).chain(set_sql) {
        let Some((of, _)) = name.split_once('.') else { continue };
        if !tables.iter().any(|TableFiles { table, .. }| table == of) {
            return Err(Failure::usage(format!(
                "{name} names a column of table {of}, which has no file; COLUMN=.. is for each table, \
                 TABLE.COLUMN=.. for one"
            )));
        }
    }
    Ok(())
}

/// Where rows of a table go that are not loaded.
fn log_of(folder: &Path, table: &str, kind: &str) -> PathBuf {
    folder.join(format!("{}.{kind}", load::journal::file_name_of(table)))
}

/// All parts of a table are read alike, so their names should not say otherwise.
fn check_endings(args: &LoadArgs, table: &str, files: &[PathBuf]) -> Result<(), Failure> {
    let preset = |file: &Path| dialect::preset(&args.format, file).name();
    let other = files.iter().find(|file| preset(file) != preset(&files[0]));
    other.map_or(Ok(()), |other| {
        Err(Failure::usage(format!(
            "{} and {}, of table {table}, have endings of two dialects: set one for all files \
             with --dialect or --format",
            files[0].display(),
            other.display()
        )))
    })
}

/// Names the dialects that endings stand for, each once.
fn tell_dialects(tables: &[LoadOptions]) {
    let mut told = Vec::new();
    for options in tables {
        let file = &options.input.files[0];
        let name = Preset::by_ending(file).name();
        if !told.contains(&name) {
            told.push(name);
            tell_dialect(file);
        }
    }
}

fn show_report(out: &mut impl Write, args: &LoadArgs, report: &SeveralReport) -> io::Result<()> {
    if args.json {
        return print::json(out, report);
    }
    if args.quiet {
        // With a job file lines of all tables are rejected, and the tables reject none.
        let lines = report.lines.iter().map(|lines| {
            (report.database.as_str(), lines.rejects, 0, lines.rejects_file.as_deref())
        });
        lines.chain(report.tables.iter().map(print::left_out)).for_each(print::tell_left_out);
        return Ok(());
    }
    let SeveralReport { database, rows, rejects, bytes, seconds, tables, .. } = report;
    writeln!(
        out,
        "{database}: {} loaded into {}{}, {} rejected, {seconds:.2} s, {}{}",
        count(*rows, "row"),
        count(tables.len() as u64, "table"),
        if report.atomic { " at once" } else { "" },
        group(*rejects),
        print::methods(tables),
        tables.first().map_or(String::new(), |table| format!(", on {}", table.server_address))
    )?;
    let detail = detail(args, tables);
    if let Some(lines) = &report.lines {
        show_lines(out, lines, detail)?;
    }
    if detail.is_verbose {
        writeln!(
            out,
            "  {} rows/s, {:.1} MB/s of input ({} read), peak memory {}",
            group((*rows as f64 / seconds) as u64),
            *bytes as f64 / 1e6 / seconds,
            show(*bytes),
            show(report.memory_peak_bytes)
        )?;
        return tables.iter().try_for_each(|table| print::report(out, table, detail));
    }
    for table in tables {
        if table.is_in_already {
            print::report(out, table, detail)?;
        } else if table.rejects > 0 {
            writeln!(out, "  {}: {} rejected", table.target, count(table.rejects, "row"))?;
            print::rejected(out, table)?;
        }
    }
    print::notes(out, tables, detail)
}

fn show_lines(out: &mut impl Write, report: &LinesReport, detail: Detail) -> io::Result<()> {
    let LinesReport { lines, rejects, reasons, rejects_file } = report;
    if !detail.is_verbose && *rejects == 0 {
        return Ok(());
    }
    writeln!(out, "  {} checked first, {} of them bad", count(*lines, "line"), group(*rejects))?;
    for tally in reasons {
        writeln!(out, "    {}: {tally}", count(tally.rows, "line"))?;
    }
    match rejects_file {
        Some(file) => {
            let file = file.display();
            writeln!(out, "  {file} has the bad lines, {file}.reasons.jsonl their reasons")
        }
        None => Ok(()),
    }
}

fn show_plan(out: &mut impl Write, plan: &SeveralPlan) -> io::Result<()> {
    let SeveralPlan { database, tables, input_bytes, .. } = plan;
    let how = match plan.atomic {
        true => "all published at once, or none",
        false => "each table independently",
    };
    let number = count(tables.len() as u64, "table");
    writeln!(
        out,
        "{database}: {number} from {} of input, {how}, in this order:",
        show(*input_bytes)
    )?;
    for (at, table) in tables.iter().enumerate() {
        let number = at + 1;
        match table.path {
            Some(path) => writeln!(
                out,
                "  {number}. {}: {path} path, {}: {}",
                table.target,
                show(table.input_bytes),
                table.why
            )?,
            None => writeln!(out, "  {number}. {}: cannot be loaded", table.target)?,
        }
        for sentence in load::several::refused(table) {
            writeln!(out, "     {sentence}")?;
        }
        for note in &table.notes {
            writeln!(out, "     note: {note}")?;
        }
    }
    for note in &plan.notes {
        writeln!(out, "  note: {note}")?;
    }
    match &plan.estimate {
        Some(estimate) => {
            let free = tables.iter().find_map(|table| table.free_bytes);
            print::estimate(out, estimate, free)
        }
        None => Ok(()),
    }
}
