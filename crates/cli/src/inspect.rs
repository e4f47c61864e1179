//! `inrush inspect`: a tablespace from the file alone, as text or JSON.

mod json;
mod page;
mod words;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use ::inspect::{PageView, Survey};
use innodb::cfg::{Cfg, table_flags};
use innodb::ids::{PAGE_SIZE, PageNo};
use innodb::source::PageSource;
use innodb::verify::{Context, Report};
use terminal::failure::{FAILED, Failure};
use terminal::size::{group, show};

use crate::args::InspectArgs;
use crate::print;
use json::page_json;
use page::print_page;
use words::fill_percent;

/// Why a sound table may look broken.
const IN_MEMORY: &str = "a server that has the table open keeps pages of it in memory; the file is whole after \
                         FLUSH TABLES .. FOR EXPORT, or when the server has stopped";
/// Violations printed; a broken file can have millions.
const VIOLATIONS_MAX: usize = 20;

/// Prints what the file holds; status 1 if it was verified and breaks a rule.
pub(crate) fn run(args: &InspectArgs) -> Result<u8, Failure> {
    let name = args.file.display();
    let unreadable = |error: &dyn std::fmt::Display| Failure::failed(format!("{name}: {error}"));
    let broken =
        |error: &dyn std::fmt::Display| Failure::failed(format!("{name}: {error}; {IN_MEMORY}"));
    let source =
        File::open(&args.file).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    let metadata = source.metadata().map_err(|error| unreadable(&error))?;
    if metadata.is_dir() {
        return Err(Failure::usage(format!("{name} is a directory; name a tablespace in it")));
    }
    let bytes = metadata.len();
    let mut out = terminal::out();
    if let Some(page_no) = args.page {
        let pages = bytes / PAGE_SIZE as u64;
        if u64::from(page_no) >= pages {
            return Err(Failure::usage(format!(
                "{name} has pages 0 to {}, but no page {page_no}",
                pages.saturating_sub(1)
            )));
        }
        let view = PageView::read(&source, PageNo(page_no)).map_err(|error| broken(&error))?;
        match args.json {
            true => print::json(&mut out, &page_json(&view))?,
            false => print_page(&mut out, &view)?,
        }
        if !args.verify {
            return Ok(0);
        }
    }
    let cfg = read_cfg(&args.file)?;
    let inspected = Inspected { name: file_name(&args.file), bytes, cfg };
    let survey = inspected.survey(&source, args.verify).map_err(|error| broken(&error))?;
    match args.json {
        true => print::json(&mut out, &inspected.json(&survey))?,
        false => inspected.print(&mut out, &survey)?,
    }
    let is_broken = survey.report.is_some_and(|report| !report.violations.is_empty());
    Ok(if is_broken { FAILED } else { 0 })
}

/// The `.cfg` beside a tablespace, if there is one.
fn read_cfg(file: &Path) -> Result<Option<Cfg>, Failure> {
    let path = file.with_extension("cfg");
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::failed(format!("{}: {error}", path.display()))),
    };
    let cfg = Cfg::parse(&bytes)
        .map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;
    Ok(Some(cfg))
}

fn file_name(file: &Path) -> String {
    file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}

/// A file and what is known of it.
struct Inspected {
    name: String,
    bytes: u64,
    cfg: Option<Cfg>,
}

impl Inspected {
    fn survey(
        &self,
        source: &dyn PageSource,
        verify: bool,
    ) -> Result<Survey, innodb::source::ReadError> {
        let context = Context { cfg: self.cfg.as_ref(), ..Context::unknown() };
        Survey::read(source, self.bytes, context, verify)
    }

    fn print(&self, out: &mut impl Write, survey: &Survey) -> io::Result<()> {
        self.print_space(out, survey)?;
        writeln!(out, "\npages")?;
        for (kind, count) in &survey.kinds {
            writeln!(out, "  {:26}{:>12}", kind.plural(), group(*count))?;
        }
        if survey.off_page_bytes > 0 {
            writeln!(out, "  off-page values hold {}", show(survey.off_page_bytes))?;
        }
        print_indexes(out, survey)?;
        match &survey.report {
            Some(report) => self.print_report(out, survey, report),
            None => Ok(()),
        }
    }

