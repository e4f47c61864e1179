//! `inrush doctor`: what slows loads down on a server, and what to do about it.

use std::io::{self, Write};

use serde::Serialize;
use server::Session;
use terminal::failure::Failure;
use terminal::size::show;
use terminal::state::state_dir;
use tune::facts::Tables;
use tune::{Closed, Facts, Finding, Gains, Weight};

use crate::args::DoctorArgs;
use crate::{connect, left_keys, print, proof, tuned};

/// Looks at the server, and prints what it finds.
pub(crate) fn run(args: &DoctorArgs) -> Result<u8, Failure> {
    let state_dir = state_dir(args.state_dir.as_deref())?;
    if args.prove {
        return proof::run(args, &state_dir);
    }
    let visit = connect::existing(&args.connect)?;
    tuned::recover(&visit.connect, Some(&state_dir));
    let server = ::load::with_state(&visit.connect, &state_dir);
    let mut session = Session::connect(&server)?;
    let facts = Facts::examine(&mut session)?;
    let gains = facts.host.is_some().then(|| Gains::read(&state_dir, &facts.server.hostname));
    let findings = tune::findings(&facts, gains.flatten().as_ref());
    let closed = tune::closed(&facts);
    let left = left_keys::found(&server);
    let (mut out, address) = (terminal::out(), visit.connect.target_text());
    if args.json {
        let told =
            DoctorReport { left: &left, ..DoctorReport::of(&facts, &address, &closed, &findings) };
        print::json(&mut out, &told)?;
    } else {
        method(&mut out, &closed)?;
        left.iter().for_each(|text| tell!("inrush: warning: {text}"));
        print(&mut out, &facts, &address, &findings)?;
    }
    Ok(0)
}

/// The same for programs.
#[derive(Serialize)]
struct DoctorReport<'a> {
    server: &'a str,
    server_address: &'a str,
    hostname: &'a str,
    datadir: String,
    account_may_set: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    tables: Option<Tables>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a tune::host::Host>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a tune::storage::Storage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temporary: Option<&'a tune::storage::Storage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disk: Option<tune::disk_speed::DiskSpeed>,
    /// `direct` or `sent`.
    method: &'a str,
    direct_path_closed_by: &'a [Closed],
    findings: &'a [Finding],
    not_seen: &'a [String],
    /// Sentences about keys and triggers that killed loads have left.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    left: &'a [String],
}

impl<'a> DoctorReport<'a> {
    fn of(
        facts: &'a Facts,
        address: &'a str,
        closed: &'a [Closed],
        findings: &'a [Finding],
    ) -> DoctorReport<'a> {
        DoctorReport {
            server: &facts.version().text,
            server_address: address,
            hostname: &facts.server.hostname,
            datadir: facts.server.datadir.display().to_string(),
            account_may_set: facts.may_set(),
            tables: facts.tables,
            host: facts.host.as_ref(),
            data: facts.data.as_ref(),
            temporary: facts.temporary.as_ref(),
            disk: facts.speed,
            method: if closed.is_empty() { "direct" } else { "sent" },
            direct_path_closed_by: closed,
            findings,
            not_seen: &facts.unread,
            left: &[],
        }
    }
}

/// The method that the server allows, and the changes that open the direct path.
fn method(out: &mut impl Write, closed: &[Closed]) -> io::Result<()> {
    if closed.is_empty() {
        return writeln!(out, "direct: tables of this server are built as files and imported");
    }
    let reasons: Vec<&str> = closed.iter().map(|closed| closed.reason.as_str()).collect();
    let reasons = reasons.join("; ");
    writeln!(out, "rows are sent, because the direct path is closed: {reasons}")?;
    for how in closed.iter().filter_map(|closed| closed.how.as_ref()) {
        writeln!(out, "  opened by {how}")?;
    }
    Ok(())
}

fn print(
    out: &mut impl Write,
    facts: &Facts,
    address: &str,
    findings: &[Finding],
) -> io::Result<()> {
    writeln!(out, "{} at {address}", facts.version())?;
    let pool = facts.count("innodb_buffer_pool_size").map_or_else(String::new, show);
    if let Some(tables) = &facts.tables {
        let (data, index) = (show(tables.data_bytes), show(tables.index_bytes));
        writeln!(out, "  tables    {data} of rows, {index} of indexes; buffer pool {pool}")?;
    }
    if let Some(data) = &facts.data {
        let device = data.device.as_ref().map_or_else(String::new, |d| format!(" on {}", d.name));
        let free = show(data.free_bytes);
        writeln!(
            out,
            "  data      {}: {}{device}, {free} free",
            data.path.display(),
            data.file_system
        )?;
    }
    if let Some(host) = &facts.host {
        let (all, free) = (show(host.memory_bytes), show(host.available_bytes));
        writeln!(out, "  memory    {all}, {free} available")?;
    }
    for text in &facts.unread {
        writeln!(out, "  unknown   {text}")?;
    }
    for finding in findings {
        writeln!(out)?;
        print_finding(out, finding)?;
    }
    if findings.iter().all(|finding| finding.weight == Weight::Note) {
        writeln!(out, "\nno problem found that slows loads down")?;
    }
    Ok(())
}

fn print_finding(out: &mut impl Write, finding: &Finding) -> io::Result<()> {
    let weight = match finding.weight {
        Weight::Danger => "DANGER",
        weight => weight.name(),
    };
    writeln!(out, "{weight:<7}  {}", finding.what)?;
    let mut line = |name: &str, text: &str| match text {
        "" => Ok(()),
        text => writeln!(out, "  {name:<7}{text}"),
    };
    line("now", &finding.now)?;
    line("better", &finding.better)?;
    line("why", &finding.why)?;
    line("risk", &finding.risk)?;
    for how in &finding.how {
        line("how", how)?;
    }
    line("gain", finding.gain.as_deref().unwrap_or_default())
}
