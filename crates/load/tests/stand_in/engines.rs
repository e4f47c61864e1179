//! Loads of other engines than one server, as the stand-in plays them ([`Engine`]): by each way that their
//! rules leave open, with faults and without, within their limits; and what is refused.

use std::path::Path;

use job::memory::Memory;
use load::{InputOptions, LoadOptions, LoadPath, Mode};
use testkit::Random;
use testkit::proxy::Fate;
use testkit::stand_in::Engine;
use testkit::stand_in::faults::{Fault, faults};

use super::judged::first;
use super::scene::{LoadCase, Scene};
use super::{all, folder};

/// Far more than the loads of the other tests have.
const LARGE: usize = 1 << 30;
const GALERA: Engine = Engine::Galera { bytes: LARGE };
const GROUP: Engine = Engine::Group { bytes: LARGE };
const MARIADB: Engine = Engine::MariaDb;
const TIDB: Engine = Engine::TiDb { release: (7, 6), bytes: LARGE };
const OLD_TIDB: Engine = Engine::TiDb { release: (7, 1), bytes: LARGE };
const VITESS: Engine = Engine::Vitess { shards: 1 };
const SHARDS: Engine = Engine::Vitess { shards: 2 };

const APPEND: LoadCase = LoadCase::new(LoadPath::Auto, Mode::Append, false);
const INSERT: LoadCase = LoadCase::new(LoadPath::Auto, Mode::Insert, false);
const REPLACE: LoadCase = LoadCase::new(LoadPath::Auto, Mode::Replace, false);
/// No staging table takes the place of a table with a trigger: all rows go in by one transaction.
const WHOLE: LoadCase = LoadCase::new(LoadPath::Auto, Mode::Replace, true);
const WHOLE_INSERT: LoadCase = LoadCase::new(LoadPath::Auto, Mode::Insert, true);
const BY_INSERT: LoadCase = LoadCase::new(LoadPath::Insert, Mode::Append, false);
const BY_STREAM: LoadCase = LoadCase::new(LoadPath::Stream, Mode::Append, false);
const BY_IMPORT: LoadCase = LoadCase::new(LoadPath::Import, Mode::Insert, false);
const REPLACE_BY_IMPORT: LoadCase = LoadCase::new(LoadPath::Import, Mode::Replace, false);
const NO_KEY: LoadCase = APPEND.into(&["n"]);
const TWO: LoadCase = REPLACE.into(&["t", "u"]);
const TWO_SMALL: LoadCase = INSERT.into(&["t", "u"]);

/// Loads that are possible, with their path and method.
const OPEN: [(Engine, LoadCase, &str, &str); 32] = [
    (GALERA, INSERT, "stream", "staging"),
    (GALERA, APPEND, "stream", "append"),
    (GALERA, WHOLE, "stream", "transaction"),
    (GALERA, BY_INSERT, "insert", "append"),
    (GROUP, REPLACE, "stream", "staging"),
    (GROUP, APPEND, "stream", "append"),
    (GROUP, WHOLE_INSERT, "stream", "transaction"),
    (GROUP, BY_INSERT, "insert", "append"),
    (TIDB, INSERT, "stream", "staging"),
    (TIDB, REPLACE, "stream", "staging"),
    (TIDB, INSERT.into(&["i"]), "stream", "staging"),
    (TIDB, INSERT.into(&["r"]), "stream", "staging"),
    (TIDB, APPEND, "stream", "append"),
    (TIDB, NO_KEY, "stream", "append"),
    // LOAD DATA checks no foreign key there.
    (TIDB, APPEND.into(&["c"]), "insert", "append"),
    (TIDB, REPLACE.into(&["c"]), "insert", "transaction"),
    (TIDB, WHOLE, "stream", "transaction"),
    (TIDB, BY_IMPORT, "import", "staging"),
    (TIDB, REPLACE_BY_IMPORT.into(&["n"]), "import", "staging"),
    (TIDB, BY_IMPORT.into(&["i"]), "import", "staging"),
    (OLD_TIDB, REPLACE, "insert", "staging"),
    (OLD_TIDB, APPEND, "insert", "append"),
    (VITESS, APPEND, "insert", "append"),
    (VITESS, NO_KEY, "insert", "append"),
    (VITESS, INSERT, "insert", "transaction"),
    (VITESS, REPLACE, "insert", "transaction"),
    (SHARDS, APPEND, "insert", "append"),
    (SHARDS, NO_KEY, "insert", "append"),
    (Engine::Vitess { shards: 3 }, NO_KEY, "insert", "append"),
    (Engine::PolarDbX, APPEND, "insert", "append"),
    (Engine::PolarDbX, NO_KEY, "insert", "append"),
    (Engine::PolarDbX, BY_INSERT, "insert", "append"),
];

