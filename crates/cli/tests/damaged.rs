//! Built files of MySQL tables with a random damage, which the verifier refuses or the server survives.
//! Runs where INRUSH_TEST_MYSQLD names a `mysqld`.
//!
//! MySQL ends itself where an imported tree is damaged, so nobody but the verifier keeps such a file from it.
//! Each damage is made with a right checksum. An accepted file is imported, checked, changed through each of
//! its indexes, and read again after a restart.
//!
//! `INRUSH_DAMAGES=10000` makes as many damages, `INRUSH_SEED=s` others; damage i has seed s + i, so
//! `INRUSH_SEED=<seed of the damage> INRUSH_DAMAGES=1` repeats one alone.

mod damage;
mod server;
mod tables;

use std::collections::BTreeMap;

use innodb::cfg::Cfg;
use innodb::ids::{PAGE_SIZE, PageNo};
use innodb::page::{PageBytes, page_type};
use innodb::reader::SpaceReader;
use innodb::record::RecordShape;
use innodb::verify::{Context, Writer, collation_of, verify_space};
use testkit::Random;

use self::damage::{Damage, Space};
use self::server::{Fault, Importer};
use self::tables::Table;

/// Damages of a run without INRUSH_DAMAGES.
const DAMAGES: u64 = 200;
/// Accepted files on one server between two restarts.
const BATCH: usize = 40;

/// A file that Inrush built for a table, as the server would get it.
struct Built {
    table: &'static Table,
    space: Space,
    cfg: Cfg,
}

/// A damaged file that the verifier accepted.
struct Accepted<'a> {
    seed: u64,
    built: &'a Built,
    damage: Damage,
    file: Vec<u8>,
}

impl Built {
    /// The file with the damage of a seed.
    fn damaged(&self, seed: u64) -> (Damage, Vec<u8>) {
        let mut file = self.space.file.clone();
        let damage = self.space.damage(&mut Random::new(seed), &mut file);
        (damage, file)
    }

    /// True if the verifier finds nothing wrong, as `direct` asks it.
    fn is_accepted(&self, file: &Vec<u8>) -> bool {
        let context =
            Context { writer: Writer::Loader, cfg: Some(&self.cfg), collations: &|_, _| None };
        let Ok(report) = verify_space(file, file.len() as u64, context) else { return false };
        let rows = self.table.rows as u64;
        report.violations.is_empty() && report.indexes.iter().all(|index| index.records() == rows)
    }

    /// True if text is still text: the tables have ASCII alone. Other bytes in a utf8mb4 column can end the
    /// server at an UPDATE (seen with a prefix index). A load compares values with its input, and no rule of
    /// the verifier does.
    fn has_legal_text(&self, file: &Vec<u8>) -> bool {
        let reader = SpaceReader::open(file, file.len() as u64).unwrap();
        for index in &self.cfg.indexes {
            let shape = RecordShape::leaf(&self.cfg, index).unwrap();
            let is_text: Vec<bool> = shape
                .fields
                .iter()
                .map(|field| collation_of(&self.cfg.columns[field.column]).is_some())
                .collect();
            let mut records = reader.records(PageNo(index.root), &shape).unwrap();
            while let Some(record) = records.advance().unwrap() {
                for (at, span) in record.fields.iter().enumerate().filter(|(at, _)| is_text[*at]) {
                    let reference = if span.is_external { 20 } else { 0 };
                    let local = record.field(at).unwrap_or_default();
                    if !local[..local.len() - reference].is_ascii() {
                        return false;
                    }
                }
            }
        }
        let is_off_page = |page: &PageBytes| page[24..26] == page_type::BLOB.to_be_bytes();
        let (sound, _) = self.space.file.as_chunks::<PAGE_SIZE>();
        let (pages, _) = file.as_chunks::<PAGE_SIZE>();
        pages.iter().zip(sound).filter(|(page, _)| is_off_page(page)).all(|(page, sound)| {
            (46..PAGE_SIZE - 8).all(|at| page[at] == sound[at] || page[at].is_ascii())
        })
    }
}

#[test]
fn a_damaged_file_is_refused_or_survived() {
    let Some(files) = tables::built() else { return };
    for built in &files {
        assert!(built.is_accepted(&built.space.file), "{}", built.table.name);
    }
    let seed = Random::seed_of_run();
    let number = std::env::var("INRUSH_DAMAGES").ok().and_then(|text| text.parse().ok());
    let number = number.unwrap_or(DAMAGES);
    let is_verbose = std::env::var_os("INRUSH_VERBOSE").is_some();
    let (mut accepted, mut faults) = (Vec::new(), Vec::new());
    let mut counts: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    for seed in seed..seed + number {
        let built = &files[(seed % files.len() as u64) as usize];
        let (damage, file) = built.damaged(seed);
        if file == built.space.file {
            continue;
        }
        let is_accepted = built.is_accepted(&file);
        counts.entry(damage.place).or_default()[usize::from(is_accepted)] += 1;
        if is_accepted {
            if is_verbose {
                println!("accepted: seed {seed}, table {}, {damage}", built.table.name);
            }
            if built.has_legal_text(&file) {
                accepted.push(Accepted { seed, built, damage, file });
            }
        }
        if accepted.len() == BATCH {
            faults.extend(import(&accepted));
            accepted.clear();
        }
    }
    faults.extend(import(&accepted));
    for (place, [refused, accepted]) in &counts {
        println!("{place}: {refused} refused, {accepted} accepted");
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Imports accepted files; gives what the server did not survive.
fn import(accepted: &[Accepted<'_>]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut rest = accepted;
    while !rest.is_empty() {
        let mut importer = Importer::start();
        let (done, fault) = importer.batch(rest);
        faults.append(&mut importer.checks);
        let Some(fault) = fault else { break };
        match fault {
            Fault::Ended(_) if done < rest.len() => {
                faults.push(fault.describe(&rest[done]));
                rest = &rest[done + 1..];
            }
            // In the background, or when it ended: each alone tells which.
            _ => {
                let alone = |one: &Accepted<'_>| {
                    let (_, fault) = Importer::start().batch(std::slice::from_ref(one));
                    fault.map(|fault| fault.describe(one))
                };
                let found: Vec<_> = rest.iter().filter_map(alone).collect();
                if found.is_empty() {
                    faults.push(format!("of a batch from seed {}: {fault:?}", rest[0].seed));
                }
                faults.extend(found);
                break;
            }
        }
    }
    for fault in &faults {
        println!("{fault}");
    }
    faults
}
