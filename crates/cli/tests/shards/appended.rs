//! Rows that are added to the tables of shards: by branches of one transaction.

use super::*;

/// Where a load is killed before it is decided that the rows are to be; half of them by INRUSH_TEST_KILLS only.
const UNDECIDED: [&str; 8] = [
    "branches.marked.1",
    "shards.filled.0",
    "branch.prepared.1",
    "branches.decide",
    "branches.written",
    "branch.begun.0",
    "branches.sent.2",
    "branches.full",
];
/// And behind that.
const DECIDED: [&str; 6] = [
    "branches.decided",
    "branch.committed.1",
    "branches.unmarked.0",
    "branch.ended.0",
    "branches.done",
    "branches.unmarked.2",
];
const APPEND: [&str; 2] = ["--mode", "append"];

/// A table that rows are added to.
struct Growing<'s> {
    scene: Scene<'s>,
    /// Its rows, as its file would have them.
    has: String,
    next: u32,
}

impl<'s> Growing<'s> {
    fn new(shards: &'s Shards) -> Growing<'s> {
        Growing::of(Scene::new(shards, "HASH (id)", &[]))
    }

    fn of(scene: Scene<'s>) -> Growing<'s> {
        let mut growing = Growing { scene, has: String::new(), next: 1 };
        growing.more(90);
        growing.scene.load(&[]).done();
        growing
    }

    /// So many other rows, in the file; they are to be in from now on.
    fn more(&mut self, count: u32) {
        let path = self.scene.rows(self.next, count);
        self.has += &std::fs::read_to_string(path).unwrap();
        self.next += count;
    }

    fn append(&self, more: &[&str]) -> Outcome {
        run(&mut self.command(more))
    }

    fn command(&self, more: &[&str]) -> Command {
        self.scene.command("load", &[&APPEND, more].concat())
    }

    /// The load from another machine, to which the file looks the same.
    fn append_elsewhere(&self, more: &[&str]) -> Outcome {
        let state = self.scene.home.path().join("elsewhere");
        self.append(&[&["--state-dir", state.to_str().unwrap()], more].concat())
    }

    /// Adds rows, killed at a place, and goes on elsewhere: none were in before they were decided on, and all
    /// are in then, once.
    #[track_caller]
    fn survives_a_kill(&mut self, place: &str, is_decided: bool) {
        let before = self.scene.count();
        self.more(60);
        let mut command = self.command(&[]);
        let killed = run(command.env("INRUSH_FAILPOINT", format!("{place}=kill")));
        assert_eq!(killed.status.signal(), Some(KILL), "{place}: {killed:?}");
        let count = self.scene.count();
        match is_decided {
            true => assert!((before..=before + 60).contains(&count), "{place}: {count}"),
            false => assert_eq!(count, before, "{place}"),
        }
        let again = self.append_elsewhere(&[]);
        assert_eq!(again.done().out.contains("rows already"), is_decided, "{place}: {again:?}");
        self.is_whole(place);
    }

    /// It has all rows that are to be in, each once, and nothing else is anywhere.
    #[track_caller]
    fn is_whole(&mut self, when: &str) {
        let path = self.scene.home.path().join("rows");
        let file = std::fs::read(&path).unwrap();
        let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
        std::fs::write(&path, &self.has).unwrap();
        self.scene.is_whole(when);
        std::fs::write(&path, file).unwrap();
        std::fs::File::open(&path).unwrap().set_modified(modified).unwrap();
        self.nothing_is_prepared(when);
    }

    #[track_caller]
    fn nothing_is_prepared(&self, when: &str) {
        for node in &self.scene.shards.nodes {
            let prepared = node.connect().unwrap().query("XA RECOVER").unwrap();
            assert!(prepared.is_empty(), "{when}: {prepared:?}");
        }
    }
}

#[test]
fn rows_are_added_to_all_shards_or_to_none() {
    let Some(shards) = shards() else { return };
    let mut growing = Growing::new(&shards);
    growing.more(600);
    let plan = run(&mut growing.scene.command("plan", &APPEND));
    for part in [
        "a branch of one transaction",
        "each shard keeps undo and locks of all its rows, about",
        "some milliseconds",
    ] {
        assert!(plan.done().out.contains(part), "{part}: {plan:?}");
    }
    for path in ["auto", "stream", "insert"] {
        let loaded = growing.append(&["--path", path, "--verbose"]);
        assert!(loaded.done().out.contains("partition p2: "), "{loaded:?}");
        growing.is_whole(path);
        growing.more(700);
    }
    growing.append(&["--on-duplicate", "replace"]).done();
    // Which are there: refused, left out, replaced; and a row of the file's end that is bad.
    let before = growing.scene.count();
    growing.append(&[]).refused(1, &["the shard s", "already has a row with this key"]);
    growing.is_whole("duplicates fail");
    growing.append(&["--on-duplicate", "skip"]).done();
    growing.is_whole("duplicates are left out");
    let file = growing.scene.home.path().join("rows");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.clone() + "x\tbad\t2020-01-01\n").unwrap();
    growing.append(&["--on-duplicate", "replace"]).refused(1, &["line 701"]);
    let other = text.replace("name", "other");
    growing.has = growing.has.replace(&text, &other);
    std::fs::write(&file, other).unwrap();
    growing.append(&["--on-duplicate", "replace"]).done();
    growing.is_whole("duplicates are replaced");
    assert_eq!(growing.scene.count(), before);
    growing.append(&["--path", "direct"]).refused(2, &["by a transaction"]);
}

#[test]
fn an_append_killed_at_any_step_is_made_good_from_another_machine() {
    let Some(shards) = shards() else { return };
    let mut growing = Growing::new(&shards);
    let few = |places: &'static [&str]| match std::env::var_os("INRUSH_TEST_KILLS") {
        Some(_) => places.iter(),
        None => places[..places.len() / 2].iter(),
    };
    for place in few(&UNDECIDED).chain(few(&DECIDED)) {
        growing.survives_a_kill(place, DECIDED.contains(place));
    }
    for place in ["thread.prepare", "thread.shard", "branches.decide"] {
        let mut command = growing.command(&["--on-duplicate", "skip"]);
        let place = format!("{place}=panic");
        let panicked = run(command.env("INRUSH_FAILPOINT", place).env("RUST_BACKTRACE", "0"));
        panicked.refused(1, &["an internal error"]);
        growing.is_whole("a panic");
    }
    growing.more(30);
    let mut command = growing.command(&[]);
    run(command.env("INRUSH_FAILPOINT", "thread.commit=panic")).done();
    growing.is_whole("a panic behind the decision");
}

