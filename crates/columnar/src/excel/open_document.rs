//! Sheets of OpenDocument workbooks: cells have the types of their values.
//!
//! Source: OASIS Open Document Format 1.3, part 3, sections 9.1 and 19.385.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Seek};

use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesRef, BytesStart, Event};
use zip::ZipArchive;

use super::archive::PASSWORD;
use super::cell::{Cell, placed};
use super::sheet::{Sheet, SheetBuilder, no_sheet};
use crate::guard::{Problem, problem};
use crate::options::SheetOptions;

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;
/// Columns of a worksheet, and characters of a cell.
const COLUMNS_MAX: u32 = 16_384;
const CHARS_MAX: usize = 1 << 20;
/// Bytes of a name besides its letters.
const NAME_BYTES: u64 = 64;
const CUT_OFF: &str = "the sheet is cut off";

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
            return Err(PASSWORD.to_owned());
        }
    }
    let (mut builder, mut names) = (builder, Vec::new());
    // The first sheet of all is loaded where all are hidden.
    for has_hidden in [options.sheet.is_some(), true] {
        let content = archive.by_name("content.xml").map_err(problem)?;
        let mut xml = Reader::from_reader(BufReader::with_capacity(READ_BYTES, content));
        xml.config_mut().expand_empty_elements = true;
        xml.config_mut().check_end_names = false;
        names.clear();
        if find_table(&mut xml, &mut builder, options, has_hidden, &mut names)? {
            let name = names.pop().unwrap_or_default();
            let mut table = TableReader { xml, builder, row: 0, open: OpenRow::default() };
            let read = table.read();
            let place = (table.row, table.open.column);
            read.map_err(|problem| placed(&name, "cell", Some(place), &problem))?;
            return table.builder.finish(&name, options);
        }
    }
    Err(no_sheet(options.sheet.as_deref(), &mut names.iter().map(String::as_str)))
}

/// Reads on to the sheet that is named, or the first one: its name is the last of the names then.
fn find_table(
    xml: &mut Reader<impl BufRead>,
    builder: &mut SheetBuilder,
    options: &SheetOptions,
    has_hidden: bool,
    names: &mut Vec<String>,
) -> Result<bool, Problem> {
    let (mut piece, mut style, mut hidden) = (Vec::new(), String::new(), HashSet::new());
    loop {
        match xml.read_event_into(&mut piece).map_err(problem)? {
            Event::Start(tag) => match tag.name().as_ref() {
                "style:style" => style = attribute(&tag, "style:name")?.unwrap_or_default(),
                "style:table-properties"
                    if attribute(&tag, "table:display")?.as_deref() == Some("false") =>
                {
                    builder.take(style.len() as u64 + NAME_BYTES)?;
                    hidden.insert(std::mem::take(&mut style));
                }
                "table:table" => {
                    let name = attribute(&tag, "table:name")?.unwrap_or_default();
                    let style = attribute(&tag, "table:style-name")?.unwrap_or_default();
                    let is_wanted = options.sheet.as_ref().is_none_or(|wanted| *wanted == name);
                    builder.take(name.len() as u64 + NAME_BYTES)?;
                    names.push(name);
                    if is_wanted && (has_hidden || !hidden.contains(&style)) {
                        return Ok(true);
                    }
                    skip(xml)?;
                }
                _ => {}
            },
            Event::Eof => return Ok(false),
            _ => {}
        }
        piece.clear();
    }
}

/// Skips to the end of an element that has begun.
fn skip(xml: &mut Reader<impl BufRead>) -> Result<(), Problem> {
    let (mut piece, mut depth) = (Vec::new(), 1usize);
    while depth > 0 {
        match xml.read_event_into(&mut piece).map_err(problem)? {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            Event::Eof => return Err(CUT_OFF.to_owned()),
            _ => {}
        }
        piece.clear();
    }
    Ok(())
}

/// True for elements of a cell whose texts are not the cell's: notes, shapes, tables and readings.
fn has_other_texts(name: &str) -> bool {
    matches!(name, "office:annotation" | "table:table" | "text:ruby-text")
        || name.starts_with("draw:")
        || name.starts_with("dr3d:")
}