/// Loads that are refused, with a part of the sentence.
const REFUSED: [(Engine, LoadCase, &str); 17] = [
    (OLD_TIDB, BY_STREAM, "TiDB (before TiDB 7.6, LOAD DATA is not part of the transaction"),
    (TIDB, BY_STREAM.into(&["c"]), "TiDB (LOAD DATA does not check foreign keys there)"),
    (TIDB, WHOLE_INSERT, "trigger (g); other clients could insert into the empty table"),
    (Engine::TiDb { release: (5, 4), bytes: LARGE }, APPEND, "6.5 or newer is needed"),
    (VITESS, BY_STREAM, "Vitess (vtgate does not support LOAD DATA LOCAL)"),
    (SHARDS, INSERT, "model has 2 shards, which Vitess commits one after the other"),
    (SHARDS, REPLACE, "--mode append adds rows"),
    (Engine::PolarDbX, BY_STREAM, "PolarDB-X (LOAD DATA is not a transaction on PolarDB-X)"),
    (Engine::PolarDbX, INSERT, "PolarDB-X (savepoints in such a transaction"),
    (Engine::PolarDbX, REPLACE, "--mode append adds rows"),
    (GROUP, BY_IMPORT, "only TiDB has IMPORT INTO; --path auto chooses another method"),
    (OLD_TIDB, BY_IMPORT, "TiDB 7.5 or newer is needed"),
    (
        TIDB,
        LoadCase::new(LoadPath::Import, Mode::Append, false),
        "IMPORT INTO fills an empty table only, but --mode append keeps",
    ),
    (TIDB, LoadCase::new(LoadPath::Import, Mode::Replace, true), "none can replace this table"),
    (TIDB, BY_IMPORT.into(&["c"]), "IMPORT INTO does not check foreign keys"),
    (TIDB, BY_IMPORT.into(&["r"]), "IMPORT INTO stores a 0 of the AUTO_RANDOM column `a`"),
    (MARIADB, BY_IMPORT, "only TiDB has IMPORT INTO"),
];

#[test]
fn an_engine_is_loaded_by_the_ways_that_its_rules_leave_open() {
    let folder = folder();
    for (at, (engine, way, path, destination)) in OPEN.into_iter().enumerate() {
        let scene = Scene::of(engine, way, &folder.path().join(format!("open{at}")));
        scene.requests();
        scene.reset();
        let report = load::load(&scene.connect, &scene.options[0], None, &()).unwrap();
        let logical = report.logical.unwrap();
        assert_eq!((report.path, logical.destination), (path, destination), "{engine:?} {way:?}");
        assert!(report.engine.is_some(), "{engine:?}");
    }
}

#[test]
fn what_an_engine_would_not_keep_is_refused_before_anything_is_done() {
    let folder = folder();
    for (at, (engine, way, words)) in REFUSED.into_iter().enumerate() {
        let scene = Scene::of(engine, way, &folder.path().join(format!("refused{at}")));
        scene.reset();
        let refused = load::load(&scene.connect, &scene.options[0], None, &()).unwrap_err();
        let told = refused.to_string();
        assert!(told.contains(words), "{engine:?} {way:?}: {told}");
        assert_eq!(refused.exit_status(), 2, "{engine:?} {way:?}: {told}");
        scene.server.settle();
        let tables = scene.server.tables();
        assert_eq!(tables.len(), 1, "{engine:?} {way:?}: {tables:?}");
        assert_eq!(scene.server.rows(&tables[0]).unwrap(), scene.old, "{engine:?} {way:?}");
        assert_eq!(scene.server.broken(), Vec::<String>::new(), "{engine:?} {way:?}");
    }
    let atomic = Scene::of(Engine::PolarDbX, APPEND, &folder.path().join("atomic"));
    atomic.reset();
    let options = LoadOptions { atomic: true, ..atomic.options[0].clone() };
    let told = load::load(&atomic.connect, &options, None, &()).unwrap_err().to_string();
    assert!(told.contains("PolarDB-X (savepoints in such a transaction"), "{told}");
    // TiDB reads a file as it likes.
    let latin1 = Scene::of(TIDB, APPEND, &folder.path().join("latin1"));
    latin1.reset();
    let options = LoadOptions {
        input: InputOptions { charset: "latin1".to_owned(), ..latin1.options[0].input.clone() },
        ..latin1.options[0].clone()
    };
    assert_eq!(load::load(&latin1.connect, &options, None, &()).unwrap().path, "insert");
}

