//! The same tables on the replicas of a server: staging tables that get the same files.
//!
//! ```text
//! primary:   staging table -> build, verify -> import ----------- RENAME (in the binary log) -> drop the old
//! replicas:  staging table ---------- copy ---> import   ..  ..   RENAME, as it comes to it
//! ```
//!
//! Everything but the RENAME, and the DROP of the old table, is done in sessions without a binary
//! log. The RENAME is only asked for when each replica has its finished staging table; what fails before is
//! removed everywhere.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use direct::Unplaced;
use face::option::REPLICA;
use job::error::Error;
use job::failpoint;
use job::memory::Memory;
use job::options::{LoadOptions, LoadPath, Mode};
use schema::{Table, TableName};
use server::facts::ServerFacts;
use server::replication::{self, Primary};
use server::version::Flavor;
use server::{ConnectOptions, Interrupt, Session, Unsupported, replicas};
use sources::{Source, SourceExt as _};
use targets::{Connections, Direct, Keeper, Lock, LockOptions, Resting};

use crate::lock_target::{lock, lock_options};

use crate::choose::{self, Decision, Purpose};

/// How long the connection of a replica that has come again may last.
const OLD_CONNECTION_WAIT: Duration = Duration::from_secs(2);

/// The replicas of a load, each with its tables taken.
pub(crate) struct Copies {
    all: Vec<Copy>,
    /// The numbers of their servers.
    ids: Vec<u64>,
}

/// A replica.
struct Copy {
    /// As the user named it.
    name: String,
    /// Holds its tables.
    keeper: Arc<Keeper>,
    tables: Vec<Resting>,
    /// None while a table has them, or where they were lost.
    connections: Option<Connections>,
}

/// A table of the primary, as it was taken there.
#[derive(Clone, Copy)]
pub(crate) struct Original<'t> {
    pub(crate) table: &'t Table,
    pub(crate) facts: &'t ServerFacts,
}

impl<'t> Original<'t> {
    pub(crate) fn of(target: &'t Resting) -> Original<'t> {
        Original { table: &target.table, facts: &target.facts }
    }
}

/// True if the replicas named by `--replica` get the file: the method is or may be direct, and the
/// table exists.
pub(crate) fn are_asked_for(options: &LoadOptions) -> bool {
    !options.server.replicas.named.is_empty()
        && matches!(options.path, LoadPath::Auto | LoadPath::Direct)
        && options.mode != Mode::Append
        && !options.server.unlogged
        && options.ddl.is_none()
}

/// Adds to the `reasons` those against replicas that the user has named. They say why a log or replicas keep the
/// file away: to name replicas is no advice any more.
pub(crate) fn add_reasons(reasons: &mut Vec<Unsupported>, against: &[String]) {
    if !against.is_empty() {
        let is_told = |reason: &Unsupported| {
            matches!(reason, Unsupported::BinaryLog | Unsupported::Replicas(_))
        };
        reasons.retain(|reason| !is_told(reason));
    }
    reasons.extend(against.iter().cloned().map(Unsupported::NamedReplica));
}

/// The note on rows that are sent although the user has named replicas, by the reasons against these; none without reasons.
pub(crate) fn sent_note(against: &[String]) -> Option<String> {
    let why = against.join("; ");
    (!why.is_empty()).then(|| {
        format!(
            "{REPLICA}: the replicas get the rows from the binary log, not the built file: {why}"
        )
    })
}

/// Connection options of the primary for a load with copies: only the RENAME and the DROP are logged.
pub(crate) fn primary_options(connect: &ConnectOptions) -> ConnectOptions {
    ConnectOptions { unlogged: true, logs_publishing: true, ..connect.clone() }
}

/// A target that is built for replicas too, its inspection, and the replicas.
pub(crate) type Reached = (Lock, Decision, Copies);

/// Locks the target, by `lock`, and the same table on each named replica, and decides for the direct path if all
/// of them support it.
///
/// Errors: the inner error lists the reasons of replicas that cannot get the file. It is empty if no replica is
/// named, or the primary has no direct path.
pub(crate) fn decide(
    connect: &ConnectOptions,
    options: &LoadOptions,
    memory: &Memory,
    source: &mut dyn Source,
    told: Option<&Sender<String>>,
    purpose: Purpose,
) -> Result<Result<Reached, Vec<String>>, Error> {
    if !are_asked_for(options) {
        let may_build = matches!(options.path, LoadPath::Auto | LoadPath::Direct);
        let is_added =
            options.mode == Mode::Append && may_build && !options.server.replicas.named.is_empty();
        let why = "rows that are added to a table are sent, and reach replicas by the binary log";
        return Ok(Err(is_added.then(|| why.to_owned()).into_iter().collect()));
    }
    let connect = primary_options(connect);
    let session = match Session::connect(&connect) {
        Ok(session) => session,
        Err(error) => return Ok(Err(vec![error.to_string()])),
    };
    let mut target = lock(session, options, told)?;
    let cleans = purpose == Purpose::Load;
    let Lock { session, table, facts, .. } = &mut target;
    let originals = [Original { table, facts }];
    let wanted = CopyRequest { connect: &connect, options, told, cleans };
    let copies = match Copies::inspect(session, &originals, wanted)? {
        Ok(copies) => copies,
        Err(against) => return Ok(Err(against)),
    };
    let options = LoadOptions { path: LoadPath::Direct, ..options.clone() };
    let mut decision = choose::decide(&mut target, &options, memory, source, purpose)?;
    let Some(chosen) = &mut decision.chosen else {
        source.restart()?;
        return Ok(Err(Vec::new()));
    };
    chosen.why = copies.why();
    Ok(Ok((target, decision, copies)))
}

/// A request for copies on replicas.
#[derive(Clone, Copy)]
pub(crate) struct CopyRequest<'a> {
    /// Connection of the primary.
    pub(crate) connect: &'a ConnectOptions,
    pub(crate) options: &'a LoadOptions,
    pub(crate) told: Option<&'a Sender<String>>,
    /// True if leftovers of a killed load are removed.
    pub(crate) cleans: bool,
}