    fn print_space(&self, out: &mut impl Write, survey: &Survey) -> io::Result<()> {
        let header = &survey.map.header;
        let pages = group(survey.map.pages.into());
        writeln!(out, "{}: {pages} pages, {}", self.name, show(self.bytes))?;
        if let Some(cfg) = &self.cfg {
            let (table, format) = (&cfg.table, row_format(cfg));
            write!(out, "  table {table}, ROW_FORMAT={format}")?;
            match cfg.autoinc {
                0 => writeln!(out)?,
                next => writeln!(out, ", next AUTO_INCREMENT {next}")?,
            }
        }
        writeln!(
            out,
            "  space {}, size {} pages, free limit {}, flags {:#x}, next segment {}",
            header.space_id,
            group(header.size_pages.get().into()),
            group(header.free_limit.get().into()),
            header.flags,
            header.next_segment_id
        )
    }

    fn print_report(
        &self,
        out: &mut impl Write,
        survey: &Survey,
        report: &Report,
    ) -> io::Result<()> {
        let count = report.violations.count();
        match count {
            0 => writeln!(out, "\nverify: ok")?,
            1 => writeln!(out, "\nverify: 1 rule is broken")?,
            _ => writeln!(out, "\nverify: rules are broken {} times", group(count))?,
        }
        let kept = report.violations.kept();
        for violation in kept.iter().take(VIOLATIONS_MAX) {
            write!(out, "  {}: {violation}", self.name)?;
            match survey.map.role_of(violation.page.0) {
                Some(role) => writeln!(out, " (index {})", survey.indexes[role.index].name)?,
                None => writeln!(out)?,
            }
        }
        if count > VIOLATIONS_MAX as u64 {
            let more = group(count - VIOLATIONS_MAX as u64);
            writeln!(out, "  and {more} more")?;
        }
        for field in &report.unchecked {
            writeln!(
                out,
                "  not checked: the order of {} in index {}, because only a server knows the \
                 collation {}",
                field.column, field.index, field.collation
            )?;
        }
        let open = (count > 0).then(|| IN_MEMORY.to_owned());
        report.notes.iter().chain(&open).try_for_each(|note| writeln!(out, "  note: {note}"))
    }
}

fn row_format(cfg: &Cfg) -> &'static str {
    match cfg.table_flags {
        table_flags::DYNAMIC_TABLE => "DYNAMIC",
        table_flags::COMPACT_TABLE => "COMPACT",
        flags if flags & table_flags::COMPACT == 0 => "REDUNDANT",
        flags if flags & table_flags::ZIP_MASK != 0 => "COMPRESSED",
        _ => "DYNAMIC with options",
    }
}

