//! `inrush sandbox`: the private server.

use std::io::{self, Read, Write};
use std::process::{Command, Stdio};

use ::sandbox::{Lifetime, Sandbox, SandboxOptions, ShardSandbox, Status};
use terminal::failure::{FAILED, Failure};

use crate::args::{SandboxAction, SandboxArgs};
use crate::connect;

/// Does what was asked of the sandbox.
pub(crate) fn run(args: &SandboxArgs) -> Result<u8, Failure> {
    let sandbox = connect::sandbox(args.sandbox.as_deref())?;
    let mut out = io::stdout();
    match &args.action {
        SandboxAction::Start { shards: None } => {
            connect::tell_start(&sandbox, false);
            sandbox.start(&SandboxOptions::default())?;
            print_place(&mut out, &sandbox)?;
            Ok(0)
        }
        SandboxAction::Start { shards: Some(count) } => {
            let shards = ShardSandbox::of(&sandbox);
            if shards.servers()?.is_empty() {
                tell!("creating {} private MariaDBs in {}", count + 1, sandbox.dir().display());
            }
            shards.start(*count)?;
            print_shards(&mut out, &shards)
        }
        SandboxAction::Run => {
            let _user = sandbox.enter(&SandboxOptions::default(), Lifetime::UntilLastUser)?;
            print_place(&mut out, &sandbox)?;
            // A byte ends it, too: a forked process may hold the pipe open.
            let _ended = io::stdin().read(&mut [0])?;
            Ok(0)
        }
        SandboxAction::Stop => {
            let status = sandbox.status();
            let shards = ShardSandbox::of(&sandbox);
            shards.stop()?;
            sandbox.stop()?;
            let servers = shards.servers()?.len();
            if servers > 0 {
                writeln!(out, "stopped the Spider server and its {} shards", servers - 1)?;
            }
            let dir = sandbox.dir().display();
            match status {
                // Only the servers of shards were made.
                Status::Absent if servers > 0 => {}
                Status::Absent => writeln!(out, "there is no sandbox in {dir}")?,
                Status::Stopped => writeln!(out, "was not running; its data stays in {dir}")?,
                Status::Running { .. } => writeln!(out, "stopped; its data stays in {dir}")?,
            }
            Ok(0)
        }
        SandboxAction::Path => {
            print_place(&mut out, &sandbox)?;
            print_shards(&mut out, &ShardSandbox::of(&sandbox))
        }
        SandboxAction::Sql { statements } => {
            let _user = sandbox.enter(&SandboxOptions::default(), Lifetime::UntilStopped)?;
            sql(sandbox.client()?, statements)
        }
    }
}

fn print_place(out: &mut impl Write, sandbox: &Sandbox) -> io::Result<()> {
    writeln!(out, "folder  {}", sandbox.dir().display())?;
    writeln!(out, "socket  {}", sandbox.socket().display())?;
    writeln!(out, "log     {}", sandbox.error_log().display())?;
    let status = match sandbox.status() {
        Status::Running { pid } => format!("running, process {pid}"),
        Status::Stopped => "stopped".to_owned(),
        Status::Absent => "not created yet".to_owned(),
    };
    writeln!(out, "status  {status}")
}

/// The head, its shards and how the head is reached, if there are any.
fn print_shards(out: &mut impl Write, shards: &ShardSandbox) -> Result<u8, Failure> {
    let servers = shards.servers()?;
    for server in &servers {
        let status = match server.sandbox.status() {
            Status::Running { pid } => format!("running, process {pid}"),
            Status::Stopped | Status::Absent => "stopped".to_owned(),
        };
        writeln!(out, "{:<7} 127.0.0.1:{}, {status}", server.name, server.port)?;
    }
    if !servers.is_empty() {
        writeln!(out, "client  --defaults-file={}", shards.client_file().display())?;
    }
    Ok(0)
}

/// Runs the mariadb client: with the statements, or on our own input.
fn sql(mut client: Command, statements: &[String]) -> Result<u8, Failure> {
    if !statements.is_empty() {
        client.arg("--execute").arg(statements.join(" ")).stdin(Stdio::null());
    }
    let status = client.status()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED))
}
