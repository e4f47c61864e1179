//! Reasons against IMPORT INTO of TiDB, which is only used where `--path import` requests it.
//!
//! Sources: TiDB 8.5, pkg/planner/core/planbuilder.go (`buildImportInto`), pkg/executor/importer,
//! pkg/lightning/backend/kv/base.go (`getActualDatum`).

use std::path::Path;

use face::option::{MODE, ON_DUPLICATE, PATH};
use job::error::Error;
use job::options::{LoadOptions, LoadPath, Mode, OnDuplicate, WithOthers};
use schema::{DefaultValue, Method, Table, quote_name};
use server::engine::Kind;
use server::facts::tidb_release;
use server::{ServerFacts, Session};

use super::facts::Facts;

/// The first release whose IMPORT INTO is meant for production.
const RELEASE_MIN: (u16, u16) = (7, 5);
/// The store that imports files.
const STORE: &str = "tikv";
/// Rights on the database of the staging table.
const RIGHTS: [&str; 5] = ["SELECT", "INSERT", "UPDATE", "DELETE", "ALTER"];
/// The default of an AUTO_RANDOM column, as the catalog gives it.
const AUTO_RANDOM: &str = "AUTO_RANDOM";

/// By facts and options.
pub(super) fn refused(facts: &Facts, options: &LoadOptions) -> Vec<String> {
    let mut refused = facts.against_import.clone();
    if options.mode == Mode::Append {
        refused.push(format!(
            "IMPORT INTO fills an empty table only, but {} keeps the rows of the table",
            MODE.with("append")
        ));
    }
    if options.rows.on_duplicate != OnDuplicate::Fail {
        refused.push(format!(
            "IMPORT INTO cannot resolve duplicates, as {} requires",
            ON_DUPLICATE.with(options.rows.on_duplicate.name())
        ));
    }
    if options.with_others != WithOthers::Alone {
        refused.push(format!("{} loads one table in a command", PATH.with("import")));
    }
    if matches!(facts.sending, Some(Ok(method)) if method != Method::Stage) {
        refused
            .push("IMPORT INTO fills a staging table, but none can replace this table".to_owned());
    }
    if let Some(last) = refused.last_mut() {
        last.push_str(&format!("; {} chooses another method", PATH.with("auto")));
    }
    refused
}

/// A note for plans about the method.
pub(crate) fn import_note(path: LoadPath, temp_dir: &Path) -> Option<String> {
    (path == LoadPath::Import).then(|| {
        format!(
            "IMPORT INTO reads a copy of the rows as text in {}; nobody has run this path with a real \
             TiKV yet",
            temp_dir.display()
        )
    })
}

/// By server, account and character set.
///
/// Errors: the server's.
pub(super) fn of_server(
    session: &mut Session,
    found: &ServerFacts,
    options: &LoadOptions,
) -> Result<Vec<String>, Error> {
    if found.engine.kind != Kind::TiDb {
        return Ok(vec!["only TiDB has IMPORT INTO".to_owned()]);
    }
    let version = &found.version.text;
    if tidb_release(version).is_none_or(|release| release < RELEASE_MIN) {
        return Ok(vec![format!("version {version} is too old: TiDB 7.5 or newer is needed")]);
    }
    let mut refused = Vec::new();
    let told = match session.query_text("SELECT tidb_version()") {
        Err(error) if error.is_cut() => return Err(error.into()),
        told => told.ok().flatten().unwrap_or_default(),
    };
    let store = told.lines().find_map(|line| line.strip_prefix("Store: "));
    if store != Some(STORE) {
        let store = store.unwrap_or("unknown");
        refused.push(format!("IMPORT INTO needs the store {STORE}; that of this TiDB is {store}"));
    }
    refused.extend(send::server_user(session.options()).err());
    let (rights, account) = (&found.privileges, &found.account);
    let file = (!rights.on_server("FILE")).then(|| format!("GRANT FILE ON *.* TO {account}"));
    let database = &options.database;
    let lacks = |right: &&str| !rights.on_database(right, database);
    let lacking: Vec<&str> = RIGHTS.into_iter().filter(lacks).collect();
    let others = (!lacking.is_empty()).then(|| rights.grant(&lacking, database, account));
    let missing: Vec<String> = file.into_iter().chain(others).collect();
    if !missing.is_empty() {
        refused.push(format!("privileges (the account lacks: {})", missing.join("; ")));
    }
    let charset = &options.input.charset;
    if found.engine.load_data_charsets.is_some_and(|taken| !taken.contains(&charset.as_str())) {
        refused
            .push(format!("the file for IMPORT INTO is in UTF-8, but the input is in {charset}"));
    }
    Ok(refused)
}

/// By what IMPORT INTO does not check, or stores otherwise than LOAD DATA.
pub(super) fn of_table(table: &Table) -> Vec<String> {
    let mut refused = Vec::new();
    if !table.foreign_keys.is_empty() {
        refused.push("IMPORT INTO does not check foreign keys".to_owned());
    }
    if let Some(check) = table.checks.first() {
        refused.push(format!("IMPORT INTO does not check CHECK {}", quote_name(&check.name)));
    }
    let is_random = |default: &DefaultValue| matches!(default, DefaultValue::Expression(text) if text == AUTO_RANDOM);
    if let Some(column) = table.columns.iter().find(|column| is_random(&column.default)) {
        refused.push(format!(
            "IMPORT INTO stores a 0 of the AUTO_RANDOM column {} as it is, where other statements \
             generate a value",
            quote_name(&column.name)
        ));
    }
    refused
}
