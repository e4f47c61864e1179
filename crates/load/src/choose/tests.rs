//! Every method, and every reason against a path, by facts alone.

use std::path::PathBuf;

use job::memory::Memory;
use job::options::{
    LoadOptions, LoadPath, Mode, OnDuplicate, RowOptions, ServerOptions, WithOthers,
};
use schema::{Flavor, Method};

use super::facts::{Choice, Facts, Input, RowsThere};
use super::{Costs, choose};
use crate::append::{Disk, Old};
use crate::estimate::Estimate;
use crate::partitioned::Scope;
use crate::speeds::Speeds;

const GIB: u64 = 1 << 30;

/// A table with two keys on a server that takes everything, and an input of a million rows.
fn facts() -> Facts {
    let built = Estimate { rows: 1_000_000, table_bytes: 200 << 20, ..Estimate::taking(1.0) };
    Facts {
        local_infile: true,
        indexes: 2,
        unique_keys: 1,
        rows: Some(RowsThere { is_empty: true, ..RowsThere::default() }),
        input: Some(Input { bytes: Some(100 << 20), built: Some(built), ..Input::default() }),
        sending: Some(Ok(Method::Stage)),
        ..Facts::default()
    }
}

/// The same with rows that are there, in a file of so many bytes.
fn with_rows(bytes: u64, pool_bytes: u64) -> Facts {
    let disk = Disk { page_seconds: 0.2e-3, run_bytes: 500e6, is_measured: true };
    let (share, rows, secondary, has_key) = (1.0, bytes / 200, 1, true);
    let mut facts = facts();
    facts.rows = Some(RowsThere::default());
    facts.sending = Some(Ok(Method::Append));
    let input = facts.input.as_mut().unwrap();
    input.scope = Some(Scope::Table);
    input.old = Some(Old { bytes, share, rows, secondary, has_key, pool_bytes, disk });
    facts
}

/// The same of a table with so many partitions, all of whose rows go to one.
fn with_partitioned_rows(count: usize, bytes: u64) -> Facts {
    let mut facts = with_rows(bytes / count as u64, GIB);
    facts.partitions = Some(count);
    let input = facts.input.as_mut().unwrap();
    input.scope = Some(Scope::One("p".to_owned(), count));
    input.all = input.old.clone().map(|old| Old { bytes, ..old });
    facts
}

fn options() -> LoadOptions {
    LoadOptions::new(vec![PathBuf::from("t.csv")], "db", "t")
}

fn chosen(facts: &Facts, options: &LoadOptions) -> Choice {
    let memory = Memory::of(GIB, 2, 0).unwrap();
    choose(facts, options, &Costs { speeds: &Speeds::before_any(Flavor::MariaDb), memory: &memory })
}

/// Asserts what is chosen, and that each path that is not says why.
#[track_caller]
fn assert_method(facts: &Facts, options: &LoadOptions, path: LoadPath, method: Method) -> Choice {
    let choice = chosen(facts, options);
    assert_eq!((choice.path, choice.method), (Some(path), Some(method)), "{choice:?}");
    let is_faster = |other: &LoadPath| options.path == LoadPath::Auto && *other != path;
    let mut faster = LoadPath::TAKEN.iter().take_while(|other| is_faster(other));
    assert!(faster.all(|other| choice.refused.iter().any(|no| no.path == other.name())));
    choice
}

/// Asserts that a path is refused for this.
#[track_caller]
fn assert_refused(facts: &Facts, options: &LoadOptions, path: LoadPath, reason: &str) {
    let refused = chosen(facts, options).refused;
    let is_said = |no: &super::Refused| no.path == path.name() && no.reason.contains(reason);
    assert!(refused.iter().any(is_said), "{reason}: {refused:?}");
}

#[test]
fn an_empty_table_is_built() {
    let choice = assert_method(&facts(), &options(), LoadPath::Direct, Method::Build);
    assert!(
        choice.refused.is_empty() && choice.why.starts_with("the server's files"),
        "{choice:?}"
    );
    assert_eq!(choice.expected_seconds, Some(1.0));
    let replaced = Facts { rows: Some(RowsThere::default()), ..facts() };
    let options = LoadOptions { mode: Mode::Replace, ..options() };
    assert_method(&replaced, &options, LoadPath::Direct, Method::Build);
}

