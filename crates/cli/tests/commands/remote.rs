//! Inputs over HTTP, of servers that are good, slow, broken or lie.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::{Desk, Outcome, run};
use crate::web::{Reply, Web, connecting_proxy, value};

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, word VARCHAR(20))";
/// More than the first request asks for, and several blocks.
const ROWS: u32 = 60_000;
/// The count and the sum of [`text`]'s rows.
const SUM: &str = "SELECT COUNT(*), SUM(id), SUM(CRC32(word)) FROM t";

fn text() -> String {
    (0..ROWS).map(|id| format!("{id},word number {id}\n")).collect()
}

/// A table with the rows of [`text`], and their sum.
fn expected(desk: &mut Desk) -> Vec<String> {
    desk.exec(TABLE);
    let file = desk.home.file("all.csv", text());
    desk.load("t", &file, &[]).done();
    let sum = desk.rows(SUM);
    desk.exec("TRUNCATE t");
    sum
}

fn load(desk: &Desk, web: &Web, target: &str, more: &[&str]) -> Outcome {
    desk.load("t", Path::new(&web.url(target)), more)
}

/// Loads from a server, and says what is in the table then.
fn rows(desk: &mut Desk, web: &Web, target: &str, more: &[&str]) -> Vec<String> {
    load(desk, web, target, more).done();
    let sum = desk.rows(SUM);
    desk.exec("TRUNCATE t");
    sum
}

#[test]
fn text_is_loaded_by_ranges_however_it_is_packed() {
    let Some(mut desk) = Desk::new() else { return };
    let sum = expected(&mut desk);
    let web = Web::of(text());
    assert_eq!(rows(&mut desk, &web, "all.csv", &[]), sum);
    let later = web.seen().iter().filter(|head| value(head, "if-match") == Some("\"a\"")).count();
    assert!(later >= 2, "{:?}", web.seen());
    assert!(web.seen().iter().all(|head| value(head, "accept-encoding") == Some("identity")));
    for path in ["stream", "insert"] {
        assert_eq!(rows(&mut desk, &web, "all.csv", &["--path", path]), sum, "{path}");
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(text().as_bytes()).unwrap();
    let web = Web::of(packed.finish().unwrap());
    assert_eq!(rows(&mut desk, &web, "all.csv.gz", &[]), sum);
    let json: String = (0..9).map(|id| format!("{{\"id\":{id},\"word\":\"w\"}}\n")).collect();
    load(&desk, &Web::of(json), "all.jsonl", &[]).done();
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["9"]);
}

/// A plan looks at its input several times, and keeps what it has read.
#[test]
fn a_plan_transfers_no_byte_twice() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(TABLE);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../columnar/testdata");
    let parquet = std::fs::read(folder.join("pyarrow-snappy.parquet")).unwrap();
    for (name, body, table) in [("all.csv", text().into_bytes(), "t"), ("p.parquet", parquet, "p")]
    {
        let web = Web::of(body);
        let url = web.url(name);
        let mut plan = desk.home.inrush(["plan", &url, "--into", &desk.table(table), "--socket"]);
        run(plan.arg(desk.server.socket()).args((table == "p").then_some("--create"))).done();
        let range = |head: &String| {
            let (start, last) = value(head, "range")?.strip_prefix("bytes=")?.split_once('-')?;
            Some((start.parse::<u64>().unwrap(), last.parse::<u64>().unwrap()))
        };
        let mut ranges: Vec<_> = web.seen().iter().map(|head| range(head).unwrap()).collect();
        ranges.sort_unstable();
        assert!(ranges.is_sorted_by(|before, after| before.1 < after.0), "{name}: {ranges:?}");
    }
}

#[test]
fn typed_columns_come_by_ranges_and_in_one_answer() {
    let Some(mut desk) = Desk::new() else { return };
    let sum = "SELECT COUNT(*), SUM(CRC32(CONCAT_WS(',', i, u, f, d, day, ts, s, b))) FROM t";
    for name in ["pyarrow-snappy.parquet", "polars.arrow"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../columnar/testdata");
        let body = std::fs::read(folder.join(name)).unwrap();
        desk.load("t", &folder.join(name), &["--create"]).done();
        let expected = desk.rows(sum);
        let once = body.clone();
        for web in [Web::of(body), Web::new(move |_| Reply::whole(&once))] {
            desk.exec("DROP TABLE t");
            load(&desk, &web, name, &["--create"]).done();
            assert_eq!(desk.rows(sum), expected, "{name}");
            desk.verify("t", Path::new(&web.url(name)), &[]).done();
        }
        desk.exec("DROP TABLE t");
    }
}

