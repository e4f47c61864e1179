//! A session's variables: set by name, and read back.

use face::option::UNLOGGED;
use mysql::prelude::Queryable;

use super::Session;
use crate::connect::driver::Driver;
use crate::connect::variables::{self, ENFORCED_ENGINE, NULL, Variables};
use crate::engine::Kind;
use crate::error::{Error, Result};
use crate::options::ConnectOptions;
use crate::session::{Done, Row};
use crate::version::{Flavor, Version};

const ER_UNKNOWN_TIME_ZONE: u16 = 1298;
const ER_SPECIFIC_ACCESS_DENIED: u16 = 1227;
/// Lets a SELECT have all its rows.
const SELECT_LIMIT: &str = "sql_select_limit=18446744073709551615";
/// Why a variable has changed, where the server has not refused to set it.
const CHANGED: &str = "the server, a proxy or a trigger has changed the variable; connect without \
                       the proxy, or make the proxy keep session variables";

/// How much of what other transactions do a transaction sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Rows that were committed before each statement.
    ReadCommitted,
    /// Rows that were committed before the first read.
    RepeatableRead,
}

impl Session {
    /// Makes a new connection ours: utf8mb4, strict mode, no limits but ours.
    ///
    /// Errors: [`Error::Variable`] where a variable does not keep the value that it was set to.
    pub(super) fn begin(&mut self) -> Result<()> {
        let options = self.options.clone();
        if options.unlogged {
            self.set(&[("sql_log_bin", "0")]).map_err(|error| explain(error, &options))?;
        }
        for (name, value) in &options.settings {
            self.set(&[(name, value)])?;
        }
        let asked = std::mem::take(&mut self.variables);
        let mut pairs = variables::to_begin(&self.version, &options);
        let refused = self.write(&mut pairs).map_err(|error| explain(error, &options))?;
        pairs.extend(variables::besides(&self.version));
        pairs.extend(asked.all());
        self.variables = Variables::begun(&pairs);
        for name in Kind::of_version(&self.version).ignored() {
            self.variables.keep(name, "");
        }
        for (name, set, read) in self.differing()? {
            self.settle(&name, &set, &read, &refused)?;
        }
        Ok(())
    }

    /// Writes variables, and takes out those that the server does not have; gives those that it
    /// refused to set, with its words.
    fn write(&mut self, pairs: &mut Vec<(String, String)>) -> Result<Vec<(String, String)>> {
        loop {
            let texts = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            let sql = format!("SET NAMES utf8mb4, SESSION {}", variables::assignments(texts));
            let unknown = match self.exec(&sql) {
                Err(Error::Statement { errno, message, .. }) => {
                    variables::unknown(errno, &message, pairs)
                }
                done => return done.map(|_| Vec::new()),
            };
            match unknown {
                Some(at) => _ = pairs.remove(at),
                None => return self.write_each(pairs),
            }
        }
    }

    /// The same, one by one.
    fn write_each(&mut self, pairs: &mut Vec<(String, String)>) -> Result<Vec<(String, String)>> {
        let needed = variables::needed(&self.version, &self.options).min(pairs.len());
        let of = |pairs: &[(String, String)]| {
            variables::assignments(pairs.iter().map(|(n, v)| (n.as_str(), v.as_str())))
        };
        self.exec(&format!("SET NAMES utf8mb4, SESSION {}", of(&pairs[..needed])))?;
        // Other engines that speak the protocol have variables of the same names, and rules of
        // their own.
        let is_plain = Kind::of_version(&self.version) == Kind::Plain;
        let (mut known, mut refused) = (pairs[..needed].to_vec(), Vec::new());
        for pair in pairs.drain(needed..) {
            match self.exec(&format!("SET SESSION {}", of(std::slice::from_ref(&pair)))) {
                Err(Error::Statement { errno, message, .. }) => {
                    if is_plain && !variables::is_no_variable(errno) {
                        refused.push((pair.0.clone(), message));
                        known.push(pair);
                    }
                }
                done => {
                    done?;
                    known.push(pair);
                }
            }
        }
        *pairs = known;
        Ok(refused)
    }

    /// A variable has another value than it should have: a last try.
    fn settle(
        &mut self,
        name: &str,
        set: &str,
        read: &str,
        refused: &[(String, String)],
    ) -> Result<()> {
        let mut reason = refused.iter().find(|(of, _)| of == name).map(|(_, words)| words.clone());
        let sql = format!("SET SESSION {}", variables::assignments([(name, set)].into_iter()));
        match self.exec(&sql) {
            Err(Error::Statement { message, .. }) => reason = Some(message),
            done => {
                done?;
                let now = self.query_row(&format!("SELECT @@SESSION.{name}"))?;
                if now.text_or_null(0)?.as_deref().unwrap_or(NULL) == set {
                    return Ok(());
                }
            }
        }
        if name == ENFORCED_ENGINE {
            self.variables.keep(name, read);
            return Ok(());
        }
        Err(changed(name, set, read, reason.as_deref()))
    }

