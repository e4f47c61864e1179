//! Workbooks that tests write part by part: those that would take all memory, and cells of rare kinds.

use std::io::Write as _;

use columnar::{ColumnarOptions, Kind, SheetOptions};
use sources::{Chunk, PartPlace, ReadAs, Result};
use values::SqlType;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::excel::{NumberedRows, joined, rows, text};

const RELATIONSHIPS: &str = "<Relationships><Relationship Id='a' \
    Type='x/relationships/officeDocument' Target='xl/workbook.xml'/></Relationships>";
const SHEETS: &str = "<Relationships><Relationship Id='a' Type='x/worksheet' \
    Target='worksheets/sheet1.dat'/></Relationships>";
const WORKBOOK: &str = "<workbook><sheets><sheet name='S' r:id='a'/></sheets></workbook>";

fn zip(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in parts {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// A workbook whose sheet has these rows, with other parts.
fn xlsx(cells: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let sheet = format!("<worksheet><sheetData>{cells}</sheetData></worksheet>");
    let mut parts = vec![
        ("_rels/.rels", RELATIONSHIPS),
        ("xl/_rels/workbook.xml.rels", SHEETS),
        ("xl/workbook.xml", WORKBOOK),
        ("xl/worksheets/sheet1.dat", &*sheet),
    ];
    parts.retain(|(name, _)| more.iter().all(|(other, _)| name != other));
    parts.extend(more);
    zip(&parts)
}

fn ods(content: &str) -> Vec<u8> {
    zip(&[("content.xml", content)])
}

/// An OpenDocument workbook whose sheet has these rows.
fn ods_rows(rows: &str) -> Vec<u8> {
    ods(&format!("<table:table table:name='S'>{rows}</table:table>"))
}

fn read(
    bytes: &[u8],
    has_names: bool,
    columns: &[Option<SqlType>],
) -> Result<(Vec<String>, NumberedRows)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("book");
    std::fs::write(&path, bytes).unwrap();
    rows(&path, SheetOptions { has_names, ..SheetOptions::default() }, columns)
}

/// The rows of a workbook whose columns are texts, without names.
fn lines(bytes: &[u8]) -> Vec<String> {
    let (names, _) = read(bytes, false, &[]).unwrap();
    let (_, rows) = read(bytes, false, &vec![Some(text()); names.len()]).unwrap();
    rows.iter().map(|(_, row)| joined(row)).collect()
}

#[track_caller]
fn refused(bytes: &[u8], problem: &str) {
    let error = read(bytes, false, &[]).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains(problem), "{error}, not {problem}");
}

#[test]
fn small_files_that_take_all_memory_are_errors() {
    let long = "<".repeat(5 << 20);
    let words = " word".repeat(600_000);
    let texts = |texts: &str| xlsx("", &[("xl/sharedStrings.xml", texts)]);
    refused(&texts("<sst uniqueCount='100000000000'/>"), "reading it takes more than the 16 MiB");
    refused(
        &texts(&format!("<sst>{}</sst>", "<si/>".repeat(500_000))),
        "sharedStrings.xml: reading",
    );
    let fonts = format!("<font><name val='{}'/></font>", "n".repeat(100_000));
    let styles = format!("<fonts>{fonts}</fonts>{}", "<xf fontId='0'></xf>".repeat(2_000));
    refused(&xlsx("", &[("xl/styles.xml", &styles)]), "styles.xml: reading it takes");
    for (cells, problem) in [
        (format!("<!--{long}-->"), "longer than a cell's"),
        (format!("<row><c r='{long}'/></row>"), "longer than a cell's"),
        (format!("<row><c><is><t>{words}<x/>{words}</t></is></c></row>"), "longer than a cell's"),
        (format!("<row><c t='str'><v>{words}<x/>{words}</v></c></row>"), "longer than a cell's"),
        ("<row><c t='str'><v><![CDATA[a]]></v></c></row>".to_owned(), "CDATA section"),
        ("<row><c>".repeat(600), "nested deeper"),
        (format!("<row>{}</row>", "<c><f/></c>".repeat(800_000)), "use more --memory"),
    ] {
        refused(&xlsx(&cells, &[]), problem);
    }
    refused(&ods(&format!("<table:table table:name='{long}'>")), "longer than a cell's");
    let names = format!("<table:table table:name='{}'/>", "n".repeat(100_000)).repeat(200);
    let hidden =
        "<style:style style:name='h'><style:table-properties table:display='false'/></style:style>";
    let hidden_names = names.replace("<table:table ", "<table:table table:style-name='h' ");
    refused(&ods(&format!("<a>{hidden}{hidden_names}</a>")), "use more --memory");
}

