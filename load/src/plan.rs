//! Which way into the server a load takes, and why not a faster one.

use std::sync::mpsc::Sender;
use std::time::Duration;

use encode::input;
use job::error::Error;
use job::failpoint;
use job::options::{LoadOptions, LoadPath, OnDuplicate};
use job::space::free_bytes;
use schema::TableName;
use serde::Serialize;
use server::{ConnectOptions, Lock, LockOptions, Session, catalog};
use sources::FileSource;

use crate::ddl;
use crate::estimate::Estimate;
use crate::ladder::{self, Purpose, Refused};

/// What a load would do.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// `database.table`.
    pub target: String,
    /// `direct`, `stream` or `insert`; none when no way is open, or there is no server yet.
    pub path: Option<&'static str>,
    /// Why that one.
    pub why: String,
    /// Whether the table is missing and `--ddl` would make it first.
    pub makes_table: bool,
    /// Where rows would go, and why there; none on the direct path.
    pub landing: Option<String>,
    /// What keeps faster ways away, and all ways where none is open.
    pub refused: Vec<Refused>,
    /// Version of the server.
    pub server: String,
    /// Where the server is: host and port, its socket, or `sandbox`; none where there is none yet.
    pub server_address: Option<String>,
    /// Bytes of the input as it is, compressed or not; pipes are not counted.
    pub input_bytes: u64,
    /// What the load will take; none when the table is still to be made, cannot be loaded, or the
    /// input's size is not known.
    pub estimate: Option<Estimate>,
    /// Bytes free where the table goes, and in the temporary folder; none where rows are sent, to
    /// a server whose disks cannot be asked.
    pub free_bytes: Option<[u64; 2]>,
    /// What becomes of rows that share keys.
    pub on_duplicate: String,
    /// How the input is compressed: each kind once.
    pub compression: Vec<String>,
}

/// Refuses what can be refused without a server: options and files. Changes nothing.
pub fn check(options: &LoadOptions) -> Result<(), Error> {
    input::open_files(options).map(drop)
}

/// Says what [`crate::load`] would do. Changes nothing. Without `connect` there is no server yet.
///
/// Errors: the options that a load would refuse too.
pub fn plan(connect: Option<&ConnectOptions>, options: &LoadOptions) -> Result<Plan, Error> {
    let (memory, mut source) = input::open_files(options)?;
    let connect = connect.map(|connect| ConnectOptions {
        time_zone: options.time_zone.clone().or_else(|| connect.time_zone.clone()),
        ..connect.clone()
    });
    let mut session = connect.as_ref().map(Session::connect).transpose()?;
    let name = TableName::new(&options.database, &options.table);
    let mut plan = Plan {
        target: name.to_string(),
        path: None,
        why: String::new(),
        makes_table: false,
        landing: None,
        refused: Vec::new(),
        server: session.as_ref().map_or_else(String::new, |s| s.version().text.clone()),
        server_address: connect.as_ref().map(ConnectOptions::server_text),
        input_bytes: source.files().iter().filter_map(|file| file.bytes).sum(),
        estimate: None,
        free_bytes: None,
        on_duplicate: on_duplicate(options.on_duplicate).to_owned(),
        compression: compression(options)?,
    };
    let exists = match &mut session {
        Some(session) => catalog::exists(session, &name)?,
        None => false,
    };
    let Some(session) = session.take_if(|_| exists) else {
        return plan.of_missing(&name, session, options);
    };
    let mut target = lock(session, options, None)?;
    let climbed = ladder::climb(&mut target, options, &memory, &mut *source, Purpose::Plan)?;
    plan.refused = climbed.refused;
    let Some(rung) = climbed.rung else { return Ok(plan) };
    plan.estimate = climbed.estimate;
    if rung.path == LoadPath::Direct {
        if options.on_duplicate != OnDuplicate::Fail {
            plan.on_duplicate.push_str("; if there are any, the input is read twice more");
        }
        let folder = target.build_path()?;
        let folder = folder.parent().unwrap_or(&folder);
        plan.free_bytes = Some([free_bytes(folder)?, free_bytes(&options.temp_dir)?]);
        if let Err(error) = ladder::check_room(&target, options, plan.estimate.as_ref()) {
            let (path, reason) = (rung.path.name(), error.to_string());
            plan.refused.push(Refused { path, reason });
            return Ok(plan);
        }
    }
    plan.path = Some(rung.path.name());
    plan.why = rung.why;
    plan.landing = rung.landing.map(|landing| landing.why);
    Ok(plan)
}

impl Plan {
    /// For a table that is still to be made.
    fn of_missing(
        mut self,
        name: &TableName,
        session: Option<Session>,
        options: &LoadOptions,
    ) -> Result<Plan, Error> {
        let Some(mut session) = session else { return self.of_making(name, options) };
        server::refuse_put_aside(&mut session, name)?;
        let (path, refused) = ladder::foresee(&mut session, options)?;
        self.path = path.map(LoadPath::name);
        self.refused = refused;
        self.why = "unless the shape of the table is in its way".to_owned();
        self.of_making(name, options)
    }

    fn of_making(mut self, name: &TableName, options: &LoadOptions) -> Result<Plan, Error> {
        if options.ddl.is_none() {
            return Err(no_table(&name.to_string()));
        }
        ddl::statement(options)?;
        self.makes_table = true;
        Ok(self)
    }
}

/// The kinds of compression that the files have.
fn compression(options: &LoadOptions) -> Result<Vec<String>, Error> {
    let mut kinds = Vec::new();
    for path in &options.files {
        let kind =
            FileSource::compression(path).map_err(|error| Error::Usage(error.to_string()))?;
        kinds.extend(kind.map(|kind| kind.to_string()));
    }
    kinds.sort();
    kinds.dedup();
    Ok(kinds)
}

fn on_duplicate(on_duplicate: OnDuplicate) -> &'static str {
    match on_duplicate {
        OnDuplicate::Fail => "two rows with one primary or unique key fail the load",
        OnDuplicate::Skip => {
            "rows that have a primary or unique key of a row before them are left out"
        }
        OnDuplicate::Replace => {
            "rows replace those before them that have any of their primary or unique keys"
        }
        OnDuplicate::Update => {
            "rows that have a primary or unique key of a row before them change that one, by INSERT .. \
             ON DUPLICATE KEY UPDATE"
        }
    }
}

/// Takes the target for this load alone; `told` hears of locks that are waited for.
pub(crate) fn lock(
    session: Session,
    options: &LoadOptions,
    told: Option<&Sender<String>>,
) -> Result<Lock, Error> {
    let name = TableName::new(&options.database, &options.table);
    let wait = Duration::from_secs(u64::from(options.lock_wait_seconds));
    let reconnect_wait = failpoint::reconnect_wait(server::RECONNECT_WAIT);
    let lock_options =
        LockOptions { lock_wait: wait, reconnect_wait, told: told.cloned(), datadir: None };
    Lock::take(session, &name, &lock_options).map_err(|error| match error {
        server::Error::NoTable(name) if options.ddl.is_none() => no_table(&name),
        error => error.into(),
    })
}

fn no_table(name: &str) -> Error {
    Error::Usage(format!("table {name} does not exist; --ddl FILE or --create would make it"))
}
