//! The benchmarks against real servers, with a stand-in for the inrush program.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod command_line;
mod export;
mod first_day;
mod folder;
mod formats;
mod shards;
mod split;
mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ::tune::Gains;
use bench::batch::loads::{BatchWay, InrushPath};
use bench::batch::{self, BatchOptions, Cell};
use bench::choice::Choice;
use bench::host::HostOptions;
use bench::insert::outcome::Pool;
use bench::insert::{self, Buffering, InsertOptions, InsertWay, Step, Version as InsertVersion};
use bench::outcome::LoadWay;
use bench::replay::{self, Kind, ReplayOptions, ReplayWay};
use bench::tpch::{Schema, Table};
use bench::tproch::{self, TprochOptions};
use bench::tune::{self, TuneOptions};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("inrush-tproch-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A program called as `inrush load FILE --into T .. --columns C .. --socket S --user U`, which
/// has the server load the file with `format` after LOAD DATA; and each file of a folder, whose
/// columns its first line names.
fn stand_in(dir: &Path, format: &str) -> PathBuf {
    let path = dir.join("stand-in");
    let script = format!(
        r#"#!/bin/sh
file=$2
shift 2
while [ $# -gt 1 ]; do
    case $1 in
        --into) into=$2 ;;
        --columns) columns=$2 ;;
        --socket) socket=$2 ;;
        --user) user=$2 ;;
    esac
    shift
