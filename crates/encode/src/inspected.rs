//! Facts about server and input that a build needs beyond the template.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use catalog::Moment;
use catalog::learn::{self, CollationCache};
use face::option::{DIALECT, FIELDS_ESCAPED_BY, NULL_TOKEN, SQL_MODE};
use job::error::Error;
use job::options::{InputOptions, LoadOptions, OnDuplicate, RowOptions, RowRules, ServerOptions};
use schema::{Column, DefaultValue, Table, quote_name};
use server::version::Flavor;
use server::{ServerFacts, Session, identifier};
use sources::{ReadAs, Source, SourceExt as _};
use targets::Lock;
use values::{Charset, ConvertOptions, SqlMode, SqlType, Zone};

use crate::binding::{BoundColumn, bind_columns};
use crate::clock;
use crate::column_source;
use crate::constants::{self, BoundConstant};
use crate::counter::{Generates, Series};
use crate::fields::{self, InputFields};
use crate::formats;
use crate::json_keys;
use crate::partition::Router;

pub use crate::partition::{Collations, collation_of};

/// The refusal of JSON pointers as formats in job files.
const POINTERS_OF_LINES: &str = "a JSON pointer is no format in a job file: name it among the fields, columns = \
     [\"/a/b\", ..] of [input], and use it as any field";

/// Partitions that are built at most: each has a file that is open.
const PARTITIONS_MAX: usize = 128;

/// Columns bound to the input, and how their keys compare.
pub struct Inspected {
    /// All columns of the table in order, if `unfit` is empty; else those whose values follow from
    /// the input.
    pub columns: Vec<BoundColumn>,
    /// Where the fields of a line go.
    pub fields: InputFields,
    /// How AUTO_INCREMENT values go on.
    pub series: Series,
    /// The meaning of texts as values.
    pub convert: ConvertOptions,
    /// True if the zone of TIMESTAMP values is known; else that of `convert` is UTC.
    pub is_zone_known: bool,
    /// The collations by which labels of ENUM and SET columns are found, by name.
    pub labels: Collations,
    /// Collations of key columns, by name; those that can be ordered.
    pub collations: Collations,
    /// Columns that exclude the direct path, a sentence each: keys without a known order, values
    /// that only the server can make.
    pub unfit: Vec<String>,
    /// The flags that values are read by, as a session is told.
    pub sql_mode: String,
    /// Whose rules say what becomes of a row.
    pub rules: RowRules,
    /// Columns that have the same value in all rows, because it was said.
    pub constants: Vec<BoundConstant>,
    /// Columns of foreign keys, and those that they refer to, of which a build takes down the keys.
    pub foreign_keys: Vec<Vec<String>>,
    /// Which partition a row goes to, of a table that has any, where that is known here.
    pub router: Option<Router>,
}

impl Inspected {
    /// True if the input gives each AUTO_INCREMENT value.
    pub fn gives_numbers(&self) -> bool {
        !self
            .columns
            .iter()
            .any(|bound| matches!(bound.input, column_source::Input::AutoIncrement(None)))
    }

    /// Asks server and input; the errors are those of a table or of options that do not fit.
    pub fn new(
        target: &mut Lock,
        options: &LoadOptions,
        source: &mut dyn Source,
    ) -> Result<Inspected, Error> {
        let Lock { session, table, facts, .. } = target;
        Inspected::of_table(session, table, facts, options, source)
    }

    /// As [`Inspected::new`], for rows that are sent as they come: the order of keys, which may take seconds to
    /// learn, is not known ([`Inspected::learn_order`]).
    pub fn without_order(
        target: &mut Lock,
        options: &LoadOptions,
        source: &mut dyn Source,
    ) -> Result<Inspected, Error> {
        let Lock { session, table, facts, .. } = target;
        Inspected::of_fields(session, table, facts, options, source)
    }

