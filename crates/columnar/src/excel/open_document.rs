//! Sheets of OpenDocument workbooks: cells have the types of their values.
//!
//! Source: OASIS Open Document Format 1.3, part 3, sections 9.1 and 19.385.

use std::io::{BufRead, BufReader, Read, Seek};

use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesRef, BytesStart, Event};
use zip::ZipArchive;

use super::cell::Cell;
use super::sheet::{Sheet, SheetBuilder, no_sheet};
use crate::guard::{Problem, problem};
use crate::options::SheetOptions;

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;
/// Columns of a worksheet, and characters of a cell.
const COLUMNS_MAX: u32 = 16_384;
const CHARS_MAX: usize = 1 << 20;

/// A cell that is being read.
#[derive(Debug, Default)]
struct OpenCell {
    value_type: String,
    value: Option<String>,
    is_error: bool,
    has_formula: bool,
    repeats: u32,
    text: String,
    paragraphs: usize,
}

/// A row that is being read: its cells by columns.
#[derive(Debug, Default)]
struct OpenRow {
    repeats: u32,
    cells: Vec<(u32, Cell)>,
    column: u32,
}

/// Reads the sheet that is named, or the first one.
///
/// Errors: a workbook that is damaged, has a password, or takes more memory than there is.
pub(super) fn read<R: Read + Seek>(
    reader: R,
    builder: SheetBuilder,
    options: &SheetOptions,
) -> Result<Sheet, Problem> {
    let mut archive = ZipArchive::new(reader).map_err(problem)?;
    if let Ok(mut manifest) = archive.by_name("META-INF/manifest.xml") {
        let mut text = String::new();
        manifest.read_to_string(&mut text).map_err(problem)?;
        if text.contains(":encryption-data") {
            return Err("the workbook has a password; save a copy without it".to_owned());
        }
    }
    let content = archive.by_name("content.xml").map_err(problem)?;
    let mut xml = Reader::from_reader(BufReader::with_capacity(READ_BYTES, content));
    xml.config_mut().expand_empty_elements = true;
    xml.config_mut().check_end_names = false;
    let (mut piece, mut names) = (Vec::new(), Vec::new());
    loop {
        match xml.read_event_into(&mut piece).map_err(problem)? {
            Event::Start(tag) if tag.name().as_ref() == "table:table" => {
                let name = attribute(&tag, "table:name")?.unwrap_or_default();
                if options.sheet.as_ref().is_none_or(|wanted| *wanted == name) {
                    return TableReader { xml, builder, row: 0 }.read(&name, options);
                }
                names.push(name);
            }
            Event::Eof => {
                return Err(no_sheet(
                    options.sheet.as_deref(),
                    &mut names.iter().map(String::as_str),
                ));
            }
            _ => {}
        }
        piece.clear();
    }
}

/// The table of a sheet.
struct TableReader<R> {
    xml: Reader<R>,
    builder: SheetBuilder,
    row: u32,
}

impl<R: BufRead> TableReader<R> {
    fn read(mut self, name: &str, options: &SheetOptions) -> Result<Sheet, Problem> {
        let (mut piece, mut row) = (Vec::new(), OpenRow::default());
        loop {
            match self.xml.read_event_into(&mut piece).map_err(problem)? {
                Event::Start(tag) => match tag.name().as_ref() {
                    "table:table-row" => {
                        let repeats = count(&tag, "table:number-rows-repeated")?;
                        row = OpenRow { repeats, ..OpenRow::default() };
                    }
                    "table:table-cell" | "table:covered-table-cell" => {
                        let cell = OpenCell::of(&tag)?;
                        self.cell(cell, &mut row)?;
                    }
                    // Drawings have texts and tables of their own.
                    "table:shapes" => drop(self.skip()?),
                    _ => {}
                },
                Event::End(tag) if tag.name().as_ref() == "table:table-row" => {
                    self.end_row(&row)?
                }
                Event::End(tag) if tag.name().as_ref() == "table:table" => {
                    return self.builder.finish(name, options);
                }
                Event::Eof => return Err("the sheet is cut off".to_owned()),
                _ => {}
            }
            piece.clear();
        }
    }

    /// Reads on to the end of a cell.
    fn cell(&mut self, mut cell: OpenCell, row: &mut OpenRow) -> Result<(), Problem> {
        let mut piece = Vec::new();
        loop {
            match self.xml.read_event_into(&mut piece).map_err(problem)? {
                Event::Start(tag) => match tag.name().as_ref() {
                    "office:annotation" | "draw:frame" | "table:table" => self.skip()?,
                    name => cell.start(name, &tag)?,
                },
                Event::Text(text) => cell.push(&text.xml10_content())?,
                Event::GeneralRef(entity) => cell.push(&entity_text(&entity)?)?,
                Event::End(tag) if tag.name().as_ref().ends_with("table-cell") => break,
                Event::Eof => return Err("the sheet is cut off".to_owned()),
                _ => {}
            }
            piece.clear();
        }
        let repeats = cell.repeats;
        let value = cell.value(&mut self.builder)?;
        if value != Cell::Empty {
            let end = row.column.saturating_add(repeats);
            if end > COLUMNS_MAX {
                return Err("it has a cell outside of the 16,384 columns".to_owned());
            }
            row.cells.extend((row.column..end).map(|column| (column, value)));
        }
        row.column = row.column.saturating_add(repeats);
        Ok(())
    }

