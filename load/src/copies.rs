//! The same table on the replicas of a server: shadows that get the same file.
//!
//! ```text
//! primary:   shadow -> build, verify -> import ----------- RENAME (in the binary log) -> drop the old
//! replicas:  shadow ---------- copy ---> import   ..  ..   RENAME, as it comes to it
//! ```
//!
//! Everything but the RENAME, and the DROP of the old table, is done in sessions without a binary
//! log. The RENAME is only asked for when each replica has its finished shadow; what fails before is
//! removed everywhere.

use std::sync::mpsc::Sender;
use std::time::Duration;

use direct::Unplaced;
use job::error::Error;
use job::failpoint;
use job::memory::Memory;
use job::options::{LoadOptions, LoadPath, Mode};
use schema::TableName;
use server::replication::Primary;
use server::{ConnectOptions, Session, catalog, replicas};
use sources::Source;
use targets::{Direct, Lock, LockOptions};

use crate::ladder::{self, Climbed, Purpose};

/// The replicas of a load, each with its table taken.
pub(crate) struct Copies {
    all: Vec<Copy>,
}

/// A replica.
struct Copy {
    /// As the user named it.
    name: String,
    lock: Lock,
}

/// Whether the replicas that are named are to get the file: `--replica` on a way that is, or may be,
/// the direct one, of a table that is there.
fn are_asked_for(options: &LoadOptions) -> bool {
    !options.replicas.named.is_empty()
        && matches!(options.path, LoadPath::Auto | LoadPath::Direct)
        && options.mode != Mode::Append
        && !options.unlogged
        && options.ddl.is_none()
}

/// How the primary is reached for that.
fn primary_options(connect: &ConnectOptions) -> ConnectOptions {
    ConnectOptions { unlogged: true, logs_publishing: true, ..connect.clone() }
}

/// A target that is to be built for replicas too, what was seen of it, and them.
pub(crate) type Reached = (Lock, Climbed, Copies);

/// Takes the target, by `lock`, and the same table on the replicas that are named, and sees whether
/// the direct path is open on all.
///
/// Errors: the inner one is what keeps the file from one of them, a sentence each; none where the
/// direct path is not asked for on them, or not open on the primary itself.
pub(crate) fn climb(
    connect: &ConnectOptions,
    options: &LoadOptions,
    (memory, source): (&Memory, &mut dyn Source),
    told: Option<&Sender<String>>,
    purpose: Purpose,
    lock: impl FnOnce(Session, &LoadOptions, Option<&Sender<String>>) -> Result<Lock, Error>,
) -> Result<Result<Reached, Vec<String>>, Error> {
    if !are_asked_for(options) {
        return Ok(Err(Vec::new()));
    }
    let connect = primary_options(connect);
    let session = match Session::connect(&connect) {
        Ok(session) => session,
        Err(error) => return Ok(Err(vec![error.to_string()])),
    };
    let mut target = lock(session, options, told)?;
    let cleans = purpose == Purpose::Load;
    let copies = match Copies::look(&mut target, &connect, options, told, cleans)? {
        Ok(copies) => copies,
        Err(against) => return Ok(Err(against)),
    };
    let options = LoadOptions { path: LoadPath::Direct, ..options.clone() };
    let mut climbed = ladder::climb(&mut target, &options, memory, source, purpose)?;
    let Some(rung) = &mut climbed.rung else {
        source.restart()?;
        return Ok(Err(Vec::new()));
    };
    rung.why = format!("{} of the replicas get the same file: --replica", copies.all.len());
    Ok(Ok((target, climbed, copies)))
}