impl Copies {
    /// Takes the tables on all replicas, and removes what a killed load left there if that is wanted.
    /// Changes nothing else. `session` is one of the primary's.
    ///
    /// Errors: the inner one is what keeps the files from one of them, a sentence each.
    pub(crate) fn inspect(
        session: &mut Session,
        originals: &[Original<'_>],
        wanted: CopyRequest<'_>,
    ) -> Result<Result<Copies, Vec<String>>, Error> {
        if originals.iter().any(|original| original.table.partitioning.is_some()) {
            let reason =
                "a table with partitions has several files, which are not copied to replicas";
            return Ok(Err(vec![reason.to_owned()]));
        }
        let primary = match Primary::read(session) {
            Ok(primary) => primary,
            Err(error) => return Ok(Err(vec![error.to_string()])),
        };
        let Some(position) = Primary::position(session)? else {
            let why = "gtid_mode is not ON, so nobody can tell what a replica has done";
            return Ok(Err(vec![why.to_owned()]));
        };
        let mut against = primary.filters.clone();
        let is_tied = |table: &Table| !table.foreign_keys.is_empty() || !table.triggers.is_empty();
        if let Some(tied) = originals.iter().find(|original| is_tied(original.table)) {
            let name = &tied.table.name;
            let what = "foreign keys and triggers cannot be kept on replicas";
            against.push(match originals.len() {
                1 => what.to_owned(),
                _ => format!("{name}: {what}"),
            });
        }
        let (mut all, mut ids) = (Vec::new(), Vec::new());
        for name in &wanted.options.server.replicas.named {
            let place = Place { name, wanted, position: &position };
            match place.inspect(originals, &primary) {
                Ok(Ok((copy, id))) => {
                    all.push(copy);
                    ids.push(id);
                }
                Ok(Err(reasons)) => {
                    against.extend(reasons.iter().map(|no| format!("the replica {name}: {no}")));
                }
                Err(error) => against.push(format!("the replica {name}: {error}")),
            }
        }
        if against.is_empty() {
            against.extend(unnamed(session, &primary, &ids)?);
        }
        if !against.is_empty() {
            return Ok(Err(against));
        }
        if wanted.cleans {
            for copy in &mut all {
                copy.each(|lock| Ok(Direct::new(lock).cleanup().map(drop)?))?;
            }
        }
        Ok(Ok(Copies { all, ids }))
    }

    /// Why the direct path is taken.
    pub(crate) fn why(&self) -> String {
        format!("{} replica(s) get a copy of the built file: {REPLICA}", self.all.len())
    }

    /// Has each replica adopt a copy of a built file, which lies at `built` and which the primary has
    /// not got yet, for the table of this name.
    ///
    /// Errors: [`Error::Replica`]; the staging tables are to be removed by [`Copies::abandon`].
    pub(crate) fn import(
        &mut self,
        table: &TableName,
        built: &Path,
        unplaced: &Unplaced,
        interrupt: &Interrupt,
    ) -> Result<(), Error> {
        for copy in &mut self.all {
            interrupt.check()?;
            let Some(at) = copy.tables.iter().position(|resting| resting.table.name == *table)
            else {
                return Err(Error::Internal(format!("{table} was not locked on {}", copy.name)));
            };
            copy.work(at, |lock| unplaced.import_copy(built, &mut Direct::new(lock), interrupt))?;
            failpoint::hit("replica.imported");
        }
        Ok(())
    }

    /// Right before the RENAME: each replica has its staging tables, and still follows, and no other does.
    /// `session` is one of the primary's.
    pub(crate) fn check(&mut self, session: &mut Session) -> Result<(), Error> {
        let primary = Primary::read(session)?;
        if let Some(unnamed) = unnamed(session, &primary, &self.ids)? {
            return Err(Error::Usage(unnamed));
        }
        for copy in &mut self.all {
            let stagings: Vec<TableName> =
                copy.tables.iter().map(|resting| resting.names.staging.clone()).collect();
            copy.work(0, |lock| {
                let mut against = primary.against(&mut lock.session)?;
                for staging in &stagings {
                    if !catalog::exists(&mut lock.session, staging)? {
                        against.push(format!(
                            "the load's staging table, {staging}, no longer \
                                              exists"
                        ));
                    }
                }
                if against.is_empty() { Ok(()) } else { Err(Error::Usage(against.join("; "))) }
            })?;
        }
        Ok(())
    }

    /// Removes the staging tables because of an error, which is given back with what could not be removed.
    pub(crate) fn abandon(mut self, interrupt: &Interrupt, error: Error) -> Error {
        let _shield = interrupt.shield();
        let mut left = Vec::new();
        for copy in &mut self.all {
            for at in 0..copy.tables.len() {
                let staging = copy.tables[at].names.staging.clone();
                let done = copy.work(at, |lock| Ok(Direct::new(lock).abandon()?));
                let Err(error) = done else { continue };
                let (name, error) = match error {
                    Error::Replica { name, error } => (name, *error),
                    error => (copy.name.clone(), error),
                };
                left.push(format!("{staging} may be left on the replica {name} ({error})"));
            }
        }
        match left.is_empty() {
            true => error,
            false => Error::OnReplicas { error: Box::new(error), left },
        }
    }
}

impl Copy {
    /// Has the connections work at one of its tables.
    ///
    /// Errors: [`Error::Replica`].
    fn work<T>(
        &mut self,
        at: usize,
        work: impl FnOnce(&mut Lock) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let connections = match self.connections.take() {
            Some(connections) => connections,
            None => {
                let session = self.keeper.another();
                Connections::of(session.map_err(|error| of_replica(&self.name, error))?)
            }
        };
        let mut lock = self.tables.remove(at).work(connections);
        let done = work(&mut lock);
        let (resting, connections) = lock.rest();
        self.tables.insert(at, resting);
        self.connections = Some(connections);
        done.map_err(|error| of_replica(&self.name, error))
    }

