//! A router made of the server's words: what of them is not known here is refused by name.

use std::collections::HashMap;

use schema::{Column, Partition, PartitionBound, PartitionMethod, Partitioning, Table};
use sql::syntax::Syntax;
use sql::token::{TokenKind, Tokens};
use values::{Charset, ConvertOptions, Converter, KeyPart, Reason, SqlType};

use super::bound::{self, Literal};
use super::expression::Expression;
use super::hash::KeyForm;
use super::{ABOVE_ALL, Collations, Listed, Rule, collation_of};

/// The parts of a router.
pub(super) struct Maker<'a> {
    table: &'a Table,
    convert: &'a ConvertOptions,
    collations: &'a Collations,
    /// Those that are used so far.
    columns: Vec<usize>,
}

impl<'a> Maker<'a> {
    pub(super) fn new(
        table: &'a Table,
        convert: &'a ConvertOptions,
        collations: &'a Collations,
    ) -> Maker<'a> {
        Maker { table, convert, collations, columns: Vec::new() }
    }

    /// The rule, and the positions in the table of the columns that it looks at.
    ///
    /// Errors: what of it is not known here, in words.
    pub(super) fn make(mut self, by: &Partitioning) -> Result<(Vec<usize>, Rule), String> {
        let rule = self.rule(by)?;
        Ok((self.columns, rule))
    }

    fn rule(&mut self, by: &Partitioning) -> Result<Rule, String> {
        if by.partitions.is_empty() {
            return Err("unknown values".to_owned());
        }
        match (by.method, by.by_columns) {
            (Some(PartitionMethod::Range), false) => {
                let expression = self.expression(by)?;
                let bounds = by.partitions.iter().map(|one| upper(one, expression.unsigned));
                let bounds: Vec<Option<i128>> = bounds.collect::<Result<_, _>>()?;
                let ascend =
                    |a: &Option<i128>, b: &Option<i128>| a.is_some() && (b.is_none() || a < b);
                check_order(bounds.is_sorted_by(ascend))?;
                Ok(Rule::Range(expression, bounds))
            }
            (Some(PartitionMethod::List), false) => {
                let expression = self.expression(by)?;
                let unsigned = expression.unsigned;
                let listed = listed(by, |tuple| match tuple {
                    [Literal::Null] => Ok(None),
                    [literal] => number(literal, unsigned).map(Some),
                    _ => Err("a list of several values".to_owned()),
                })?;
                Ok(Rule::List(expression, listed))
            }
            (Some(PartitionMethod::Hash), _) => {
                Ok(Rule::Hash { by: self.expression(by)?, is_linear: by.is_linear })
            }
            (Some(PartitionMethod::Key), _) => self.key(by),
            (Some(PartitionMethod::Range), true) => {
                let parts = self.parts(by)?;
                let bounds = by.partitions.iter().map(|one| self.upper_key(one, &parts));
                let bounds: Vec<Vec<u8>> = bounds.collect::<Result<_, _>>()?;
                check_order(bounds.is_sorted_by(|a, b| a < b))?;
                Ok(Rule::RangeColumns(parts, bounds))
            }
            (Some(PartitionMethod::List), true) => {
                let parts = self.parts(by)?;
                let listed = listed(by, |tuple| self.key_of(tuple, &parts))?;
                Ok(Rule::ListColumns(parts, listed))
            }
            (Some(PartitionMethod::SystemTime) | None, _) => {
                Err(by.unfit().unwrap_or("an unsupported expression").to_owned())
            }
        }
    }

    fn expression(&mut self, by: &Partitioning) -> Result<Expression, String> {
        let (table, columns) = (self.table, &mut self.columns);
        let expression = Expression::read(&by.expression, &mut |name| {
            let (position, column) = find(table, name)?;
            let at = columns.iter().position(|used| *used == position);
            let at = at.unwrap_or_else(|| {
                columns.push(position);
                columns.len() - 1
            });
            Ok((at, column.sql_type.clone()))
        });
        expression.map_err(|what| format!("{}, with {what}, which is unsupported", by.expression))
    }

    /// The columns of a list of names.
    fn named(&mut self, list: &str) -> Result<Vec<Column>, String> {
        let tokens = Tokens::of_any_server(list.as_bytes(), Syntax::default());
        let mut found = Vec::new();
        for token in tokens.filter(|token| !token.is_sign(b',')) {
            let TokenKind::Name(name) = &token.kind else {
                return Err(format!("columns {list}"));
            };
            let (position, column) = find(self.table, &String::from_utf8_lossy(name))?;
            self.columns.push(position);
            found.push(column.clone());
        }
        Ok(found)
    }

    fn key(&mut self, by: &Partitioning) -> Result<Rule, String> {
        let primary = self.table.index("PRIMARY");
        let list = match (by.expression.is_empty(), primary) {
            (false, _) => by.expression.clone(),
            (true, None) => {
                return Err(
                    "KEY () of a table without PRIMARY KEY, which is unsupported".to_owned()
                );
            }
            (true, Some(index)) => {
                let names = index.columns.iter().map(|column| schema::quote_name(&column.name));
                names.collect::<Vec<_>>().join(",")
            }
        };
        let columns = self.named(&list)?;
        let form = |column: &Column| {
            KeyForm::of(&column.sql_type).ok_or_else(|| {
                format!(
                    "KEY of column `{}`, which is {}, an unsupported type",
                    column.name, column.sql_type
                )
            })
        };
        let forms = columns.iter().map(form).collect::<Result<_, _>>()?;
        Ok(Rule::Key { forms, is_linear: by.is_linear })
    }

    fn parts(&mut self, by: &Partitioning) -> Result<Vec<KeyPart>, String> {
        let columns = self.named(&by.expression)?;
        let part = |column: &Column| {
            let collation = collation_of(&column.sql_type, self.collations).map_err(|name| {
                format!("column `{}`, whose collation {name} is unknown", column.name)
            })?;
            Ok(KeyPart::new(&column.sql_type, collation, true, false))
        };
        columns.iter().map(part).collect()
    }

    fn upper_key(&self, partition: &Partition, parts: &[KeyPart]) -> Result<Vec<u8>, String> {
        let PartitionBound::Values(text) = &partition.bound else {
            return Err(format!("partition {} without values", partition.name));
        };
        let tuple: Vec<Literal> = bound::read(text)?.into_iter().flatten().collect();
        self.key_of(&tuple, parts)
    }

    /// The key of values of the columns, up to a MAXVALUE.
    fn key_of(&self, tuple: &[Literal], parts: &[KeyPart]) -> Result<Vec<u8>, String> {
        let mut key = Vec::new();
        if tuple.len() != parts.len() {
            return Err(format!("{} values for {} columns", tuple.len(), parts.len()));
        }
        for ((literal, part), position) in tuple.iter().zip(parts).zip(&self.columns) {
            if *literal == Literal::MaxValue {
                key.push(ABOVE_ALL);
                break;
            }
            let column = &self.table.columns[*position];
            let stored = self.stored(literal, column)?;
            let unknown = |reason: Reason| format!("a value of `{}` that {reason}", column.name);
            part.push(stored.as_deref(), &mut key).map_err(unknown)?;
        }
        Ok(key)
    }

    /// The stored bytes of a literal in a column.
    fn stored(&self, literal: &Literal, column: &Column) -> Result<Option<Vec<u8>>, String> {
        let (charset, text) = match literal {
            Literal::Null | Literal::MaxValue => return Ok(None),
            Literal::Text(text) => (Charset::Utf8mb4, text),
            Literal::Bytes { charset, bytes } => {
                let own = column.sql_type.charset().unwrap_or(Charset::Binary);
                if own.name() != charset {
                    return Err(format!("a value of `{}` in {charset}", column.name));
                }
                (own, bytes)
            }
        };
        let options = ConvertOptions { file_charset: charset, ..self.convert.clone() };
        stored(&column.name, &column.sql_type, &options, text).map(Some)
    }
}

