//! Workbooks to sheets: cells are read one after the other, and dates by the number formats of their cells.

use std::io::{BufReader, Read, Seek};
use std::sync::Arc;

use calamine::{
    CellErrorType, Data, DataRef, ExcelDateTime, Reader, SheetType, SheetVisible, Style,
};
use calamine::{Xls, Xlsb, Xlsx};
use face::option::MEMORY;
use sources::InputBytes;

use super::archive::{self, InputReader, WorkbookKind};
use super::calendar;
use super::cell::Cell;
use super::number;
use super::number_format::{ShownParts, shown_parts};
use super::sheet::{Sheet, SheetBuilder, no_sheet};
use crate::guard::{Problem, problem};
use crate::options::SheetOptions;

type Input = BufReader<InputReader>;

/// First bytes of zip archives, and of the older files.
const ZIP: &[u8] = b"PK\x03\x04";
/// Memory for a byte of an older file, whose sheets are all read.
const XLS_FACTOR: u64 = 8;
/// Names of streams in older files, in the letters of two bytes that they have.
const PASSWORD_STREAM: &str = "EncryptedPackage";

/// Reads the sheet that is named, or the first one.
///
/// Errors: a workbook that is damaged, has a password, or takes more memory than there is.
pub(super) fn read(
    input: &Arc<InputBytes>,
    bytes: u64,
    options: &SheetOptions,
    memory_bytes: u64,
) -> Result<Sheet, Problem> {
    let mut head = [0; 4];
    let size = input.read_at(0, &mut head).map_err(problem)?;
    let is_zip = size == head.len() && head == ZIP;
    let kind = match is_zip {
        true => archive::check(input, bytes, memory_bytes)?,
        false => WorkbookKind::Xls,
    };
    let builder = SheetBuilder::new(memory_bytes);
    let reader = archive::reader(input, bytes);
    match kind {
        WorkbookKind::Xlsx => xlsx(reader, builder, options),
        WorkbookKind::Xlsb => xlsb(reader, builder, options),
        WorkbookKind::Ods => super::open_document::read(reader, builder, options),
        WorkbookKind::Xls => {
            if bytes > memory_bytes / XLS_FACTOR {
                return Err(format!(
                    "reading it takes {XLS_FACTOR} times its size: use more {MEMORY}"
                ));
            }
            xls(reader, builder, options)
        }
    }
}

fn xlsx(reader: Input, builder: SheetBuilder, options: &SheetOptions) -> Result<Sheet, Problem> {
    let mut workbook = Xlsx::new(reader).map_err(problem)?;
    let name = sheet_name(workbook.sheets_metadata(), options)?;
    let memory_bytes = builder.memory_bytes();
    let (builder, has_blanks) = xlsx_cells(&mut workbook, &name, builder, &[])?;
    // A blank cell may be a formula without a value: looking for these takes another reading.
    let unstored = if has_blanks { unstored_formulas(&mut workbook, &name)? } else { Vec::new() };
    let builder = match unstored.is_empty() {
        true => builder,
        false => {
            drop(builder);
            let builder = SheetBuilder::new(memory_bytes);
            xlsx_cells(&mut workbook, &name, builder, &unstored)?.0
        }
    };
    builder.finish(&name, options)
}

/// Reads the cells of a sheet, some of which are formulas without a value; whether there are others without one.
fn xlsx_cells<R: Read + Seek>(
    workbook: &mut Xlsx<R>,
    name: &str,
    mut builder: SheetBuilder,
    unstored: &[(u32, u32)],
) -> Result<(SheetBuilder, bool), Problem> {
    let is_1904 = workbook.has_1904_epoch();
    let mut cells = workbook.worksheet_cells_reader(name).map_err(problem)?;
    let format = |style: &Style| shown_parts(&style.number_format.as_ref()?.format_code);
    let formats: Vec<Option<ShownParts>> = cells.styles().iter().map(format).collect();
    let mut unstored = unstored.iter().peekable();
    let mut has_blanks = false;
    while let Some((cell, style)) = cells.next_cell_with_style_id().map_err(problem)? {
        let (row, column) = cell.get_position();
        let parts = formats.get(style).copied().flatten();
        let mut value = value(cell.get_value(), parts, is_1904, &mut builder)?;
        has_blanks |= value == Cell::Empty;
        if unstored.next_if_eq(&&(row, column)).is_some() {
            value = Cell::Unstored;
        }
        builder.push(row, column, value)?;
    }
    Ok((builder, has_blanks))
}

/// Places of formulas without a stored value, in the order of the sheet.
fn unstored_formulas<R: Read + Seek>(
    workbook: &mut Xlsx<R>,
    name: &str,
) -> Result<Vec<(u32, u32)>, Problem> {
    let mut cells = workbook.worksheet_cells_reader(name).map_err(problem)?;
    let mut places = Vec::new();
    while let Some(record) = cells.next_cell_with_formula_metadata().map_err(problem)? {
        if record.formula.is_some() && record.value == DataRef::Empty {
            places.push(record.pos);
        }
    }
    Ok(places)
}

