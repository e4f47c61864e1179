//! `cargo bench -p inrush-bench --bench stages [-- --scale SF] [--data-dir DIR]`.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut scale = 1.0;
    let mut data_dir = bench::host::default_data_dir();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.next()) {
            ("--scale", Some(value)) => scale = value.parse().unwrap_or(scale),
            ("--data-dir", Some(value)) => data_dir = PathBuf::from(value),
            // cargo adds --bench.
            _ => {}
        }
    }
    println!("{}\n", bench::machine::Machine::here().line());
    println!("lineitem, scale {scale}: each stage on one thread");
    match bench::stages::run(scale, &data_dir) {
        Ok(figures) => {
            print!("{}", bench::stages::text(&figures));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