    fn end_row(&mut self, row: &OpenRow) -> Result<(), Problem> {
        if !row.cells.is_empty() {
            for number in self.row..self.row.saturating_add(row.repeats) {
                for (column, cell) in &row.cells {
                    self.builder.push(number, *column, *cell)?;
                }
            }
        }
        self.row = self.row.saturating_add(row.repeats);
        Ok(())
    }

    /// Skips to the end of an element that has begun.
    fn skip(&mut self) -> Result<(), Problem> {
        let (mut piece, mut depth) = (Vec::new(), 1usize);
        while depth > 0 {
            match self.xml.read_event_into(&mut piece).map_err(problem)? {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= 1,
                Event::Eof => return Err("the sheet is cut off".to_owned()),
                _ => {}
            }
            piece.clear();
        }
        Ok(())
    }
}

impl OpenCell {
    fn of(tag: &BytesStart<'_>) -> Result<OpenCell, Problem> {
        let value_type = attribute(tag, "office:value-type")?.unwrap_or_default();
        let key = match value_type.as_str() {
            "date" => "office:date-value",
            "time" => "office:time-value",
            "boolean" => "office:boolean-value",
            "string" => "office:string-value",
            _ => "office:value",
        };
        Ok(OpenCell {
            value: attribute(tag, key)?,
            is_error: attribute(tag, "calcext:value-type")?.as_deref() == Some("error"),
            has_formula: attribute(tag, "table:formula")?.is_some(),
            repeats: count(tag, "table:number-columns-repeated")?,
            value_type,
            ..OpenCell::default()
        })
    }

    /// Takes a tag inside of the cell.
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) -> Result<(), Problem> {
        match name {
            "text:p" | "text:h" => {
                self.paragraphs += 1;
                if self.paragraphs > 1 {
                    self.text.push('\n');
                }
            }
            "text:tab" => self.text.push('\t'),
            "text:line-break" => self.text.push('\n'),
            "text:s" => {
                let spaces = count(tag, "text:c")? as usize;
                if spaces > CHARS_MAX {
                    return Err("it has a text that is longer than a cell's".to_owned());
                }
                self.push(&" ".repeat(spaces))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn push(&mut self, text: &str) -> Result<(), Problem> {
        // Texts between the paragraphs are blanks of the file.
        if self.paragraphs > 0 {
            self.text.push_str(text);
        }
        match self.text.len() <= 4 * CHARS_MAX {
            true => Ok(()),
            false => Err("it has a text that is longer than a cell's".to_owned()),
        }
    }

    fn value(self, builder: &mut SheetBuilder) -> Result<Cell, Problem> {
        if self.is_error {
            let text = if self.text.is_empty() { "#ERROR!" } else { &self.text };
            return Ok(Cell::Error(builder.text(text)?));
        }
        let value = self.value.unwrap_or_default();
        Ok(match self.value_type.as_str() {
            "float" | "percentage" | "currency" => match value.parse() {
                Ok(number) => Cell::Number(number),
                Err(_) => return Err(format!("it has a number `{}`", value.escape_debug())),
            },
            "date" | "time" => builder.iso(&value)?,
            "boolean" => Cell::Bool(value.eq_ignore_ascii_case("true")),
            "string" if value.is_empty() => Cell::Text(builder.text(&self.text)?),
            "string" => Cell::Text(builder.text(&value)?),
            _ if self.has_formula => Cell::Unstored,
            _ => Cell::Empty,
        })
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Result<Option<String>, Problem> {
    let Some(found) = tag.try_get_attribute(name).map_err(problem)? else { return Ok(None) };
    Ok(Some(unescape(&found.value).map_err(problem)?.into_owned()))
}

/// A number of repetitions, 1 where none is said.
fn count(tag: &BytesStart<'_>, name: &str) -> Result<u32, Problem> {
    let Some(text) = attribute(tag, name)? else { return Ok(1) };
    text.parse().map_err(|_| format!("it has a number `{}`", text.escape_debug()))
}

fn entity_text(entity: &BytesRef<'_>) -> Result<String, Problem> {
    if let Some(character) = entity.resolve_char_ref().map_err(problem)? {
        return Ok(character.to_string());
    }
    let name: &str = entity;
    let text = resolve_predefined_entity(name).map(str::to_owned);
    text.ok_or_else(|| format!("it has an unknown entity `{}`", name.escape_debug()))
}
