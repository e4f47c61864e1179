//! Where in a line that is what a mapping names.

use std::sync::Arc;

use sources::{FieldKind, LineFields, PickedField, Row, Source, SourceExt as _, TextRow};
use sql::Literals;

use super::condition::{self, Condition, Placed};
use super::mapping::{From, Mapping, Piece, RowReference};

/// The fields of a line.
#[derive(Clone, Debug)]
pub struct Lines {
    names: Vec<String>,
    /// Fields and values that are read of rows, if lines are made of these.
    read: Option<Arc<LineFields>>,
}

impl Lines {
    /// By the names that are said, or else by the header.
    ///
    /// Errors: there is neither; a name that is given twice; reading.
    pub fn of(source: &mut dyn Source, said: Option<&[String]>) -> sources::Result<Lines> {
        let names = match said {
            Some(names) => names.to_vec(),
            None => {
                let names = source.column_names()?.unwrap_or_default();
                names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
            }
        };
        if names.is_empty() {
            return Err(wrong(
                "a job file needs the names of a line's fields: header = true takes them from the \
                 first line of each file, columns = [..] lists them",
            ));
        }
        let is_twice = |at: &usize| names[..*at].contains(&names[*at]);
        if let Some(twice) = (0..names.len()).find(is_twice) {
            let name = &names[twice];
            return Err(wrong(&format!("two fields of a line have the name {name}")));
        }
        Ok(Lines { names, read: None })
    }

    /// How many there are.
    pub fn width(&self) -> usize {
        self.names.len()
    }

    /// The same lines, made of rows of which this is read.
    pub fn made_of(&self, read: LineFields) -> Lines {
        Lines { names: self.names.clone(), read: Some(Arc::new(read)) }
    }

    /// Fields and values that are read of rows, if lines are made of these.
    pub fn read(&self) -> Option<Arc<LineFields>> {
        self.read.clone()
    }

    /// Their names in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of a field.
    ///
    /// Errors: there is none of that name.
    pub fn find(&self, name: &str) -> sources::Result<usize> {
        let found = self.names.iter().position(|known| known == name);
        let found =
            found.or_else(|| self.names.iter().position(|known| known.eq_ignore_ascii_case(name)));
        found.ok_or_else(|| {
            let names = self.names.join(", ");
            wrong(&format!("the lines have no field {name}; they have {names}"))
        })
    }

    /// The numbers of fields; of all if none are named.
    ///
    /// Errors: as [`Lines::find`].
    pub fn find_all(&self, names: Option<Vec<&str>>) -> sources::Result<Vec<usize>> {
        match names {
            Some(names) => names.into_iter().map(|name| self.find(name)).collect(),
            None => Ok((0..self.width()).collect()),
        }
    }

    /// True if a line has all of them, and no more, as LOAD DATA counts.
    #[inline]
    pub fn fit(&self, line: TextRow<'_>) -> bool {
        line.has_fields_for(self.names.len(), self.names.len())
    }

    /// The reader's instructions for each field: any of them may be text, which counts if
    /// characters hold bytes that would else end a field.
    pub fn kinds(&self) -> Vec<FieldKind> {
        let kind = FieldKind { is_text: true, ..FieldKind::of_literals(Literals::default()) };
        vec![kind; self.names.len()]
    }
}

/// Conditions of lines, by the numbers of their fields.
#[derive(Clone, Debug)]
pub struct When(Vec<Vec<Placed>>);

impl When {
    /// Errors: fields that lines do not have.
    pub fn new(when: &[Vec<Condition>], lines: &Lines) -> sources::Result<When> {
        let place = |condition: &Condition| {
            let field = lines.find(&condition.field)?;
            Ok(Placed { field, test: condition.test.clone() })
        };
        let all = when.iter().map(|all| all.iter().map(place).collect());
        all.collect::<sources::Result<_>>().map(When)
    }

    /// The numbers of their fields.
    pub fn fields(&self) -> impl Iterator<Item = usize> {
        self.0.iter().flatten().map(|placed| placed.field)
    }

