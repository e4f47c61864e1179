//! Effects of replication on a load, in sentences for its plan.
//!
//! Notes tell costs and surprises: who gets the rows with the server, the wait of each commit, where rows do
//! not arrive. Facts that the account may not see are left out.

use std::collections::HashMap;

use schema::first_of;
use server::engine::Kind;
use server::error::Result;
use server::facts::{followers, registered};
use server::replication::{channels, log_status, word};
use server::{ConnectOptions, Row, ServerFacts, Session, replicas};

/// How rows come into the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// By statements.
    Sent,
    /// In a file, past the binary log.
    Built,
}

/// Notes on replicas, primary and cluster of the server of `session`, for a load into `database`.
/// Changes nothing.
pub(crate) fn of_server(
    session: &mut Session,
    facts: &ServerFacts,
    database: &str,
    arrival: Arrival,
) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    if arrival == Arrival::Sent {
        let settings = Settings::read(session)?;
        if facts.log_bin {
            notes.push(logged(session, &settings, database));
            notes.extend(settings.semi_sync());
        }
        notes.extend(galera(session, facts));
        notes.extend(group(session, facts));
    }
    notes.extend(upstream(session));
    Ok(notes)
}

/// Notes on unusual replicas that a user named, a sentence for each.
pub(crate) fn of_replicas(
    names: &[String],
    primary: &ConnectOptions,
    arrival: Arrival,
) -> Vec<String> {
    let note = |name: &String| {
        let words = match words_of_replica(name, primary, arrival) {
            Ok(words) => words,
            Err(error) => vec![format!("its state is unknown: {error}")],
        };
        (!words.is_empty()).then(|| format!("the replica {name}: {}", words.join("; ")))
    };
    names.iter().filter_map(note).collect()
}

fn words_of_replica(name: &str, primary: &ConnectOptions, arrival: Arrival) -> Result<Vec<String>> {
    let mut session = Session::connect(&replicas::reached(name, primary)?)?;
    let mut words = Vec::new();
    for channel in channels(&mut session)? {
        let delay = word(&channel, &["sql_delay"]).filter(|delay| *delay != "0");
        if let Some(delay) = delay {
            let what = match arrival {
                Arrival::Sent => "gets the rows",
                Arrival::Built => "publishes the table",
            };
            words.push(format!("MASTER_DELAY is {delay} s, so the replica {what} later"));
        }
        let runs = |names: &[&str]| word(&channel, names) == Some("Yes");
        let is_whole = runs(&["slave_io_running", "replica_io_running"])
            && runs(&["slave_sql_running", "replica_sql_running"]);
        if !is_whole && arrival == Arrival::Sent {
            words.push(
                "replication has stopped, and the replica gets no rows until replication starts \
                 again"
                    .to_owned(),
            );
        }
    }
    let appliers = Settings::read(&mut session)?;
    // Zero and one are the same.
    let threads = ["slave_parallel_threads", "replica_parallel_workers"];
    let threads = threads.into_iter().find_map(|name| Some((name, appliers.0.get(name)?)));
    if let Some((name, value)) = threads.filter(|(_, value)| matches!(value.as_str(), "0" | "1"))
        && arrival == Arrival::Sent
    {
        words.push(format!(
            "a single thread applies the rows of all connections ({name} is {value}), so the \
             replica may fall behind"
        ));
    }
    Ok(words)
}

/// Variables that have to do with replication, those that the server has.
struct Settings(HashMap<String, String>);

impl Settings {
    fn read(session: &mut Session) -> Result<Settings> {
        let rows = session.query(
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('binlog_format', \
             'rpl_semi_sync_master_enabled', 'rpl_semi_sync_master_timeout', \
             'rpl_semi_sync_source_enabled', 'rpl_semi_sync_source_timeout', \
             'slave_parallel_threads', 'replica_parallel_workers')",
        )?;
        let pair = |row: &Row| Ok((row.text(0)?.to_ascii_lowercase(), row.text(1)?));
        Ok(Settings(rows.iter().map(pair).collect::<Result<_>>()?))
    }

    fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// The note on the wait of each commit.
    fn semi_sync(&self) -> Option<String> {
        let enabled = |word: &&str| self.text(&format!("rpl_semi_sync_{word}_enabled")) == "ON";
        let word = ["master", "source"].into_iter().find(enabled)?;
        let timeout = format!("rpl_semi_sync_{word}_timeout");
        let wait_ms = self.text(&timeout);
        Some(format!(
            "semi-sync: each commit waits until a replica has its rows, up to {wait_ms} ms ({timeout})"
        ))
    }
}