/// The stored bytes of a text in a column.
pub(super) fn stored(
    name: &str,
    sql_type: &SqlType,
    options: &ConvertOptions,
    text: &[u8],
) -> Result<Vec<u8>, String> {
    let converter = Converter::new(name, sql_type, options);
    let mut stored = Vec::new();
    let converted = converter
        .map_err(|error| error.to_string())?
        .convert(text, &mut stored)
        .map_err(|reason| reason.explain(text, sql_type).to_string());
    converted.map(|_| stored)
}

fn find<'t>(table: &'t Table, name: &str) -> Result<(usize, &'t Column), String> {
    // Names of columns are the same in whatever case.
    let is_it = |column: &&Column| column.name.to_lowercase() == name.to_lowercase();
    let position = table.columns.iter().position(|column| is_it(&column));
    position
        .map(|at| (at, &table.columns[at]))
        .ok_or_else(|| format!("`{name}`, which is not a column"))
}

/// Below what a range's partition takes rows; None is MAXVALUE.
fn upper(partition: &Partition, unsigned: bool) -> Result<Option<i128>, String> {
    let PartitionBound::Values(text) = &partition.bound else {
        return Err(format!("partition {} without values", partition.name));
    };
    match bound::read(text)?.as_slice() {
        [one] => match one.as_slice() {
            [Literal::MaxValue] => Ok(None),
            [literal] => number(literal, unsigned).map(Some),
            _ => Err(format!("values {text}")),
        },
        _ => Err(format!("values {text}")),
    }
}

fn number(literal: &Literal, unsigned: bool) -> Result<i128, String> {
    match literal.number() {
        // So the server shows one that 63 bits do not hold.
        Some(number) if unsigned && number < 0 => Err("a value beyond 63 bits".to_owned()),
        Some(number) => Ok(number),
        None => Err(format!("a value {literal:?}")),
    }
}

fn listed<V: std::hash::Hash + Eq>(
    by: &Partitioning,
    mut value: impl FnMut(&[Literal]) -> Result<V, String>,
) -> Result<Listed<V>, String> {
    let mut listed = Listed { at: HashMap::new(), default: None };
    for (at, partition) in by.partitions.iter().enumerate() {
        match &partition.bound {
            PartitionBound::Default => listed.default = Some(at),
            PartitionBound::Hash => return Err(format!("partition {}", partition.name)),
            PartitionBound::Values(text) => {
                for tuple in bound::read(text)? {
                    listed.at.insert(value(&tuple)?, at);
                }
            }
        }
    }
    Ok(listed)
}

fn check_order(is_ascending: bool) -> Result<(), String> {
    is_ascending.then_some(()).ok_or_else(|| "ranges that do not ascend".to_owned())
}
