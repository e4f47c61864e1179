//! `inrush replay`: from what was typed to what it means, and what is printed.

use std::io::Write;
use std::path::{Path, PathBuf};

use face::option::FORCE;
use load::{ErrorPlace, LoadOptions};
use replay::report::Report;
use replay::{As, ReplayOptions};
use terminal::failure::{FAILED, Failure, REJECTS};
use terminal::{signals, size};

use crate::args::ReplayArgs;
use crate::watch::{Totals, Watch};
use crate::{connect, files, input, left_keys, print, proof, replay_print};

/// Replays, and prints the report.
pub(crate) fn run(args: &ReplayArgs, watch: &Watch) -> Result<u8, Failure> {
    let options = options(args)?;
    files::check_inputs(std::slice::from_ref(&options.dump), &args.watch, &args.connect)?;
    let mut out = terminal::lines();
    let outcome = if args.dry_run {
        signals::watch(&options.interrupt, signals::LOADED, args.quiet)?;
        replay::dry_run(&options)
    } else {
        // No server is made or started for what cannot be read.
        replay::check(&options).map_err(failure)?;
        let visit = connect::meant(&args.connect)?.resolve(args.quiet)?;
        let server = watch.label(visit.connect.clone());
        left_keys::carry_over(&server, args.state_dir.as_deref());
        signals::watch(&options.interrupt, signals::LOADED, args.quiet)?;
        let mut load = LoadOptions::new(Vec::new(), "", "");
        load.state_dir.clone_from(&options.state_dir);
        load.limits.temp_dir.clone_from(&options.temp_dir);
        load.interrupt = options.interrupt.clone();
        // The tables of a dump are known only when it is read.
        let is_direct = options.rows_as == As::Rows;
        let server = proof::before_load(server, &args.untested, &load, |_| Ok(is_direct))?;
        replay::replay(&server, &options, &*watch.replay_progress())
    };
    match outcome {
        Ok(mut report) => {
            replay_print::share_notes(&mut report);
            watch.totals(Totals { rows: report.rows, bytes: Some(report.bytes), rejected: 0 });
            // The dump is in, whether or not anybody can be told.
            print::tell_unprinted("replay", show(&mut out, args, &report));
            Ok(if report.failed.is_empty() && report.warnings.is_empty() { 0 } else { REJECTS })
        }
        Err(error) => Err(failure(error)),
    }
}

fn show(out: &mut impl Write, args: &ReplayArgs, report: &Report) -> std::io::Result<()> {
    if args.json {
        return print::json(out, report);
    }
    if !args.quiet {
        return replay_print::report(out, report);
    }
    let tables =
        report.tables.iter().flat_map(|table| replay_print::changes(&table.changes, &table.table));
    for line in tables.chain(replay_print::changes(&report.changes, "other statements")) {
        tell!("inrush: warning: {line}");
    }
    for warning in &report.warnings {
        tell!("inrush: warning: {warning}");
    }
    for failed in &report.failed {
        tell!("inrush: {failed}");
    }
    if report.failed_more > 0 {
        tell!("inrush: {} more statements failed", report.failed_more);
    }
    Ok(())
}

fn options(args: &ReplayArgs) -> Result<ReplayOptions, Failure> {
    input::refuse_url(&args.dump)?;
    let mut options = ReplayOptions::new(dump(&args.dump));
    options.into.clone_from(&args.into);
    options.tables.clone_from(&args.tables);
    options.exclude.clone_from(&args.exclude);
    options.map_collation =
        args.map_collation.iter().map(|text| collations(text)).collect::<Result<_, _>>()?;
    options.rows_as = args.rows_as;
    options.atomic = args.atomic;
    options.force = args.force;
    options.partial = args.partial;
    options.strict = args.strict;
    options.show_changes = args.show_changes;
    options.fresh = args.fresh;
    for (option, count) in [("--threads", args.threads), ("--connections", args.connections)] {
        if count == Some(0) {
            return Err(Failure::usage(format!("{option} must be at least 1")));
        }
    }
    options.connections = args.connections;
    if let Some(threads) = args.threads {
        options.threads = threads;
    }
    if let Some(memory) = &args.memory {
        options.memory_bytes_max = size::of_option("--memory", memory).map_err(Failure::usage)?;
    }
    if let Some(small) = &args.small {
        let bytes = size::of_option("--small", small).map_err(Failure::usage)?;
        options.small_bytes_max = usize::try_from(bytes).unwrap_or(usize::MAX);
    }
    if let Some(folder) = &args.temp_dir {
        options.temp_dir.clone_from(folder);
    }
    if let Some(folder) = &args.state_dir {
        options.state_dir.clone_from(folder);
    }
    options.lock_wait_seconds = args.lock_wait;
    options.stamps = args.stamp.is_asked();
    options.tune = args.tune.class()?;
    Ok(options)
}

