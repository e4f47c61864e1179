//! Workbooks to sheets: cells are read one after the other, and dates by the number formats of their cells.

use std::io::{BufReader, Read, Seek};
use std::sync::Arc;

use calamine::{
    CellErrorType, DataRef, ExcelDateTime, Reader, SheetType, SheetVisible, Style, Xlsx,
};
use sources::InputBytes;

use super::archive::{self, InputReader, WorkbookKind};
use super::calendar;
use super::cell::{Cell, placed};
use super::number;
use super::number_format::{ShownParts, shown_parts};
use super::sheet::{Sheet, SheetBuilder, no_sheet};
use crate::guard::{Problem, problem};
use crate::kind::{OLE, ZIP};
use crate::options::SheetOptions;

type Input = BufReader<InputReader>;

/// A format that says nothing of a number.
const GENERAL: &str = "General";

/// Reads the sheet that is named, or the first one.
///
/// Errors: a workbook that is damaged, has a password, or takes more memory than there is.
pub(super) fn read(
    input: &Arc<InputBytes>,
    bytes: u64,
    options: &SheetOptions,
    memory_bytes: u64,
) -> Result<Sheet, Problem> {
    let mut head = [0; 8];
    let size = input.read_at(0, &mut head).map_err(problem)?;
    let head = &head[..size];
    if head.starts_with(OLE) {
        return Err("it is an old workbook (.xls), or one with a password; save it as .xlsx without a password"
            .to_owned());
    }
    if !head.starts_with(ZIP) {
        return Err("it is not a workbook (.xlsx, .xlsm, .ods)".to_owned());
    }
    let (kind, kept) = archive::check(input, bytes, memory_bytes)?;
    let builder = SheetBuilder::new(memory_bytes - kept);
    let reader = archive::reader(input, bytes);
    match kind {
        WorkbookKind::Xlsx => xlsx(reader, builder, options),
        WorkbookKind::Ods => super::open_document::read(reader, builder, options),
    }
}

fn xlsx(reader: Input, builder: SheetBuilder, options: &SheetOptions) -> Result<Sheet, Problem> {
    let mut workbook = Xlsx::new(reader).map_err(problem)?;
    let name = sheet_name(workbook.sheets_metadata(), options)?;
    let memory_bytes = builder.memory_bytes();
    let (mut builder, has_blanks) = xlsx_cells(&mut workbook, &name, builder, &[])?;
    if has_blanks {
        // A blank cell may be a formula without a value: looking for these takes another reading.
        let unstored = unstored_formulas(&mut workbook, &name, &mut builder)?;
        if !unstored.is_empty() {
            drop(builder);
            let places = size_of_val(&*unstored) as u64;
            let again = SheetBuilder::new(memory_bytes.saturating_sub(places));
            builder = xlsx_cells(&mut workbook, &name, again, &unstored)?.0;
        }
    }
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
    let format = |style: &Style| {
        let code = &style.number_format.as_ref()?.format_code;
        if code == GENERAL { None } else { shown_parts(code) }
    };
    let formats: Vec<Option<ShownParts>> = cells.styles().iter().map(format).collect();
    let mut unstored = unstored.iter().peekable();
    let (mut has_blanks, mut last) = (false, None);
    loop {
        let next = cells.next_cell_with_style_id();
        let next = next.map_err(|error| placed(name, "after cell", last, &problem(error)))?;
        let Some((cell, style)) = next else { return Ok((builder, has_blanks)) };
        last = Some(cell.get_position());
        let (row, column) = cell.get_position();
        let here = |problem: Problem| placed(name, "cell", last, &problem);
        let data = cell.get_value();
        if style > 0 && style >= formats.len() && matches!(data, DataRef::Float(_)) {
            return Err(here("the workbook lacks the number format of the cell".to_owned()));
        }
        let parts = formats.get(style).copied().flatten();
        let mut value = value(data, parts, is_1904, &mut builder).map_err(here)?;
        has_blanks |= value == Cell::Empty;
        if unstored.next_if_eq(&&(row, column)).is_some() {
            value = Cell::Unstored;
        }
        builder.push(row, column, value).map_err(here)?;
    }
}

/// Places of formulas without a stored value, in the order of the sheet.
fn unstored_formulas<R: Read + Seek>(
    workbook: &mut Xlsx<R>,
    name: &str,
    builder: &mut SheetBuilder,
) -> Result<Vec<(u32, u32)>, Problem> {
    let mut cells = workbook.worksheet_cells_reader(name).map_err(problem)?;
    let mut places = Vec::new();
    while let Some(record) = cells.next_cell_with_formula_metadata().map_err(problem)? {
        if record.formula.is_some() && record.value == DataRef::Empty {
            // A vector that grows has both of its places for a moment.
            builder.take(3 * size_of_val(&record.pos) as u64)?;
            places.push(record.pos);
        }
    }
    Ok(places)
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
