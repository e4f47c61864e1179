//! Appends to shards that did not end: brought to their end, by whoever loads the table next.
//!
//! Decisions of the Spider server are carried out on every shard; appends without a decision are given up. A
//! branch that a shard has prepared and of which its Spider server knows nothing was given up long ago.

use std::time::{Duration, Instant};

use face::option::SHARD;
use job::error::Error;
use job::failpoint;
use job::options::{LoadOptions, Mode};
use server::Session;
use targets::Lock;

use super::reached;
use crate::branches::{self, Branch, Ended};
use crate::decisions::{Append, Decisions, State};
use crate::map::{Shard, ShardMap};

/// How long a shard that is away is waited for where nothing has to be committed on it.
const GIVEN_UP_WAIT: Duration = Duration::from_secs(5);

/// How shards are reached that an append was begun on.
pub(super) struct Cleaner<'l> {
    pub(super) connect: &'l server::ConnectOptions,
    pub(super) options: &'l LoadOptions,
    /// Where shards are now.
    pub(super) map: &'l ShardMap,
}

/// Servers of appends that have not ended.
pub(super) fn servers(target: &mut Lock) -> Result<Vec<String>, Error> {
    let appends = Decisions::of(&target.names).read(&mut target.session)?;
    let branches = appends.into_iter().flat_map(|append| append.branches);
    Ok(branches.map(|branch| branch.shard.server).collect())
}

/// Servers of the tables that a killed load has left on the Spider server, where the addresses of all are known.
pub(super) fn servers_left(
    target: &mut Lock,
    given: &[(String, String)],
) -> Result<Vec<String>, Error> {
    let Lock { session, names, .. } = target;
    let mut servers = Vec::new();
    for name in [&names.staging, &names.replaced, &names.emptied] {
        if given.is_empty() || !catalog::exists(session, name)? {
            continue;
        }
        let definition = catalog::definition(session, name)?;
        let map = ShardMap::read(session, name, &definition, given)?;
        let shards = map.iter().flat_map(|map| &map.shards);
        servers.extend(shards.map(|shard| shard.server.clone()));
    }
    Ok(servers)
}

/// True if an append has not ended.
pub(super) fn is_begun(target: &mut Lock) -> Result<bool, Error> {
    let appends = Decisions::of(&target.names).read(&mut target.session)?;
    Ok(appends.iter().any(|append| append.state != State::Told))
}

/// Forgets the appends that others have ended, of a table that has other rows now.
pub(super) fn forget_all(target: &mut Lock) -> Result<(), Error> {
    target.reconnect()?;
    Ok(Decisions::of(&target.names).drop(&mut target.session)?)
}

