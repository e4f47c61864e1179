//! `inrush sandbox`: the private server.

use std::process::{Command, Stdio};

use server::Sandbox;
use server::sandbox::Status;

use crate::args::{SandboxAction, SandboxArgs};
use crate::connect;
use crate::failure::{FAILED, Failure};

/// Does what was asked of the sandbox.
pub(crate) fn run(args: &SandboxArgs) -> Result<u8, Failure> {
    let sandbox = connect::sandbox(args.sandbox.as_deref())?;
    match &args.action {
        SandboxAction::Start => {
            connect::start(&sandbox, false)?;
            print_place(&sandbox);
            Ok(0)
        }
        SandboxAction::Stop => {
            let status = sandbox.status();
            sandbox.stop()?;
            let dir = sandbox.dir().display();
            match status {
                Status::Absent => println!("there is no sandbox in {dir}"),
                Status::Stopped => println!("was not running; its data stays in {dir}"),
                Status::Running { .. } => println!("stopped; its data stays in {dir}"),
            }
            Ok(0)
        }
        SandboxAction::Path => {
            print_place(&sandbox);
            Ok(0)
        }
        SandboxAction::Sql { statements } => {
            connect::start(&sandbox, true)?;
            sql(sandbox.client()?, statements)
        }
    }
}

fn print_place(sandbox: &Sandbox) {
    println!("folder  {}", sandbox.dir().display());
    println!("socket  {}", sandbox.socket().display());
    println!("log     {}", sandbox.error_log().display());
    let status = match sandbox.status() {
        Status::Running { pid } => format!("running, process {pid}"),
        Status::Stopped => "stopped".to_owned(),
        Status::Absent => "not made yet".to_owned(),
    };
    println!("status  {status}");
}

/// Runs the mariadb client: with the statements, or on our own input.
fn sql(mut client: Command, statements: &[String]) -> Result<u8, Failure> {
    if !statements.is_empty() {
        client.arg("--execute").arg(statements.join(" ")).stdin(Stdio::null());
    }
    let status = client.status()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED))
}