#[test]
fn a_broken_transfer_goes_on_where_it_broke() {
    let Some(mut desk) = Desk::new() else { return };
    let sum = expected(&mut desk);
    let body = text();
    let ranged = Web::new(move |request| {
        let cut = (request.number % 3 == 1).then_some(70_001);
        Reply { cut, ..Reply::ranged(request, body.as_bytes(), "\"a\"") }
    });
    assert_eq!(rows(&mut desk, &ranged, "a.csv", &[]), sum);
    // Without ranges all that came is skipped, if the file can be told to be the same.
    let body = text();
    let once = Web::new(move |request| {
        let cut = (request.number < 3).then_some(300_000 + request.number);
        Reply { cut, ..Reply::whole(body.as_bytes()).with("ETag: \"a\"") }
    });
    assert_eq!(rows(&mut desk, &once, "a.csv", &[]), sum);
    let body = text();
    let untold = Web::new(move |request| {
        let cut = (request.number > 0).then_some(300_000);
        Reply { cut, ..Reply::whole(body.as_bytes()) }
    });
    let broken = "the connection broke after 300000 bytes";
    load(&desk, &untold, "a.csv", &[]).refused(1, &[broken, "copy the file"]);
    // One that never gives a byte more is given up.
    let body = text();
    let dead = Web::new(move |request| match request.number {
        0 => Reply::ranged(request, body.as_bytes(), "\"a\""),
        _ => Reply { cut: Some(0), ..Reply::ranged(request, body.as_bytes(), "\"a\"") },
    });
    load(&desk, &dead, "a.csv", &[]).refused(1, &["5 tries in a row"]);
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["0"]);
    assert_eq!(desk.home.temp_files(), [""; 0]);
}

/// A connection that breaks between two lines left the second half of a file out, and the load was done.
#[test]
fn an_answer_without_an_end_of_its_own_is_refused() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(TABLE);
    for body in [text(), "1,one\n".to_owned()] {
        let web = Web::new(move |_| Reply {
            headers: vec!["Connection: close".to_owned()],
            cut: Some(body.find('\n').unwrap() + 1),
            ..Reply::whole(body.as_bytes())
        });
        load(&desk, &web, "a.csv", &[]).refused(2, &["does not say how long the file is"]);
    }
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["0"]);
}

#[test]
fn a_file_that_is_replaced_meanwhile_is_no_mixture() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(TABLE);
    for (honours, weak) in [(true, false), (false, false), (false, true)] {
        let (old, new) = (text(), text().replace("word", "text"));
        let web = Web::new(move |request| {
            let (body, mut tag) =
                if request.number < 2 { (&old, "\"a\"") } else { (&new, "\"b\"") };
            if weak {
                tag = if request.number < 2 { "W/\"a\"" } else { "W/\"b\"" };
            }
            let head = if honours { request.head.clone() } else { String::new() };
            let request = crate::web::Request { target: String::new(), head, ..*request };
            Reply::ranged(&request, body.as_bytes(), tag)
        });
        let outcome = load(&desk, &web, "a.csv", &[]);
        outcome.refused(1, &["it was replaced while it was read"]);
        assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["0"]);
    }
}

#[test]
fn statuses_and_redirects_are_told_or_followed() {
    let Some(mut desk) = Desk::new() else { return };
    let sum = expected(&mut desk);
    let body = text();
    let web = Web::new(move |request| match request.target.as_str() {
        "/moved.csv" => Reply::redirect("/there/a.csv?key=hidden"),
        "/loop.csv" => Reply::redirect("/loop.csv"),
        "/denied.csv" => Reply::status("403 Forbidden"),
        "/login.csv" => Reply::status("401 Unauthorized"),
        "/missing.csv" => Reply::status("404 Not Found"),
        "/ill.csv" => Reply::status("500 Internal Server Error"),
        "/never.csv" => Reply::status("503 Service Unavailable").with("Retry-After: 3600"),
        "/busy.csv" if request.number % 2 == 0 => {
            Reply::status("429 Too Many Requests").with("Retry-After: 0")
        }
        "/short.csv" => Reply { cut: Some(1000), ..Reply::whole(&body.as_bytes()[..2000]) },
        "/late.csv" => Reply {
            wait: Duration::from_millis(1200),
            ..Reply::ranged(request, body.as_bytes(), "\"a\"")
        },
        "/empty.csv" => Reply::ranged(request, b"", "\"a\""),
        _ => Reply::ranged(request, body.as_bytes(), "\"a\""),
    });
    for target in ["moved.csv", "busy.csv", "late.csv"] {
        assert_eq!(rows(&mut desk, &web, target, &[]), sum, "{target}");
    }
    for (target, words) in [
        ("loop.csv", "the server redirects more than 10 times"),
        ("denied.csv", "HTTP status 403"),
        ("login.csv", "the server asks for a user and a password"),
        ("missing.csv", "the server has no such file (HTTP status 404)"),
        ("ill.csv", "HTTP status 500"),
        ("never.csv", "asks to wait 3600 seconds"),
        ("short.csv", "the connection ended within the file"),
    ] {
        load(&desk, &web, target, &[]).refused(2, &[words, target]);
    }
    load(&desk, &web, "empty.csv", &["--allow-empty"]).done();
    let closed = format!(
        "http://{}/a.csv",
        std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
    );
    desk.load("t", Path::new(&closed), &[]).refused(2, &["refused"]);
    let ftp = desk.load("t", Path::new("ftp://h/a.csv"), &[]);
    ftp.refused(2, &["URLs of ftp:// cannot be read"]);
}

