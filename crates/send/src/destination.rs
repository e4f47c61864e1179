//! Where rows go on the logical path, and why there.
//!
//! ```text
//! choose -> prepare -> (connections send rows to `table`) -> StagingCopy::finish -> publish
//! ```

use face::option::{ATOMIC, EACH, MODE, REJECTS_MAX};
use job::error::Error;
use job::options::{LoadOptions, Mode, OnDuplicate, WithOthers};
use schema::{Method, TableName, first_of};
use server::privileges::InPlace;
use server::{Error as ServerError, Unsupported};
use targets::identity::Identity;
use targets::secondary::Defer;
use targets::{Lock, StagingCopy};

use crate::shards::Shards;

/// Why a transaction does not load a table that has to be empty.
fn rows_between() -> String {
    format!(
        "other clients could insert into the empty table before the transaction has loaded all \
         rows; {} adds rows to the table",
        MODE.with("append")
    )
}

/// Where the rows of one load go.
#[derive(Clone, Debug)]
pub struct Destination {
    /// How they get there.
    pub method: Method,
    /// Why, in words for plan and report.
    pub why: String,
    /// True if the target's engine has no transactions, so that the staging table is one of InnoDB
    /// first.
    staged: bool,
    with_others: WithOthers,
    identity: Identity,
}

impl Destination {
    /// Chooses where the rows of the target go, loaded `with_others` or alone. Changes nothing.
    ///
    /// Errors: the server's; the inner one is the reasons, in sentences, against every method.
    pub fn choose(
        target: &mut Lock,
        options: &LoadOptions,
        with_others: WithOthers,
    ) -> Result<Result<Destination, Vec<String>>, Error> {
        let mut identity = target.identity()?;
        identity.ties.extend(ledger_ties(target, options));
        let mut destination = Destination {
            method: Method::Stage,
            why: "rows are loaded into a staging table, which replaces the table when it is \
                  complete"
                .to_owned(),
            staged: identity.is_unsafe,
            with_others,
            identity,
        };
        if with_others.is_transaction() {
            destination.method = Method::Transaction;
            destination.why = "one transaction loads all rows".to_owned();
        } else if options.mode == Mode::Append {
            destination.append(options);
        } else if !destination.identity.ties.is_empty() {
            destination.transaction(list(&destination.identity.ties));
        }
        let refused = destination.refused(target, options)?;
        Ok(if refused.is_empty() { Ok(destination) } else { Err(refused) })
    }

    /// For a table that only this load knows, and removes if it fails: whatever its engine, rows go in by one
    /// transaction, and `why` says for whom.
    ///
    /// Errors: the server's.
    pub fn into_own(target: &mut Lock, why: String) -> Result<Destination, Error> {
        let identity = target.identity()?;
        let (method, with_others) = (Method::Transaction, WithOthers::Alone);
        Ok(Destination { method, why, staged: false, with_others, identity })
    }

    fn append(&mut self, options: &LoadOptions) {
        // Rows that are judged at the end must not be in before.
        if options.atomic || options.rows.rejects_max_percent.is_some() {
            self.method = Method::Transaction;
            self.why = format!(
                "rows are loaded in one transaction, because {ATOMIC}, or a percentage in \
                 {REJECTS_MAX}, requires all rows or none"
            );
        } else {
            self.method = Method::Append;
            self.why =
                "rows are added to the table, in one transaction for each chunk of the input"
                    .to_owned();
        }
    }

    fn transaction(&mut self, ties: String) {
        self.method = Method::Transaction;
        self.why = format!(
            "rows are loaded in one transaction, because no staging table can replace the table: \
             {ties}"
        );
    }