#[test]
fn other_workbooks_are_refused_with_advice() {
    let binary = RELATIONSHIPS.replace("workbook.xml", "workbook.bin");
    refused(&xlsx("", &[("_rels/.rels", &binary)]), "binary workbook (.xlsb); save it as .xlsx");
    refused(&zip(&[("encrypted-package", "x")]), "has a password; save a copy without it");
    refused(&zip(&[("orders.csv", "x")]), "has no workbook in it");
    refused(b"a,b\n1,2\n", "it is not a workbook");
}

#[test]
fn formats_of_dates_are_those_of_the_workbook() {
    let styles = "<styleSheet><cellXfs><xf numFmtId='0'></xf><xf numFmtId='32'></xf>\
                  <xf numFmtId='27'></xf></cellXfs></styleSheet>";
    let cells = "<row><c s='1'><v>0.25</v></c><c s='2'><v>25570</v></c></row>";
    let with_styles = xlsx(cells, &[("xl/styles.xml", styles)]);
    assert_eq!(lines(&with_styles), ["06:00:00|1970-01-02"]);
    let problem = "sheet S, cell A1: the workbook lacks the number format of the cell";
    refused(&xlsx(cells, &[]), problem);
}

#[test]
fn doubles_have_all_bits_beside_texts() {
    let cells = "<row><c><v>0.30000000000000004</v></c></row>\
                 <row><c t='str'><v>1.5</v></c></row><row><c><v>1E-10</v></c></row>";
    let double = SqlType::Double { unsigned: false, digits: None };
    let (_, rows) = read(&xlsx(cells, &[]), false, &[Some(double)]).unwrap();
    let rows: Vec<String> = rows.iter().map(|(_, row)| joined(row)).collect();
    assert_eq!(rows, ["0.30000000000000004", "1.5", "1e-10"]);
}

#[test]
fn blank_columns_keep_their_place_without_names() {
    let cells = "<row r='1'><c r='A1'><v>1</v></c><c r='C1'><v>3</v></c></row>\
                 <row r='2'><c r='D2'><v>4</v></c></row>";
    let (names, _) = read(&xlsx(cells, &[]), false, &[]).unwrap();
    assert_eq!(names, ["A", "B", "C", "D"]);
    assert_eq!(lines(&xlsx(cells, &[])), ["1|NULL|3|NULL", "NULL|NULL|NULL|4"]);
}

#[test]
fn errors_name_sheet_and_cell() {
    let cell = |value: &str| format!("<row r='4'><c r='B4'><v>1</v></c>{value}</row>");
    refused(
        &xlsx(&cell("<c r='C4' t='e'><v>#GETTING_DATA</v></c>"), &[]),
        "sheet S, after cell B4: Unsupported cell error value '#GETTING_DATA'",
    );
    refused(
        &xlsx(&cell("<c r='B4'><v>2</v></c>"), &[]),
        "sheet S, cell B4: the sheet has the cell twice",
    );
    refused(
        &xlsx(&cell("<c r='B3'><v>2</v></c>"), &[]),
        "sheet S, cell B3: its rows are not in order",
    );
    for (cell, problem) in [
        ("office:value-type='float' office:value=''", "it has a number ``"),
        ("office:value-type='boolean'", "it has a truth value ``"),
        ("office:value-type='money'", "it has a cell of type `money`"),
        ("table:number-columns-repeated='0'", "it is repeated 0 times"),
    ] {
        let rows = format!(
            "<table:table-row table:number-rows-repeated='2'/><table:table-row>\
             <table:table-cell/><table:table-cell {cell}/></table:table-row>"
        );
        refused(&ods_rows(&rows), &format!("sheet S, cell B3: {problem}"));
    }
}