/// Faults of each way: all of them in the soak.
const FAULTS: usize = 24;

#[test]
fn whatever_befalls_a_request_to_an_engine_what_is_said_of_the_outcome_is_so() {
    let rounds = std::env::var("INRUSH_STAND_IN_ROUNDS").is_ok();
    let seed = Random::seed_of_run();
    let mut random = Random::new(seed);
    let folder = folder();
    let mut ways: Vec<(Engine, LoadCase)> = OPEN.map(|(engine, way, ..)| (engine, way)).to_vec();
    ways.extend([(GALERA, TWO), (GALERA, TWO_SMALL), (GROUP, TWO), (TIDB, TWO), (TIDB, TWO_SMALL)]);
    let mut work = Vec::new();
    for (at, &(engine, way)) in ways.iter().enumerate() {
        let first = folder.path().join(format!("first{at}"));
        let requests = Scene::of(engine, way, &first).requests();
        let mut faults = faults(&requests, rounds, &mut random);
        if !rounds {
            random.shuffle(&mut faults);
            // Shards differ only behind a COMMIT.
            let is_kept = |fault: &Fault| {
                engine == SHARDS && requests.get(fault.nth).is_some_and(|at| at.begins("COMMIT"))
            };
            let (kept, mut others): (Vec<Fault>, Vec<Fault>) =
                faults.into_iter().partition(is_kept);
            others.truncate(FAULTS);
            faults = [kept, others].concat();
        }
        work.extend(faults.into_iter().map(|fault| (at, fault)));
    }
    let scene = |at: usize, folder: &Path| Scene::of(ways[at].0, ways[at].1, folder);
    let failed = all(&work, ways.len(), &scene, folder.path());
    println!("{} runs, seed {seed}", work.len());
    let some: Vec<&str> = failed.iter().take(8).map(String::as_str).collect();
    assert!(failed.is_empty(), "seed {seed}, {} failed:\n{}", failed.len(), some.join("\n"));
}

/// Errors of accounts that may not look are no failure of some questions.
#[test]
fn a_connection_that_does_not_come_back_from_a_shard_is_not_asked_again() {
    let folder = folder();
    for (at, errno) in [1044, 1142, 1143, 1205].into_iter().enumerate() {
        let scene = Scene::of(SHARDS, NO_KEY, &folder.path().join(format!("back{at}")));
        scene.reset();
        scene.server.judge(first("USE `model`", Fate::Refused(errno)));
        load::load(&scene.connect, &scene.options[0], None, &()).unwrap_err();
        scene.server.let_pass();
        scene.server.settle();
        assert_eq!(scene.server.rows("n").unwrap(), scene.old, "{errno}");
        load::load(&scene.connect, &scene.options[0], None, &()).unwrap();
        assert_eq!(scene.server.broken(), Vec::<String>::new(), "{errno}");
    }
}

/// Rows of a file that would not go in by one transaction.
const MANY: u64 = 6000;
/// Largest transaction of such an engine: a chunk of the file would be larger.
const SMALL: usize = 64 << 10;

