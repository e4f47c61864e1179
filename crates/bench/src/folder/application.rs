//! The tables of an application, and their files.
//!
//! Rows of tables are log-normal, as those of real applications: half of the tables have fewer than 33, and one
//! of a hundred has some thousands. Three of five tables refer to one or two tables before them.

use std::f64::consts::PI;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::mixed::mixed;

/// Mean and deviation of the logarithm of a table's rows, and the most that one has.
const ROWS_MEAN: f64 = 3.5;
const ROWS_DEVIATION: f64 = 1.8;
const ROWS_MAX: u64 = 60_000;

/// An application.
pub(super) struct Application {
    tables: Vec<Table>,
    folder: PathBuf,
    /// Bytes of all files.
    pub(super) bytes: u64,
    /// A script of LOAD DATA LOCAL, parents first.
    pub(super) script: PathBuf,
}

/// A table: its rows, and the tables before it that they refer to.
struct Table {
    rows: u64,
    parents: Vec<usize>,
}

impl Application {
    /// Writes the files of so many tables; the same in every run.
    pub(super) fn make(folder: &Path, count: usize) -> Result<Application, Error> {
        let tables: Vec<Table> = (0..count).map(|at| Table::new(count, at)).collect();
        fs::create_dir_all(folder).map_err(Error::io("making", folder))?;
        let script = folder.with_extension("sql");
        let mut application =
            Application { tables, folder: folder.to_path_buf(), bytes: 0, script };
        let mut statements = String::new();
        for at in 0..count {
            let path = application.file(at);
            application.bytes +=
                application.write(at, &path).map_err(Error::io("writing", &path))?;
            let (name, path) = (name(at), path.display());
            statements += &format!("LOAD DATA LOCAL INFILE '{path}' INTO TABLE {name};\n");
        }
        let script = &application.script;
        fs::write(script, statements).map_err(Error::io("writing", script))?;
        Ok(application)
    }

    /// Rows of all tables.
    pub(super) fn rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows).sum()
    }

    /// Names of all tables.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        (0..self.tables.len()).map(name)
    }

    /// The files of all tables.
    pub(super) fn files(&self) -> impl Iterator<Item = PathBuf> {
        (0..self.tables.len()).map(|at| self.file(at))
    }

    /// CREATE TABLE of all, parents first.
    pub(super) fn statements(&self) -> impl Iterator<Item = String> {
        self.tables.iter().enumerate().map(|(at, table)| table.statement(at))
    }

    fn file(&self, at: usize) -> PathBuf {
        self.folder.join(format!("{}.tsv", name(at)))
    }

    /// Writes the rows of a table; gives their bytes.
    fn write(&self, at: usize, path: &Path) -> io::Result<u64> {
        let table = &self.tables[at];
        let mut file = BufWriter::new(File::create(path)?);
        for row in 1..=table.rows {
            let random = mixed((at as u64) << 32 | row);
            let (day, cents, words) = (random % 28 + 1, random >> 8 & 0xf_ffff, random >> 32 & 7);
            let note = "lorem ipsum ".repeat(words as usize);
            let (whole, hundredths) = (cents / 100, cents % 100);
            write!(
                file,
                "{row}\tname {cents}\t{whole}.{hundredths:02}\t2026-11-{day:02} 10:00:00\t{note}"
            )?;
            for &parent in &table.parents {
                let of = mixed(random ^ parent as u64) % self.tables[parent].rows + 1;
                write!(file, "\t{of}")?;
            }
            writeln!(file)?;
        }
        file.flush()?;
        Ok(file.get_ref().metadata()?.len())
    }
}

impl Table {
    fn new(count: usize, at: usize) -> Table {
        let random = |n: u64| mixed((count as u64) << 40 | (at as u64) << 8 | n);
        let unit = |n| (random(n) >> 11) as f64 / (1_u64 << 53) as f64;
        // Source: the transformation of Box and Muller.
        let normal = (-2.0 * (1.0 - unit(0)).ln()).sqrt() * (2.0 * PI * unit(1)).cos();
        let rows = (ROWS_MEAN + ROWS_DEVIATION * normal).exp() as u64;
        let parents = if at > 3 && unit(2) < 0.6 { 1 + random(3) as usize % 2 } else { 0 };
        let mut parents: Vec<usize> =
            (0..parents).map(|n| random(4 + n as u64) as usize % at).collect();
        parents.dedup();
        Table { rows: rows.clamp(1, ROWS_MAX), parents }
    }

    fn statement(&self, at: usize) -> String {
        let mut parts = vec![
            "id INT NOT NULL AUTO_INCREMENT PRIMARY KEY".to_owned(),
            "name VARCHAR(80) NOT NULL".to_owned(),
            "amount DECIMAL(10,2)".to_owned(),
            "made DATETIME NOT NULL".to_owned(),
            "note TEXT".to_owned(),
        ];
        parts.extend(self.parents.iter().map(|&parent| format!("{}_id INT", name(parent))));
        parts.push("KEY (name)".to_owned());
        let key = |&parent: &usize| {
            let parent = name(parent);
            format!("FOREIGN KEY ({parent}_id) REFERENCES {parent} (id)")
        };
        parts.extend(self.parents.iter().map(key));
        format!("CREATE TABLE {} ({}) ENGINE=InnoDB", name(at), parts.join(", "))
    }
}

fn name(at: usize) -> String {
    format!("t{at:03}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_tables_are_small_and_rows_refer_to_rows_that_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let application = Application::make(&folder.path().join("files"), 200).unwrap();
        let small = application.tables.iter().filter(|table| table.rows < 33).count();
        assert!((70..130).contains(&small), "{small}");
        assert!(application.tables.iter().any(|table| table.rows > 1_000));
        let children: Vec<usize> =
            (0..200).filter(|&at| !application.tables[at].parents.is_empty()).collect();
        assert!((90..150).contains(&children.len()), "{}", children.len());
        for at in children {
            let table = &application.tables[at];
            let text = fs::read_to_string(application.file(at)).unwrap();
            assert_eq!(text.lines().count() as u64, table.rows);
            for line in text.lines() {
                let fields: Vec<&str> = line.split('\t').collect();
                assert_eq!(fields.len(), 5 + table.parents.len());
                for (field, &parent) in fields[5..].iter().zip(&table.parents) {
                    let of: u64 = field.parse().unwrap();
                    assert!(parent < at && (1..=application.tables[parent].rows).contains(&of));
                }
            }
        }
    }
}