/// One line an index, in columns as wide as they need to be.
fn print_indexes(out: &mut impl Write, survey: &Survey) -> io::Result<()> {
    let mut rows = vec![
        [
            "index",
            "id",
            "root",
            "height",
            "pages, root first",
            "records",
            "deleted",
            "fill",
            "bytes",
        ]
        .map(String::from),
    ];
    for index in &survey.indexes {
        let levels: Vec<_> = index.levels.iter().rev().map(|level| group(level.pages)).collect();
        let fill = index.levels.first().map_or(0.0, fill_percent);
        rows.push([
            index.name.clone(),
            index.id.0.to_string(),
            group(index.root.into()),
            index.levels.len().to_string(),
            levels.join(" + "),
            group(index.records()),
            match survey.report {
                Some(_) => group(index.deleted),
                None => "?".into(),
            },
            format!("{fill:.1} %"),
            show(index.pages() * PAGE_SIZE as u64),
        ]);
    }
    let width =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 9] = std::array::from_fn(width);
    writeln!(out)?;
    for row in &rows {
        write!(out, "  {:1$}", row[0], widths[0])?;
        for (cell, width) in row.iter().zip(widths).skip(1) {
            write!(out, "  {cell:>width$}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    /// Written by MariaDB 10.11; `README.md` beside it has the SQL.
    const ORDERS: &[u8] = include_bytes!("../../innodb/testdata/mariadb-10.11/orders.ibd");
    const CFG: &[u8] = include_bytes!("../../innodb/testdata/mariadb-10.11/orders.cfg");

    /// Written by MySQL 9.7.
    const ITEMS: &[u8] = include_bytes!("../../innodb/testdata/mysql-9.7/items.ibd");
    const ITEMS_CFG: &[u8] = include_bytes!("../../innodb/testdata/mysql-9.7/items.cfg");

    /// Compares with the golden text; `REWRITE_GOLDEN=1` in the environment writes it anew.
    fn assert_golden(name: &str, text: &[u8]) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../innodb/testdata");
        let path = folder.join(name);
        if std::env::var_os("REWRITE_GOLDEN").is_some() {
            std::fs::write(&path, text).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap();
        assert_eq!(String::from_utf8_lossy(text), expected, "{name}");
    }

    fn orders(bytes: u64) -> Inspected {
        Inspected { name: "orders.ibd".into(), bytes, cfg: Some(Cfg::parse(CFG).unwrap()) }
    }

    fn text(file: &[u8], verify: bool) -> Vec<u8> {
        text_of(&orders(file.len() as u64), file, verify)
    }

    fn text_of(inspected: &Inspected, file: &[u8], verify: bool) -> Vec<u8> {
        let survey = inspected.survey(&file, verify).unwrap();
        let mut out = Vec::new();
        inspected.print(&mut out, &survey).unwrap();
        out
    }

    #[test]
    fn a_file_of_a_server_prints_as_it_did() {
        assert_golden("mariadb-10.11/orders.txt", &text(ORDERS, true));
    }

    #[test]
    fn a_file_of_mysql_prints_as_it_did() {
        let (bytes, cfg) = (ITEMS.len() as u64, Some(Cfg::parse(ITEMS_CFG).unwrap()));
        let inspected = Inspected { name: "items.ibd".into(), bytes, cfg };
        let mut out = text_of(&inspected, ITEMS, true);
        // Page 0, the dictionary, and the three kinds of pages of an off-page value.
        for page_no in [0, 3, 6, 7, 17] {
            writeln!(out).unwrap();
            print_page(&mut out, &PageView::read(&ITEMS, PageNo(page_no)).unwrap()).unwrap();
        }
        assert_golden("mysql-9.7/items.txt", &out);
    }

    #[test]
    fn each_page_of_a_file_of_a_server_prints_as_it_did() {
        let mut out = Vec::new();
        for page_no in 0..(ORDERS.len() / PAGE_SIZE) as u32 {
            print_page(&mut out, &PageView::read(&ORDERS, PageNo(page_no)).unwrap()).unwrap();
            writeln!(out).unwrap();
        }
        assert_golden("mariadb-10.11/orders-pages.txt", &out);
    }

    #[test]
    fn a_broken_file_prints_what_is_broken() {
        let mut file = ORDERS.to_vec();
        file[5 * PAGE_SIZE + 200] ^= 1;
        let text = String::from_utf8(text(&file, true)).unwrap();
        assert!(
            text.contains("verify: 1 rule is broken\n  orders.ibd: page 5, byte 16380: "),
            "{text}"
        );
    }

    #[test]
    fn json_says_the_same() {
        let inspected = orders(ORDERS.len() as u64);
        let survey = inspected.survey(&ORDERS, true).unwrap();
        let value = inspected.json(&survey);
        assert_eq!(value["indexes"][0]["name"], "PRIMARY");
        assert_eq!(value["indexes"][0]["records"], 107);
        assert_eq!(value["verify"]["violations"], 0);
        let page = page_json(&PageView::read(&ORDERS, PageNo(3)).unwrap());
        assert_eq!(page["fields"][1]["value"], 3);
    }
}
