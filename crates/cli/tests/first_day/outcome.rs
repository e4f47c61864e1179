//! Outcome of a case: the messages of its commands, then the tables and their rows.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use server::identifier::quote_name;
use server::session::Row;
use testkit::TestServer;

use super::bytes;
use super::cases::{Case, Step};
use crate::support::{Desk, run as finish};

/// Stands for the database of a case, before a table and alone.
const DATABASE: &str = "db";
/// A note of every load into a server that may have backups.
const BACKUP: &str = "  note: Take a full backup";
/// Tables with more rows or columns are shown in part, values with more characters too.
const ROWS_MAX: usize = 12;
const COLUMNS_MAX: usize = 20;
const CHARACTERS_MAX: usize = 80;

/// Runs a case in a database of its own; gives its commands with their outcomes. None without a server.
pub(crate) fn run(case: &Case) -> Option<Vec<Step>> {
    // On the server of all tests a load may speak of tables that others have left.
    static SERVER: OnceLock<Option<TestServer>> = OnceLock::new();
    let mut desk = Desk::on(SERVER.get_or_init(TestServer::start).as_ref()?);
    let folder = desk.home.path().join("files");
    fs::create_dir(&folder).unwrap();
    let mut names = Vec::new();
    let mut runs = Vec::new();
    for step in &case.steps {
        if step.is_run() {
            let command = command(&step.head, &names);
            let text = messages(&desk, &folder, &command);
            runs.push(Step { head: step.head.clone(), text });
        } else {
            let mut words = step.head.split(' ').skip(1);
            let name = words.next().unwrap();
            let changes: Vec<&str> = words.collect();
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes::of(&step.text, &changes)).unwrap();
            names.push(name.to_owned());
        }
    }
    let last = &mut runs.last_mut().unwrap().text;
    *last = format!("{last}\n{}", tables(&mut desk)).trim().to_owned();
    desk.exec(&format!("DROP DATABASE {}", quote_name(&desk.database.clone())));
    Some(runs)
}

/// The command line of a step.
fn command(head: &str, names: &[String]) -> String {
    match head.split_once(' ').unwrap_or((head, "")) {
        ("run", command) => command.to_owned(),
        ("load", arguments) => {
            format!("inrush load {} --into {DATABASE}.t --create {arguments}", names.join(" "))
        }
        _ => panic!("neither file, load nor run: {head}"),
    }
}

/// Messages of a command, and its status if that is not 0.
fn messages(desk: &Desk, folder: &Path, command: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_inrush")).parent().unwrap();
    let command = with_database(command, DATABASE, &desk.database);
    // The environment of the program, with a shell in its place.
    let mut shell = std::process::Command::new("sh");
    let ours = desk.home.inrush([""; 0]);
    shell.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
    for (name, _) in ours.get_envs().filter(|(_, value)| value.is_none()) {
        shell.env_remove(name);
    }
    let path = std::env::var("PATH").unwrap();
    shell
        .env("PATH", format!("{}:{path}", program.display()))
        .env("INRUSH_SOCKET", desk.server.socket())
        .env("INRUSH_THREADS", "2")
        .env("INRUSH_MEMORY", "40M")
        .envs(desk.server.options().user.map(|user| ("INRUSH_USER", user)))
        .current_dir(folder)
        .args(["-c", &format!("exec 2>&1; {command}")]);
    let outcome = finish(shell.stdin(std::process::Stdio::null()));
    let mut text = String::new();
    for line in outcome.out.lines().filter(|line| !line.starts_with(BACKUP)) {
        let line = with_database(line, &desk.database, DATABASE);
        let line = line.replace(desk.server.socket().to_str().unwrap(), "SOCKET");
        // The time and the method of a load are other tests' subject.
        let line = match line.find(" rejected, ") {
            Some(at) if !line.starts_with("inrush:") => &line[..at + " rejected".len()],
            _ => &line,
        };
        writeln!(text, "{line}").unwrap();
    }
    if outcome.code() != 0 {
        writeln!(text, "exit {}", outcome.code()).unwrap();
    }
    text.truncate(text.trim_end().len());
    text
}

