//! CHECK constraints, of which the server judges the values of rows that are in no table.
//!
//! A statement has a variable for each column that conditions name, of the column's own type, so
//! that the constraint's own words mean what they mean in the table:
//!
//! ```text
//! BEGIN NOT ATOMIC
//!   DECLARE `a` TYPE OF `db`.`t`.`a`;
//!   SET `a`='7';  IF NOT (`a` > 9) THEN (take down row and condition) END IF;   a row
//!   ..
//! END
//! ```
//!
//! NULL is no failure, as in a table. Nothing is stored, locked or logged for it.

use encode::binding::BoundColumn;
use encode::column_source::Input;
use encode::constants::BoundConstant;
use encode::field;
use encode::inspected::Inspected;
use encode::rejects::FaultCounts;
use encode::text::{Literal, Literals};
use job::error::Error;
use job::stop::Stop;
use schema::{Check, DefaultValue, Table};
use server::identifier::quote_name;
use server::version::Flavor;
use server::{Interrupt, Session};
use sources::{Row, Source};
use values::Charset;

use crate::findings::{Findings, What};
use crate::judge::{Judge, Rules};
use crate::pass::{self, Take};
use crate::place::{Here, Place};

/// Rows of a statement, and bytes of their values and of their tests.
const ROWS_MAX: usize = 200;
const BYTES_MAX: usize = 256 << 10;
/// The variable that gets what fails. No column is called so.
const FAILED: &str = "`what of inrush's rows fails`";

/// Those of a table that can be judged.
pub(crate) struct Conditions {
    pub(crate) checks: Vec<Check>,
    variables: Vec<Variable>,
    /// The beginning of the statement.
    head: String,
    tests: Vec<Test>,
    literals: Literals,
}

/// A test of the current row: `IF NOT (..) THEN ..`, before its number and behind.
struct Test {
    before: String,
    behind: String,
}

struct Variable {
    /// Quoted.
    name: String,
    origin: Origin,
    literal: Literal,
}

enum Origin {
    Field(usize),
    /// A column that the input lacks: the same for all rows.
    Constant(String),
}

impl Conditions {
    /// Looks at a table. `not_judged` hears what is not judged, a sentence each.
    pub(crate) fn of(
        session: &mut Session,
        table: &Table,
        inspected: &Inspected,
        not_judged: &mut Vec<String>,
    ) -> Result<Conditions, Error> {
        let file = inspected.convert.file_charset;
        let mut conditions = Conditions {
            checks: Vec::new(),
            variables: Vec::new(),
            head: String::new(),
            tests: Vec::new(),
            literals: Literals::new(file),
        };
        if session.version().flavor == Flavor::MySql {
            let not = |check: &Check| {
                format!("CHECK constraint `{}`: MySQL judges rows of tables only", check.name)
            };
            not_judged.extend(table.checks.iter().map(not));
            return Ok(conditions);
        }
        for check in &table.checks {
            if let Err(reason) = conditions.add(session, table, check, inspected)? {
                not_judged.push(format!("CHECK constraint `{}`: {reason}", check.name));
            }
        }
        Ok(conditions)
    }

