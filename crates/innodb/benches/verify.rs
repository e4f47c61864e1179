//! Speed of the verifier on one core: `cargo bench -p inrush-innodb --bench verify -- FILE.ibd ...`
//!
//! Each file is read into memory first. With a `.cfg` beside it records are
//! checked in full, else as far as that goes without columns; both are timed.
//! `LOADER=1` in the environment applies the rules for files built for import.
#![allow(missing_docs)]

use std::path::Path;
use std::time::Instant;

use innodb::cfg::Cfg;
use innodb::verify::{Context, Report, Writer, verify_space};

const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files: Vec<_> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    if files.is_empty() {
        println!("no file given: nothing measured");
    }
    for file in files {
        let file = Path::new(&file);
        let bytes = std::fs::read(file)?;
        let cfg = std::fs::read(file.with_extension("cfg")).ok();
        let cfg = cfg.map(|bytes| Cfg::parse(&bytes)).transpose()?;
        let writer = match std::env::var_os("LOADER") {
            Some(_) => Writer::Loader,
            None => Writer::Server,
        };
        println!("{}: {} pages", file.display(), bytes.len() / 16_384);
        for (name, cfg) in [("without columns", None), ("with columns", cfg.as_ref())] {
            let report = time(name, &bytes, Context { writer, cfg, collations: &|_, _| None })?;
            show(&report);
        }
    }
    Ok(())
}

fn time(
    name: &str,
    bytes: &[u8],
    context: Context<'_>,
) -> Result<Report, Box<dyn std::error::Error>> {
    let mut best = f64::MAX;
    for _ in 1..ROUNDS {
        let start = Instant::now();
        verify_space(&bytes, bytes.len() as u64, context)?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("  {name:16} {:.2} GB/s", bytes.len() as f64 / best / 1e9);
    Ok(verify_space(&bytes, bytes.len() as u64, context)?)
}

fn show(report: &Report) {
    for index in &report.indexes {
        let name = &index.name;
        println!("    {name}: {} records, {} pages", index.records(), index.pages());
    }
    for line in report.violations.kept().iter().take(20) {
        println!("    {:?} {line}", line.rule);
    }
    println!("    {} violations, {:?}", report.violations.count(), report.notes);
    println!("    unchecked {:?}", report.unchecked);
}
