//! Which column each field of a line goes to: by `--columns`, by a header, or in table order.

use face::option::{BY_POSITION, COLUMNS, FIELDS_TERMINATED_BY, HEADER, IGNORE_UNKNOWN_COLUMNS};
use job::error::Error;
use job::options::{InputOptions, LoadOptions, RowRules};
use schema::{Column, Table};
use server::identifier::quote_name;
use server::{Session, identifier};
use sources::{FieldKind, FileSource, Layout, Source, SourceExt as _, remote};
use sql::Literals;
use values::{Family, SqlType};

/// Bytes that a BLOB or TEXT counts for the size of a row of fixed size.
///
/// Source: `Load_data_param::add_outvar_field` in the server's `sql/sql_load.cc`.
const BLOB_ROW_BYTES: u32 = 256;
/// Server error of a column that is not there.
const ER_BAD_FIELD: u16 = 1054;

/// The fields of a line in order.
#[derive(Clone, Debug)]
pub struct InputFields {
    /// Column of the table that each goes to; none for one that is left out.
    pub columns: Vec<Option<usize>>,
    /// Names in the header that are no column's, and were left out.
    pub left_out: Vec<String>,
    /// Columns that get moments of the input as clocks in UTC show them.
    pub in_utc: Vec<String>,
    /// Notes about the inputs.
    pub of_inputs: Vec<String>,
}

impl InputFields {
    /// Fields for these columns.
    pub fn of(columns: Vec<Option<usize>>) -> InputFields {
        InputFields { columns, left_out: Vec::new(), in_utc: Vec::new(), of_inputs: Vec::new() }
    }

    /// Takes the column list if there is one, else the header, else all visible columns.
    ///
    /// Errors are the user's: names that are no column or are given twice. All of them are said at
    /// once.
    pub fn new(
        session: &mut Session,
        table: &Table,
        options: &LoadOptions,
        header: Option<&[String]>,
    ) -> Result<InputFields, Error> {
        let names = header.filter(|_| !options.input.is_by_position());
        let (names, from_header) = match (&options.input.columns, names) {
            (Some(names), _) => (names.as_slice(), false),
            (None, Some(names)) => (names, true),
            (None, None) => {
                let is_field = |at: &usize| {
                    let column = &table.columns[*at];
                    !column.is_invisible && !options.rows.has_constant(&column.name)
                };
                let columns = (0..table.columns.len()).filter(is_field);
                let columns: Vec<Option<usize>> = columns.map(Some).collect();
                if let Some(header) = header.filter(|header| header.len() != columns.len()) {
                    return Err(not_as_many(table, &columns, header.len()));
                }
                return Ok(InputFields::of(columns));
            }
        };
        let mut fields = InputFields::of(Vec::with_capacity(names.len()));
        let (mut unknown, mut twice) = (Vec::new(), Vec::new());
        for name in names {
            let column = match find(session, table, name)? {
                Some(column) => Some(column),
                None if name.starts_with('@') && options.rows.rules == RowRules::LoadData => None,
                None if from_header && options.input.ignore_unknown_columns => {
                    fields.left_out.push(format!("`{name}`"));
                    None
                }
                None => {
                    unknown.push(format!("`{name}`"));
                    continue;
                }
            };
            if column.is_some() && fields.columns.contains(&column) {
                twice.push(format!("column `{name}` is given twice"));
            }
            fields.columns.push(column);
        }
        let leaves_out = from_header && options.input.ignore_unknown_columns;
        if leaves_out && fields.columns.iter().all(Option::is_none) {
            unknown.extend(names.iter().map(|name| format!("`{name}`")));
        }
        if !unknown.is_empty() {
            let is_json = options.input.dialect.json.is_some();
            return Err(Error::Usage(match (is_json, from_header) {
                (true, _) => no_column_of_json(table, &unknown),
                (false, true) => no_column_of_header(table, options, names, &unknown),
                (false, false) => no_column_of_list(table, &unknown),
            }));
        }
        match twice.first() {
            Some(twice) => Err(Error::Usage(twice.clone())),
            None => Ok(fields),
        }
    }