    /// The same at each of them.
    fn each(&mut self, work: impl Fn(&mut Lock) -> Result<(), Error>) -> Result<(), Error> {
        (0..self.tables.len()).try_for_each(|at| self.work(at, &work))
    }
}

/// Where a replica is, and what is wanted of it.
struct Place<'a> {
    name: &'a str,
    wanted: CopyRequest<'a>,
    /// The primary's position in its binary log when its tables were locked.
    position: &'a str,
}

impl Place<'_> {
    /// Takes the tables; the number of their server with them.
    fn inspect(
        &self,
        originals: &[Original<'_>],
        primary: &Primary,
    ) -> Result<Result<(Copy, u64), Vec<String>>, Error> {
        let CopyRequest { connect, options, told, .. } = self.wanted;
        let connect = ConnectOptions {
            unlogged: true,
            is_replica: true,
            logs_publishing: false,
            ..replicas::reached(self.name, connect)?
        };
        let mut session = Session::connect(&connect)?;
        let id = session.query_row("SELECT @@server_id")?.number(0)?;
        let mut against = primary.against(&mut session)?;
        let (ours, its) = (&originals[0].facts.version, session.version());
        if (ours.flavor, ours.number.0, ours.number.1) != (its.flavor, its.number.0, its.number.1) {
            against.push(format!("it runs {}, but the primary runs {}", its.text, ours.text));
        }
        if !against.is_empty() {
            return Ok(Err(against));
        }
        let seconds = u64::from(options.server.lock_wait_seconds);
        // Else what is still to come could meet the staging tables.
        if !Primary::is_reached(&mut session, self.position, seconds)? {
            let why = match replication::delay(&mut session)? {
                0 => String::new(),
                delay => format!(", and MASTER_DELAY keeps it {delay} s behind"),
            };
            return Ok(Err(vec![format!("it did not catch up within {seconds} s{why}")]));
        }
        let lock_options = LockOptions {
            no_triggers: false,
            proof: None,
            allow_empty: false,
            ..lock_options(options, told)
        };
        let names: Vec<TableName> =
            originals.iter().map(|original| original.table.name.clone()).collect();
        let (keeper, tables) = Keeper::take(session, &names, &lock_options)?;
        for (resting, original) in tables.iter().zip(originals) {
            against.extend(resting.unsupported.iter().map(ToString::to_string));
            if resting.table.definition != original.table.definition {
                against.push(format!(
                    "its definition of {} differs from the primary's",
                    original.table.name
                ));
            }
        }
        against.dedup();
        let facts = Arc::clone(&tables[0].facts);
        if !facts.replicas.is_empty() {
            against.push(format!("it has replicas of its own ({})", facts.replicas.join(", ")));
        }
        let mut session = keeper.another()?;
        against.extend(against_writing(&mut session, &facts)?);
        let connections = Some(Connections::of(session));
        let copy = Copy { name: self.name.to_owned(), keeper, tables, connections };
        Ok(if against.is_empty() { Ok((copy, id)) } else { Err(against) })
    }
}