    /// As [`Inspected::new`], of a table that nobody has taken.
    pub fn of_table(
        session: &mut Session,
        table: &Table,
        facts: &ServerFacts,
        options: &LoadOptions,
        source: &mut dyn Source,
    ) -> Result<Inspected, Error> {
        let mut inspected = Inspected::of_fields(session, table, facts, options, source)?;
        inspected.learn_order(session, table)?;
        Ok(inspected)
    }

    /// Learns how keys compare, and which partition a row goes to.
    ///
    /// Errors: the server's.
    pub fn learn_order(&mut self, session: &mut Session, table: &Table) -> Result<(), Error> {
        let (collations, unordered) = learn_collations(session, table)?;
        self.unfit.extend(unordered);
        if let Some(by) = table.partitioning.as_ref().filter(|by| by.unfit().is_none()) {
            let count = by.partitions.len();
            self.unfit.extend((count > PARTITIONS_MAX).then(|| {
                format!("{count} partitions: the direct path builds {PARTITIONS_MAX} at most")
            }));
            let router = Router::new(table, by, &self.convert, &collations);
            self.router = router.map_err(|reason| self.unfit.push(reason)).ok();
        }
        self.collations = collations;
        Ok(())
    }

    fn of_fields(
        session: &mut Session,
        table: &Table,
        facts: &ServerFacts,
        options: &LoadOptions,
        source: &mut dyn Source,
    ) -> Result<Inspected, Error> {
        let is_json = options.input.dialect.json.is_some();
        let pointers = options.input.written.pointers(is_json)?;
        let is_selected = options.input.selection.is_some();
        if is_selected && !pointers.is_empty() {
            return Err(Error::Usage(POINTERS_OF_LINES.to_owned()));
        }
        let mut header = fields::header(session, &options.input, source)?;
        if is_json {
            header = header.map(|names| json_keys::distinct(names, table));
        }
        let header = header.map(|names| json_keys::with_pointers(names, &pointers, table));
        let mut fields = InputFields::new(session, table, options, header.as_deref())?;
        if is_json && options.input.columns.is_none() && !is_selected {
            json_keys::add_columns(&mut fields, table, &options.rows);
        }
        if options.rows.rules == RowRules::Insert {
            fields.check_generated(table)?;
        }
        let mut constants = constants::constants(&options.rows, table)?;
        let (layout, empty_is_null) = (source.facts().layout, options.input.empty_is_null);
        let kinds = fields.kinds(session, table, layout, empty_is_null)?;
        let usage = |error: sources::Error| Error::Usage(error.to_string());
        let types = |column: &Option<usize>| column.map(|at| table.columns[at].sql_type.clone());
        let types = fields.columns.iter().map(types).collect();
        let take = |read_as: &mut ReadAs| (read_as.fields, read_as.columns) = (kinds, types);
        source.change(take).map_err(usage)?;
        let in_utc = source.facts().utc_fields.iter().filter_map(|field| fields.columns[*field]);
        fields.of_inputs.clone_from(&source.facts().notes);
        fields.in_utc = in_utc.map(|at| format!("`{}`", table.columns[at].name)).collect();
        let file_charset = file_charset(session, &options.input.charset)?;
        check_null_tokens(file_charset, &options.input)?;
        let sql_mode = sql_mode(session, facts, options)?;
        let written = formats::formats(&options.input.written, table, &fields, file_charset)?;
        let has_moments = written.have_moments() || source.facts().has_moments;
        let mut habits = server::habits(session, &table.columns, has_moments)?;
        let zone = clock::zone(session, facts, &table.columns, habits, has_moments);
        let is_timestamp = |column: &Column| matches!(column.sql_type, SqlType::Timestamp { .. });
        let needs_zone = has_moments || table.columns.iter().any(is_timestamp);
        let (time_zone, mut unfit) = match zone {
            Ok(zone) => (zone, Vec::new()),
            // Only texts with a displacement from UTC need it: such rows are refused.
            Err(Error::Usage(_) | Error::Values(_)) if !needs_zone => {
                habits.reads_displacements = false;
                (Zone::UTC, Vec::new())
            }
            // Moments are told as clocks of the session's zone show them, so it has to be known.
            Err(problem @ (Error::Usage(_) | Error::Values(_))) if has_moments => {
                return Err(Error::Usage(problem.to_string()));
            }
            Err(problem @ (Error::Usage(_) | Error::Values(_))) => {
                (Zone::UTC, vec![problem.to_string()])
            }
            Err(error) => return Err(error),
        };
        let is_zone_known = unfit.is_empty();
        let sql_flags = SqlMode::parse(&sql_mode);
        let convert = ConvertOptions { file_charset, sql_mode: sql_flags, time_zone, habits };
        source.change(|read_as| read_as.formats = Arc::new(written)).map_err(usage)?;
        let labels = learn_label_collations(session, table)?;
        let table = &constants::with_constants(table, &mut constants, &fields, &convert, &labels)?;
        if !table.features().iter().any(|feature| feature.support().fills_in) {
            column_source::check(&table.columns, &fields)?;
        }
        let (settled, moment) = settle_defaults(session, table, &fields, is_json, &mut unfit)?;
        if is_json || options.input.has_columns() {
            let header = header.filter(|_| !options.input.is_by_position());
            let names = options.input.columns.clone().or(header).unwrap_or_default();
            let keys = json_keys::keys(&fields, &names, &pointers, &settled, &convert.time_zone);
            let late_names = match options.input.columns {
                None if !is_selected => json_keys::late_names(&fields, table, &options.rows),
                _ => Vec::new(),
            };
            let take = |read_as: &mut ReadAs| {
                (read_as.keys, read_as.time_zone) = (keys.into(), convert.time_zone.clone());
                read_as.late_names = late_names.into();
            };
            source.change(take).map_err(usage)?;
        }
        let is_bound = |position: usize| {
            let column = &settled[position];
            let is_given = fields.field_of(position).is_some();
            let is_known = column.sql_type.is_convertible(is_zone_known);
            let has_value = is_given || column.default.is_value() || column.auto_increment;
            is_known && has_value && column.generated.is_none()
        };
        let moment = moment.as_ref().filter(|_| options.rows.rules == RowRules::LoadData);
        let columns = bind_columns(&settled, &fields, &convert, &labels, moment, is_bound)?;
        let series = series(session, facts, table, sql_flags, &options.rows)?;
        Ok(Inspected {
            columns,
            fields,
            series,
            convert,
            is_zone_known,
            labels,
            collations: Collations::default(),
            unfit,
            sql_mode,
            rules: options.rows.rules,
            constants,
            foreign_keys: foreign_keys(table, &options.server),
            router: None,
        })
    }
}