#[test]
fn rows_that_only_the_head_can_tell_apart_are_added_by_way_of_new_tables() {
    let Some(shards) = shards() else { return };
    let by_name = Scene::with(&shards, through_head::BY_NAME, "KEY (name)", &[]);
    let mut growing = Growing::of(by_name);
    growing.more(700);
    let plan = run(&mut growing.scene.command("plan", &APPEND));
    for part in ["rows are sent through the Spider server into a staging table", "not shards"] {
        assert!(plan.done().out.contains(part), "{part}: {plan:?}");
    }
    let loaded = growing.append(&["--verbose"]);
    for part in [
        "700 rows loaded",
        "rows are sent through the Spider server",
        "the commits of all shards took",
    ] {
        assert!(loaded.done().out.contains(part), "{part}: {loaded:?}");
    }
    growing
        .is_whole("rows cannot be added through the Spider server to shards that are unreachable");
    growing.append(&[]).refused(1, &["the shard s", "Duplicate entry"]);
    growing.is_whole("duplicates fail");
    let far = ["--shard", "s2=127.0.0.1:1"];
    growing.append(&far).refused(1, &["the shard s2 (127.0.0.1:1)"]);
    for place in ["shards.staged", "branches.sent.1", "branch.prepared.1", "branch.committed.1"] {
        growing.survives_a_kill(place, place == "branch.committed.1");
    }
    for place in ["shards.staged", "branches.full", "branches.decided"] {
        growing.more(60);
        let mut command = growing.command(&[]);
        let mut child = start(command.env("INRUSH_FAILPOINT", format!("{place}=pause")));
        wait_paused(&mut child);
        shards.nodes[1].kill_9().unwrap();
        resume(&child);
        let outcome = finish(child);
        shards.nodes[1].restart().unwrap();
        assert_eq!(outcome.code(), 1, "{place}: {outcome:?}");
        growing.scene.count();
        growing.append_elsewhere(&[]).done();
        growing.is_whole(place);
    }
    let mut command = growing.command(&["--on-duplicate", "fail"]);
    let panicked = run(command.env("INRUSH_FAILPOINT", "thread.staged=panic"));
    panicked.refused(1, &["an internal error"]);
    growing.is_whole("a panic");
}