    /// Sets variables, by their names and their values as SELECT gives them. Those that are so
    /// already, and those that the server keeps, are left out.
    pub fn set(&mut self, pairs: &[(&str, &str)]) -> Result<()> {
        let is_other = |(name, value): &&(&str, &str)| {
            self.variables.kept(name).is_none() && self.variables.get(name) != Some(value)
        };
        let other: Vec<(&str, &str)> = pairs.iter().filter(is_other).copied().collect();
        if other.is_empty() {
            return Ok(());
        }
        self.exec(&format!("SET SESSION {}", variables::assignments(other.iter().copied())))?;
        other.iter().for_each(|(name, value)| self.variables.note(name, value));
        Ok(())
    }

    /// Runs a statement under other values of variables, which are put back behind it. Those that MySQL does not have,
    /// or does not let the account set, stay as they are.
    pub fn exec_under(&mut self, pairs: &[(&str, &str)], sql: &str) -> Result<Done> {
        if self.version.flavor == Flavor::MariaDb {
            let all = variables::assignments(pairs.iter().copied());
            return self.exec(&format!("SET STATEMENT {all} FOR {sql}"));
        }
        let mut changed = Vec::new();
        for &(name, value) in pairs {
            let before = self.variable(name).map(str::to_owned);
            if self.set_if_possible(name, value)? {
                changed.push((name, before));
            }
        }
        let done = self.exec(sql);
        if self.is_alive() {
            let _shield = self.options.interrupt.shield();
            for (name, before) in changed {
                match before {
                    Some(value) => self.set(&[(name, &value)])?,
                    None => self.reset(&[name])?,
                }
            }
        }
        done
    }

    /// Sets a variable that the server may lack, or let few accounts set; false if it stays as it is.
    fn set_if_possible(&mut self, name: &str, value: &str) -> Result<bool> {
        match self.set(&[(name, value)]) {
            Err(error) if error.errno().is_some_and(is_refused) => Ok(false),
            done => done.map(|()| true),
        }
    }

    /// Sets a variable that some servers let few accounts set: without the right it stays as it is.
    pub fn set_if_allowed(&mut self, name: &str, value: &str) -> Result<()> {
        self.set_if_possible(name, value).map(drop)
    }

    /// Has statements of this session wait so many seconds for a row at most.
    pub fn limit_row_wait(&mut self, seconds_max: u32) -> Result<()> {
        const NAME: &str = "innodb_lock_wait_timeout";
        let seconds = self.variable(NAME).and_then(|text| text.parse::<u32>().ok());
        let seconds = seconds.unwrap_or(seconds_max).min(seconds_max);
        self.set(&[(NAME, &seconds.to_string())])
    }

