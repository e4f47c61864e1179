//! `inrush tune`: variables of a server set for loads, told, and put back; and what killed loads left of them.

use std::io::{self, Write};
use std::path::Path;

use load::LoadPath;
use serde::Serialize;
use server::{ConnectOptions, Session};
use terminal::failure::{FAILED, Failure};
use terminal::state::{folder, state_dir};
use tune::{Change, Class, Entry, Facts, SettingPlan, Tuned, Wish};

use crate::args::TuneArgs;
use crate::{connect, left_keys, print};

/// Restores variables that killed loads of this server left, and says so. A failure is a warning,
/// and stops no command.
pub(crate) fn recover(connect: &ConnectOptions, named: Option<&Path>) {
    ::load::recover_settings(connect, &folder(named)).iter().for_each(|text| tell!("{text}"));
}

/// Sets, tells or puts back.
pub(crate) fn run(args: &TuneArgs) -> Result<u8, Failure> {
    let class = args.class()?;
    let state_dir = state_dir(args.state_dir.as_deref())?;
    let visit = connect::existing(&args.connect)?;
    recover(&visit.connect, Some(&state_dir));
    let (mut told, mut is_refused, mut others) = (Vec::new(), false, false);
    if let Some(class) = class {
        left_keys::carry_over(&visit.connect, Some(&state_dir));
        (told, is_refused) = apply(&visit.connect, &state_dir, class)?;
    }
    let mut session = Session::connect(&visit.connect)?;
    if args.restore {
        (told, others) = tune::release(&mut session, &state_dir)?;
        if others {
            told.push("loads are running: the last one restores everything".to_owned());
        }
    }
    let state = State::of(&mut session, &state_dir, told)?;
    let is_left = args.restore && !others && !state.set.is_empty();
    let mut out = terminal::lines();
    if args.json {
        print::json(&mut out, &state)?;
    } else {
        state.print(&mut out)?;
    }
    if is_refused {
        tell!("inrush: no variable was set; the notes have the reasons");
    }
    if is_left {
        tell!("inrush: variables are still set; the notes have the reasons");
    }
    Ok(if is_refused || is_left { FAILED } else { 0 })
}

/// Sets variables; gives notes, and whether none could be set.
fn apply(
    connect: &ConnectOptions,
    state_dir: &Path,
    class: Class,
) -> Result<(Vec<String>, bool), Failure> {
    let what = "inrush tune --apply";
    let wish = Wish { class, path: LoadPath::Stream, bytes: None, state_dir, what };
    let mut tuned = Tuned::begin(connect, &wish)?;
    let told = (std::mem::take(&mut tuned.notes), tuned.is_refused);
    tuned.hold(class)?;
    Ok(told)
}

/// The variables that are set, and those that could be.
#[derive(Serialize)]
struct State {
    server: String,
    server_address: String,
    set: Vec<Change>,
    used_by: Vec<String>,
    could_be_set: Vec<Could>,
    notes: Vec<String>,
}

/// The variables of a class beyond those before it.
#[derive(Serialize)]
struct Could {
    class: Class,
    changes: Vec<Change>,
}

impl State {
    fn of(
        session: &mut Session,
        state_dir: &Path,
        mut notes: Vec<String>,
    ) -> Result<State, Failure> {
        let entry = tune::noted(session, state_dir)?.unwrap_or_default();
        let facts = Facts::read(session)?;
        let mut could_be_set: Vec<Could> = Vec::new();
        for class in Class::ALL {
            let mut wanted = SettingPlan::of(&facts, class, LoadPath::Stream, None);
            let before: Vec<Change> =
                could_be_set.iter().flat_map(|could| could.changes.clone()).collect();
            wanted.changes.retain(|change| !before.contains(change));
            could_be_set.push(Could { class, changes: wanted.changes });
            if class == Class::Safe {
                notes.extend(
                    wanted
                        .advice
                        .into_iter()
                        .filter(|text| !notes.contains(text))
                        .collect::<Vec<_>>(),
                );
            }
        }
        let Entry { changes, users, .. } = entry;
        let used_by = users.iter().map(|user| format!("{}, process {}", user.what, user.pid));
        Ok(State {
            server: facts.version().text.clone(),
            server_address: session.options().target_text(),
            set: changes,
            used_by: used_by.collect(),
            could_be_set,
            notes,
        })
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{} at {}", self.server, self.server_address)?;
        if self.set.is_empty() {
            writeln!(out, "  no variable is set for loads")?;
        }
        let possible: Vec<&Change> =
            self.could_be_set.iter().flat_map(|could| &could.changes).collect();
        for Change { variable, before, set, held, .. } in &self.set {
            let until = if *held { ", until inrush tune --restore" } else { "" };
            // The value now, where it is neither the one before nor the load's.
            let is_other =
                |change: &&&Change| change.variable == *variable && change.before != *before;
            let now = possible.iter().find(is_other);
            let now = now.map(|change| format!("; somebody else has set {} since", change.before));
            let now = now.unwrap_or_default();
            writeln!(out, "  set       {variable}={set}, was {before}{until}{now}")?;
        }
        for user in &self.used_by {
            writeln!(out, "  used by   {user}")?;
        }
        for Could { class, changes } in &self.could_be_set {
            let is_set = |name: &String| self.set.iter().any(|change| change.variable == *name);
            for Change { variable, before, set, .. } in
                changes.iter().filter(|change| !is_set(&change.variable))
            {
                writeln!(out, "  possible  {variable}={set}, is {before} (--tune={class})")?;
            }
        }
        for note in &self.notes {
            writeln!(out, "  note      {note}")?;
        }
        Ok(())
    }
}