#[test]
fn what_a_killed_replacement_has_left_goes_with_the_next_append() {
    let Some(shards) = shards() else { return };
    let mut growing = Growing::new(&shards);
    for place in ["shards.compare", "shards.swapped"] {
        let rows = growing.scene.rows(1, 200);
        let mut command = growing.scene.command("load", &["--mode", "replace"]);
        run(command.env("INRUSH_FAILPOINT", format!("{place}=kill")));
        if place == "shards.swapped" {
            growing.has = std::fs::read_to_string(rows).unwrap();
        }
        growing.next = 1_000;
        growing.more(50);
        growing.append(&[]).done();
        growing.is_whole(place);
    }
}

#[test]
fn an_append_is_in_once_whoever_brings_it_to_its_end() {
    let Some(shards) = shards() else { return };
    let mut growing = Growing::new(&shards);
    for (place, is_in) in [("branch.prepared.2", false), ("branch.committed.0", true)] {
        growing.more(50);
        let first = std::fs::read_to_string(growing.scene.home.path().join("rows")).unwrap();
        let mut command = growing.command(&[]);
        run(command.env("INRUSH_FAILPOINT", format!("{place}=kill")));
        // Another input, from elsewhere, goes in beside it.
        let path = growing.scene.home.path().join("rows");
        let kept = growing.scene.home.path().join("kept");
        std::fs::rename(&path, &kept).unwrap();
        growing.more(40);
        growing.append_elsewhere(&[]).done();
        growing.nothing_is_prepared(place);
        let expected = growing.has.lines().count() - if is_in { 0 } else { 50 };
        assert_eq!(growing.scene.count(), expected as u64, "{place}");
        // Its own command goes on, or hears that it is done.
        std::fs::rename(&kept, &path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), first);
        let jobs = run(&mut growing.scene.home.inrush(["jobs"]));
        let job = jobs.out.lines().find(|line| line.contains("killed")).unwrap();
        let job = job.split(' ').next().unwrap();
        let mut resumed = growing.scene.home.inrush(["resume", job]);
        let resumed = run(resumed.env("MYSQL_PWD", "secret"));
        assert_eq!(resumed.done().out.contains("rows already"), is_in, "{place}: {resumed:?}");
        growing.is_whole(place);
    }
    // Other rows in their place: what is written down goes too.
    growing.more(20);
    let mut command = growing.command(&[]);
    run(command.env("INRUSH_FAILPOINT", "branch.committed.2=kill"));
    growing.has = std::fs::read_to_string(growing.scene.rows(1, 10)).unwrap();
    growing.scene.load(&["--mode", "replace"]).done();
    growing.is_whole("replaced");
}

#[test]
fn a_server_that_is_killed_leaves_an_append_whole_or_undone() {
    let Some(shards) = shards() else { return };
    let mut growing = Growing::new(&shards);
    // A shard, and the head.
    for node in [Some(2), None] {
        let server = || node.map_or(&shards.head, |node| &shards.nodes[node]);
        let few = ["branch.prepared.2", "branches.decide", "branches.decided"];
        let few = if node.is_some() { [few[0], few[2]] } else { [few[1], few[2]] };
        let all = ["shards.filled.1", "branch.prepared.2", "branches.decide", "branches.decided"];
        let places = if std::env::var_os("INRUSH_TEST_KILLS").is_some() { &all[..] } else { &few };
        for place in places {
            let before = growing.scene.count();
            growing.more(60);
            let mut command = growing.command(&[]);
            let mut child = start(command.env("INRUSH_FAILPOINT", format!("{place}=pause")));
            wait_paused(&mut child);
            server().kill_9().unwrap();
            resume(&child);
            let outcome = finish(child);
            if node.is_some() && *place == "branch.prepared.2" {
                // Locks of the other shards do not wait for this one.
                for other in &shards.nodes[..2] {
                    let prepared = other.connect().unwrap().query("XA RECOVER").unwrap();
                    assert!(prepared.is_empty(), "{prepared:?}: {outcome:?}");
                }
                assert!(outcome.err.contains("may stay locked on that shard"), "{outcome:?}");
            }
            server().restart().unwrap();
            growing.scene.session = shards.session().unwrap();
            let when = format!("{place} of {node:?}: {outcome:?}");
            assert_eq!(outcome.code(), 1, "{when}");
            let count = growing.scene.count();
            match place.starts_with("branches.decide") {
                true => assert!((before..=before + 60).contains(&count), "{count}: {when}"),
                false => assert_eq!(count, before, "{when}"),
            }
            growing.append_elsewhere(&[]).done();
            growing.is_whole(&when);
        }
    }
}