impl Cleaner<'_> {
    /// Ends all appends to a target that did not, whoever began them. Gives the one of this `input`, if its
    /// rows are in and its own command has not heard of it.
    ///
    /// Errors: [`Error::Pending`], [`Error::Shard`]; the branches of shards that cannot be reached stay.
    pub(super) fn clean(&self, target: &mut Lock, input: &str) -> Result<Option<Append>, Error> {
        let decisions = Decisions::of(&target.names);
        let session = &mut target.session;
        let mut heard = None;
        let mut unended = Ok(());
        for append in decisions.read(session)? {
            let is_in = match self.end(session, &decisions, &append) {
                Ok(is_in) => is_in,
                Err(error) => {
                    unended = unended.and(Err(error));
                    continue;
                }
            };
            if !is_in {
                decisions.forget(session, &append.job)?;
            } else if self.options.mode == Mode::Append && append.input == input {
                heard = Some(append);
            } else {
                decisions.tell(session, &append.job)?;
            }
        }
        unended?;
        self.end_unknown(target)?;
        if let Some(append) = heard.take_if(|_| target.is_empty().unwrap_or(false)) {
            // Its rows were deleted since.
            decisions.forget(&mut target.session, &append.job)?;
        }
        Ok(heard)
    }

    /// The same where a shard cannot be reached: rows on the others are not locked by its absence.
    ///
    /// Errors: an append has not ended; [`Error::LostBranches`].
    pub(super) fn clean_reached(&self, target: &mut Lock, input: &str) -> Result<(), Error> {
        if !is_begun(target)? {
            return Ok(());
        }
        if let Err(error @ Error::LostBranches { .. }) = self.clean(target, input) {
            return Err(error);
        }
        match is_begun(target)? {
            true => Err(Error::Pending {
                target: target.table.name.to_string(),
                what: "shards are unreachable from here".to_owned(),
            }),
            false => Ok(()),
        }
    }

    /// Ends one append by what was decided of it; whether its rows are in. It stays written down.
    pub(super) fn end(
        &self,
        head: &mut Session,
        decisions: &Decisions,
        append: &Append,
    ) -> Result<bool, Error> {
        let is_in = self.end_branches(head, decisions, append)?;
        self.unmark(append, is_in)?;
        Ok(is_in)
    }

    /// Ends its branches; whether they are committed, which the head knows then.
    ///
    /// Errors: [`Error::Pending`], [`Error::LostBranches`] where it is decided that they are to be. The branches of
    /// all shards that can be reached are ended.
    pub(super) fn end_branches(
        &self,
        head: &mut Session,
        decisions: &Decisions,
        append: &Append,
    ) -> Result<bool, Error> {
        let state = match append.state {
            State::Begun => decisions.give_up(head, &append.job)?,
            state => state,
        };
        failpoint::hit("branches.clean");
        let is_in = match state {
            State::Told => return Ok(true),
            State::Begun | State::GivenUp => false,
            State::Decided | State::Done => true,
        };
        let (mut lost, mut unended) = (Vec::new(), Ok(()));
        for branch in &append.branches {
            // One that is away is waited for, and no other behind it.
            let wait = if unended.is_ok() { wait(is_in) } else { Duration::ZERO };
            match self.with_shard(branch, is_in, wait, |session| branch.end(session, is_in)) {
                Ok(Ended::Lost) if state != State::Done => lost.push(branch.shard.name()),
                Ok(_) => {}
                // The locks of the other shards go all the same.
                Err(error) => unended = unended.and(Err(error)),
            }
        }
        unended?;
        if !lost.is_empty() {
            return Err(Error::LostBranches {
                target: self.target(),
                shards: lost,
                record: decisions.table().quoted(),
            });
        }
        if is_in {
            decisions.done(head, &append.job)?;
        }
        failpoint::hit("branches.done");
        Ok(is_in)
    }

    /// Removes the marks of branches that are ended. From here on the Spider server tells if they
    /// are in.
    pub(super) fn unmark(&self, append: &Append, is_in: bool) -> Result<(), Error> {
        for branch in append.branches.iter().filter(|_| append.state != State::Told) {
            self.with_shard(branch, is_in, wait(is_in), |session| branch.drop_mark(session))?;
            failpoint::hit(&format!("branches.unmarked.{}", branch.number));
        }
        Ok(())
    }

    /// Rolls back what shards have prepared of appends that the head knows nothing of.
    fn end_unknown(&self, target: &mut Lock) -> Result<(), Error> {
        let home = branches::home(&mut target.session, &target.table.name)?;
        let known = Decisions::of(&target.names).read(&mut target.session)?;
        for shard in &self.map.shards {
            let of = |error: server::Error| reached::of(shard, error);
            let mut session = reached::session(shard, self.connect)?;
            for (job, number) in branches::all_of(&mut session, &home).map_err(of)? {
                if known.iter().any(|append| append.job == job) {
                    continue;
                }
                let branch = Branch { job, number, shard: shard.clone() };
                branch.end(&mut session, false).map_err(of)?;
                branch.drop_mark(&mut session).map_err(of)?;
            }
        }
        Ok(())
    }

    /// Does something on the shard of a branch; again, for a while, where its server is away.
    fn with_shard<T>(
        &self,
        branch: &Branch,
        is_decided: bool,
        wait: Duration,
        work: impl Fn(&mut Session) -> server::Result<T>,
    ) -> Result<T, Error> {
        let shard = &self.now(&branch.shard)?;
        let connect = reached::reached(shard, self.connect)?;
        let begun = Instant::now();
        loop {
            let left = wait.saturating_sub(begun.elapsed());
            let reached = server::reach::reach(&connect, left).map_err(Error::from);
            let done = reached.and_then(|mut session| Ok(work(&mut session)?));
            match done {
                Err(Error::Server(error)) if error.is_cut() && begun.elapsed() < wait => {}
                Err(error) if is_decided => {
                    let what = reached::of(shard, error).to_string();
                    return Err(Error::Pending { target: self.target(), what });
                }
                done => return done.map_err(|error| reached::of(shard, error)),
            }
        }
    }

    /// The shard where it is now, by the table or the load. A written address is not trusted:
    /// anybody who may write there would be shown the account.
    fn now(&self, then: &Shard) -> Result<Shard, Error> {
        let is_same = |name: &str| name.eq_ignore_ascii_case(&then.server);
        let known = self.map.shards.iter().find(|shard| is_same(&shard.server));
        let given = self.options.server.shard_addresses.iter().find(|(name, _)| is_same(name));
        let address = known.map(|shard| &shard.address).or(given.map(|(_, address)| address));
        let server = &then.server;
        let address = address.cloned().ok_or_else(|| Error::Pending {
            target: self.target(),
            what: format!(
                "{server}, which has some of them, is no longer one of the table's servers: name \
                 its address with {}",
                SHARD.with(format!("{server}=HOST:PORT"))
            ),
        })?;
        Ok(Shard { address, ..then.clone() })
    }

    fn target(&self) -> String {
        format!("{}.{}", self.options.database, self.options.table)
    }
}

/// How long a shard that is away is waited for.
fn wait(is_decided: bool) -> Duration {
    let wait = failpoint::reconnect_wait(targets::RECONNECT_WAIT);
    // The next load can roll back what is not decided.
    if is_decided { wait } else { wait.min(GIVEN_UP_WAIT) }
}