    fn refused(&self, target: &mut Lock, options: &LoadOptions) -> Result<Vec<String>, Error> {
        let mut refused: Vec<String> =
            self.identity.refused.iter().map(ToString::to_string).collect();
        if !refused.is_empty() || self.method == Method::Stage {
            return Ok(refused);
        }
        if self.with_others == WithOthers::Swap {
            let or = match (options.input.selection.is_some(), options.mode) {
                (false, _) => format!(
                    "; {EACH} loads the tables one after the other, \
                                       independently"
                ),
                (true, Mode::Replace) => format!(
                    "; empty the table first and omit {}: one transaction then loads the rows of \
                     all tables",
                    MODE.with("replace")
                ),
                (true, _) => String::new(),
            };
            let why = &self.why;
            refused.push(format!(
                "{why}, so the table cannot be published together with the other \
                                  tables{or}"
            ));
            return Ok(refused);
        }
        let shards = Shards::of(target);
        if shards.are_several() {
            let replaces = options.rows.on_duplicate.replaces();
            refused.extend(shards.refused(target, self.method, replaces)?);
            if !refused.is_empty() {
                return Ok(refused);
            }
        }
        let rules = &target.facts.engine;
        if self.method == Method::Transaction {
            let is_between = !rules.kind.keeps_gaps() && options.mode == Mode::Insert;
            let between = || is_between.then(|| format!("{}; {}", self.why, rows_between()));
            let why = rules.no_whole.clone().or_else(between);
            refused.extend(why.map(|why| format!("{} ({why})", rules.kind)));
        }
        let engine = &target.table.engine;
        if self.identity.is_unsafe {
            let ties = list(&self.identity.ties);
            refused.push(match options.mode {
                Mode::Append => format!(
                    "storage engine ({engine} has no transactions: added rows could not be rolled \
                     back)"
                ),
                _ => format!(
                    "storage engine ({engine} has no transactions, and no staging table can \
                     replace it: {ties})"
                ),
            });
        }
        if options.mode == Mode::Replace {
            let cascades = target.cascades()?;
            if !cascades.is_empty() {
                refused.push(format!(
                    "foreign key (deleting the table's rows would delete or change rows of {})",
                    first_of(&cascades)
                ));
            }
        }
        let facts = &target.facts;
        let missing = |ledger| {
            let need = InPlace {
                deletes: options.rows.on_duplicate == OnDuplicate::Replace
                    || options.mode == Mode::Replace,
                updates: options.rows.on_duplicate == OnDuplicate::Update,
                ledger,
                corrects: ledger && options.rows.leaves_out(),
            };
            facts.privileges.missing_in_place(&target.table.name, need, &facts.account)
        };
        let missed = missing(self.method == Method::Append).join("; ");
        if !missed.is_empty() {
            let or = match self.method == Method::Append && missing(false).is_empty() {
                true => format!(", or {ATOMIC}, which needs no second table"),
                false => String::new(),
            };
            refused.push(format!("privileges (the account lacks: {missed}{or})"));
        }
        Ok(refused)
    }

    /// Makes the staging table that rows are sent to, if they are. One that the server does not make like
    /// the target turns the destination into [`Method::Transaction`], which `why` then says.
    pub(crate) fn prepare(
        &mut self,
        target: &mut Lock,
        options: &LoadOptions,
        defer: Defer,
    ) -> Result<Option<StagingCopy>, Error> {
        if self.method == Method::Stage {
            match StagingCopy::create(target, defer, self.staged) {
                Err(ServerError::NoStagingTable { reasons, .. }) if !self.staged => {
                    self.transaction(list(&reasons));
                    let refused = self.refused(target, options)?;
                    if !refused.is_empty() {
                        let target = target.table.name.to_string();
                        return Err(Error::Unfit { target, path: None, reasons: refused });
                    }
                }
                made => return Ok(Some(made?)),
            }
        }
        Ok(None)
    }

    /// The table rows are sent to.
    pub(crate) fn table<'a>(&self, target: &'a Lock) -> &'a TableName {
        if self.method == Method::Stage { &target.names.staging } else { &target.table.name }
    }
}

/// Privileges that the account lacks for the ledger of a staging table, beyond those for the
/// staging table.
fn ledger_ties(target: &Lock, options: &LoadOptions) -> Option<Unsupported> {
    let (database, facts) = (&target.table.name.database, &target.facts);
    let is_needed = options.mode != Mode::Append && options.rows.leaves_out();
    if !is_needed || facts.privileges.on_database("UPDATE", database) {
        return None;
    }
    let grant = facts.privileges.grant(&["UPDATE"], database, &facts.account);
    Some(Unsupported::StagingPrivileges(vec![grant]))
}

fn list(reasons: &[server::Unsupported]) -> String {
    reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
