//! Jobs are listed, shown and gone on with.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use serde_json::Value;

use crate::scene::{Mode, Scene};
use crate::support::{Home, finish, names, resume, run, start, wait_paused};

/// The only job in a state.
#[track_caller]
fn job_in(home: &Home, state: &str) -> Value {
    let listed = run(&mut home.inrush(["jobs", "--json"]));
    let jobs: Vec<Value> = serde_json::from_str(&listed.done().out).unwrap();
    let mut of_state: Vec<Value> = jobs.into_iter().filter(|job| job["state"] == state).collect();
    assert_eq!(of_state.len(), 1, "{state}: {listed:?}");
    of_state.swap_remove(0)
}

fn name(job: &Value) -> String {
    job["job"].as_str().unwrap().to_owned()
}

#[test]
fn a_killed_load_is_listed_and_gone_on_with() {
    let Some(server) = testkit::TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Replace, 2_000);
    run(&mut scene.home.inrush(["jobs"])).done();
    let killed = run(&mut scene.load_with("import.begin=kill"));
    assert_eq!(killed.status.signal(), Some(9), "{killed:?}");
    let job = job_in(&scene.home, "killed");
    assert_eq!(
        (job["target"].as_str(), job["step"].as_str()),
        (Some(&*scene.table), Some("import"))
    );
    let shown = run(&mut scene.home.inrush(["jobs", "show", &name(&job)]));
    for part in
        ["killed", "new.txt", "unfinished  import", "--mode replace", "resume   inrush resume"]
    {
        assert!(shown.done().out.contains(part), "{part}: {shown:?}");
    }
    let logs = run(&mut scene.home.inrush(["jobs", "logs", &name(&job)]));
    assert!(logs.done().out.contains("import     begin"), "{logs:?}");
    // Without a word nothing is removed that was killed.
    assert_eq!(run(&mut scene.home.inrush(["jobs", "clean"])).done().out, "0 journals removed\n");
    // From another folder: the command is run in its own.
    let mut again = scene.home.inrush(["resume", &name(&job)]);
    run(again.current_dir("/")).done();
    assert!(scene.is_new());
    scene.clean("after going on");
    let done = job_in(&scene.home, "done");
    run(&mut scene.home.inrush(["resume", &name(&done)])).refused(2, &["it is done"]);
    // Files that another job has loaded are not loaded once more.
    run(&mut scene.home.inrush(["resume", &name(&job)])).refused(
        2,
        &["has loaded the same files into", "to load them once more, run: inrush load"],
    );
    assert!(scene.is_new());
    assert_eq!(job_in(&scene.home, "failed")["loaded_by"], done["job"]);
    for command in [&["jobs"][..], &["jobs", "show", &name(&job)]] {
        let told = run(&mut scene.home.inrush(command));
        assert!(told.done().out.contains(&format!("by job {}", name(&done))), "{told:?}");
    }
    assert_eq!(run(&mut scene.home.inrush(["jobs", "clean"])).done().out, "2 journals removed\n");
    assert_eq!(names(&scene.home.path().join("state/inrush/jobs")), [""; 0]);
}

#[test]
fn a_job_that_would_read_other_rows_is_not_gone_on_with() {
    let Some(server) = testkit::TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Insert, 500);
    let text = fs::read_to_string(&scene.file).unwrap();
    fs::write(&scene.file, format!("{text}not a number\t1\ta\t\\N\n")).unwrap();
    run(&mut scene.command()).refused(1, &["line 501"]);
    let failed = job_in(&scene.home, "failed");
    assert!(failed["error"].as_str().unwrap().contains("line 501"), "{failed}");
    fs::write(&scene.file, &text).unwrap();
    let mut again = scene.home.inrush(["resume", &name(&failed)]);
    run(&mut again)
        .refused(2, &["new.txt has", "bytes now; it had", "to start a new load, run: inrush load"]);
    assert!(!scene.is_new());
    run(&mut scene.home.inrush(["resume", "nothing"])).refused(2, &["there is no job nothing"]);
    // What came through a pipe is gone.
    scene.is_piped = true;
    let killed = run(&mut scene.load_with("import.begin=kill"));
    assert_eq!(killed.status.signal(), Some(9), "{killed:?}");
    let piped = job_in(&scene.home, "killed");
    let mut again = scene.home.inrush(["resume", &name(&piped)]);
    run(&mut again).refused(2, &["cannot be read a second time"]);
    let cleaned = run(&mut scene.home.inrush(["jobs", "clean", &name(&piped)]));
    assert!(cleaned.done().out.contains("removes leftovers of job"), "{cleaned:?}");
    scene.is_piped = false;
    run(&mut scene.command()).done();
    assert!(scene.is_new());
    scene.clean("after all");
}