#[test]
fn a_small_input_is_sent_in_one_transaction() {
    let small = |bytes| Facts { small_bytes: Some(bytes), sending: None, ..facts() };
    let choice = chosen(&small(100), &options());
    assert_eq!((choice.path, choice.method), (Some(LoadPath::Stream), None), "{choice:?}");
    assert_refused(&small(100), &options(), LoadPath::Direct, "the input is small");
    let whole = Facts { sending: Some(Ok(Method::Transaction)), ..small(100) };
    assert_method(&whole, &options(), LoadPath::Stream, Method::Transaction);
    let append = LoadOptions { mode: Mode::Append, ..options() };
    let there = Facts { small_bytes: Some(100), ..with_rows(GIB, 0) };
    assert_refused(&there, &append, LoadPath::Direct, "the input is small");
    // Where rows cannot be sent, they are built.
    let closed = Facts { sending: Some(Err(vec!["read-only".to_owned()])), ..small(100) };
    assert_method(&closed, &options(), LoadPath::Direct, Method::Build);
    assert_method(&small(1 << 20), &options(), LoadPath::Direct, Method::Build);
    // IMPORT of MySQL takes longer.
    let of_mysql = |bytes| Facts { flavor: Flavor::MySql, ..small(bytes) };
    assert_method(&small(500 << 10), &options(), LoadPath::Direct, Method::Build);
    assert_refused(&of_mysql(500 << 10), &options(), LoadPath::Direct, "the input is small");
    assert_method(&of_mysql(1 << 20), &options(), LoadPath::Direct, Method::Build);
}

#[test]
fn many_rows_are_merged_with_some_and_few_are_sent() {
    let append = LoadOptions { mode: Mode::Append, ..options() };
    let choice = assert_method(&with_rows(GIB, 0), &append, LoadPath::Direct, Method::Merge);
    assert!(choice.notes[0].starts_with("merging with the table's 1.07 GB would"), "{choice:?}");
    let mut few = with_rows(64 * GIB, 0);
    few.input.as_mut().unwrap().built = Some(Estimate { rows: 10, ..Estimate::taking(0.1) });
    let choice = assert_method(&few, &append, LoadPath::Stream, Method::Append);
    assert!(
        choice.why.starts_with("not direct: merging with the table's 68.7 GB would"),
        "{choice:?}"
    );
    // A slower method is better than none.
    few.sending = Some(Err(vec!["storage engine".to_owned()]));
    let patient = LoadOptions {
        server: ServerOptions { write_block_seconds_max: None, ..append.server.clone() },
        ..append.clone()
    };
    assert_method(&few, &patient, LoadPath::Direct, Method::Merge);
    let impatient = LoadOptions {
        server: ServerOptions { write_block_seconds_max: Some(1), ..append.server },
        ..append
    };
    assert_eq!(chosen(&few, &impatient).path, None);
    assert_refused(&few, &impatient, LoadPath::Direct, "--max-write-block allows 1 s");
}

#[test]
fn partitions_are_built_where_that_is_faster() {
    let parts = |count| Facts { partitions: Some(count), ..facts() };
    let choice = assert_method(&parts(4), &options(), LoadPath::Direct, Method::Build);
    assert!(choice.why.contains("each of its 4 partitions with rows is built"), "{choice:?}");
    let choice = assert_method(&parts(500), &options(), LoadPath::Stream, Method::Stage);
    assert!(choice.why.contains("building its 500 partitions, a file each"), "{choice:?}");
    let closed = Facts { sending: Some(Err(vec!["read-only".to_owned()])), ..parts(500) };
    assert_method(&closed, &options(), LoadPath::Direct, Method::Build);
}

