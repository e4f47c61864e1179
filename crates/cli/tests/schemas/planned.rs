//! The plan of each table of each schema.

use std::collections::BTreeMap;

use testkit::schemas::Schema;
use testkit::{Random, TestServer};

use super::corpus::Corpus;
use crate::support::run;

#[test]
fn each_table_of_each_schema_is_built_but_those_with_a_reason_that_the_schema_names() {
    let Some(server) = TestServer::shared() else { return };
    let (mut direct, mut sent, mut wrong) = (0, 0, Vec::new());
    for schema in Schema::all() {
        let corpus = Corpus::new(server, schema, &mut Random::new(1), 2);
        let mut db = corpus.database();
        let mut plan = corpus.inrush("plan", &db);
        let plan =
            run(plan.args(["--path", "auto", "--json"]).env("INRUSH_FAILPOINT", "tables=large"));
        let plan: serde_json::Value = serde_json::from_str(&plan.done().out).unwrap();
        let mut seen: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for table in plan["tables"].as_array().unwrap() {
            let name = table["target"].as_str().unwrap();
            let name = name.strip_prefix(&format!("{}.", db.name)).unwrap();
            assert!(table["path"].is_string(), "{name} cannot be loaded: {table}");
            let reasons = reasons(table);
            match reasons.is_empty() {
                true => direct += 1,
                false => sent += 1,
            }
            if !reasons.is_empty() {
                seen.insert(name.to_owned(), reasons);
            }
        }
        let said: BTreeMap<String, Vec<String>> = corpus.schema.sent().into_iter().collect();
        if seen != said {
            wrong.push(format!("{}: seen {seen:?}, said {said:?}", corpus.schema.name));
        }
        db.sql(&format!("DROP DATABASE {}", db.name));
    }
    println!("{direct} tables are built, {sent} are sent");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The names of what keeps a table from being built; that few rows are sent faster does not.
fn reasons(table: &serde_json::Value) -> Vec<String> {
    let refused = table["refused"].as_array().unwrap();
    let mut names: Vec<String> = refused
        .iter()
        .filter(|refused| refused["path"] == "direct")
        .map(|refused| refused["reason"].as_str().unwrap())
        .filter(|reason| !reason.starts_with("building its "))
        .map(|reason| reason.split(" (").next().unwrap().to_owned())
        .collect();
    names.dedup();
    names
}