#[test]
fn secrets_of_a_url_are_sent_and_never_told() {
    let Some(mut desk) = Desk::new() else { return };
    let sum = expected(&mut desk);
    let body = text();
    let web = Web::new(move |request| {
        let login = value(&request.head, "authorization");
        let is_welcome = match request.target.starts_with("/private") {
            true => login == Some("Basic dXNlcjpodW50ZXIz"),
            false => request.target.contains("sig=hunter2") && login.is_none(),
        };
        match is_welcome {
            true => Reply::ranged(request, body.as_bytes(), "\"a\""),
            false => Reply::status("403 Forbidden"),
        }
    });
    let url = |target: &str| web.url(target);
    let told = |outcome: &Outcome| {
        let text = format!("{}{}", outcome.out, outcome.err);
        assert!(!text.contains("hunter"), "{text}");
    };
    let good = url("a.csv?sig=hunter2");
    let outcome = desk.load("t", Path::new(&good), &["--report", "report.html", "--verbose"]);
    told(outcome.done());
    assert_eq!(desk.rows(SUM), sum);
    let outcome = desk.load("t", Path::new(&good), &["--mode", "append"]);
    outcome.refused(1, &["has the same `PRIMARY` key", "a.csv line 1"]);
    told(&outcome);
    let bad = desk.load("t", Path::new(&url("a.csv?sig=hunter1")), &["--mode", "append"]);
    bad.refused(2, &["HTTP status 403"]);
    told(&bad);
    let verified = desk.verify("t", Path::new(&good), &[]);
    told(verified.done());
    told(run(&mut desk.home.inrush(["sniff", &good])).done());
    told(run(&mut desk.home.inrush(["jobs"])).done());

    // Others see what is typed; a job file is read by its owner.
    let private = format!("http://user:hunter3@{}/private.csv", web.address());
    let typed = desk.load("t", Path::new(&private), &[]);
    typed.refused(2, &["an argument is a URL with a password", "is named in a job file (-c)"]);
    told(&typed);
    let job = format!(
        "into = \"{}\"\n[input]\nfiles = [\"{private}\"]\ncolumns = [\"id\", \"word\"]\n\
         [[table]]\nname = \"t\"\nmode = \"replace\"\ncolumns = {{ id = \"id\", word = \"word\" }}\n",
        desk.database
    );
    desk.home.file("job.toml", job);
    let mut command = desk.home.inrush(["load", "-c", "job.toml", "--verbose", "--socket"]);
    told(run(command.arg(desk.server.socket())).done());
    assert_eq!(desk.rows(SUM), sum);
    let mut grep = std::process::Command::new("grep");
    let kept =
        grep.args(["-rl", "--exclude=job.toml", "hunter"]).arg(desk.home.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&kept.stdout), "");
}

