//! LOAD DATA's result for rows that are sent, and its comparison if rows lie in any order or the server gave
//! numbers.

use load::OnDuplicate;
use server::Row;

use testkit::Random;
use testkit::tables::case::{Case, Line};
use testkit::tables::compare::scan;
use testkit::tables::run::Run;
use testkit::tables::server::Db;

/// Rows and their checksum.
pub(crate) type Sum = (u64, String);

/// Columns that are compared: all, but the numbers that the server gives to rows in whatever order
/// they come, which have to differ from each other only.
pub(crate) struct Columns {
    names: Vec<String>,
    /// The column that is not compared, and its place.
    numbers: Option<(String, usize)>,
}

impl Columns {
    /// All columns; without that of numbers if these are not those of LOAD DATA.
    pub(crate) fn of(case: &Case, has_other_numbers: bool) -> Columns {
        let columns = &case.table.columns;
        let is_number = |place: &usize| columns[*place].auto_increment;
        let numbers = (0..columns.len()).find(is_number).filter(|_| has_other_numbers);
        let kept = (0..columns.len()).filter(|place| Some(*place) != numbers);
        Columns {
            names: kept.map(|place| columns[place].name.clone()).collect(),
            numbers: numbers.map(|place| (columns[place].name.clone(), place)),
        }
    }

    pub(crate) fn are_all(&self) -> bool {
        self.numbers.is_none()
    }

    fn of_row(&self, row: &Row) -> Vec<Option<Vec<u8>>> {
        let number = self.numbers.as_ref().map(|(_, place)| *place);
        let places = (0..row.len()).filter(|place| Some(*place) != number);
        places.map(|place| row.bytes(place).map(<[u8]>::to_vec)).collect()
    }
}

/// Rows of a table and a checksum of them, whatever their order.
pub(crate) fn sum(db: &mut Db, table: &str, columns: &Columns) -> Sum {
    let count = db.number(&format!("SELECT COUNT(*) FROM `{table}`"));
    if columns.are_all() {
        let sum = db.rows(&format!("CHECKSUM TABLE `{table}` EXTENDED"));
        return (count, sum[0].text(1).unwrap());
    }
    let one = |name: &String| format!("IFNULL(HEX(CAST(`{name}` AS BINARY)), 'NULL')");
    let fields: Vec<String> = columns.names.iter().map(one).collect();
    let sum = format!("SELECT COALESCE(SUM(CRC32(CONCAT_WS('|', '', {}))), 0)", fields.join(", "));
    let sum = sum.replace("'', )", "'')");
    let sum = db.rows(&format!("{sum} FROM `{table}`"));
    (count, sum[0].text(0).unwrap())
}

/// Every row of `a` and `b` through every index, as often in one as in the other.
#[track_caller]
pub(crate) fn same_rows_in_any_order(db: &mut Db, columns: &Columns, indexes: &[&str]) {
    for index in [None].into_iter().chain(indexes.iter().copied().map(Some)) {
        let mut rows = |table: &str| {
            let rows = scan(db, table, index);
            let mut rows: Vec<_> = rows.iter().map(|row| columns.of_row(row)).collect();
            rows.sort_unstable();
            rows
        };
        let (ours, theirs) = (rows("b"), rows("a"));
        assert_eq!(ours.len(), theirs.len(), "rows through {index:?}");
        let at = ours.iter().zip(&theirs).position(|(a, b)| a != b);
        assert_eq!(at, None, "the first row that differs through {index:?}");
    }
    if let Some((name, _)) = &columns.numbers {
        let doubles = format!("SELECT COUNT(*) - COUNT(DISTINCT `{name}`) FROM b");
        assert_eq!(db.number(&doubles), 0, "numbers given twice");
        assert_eq!(db.number(&format!("SELECT COUNT(*) FROM b WHERE `{name}`=0")), 0);
    }
}

/// Has the server load rows into `a`, or change what is there by them; whether it would.
pub(crate) fn server_loads(
    random: &mut Random,
    db: &mut Db,
    run: &Run,
    good: &[Line],
    rule: OnDuplicate,
) -> bool {
    let path = run.folder.join("theirs");
    let names = run.case.names();
    run.case.write(random, &path, &good.iter().collect::<Vec<_>>());
    let load = |how: &str, table: &str| run.case.format.load_data(&path, how, table, &names);
    match rule {
        OnDuplicate::Fail => drop(db.sql(&load("", "a"))),
        OnDuplicate::Skip => drop(db.sql(&load("IGNORE", "a"))),
        OnDuplicate::Replace => drop(db.sql(&load("REPLACE", "a"))),
        OnDuplicate::Update => {
            db.sql(&run.case.table.sql("staged", false, "`__n` INT"));
            db.sql("SET @n = -1");
            db.sql(&format!("{} SET __n = (@n := @n + 1)", load("", "staged")));
            let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let list = quoted.join(", ");
            let changes: Vec<String> =
                quoted.iter().map(|name| format!("{name}=VALUES({name})")).collect();
            let changed = db.try_sql(&format!(
                "INSERT INTO a ({list}) SELECT {list} FROM staged ORDER BY __n \
                 ON DUPLICATE KEY UPDATE {}",
                changes.join(", ")
            ));
            let is_done = changed.is_ok();
            db.sql("DROP TABLE staged");
            return is_done;
        }
    }
    true
}

/// The row with an AUTO_INCREMENT value of its own given up for one that is generated.
pub(crate) fn without_number(case: &Case, mut line: Line) -> Line {
    let number = case.table.auto_increment();
    let at = case.names().iter().position(|&name| Some(name) == number);
    if let Some(value) = at.and_then(|at| line.get_mut(at)) {
        *value = Some(b"0".to_vec());
    }
    line
}
