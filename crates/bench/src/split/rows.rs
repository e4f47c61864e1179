//! The lines: orders of customers, a product each, as a shop's export has them.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::mixed::mixed;

/// Lines of an order.
const LINES_OF_ORDER: u64 = 4;
/// Orders of a customer, on average.
const ORDERS_OF_CUSTOMER: u64 = 5;
/// One in so many lines is bad, where some are.
pub(super) const BAD_ONE_IN: u64 = 1_000;

pub(super) const HEADER: &str = "no,ordered,email,customer,city,sku,product,price,line,quantity";
const CITIES: [&str; 8] =
    ["Aachen", "Bergen", "Cádiz", "Dublin", "Essen", "Faro", "Gent", "Helsinki"];

/// True if a line is bad, in the file that has such lines.
pub(super) fn is_bad(line: u64) -> bool {
    line % BAD_ONE_IN == BAD_ONE_IN / 2
}

/// Writes a file of so many lines, in the same order always.
pub(super) fn write(path: &Path, lines: u64, with_bad: bool) -> io::Result<()> {
    let part = path.with_extension("part");
    let mut file = BufWriter::with_capacity(1 << 20, File::create(&part)?);
    writeln!(file, "{HEADER}")?;
    let customers = (lines / LINES_OF_ORDER / ORDERS_OF_CUSTOMER).max(1);
    let products = (lines / 100).clamp(10, 20_000);
    for line in 0..lines {
        let order = line / LINES_OF_ORDER;
        let customer = mixed(order) % customers;
        let product = mixed(line ^ 0x5bd1_e995) % products;
        let bad = (with_bad && is_bad(line)).then_some(line / BAD_ONE_IN % 3);
        let day = if bad == Some(0) { 31 } else { order % 28 + 1 };
        let email = match bad {
            Some(1) => String::new(),
            _ => format!("customer{customer}@example.org"),
        };
        let quantity = match bad {
            Some(2) => "many".to_owned(),
            _ => (mixed(line) % 20 + 1).to_string(),
        };
        writeln!(
            file,
            "N{order:09},2026-02-{day:02} {:02}:{:02}:00,{email},\"Customer, {customer}\",{},SKU-{product:06},\
             Product number {product},{}.{:02},{},{quantity}",
            order % 24,
            order % 60,
            CITIES[(customer % CITIES.len() as u64) as usize],
            product % 500,
            product % 100,
            line % LINES_OF_ORDER + 1,
        )?;
    }
    file.into_inner().map_err(|error| error.into_error())?.sync_all()?;
    fs::rename(&part, path)
}