#[test]
fn one_partition_is_merged_by_itself() {
    let mut append = LoadOptions { mode: Mode::Append, ..options() };
    append.server.write_block_seconds_max = None;
    let small = with_partitioned_rows(4, GIB);
    let choice = assert_method(&small, &append, LoadPath::Direct, Method::MergePartition);
    assert!(
        choice.why.contains("the partition with new rows is rebuilt with its old rows, and"),
        "{choice:?}"
    );
    assert_eq!(choice.one_partition, None);
    let large = with_partitioned_rows(400, 400 * GIB);
    let choice = assert_method(&large, &append, LoadPath::Direct, Method::MergePartition);
    assert!(choice.one_partition.is_some(), "merging all would be slower than sending");
    let mut all = with_partitioned_rows(4, GIB);
    all.input.as_mut().unwrap().scope = Some(Scope::All(4));
    assert_method(&all, &append, LoadPath::Direct, Method::Merge);
    let mut pipe = with_partitioned_rows(4, GIB);
    *pipe.input.as_mut().unwrap() = Input { is_read_once: true, ..Input::default() };
    assert_refused(&pipe, &append, LoadPath::Direct, "the input can be read only once");
}

#[test]
fn rows_are_sent_where_nothing_can_be_built() {
    let remote = Facts { against_direct: vec!["files (not reachable)".to_owned()], ..facts() };
    let choice = assert_method(&remote, &options(), LoadPath::Stream, Method::Stage);
    assert_eq!(choice.why, "not direct: files (not reachable)");
    let whole = Facts { sending: Some(Ok(Method::Transaction)), ..remote.clone() };
    assert_method(&whole, &options(), LoadPath::Stream, Method::Transaction);
    let closed = Facts { local_infile: false, ..remote.clone() };
    assert_method(&closed, &options(), LoadPath::Insert, Method::Stage);
    assert_refused(&closed, &options(), LoadPath::Stream, "local_infile is off");
    let asked = LoadOptions { path: LoadPath::Insert, ..options() };
    let choice = assert_method(&facts(), &asked, LoadPath::Insert, Method::Stage);
    assert_eq!(choice.why, "--path insert requests it");
    // Nobody has looked yet where rows would go.
    let unknown = chosen(&Facts { sending: None, ..remote }, &options());
    assert_eq!((unknown.path, unknown.method), (Some(LoadPath::Stream), None));
}

#[test]
fn every_reason_of_server_and_options_is_told() {
    let with = |change: fn(&mut LoadOptions)| {
        let mut options = options();
        change(&mut options);
        options
    };
    let (direct, stream, insert) = (LoadPath::Direct, LoadPath::Stream, LoadPath::Insert);
    let logged = Facts { is_logged: true, has_triggers: true, ..facts() };
    let small = with(|options| options.with_others = WithOthers::Small);
    assert_refused(&facts(), &small, direct, "the input is small");
    let together = with(|options| options.with_others = WithOthers::Transaction);
    assert_refused(&facts(), &together, direct, "one transaction loads");
    for path in [stream, insert] {
        let unlogged = with(|options| options.server.unlogged = true);
        assert_refused(&logged, &unlogged, path, "--unlogged is for the direct path");
        let kept = with(|options| options.rows.duplicates = Some(PathBuf::from("d")));
        assert_refused(&facts(), &kept, path, "does not report the rows");
        let past = with(|options| options.server.no_triggers = true);
        assert_refused(&logged, &past, path, "is for the direct path: sent rows run the triggers");
        let closed = Facts { sending: Some(Err(vec!["read-only".to_owned()])), ..facts() };
        assert_refused(&closed, &options(), path, "read-only");
    }
    let update = with(|options| options.rows.on_duplicate = OnDuplicate::Update);
    assert_refused(&facts(), &update, stream, "only INSERT supports");
    let no_load_data = Facts { against_load_data: Some("TiDB (..)".to_owned()), ..facts() };
    assert_refused(&no_load_data, &options(), stream, "TiDB");
    let named = with(|options| {
        options.server.no_triggers = true;
        options.server.replicas.named = vec!["db2".to_owned()];
    });
    assert_refused(&logged, &named, direct, "--replica names more");
}