done
load() {{
    mariadb --no-defaults --socket="$socket" --user="$user" -e "SET foreign_key_checks=$keys;
        LOAD DATA INFILE '$1' INTO TABLE $2 {format}" || exit 1
}}
ignore= keys=1
if [ -d "$file" ]; then
    ignore='IGNORE 1 LINES' keys=0
    for one in "$file"/*.tbl; do
        columns=$(head -n 1 "$one" | sed 's/|$//; s/|/,/g')
        load "$one" "$into.$(basename "$one" .tbl)"
    done
else
    load "$file" "$into"
fi &&
    echo '{{"path": "stand-in"}}'
"#
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// How dbgen writes lines.
const TBL: &str = r"FIELDS TERMINATED BY '|' LINES TERMINATED BY '|\n'";

/// A server in a folder, with a small log, and a program to measure.
fn host(dir: &Path, program: PathBuf) -> HostOptions {
    let data_dir = dir.to_path_buf();
    HostOptions { log_file_bytes: 96 << 20, data_dir, program, ..HostOptions::default() }
}

fn options(dir: &Path, schema: Schema, tables: Vec<Table>, suffix: &str) -> TprochOptions {
    TprochOptions {
        // Smaller ones have duplicate keys in partsupp.
        scale: 0.01,
        schema,
        tables,
        host: host(
            dir,
            stand_in(dir, &format!("CHARACTER SET latin1 {TBL} $ignore ($columns) {suffix}")),
        ),
        ..TprochOptions::default()
    }
}

#[test]
fn every_table_is_loaded_in_every_way_and_nothing_is_left() {
    let folder = Folder::new("all");
    let mut said = Vec::new();
    let options = options(&folder.0, Schema::Tproch, Vec::new(), "");
    let outcome = tproch::run(&options, &mut |line| said.push(line.to_owned())).unwrap();
    assert_eq!(outcome.tables.len(), 8);
    for table in &outcome.tables {
        assert!(table.rows > 0 && table.file_bytes >= 65_536, "{}", table.table);
        assert!(LoadWay::ALL.iter().all(|&way| table.seconds(way).is_some_and(|s| s > 0.0)));
        assert!(table.floor.unwrap().import_seconds > 0.0);
        assert_eq!(table.loads[3].report["path"], "stand-in");
    }
    assert!(outcome.server_settings.iter().any(|(name, _)| name == "innodb_log_file_size"));
    assert!(outcome.text().contains("total"));
    assert_eq!(outcome.together.as_ref().unwrap().report["path"], "stand-in");
    assert!(outcome.text().contains("all 8 tables by one command: "));
    assert!(outcome.text().contains("HammerDB's consistency check passes"));
    assert!(said.iter().any(|line| line.starts_with("lineitem: ")));
    assert!(!folder.0.join("server").exists());
}

#[test]
fn the_rows_of_a_table_alone_have_to_refer_to_rows_that_are_there() {
    let folder = Folder::new("alone");
    let mut options = options(&folder.0, Schema::Tproch, vec![Table::Supplier], "");
    options.ways = vec![LoadWay::Direct];
    options.host.program = stand_in(
        &folder.0,
        &format!(
            "CHARACTER SET latin1 {TBL} $ignore ($columns) SET s_nationkey = s_nationkey + 90"
        ),
    );
    // Suppliers of no nation.
    let error = tproch::run(&options, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("supplier") && error.contains("supplier_ibfk_1"), "{error}");
}

#[test]
fn a_load_that_gives_other_rows_fails_the_benchmark() {
    let folder = Folder::new("other");
    let suffix = "SET l_comment = 'x'";
    let options = options(&folder.0, Schema::Dbgen, Vec::new(), suffix);
    let error = tproch::run(&options, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("table lineitem: Inrush direct loaded rows of checksum"), "{error}");
    assert!(!folder.0.join("server").exists());
}

#[test]
fn rows_alone_need_no_server() {
    let folder = Folder::new("rows");
    let options = options(&folder.0, Schema::Dbgen, Vec::new(), "");
    let dir = tproch::make_rows(&options, &mut |_| {}).unwrap();
    assert_eq!(dir.file_name().unwrap(), "sf0.01");
    assert!(fs::read_to_string(dir.join("lineitem.sql")).unwrap().contains("KEY (l_shipdate)"));
    assert!(fs::metadata(dir.join("lineitem.tbl")).unwrap().len() > 7_000_000);
}

fn batch_options(dir: &Path) -> BatchOptions {
    BatchOptions {
        rows: 600,
        load_rows: 900,
        batches: vec![1, 100],
        threads: vec![1, 3],
        at: Cell { batch: 100, threads: 3 },
        repeat: 2,
        host: host(dir, stand_in(dir, "")),
        ..BatchOptions::default()
    }
}

#[test]
fn every_cell_is_measured_and_every_way_leaves_the_same_rows() {
    let folder = Folder::new("batch");
    let outcome = batch::run(&batch_options(&folder.0), &mut |_| {}).unwrap();
    assert_eq!(outcome.grid.cells.len(), 4);
    for cell in &outcome.grid.cells {
        assert!(cell.runs.iter().all(|run| run.0 == 600 && run.1 > 0.0), "{cell:?}");
    }
    let measured = outcome.grid.get(100, 3).unwrap();
    assert_eq!(measured.runs.len(), 2, "{measured:?}");
    assert!(outcome.loads.ways.iter().all(|load| load.runs.runs.len() == 2));
    assert!(outcome.loads.get(BatchWay::LoadData).unwrap().rows_per_second > 0.0);
    assert!(outcome.loads.best_cell().is_some());
    let inrush = outcome.loads.get(BatchWay::Inrush(InrushPath::Insert)).unwrap();
    assert_eq!(
        (inrush.runs.reports.len(), &inrush.runs.reports[0]["path"]),
        (2, &"stand-in".into())
    );
    let text = outcome.text();
    assert!(text.contains("900 rows into the empty table") && text.contains("LOAD DATA"), "{text}");
    assert!(batch::chart::draw(&outcome).contains("Batch sizes, 3 threads"));
    assert!(!folder.0.join("server").exists());
}

#[test]
fn a_load_that_cannot_work_fails_before_the_grid() {
    let folder = Folder::new("rehearsed");
    let mut options = batch_options(&folder.0);
    options.host.program = stand_in(&folder.0, "(id, nothing)");
    let mut said = Vec::new();
    let error = batch::run(&options, &mut |line| said.push(line.to_owned())).unwrap_err();
    assert!(error.to_string().contains("nothing"), "{error}");
    assert!(!said.iter().any(|line| line.contains("cell")), "{said:?}");
    assert!(!folder.0.join("server").exists());
}

#[test]
fn a_run_that_is_interrupted_stops_its_server() {
    let folder = Folder::new("interrupted");
    let options = batch_options(&folder.0);
    let interrupt = options.host.interrupt.clone();
    let mut said = 0;
    let error = batch::run(&options, &mut |line| {
        if line.contains("cell 2") {
            interrupt.request("SIGINT");
        }
        said += usize::from(line.contains("cell"));
    });
    let error = error.unwrap_err().to_string();
    assert!(error.contains("stopped"), "{error}");
    assert_eq!(said, 2);
    assert!(!folder.0.join("server").exists());
}

#[test]
fn a_grid_that_cannot_be_measured_is_refused() {
    let folder = Folder::new("refused");
    let cases = [
        (BatchOptions { rows: 200, ..batch_options(&folder.0) }, "more --rows"),
        (BatchOptions { load_rows: 500, ..batch_options(&folder.0) }, "--load-rows"),
        (BatchOptions { threads: vec![0], ..batch_options(&folder.0) }, "must be at least 1"),
        (BatchOptions { batches: vec![], ..batch_options(&folder.0) }, "at least one"),
    ];
    for (options, expected) in cases {
        let error = batch::run(&options, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// A program called as `inrush replay DUMP .. --socket S --user U`, which is the client, after `edit`.
fn replaying_stand_in(dir: &Path, edit: &str) -> PathBuf {
    let path = dir.join("stand-in");
    let script = format!(
        r#"#!/bin/sh
file=$2
shift 2
while [ $# -gt 1 ]; do
    case $1 in
        --socket) socket=$2 ;;
        --user) user=$2 ;;
    esac
    shift
done
sed '{edit}' "$file" | mariadb --no-defaults --socket="$socket" --user="$user" &&
    echo '{{"path": "stand-in"}}'
"#
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn replay_options(dir: &Path, edit: &str) -> ReplayOptions {
    ReplayOptions {
        scale: 0.01,
        host: host(dir, replaying_stand_in(dir, edit)),
        ..ReplayOptions::default()
    }
}

#[test]
fn a_dump_is_replayed_in_every_way_and_then_kept() {
    let folder = Folder::new("replay");
    let options = ReplayOptions { kinds: vec![Kind::Numbered], ..replay_options(&folder.0, "") };
    let outcome = replay::run(&options, &mut |_| {}).unwrap();
    let [dump] = &outcome.dumps[..] else { panic!("{outcome:?}") };
    assert!(dump.rows > 80_000 && dump.bytes > 10_000_000, "{dump:?}");
    assert!(ReplayWay::ALL.iter().all(|&way| dump.get(way).unwrap().seconds > 0.0));
    assert_eq!(dump.get(ReplayWay::Rows).unwrap().runs.reports[0]["path"], "stand-in");
    assert!(dump.get(ReplayWay::Client).unwrap().runs.reports.is_empty());
    assert!(outcome.text().contains("numbered: with AUTO_INCREMENT columns"), "{}", outcome.text());
    let text = fs::read_to_string(folder.0.join("sf0.01/replay-numbered.sql")).unwrap();
    assert_eq!(text.matches(" AUTO_INCREMENT,\n").count(), 8);
    assert_eq!(text.matches("FOREIGN KEY").count(), 8);
    assert!(!folder.0.join("server").exists());

    // The second time the dump is there; tables that came to differ are noticed.
    let mut said = Vec::new();
    let options = ReplayOptions {
        kinds: vec![Kind::Numbered],
        ways: vec![ReplayWay::Rows],
        ..replay_options(&folder.0, "s/ASIA/ASIB/")
    };
    let error = replay::run(&options, &mut |line| said.push(line.to_owned())).unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with("table region: Inrush as rows loaded 5 rows, checksum "), "{error}");
    assert_eq!(said, ["numbered: Inrush as rows"]);
    assert!(!folder.0.join("server").exists());
}

fn insert_options(dir: &Path, format: &str) -> InsertOptions {
    InsertOptions {
        rows: 3_000,
        log_file_bytes: 8 << 20,
        data_dir: dir.to_path_buf(),
        program: stand_in(dir, &format!("($columns) {format}")),
        ..InsertOptions::default()
    }
}

#[test]
fn the_insert_benchmark_adds_the_same_rows_in_every_way() {
    let folder = Folder::new("insert");
    let options = InsertOptions {
        versions: vec![InsertVersion::Mc],
        pools: vec![Pool::Small],
        ..insert_options(&folder.0, "")
    };
    let outcome = insert::run(&options, &mut |_| {}).unwrap();
    let [case] = &outcome.cases[..] else { panic!("{outcome:?}") };
    assert_eq!((case.version, case.pool_bytes), (InsertVersion::Mc, 8 << 20));
    assert_eq!((outcome.rows, outcome.more_rows), (3_000, 1_500));
    assert_eq!(case.step(Step::First).count(), 3);
    let has_change_buffer = case.runs.iter().any(|run| run.buffering == Buffering::All);
    assert_eq!(case.step(Step::More).count(), if has_change_buffer { 7 } else { 5 });
    for run in &case.runs {
        let rows = if run.step == Step::First { 3_000 } else { 1_500 };
        assert!(run.is_whole && run.rows == rows && run.rows_per_second() > 0.0, "{run:?}");
        assert_eq!(run.points.last().unwrap().rows, run.rows_before + rows, "{run:?}");
        assert!(run.io.pages_written > 0 && run.io.server_write_bytes > 0, "{run:?}");
    }
    // Behind rows that came without indexes, and nowhere else.
    let is_indexed = |run: &&insert::Run| run.index_seconds.is_some();
    assert_eq!(case.runs.iter().filter(is_indexed).count(), 2);
    let is_ours = |run: &insert::Run| matches!(run.way, InsertWay::Inrush(_));
    let order: Vec<bool> = case.step(Step::First).map(is_ours).collect();
    assert_eq!(order, [false, false, true], "in the order of reading");
    let tenths = case.step(Step::More).find(|run| run.way == InsertWay::Inrush(10)).unwrap();
    assert_eq!((tenths.points.len(), tenths.batch_rows), (5, 300));
    assert!(tenths.loads.len() == 5 && tenths.loads.iter().all(|load| load.path == "stand-in"));
    let text = outcome.text();
    assert!(text.contains("innodb_flush_method=O_DIRECT"), "{text}");
    assert!(text.contains("choose more --rows"), "{text}");
    assert!(insert::chart::draw(&outcome).contains("Inrush, 50 % (stand-in)"));
    let left: Vec<_> = fs::read_dir(&folder.0).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name == "lock" || name == "stand-in"), "{left:?}");
}

#[test]
fn a_way_that_adds_other_rows_fails_the_insert_benchmark() {
    let folder = Folder::new("insert-other");
    let options = InsertOptions {
        versions: vec![InsertVersion::Tc],
        pools: vec![Pool::Small],
        steps: vec![Step::First],
        ..insert_options(&folder.0, "SET productid = 7")
    };
    let error = insert::run(&options, &mut |_| {}).unwrap_err().to_string();
    let expected = "table purchases_index: INSERT, 250 rows loaded 3000 rows of checksum ";
    assert!(error.starts_with(expected) && error.contains("Inrush (stand-in)"), "{error}");
    assert!(!folder.0.join("server").exists() && !folder.0.join("aside").exists());

    let cases = [
        (InsertOptions { rows: 10, ..options.clone() }, "--rows"),
        (InsertOptions { more_percent: 0, ..options.clone() }, "--more"),
        (InsertOptions { path: "fast".to_owned(), ..options.clone() }, "--path"),
        (InsertOptions { pool_bytes: Some(1 << 20), ..options }, "--pool"),
    ];
    for (options, expected) in cases {
        let error = insert::run(&options, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn settings_are_measured_on_the_same_rows_and_told_on_this_machine() {
    let folder = Folder::new("tune");
    let state = folder.0.join("state");
    let named =
        |name: &str| tune::Setting::ALL.iter().copied().find(|one| one.short() == name).unwrap();
    let options = TuneOptions {
        lines: 300,
        files: 3,
        settings: vec![named("flush-log"), named("checks")],
        data_dir: folder.0.clone(),
        state_dir: Some(state.clone()),
        ..TuneOptions::default()
    };
    let mut said = Vec::new();
    let outcome = tune::run(&options, &mut |line| said.push(line.to_owned())).unwrap();
    let names: Vec<&str> = outcome.settings.iter().map(|one| one.setting.short()).collect();
    assert_eq!(names, ["default", "flush-log", "checks"]);
    assert!(outcome.settings.iter().all(|one| one.seconds.len() == 1), "{outcome:?}");
    let text = outcome.text();
    let line = text.lines().find(|line| line.starts_with("innodb_flush_log_at_trx_commit=2 "));
    assert!(line.is_some_and(|line| line.ends_with(" %")), "{text}");
    let gains = Gains::read(&state, &outcome.host).unwrap();
    // Statements of a session are none of the server's settings.
    assert!(gains.of("innodb_flush_log_at_trx_commit").is_some() && gains.gains.len() == 1);
    assert!(!folder.0.join("server").exists() && !said.is_empty());
    let nothing = tune::run(&TuneOptions { files: 0, ..options }, &mut |_| {});
    assert!(nothing.unwrap_err().to_string().contains("must be at least 1"));
}