#[test]
fn chunks_are_within_what_an_engine_takes_and_all_rows_at_once_are_refused() {
    let folder = folder();
    let small = [
        Engine::Galera { bytes: SMALL },
        Engine::Group { bytes: SMALL },
        Engine::TiDb { release: (7, 6), bytes: SMALL },
    ];
    let ways = [NO_KEY, REPLACE.into(&["n"]), BY_INSERT.into(&["n"])];
    for (at, engine) in small.into_iter().enumerate() {
        for (which, way) in ways.into_iter().enumerate() {
            let folder = folder.path().join(format!("small{at}-{which}"));
            let scene = Scene::of(engine, way, &folder);
            let options = many(&scene, &folder, MANY);
            assert_eq!(load::load(&scene.connect, &options, None, &()).unwrap().rows, MANY);
            scene.server.settle();
            let kept = if options.mode == Mode::Append { scene.old.len() } else { 0 };
            assert_eq!(scene.server.rows("n").unwrap().len(), MANY as usize + kept, "{engine:?}");
            // By one transaction it is told what to do, and nothing is in.
            let atomic = LoadOptions { atomic: true, mode: Mode::Append, ..options };
            scene.reset();
            let told = load::load(&scene.connect, &atomic, None, &()).unwrap_err().to_string();
            assert!(
                told.contains("raise the limit, or load in chunks, without --atomic"),
                "{told}"
            );
            scene.server.settle();
            assert_eq!(scene.server.rows("n").unwrap(), scene.old, "{engine:?}");
        }
    }
}

#[test]
fn a_value_that_begins_with_a_byte_order_mark_keeps_it_as_the_first_of_its_statement() {
    let folder = folder();
    for path in [LoadPath::Stream, LoadPath::Import, LoadPath::Insert] {
        let folder = folder.path().join(path.name());
        let scene = Scene::of(TIDB, LoadCase::new(path, Mode::Insert, false), &folder);
        let mut options = many(&scene, &folder, 0);
        // A file of which nobody takes the mark for its own.
        std::fs::write(&options.input.files[0], "x\t\u{feff}1\n\u{feff}y\t2\n").unwrap();
        options.input.columns = Some(["b", "a"].map(str::to_owned).to_vec());
        assert_eq!(load::load(&scene.connect, &options, None, &()).unwrap().rows, 2);
        assert_eq!(scene.server.rows("t").unwrap(), ["2 \u{feff}y", "\u{feff}1 x"], "{path:?}");
    }
}

#[test]
fn statements_are_within_what_an_engine_takes_however_many_rows_are_asked_for() {
    let folder = folder();
    for (engine, rows, mebibytes) in [(Engine::PolarDbX, 100_000, 1), (VITESS, 400_000, 4)] {
        let folder = folder.path().join(format!("large{rows}"));
        let scene = Scene::of(engine, NO_KEY, &folder);
        let mut options = many(&scene, &folder, rows);
        options.limits.batches.rows = Some(1_000_000);
        options.limits.shares = Some(Memory {
            threads: 1,
            chunk_bytes: mebibytes << 20,
            record_bytes_max: mebibytes << 20,
            batch_bytes: 1 << 20,
            entry_bytes: 1 << 20,
            run_bytes: 1 << 20,
        });
        assert_eq!(load::load(&scene.connect, &options, None, &()).unwrap().rows, rows);
        assert_eq!(scene.server.broken(), Vec::<String>::new(), "{engine:?}");
    }
}

#[test]
fn more_rows_than_a_tablet_deletes_at_once_are_replaced() {
    let folder = folder();
    let scene = Scene::of(VITESS, REPLACE.into(&["n"]), &folder.path().join("replaced"));
    let options = many(&scene, &folder.path().join("replaced"), 3);
    let old: Vec<String> = (0..12_000).map(|row| format!("{row} 0")).collect();
    scene.server.clear();
    scene.server.make("n", super::scene::definition("n"), None, &old);
    assert_eq!(load::load(&scene.connect, &options, None, &()).unwrap().rows, 3);
    assert_eq!(scene.server.rows("n").unwrap(), ["0 0", "1 1", "2 2"]);
}

/// A load of a file of so many rows of the scene's table.
fn many(scene: &Scene, folder: &Path, rows: u64) -> LoadOptions {
    let path = folder.join("many.txt");
    let lines = (0..rows).map(|row| format!("{row}\t{}\n", row % 7)).collect::<String>();
    std::fs::write(&path, lines).unwrap();
    scene.reset();
    LoadOptions {
        input: InputOptions { files: vec![path], ..scene.options[0].input.clone() },
        ..scene.options[0].clone()
    }
}
