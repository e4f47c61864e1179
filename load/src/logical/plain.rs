//! Stands in for encoder and sender until these are there: text as it is, no retries.

use std::io::Cursor;

use server::identifier::{quote_name, quote_text};
use server::{ConnectOptions, Session, TableName};
use sources::{Chunk, Rows, Scanner, Value};

use super::portion::{Form, Portion, PortionRow};
use crate::binding::BoundColumn;
use crate::controller::Batch;
use crate::error::Error;
use crate::job::Job;
use crate::position::Position;
use crate::rejects::Reject;

pub(crate) struct PlainEncoder<'a> {
    job: &'a Job<'a>,
    scanner: Scanner,
    columns: Vec<Option<BoundColumn>>,
    needed: usize,
}

impl<'a> PlainEncoder<'a> {
    pub(crate) fn new(job: &'a Job<'a>) -> PlainEncoder<'a> {
        let inspected = &job.rung.inspected;
        let column = |column: &Option<usize>| column.map(|at| inspected.columns[at].clone());
        PlainEncoder {
            job,
            scanner: Scanner::new(&job.options.dialect),
            columns: inspected.fields.columns.iter().map(column).collect(),
            needed: inspected.fields.needed(),
        }
    }

    pub(crate) fn encode(&mut self, chunk: Chunk, form: Form) -> Portion {
        let mut rows = Rows::new();
        self.scanner.scan(&chunk.bytes, &mut rows);
        let (mut text, mut kept, mut rejects) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows.iter() {
            let (start, end) = row.raw();
            let before = text.len();
            let mut reason = None;
            if !row.has_fields_for(self.needed, self.columns.len()) {
                reason = Some(format!("the line has {} fields", row.field_count()));
            }
            let (mut scratch, mut stored) = (Vec::new(), Vec::new());
            let mut is_first = true;
            for (field, bound) in self.columns.iter_mut().enumerate() {
                let Some(bound) = bound.as_mut().filter(|_| reason.is_none()) else { continue };
                begin(&mut text, form, &mut is_first);
                match rows.value(&chunk.bytes, row.field(field), &mut scratch) {
                    Value::Null => text.extend_from_slice(match form {
                        Form::Lines => b"\\N",
                        Form::Tuples => b"NULL",
                    }),
                    Value::Bytes(value) => {
                        stored.clear();
                        if let Err(error) = bound.converter.convert(value, &mut stored) {
                            reason = Some(error.explain(value, &bound.column.sql_type).to_string());
                        }
                        write(&mut text, form, value);
                    }
                }
            }
            text.extend_from_slice(match form {
                Form::Lines => b"\n",
                Form::Tuples => b"),",
            });
            match reason {
                None => kept.push(PortionRow { end: text.len(), raw: start..end }),
                Some(reason) => {
                    text.truncate(before);
                    let file = self.job.options.files.get(chunk.file as usize);
                    rejects.push(Reject {
                        position: Position {
                            file: file.cloned().unwrap_or_default(),
                            line: chunk.line_at(start),
                            offset: chunk.offset_at(start),
                        },
                        field: None,
                        column: None,
                        value: None,
                        reason,
                        raw: chunk.bytes[start..end].to_owned(),
                    });
                }
            }
        }
        Portion { ordinal: chunk.ordinal, form, text, rows: kept, chunk, rejects }
    }
}

fn begin(text: &mut Vec<u8>, form: Form, is_first: &mut bool) {
    let first = std::mem::take(is_first);
    text.extend_from_slice(match (form, first) {
        (Form::Lines, true) => b"",
        (Form::Lines, false) => b"\t",
        (Form::Tuples, true) => b"(",
        (Form::Tuples, false) => b",",
    });
}

fn write(text: &mut Vec<u8>, form: Form, value: &[u8]) {
    if form == Form::Tuples {
        text.push(b'\'');
    }
    for &byte in value {
        match byte {
            b'\\' => text.extend_from_slice(b"\\\\"),
            b'\'' if form == Form::Tuples => text.extend_from_slice(b"\\'"),
            b'\t' if form == Form::Lines => text.extend_from_slice(b"\\t"),
            b'\n' if form == Form::Lines => text.extend_from_slice(b"\\n"),
            0 => text.extend_from_slice(b"\\0"),
            byte => text.push(byte),
        }
    }
    if form == Form::Tuples {
        text.push(b'\'');
    }
}

pub(crate) struct PlainSender {
    session: Session,
    into: String,
    columns: String,
    charset: String,
}

impl PlainSender {
    pub(crate) fn connect(
        connect: &ConnectOptions,
        job: &Job<'_>,
        into: &TableName,
    ) -> Result<PlainSender, Error> {
        let inspected = &job.rung.inspected;
        let names: Vec<String> = inspected
            .fields
            .columns
            .iter()
            .flatten()
            .map(|&at| quote_name(&inspected.columns[at].column.name))
            .collect();
        let mut session = Session::connect(connect)?;
        let flags = quote_text(&format!("{},STRICT_ALL_TABLES", inspected.sql_mode));
        session.exec(&format!("SET SESSION sql_mode={flags}"))?;
        Ok(PlainSender {
            session,
            into: into.quoted(),
            columns: names.join(", "),
            charset: job.options.charset.clone(),
        })
    }

    pub(crate) fn send(
        &mut self,
        mut portion: Portion,
        batch: Batch,
    ) -> Result<Vec<Reject>, Error> {
        if !portion.rows.is_empty() {
            let (into, columns, charset) = (&self.into, &self.columns, &self.charset);
            match portion.form {
                Form::Lines => {
                    let sql = format!(
                        "LOAD DATA LOCAL INFILE 'portion' INTO TABLE {into} CHARACTER SET {charset} \
                         FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' \
                         ({columns})"
                    );
                    let text = std::mem::take(&mut portion.text);
                    self.session.load_local(&sql, Cursor::new(text))?;
                }
                Form::Tuples => {
                    self.session.exec("BEGIN")?;
                    let mut from = 0;
                    while from < portion.rows.len() {
                        let to = from.saturating_add(batch.rows).min(portion.rows.len());
                        let rows = String::from_utf8_lossy(portion.text_of(from..to));
                        let sql = format!("INSERT INTO {into} ({columns}) VALUES {rows}");
                        self.session.exec(&sql)?;
                        from = to;
                    }
                    self.session.exec("COMMIT")?;
                }
            }
        }
        Ok(portion.rejects)
    }
}