    /// Adds a constraint; a reason where it cannot be judged.
    fn add(
        &mut self,
        session: &mut Session,
        table: &Table,
        check: &Check,
        inspected: &Inspected,
    ) -> Result<Result<(), String>, Error> {
        let before = self.variables.len();
        for (at, column) in table.columns.iter().enumerate() {
            let name = quote_name(&column.name);
            let is_known = self.variables.iter().any(|variable| variable.name == name);
            if is_known || !check.clause.contains(&name) {
                continue;
            }
            let bound = inspected.columns.iter().find(|bound| bound.column.name == column.name);
            let constant = inspected.constants.iter().find(|constant| constant.column == at);
            let Some(origin) = origin(bound, constant) else {
                self.variables.truncate(before);
                return Ok(Err(format!(
                    "the values of {name} are unknown until the server has them"
                )));
            };
            self.variables.push(Variable { name, origin, literal: Literal::of(&column.sql_type) });
        }
        let declared = self.variables.iter().map(|variable| {
            format!("DECLARE {0} TYPE OF {1}.{0}; ", variable.name, table.name.quoted())
        });
        let head: String = ["BEGIN NOT ATOMIC ".to_owned()].into_iter().chain(declared).collect();
        let number = self.checks.len();
        let test = Test {
            before: format!("IF NOT ({}) THEN SET {FAILED}=CONCAT({FAILED},'", check.clause),
            behind: format!(":{number},'); END IF; "),
        };
        let head = format!("{head}DECLARE {FAILED} LONGTEXT CHARACTER SET utf8mb4 DEFAULT ''; ");
        // Whether the server knows what its words mean outside the table.
        let Test { before: begin, behind: end } = &test;
        match session.query(&format!("{head}{begin}0{end}SELECT {FAILED}; END")) {
            Ok(_) => {}
            Err(error) if error.errno().is_some() => {
                self.variables.truncate(before);
                return Ok(Err(error.to_string()));
            }
            Err(error) => return Err(error.into()),
        }
        self.head = head;
        self.tests.push(test);
        self.checks.push(check.clone());
        Ok(Ok(()))
    }

    /// Rows of a statement, which has all tests for each of them.
    fn rows_max(&self) -> usize {
        let bytes = |test: &Test| test.before.len() + test.behind.len();
        let bytes: usize = self.tests.iter().map(bytes).sum();
        (BYTES_MAX / bytes.max(1)).clamp(1, ROWS_MAX)
    }

    /// Has the server judge the good rows of the input.
    pub(crate) fn judge(
        &self,
        session: &mut Session,
        source: &mut dyn Source,
        rules: &Rules,
        findings: &mut Findings<'_>,
        faults: &mut FaultCounts,
        interrupt: &Interrupt,
    ) -> Result<(), Stop> {
        if self.checks.is_empty() {
            return Ok(());
        }
        let judge = Judge::new(rules);
        let (rows, text) = (Vec::new(), Vec::new());
        let conditions = self;
        let mut asking = Asking { conditions, session, judge, findings, faults, rows, text };
        pass::again(source, interrupt, &mut asking)?;
        asking.ask()
    }
}

/// Where the values of a column come from; none where only the server knows.
fn origin(bound: Option<&BoundColumn>, constant: Option<&BoundConstant>) -> Option<Origin> {
    let bound = bound?;
    let text = match (&bound.input, &bound.column.default, constant) {
        (Input::Field(field) | Input::AutoIncrement(Some(field)), ..) => {
            return Some(Origin::Field(*field));
        }
        (Input::Constant(None), ..) => return Some(Origin::Constant("NULL".to_owned())),
        (Input::Constant(_), _, Some(constant)) => &constant.text,
        (Input::Constant(_), DefaultValue::Constant(text), None) => text,
        _ => return None,
    };
    let (literals, mut out) = (Literals::new(Charset::Utf8mb4), Vec::new());
    literals.push(text, Literal::Text, &mut out);
    String::from_utf8(out).ok().map(Origin::Constant)
}

/// Rows on their way to the server.
struct Asking<'a, 'f> {
    conditions: &'a Conditions,
    session: &'a mut Session,
    judge: Judge<'a>,
    findings: &'a mut Findings<'f>,
    faults: &'a mut FaultCounts,
    /// Where each row of the next statement is, and where its values begin in the text.
    rows: Vec<(Place, usize)>,
    /// `SET a=1, b=2;` of each row.
    text: Vec<u8>,
}