#[test]
fn refused_rows_that_nobody_named_a_file_for_are_kept_until_they_are_cleaned() {
    let Some(mut desk) = crate::support::Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT)");
    let file = desk.home.file("rows.txt", "1\nx\n");
    let more = ["--rejects-max", "1", "--path", "stream", "--mode", "append"];
    assert_eq!(desk.load("t", &file, &more).code(), 3);
    let folder = desk.home.path().join("state/inrush/jobs");
    let rejects = || -> Vec<String> {
        let kept = |name: &String| !name.ends_with(".jsonl") || name.contains("reasons");
        names(&folder).into_iter().filter(kept).collect()
    };
    assert_eq!(rejects().len(), 2);
    let kept = fs::read(folder.join(&rejects()[0])).unwrap();
    // As many loads as journals are kept of, which are as good as this.
    let journal = names(&folder).into_iter().find(|name| !rejects().contains(name)).unwrap();
    let text = fs::read(folder.join(&journal)).unwrap();
    for number in 0..101 {
        fs::write(folder.join(format!("9{number:012}-1-0.jsonl")), &text).unwrap();
    }
    assert_eq!(desk.load("t", &file, &more).code(), 3);
    assert!(!folder.join(&journal).exists());
    assert_eq!(fs::read(folder.join(&rejects()[0])).unwrap(), kept);
    assert_eq!(rejects().len(), 4);
    let clean = |more: &[&str]| {
        let cleaned = run(desk.home.inrush(["jobs", "clean", "--json"]).args(more));
        let told: serde_json::Value = serde_json::from_str(&cleaned.done().out).unwrap();
        assert_eq!((&told["json_version"], &told["notes"]), (&2.into(), &serde_json::json!([])));
        ["journals_removed", "rejects_kept", "rejects_removed"]
            .map(|key| told[key].as_array().unwrap().len())
    };
    assert_eq!(clean(&[]), [100, 2, 0]);
    let cleaned = run(&mut desk.home.inrush(["jobs", "clean"]));
    assert!(
        cleaned.done().out.contains("rejected rows of 2 jobs kept: inrush jobs clean --rejects"),
        "{cleaned:?}"
    );
    assert_eq!(rejects().len(), 4);
    assert_eq!(clean(&["--rejects"]), [0, 0, 2]);
    assert_eq!(names(&folder), [""; 0]);
}

#[test]
fn a_running_job_is_told_from_a_killed_one() {
    let Some(server) = testkit::TestServer::shared() else { return };
    let scene = Scene::new(server, Mode::Insert, 500);
    let mut child = start(&mut scene.load_with("import.begin=pause"));
    wait_paused(&mut child);
    let job = job_in(&scene.home, "running");
    run(&mut scene.home.inrush(["resume", &name(&job)])).refused(2, &["it is running, as process"]);
    run(&mut scene.home.inrush(["jobs", "clean", &name(&job)])).refused(2, &["is running"]);
    resume(&child);
    finish(child).done();
    job_in(&scene.home, "done");
    let elsewhere = Path::new("/nonexistent/state");
    let listed = run(scene.home.inrush(["jobs", "--state-dir"]).arg(elsewhere));
    assert_eq!(listed.done().out, "no jobs\n");
}

#[test]
fn all_tables_of_one_command_are_gone_on_with_together() {
    let Some(server) = testkit::TestServer::shared() else { return };
    let home = Home::new();
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    for table in ["a", "b"] {
        session.exec(&format!("CREATE TABLE {database}.{table} (id INT PRIMARY KEY)")).unwrap();
        home.file(&format!("{table}.csv"), "1\n2\n");
    }
    let mut load = home.inrush(["load", "a.csv", "b.csv", "--path", "direct", "--into", &database]);
    load.args(["--memory", "80M", "--socket"]).arg(server.socket());
    let killed = run(load.env("INRUSH_FAILPOINT", "publish.begin=kill"));
    assert_eq!(killed.status.signal(), Some(9), "{killed:?}");
    let job = job_in(&home, "killed");
    assert_eq!(job["command"]["inputs"].as_array().unwrap().len(), 2, "{job}");
    run(&mut home.inrush(["resume", &name(&job)])).done();
    for table in ["a", "b"] {
        let count = format!("SELECT COUNT(*) FROM {database}.{table}");
        assert_eq!(session.query_text(&count).unwrap().as_deref(), Some("2"));
    }
}