impl Copies {
    /// Takes the table on all replicas, and removes what a killed load left there if it `cleans`.
    /// Changes nothing else.
    ///
    /// Errors: the inner one is what keeps the file from one of them, a sentence each.
    fn look(
        target: &mut Lock,
        connect: &ConnectOptions,
        options: &LoadOptions,
        told: Option<&Sender<String>>,
        cleans: bool,
    ) -> Result<Result<Copies, Vec<String>>, Error> {
        let primary = match Primary::read(&mut target.session) {
            Ok(primary) => primary,
            Err(error) => return Ok(Err(vec![error.to_string()])),
        };
        let position = target.session.query_text("SELECT @@gtid_binlog_pos")?.unwrap_or_default();
        let mut against = primary.filters.clone();
        if !target.table.foreign_keys.is_empty() || !target.table.triggers.is_empty() {
            let what = "foreign keys and triggers are not carried over on replicas";
            against.push(what.to_owned());
        }
        let (mut all, mut ids) = (Vec::new(), Vec::new());
        for name in &options.replicas.named {
            let place = Place { name, connect, options, told, position: &position };
            match place.look(target, &primary) {
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
        let is_missed = |(id, _): &(&u64, &String)| !ids.contains(id);
        let missed: Vec<&str> =
            primary.replicas.iter().filter(is_missed).map(|(_, place)| place.as_str()).collect();
        if against.is_empty() && (!missed.is_empty() || primary.followers > ids.len()) {
            let missed =
                if missed.is_empty() { vec!["one that has not registered"] } else { missed };
            against.push(format!(
                "replicas that no --replica names would stop at the RENAME: {}",
                missed.join(", ")
            ));
        }
        if !against.is_empty() {
            return Ok(Err(against));
        }
        if cleans {
            for Copy { name, lock } in &mut all {
                Direct::new(lock).cleanup().map_err(|error| of_replica(name, error))?;
            }
        }
        Ok(Ok(Copies { all }))
    }

    /// Has each replica adopt a copy of the built file, which the primary has not got yet.
    ///
    /// Errors: [`Error::Replica`]; the shadows are to be removed by [`Copies::abandon`].
    pub(crate) fn import(&mut self, target: &Lock, unplaced: &Unplaced) -> Result<(), Error> {
        let built = target.build_path()?;
        for Copy { name, lock } in &mut self.all {
            let interrupt = &target.session.options().interrupt;
            interrupt.check()?;
            let mut direct = Direct::new(lock);
            let imported = unplaced.import_copy(&built, &mut direct, interrupt);
            imported.map_err(|error| of_replica(name, error))?;
            failpoint::hit("replica.imported");
        }
        Ok(())
    }

    /// Right before the RENAME: each replica has its shadow, and still follows.
    pub(crate) fn check(&mut self, target: &mut Lock) -> Result<(), Error> {
        let primary = Primary::read(&mut target.session)?;
        for Copy { name, lock } in &mut self.all {
            let shadow = lock.names.shadow.clone();
            let mut against =
                primary.against(&mut lock.session).map_err(|e| of_replica(name, e))?;
            let is_there = catalog::exists(&mut lock.session, &shadow);
            if !is_there.map_err(|error| of_replica(name, error))? {
                against.push(format!("the load's own table, {shadow}, is gone"));
            }
            if !against.is_empty() {
                return Err(of_replica(name, Error::Usage(against.join("; "))));
            }
        }
        Ok(())
    }

    /// Removes the shadows; gives what could not be removed.
    pub(crate) fn abandon(&mut self) -> Vec<String> {
        let mut left = Vec::new();
        for Copy { name, lock } in &mut self.all {
            if let Err(error) = Direct::new(lock).abandon() {
                let shadow = &lock.names.shadow;
                left.push(format!("{shadow} may be left on the replica {name} ({error})"));
            }
        }
        left
    }
}

/// Where a replica is, and what is wanted of it.
struct Place<'a> {
    name: &'a str,
    connect: &'a ConnectOptions,
    options: &'a LoadOptions,
    told: Option<&'a Sender<String>>,
    /// What the primary had logged when its table was taken.
    position: &'a str,
}

impl Place<'_> {
    /// Takes the table; its server's number with it.
    fn look(
        &self,
        target: &Lock,
        primary: &Primary,
    ) -> Result<Result<(Copy, u64), Vec<String>>, Error> {
        let connect = ConnectOptions {
            unlogged: true,
            is_replica: true,
            logs_publishing: false,
            ..replicas::reached(self.name, self.connect)?
        };
        let mut session = Session::connect(&connect)?;
        let id = session.query_row("SELECT @@server_id")?.number(0)?;
        let mut against = primary.against(&mut session)?;
        let (ours, its) = (&target.facts.version, session.version());
        if (ours.flavor, ours.number.0, ours.number.1) != (its.flavor, its.number.0, its.number.1) {
            against.push(format!("it is {}, the primary {}", its.text, ours.text));
        }
        if !against.is_empty() {
            return Ok(Err(against));
        }
        let seconds = u64::from(self.options.lock_wait_seconds);
        // Else what is still to come could meet the shadow.
        if !Primary::is_reached(&mut session, self.position, seconds)? {
            return Ok(Err(vec![format!("it was not up to date within {seconds} s")]));
        }
        let name: TableName = target.table.name.clone();
        let options = LockOptions {
            lock_wait: Duration::from_secs(seconds),
            reconnect_wait: failpoint::reconnect_wait(targets::RECONNECT_WAIT),
            told: self.told.cloned(),
            datadir: None,
            no_triggers: false,
        };
        let mut lock = Lock::take(session, &name, &options)?;
        against.extend(lock.unsupported.iter().map(ToString::to_string));
        if lock.table.definition != target.table.definition {
            against.push(format!("its {name} has another definition"));
        }
        if !lock.facts.replicas.is_empty() {
            against.push(format!("replicas of its own ({})", lock.facts.replicas.join(", ")));
        }
        against.extend(against_writing(&mut lock)?);
        let copy = Copy { name: self.name.to_owned(), lock };
        Ok(if against.is_empty() { Ok((copy, id)) } else { Err(against) })
    }
}

/// What keeps the account from making a table on a server that is read-only for others.
fn against_writing(lock: &mut Lock) -> Result<Option<String>, Error> {
    let is_read_only =
        lock.session.query_text("SELECT @@GLOBAL.read_only")?.as_deref() == Some("1");
    let may_write = !is_read_only || lock.facts.privileges.on_server("READ_ONLY ADMIN");
    Ok((!may_write).then(|| {
        format!(
            "it is read_only; the account needs: GRANT READ_ONLY ADMIN ON *.* TO {}",
            lock.facts.account
        )
    }))
}

fn of_replica(name: &str, error: impl Into<Error>) -> Error {
    Error::Replica { name: name.to_owned(), error: Box::new(error.into()) }
}
