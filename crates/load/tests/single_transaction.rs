//! Several small tables, whose rows go in by one transaction, on a server that fails at any request:
//! what is said of the outcome must be so, and the same command must make it good.

use std::sync::{Arc, Mutex};

use load::{Error, LoadOptions, LoadPath, SeveralReport};
use server::ConnectOptions;
use testkit::Random;
use testkit::proxy::{Fate, Proxy, Request};
use testkit::tables::server::{Db, Server};

const TABLES: [&str; 3] = ["a", "b", "c"];
const ROWS: u64 = 50;
/// Loads where nothing is said of it: some seconds of them.
const RUNS: usize = 20;
/// The statement that gets one run more for each fate, as it ends the transaction.
const END: &str = "COMMIT";

struct Scene {
    db: Db,
    tables: Vec<LoadOptions>,
    connect: ConnectOptions,
    proxy: Proxy,
}

impl Scene {
    fn new(server: &Server) -> Scene {
        let db = server.database();
        let of_table = |table: &&str| {
            let text: String = (0..ROWS).map(|n| format!("{n}\t{}\n", n % 7)).collect();
            let file = server.file(&db, &format!("{table}.txt"), text);
            let mut options = server.options(&db, table, vec![file]);
            options.path = LoadPath::Auto;
            options.server.lock_wait_seconds = 2;
            options
        };
        let tables = TABLES.iter().map(of_table).collect();
        let proxy =
            Proxy::start(server.folder(&db.name).join("proxy"), server.test_server().socket());
        let connect =
            ConnectOptions { socket: Some(proxy.socket().to_owned()), ..server.connect_options() };
        let mut scene = Scene { db, tables, connect, proxy };
        scene.reset();
        scene
    }

    fn reset(&mut self) {
        for table in self.db.tables() {
            self.db.sql(&format!("DROP TABLE `{table}`"));
        }
        for table in TABLES {
            self.db.sql(&format!("CREATE TABLE {table} (a INT PRIMARY KEY, b INT, KEY b (b))"));
        }
    }

    fn load(&self) -> Result<SeveralReport, Error> {
        load::load_several(&self.connect, &self.tables, &())
    }

    /// Rows of all tables; waits for a transaction that is being taken back.
    fn rows(&mut self) -> u64 {
        let rows = |table| {
            let sql = format!("SELECT COUNT(*) FROM {table} LOCK IN SHARE MODE");
            self.db.rows(&sql)[0].number::<u64>(0).unwrap()
        };
        TABLES.map(rows).into_iter().sum()
    }

    /// A load in which the request that `is_it` has this fate.
    fn run(&mut self, fate: Fate, mut is_it: impl FnMut(&Request) -> bool + Send + 'static) {
        self.reset();
        let met: Arc<Mutex<Option<Request>>> = Arc::default();
        let meets = Arc::clone(&met);
        self.proxy.judge(move |request| {
            if !is_it(request) || meets.lock().unwrap().is_some() {
                return Fate::Done;
            }
            *meets.lock().unwrap() = Some(request.clone());
            fate
        });
        let outcome = self.load();
        self.proxy.let_pass();
        let met = met.lock().unwrap().take();
        let text = met.map_or(Vec::new(), |met| met.text);
        let text: String = String::from_utf8_lossy(&text).chars().take(90).collect();
        let what = format!("{fate:?} at {text:?}: {outcome:?}");
        let (seen, all) = (self.rows(), ROWS * TABLES.len() as u64);
        match &outcome {
            Ok(report) => {
                assert_eq!((seen, report.rows), (all, all), "{what}");
                assert_eq!(report.tables[0].path, "stream", "{what}");
            }
            Err(Error::AllIn { .. }) => assert_eq!(seen, all, "{what}"),
            Err(Error::Server(server::Error::CommitUnknown(_))) => {
                assert!(seen == 0 || seen == all, "{what}");
            }
            Err(_) => assert_eq!(seen, 0, "{what}"),
        }
        if seen == 0 {
            let again = self.load();
            assert!(again.is_ok(), "{what}: then {again:?}");
            assert_eq!(self.rows(), all, "{what}");
            assert_eq!(self.db.tables(), TABLES, "{what}");
        }
    }
}

#[test]
fn small_tables_have_all_rows_or_none_whatever_the_server_does() {
    let Some(server) = Server::get() else { return };
    let mut scene = Scene::new(&server);
    let connect_and_load = || assert_eq!(scene.load().unwrap().rows, 3 * ROWS);
    let requests = scene.proxy.requests_of(connect_and_load);
    let fates = [
        Fate::LostBefore,
        Fate::LostAfter,
        Fate::Refused(1205),
        Fate::Refused(1290),
        Fate::Refused(1317),
        Fate::DoneThenRefused(1053),
        Fate::DoneThenRefused(1927),
        Fate::DoneThenRefused(1317),
    ];
    for fate in fates {
        scene.run(fate, |request| request.begins(END));
    }
    let mut random = Random::new(Random::seed_of_run());
    for _ in 0..RUNS {
        let (fate, nth, mut count) = (random.pick(&fates), random.below(requests), 0);
        scene.run(fate, move |_| {
            count += 1;
            count - 1 == nth
        });
    }
}

#[test]
fn the_numbers_that_a_table_goes_on_with_are_those_of_a_load_of_it_alone() {
    let Some(server) = Server::get() else { return };
    let mut scene = Scene::new(&server);
    let next = "SELECT GROUP_CONCAT(AUTO_INCREMENT) FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME IN ('a', 'b')";
    // Each given; all generated, for NULL, and for a column that is not there.
    for (columns, is_given, path) in [
        (["a", "b"].as_slice(), true, "stream"),
        (&["a", "b"], false, "stream"),
        (&["b", "c"], true, "direct"),
    ] {
        let mut seen = Vec::new();
        for is_alone in [true, false] {
            scene.reset();
            for table in &TABLES[..2] {
                scene.db.sql(&format!("DROP TABLE {table}"));
                scene.db.sql(&format!(
                    "CREATE TABLE {table} (a INT AUTO_INCREMENT PRIMARY KEY, b INT, c INT)"
                ));
            }
            let mut tables = scene.tables[..2].to_vec();
            for options in &mut tables {
                options.input.columns = Some(columns.iter().map(|&name| name.to_owned()).collect());
                // A busy machine's server takes its time with what was dropped.
                options.server.lock_wait_seconds = 60;
                let row = |n: u64| match is_given {
                    true => format!("{n}\t{n}\n"),
                    false => format!("\\N\t{n}\n"),
                };
                std::fs::write(&options.input.files[0], (1..=ROWS).map(row).collect::<String>())
                    .unwrap();
            }
            let reports = match is_alone {
                true => tables
                    .iter()
                    .map(|options| load::load(&scene.connect, options, None, &()).unwrap())
                    .collect(),
                false => load::load_several(&scene.connect, &tables, &()).unwrap().tables,
            };
            if !is_alone {
                assert!(reports.iter().all(|report| report.path == path), "{columns:?}");
            }
            seen.push(scene.db.rows(next)[0].text(0).unwrap());
        }
        assert_eq!(seen[0], seen[1], "{columns:?} {is_given}");
    }
}