#[test]
fn open_document_cells_have_their_own_texts() {
    let string = "<table:table-cell office:value-type='string'>";
    let rows = format!(
        "<table:table-row><table:table-cell><text:p>foo</text:p></table:table-cell>\
         {string}<text:p>a<![CDATA[<b>]]></text:p></table:table-cell>\
         {string}<text:p>c</text:p><draw:custom-shape><text:p>shape</text:p></draw:custom-shape>\
         <draw:g><draw:frame><text:p>x</text:p></draw:frame></draw:g></table:table-cell>\
         {string}<text:p><text:ruby><text:ruby-base>d</text:ruby-base><text:ruby-text>e</text:ruby-text>\
         </text:ruby></text:p></table:table-cell>\
         <table:table-cell office:value-type='boolean' office:boolean-value='false'/>\
         <table:table-cell office:value-type='time' office:time-value='-PT01H30M00S'/>\
         <table:table-cell office:value-type='date' office:date-value='2024-01-01T12:34:56.789123'/>\
         </table:table-row>"
    );
    let lines = lines(&ods_rows(&rows));
    assert_eq!(lines, ["foo|a<b>|c|d|FALSE|-01:30:00|2024-01-01 12:34:56.789000"]);
}

#[test]
fn hidden_open_document_sheets_are_loaded_by_name() {
    let style =
        "<style:style style:name='h'><style:table-properties table:display='false'/></style:style>";
    let sheet = |name: &str, style: &str| {
        format!(
            "<table:table table:name='{name}' table:style-name='{style}'><table:table-row>\
             <table:table-cell office:value-type='string'><table:table table:name='T'/>\
             <text:p>{name}</text:p></table:table-cell></table:table-row></table:table>"
        )
    };
    let book = |sheets: &[String]| ods(&format!("<a>{style}{}</a>", sheets.concat()));
    assert_eq!(lines(&book(&[sheet("A", "h"), sheet("B", "v")])), ["B"]);
    assert_eq!(lines(&book(&[sheet("A", "h"), sheet("B", "h")])), ["A"]);
}

#[test]
fn cells_of_several_workbooks_are_those_of_each_file() {
    let cell = |text: &str| format!("<c t='str'><v>{text}</v></c>");
    let rows = |names: [&str; 2]| {
        let names = names.map(cell).concat();
        xlsx(&format!("<row>{names}</row><row>{}{}</row>", cell("1"), cell("2")), &[])
    };
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|name| folder.path().join(name));
    std::fs::write(&paths[0], rows(["id", "v"])).unwrap();
    std::fs::write(&paths[1], rows(["v", "id"])).unwrap();
    let mut source = columnar::open(Kind::Excel, &paths, ColumnarOptions::default()).unwrap();
    source.begin(ReadAs { chunk_bytes: 64, ..ReadAs::default() }).unwrap();
    let (mut chunk, mut cells) = (Chunk::default(), Vec::new());
    while source.next_chunk(&mut chunk).unwrap() {
        let PartPlace { name, cells: Some(columns) } = &**chunk.part.as_ref().unwrap() else {
            panic!("no cells")
        };
        cells.push(format!("{name} {}", columns.iter().flatten().cloned().collect::<String>()));
    }
    assert_eq!(cells, ["sheet S AB", "sheet S BA"]);
}

/// A number with a fraction made bytes of the digits of all others.
#[test]
fn whole_numbers_beside_a_fraction_are_bits() {
    let cell = |value: &str| format!("<row><c><v>{value}</v></c></row>");
    let book = xlsx(&["1", "9", "2.5", "65", "-3"].map(cell).concat(), &[]);
    let (_, rows) = read(&book, false, &[Some(SqlType::Bit { bits: 8 })]).unwrap();
    let rows: Vec<String> = rows.iter().map(|(_, row)| joined(row)).collect();
    assert_eq!(rows, ["\u{1}", "\u{9}", "!2.5", "A", "!-3"]);
}
