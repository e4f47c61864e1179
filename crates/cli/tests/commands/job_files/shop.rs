//! Four tables, and a file each of whose lines holds a row of all.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use crate::support::{Desk, Outcome, run};

pub(super) const TABLES: [&str; 4] = ["customers", "products", "orders", "order_lines"];

const DDL: [&str; 4] = [
    "CREATE TABLE customers (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, email VARCHAR(60) NOT NULL UNIQUE, \
     name VARCHAR(40) NOT NULL)",
    "CREATE TABLE products (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, sku VARCHAR(10) NOT NULL UNIQUE, \
     name VARCHAR(40) NOT NULL, price DECIMAL(8,2) NOT NULL)",
    "CREATE TABLE orders (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, no VARCHAR(12) NOT NULL UNIQUE, \
     customer INT UNSIGNED NOT NULL, ordered DATE NOT NULL, \
     FOREIGN KEY (customer) REFERENCES customers (id))",
    "CREATE TABLE order_lines (order_id INT UNSIGNED NOT NULL, line INT NOT NULL, \
     product INT UNSIGNED NOT NULL, quantity INT NOT NULL, PRIMARY KEY (order_id, line), \
     FOREIGN KEY (order_id) REFERENCES orders (id), FOREIGN KEY (product) REFERENCES products (id))",
];

pub(super) const HEADER: &str = "no,ordered,email,customer,line,sku,product,price,quantity\n";

/// The job of these tables, but for what a test adds.
const JOB: &str = r#"
into = "DATABASE"

[input]
files = ["wide.csv"]
header = true
null_token = ""

[[table]]
name = "customers"
columns = { email = "email", name = "customer" }
entity = { key = ["email"], id = "id" }

[[table]]
name = "products"
columns = { sku = "sku", name = "product", price = "price" }
entity = { key = ["sku"], id = "id", on_conflict = "fail" }

[[table]]
name = "orders"
columns = { no = "no", ordered = "ordered", customer = { id_of = "customers" } }
entity = { key = ["no"], id = "id" }

[[table]]
name = "order_lines"
columns = { order_id = { id_of = "orders" }, line = "line", product = { id_of = "products" }, quantity = "quantity" }
"#;

/// Rows with names in place of ids: the same whatever ids there are.
const JOINED: &str = "SELECT no, ordered, email, c.name, line, sku, p.name, price, quantity \
     FROM order_lines l JOIN orders o ON o.id = l.order_id JOIN customers c ON c.id = o.customer \
     JOIN products p ON p.id = l.product ORDER BY no, line";

pub(super) struct Shop {
    pub(super) desk: Desk,
    job: String,
}

impl Shop {
    pub(super) fn new() -> Option<Shop> {
        let desk = Desk::new()?;
        let job = JOB.replace("DATABASE", &desk.database);
        let mut shop = Shop { desk, job };
        shop.reset();
        shop.write();
        Some(shop)
    }

    /// Makes the tables anew, without rows.
    pub(super) fn reset(&mut self) {
        self.desk.exec("SET foreign_key_checks=0");
        for (table, ddl) in TABLES.iter().zip(DDL) {
            self.desk.exec(&format!("DROP TABLE IF EXISTS {table}"));
            self.desk.exec(ddl);
        }
        self.desk.exec("SET foreign_key_checks=1");
    }

    /// Changes the job file.
    pub(super) fn edit(&mut self, from: &str, to: &str) {
        assert!(self.job.contains(from), "{from} is in the job");
        self.job = self.job.replace(from, to);
        self.write();
    }

    fn write(&self) {
        self.desk.home.file("job.toml", &self.job);
    }

    pub(super) fn command(&self, lines: &str) -> Command {
        self.desk.home.file("wide.csv", format!("{HEADER}{lines}"));
        self.again()
    }

    /// The same command with the file that is there.
    pub(super) fn again(&self) -> Command {
        let mut command = self.desk.home.inrush(["load", "-c", "job.toml", "--quiet"]);
        command.args(["--threads", "2", "--memory", "48M", "--socket"]);
        command.arg(self.desk.server.socket());
        if let Some(user) = self.desk.server.options().user {
            command.args(["--user", &user]);
        }
        command
    }

    pub(super) fn load(&self, lines: &str, more: &[&str]) -> Outcome {
        run(self.command(lines).args(more))
    }

    /// The rows of all tables, joined.
    pub(super) fn joined(&mut self) -> Vec<String> {
        self.desk.rows(JOINED)
    }

    pub(super) fn counts(&mut self) -> [u64; 4] {
        TABLES.map(|table| {
            let count = format!("SELECT COUNT(*) FROM {table}");
            self.desk.session.query_row(&count).unwrap().number(0).unwrap()
        })
    }

    /// Every table as it is, with what the server says of it.
    pub(super) fn state(&mut self) -> Vec<String> {
        let mut state = Vec::new();
        for table in TABLES {
            state.extend(self.desk.rows(&format!("SHOW CREATE TABLE {table}")));
            state.extend(self.desk.rows(&format!("SELECT * FROM {table} ORDER BY 1, 2")));
        }
        state
    }

    /// Every table's rows. Numbers that a transaction has used are used up, also if it is taken back.
    pub(super) fn rows(&mut self) -> Vec<String> {
        let rows = |table| format!("SELECT * FROM {table} ORDER BY 1, 2");
        TABLES.iter().flat_map(|table| self.desk.rows(&rows(table))).collect()
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.desk.home.path().join(name)
    }
}

/// Lines of orders, three each; customers and products come again.
pub(super) fn lines(orders: u32) -> String {
    let mut text = String::new();
    for order in 0..orders {
        let customer = order.wrapping_mul(7_919) % (orders / 4 + 1);
        for line in 1..=3 {
            let product = (order * 3 + line).wrapping_mul(31) % 97;
            let day = order % 28 + 1;
            writeln!(
                text,
                "N{order},2026-03-{day:02},c{customer}@example.org,Customer {customer},{line},S{product},\
                 Product {product},{product}.50,{}",
                order % 9 + line
            )
            .unwrap();
        }
    }
    text
}

/// The lines of [`lines`], as [`Shop::joined`] shows them.
pub(super) fn shown(lines: &str) -> Vec<String> {
    let mut shown: Vec<Vec<String>> =
        lines.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect();
    shown.sort_by_key(|fields| (fields[0].clone(), fields[4].parse::<u32>().unwrap()));
    shown.into_iter().map(|fields| fields.join("|")).collect()
}
