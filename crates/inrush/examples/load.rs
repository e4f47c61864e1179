//! Loads a CSV file with a header into a table: `load SOCKET FILE DATABASE TABLE`.

use std::path::PathBuf;

use inrush::{ConnectOptions, LoadOptions, Preset, load};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [socket, file, database, table] = arguments.as_slice() else {
        return Err("usage: load SOCKET FILE DATABASE TABLE".into());
    };
    let server = ConnectOptions::for_socket(socket);
    let mut options = LoadOptions::new(vec![PathBuf::from(file)], database, table);
    options.input.dialect = Preset::Csv.dialect();
    options.input.header = true;
    let report = load(&server, &options, &())?;
    println!("{}: {} rows by the {} path", report.target, report.rows, report.path);
    Ok(())
}
