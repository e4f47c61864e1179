//! A target that is taken while no connection works at it.
//!
//! A command that loads many tables has few connections, each of which works at one table after the
//! other: [`Lock::rest`] takes the connections from a target, [`Resting::work`] gives them to the
//! next.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use schema::Table;

use crate::keeper::Keeper;
use crate::left::Left;
use crate::lock::{Folder, Lock, LockOptions};
use crate::names::Names;
use crate::triggers;
use crate::turns::{Blocked, TURN};
use crate::waiting::Patience;
use server::Unsupported;
use server::error::Result;
use server::facts::{ServerFacts, database_dir::DatabaseDir};
use server::session::Session;

/// Targets that are asked for rows by one request at most.
const ASKED_AT_ONCE: usize = 64;

/// The connections of a target: a session, and one that is kept for the swap and for checkpoints.
#[derive(Debug)]
pub struct Connections {
    pub(super) session: Session,
    pub(super) spare: Option<Session>,
}

/// A target that nothing works at. The fields are those of [`Lock`].
#[derive(Debug)]
pub struct Resting {
    /// The target as it was when it was taken.
    pub table: Table,
    /// The server as it was then.
    pub facts: Arc<ServerFacts>,
    /// Names of our helpers.
    pub names: Names,
    /// Everything that keeps the direct path from it.
    pub unsupported: Vec<Unsupported>,
    /// Remarks on events that did not end the load.
    pub remarks: Vec<String>,
    /// True if it had no row when [`Resting::note_empty`] asked; none where nobody has asked.
    pub was_empty: Option<bool>,
    pub(super) patience: Patience,
    pub(super) reconnect_wait: Duration,
    pub(super) allow_empty: bool,
    pub(super) folder: Option<Folder>,
    pub(super) keeper: Option<Arc<Keeper>>,
    pub(super) left: Option<Arc<Left>>,
}

impl Connections {
    /// Those of a session; others are made when they are needed.
    pub fn of(session: Session) -> Connections {
        Connections { session, spare: None }
    }
}

impl Resting {
    /// A target as it is described, on a server and in a folder that were looked at.
    pub(super) fn of(
        table: Table,
        facts: &Arc<ServerFacts>,
        dir: &std::result::Result<DatabaseDir, Unsupported>,
        options: &LockOptions,
    ) -> Resting {
        let mut unsupported = triggers::refused(&table, options.no_triggers);
        unsupported.extend(facts.unsupported(&table.name.database));
        if table.columns.iter().any(|column| column.auto_increment) {
            unsupported.extend(facts.unsupported_step());
        }
        unsupported.extend(facts.unsupported_row_format(&table));
        let folder = match dir {
            Ok(dir) => Some(Folder { dir: dir.clone(), is_proven: false }),
            Err(reason) => {
                unsupported.push(reason.clone());
                None
            }
        };
        unsupported.extend(facts.unseen_triggers(&table.name));
        unsupported.extend(missing_for_keys(&table, facts));
        if !facts.engine.kind.has_files() {
            // All else is about files.
            unsupported.retain(|reason| matches!(reason, Unsupported::Engine(..)));
        }
        let patience = Patience {
            target: table.name.clone(),
            wait: options.lock_wait,
            told: options.told.clone(),
        };
        Resting {
            names: Names::of(&table.name).proven_by(options.proof.clone()),
            table,
            facts: Arc::clone(facts),
            unsupported,
            remarks: Vec::new(),
            was_empty: None,
            patience,
            reconnect_wait: options.reconnect_wait,
            allow_empty: options.allow_empty,
            folder,
            keeper: None,
            left: None,
        }
    }

    /// Notes of many targets if they have rows, by few requests. No table is waited for longer than a turn: who
    /// needs to know asks for its rows alone then.
    ///
    /// Errors: a lost connection.
    pub fn note_empty(targets: &mut [Resting], session: &mut Session) -> Result<()> {
        let Some(wait) = targets.first().map(|target| target.patience.wait) else { return Ok(()) };
        session.set_lock_wait(TURN)?;
        for some in targets.chunks_mut(ASKED_AT_ONCE) {
            let one = |target: &Resting| {
                format!("SELECT 1 FROM {base} LIMIT 1", base = target.table.name.base())
            };
            let questions: Vec<String> = some.iter().map(one).collect();
            let answers = match session.query_all(&questions) {
                Err(error) if error.errno().is_none() => return Err(error),
                answers => answers.unwrap_or_default(),
            };
            for (target, rows) in some.iter_mut().zip(answers) {
                target.was_empty = Some(rows.is_empty());
            }
        }
        session.set_lock_wait(wait)
    }

    /// Has these connections work at it.
    pub fn work(self, connections: Connections) -> Lock {
        let Connections { session, spare } = connections;
        let Resting { table, facts, names, unsupported, remarks, was_empty, .. } = self;
        let Resting { patience, reconnect_wait, allow_empty, folder, keeper, left, .. } = self;
        Lock {
            session,
            table,
            facts,
            names,
            unsupported,
            remarks,
            was_empty,
            keys_left: Vec::new(),
            triggers_left: Vec::new(),
            blocked: Blocked::default(),
            keeps_others: None,
            patience,
            reconnect_wait,
            allow_empty,
            spare,
            folder,
            keeper,
            left,
        }
    }

    /// True if no load of this target has left anything, as [`Lock::is_swept`].
    pub fn is_swept(&self) -> bool {
        self.left.as_ref().is_some_and(|left| !left.has(&self.table.name))
    }

    /// Where the direct path builds its file, as [`Lock::build_path`]; none where that cannot be
    /// reached.
    pub fn build_path(&self) -> Option<PathBuf> {
        let folder = self.folder.as_ref()?;
        Some(folder.dir.path.join(format!("{}.build", self.names.staging.table)))
    }
}

/// Rights that foreign keys take.
fn missing_for_keys(table: &Table, facts: &ServerFacts) -> Option<Unsupported> {
    let names = Names::of(&table.name);
    let own = if table.references.is_empty() { &[][..] } else { &names.staging_databases()[..] };
    let others = table.foreign_keys.iter().filter_map(|key| key.other.as_ref());
    let others = others.map(|other| other.database.as_str());
    let others = others.filter(|other| *other != table.name.database).collect();
    let parents = table.references.iter().map(|key| key.parent.database.as_str()).collect();
    let (flavor, privileges) = (facts.version.flavor, &facts.privileges);
    let missing = privileges.missing_for_keys(flavor, own, &others, &parents, &facts.account);
    (!missing.is_empty()).then_some(Unsupported::Privileges(missing))
}

impl Lock {
    /// Takes the connections from the target, for another one.
    pub fn rest(self) -> (Resting, Connections) {
        let Lock { session, table, facts, names, unsupported, remarks, was_empty, .. } = self;
        let Lock { patience, reconnect_wait, allow_empty, spare, folder, keeper, left, .. } = self;
        let resting = Resting {
            table,
            facts,
            names,
            unsupported,
            remarks,
            was_empty,
            patience,
            reconnect_wait,
            allow_empty,
            folder,
            keeper,
            left,
        };
        (resting, Connections { session, spare })
    }
}