#[test]
fn every_reason_of_table_and_rows_is_told() {
    let direct = LoadPath::Direct;
    let full = Facts { rows: Some(RowsThere::default()), ..facts() };
    for path in LoadPath::TAKEN {
        assert_refused(&full, &options(), path, "the table is not empty; --mode append");
        let swapped = RowsThere { was_swapped: true, ..RowsThere::default() };
        let swapped = Facts { rows: Some(swapped), ..facts() };
        assert_refused(&swapped, &options(), path, "had loaded all its rows");
        let append = LoadOptions { mode: Mode::Append, ..options() };
        let extended = RowsThere { was_extended: true, ..RowsThere::default() };
        let extended = Facts { rows: Some(extended), ..facts() };
        assert_refused(&extended, &append, path, "had added all its rows");
        let closed = Facts { against_all: Some("NDB (..)".to_owned()), ..facts() };
        assert_refused(&closed, &options(), path, "NDB");
    }
    let append = |on_duplicate, with_others| {
        let rows = RowOptions { on_duplicate, ..RowOptions::default() };
        LoadOptions { mode: Mode::Append, rows, with_others, ..options() }
    };
    let (fail, alone) = (OnDuplicate::Fail, WithOthers::Alone);
    let parts = with_partitioned_rows(4, GIB);
    let skip = append(OnDuplicate::Skip, alone);
    assert_refused(&parts, &skip, direct, "--on-duplicate skip has to resolve duplicates");
    let some = with_rows(GIB, 0);
    assert_refused(
        &some,
        &append(fail, WithOthers::Swap),
        direct,
        "the table is not empty, and a command can add rows to one",
    );
    let parent = Facts { is_referred_to: true, ..with_rows(GIB, 0) };
    let replace = append(OnDuplicate::Replace, alone);
    assert_refused(&parent, &replace, direct, "removes rows that other tables may refer to");
    let joined = Facts { keeps_keys_apart: true, ..with_rows(GIB, 0) };
    assert_refused(&joined, &append(fail, alone), direct, "MySQL has no lock under which the rows");
    let mut begun = with_rows(GIB, 0);
    begun.rows.as_mut().unwrap().ledger = Some("db._inrush_ledger_t".to_owned());
    assert_refused(&begun, &append(fail, alone), direct, "_inrush_ledger_t lists its loaded rows");
}

#[test]
fn every_reason_of_the_input_is_told() {
    let with = |change: fn(&mut Input)| {
        let mut facts = facts();
        change(facts.input.as_mut().unwrap());
        facts
    };
    let unfit = with(|input| input.unfit = vec!["DEFAULT uuid()".to_owned()]);
    assert_refused(&unfit, &options(), LoadPath::Direct, "DEFAULT uuid()");
    let mut update = options();
    update.rows.on_duplicate = OnDuplicate::Update;
    let lacks = with(|input| input.lacks = Some("`b`".to_owned()));
    assert_refused(&lacks, &update, LoadPath::Direct, "keeps `b` of existing rows");
    let two = Facts { unique_keys: 2, ..facts() };
    assert_refused(&two, &update, LoadPath::Direct, "2 unique keys");
    assert_method(&facts(), &update, LoadPath::Direct, Method::Build);
    let large = with(|input| input.against_whole = Some("Galera (2 GB)".to_owned()));
    let whole = Facts { sending: Some(Ok(Method::Transaction)), ..large.clone() };
    assert_refused(&whole, &options(), LoadPath::Stream, "Galera (2 GB)");
    assert_method(&large, &options(), LoadPath::Direct, Method::Build);
}

/// Facts that were written down as JSON lead to the same decision.
#[test]
fn facts_come_back_from_json() {
    let refused = Facts { sending: Some(Err(vec!["no".to_owned()])), ..facts() };
    for facts in [facts(), with_rows(GIB, GIB), with_partitioned_rows(4, GIB), refused] {
        let text = serde_json::to_string(&facts).unwrap();
        let read: Facts = serde_json::from_str(&text).unwrap();
        assert_eq!(read, facts, "{text}");
        assert_eq!(chosen(&read, &options()), chosen(&facts, &options()));
    }
}

/// A path that is refused before the input is inspected has no further reasons.
#[test]
fn a_path_that_was_asked_for_is_the_only_one() {
    let asked = LoadOptions { path: LoadPath::Direct, ..options() };
    let remote = Facts { against_direct: vec!["files".to_owned()], ..facts() };
    let choice = chosen(&remote, &asked);
    assert_eq!((choice.path, choice.refused.len()), (None, 1), "{choice:?}");
}