    /// True if a line meets all of one list of them, or there is none; `scratch` is overwritten.
    #[inline]
    pub fn is_met(&self, line: TextRow<'_>, scratch: &mut Vec<u8>) -> bool {
        condition::are_met(&self.0, line, scratch)
    }
}

/// How one column of what is made comes about.
#[derive(Clone, Debug)]
pub(super) enum LineColumn {
    Joined(Vec<PlacedPiece>),
    /// The id of a row, from the rows of this number among those that are wanted.
    Id(usize),
    /// The value of a lookup, likewise.
    Looked(usize),
    /// The id of the row itself.
    OwnId,
    FileName,
    Line,
}

#[derive(Clone, Debug)]
pub(super) enum PlacedPiece {
    Field(usize),
    Text(Vec<u8>),
}

/// A mapping, by the fields of a line.
#[derive(Clone, Debug)]
pub(super) struct Resolved {
    pub(super) when: When,
    /// The fields of a row, in the order of [`Mapping::column_names`].
    pub(super) fields: Vec<PickedField>,
    pub(super) made: Vec<LineColumn>,
}

impl Resolved {
    /// Errors: fields that lines do not have.
    pub(super) fn new(mapping: &Mapping, lines: &Lines) -> sources::Result<Resolved> {
        let wanted = mapping.wanted();
        let when = When::new(&mapping.when, lines)?;
        let mut resolved = Resolved { when, fields: Vec::new(), made: Vec::new() };
        let Some(columns) = &mapping.columns else {
            resolved.fields = (0..lines.width()).map(PickedField::Field).collect();
            return Ok(resolved);
        };
        for (_, from) in columns {
            let field = resolved.place(from, lines, &wanted)?;
            resolved.fields.push(field);
        }
        if mapping.entity.as_ref().is_some_and(|entity| entity.id.is_some()) {
            let field = resolved.make(LineColumn::OwnId);
            resolved.fields.push(field);
        }
        Ok(resolved)
    }

    /// Has the texts of fields read that values are made of, and that conditions test.
    pub(super) fn add_texts(&self, read: &mut LineFields) {
        read.add_texts(self.when.fields());
        for made in &self.made {
            let LineColumn::Joined(pieces) = made else { continue };
            read.add_texts(pieces.iter().filter_map(|piece| match piece {
                PlacedPiece::Field(field) => Some(*field),
                PlacedPiece::Text(_) => None,
            }));
        }
    }

    fn make(&mut self, made: LineColumn) -> PickedField {
        self.made.push(made);
        PickedField::Made(self.made.len() - 1)
    }

    fn place(
        &mut self,
        from: &From,
        lines: &Lines,
        wanted: &[RowReference],
    ) -> sources::Result<PickedField> {
        let known = |one: RowReference| {
            let at = wanted.iter().position(|known| *known == one);
            at.ok_or_else(|| wrong("the row that a column refers to was not resolved"))
        };
        let made = match from {
            From::Field(name) => return Ok(PickedField::Field(lines.find(name)?)),
            From::Joined(pieces) => {
                let piece = |piece: &Piece| {
                    Ok(match piece {
                        Piece::Field(name) => PlacedPiece::Field(lines.find(name)?),
                        Piece::Text(text) => PlacedPiece::Text(text.clone().into_bytes()),
                    })
                };
                LineColumn::Joined(pieces.iter().map(piece).collect::<sources::Result<_>>()?)
            }
            From::IdOf(table) => LineColumn::Id(known(RowReference::Id(table.clone()))?),
            From::Lookup(lookup) => {
                lines.find(&lookup.field)?;
                LineColumn::Looked(known(RowReference::Looked(lookup.clone()))?)
            }
            From::FileName => LineColumn::FileName,
            From::Line => LineColumn::Line,
        };
        Ok(self.make(made))
    }
}

fn wrong(what: &str) -> sources::Error {
    sources::Error::Dialect(what.to_owned())
}