    /// Notes about fields that are left out, about columns that got only defaults because of that, and about blank
    /// lines that are rows.
    pub fn notes(&self, table: &Table, input: &InputOptions) -> Vec<String> {
        let mut notes = self.of_inputs.clone();
        notes.extend(self.utc_note());
        if self.left_out.is_empty() {
            notes.extend(self.blank_note(table, input));
            return notes;
        }
        let is_empty = |(at, column): &(usize, &Column)| {
            let has_field = self.columns.contains(&Some(*at));
            !has_field && column.generated.is_none() && !column.auto_increment
        };
        let columns = table.columns.iter().enumerate().filter(is_empty);
        let columns: Vec<String> =
            columns.map(|(_, column)| format!("`{}`", column.name)).collect();
        notes.push(format!(
            "{IGNORE_UNKNOWN_COLUMNS} left out {} of the input",
            self.left_out.join(", ")
        ));
        if !columns.is_empty() {
            notes.push(format!("no field of the input goes to {}", columns.join(", ")));
        }
        notes
    }

    /// The note about moments in columns of DATETIME.
    fn utc_note(&self) -> Option<String> {
        (!self.in_utc.is_empty()).then(|| {
            format!(
                "times with a zone are stored in UTC in {}, which is DATETIME; TIMESTAMP shows them in the session's zone",
                self.in_utc.join(", ")
            )
        })
    }

    /// The note about a blank last line, which is a row of a table with one column of text.
    fn blank_note(&self, table: &Table, input: &InputOptions) -> Option<String> {
        let [Some(column)] = self.columns.as_slice() else { return None };
        let Column { name, sql_type, .. } = &table.columns[*column];
        let mut files = input.files.iter().filter(|path| remote::plain_bytes(path).is_some());
        let may_be = input.dialect.any_newline && sql_type.is_text();
        let file = files
            .find(|path| may_be && FileSource::ends_blank(path).is_ok_and(|is_blank| is_blank))?;
        Some(format!(
            "the last line of {} is blank, and is loaded as a row whose `{name}` is empty",
            file.display()
        ))
    }

    /// Refuses values for columns that the server computes: whether it leaves them out or refuses
    /// the row is its affair.
    pub(crate) fn check_generated(&self, table: &Table) -> Result<(), Error> {
        let named = self.columns.iter().flatten().map(|&column| &table.columns[column]);
        let mut generated = named.filter(|column| column.generated.is_some());
        match generated.next() {
            None => Ok(()),
            Some(Column { name, .. }) => {
                Err(Error::NotPlain(format!("values for the generated column `{name}`")))
            }
        }
    }

    /// Field that a column gets.
    pub fn field_of(&self, column: usize) -> Option<usize> {
        self.columns.iter().position(|target| *target == Some(column))
    }

    /// Fields a line must have: those after them that are left out anyway may be missing.
    pub fn needed(&self) -> usize {
        self.columns.iter().rposition(Option::is_some).map_or(0, |last| last + 1)
    }

    /// The reader's instructions for each field.
    ///
    /// Errors: rows of fixed size, and a field that can have none.
    pub fn kinds(
        &self,
        session: &mut Session,
        table: &Table,
        layout: Layout,
        empty_is_null: bool,
    ) -> Result<Vec<FieldKind>, Error> {
        let widths = match layout {
            Layout::Fixed { has_line_ends } => self.widths(session, table, has_line_ends)?,
            Layout::Separated => vec![0; self.columns.len()],
        };
        let kind = |(column, bytes_max): (&Option<usize>, u32)| {
            let sql_type = column.map(|column| &table.columns[column].sql_type);
            let is_long = sql_type.is_some_and(|sql_type| sql_type.long_bytes_max().is_some());
            FieldKind {
                is_text: sql_type.is_some_and(SqlType::is_text),
                bytes_max,
                row_bytes: if is_long { BLOB_ROW_BYTES } else { bytes_max },
                literals: sql_type.map(literals).unwrap_or_default(),
                empty_is_null: empty_is_null
                    && column.is_some_and(|column| is_null_if_empty(&table.columns[column])),
            }
        };
        Ok(self.columns.iter().zip(widths).map(kind).collect())
    }