#[test]
fn branches_that_nobody_knows_are_rolled_back_and_those_of_others_stay() {
    let Some(shards) = shards() else { return };
    let mut growing = Growing::new(&shards);
    growing.more(60);
    let mut command = growing.command(&[]);
    run(command.env("INRUSH_FAILPOINT", "branches.decide=kill"));
    let mut session = shards.session().unwrap();
    let tables = shards.tables(&growing.scene.database).unwrap();
    let written = tables[0].iter().find(|name| name.starts_with("_inrush_append_")).unwrap();
    let dropped = format!("DROP TABLE {}.`{written}`", growing.scene.database);
    session.exec(&dropped).unwrap();
    let mut other = shards.nodes[0].connect().unwrap();
    let table = tables[1].iter().find(|name| !name.starts_with("_inrush_")).unwrap();
    let table = format!("{}.`{table}`", growing.scene.database);
    for sql in [
        "XA START 'inrush_0123456789abcdef_0123456789abcdef','0'",
        &format!("INSERT INTO {table} VALUES (900000, 'other', NULL)"),
        "XA END 'inrush_0123456789abcdef_0123456789abcdef','0'",
        "XA PREPARE 'inrush_0123456789abcdef_0123456789abcdef','0'",
    ] {
        other.exec(sql).unwrap();
    }
    let plan = run(&mut growing.scene.command("plan", &APPEND));
    assert!(
        !plan.done().out.contains("an earlier load has neither added all its rows nor rolled"),
        "{plan:?}"
    );
    growing.append_elsewhere(&[]).done();
    // What it waits for in vain is named.
    let path = growing.scene.home.path().join("rows");
    let rows = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, "900000\tours\t2020-01-01\n").unwrap();
    growing
        .append(&["--lock-wait", "1"])
        .refused(1, &["the shard s1", "may hold the lock: 'inrush_0123456789abcdef_"]);
    std::fs::write(&path, rows).unwrap();
    let left = other.query("XA RECOVER").unwrap();
    assert_eq!(left.len(), 1);
    other.exec("XA ROLLBACK 'inrush_0123456789abcdef_0123456789abcdef','0'").unwrap();
    // What the killed load had made beside the tables went with its branches.
    growing.is_whole("unknown branches");
    // Rolled back by hand behind the decision: that is told, and nothing goes on.
    growing.more(60);
    let mut command = growing.command(&[]);
    run(command.env("INRUSH_FAILPOINT", "branches.decided=kill"));
    let plan = run(&mut growing.scene.command("plan", &APPEND));
    assert!(
        plan.done().out.contains("an earlier load has neither added all its rows nor rolled"),
        "{plan:?}"
    );
    let row = other.query_row("XA RECOVER FORMAT='SQL'").unwrap();
    let (rollback, begun) = (format!("XA ROLLBACK {}", row.text(3).unwrap()), Instant::now());
    // As long as the connection lives that has prepared it, there is none to others.
    while let Err(error) = other.exec(&rollback) {
        assert!(begun.elapsed() < PATIENCE, "{error}");
        std::thread::sleep(Duration::from_millis(20));
    }
    growing.append_elsewhere(&[]).refused(
        1,
        &[
            "on all shards except s1 (",
            "_inrush_append_",
            "the prepared transaction and its rows are missing there",
        ],
    );
    growing
        .append_elsewhere(&[])
        .refused(1, &["the prepared transaction and its rows are missing there"]);
}

#[test]
fn a_reader_sees_the_old_rows_until_all_shards_have_prepared_the_new_ones() {
    let Some(shards) = shards() else { return };
    let mut growing = Growing::new(&shards);
    let before = growing.scene.count();
    growing.more(300);
    let count = format!("SELECT COUNT(*) FROM {}", growing.scene.table());
    let mut reader = shards.session().unwrap();
    let mut child = start(growing.command(&[]).env("INRUSH_FAILPOINT", "branches.decide=pause"));
    wait_paused(&mut child);
    // Nobody waits for what is only prepared.
    for _ in 0..3 {
        assert_eq!(reader.query_row(&count).unwrap().number::<u64>(0).unwrap(), before);
    }
    resume(&child);
    let outcome = finish(child);
    assert!(outcome.done().out.contains("the commits of all shards took"), "{outcome:?}");
    assert_eq!(reader.query_row(&count).unwrap().number::<u64>(0).unwrap(), before + 300);
    growing.is_whole("read meanwhile");
}
