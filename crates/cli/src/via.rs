//! `inrush load --via ssh://HOST`: the load of a file of this machine by the program on another one.
//!
//! The arguments go there as they were typed: options of the connection and folders are meant as seen from there.
//! Option files and `INRUSH_` variables are those of the user there. Passwords and the text of `--ddl` go with the
//! input; rejected rows, reports and metrics come back into files of this machine.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use ::load::{CommandFiles, reasons_path};
use server::Interrupt;
use sources::{FoundInput, KeptPipes};
use ssh::{Address, Client, Upload, WrittenFile};
use terminal::connect::ask_password;
use terminal::failure::Failure;
use terminal::{programs, signals};

use crate::args::{LoadArgs, is_typed};
use crate::connect::{self, Into};
use crate::{html, input, load, watch};

/// The arguments by which ssh starts the program on the other machine.
const ANSWER: [&str; 3] = ["load", "--via", "-"];
/// The variable by which the program there knows that its input comes by ssh.
const RECEIVER: &str = "INRUSH_RECEIVER";
/// Mode of files that may hold rows.
const PRIVATE: u32 = 0o600;
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Becomes the program with the arguments of a load that comes by ssh, if this process was started for one.
pub(crate) fn answer() -> Result<(), Failure> {
    if !std::env::args_os().skip(1).eq(ANSWER.map(OsStr::new)) {
        return Ok(());
    }
    let arguments = ssh::host::answer(VERSION).map_err(receiving)?;
    let program = std::env::current_exe().map_err(receiving)?;
    let error = Command::new(program).arg0("inrush").args(arguments).env(RECEIVER, "1").exec();
    Err(receiving(error))
}

/// Takes what comes by ssh beside the arguments, if this process was started so.
pub(crate) fn receive(args: &mut LoadArgs) -> Result<(), Failure> {
    if std::env::var_os(RECEIVER).is_none() {
        return Ok(());
    }
    let mut received = ssh::host::receive().map_err(receiving)?;
    args.via = None;
    args.files = vec![received.name.clone()];
    args.connect.sent_password = received.password.take();
    if received.schema.is_some() {
        args.ddl = None;
        args.sent_ddl = received.schema.take();
    }
    let temp_dir = args.temp_dir.clone();
    received.return_files(temp_dir.unwrap_or_else(::load::options::default_temp_dir));
    Ok(())
}

fn receiving(error: std::io::Error) -> Failure {
    Failure::failed(format!("nothing was loaded: receiving the file by ssh: {error}"))
}

/// Loads by the program on the machine `via`.
pub(crate) fn run(args: &LoadArgs, via: &str) -> Result<u8, Failure> {
    let address = Address::parse(via).map_err(|wrong| Failure::usage(format!("--via {wrong}")))?;
    if args.job.is_some() {
        return Err(Failure::usage(format!(
            "--via does not send job files (-c); type the options of the job file, or run inrush on {address}"
        )));
    }
    if matches!(connect::into(&args.into)?, Into::Database(_)) {
        return Err(Failure::usage("--via loads one table: --into DB.TABLE is expected"));
    }
    let program = programs::find("ssh").ok_or_else(|| {
        Failure::usage("--via needs the program ssh in the PATH; install the client of OpenSSH")
    })?;
    let input = input(args, &address)?;
    let written = written(args, &input)?;
    let schema = args.ddl.as_deref().map(load::read_ddl).transpose()?;
    let interrupt = Interrupt::default();
    let client =
        Client::connect(&program, &address, VERSION, args.connect.secure.connect_timeout())?;
    let password = match (args.connect.password, &args.connect.user) {
        (true, _) => Some(ask_password()?),
        // Without a user the settings of the other machine count.
        (false, Some(_)) => std::env::var("MYSQL_PWD").ok().map(|text| text.into()),
        (false, None) => None,
    };
    signals::watch(&interrupt, signals::LOADED, args.quiet)?;
    let arguments = std::env::args_os().skip(1).collect();
    client.load(Upload { arguments, password, schema, written, input }, &interrupt)
}

/// The refusal of `--via` by commands that load nothing.
pub(crate) fn refusal() -> Failure {
    Failure::usage(
        "--via belongs to load; run this command on the other machine: ssh HOST inrush ..",
    )
}

/// Says where a file with rows is that the other machine may not have stored.
pub(crate) fn tell_kept(name: &Path, here: &Path) {
    tell!(
        "inrush: warning: {} was not stored on the machine that sent the input; the machine that loaded it has the \
         file: {}",
        name.display(),
        here.display()
    );
}

/// Files that the load writes on this machine.
///
/// Errors: a file that cannot be written or is read too; an option that is not typed, and so not sent.
fn written(args: &LoadArgs, input: &FoundInput) -> Result<Vec<WrittenFile>, Failure> {
    let typed: Vec<OsString> = std::env::args_os().collect();
    let mut files = CommandFiles::new();
    files.reads("the input", input.path());
    args.ddl.iter().for_each(|path| files.reads("--ddl", path));
    let options = [
        ("--rejects", &args.rejects, true),
        ("--duplicates", &args.duplicates, true),
        ("--report", &args.report, false),
        ("--metrics", &args.watch.metrics, false),
    ];
    let mut written = Vec::new();
    for (option, path, has_rows) in options {
        // These are streams of this machine.
        let is_file =
            |path: &&PathBuf| !["/dev/stdout", "/dev/null"].map(Path::new).contains(&&***path);
        let Some(path) = path.as_ref().filter(is_file) else { continue };
        if !is_typed(&typed, option.trim_start_matches('-')) {
            return Err(Failure::usage(format!(
                "{option} of an option file or a variable is not sent with --via; type the option"
            )));
        }
        let mode = if option == "--metrics" { watch::METRICS_MODE } else { PRIVATE };
        let reasons = has_rows.then(|| reasons_path(path));
        for path in [path.clone()].into_iter().chain(reasons) {
            let wrong = |error| Failure::usage(format!("{option} {}: {error}", path.display()));
            ssh::returned::check(&path, mode).map_err(wrong)?;
            files.writes(option, &path);
            written.push(WrittenFile { option, path, mode, has_rows });
        }
    }
    files.writes_streams();
    files.check()?;
    args.report.as_deref().map_or(Ok(()), html::check)?;
    args.watch.metrics.as_deref().map_or(Ok(()), watch::check_metrics)?;
    Ok(written)
}

/// The only input.
fn input(args: &LoadArgs, address: &Address) -> Result<FoundInput, Failure> {
    if let Some(url) = args.files.iter().find(|name| input::is_url(name)) {
        return Err(Failure::usage(format!(
            "--via sends files and pipes, and {} is a URL; run inrush on {address}, which reads it from there",
            input::shown(url).display()
        )));
    }
    let files = input::files(&args.files)?;
    if files.len() != 1 {
        return Err(Failure::usage(format!(
            "--via sends one file or pipe, and {} are named; load them one after the other with --mode append, or \
             join them in a pipe",
            files.len()
        )));
    }
    let temp_dir = ::load::options::default_temp_dir();
    let found = FoundInput::find(&files, None, &KeptPipes::default(), &temp_dir);
    let mut found = found.map_err(|error| Failure::usage(error.to_string()))?;
    found.pop().ok_or_else(|| Failure::usage("no file is named"))
}
