//! What a session sets for itself, by who made the server.

use std::time::Duration;

use mysql::prelude::Queryable;

use super::driver::Driver;
use crate::engine::Kind;
use crate::error::{Error, Result};
use crate::identifier::quote_text;
use crate::options::ConnectOptions;
use crate::version::{Flavor, Version};

/// `sql_mode` of our sessions on MariaDB, its default: a load follows its conversions.
pub(crate) const SQL_MODE: &str =
    "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION";
/// The same on MySQL, which has no NO_AUTO_CREATE_USER since 8.0.
const SQL_MODE_MYSQL: &str =
    "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

/// Seconds a session may idle: a build between two statements can take days.
const IDLE_SECONDS_MAX: u32 = 31_536_000;
/// How long a statement waits for a table's lock where nothing else is asked for. The server's own
/// setting can be a day, or none at all.
const LOCK_WAIT: Duration = Duration::from_secs(60);

/// Wishes of every session, and those that only one kind of server knows. Without its checks a
/// server takes rows that break the table's constraints, and MariaDB loads an empty table in a way
/// that finds duplicates at the end only and cannot take a single statement back.
const WISHES: [&str; 8] = [
    "unique_checks=1",
    "foreign_key_checks=1",
    "net_read_timeout=3600",
    "net_write_timeout=3600",
    "sql_select_limit=DEFAULT",
    // A limit of rows that SELECTs may look at (max_join_size) is not for ours.
    "sql_big_selects=1",
    "sql_safe_updates=0",
    "sql_quote_show_create=1",
];
const WISHES_MARIADB: [&str; 6] = [
    "check_constraint_checks=1",
    "tx_read_only=0",
    "max_statement_time=0",
    "idle_transaction_timeout=0",
    "idle_readonly_transaction_timeout=0",
    "idle_write_transaction_timeout=0",
];
/// MySQL's information_schema answers from a cache of a day else, AUTO_INCREMENT included.
const WISHES_MYSQL: [&str; 3] =
    ["max_execution_time=0", "information_schema_stats_expiry=0", "transaction_read_only=0"];

const ER_UNKNOWN_SYSTEM_VARIABLE: u16 = 1193;
const ER_UNKNOWN_TIME_ZONE: u16 = 1298;

/// The `sql_mode` of our sessions on a server of this kind.
pub(crate) fn sql_mode(flavor: Flavor) -> &'static str {
    match flavor {
        Flavor::MariaDb => SQL_MODE,
        Flavor::MySql => SQL_MODE_MYSQL,
    }
}

/// Makes a new connection ours: utf8mb4, strict mode, no idle or statement limit. Gives the
/// server's version.
pub(crate) fn prepare(driver: &mut Driver, options: &ConnectOptions) -> Result<Version> {
    let version = version(driver, options)?;
    if options.unlogged {
        set(driver, "SESSION sql_log_bin=0")?;
    }
    let zone = options.time_zone.as_ref().map(|zone| format!("time_zone={}, ", quote_text(zone)));
    let needed = format!(
        "NAMES utf8mb4, {}SESSION sql_mode='{}', autocommit=1{}",
        zone.unwrap_or_default(),
        sql_mode(version.flavor),
        Kind::of_version(&version).session_needs()
    );
    for (name, value) in &options.settings {
        set(driver, &format!("SESSION {name}={value}"))?;
    }
    let mut wishes = wishes(version.flavor);
    if options.unchecked_keys {
        wishes.push("foreign_key_checks=0".to_owned());
    }
    let result = set(driver, &format!("{needed}, {}", wishes.join(", ")));
    if result.as_ref().is_err_and(|e| e.errno() == Some(ER_UNKNOWN_SYSTEM_VARIABLE)) {
        // Older servers, and others that speak the protocol, lack some: the rest is still good.
        set(driver, &needed).map_err(|e| explain(e, options))?;
        for wish in wishes {
            match set(driver, &wish) {
                Err(e) if e.errno() != Some(ER_UNKNOWN_SYSTEM_VARIABLE) => return Err(e),
                _ => {}
            }
        }
        return Ok(version);
    }
    result.map(|()| version).map_err(|e| explain(e, options))
}

fn wishes(flavor: Flavor) -> Vec<String> {
    let own: &[&str] = match flavor {
        Flavor::MariaDb => &WISHES_MARIADB,
        Flavor::MySql => &WISHES_MYSQL,
    };
    let mut wishes: Vec<String> = WISHES.iter().chain(own).map(|&wish| wish.to_owned()).collect();
    wishes.push(format!("wait_timeout={IDLE_SECONDS_MAX}"));
    wishes.push(format!("interactive_timeout={IDLE_SECONDS_MAX}"));
    wishes.push(format!("lock_wait_timeout={}", LOCK_WAIT.as_secs()));
    wishes
}

fn set(driver: &mut Driver, what: &str) -> Result<()> {
    let sql = format!("SET {what}");
    driver.query_drop(&sql).map_err(|e| Error::from_driver(e, &sql))
}

fn explain(error: Error, options: &ConnectOptions) -> Error {
    match &options.time_zone {
        Some(zone) if error.errno() == Some(ER_UNKNOWN_TIME_ZONE) => Error::Option(format!(
            "the server does not know the time zone {zone}; names need its tables of time zones, \
             which mariadb-tzinfo-to-sql (of MySQL: mysql_tzinfo_to_sql) fills, offsets such as \
             +02:00 do not"
        )),
        _ => error,
    }
}

fn version(driver: &mut Driver, options: &ConnectOptions) -> Result<Version> {
    const SQL: &str = "SELECT VERSION()";
    let text = driver.call(|conn| conn.query_first::<Option<Vec<u8>>, _>(SQL));
    let text = text.map_err(|e| Error::from_driver(e, SQL))?.flatten();
    let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
    Version::parse(&text).ok_or_else(|| Error::Connect {
        target: options.target_text(),
        user: options.user_name(),
        errno: None,
        message: format!("the server calls itself {text:?}, which is no version"),
    })
}