/// The reason why the account may not make a table on a read-only server, if any.
fn against_writing(session: &mut Session, facts: &ServerFacts) -> Result<Option<String>, Error> {
    let mut is_set = |variable: &str| -> Result<bool, Error> {
        let value = session.query_text(&format!("SELECT @@GLOBAL.{variable}"))?;
        Ok(value.as_deref() == Some("1"))
    };
    if !is_set("read_only")? {
        return Ok(None);
    }
    // Rights that let an account write all the same, the one meant for it first.
    let rights = match facts.version.flavor {
        Flavor::MariaDb => &["READ_ONLY ADMIN"][..],
        Flavor::MySql => &["CONNECTION_ADMIN", "SUPER"],
    };
    if facts.version.flavor == Flavor::MySql && is_set("super_read_only")? {
        let words = "it is super_read_only, so no account can create a table: run \
                     SET GLOBAL super_read_only=0, and set it again after the load";
        return Ok(Some(words.to_owned()));
    }
    let may_write = rights.iter().any(|right| facts.privileges.on_server(right));
    Ok((!may_write).then(|| {
        let (right, account) = (rights[0], &facts.account);
        format!("it is read_only; the account needs: GRANT {right} ON *.* TO {account}")
    }))
}

/// The replicas of the primary besides those of these numbers, in a sentence; none if there are no others.
fn unnamed(session: &mut Session, primary: &Primary, ids: &[u64]) -> Result<Option<String>, Error> {
    let others = primary.replicas.iter().filter(|(id, _)| !ids.contains(id));
    let mut others: Vec<&str> = others.map(|(_, place)| place.as_str()).collect();
    if others.is_empty() && has_more_followers(session, primary, ids.len())? {
        others.push("an unregistered one");
    }
    Ok((!others.is_empty()).then(|| {
        format!(
            "replicas that are not named by {REPLICA} would stop at the RENAME: {}",
            others.join(", ")
        )
    }))
}

/// True if more connections take the log than replicas were named. That of a replica which has come again lasts a
/// moment longer.
fn has_more_followers(
    session: &mut Session,
    primary: &Primary,
    named: usize,
) -> Result<bool, Error> {
    let (begun, mut followers) = (Instant::now(), primary.followers);
    while followers > named && begun.elapsed() < OLD_CONNECTION_WAIT {
        std::thread::sleep(Duration::from_millis(100));
        followers = Primary::read(session)?.followers;
    }
    Ok(followers > named)
}

fn of_replica(name: &str, error: impl Into<Error>) -> Error {
    Error::Replica { name: name.to_owned(), error: Box::new(error.into()) }
}
