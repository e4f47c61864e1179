//! The lines, and the two tables that each goes to.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use server::Session;

use crate::error::Error;
use crate::host::DATABASE;
use crate::mixed::mixed;

/// Customers and products that lines are of, in no order.
const CUSTOMERS: u64 = 200_000;
const PRODUCTS: u64 = 50_000;

/// The tables, each with secondary indexes whose entries come in no order.
const TABLES: [&str; 2] = [
    "CREATE TABLE orders (id INT UNSIGNED NOT NULL PRIMARY KEY, customer INT UNSIGNED NOT NULL, \
     ordered DATETIME NOT NULL, reference CHAR(16) NOT NULL, KEY customer (customer, ordered), \
     KEY reference (reference)) ENGINE=InnoDB",
    "CREATE TABLE items (id INT UNSIGNED NOT NULL PRIMARY KEY, product INT UNSIGNED NOT NULL, \
     quantity INT NOT NULL, price DECIMAL(10,2) NOT NULL, note VARCHAR(40) NOT NULL, \
     KEY product (product, price), KEY price (price, quantity)) ENGINE=InnoDB",
];

/// The part of a line for each.
pub(super) const INTO: [&str; 2] = [
    "orders (id, customer, ordered, reference, @product, @quantity, @price, @note)",
    "items (id, @customer, @ordered, @reference, product, quantity, price, note)",
];

/// Writes the files, if they are not there.
pub(super) fn make(
    folder: &Path,
    lines: u64,
    files: u64,
    say: &mut dyn FnMut(&str),
) -> Result<Vec<PathBuf>, Error> {
    fs::create_dir_all(folder).map_err(Error::io("making", folder))?;
    let mut paths = Vec::new();
    for file in 0..files {
        let path = folder.join(format!("{lines}-{files}-{file}.txt"));
        if !path.exists() {
            if file == 0 {
                say(&format!("making {files} files in {}", folder.display()));
            }
            let (from, to) = (lines * file / files, lines * (file + 1) / files);
            write(&path, from..to).map_err(Error::io("writing", &path))?;
        }
        paths.push(path);
    }
    Ok(paths)
}

fn write(path: &Path, lines: std::ops::Range<u64>) -> io::Result<()> {
    let part = path.with_extension("part");
    let mut file = BufWriter::with_capacity(1 << 20, File::create(&part)?);
    for line in lines {
        let mixed = mixed(line);
        writeln!(
            file,
            "{}\t{}\t2026-{:02}-{:02} {:02}:00:00\t{mixed:016x}\t{}\t{}\t{}.{:02}\tnote of line {line}",
            line + 1,
            mixed % CUSTOMERS,
            mixed % 12 + 1,
            mixed / 12 % 28 + 1,
            mixed / 400 % 24,
            mixed / 7 % PRODUCTS,
            mixed % 20 + 1,
            mixed / 11 % 1_000,
            mixed / 13 % 100,
        )?;
    }
    file.into_inner().map_err(|error| error.into_error())?.sync_all()?;
    fs::rename(&part, path)
}

/// Makes the tables anew.
pub(super) fn make_tables(session: &mut Session) -> Result<(), Error> {
    session.exec(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
    session.exec(&format!("CREATE DATABASE {DATABASE} CHARACTER SET latin1"))?;
    session.exec(&format!("USE {DATABASE}"))?;
    TABLES.iter().try_for_each(|table| session.exec(table).map(drop)).map_err(Error::from)
}

/// The contents of the tables.
pub(super) fn seen(session: &mut Session) -> Result<String, Error> {
    let rows = session.query("CHECKSUM TABLE orders, items")?;
    let sums: Vec<String> = rows.iter().map(|row| row.text_lossy(1)).collect();
    let count = session.query_row("SELECT COUNT(*) FROM items FORCE INDEX (price)")?.text(0)?;
    Ok(format!("{count} rows, checksums {}", sums.join(" and ")))
}