    /// Bytes of each field in a row of fixed size: the server's display width of its column.
    fn widths(
        &self,
        session: &mut Session,
        table: &Table,
        has_line_ends: bool,
    ) -> Result<Vec<u32>, Error> {
        let names: Vec<String> =
            table.columns.iter().map(|column| identifier::quote_name(&column.name)).collect();
        let base = table.name.base();
        let sql = format!("SELECT {} FROM {base} LIMIT 0", names.join(", "));
        let widths = session.column_bytes(&sql)?;
        let width = |column: &Option<usize>| {
            let Some(column) = *column else {
                return Err(Error::Usage(
                    "rows of fixed size cannot skip fields (@): each field is as wide as its \
                     column"
                        .to_owned(),
                ));
            };
            let Column { sql_type, name, .. } = &table.columns[column];
            match sql_type.long_bytes_max() {
                None => Ok(widths.get(column).copied().unwrap_or_default()),
                Some(_) if !has_line_ends => Err(Error::Usage(format!(
                    "column `{name}` is {sql_type}: rows of fixed size can contain it only if lines \
                     have a terminator"
                ))),
                Some(bytes) => Ok(bytes),
            }
        };
        self.columns.iter().map(width).collect()
    }
}

/// True if no empty text is a value of a column, and NULL is: numbers, dates, times, JSON, UUIDs, addresses,
/// shapes and vectors.
fn is_null_if_empty(column: &Column) -> bool {
    let is_typed = match column.sql_type.family() {
        Family::Integer | Family::Decimal | Family::Real | Family::Year => true,
        Family::Temporal | Family::Moment | Family::Json(_) | Family::Document => true,
        Family::Formatted | Family::CheckedBytes | Family::OpaqueBytes => true,
        Family::Bits | Family::Labels(_) | Family::Text(_) | Family::Bytes => false,
        Family::OpaqueText => false,
    };
    is_typed && column.nullable
}

/// The names in the header, if there is one. Those that are no UTF-8 the server converts from the
/// file's character set.
pub fn header(
    session: &mut Session,
    options: &InputOptions,
    source: &mut dyn Source,
) -> Result<Option<Vec<String>>, Error> {
    let names = source.column_names().map_err(|error| Error::Usage(error.to_string()))?;
    let Some(names) = names else { return Ok(None) };
    let charset = options.charset.as_str();
    let is_utf8 = matches!(charset, "utf8mb4" | "utf8mb3" | "utf8" | "binary");
    let text = |name: &Vec<u8>| {
        if is_utf8 || name.is_ascii() {
            return Ok(String::from_utf8_lossy(name).into_owned());
        }
        let (hex, charset) = (identifier::hex(name), identifier::quote_name(charset));
        let sql = format!("SELECT CONVERT(CONVERT(x'{hex}' USING {charset}) USING utf8mb4)");
        Ok(session.query_text(&sql)?.unwrap_or_default())
    };
    names.iter().map(text).collect::<Result<_, Error>>().map(Some)
}