fn xlsb(
    reader: Input,
    mut builder: SheetBuilder,
    options: &SheetOptions,
) -> Result<Sheet, Problem> {
    let mut workbook = Xlsb::new(reader).map_err(problem)?;
    let name = sheet_name(workbook.sheets_metadata(), options)?;
    let is_1904 = workbook.has_1904_epoch();
    let mut cells = workbook.worksheet_cells_reader(&name).map_err(problem)?;
    while let Some(cell) = cells.next_cell().map_err(problem)? {
        let (row, column) = cell.get_position();
        let value = value(cell.get_value(), None, is_1904, &mut builder)?;
        builder.push(row, column, value)?;
    }
    builder.finish(&name, options)
}

fn xls(reader: Input, mut builder: SheetBuilder, options: &SheetOptions) -> Result<Sheet, Problem> {
    let mut reader = reader;
    if has_password(&mut reader)? {
        return Err("the workbook has a password; save a copy without it".to_owned());
    }
    reader.rewind().map_err(problem)?;
    let mut workbook = Xls::new(reader).map_err(problem)?;
    let name = sheet_name(workbook.sheets_metadata(), options)?;
    let is_1904 = workbook.has_1904_epoch();
    let range = workbook.worksheet_range(&name).map_err(problem)?;
    let (first_row, first_column) = range.start().unwrap_or_default();
    for (row, column, data) in range.used_cells() {
        let value = value(&data_ref(data), None, is_1904, &mut builder)?;
        builder.push(first_row + row as u32, first_column + column as u32, value)?;
    }
    builder.finish(&name, options)
}

fn data_ref(data: &Data) -> DataRef<'_> {
    match data {
        Data::Int(number) => DataRef::Int(*number),
        Data::Float(number) => DataRef::Float(*number),
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => {
            DataRef::SharedString(text)
        }
        Data::Bool(is_true) => DataRef::Bool(*is_true),
        Data::DateTime(moment) => DataRef::DateTime(*moment),
        Data::Error(error) => DataRef::Error(error.clone()),
        _ => DataRef::Empty,
    }
}

/// True if an older file is only the cover of an encrypted workbook.
fn has_password(reader: &mut Input) -> Result<bool, Problem> {
    let stream: Vec<u8> = PASSWORD_STREAM.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let (mut piece, mut kept) = (vec![0; 64 << 10], 0);
    loop {
        let size = reader.read(&mut piece[kept..]).map_err(problem)?;
        if size == 0 {
            return Ok(false);
        }
        let end = kept + size;
        if piece[..end].windows(stream.len()).any(|window| window == stream) {
            return Ok(true);
        }
        kept = end.min(stream.len() - 1);
        piece.copy_within(end - kept..end, 0);
    }
}

/// The name of the sheet: that which is asked for, or the first one that is visible.
fn sheet_name(sheets: &[calamine::Sheet], options: &SheetOptions) -> Result<String, Problem> {
    let all = || sheets.iter().filter(|sheet| sheet.typ == SheetType::WorkSheet);
    let visible = || all().find(|sheet| sheet.visible == SheetVisible::Visible);
    let found = match &options.sheet {
        Some(name) => all().find(|sheet| sheet.name == *name),
        None => visible().or_else(|| all().next()),
    };
    found.map(|sheet| sheet.name.clone()).ok_or_else(|| {
        no_sheet(options.sheet.as_deref(), &mut all().map(|sheet| sheet.name.as_str()))
    })
}

/// A cell's value.
fn value(
    data: &DataRef<'_>,
    parts: Option<ShownParts>,
    is_1904: bool,
    builder: &mut SheetBuilder,
) -> Result<Cell, Problem> {
    Ok(match data {
        DataRef::Empty => Cell::Empty,
        DataRef::Int(number) => Cell::Number(*number as f64),
        DataRef::Float(number) => Cell::Number(*number),
        DataRef::Bool(is_true) => Cell::Bool(*is_true),
        DataRef::SharedString(text) => Cell::Text(builder.shared_text(text)?),
        DataRef::String(text) => Cell::Text(builder.text(text)?),
        DataRef::DateTime(moment) => of_moment(*moment, parts, is_1904, builder)?,
        DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => builder.iso(text)?,
        DataRef::Error(error) => Cell::Error(builder.text(error_text(error))?),
    })
}

fn of_moment(
    moment: ExcelDateTime,
    parts: Option<ShownParts>,
    is_1904: bool,
    builder: &mut SheetBuilder,
) -> Result<Cell, Problem> {
    let serial = moment.as_f64();
    let cell = match moment.is_duration() {
        true => calendar::of_duration(serial),
        false => calendar::of_serial(serial, parts, is_1904),
    };
    match cell {
        Some(cell) => Ok(cell),
        None => Ok(Cell::NoDate(builder.text(&number::text(serial))?)),
    }
}

fn error_text(error: &CellErrorType) -> &'static str {
    match error {
        CellErrorType::Div0 => "#DIV/0!",
        CellErrorType::NA => "#N/A",
        CellErrorType::Name => "#NAME?",
        CellErrorType::Null => "#NULL!",
        CellErrorType::Num => "#NUM!",
        CellErrorType::Ref => "#REF!",
        CellErrorType::Value => "#VALUE!",
        CellErrorType::GettingData => "#GETTING_DATA",
    }
}