/// A text with another database before tables, and behind --into.
fn with_database(text: &str, from: &str, to: &str) -> String {
    let of_all = text.strip_prefix(from).filter(|rest| rest.starts_with(": "));
    let text = of_all.map_or_else(|| text.to_owned(), |rest| format!("{to}{rest}"));
    text.replace(&format!("{from}."), &format!("{to}."))
        .replace(&format!("--into {from} "), &format!("--into {to} "))
        .replace(&format!("`{from}`"), &format!("`{to}`"))
}

/// The tables of the database with their rows.
fn tables(desk: &mut Desk) -> String {
    let mut text = String::new();
    let database = desk.database.clone();
    for name in crate::support::tables(&mut desk.session, &database) {
        let quoted = quote_name(&name);
        let made = desk.session.query_row(&format!("SHOW CREATE TABLE {quoted}")).unwrap();
        writeln!(text, "{}", create_table(&name, &made.text(1).unwrap())).unwrap();
        let rows = desk.session.query(&format!("SELECT * FROM {quoted}")).unwrap();
        let shown = if rows.len() > ROWS_MAX { ROWS_MAX / 3 } else { rows.len() };
        for row in &rows[..shown] {
            writeln!(text, "{}", values(row)).unwrap();
        }
        if shown < rows.len() {
            writeln!(text, ".. {} rows", rows.len()).unwrap();
        }
    }
    text
}

/// One line, without what all tables have.
fn create_table(name: &str, made: &str) -> String {
    let columns = made.split_once("(\n").unwrap().1.rsplit_once("\n)").unwrap().0;
    let columns: Vec<String> = columns.split(",\n").map(|line| column(line.trim())).collect();
    if columns.len() <= COLUMNS_MAX {
        return format!("CREATE TABLE {name} ({})", columns.join(", "));
    }
    let mut types: Vec<&str> =
        columns.iter().filter_map(|one| Some(one.rsplit_once("` ")?.1)).collect();
    types.sort_unstable();
    let counts = types.chunk_by(|a, b| a == b).map(|same| format!("{} {}", same.len(), same[0]));
    let counts: Vec<String> = counts.collect();
    format!(
        "CREATE TABLE {name} ({}, .. {} columns: {})",
        columns[0],
        types.len(),
        counts.join(", ")
    )
}

fn column(line: &str) -> String {
    let Some((name, rest)) = line.rsplit_once("` ") else { return line.to_owned() };
    if !line.starts_with('`') {
        return line.to_owned();
    }
    let rest = rest.replace(" DEFAULT NULL", "").replace(" NULL DEFAULT", " DEFAULT");
    let rest = rest.to_uppercase().replace("INT(11)", "INT").replace("BIGINT(20)", "BIGINT");
    format!("{name}` {rest}")
}

/// A row, its values between bars; NULL is `NULL`, and an empty text nothing.
fn values(row: &Row) -> String {
    let value = |column| {
        if row.is_null(column) {
            return "NULL".to_owned();
        }
        let text = row.text_lossy(column);
        let shown: String = text.chars().take(CHARACTERS_MAX).flat_map(visible).collect();
        match text.chars().count() {
            count if count > CHARACTERS_MAX => format!("{shown}.. {count} characters"),
            // A text that would look as NULL does.
            _ if text == "NULL" => "'NULL'".to_owned(),
            _ => shown,
        }
    };
    let mut shown: Vec<String> = (0..row.len()).map(value).collect();
    if shown.len() > COLUMNS_MAX {
        shown.truncate(3);
        shown.push(format!(".. {} values", row.len()));
    }
    shown.join(" | ")
}

/// A character as escapes of files have it, if it cannot be seen.
fn visible(c: char) -> Vec<char> {
    match c {
        '\n' => vec!['\\', 'n'],
        '\r' => vec!['\\', 'r'],
        '\t' => vec!['\\', 't'],
        c if c.is_control() => format!("\\x{:02x}", u32::from(c)).chars().collect(),
        c => vec![c],
    }
}