#[test]
fn commands_beside_a_load_take_urls_or_say_that_they_do_not() {
    let Some(mut desk) = Desk::new() else { return };
    let web = Web::of("id,word\n1,a\n2,b\n");
    let url = web.url("some%20words.csv");
    let sniffed = run(desk.home.inrush(["sniff"]).arg(&url));
    assert!(sniffed.done().out.contains("CREATE TABLE"), "{sniffed:?}");
    load(&desk, &web, "words.csv", &["--create"]).done();
    desk.verify("t", Path::new(&web.url("words.csv")), &["--header"]).done();
    let checked = load(&desk, &web, "words.csv", &["--header", "--dry-run"]);
    assert!(checked.out.contains("/words.csv line 2 (byte 8)"), "{checked:?}");
    // The same file is in, by whatever path; a file behind another URL is another one.
    let append = ["--header", "--mode", "append", "--on-duplicate", "skip"];
    load(&desk, &web, "words.csv", &append).done();
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["2"]);
    let job = format!(
        "into = \"{}\"\n[input]\nfiles = [\"{url}\"]\nheader = true\n[[table]]\nname = \"j\"\n\
         create = \"CREATE TABLE j (id INT, word TEXT)\"\ncolumns = {{ id = \"id\", word = \"word\" }}\n",
        desk.database
    );
    desk.home.file("job.toml", job);
    let mut command = desk.home.inrush(["load", "-c", "job.toml", "--quiet", "--socket"]);
    run(command.arg(desk.server.socket())).done();
    assert_eq!(desk.rows("SELECT COUNT(*) FROM j"), ["2"]);
    let replay = run(&mut desk.home.inrush(["replay", &format!("{url}?key=hunter2")]));
    replay.refused(2, &["is a URL, but this command reads only files and pipes"]);
    assert!(!replay.err.contains("hunter2"));
}

/// A folder `s3:` was looked for.
#[cfg(not(feature = "cloud"))]
#[test]
fn object_stores_are_refused_by_a_program_without_them() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(TABLE);
    let words = ["s3://shop/a.csv is in an object store", "without the feature `cloud`"];
    desk.load("t", Path::new("s3://shop/a.csv"), &[]).refused(2, &words);
    let (table, socket) = (desk.table("t"), desk.server.socket().to_owned());
    let export = ["export", &table, "-o", "s3://shop/a.csv", "--socket"];
    run(desk.home.inrush(export).arg(socket)).refused(2, &words);
}

/// Loads over TLS with these variables, and nothing else that names certificates or proxies.
fn load_with(desk: &Desk, web: &Web, variables: &[(&str, &str)]) -> Outcome {
    let url = web.url("all.csv");
    let mut load = desk.home.load(desk.server, &desk.table("t"), Path::new(&url));
    for name in ["SSL_CERT_FILE", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"] {
        load.env_remove(name);
    }
    run(load.envs(variables.iter().copied()))
}

#[test]
fn a_server_of_tls_is_believed_by_its_certificate() {
    let Some(mut desk) = Desk::new() else { return };
    let sum = expected(&mut desk);
    let (web, ca) = Web::secure(text());
    let ca = desk.home.file("ca.pem", ca).display().to_string();
    load_with(&desk, &web, &[("SSL_CERT_FILE", &ca)]).done();
    assert_eq!(desk.rows(SUM), sum);
    desk.exec("TRUNCATE t");
    let other = desk.home.file("other.pem", Web::secure("").1).display().to_string();
    let none = desk.home.file("none.pem", "words").display().to_string();
    let before = web.seen().len();
    for (variables, words) in [
        (&[][..], "certificate: UnknownIssuer; SSL_CERT_FILE=FILE names"),
        (&[("SSL_CERT_FILE", other.as_str())], "TLS: invalid peer certificate: "),
        (&[("SSL_CERT_FILE", &none)], "the file has no certificates"),
        (&[("SSL_CERT_FILE", "/nowhere.pem")], "/nowhere.pem: No such file"),
    ] {
        load_with(&desk, &web, variables).refused(2, &[words]);
    }
    assert_eq!(web.seen().len(), before);
}

#[test]
fn a_proxy_is_asked_for_the_hosts_that_its_variables_name() {
    let Some(mut desk) = Desk::new() else { return };
    let sum = expected(&mut desk);
    let (web, ca) = Web::secure(text());
    let ca = desk.home.file("ca.pem", ca).display().to_string();
    let (proxy, seen) = connecting_proxy();
    let ca = ("SSL_CERT_FILE", ca.as_str());
    load_with(&desk, &web, &[ca, ("HTTPS_PROXY", &proxy)]).done();
    assert_eq!(desk.rows(SUM), sum);
    desk.exec("TRUNCATE t");
    let asked = seen.lock().unwrap().len();
    let wanted = format!("CONNECT {} ", web.address());
    assert!(seen.lock().unwrap().iter().all(|head| head.starts_with(&wanted)) && asked > 0);
    load_with(&desk, &web, &[ca, ("HTTPS_PROXY", &proxy), ("NO_PROXY", "127.0.0.1")]).done();
    assert_eq!(desk.rows(SUM), sum);
    assert_eq!(seen.lock().unwrap().len(), asked);
    desk.exec("TRUNCATE t");
    let closed = "http://127.0.0.1:9";
    load_with(&desk, &web, &[ca, ("HTTPS_PROXY", closed)]).refused(2, &["all.csv"]);
}