    /// Gives variables the values back that the session began with.
    pub fn reset(&mut self, names: &[&str]) -> Result<()> {
        let begun = |name: &str| self.variables.begun_with(name).map(str::to_owned);
        let pairs: Vec<(&str, Option<String>)> =
            names.iter().map(|&name| (name, begun(name))).collect();
        let known = pairs.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?)));
        self.set(&known.collect::<Vec<_>>())?;
        for (name, _) in pairs.iter().filter(|(_, value)| value.is_none()) {
            self.exec(&format!("SET SESSION {name}=DEFAULT"))?;
            self.variables.forget(name);
        }
        Ok(())
    }

    /// Sets variables, in this session and in those that [`Session::another`] makes of it.
    pub fn set_all(&mut self, settings: &[(String, String)]) -> Result<()> {
        for (name, value) in settings {
            self.set(&[(name, value)])?;
        }
        self.options.settings = settings.to_vec();
        Ok(())
    }

    /// Sets what the transactions of this session see.
    pub fn set_isolation(&mut self, isolation: Isolation) -> Result<()> {
        let (words, value) = match isolation {
            Isolation::ReadCommitted => ("READ COMMITTED", "READ-COMMITTED"),
            Isolation::RepeatableRead => ("REPEATABLE READ", "REPEATABLE-READ"),
        };
        let name = match self.version.flavor {
            Flavor::MariaDb => "tx_isolation",
            Flavor::MySql => "transaction_isolation",
        };
        if self.variables.get(name) != Some(value) {
            self.exec(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {words}"))?;
            // Of a server that does not have the variable nothing is read.
            if self.variables.get(name).is_some() {
                self.variables.note(name, value);
            }
        }
        Ok(())
    }

    /// The value that a variable was set to last; none for one that is the server's.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name)
    }

    /// The engine that the server gives every new table, where the account may not change that.
    pub fn enforced_engine(&self) -> Option<&str> {
        let engine = self.variables.kept(ENFORCED_ENGINE)?;
        (!engine.eq_ignore_ascii_case("InnoDB")).then_some(engine)
    }

    /// Sees to it that all variables still have the values that they were set to: before rows that
    /// were read or written under them count.
    ///
    /// Errors: [`Error::Variable`].
    pub fn check_variables(&mut self) -> Result<()> {
        refuse_any(self.differing()?)
    }

    /// Columns of a SELECT that read the variables, to follow another column.
    pub(super) fn more_columns(&self) -> String {
        let columns = self.variables.columns();
        if columns.is_empty() { columns } else { format!(", {columns}") }
    }

    /// As [`Session::check_variables`], by a row that has read them from its second column on.
    pub(super) fn check_read(&self, row: &Row) -> Result<()> {
        refuse_any(self.variables.differing(&values(row, 1)?))
    }

    /// Takes the variables as such a row has them.
    pub(super) fn adopt_read(&mut self, row: &Row) -> Result<()> {
        let differing = self.variables.differing(&values(row, 1)?);
        differing.iter().for_each(|(name, _, read)| self.variables.note(name, read));
        Ok(())
    }

    fn differing(&mut self) -> Result<Vec<(String, String, String)>> {
        loop {
            let columns = self.variables.columns();
            if columns.is_empty() {
                return Ok(Vec::new());
            }
            match self.query_row(&format!("SELECT {columns}")) {
                Ok(row) => return Ok(self.variables.differing(&values(&row, 0)?)),
                Err(Error::Statement { errno, message, .. })
                    if self.variables.forget_unknown(errno, &message) => {}
                // Another engine may set what it does not tell.
                Err(Error::Statement { .. }) if Kind::of_version(&self.version) != Kind::Plain => {
                    self.variables = Variables::default();
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// True for an error that leaves a variable as it is.
fn is_refused(errno: u16) -> bool {
    errno == ER_SPECIFIC_ACCESS_DENIED || variables::is_no_variable(errno)
}

/// The values of a row from a column on.
fn values(row: &Row, first: usize) -> Result<Vec<String>> {
    let text = |column| Ok(row.text_or_null(column)?.unwrap_or_else(|| NULL.to_owned()));
    (first..row.len()).map(text).collect()
}

fn refuse_any(differing: Vec<(String, String, String)>) -> Result<()> {
    match differing.into_iter().next() {
        Some((name, set, read)) => Err(changed(&name, &set, &read, None)),
        None => Ok(()),
    }
}

fn changed(name: &str, set: &str, read: &str, refused: Option<&str>) -> Error {
    let reason = match refused {
        Some(words) => format!("the server refused the value ({words})"),
        None => CHANGED.to_owned(),
    };
    Error::Variable { name: name.to_owned(), set: set.to_owned(), read: read.to_owned(), reason }
}

fn explain(error: Error, options: &ConnectOptions) -> Error {
    match &options.time_zone {
        Some(zone) if error.errno() == Some(ER_UNKNOWN_TIME_ZONE) => Error::Option(format!(
            "the server does not know the time zone {zone}: fill the server's time zone tables \
             with mariadb-tzinfo-to-sql (MySQL: mysql_tzinfo_to_sql), or use an offset such as \
             +02:00"
        )),
        _ if options.unlogged && error.errno() == Some(ER_SPECIFIC_ACCESS_DENIED) => {
            Error::Option(format!("{UNLOGGED}: {error}"))
        }
        _ => error,
    }
}

/// The version of the server that a new connection has reached.
pub(super) fn version(driver: &mut Driver, options: &ConnectOptions) -> Result<Version> {
    const SQL: &str = "SELECT VERSION()";
    const COMMENT: &str = "SELECT @@version_comment";
    let ask = |driver: &mut Driver, sql: &str| {
        let text = driver.call(|conn| conn.query_first::<Option<Vec<u8>>, _>(sql));
        text.map_err(|e| Error::from_driver(e, sql))
    };
    let mut text = ask(driver, SQL)?;
    if text.is_none() {
        // A limit of no rows.
        let set = format!("SET SESSION {SELECT_LIMIT}");
        driver.query_drop(&set).map_err(|e| Error::from_driver(e, &set))?;
        text = ask(driver, SQL)?;
    }
    let text = text.flatten();
    let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
    let version = Version::parse(&text).ok_or_else(|| Error::Connect {
        target: options.target_text(),
        user: options.user_name(),
        errno: None,
        message: format!("the server's version is {text:?}, which is not a version number"),
    })?;
    if version.flavor == Flavor::MariaDb || !version.has_tested_number() {
        return Ok(version);
    }
    let comment = ask(driver, COMMENT)?.flatten().unwrap_or_default();
    Ok(version.with_comment(&String::from_utf8_lossy(&comment)))
}