/// Who gets rows that are sent, by the binary log.
fn logged(session: &mut Session, settings: &Settings, database: &str) -> String {
    let format = settings.text("binlog_format");
    if let Some(rule) = left_out_by(session, database) {
        // Else it goes by the session's database.
        let verb = if format == "ROW" { "are" } else { "may be" };
        return format!(
            "{rule}: rows of {database} {verb} omitted from the binary log, so replicas and \
             point-in-time recovery lack them"
        );
    }
    let names = registered(session);
    let count = names.len().max(followers(session).len());
    let format =
        if format.is_empty() { String::new() } else { format!(" (binlog_format={format})") };
    match count {
        0 => format!("the rows are also written to the binary log{format}"),
        1 => format!(
            "the rows are also written to the binary log{format}, and a replica gets them{}",
            named(&names)
        ),
        _ => format!(
            "the rows are also written to the binary log{format}, and {count} replicas get them{}",
            named(&names)
        ),
    }
}

/// The first few: ` (server 2 at host, and 4 more)`.
fn named(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(" ({})", first_of(names)) }
}

/// The rule by which the binary log has nothing of a database.
fn left_out_by(session: &mut Session, database: &str) -> Option<String> {
    let status = log_status(session).ok()?.into_iter().next()?;
    rule_against(&status, database)
}

fn rule_against(status: &HashMap<String, Option<String>>, database: &str) -> Option<String> {
    let has = |names: &str| names.split(',').any(|name| name == database);
    let only = word(status, &["binlog_do_db"]).filter(|names| !has(names));
    let never = word(status, &["binlog_ignore_db"]).filter(|names| has(names));
    let only = only.map(|names| format!("binlog_do_db is {names}"));
    only.or_else(|| never.map(|names| format!("binlog_ignore_db is {names}")))
}

fn galera(session: &mut Session, facts: &ServerFacts) -> Option<String> {
    if facts.engine.kind != Kind::Galera {
        return None;
    }
    let size = session.query_row("SHOW GLOBAL STATUS LIKE 'wsrep_cluster_size'");
    let nodes = size.and_then(|row| row.number::<u64>(1)).unwrap_or(0);
    let nodes = if nodes > 1 { format!("all {nodes} nodes") } else { "all nodes".to_owned() };
    Some(format!("Galera: {nodes} get the rows{}", refused_above(facts)))
}

fn group(session: &mut Session, facts: &ServerFacts) -> Option<String> {
    if facts.engine.kind != Kind::GroupReplication {
        return None;
    }
    let sql = "SELECT COUNT(*) FROM performance_schema.replication_group_members \
               WHERE MEMBER_STATE <> 'OFFLINE'";
    let members = session.query_row(sql).and_then(|row| row.number::<u64>(0)).ok()?;
    (members > 0).then(|| {
        let members =
            if members > 1 { format!("all {members} members") } else { "all members".to_owned() };
        format!("Group Replication: {members} get the rows{}", refused_above(facts))
    })
}

fn refused_above(facts: &ServerFacts) -> String {
    facts.engine.transaction.map_or_else(String::new, |limit| {
        let (bytes, variable) = (limit.bytes, limit.from);
        format!("; a transaction of more than {bytes} bytes is refused ({variable})")
    })
}

/// Whom the server follows: rows that it does not get from there.
fn upstream(session: &mut Session) -> Option<String> {
    let from = |channel: &HashMap<_, _>| {
        let host = word(channel, &["master_host", "source_host"])?;
        let port = word(channel, &["master_port", "source_port"]).unwrap_or_default();
        Some(format!("{host}:{port}"))
    };
    let from: Vec<String> = channels(session).ok()?.iter().filter_map(from).collect();
    (!from.is_empty()).then(|| {
        format!(
            "this server replicates from {}, which does not get the rows of this load: a change \
             of one of these rows on that server may stop the replication",
            from.join(" and ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_the_log_leaves_out_is_told_with_the_rule() {
        let status = |only: &str, never: &str| -> HashMap<_, _> {
            [("binlog_do_db", only), ("binlog_ignore_db", never)]
                .map(|(name, value)| (name.to_owned(), Some(value.to_owned())))
                .into()
        };
        for (only, never, rule) in [
            ("", "", None),
            ("shop,crm", "", None),
            ("crm", "", Some("binlog_do_db is crm")),
            ("", "crm", None),
            ("", "crm,shop", Some("binlog_ignore_db is crm,shop")),
        ] {
            assert_eq!(rule_against(&status(only, never), "shop").as_deref(), rule);
        }
    }

    #[test]
    fn of_many_replicas_some_are_named() {
        let names: Vec<String> = (2..7).map(|id| format!("server {id}")).collect();
        assert_eq!(named(&names), " (server 2, server 3, server 4, and 2 more)");
        assert_eq!(named(&names[..1]), " (server 2)");
        assert_eq!(named(&[]), "");
    }
}
