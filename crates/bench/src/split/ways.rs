//! The ways of loading one wide file into four tables, all of it or nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

use server::{ConnectOptions, Session};

use crate::choice::choices;
use crate::error::Error;
use crate::host::DATABASE;
use server::identifier::quote_text;

choices! {
    /// A way.
    pub enum SplitWay {
        /// A script in Python: csv, dictionaries, executemany, one commit.
        Script = "script", "Python, executemany in one transaction";
        /// LOAD DATA into a table of texts, INSERT .. SELECT into the others, one commit.
        Staging = "staging", "LOAD DATA into staging, INSERT .. SELECT";
        /// `inrush load -c job.toml`.
        Inrush = "inrush", "inrush load -c job.toml";
    }
}

/// The tables, in the order in which they are made.
pub(super) const TABLES: [(&str, &str); 4] = [
    (
        "customers",
        "id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, email VARCHAR(100) NOT NULL, \
         name VARCHAR(60) NOT NULL, city VARCHAR(40) NOT NULL, UNIQUE KEY email (email)",
    ),
    (
        "products",
        "id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, sku VARCHAR(20) NOT NULL, \
         name VARCHAR(60) NOT NULL, price DECIMAL(10,2) NOT NULL, UNIQUE KEY sku (sku)",
    ),
    (
        "orders",
        "id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, no VARCHAR(20) NOT NULL, \
         ordered DATETIME NOT NULL, customer_id INT UNSIGNED NOT NULL, UNIQUE KEY no (no), \
         FOREIGN KEY (customer_id) REFERENCES customers (id)",
    ),
    (
        "order_lines",
        "order_id INT UNSIGNED NOT NULL, line INT NOT NULL, product_id INT UNSIGNED NOT NULL, \
         quantity INT NOT NULL, PRIMARY KEY (order_id, line), \
         FOREIGN KEY (order_id) REFERENCES orders (id), FOREIGN KEY (product_id) REFERENCES products (id)",
    ),
];

/// The rules for lines, if some are bad: as the script and the job have them.
const GOOD: &str = "email <> '' AND quantity REGEXP '^[0-9]+$' AND ordered REGEXP '^2026-02-[012]'";

/// Makes the tables anew.
pub(super) fn make_tables(session: &mut Session) -> Result<(), Error> {
    session.exec(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
    session.exec(&format!("CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4"))?;
    session.exec(&format!("USE {DATABASE}"))?;
    for (table, columns) in TABLES {
        session.exec(&format!("CREATE TABLE {table} ({columns}) ENGINE=InnoDB"))?;
    }
    Ok(())
}

/// By the server's own statements.
pub(super) fn staging(session: &mut Session, file: &Path, has_bad: bool) -> Result<(), Error> {
    let columns =
        super::rows::HEADER.split(',').map(|name| format!("{name} VARCHAR(100) NOT NULL"));
    let columns: Vec<String> = columns.collect();
    // InnoDB, so that a crash leaves nothing that has to be repaired; its rows go away with it.
    session.exec(&format!("CREATE TABLE staging ({}) ENGINE=InnoDB", columns.join(", ")))?;
    let path = quote_text(&file.to_string_lossy());
    session.exec(&format!(
        "LOAD DATA INFILE {path} INTO TABLE staging CHARACTER SET utf8mb4 FIELDS TERMINATED BY ',' \
         OPTIONALLY ENCLOSED BY '\"' ESCAPED BY '' IGNORE 1 LINES"
    ))?;
    let good = if has_bad { GOOD } else { "TRUE" };
    session.exec("START TRANSACTION")?;
    for sql in [
        format!(
            "INSERT INTO customers (email, name, city) SELECT email, MIN(customer), MIN(city) FROM staging \
             WHERE {good} GROUP BY email"
        ),
        format!(
            "INSERT INTO products (sku, name, price) SELECT sku, MIN(product), MIN(price) FROM staging \
             WHERE {good} GROUP BY sku"
        ),
        format!(
            "INSERT INTO orders (no, ordered, customer_id) SELECT s.no, MIN(ordered), MIN(c.id) FROM staging s \
             JOIN customers c ON c.email = s.email WHERE {} GROUP BY s.no",
            good.replace("email <>", "s.email <>")
        ),
        format!(
            "INSERT INTO order_lines SELECT o.id, s.line, p.id, s.quantity FROM staging s \
             JOIN orders o ON o.no = s.no JOIN products p ON p.sku = s.sku WHERE {}",
            good.replace("ordered REGEXP", "s.ordered REGEXP")
        ),
    ] {
        session.exec(&sql)?;
    }
    session.exec("COMMIT")?;
    session.exec("DROP TABLE staging")?;
    Ok(())
}

/// By the script; gives the name of the client module that it has found.
pub(super) fn script(
    python: &Path,
    folder: &Path,
    connect: &ConnectOptions,
    file: &Path,
    rejects_max: u64,
) -> Result<String, Error> {
    let failed = |said: String| Error::Program { name: "the Python script".to_owned(), said };
    let path = folder.join("split.py");
    std::fs::write(&path, include_str!("script.py")).map_err(Error::io("writing", &path))?;
    let socket = connect.socket.clone().ok_or_else(|| {
        failed("it connects by a Unix socket only: name the server with -S SOCKET".to_owned())
    })?;
    let mut command = Command::new(python);
    command.arg(&path).arg(socket).arg(connect.user_name()).arg(DATABASE).arg(file);
    let output = command.arg(rejects_max.to_string()).output();
    let output = output.map_err(Error::io("running", python))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}

/// The job file, beside the lines.
pub(super) fn write_job(folder: &Path, file: &str) -> Result<PathBuf, Error> {
    let path = folder.join(format!("{file}.toml"));
    let text = include_str!("job.toml").replace("orders.csv", file);
    std::fs::write(&path, text).map_err(Error::io("writing", &path))?;
    Ok(path)
}