/// The table of a sheet.
struct TableReader<R> {
    xml: Reader<R>,
    builder: SheetBuilder,
    row: u32,
    open: OpenRow,
}

impl<R: BufRead> TableReader<R> {
    fn read(&mut self) -> Result<(), Problem> {
        let mut piece = Vec::new();
        loop {
            match self.xml.read_event_into(&mut piece).map_err(problem)? {
                Event::Start(tag) => match tag.name().as_ref() {
                    "table:table-row" => {
                        let repeats = repeats(&tag, "table:number-rows-repeated")?;
                        self.open = OpenRow { repeats, ..OpenRow::default() };
                    }
                    "table:table-cell" | "table:covered-table-cell" => {
                        let cell = OpenCell::of(&tag)?;
                        self.cell(cell)?;
                    }
                    // Drawings have texts and tables of their own.
                    "table:shapes" => skip(&mut self.xml)?,
                    _ => {}
                },
                Event::End(tag) if tag.name().as_ref() == "table:table-row" => self.end_row()?,
                Event::End(tag) if tag.name().as_ref() == "table:table" => return Ok(()),
                Event::Eof => return Err(CUT_OFF.to_owned()),
                _ => {}
            }
            piece.clear();
        }
    }

    /// Reads on to the end of a cell.
    fn cell(&mut self, mut cell: OpenCell) -> Result<(), Problem> {
        let mut piece = Vec::new();
        loop {
            match self.xml.read_event_into(&mut piece).map_err(problem)? {
                Event::Start(tag) => match tag.name().as_ref() {
                    name if has_other_texts(name) => skip(&mut self.xml)?,
                    name => cell.start(name, &tag)?,
                },
                Event::Text(text) => cell.push(&text.xml10_content())?,
                Event::CData(text) => cell.push(&text.xml10_content())?,
                Event::GeneralRef(entity) => cell.push(&entity_text(&entity)?)?,
                Event::End(tag) if tag.name().as_ref().ends_with("table-cell") => break,
                Event::Eof => return Err(CUT_OFF.to_owned()),
                _ => {}
            }
            piece.clear();
        }
        let (repeats, row) = (cell.repeats, &mut self.open);
        let value = cell.value(&mut self.builder)?;
        let end = row.column.saturating_add(repeats);
        if value != Cell::Empty {
            if end > COLUMNS_MAX {
                return Err("it is outside of the 16,384 columns".to_owned());
            }
            row.cells.extend((row.column..end).map(|column| (column, value)));
        }
        row.column = end;
        Ok(())
    }

    fn end_row(&mut self) -> Result<(), Problem> {
        let row = std::mem::take(&mut self.open);
        let end = self.row.saturating_add(row.repeats);
        if !row.cells.is_empty() {
            for number in self.row..end {
                for (column, cell) in &row.cells {
                    self.builder.push(number, *column, *cell)?;
                }
            }
        }
        self.row = end;
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
            repeats: repeats(tag, "table:number-columns-repeated")?,
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
            "boolean" if value == "true" || value == "false" => Cell::Bool(value == "true"),
            "boolean" => return Err(format!("it has a truth value `{}`", value.escape_debug())),
            "string" if value.is_empty() => Cell::Text(builder.text(&self.text)?),
            "string" => Cell::Text(builder.text(&value)?),
            "" | "void" if self.has_formula => Cell::Unstored,
            "" | "void" if self.text.is_empty() => Cell::Empty,
            "" | "void" => Cell::Text(builder.text(&self.text)?),
            other => return Err(format!("it has a cell of type `{}`", other.escape_debug())),
        })
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Result<Option<String>, Problem> {
    let Some(found) = tag.try_get_attribute(name).map_err(problem)? else { return Ok(None) };
    Ok(Some(unescape(&found.value).map_err(problem)?.into_owned()))
}

/// Repetitions of a row or cell.
fn repeats(tag: &BytesStart<'_>, name: &str) -> Result<u32, Problem> {
    match count(tag, name)? {
        0 => Err("it is repeated 0 times".to_owned()),
        repeats => Ok(repeats),
    }
}

/// A number, 1 where none is said.
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