/// The columns of a table's foreign keys, and of those of them that refer to itself.
fn foreign_keys(table: &Table, options: &ServerOptions) -> Vec<Vec<String>> {
    if options.unchecked_keys {
        return Vec::new();
    }
    let own = table.references.iter().map(|reference| reference.columns.clone());
    let to_itself = table.references.iter().filter(|reference| reference.parent == table.name);
    own.chain(to_itself.map(|reference| reference.parent_columns.clone())).collect()
}

/// The table's columns with the DEFAULT expressions evaluated that the load needs, and the moment
/// at which they were; none if nothing depends on it. Expressions without one value for all rows
/// stay, and `unfit` hears of them; so do all where the direct path is out of the question anyway. `may_lack`: a
/// record may lack any field.
fn settle_defaults(
    session: &mut Session,
    table: &Table,
    fields: &InputFields,
    may_lack: bool,
    unfit: &mut Vec<String>,
) -> Result<(Vec<Column>, Option<Moment>), Error> {
    let mut columns = table.columns.clone();
    let is_given = |position: usize| fields.field_of(position).is_some();
    let is_direct = table.not_built().is_empty();
    let needed = |&position: &usize| {
        let is_expression = matches!(columns[position].default, DefaultValue::Expression(_));
        is_expression && ((!is_given(position) && is_direct) || may_lack)
    };
    let wanted: Vec<usize> = (0..columns.len()).filter(needed).collect();
    let takes_null = |position: usize| {
        let column = &columns[position];
        let is_timestamp = matches!(column.sql_type, SqlType::Timestamp { .. });
        is_given(position) && is_timestamp && !column.nullable
    };
    if wanted.is_empty() && !(0..columns.len()).any(takes_null) {
        return Ok((columns, None));
    }
    let moment = Moment::now(session)?;
    let is_moment = |at: &usize| catalog::default_moment_digits(&table.columns[*at]).is_some();
    // Moments have values whatever the others have.
    let (moments, others): (Vec<usize>, Vec<usize>) = wanted.into_iter().partition(is_moment);
    for wanted in [moments, others] {
        match catalog::evaluate_defaults(table, session, &wanted, &moment) {
            Ok(values) => {
                for (position, value) in values {
                    columns[position].default = value;
                }
            }
            Err(error) if error.errno().is_some() => unfit.push(error.to_string()),
            Err(error @ server::Error::Default { .. }) => unfit.push(error.to_string()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok((columns, Some(moment)))
}

/// How LOAD DATA would number rows in a session of the server's.
fn series(
    session: &mut Session,
    facts: &ServerFacts,
    table: &Table,
    sql_mode: SqlMode,
    options: &RowOptions,
) -> Result<Series, Error> {
    let (increment, offset) = facts.auto_increment_step;
    let lock_mode = match table.columns.iter().any(|column| column.auto_increment) {
        true => session.query_once("SELECT @@innodb_autoinc_lock_mode")?,
        false => Vec::new(),
    };
    let lock_mode = lock_mode.first().map_or(Ok(String::new()), |row| row.text(0))?;
    Ok(Series {
        start: table.auto_increment.unwrap_or(1),
        increment,
        offset,
        zero_is_value: sql_mode.contains(SqlMode::NO_AUTO_VALUE_ON_ZERO),
        // Of INSERT with a list the server knows how many there are.
        reserves: lock_mode != "0" && options.rules == RowRules::LoadData,
        generates: match (options.rules, options.on_duplicate) {
            (RowRules::LoadData, _) => Generates::Any,
            (RowRules::Insert, OnDuplicate::Fail) => Generates::AllOrNone,
            // Whether a row that is left out uses up its number, only the server knows.
            (RowRules::Insert, _) => Generates::None,
        },
    })
}

/// The flags that values are read by: those of a session of the server's, unless the user wants
/// others. The server says whether these are flags, and what one that stands for several stands for.
fn sql_mode(
    session: &mut Session,
    facts: &ServerFacts,
    options: &LoadOptions,
) -> Result<String, Error> {
    const ER_WRONG_VALUE_FOR_VAR: u16 = 1231;
    let Some(typed) = &options.rows.sql_mode else {
        check_escape(&facts.sql_mode, &options.input)?;
        return Ok(facts.sql_mode.clone());
    };
    let flags: Vec<&str> = typed.split(',').map(str::trim).collect();
    match tried(session, &flags.join(",")) {
        Err(error) if error.errno() == Some(ER_WRONG_VALUE_FOR_VAR) => Err(Error::Usage(format!(
            "{} contains a flag that this server does not know",
            SQL_MODE.with(typed)
        ))),
        flags => {
            let flags = flags?.unwrap_or_default();
            check_escape(&flags, &options.input)?;
            Ok(flags)
        }
    }
}

/// The server's result for flags, in a session that stays as it is.
fn tried(session: &mut Session, flags: &str) -> Result<Option<String>, server::Error> {
    if session.version().flavor == Flavor::MariaDb {
        let flags = identifier::quote_text(flags);
        return session
            .query_text(&format!("SET STATEMENT sql_mode={flags} FOR SELECT @@sql_mode"));
    }
    let before = session.variable("sql_mode").unwrap_or_default().to_owned();
    session.set(&[("sql_mode", flags)])?;
    let made = session.query_text("SELECT @@SESSION.sql_mode");
    session.set(&[("sql_mode", &before)])?;
    made
}

/// Refuses to guess whether a backslash is text.
fn check_escape(flags: &str, options: &InputOptions) -> Result<(), Error> {
    let assumed = options.escape_is_assumed && options.dialect.escaped_by.is_some();
    if assumed && flags.split(',').any(|flag| flag == "NO_BACKSLASH_ESCAPES") {
        return Err(Error::Usage(format!(
            "with NO_BACKSLASH_ESCAPES in sql_mode, LOAD DATA reads \\N and \\t as text; {} does \
             the same, {} reads NULL and a tab",
            FIELDS_ESCAPED_BY.with("''"),
            DIALECT.with("mysql")
        )));
    }
    Ok(())
}

/// The character set the input is written in.
fn file_charset(session: &mut Session, name: &str) -> Result<Charset, Error> {
    let charset = match learn::charset(session, name, &CollationCache::of_user()) {
        Err(error @ server::Error::UnknownCharset { .. }) => {
            return Err(Error::Usage(error.to_string()));
        }
        charset => charset?,
    };
    match charset.char_bytes_min() {
        1 => Ok(charset),
        _ => Err(Error::Usage(format!("files cannot be read as {name}; it is for columns only"))),
    }
}

/// Refuses a token that would never be met: it is typed in UTF-8 and compared byte by byte.
fn check_null_tokens(file: Charset, options: &InputOptions) -> Result<(), Error> {
    let is_utf8 = matches!(file, Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Binary);
    match options.dialect.null_tokens.iter().find(|token| !token.is_ascii()) {
        Some(token) if !is_utf8 => Err(Error::Usage(format!(
            "{} must be ASCII, because the file is in {}",
            NULL_TOKEN.with(String::from_utf8_lossy(token)),
            file.name()
        ))),
        _ => Ok(()),
    }
}

/// The collations that order some index, by name, and why some cannot be learned, with a column
/// that has each.
fn learn_collations(
    session: &mut Session,
    table: &Table,
) -> Result<(Collations, Vec<String>), Error> {
    let mut collations = HashMap::new();
    let mut reasons = Vec::new();
    for (name, column) in key_collations(table) {
        match learn::collation(session, &name, &CollationCache::of_user()) {
            Ok(collation) => drop(collations.insert(name, collation)),
            Err(server::Error::Collation(why)) => {
                reasons.push(format!("key column `{column}`: {why}"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok((collations, reasons))
}

/// The collations by which ENUM and SET columns find their labels. Where one cannot be learned,
/// labels are found by their ASCII letters, which refuses too much but takes nothing for another.
fn learn_label_collations(session: &mut Session, table: &Table) -> Result<Collations, Error> {
    let mut collations = HashMap::new();
    let texts = table.columns.iter().filter_map(|column| column.sql_type.label_text());
    for name in texts.map(|text| text.collation.as_str()) {
        if collations.contains_key(name) {
            continue;
        }
        match learn::collation(session, name, &CollationCache::of_user()) {
            Ok(collation) => drop(collations.insert(name.to_owned(), collation)),
            Err(server::Error::Collation(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(collations)
}

/// Names of the collations that order some index or partition, each with one of its columns.
fn key_collations(table: &Table) -> BTreeMap<String, String> {
    let by = table.partitioning.as_ref().filter(|by| by.by_columns);
    let in_key = |name: &str| {
        table.indexes.iter().flat_map(|index| &index.columns).any(|column| column.name == name)
            || by.is_some_and(|by| by.expression.contains(&quote_name(name)))
    };
    let named = |column: &Column| {
        let collation = column.sql_type.collation()?;
        Some((collation.to_owned(), column.name.clone()))
    };
    table.columns.iter().filter(|column| in_key(&column.name)).filter_map(named).collect()
}