/// The two names of `FROM=TO`.
fn collations(text: &str) -> Result<(String, String), Failure> {
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    match text.split_once('=') {
        Some((from, to)) if is_name(from) && is_name(to) => Ok((from.to_owned(), to.to_owned())),
        _ => Err(Failure::usage(format!(
            "--map-collation {text} does not name two collations; it needs FROM=TO, such as \
             utf8mb4_0900_ai_ci=utf8mb4_unicode_520_ci"
        ))),
    }
}

fn dump(typed: &Path) -> PathBuf {
    if typed.as_os_str() == "-" { PathBuf::from("/dev/stdin") } else { typed.to_owned() }
}

fn failure(error: replay::Error) -> Failure {
    let (status, mut text) = (error.exit_status(), error.to_string());
    if error.is_refused_statement() {
        text += &format!(
            "; mend the cause and run the same command again, or skip such statements with {FORCE}"
        );
    }
    debug_assert!(status >= FAILED);
    let failure = of_cause(error);
    // Kinds of errors before the start would be untrue of a replay that has begun.
    let kind = if failure.status == status { failure.kind } else { "failed" };
    Failure { status, text, kind, ..failure }
}

/// Kind, table and place of the error that ended a replay.
fn of_cause(error: replay::Error) -> Failure {
    use replay::Error as E;
    match error {
        E::At { place, error } => {
            let of_statement = ErrorPlace {
                file: place.file.display().to_string(),
                line: place.line,
                byte: Some(place.offset),
                ..ErrorPlace::default()
            };
            let failure = of_cause(*error);
            let of_statement = (place.line > 0).then(|| Box::new(of_statement));
            Failure { place: failure.place.or(of_statement), ..failure }
        }
        E::Load(error) => Failure::from(error),
        E::Server(error) => Failure::from(error),
        E::Source(error) => Failure::from(load::Error::from(error)),
        E::Usage(text) => Failure::usage(text),
        E::Stopped { .. } => Failure { kind: "stopped", ..Failure::failed(error) },
        E::PartlyCommitted { .. } => Failure::failed(error),
        E::Refused(text) => Failure::of(FAILED, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_a_replay_has_the_kind_of_its_cause_and_the_place_of_its_statement() {
        let at = |error: replay::Error| {
            let place =
                replay::Place { file: "d.sql".into(), line: 3, offset: 40, ..Default::default() };
            failure(replay::Error::At { place: Box::new(place), error: Box::new(error) })
        };
        let no_table = || server::Error::NoTable("shop.t".to_owned());
        let stopped = replay::Error::Stopped { by: "SIGTERM" };
        assert_eq!(failure(stopped).kind, "stopped");
        let usage = failure(replay::Error::Usage("--tables".to_owned()));
        assert_eq!((usage.kind, usage.status), ("usage", 2));
        // "unfit" would say that nothing was begun.
        let unfit = at(no_table().into());
        assert_eq!((unfit.kind, unfit.status), ("failed", 1));
        let changed = at(load::Error::InputChanged.into());
        assert_eq!(changed.kind, "input");
        let place = changed.place.map(|place| (place.file, place.line, place.byte));
        assert_eq!(place, Some(("d.sql".to_owned(), 3, Some(40))));
    }
}