impl Take for Asking<'_, '_> {
    /// Adds a row, if nothing else is wrong with its fields.
    fn take<R: Row>(&mut self, row: R, mut here: Here<'_>) -> Result<(), Stop> {
        let mut is_good = true;
        self.judge.judge(row, |_| is_good = false);
        if !is_good {
            return Ok(());
        }
        self.rows.push((here.place(), self.text.len()));
        let (mut scratch, mut typed) = (Vec::new(), Vec::new());
        for (at, variable) in self.conditions.variables.iter().enumerate() {
            self.text.extend_from_slice(if at == 0 { b"SET " } else { b", " });
            self.text.extend_from_slice(variable.name.as_bytes());
            self.text.push(b'=');
            match &variable.origin {
                Origin::Constant(text) => self.text.extend_from_slice(text.as_bytes()),
                Origin::Field(field) => {
                    let value = field::value(row, Some(*field), &mut scratch);
                    match value.text(&mut typed) {
                        None => self.text.extend_from_slice(b"NULL"),
                        Some(text) => {
                            self.conditions.literals.push(text, variable.literal, &mut self.text);
                        }
                    }
                }
            }
        }
        if !self.conditions.variables.is_empty() {
            self.text.extend_from_slice(b"; ");
        }
        if self.rows.len() >= self.conditions.rows_max() || self.text.len() >= BYTES_MAX {
            self.ask()
        } else {
            Ok(())
        }
    }
}

impl Asking<'_, '_> {
    /// Asks for the rows that were added.
    fn ask(&mut self) -> Result<(), Stop> {
        let rows = std::mem::take(&mut self.rows);
        let text = std::mem::take(&mut self.text);
        let end = |at: usize| rows.get(at + 1).map_or(text.len(), |(_, begin)| *begin);
        let values: Vec<&[u8]> =
            rows.iter().enumerate().map(|(at, (_, begin))| &text[*begin..end(at)]).collect();
        if rows.is_empty() {
            return Ok(());
        }
        if let Ok(failed) = self.failing(&values)? {
            return self.take_down(&rows, &failed);
        }
        // One of them is at fault, and the others are not known.
        for ((place, _), values) in rows.iter().zip(values) {
            match self.failing(&[values])? {
                Ok(failed) => self.take_down(&[(*place, 0)], &failed)?,
                Err(message) => {
                    self.faults.add(None, "the server cannot tell for its values".to_owned(), 1);
                    self.findings.push(*place, What::Refused, message.as_bytes())?;
                }
            }
        }
        Ok(())
    }

    fn take_down(&mut self, rows: &[(Place, usize)], failed: &[(usize, u16)]) -> Result<(), Stop> {
        for &(row, condition) in failed {
            let Some((place, _)) = rows.get(row) else { continue };
            let check = &self.conditions.checks[usize::from(condition)];
            self.faults.add(None, failure(check), 1);
            self.findings.push(*place, What::Condition(condition), &[])?;
        }
        Ok(())
    }

    /// Which rows fail which conditions; the server's words where it cannot tell for one of them.
    fn failing(&mut self, rows: &[&[u8]]) -> Result<Result<Vec<(usize, u16)>, String>, Stop> {
        let mut sql = self.conditions.head.clone().into_bytes();
        for (number, values) in rows.iter().enumerate() {
            sql.extend_from_slice(values);
            for test in &self.conditions.tests {
                let Test { before, behind } = test;
                sql.extend_from_slice(format!("{before}{number}{behind}").as_bytes());
            }
        }
        sql.extend_from_slice(format!("SELECT {FAILED}; END").as_bytes());
        let sql = String::from_utf8(sql)
            .map_err(|_| Error::Internal("a statement is not UTF-8".to_owned()))?;
        match self.session.query(&sql) {
            Ok(answer) => {
                let text = answer.first().map_or_else(String::new, |row| row.text_lossy(0));
                Ok(Ok(text.split(',').filter_map(pair).collect()))
            }
            Err(error) if error.is_unclear() => Err(Error::from(error).into()),
            Err(server::Error::Statement { message, .. }) => Ok(Err(message)),
            Err(error) => Err(Error::from(error).into()),
        }
    }
}

/// The fault of rows that fail a constraint.
pub(crate) fn failure(check: &Check) -> String {
    format!("fails the CHECK constraint `{}`: {}", check.name, check.clause)
}

/// `row:condition` as numbers.
fn pair(text: &str) -> Option<(usize, u16)> {
    let (row, condition) = text.split_once(':')?;
    Some((row.parse().ok()?, condition.parse().ok()?))
}