/// The column of this name as the server compares names. It is asked where letters beyond ASCII
/// are in question.
fn find(session: &mut Session, table: &Table, name: &str) -> Result<Option<usize>, Error> {
    let position =
        |same: &dyn Fn(&str) -> bool| table.columns.iter().position(|column| same(&column.name));
    // Few columns have blanks at the ends of their names, and many headers.
    let trimmed = name.trim();
    let found = position(&|column| column == name)
        .or_else(|| position(&|column| column.eq_ignore_ascii_case(name)))
        .or_else(|| position(&|column| column.eq_ignore_ascii_case(trimmed)));
    let is_ascii = name.is_ascii() && table.columns.iter().all(|column| column.name.is_ascii());
    if found.is_some() || is_ascii || name.is_empty() {
        return Ok(found);
    }
    for (at, column) in table.columns.iter().enumerate() {
        if is_same_name(session, &column.name, trimmed)? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// True if the server takes two names for that of one column: it compares letters without case,
/// by a table of its own.
fn is_same_name(session: &mut Session, column: &str, name: &str) -> Result<bool, Error> {
    let (column, name) = (quote_name(column), quote_name(name));
    match session.exec(&format!("SELECT {name} FROM (SELECT 1 AS {column}) AS t")) {
        Err(e) if e.errno() == Some(ER_BAD_FIELD) => Ok(false),
        other => Ok(other.map(|_| true)?),
    }
}

/// Says that fields by position are not as many as the columns.
fn not_as_many(table: &Table, columns: &[Option<usize>], fields: usize) -> Error {
    let name = |column: &usize| format!("`{}`", table.columns[*column].name);
    let names: Vec<String> = columns.iter().flatten().map(name).collect();
    let noun = if fields == 1 { "column" } else { "columns" };
    Error::Usage(format!(
        "the input has {fields} {noun}, and {BY_POSITION} expects {}: {}; {} assigns columns by position and skips \
         some",
        names.len(),
        names.join(", "),
        COLUMNS.with("a,@,b")
    ))
}

/// Names of columns, as messages list them.
fn listed<'a>(columns: impl Iterator<Item = &'a Column>) -> String {
    columns.map(|column| format!("`{}`", column.name)).collect::<Vec<_>>().join(", ")
}

/// Says which fields of JSON's records are no column, and what can be done.
fn no_column_of_json(table: &Table, unknown: &[String]) -> String {
    format!(
        "the records have {}, but the table has only {}; {IGNORE_UNKNOWN_COLUMNS} leaves such fields out, \
         or list the fields to load: {}",
        unknown.join(", "),
        listed(table.columns.iter()),
        COLUMNS.with("a,b")
    )
}

/// Says which names of `--columns` are no column, and what can be done.
fn no_column_of_list(table: &Table, unknown: &[String]) -> String {
    format!(
        "the table has no column {}, only {}; name a field to skip with @: @x",
        unknown.join(", "),
        listed(table.columns.iter())
    )
}

/// Says which names of a header, or of typed columns, are no column, and what can be done.
fn no_column_of_header(
    table: &Table,
    options: &LoadOptions,
    names: &[String],
    unknown: &[String],
) -> String {
    let is_given =
        |column: &&Column| names.iter().any(|name| column.name.eq_ignore_ascii_case(name));
    let missing = listed(table.columns.iter().filter(|column| !is_given(column)));
    let missing = match missing.is_empty() {
        true => String::new(),
        false => format!("; not in the input: {missing}"),
    };
    let is_header = options.input.header && !matches!(options.input.kind(), Ok(Some(_)));
    let advice = match is_header && unknown.len() == names.len() {
        true => format!(
            ": leave out {HEADER} if the first line is a row, name the separator by \
             {FIELDS_TERMINATED_BY} if it is another one"
        ),
        false => format!("{missing}; {IGNORE_UNKNOWN_COLUMNS} skips such fields"),
    };
    format!(
        "the {} {}, but the table has only {}{advice}, or list the columns of all fields in \
         order, with @ before fields to skip: {}",
        if is_header { "header names" } else { "input has the columns" },
        unknown.join(", "),
        listed(table.columns.iter()),
        COLUMNS.with("a,@x,b")
    )
}

/// Which SQL literals a column takes as it takes the same text in a file.
fn literals(sql_type: &SqlType) -> Literals {
    match sql_type.family() {
        Family::Integer => Literals::Whole,
        Family::Decimal => Literals::Exact,
        Family::Real => Literals::Real,
        Family::Text(text) if !text.charset.is_ascii_superset() => Literals::Strings,
        Family::Text(_) | Family::Json(_) => Literals::Text,
        Family::Bytes => Literals::Bytes,
        Family::Bits | Family::CheckedBytes | Family::OpaqueBytes => Literals::Binary,
        Family::Year => Literals::Year,
        Family::Temporal | Family::Moment | Family::Labels(_) => Literals::Strings,
        // A number in SQL becomes a DECIMAL in a document of MySQL, and a double in its text.
        Family::Document | Family::Formatted | Family::OpaqueText => Literals::Strings,
    }
}
