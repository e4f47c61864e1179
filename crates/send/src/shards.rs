//! The shards of a keyspace of Vitess: where a ledger is, and where rows go.
//!
//! ```text
//! START TRANSACTION -> ledger of shard 1 .. ledger of the last shard -> rows, through vtgate -> COMMIT
//! ```
//!
//! vtgate commits such a transaction shard by shard, in the order in which it came to them, and may end in
//! between. So each shard has a ledger, whose rows say what that shard has. The last shard's row of a chunk
//! says that all shards have it. Where some shards have a chunk and others lack it, vtgate tells the shard of each
//! row, and the rows of the others are sent.

use std::collections::{HashMap, HashSet};

use face::option::{MODE, ON_DUPLICATE};
use job::error::Error;
use schema::{Method, TableName};
use server::engine::Kind;
use server::identifier::{quote_name, quote_text};
use server::session::Session;
use targets::Lock;

use crate::sent_chunk::{Form, SentChunk};

/// Keys that vtgate is asked about at once.
const KEYS_MAX: usize = 1000;
/// Vindexes that compute the shard of a row from one column, whatever is in other tables.
/// Source: vitess.io, vindexes; the names are those of Vitess 24, go/vt/vtgate/vindexes.
const COMPUTED: [&str; 8] = [
    "binary",
    "binary_md5",
    "hash",
    "numeric",
    "reverse_bits",
    "unicode_loose_md5",
    "unicode_loose_xxhash",
    "xxhash",
];

/// The shards of a target's keyspace; none where the target is in one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shards {
    keyspace: String,
    /// As `USE` takes them: `shop:-80`.
    names: Vec<String>,
}

/// The column by which a table is divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Vindex {
    keyspace: String,
    name: String,
    pub(crate) column: String,
}

impl Shards {
    /// The shards of a target's database.
    pub(crate) fn of(target: &Lock) -> Shards {
        let keyspace = target.table.name.database.clone();
        let names = target.facts.engine.shards_of(&keyspace);
        Shards { keyspace, names }
    }

    /// True where a transaction may be committed on some of several shards.
    pub(crate) fn are_several(&self) -> bool {
        !self.names.is_empty()
    }

    /// All of them, in the order in which they are committed; one nameless place where there are none.
    pub(crate) fn all(&self) -> Vec<&str> {
        if self.names.is_empty() {
            vec![""]
        } else {
            self.names.iter().map(String::as_str).collect()
        }
    }

    /// The shard whose ledger counts, because it is committed last.
    pub(crate) fn last(&self) -> &str {
        self.names.last().map_or("", String::as_str)
    }

    /// A table as CREATE and DROP on one shard name it: vtgate would leave the keyspace in them.
    pub(crate) fn name(&self, table: &TableName) -> String {
        if self.are_several() { quote_name(&table.table) } else { table.quoted() }
    }

    /// Does something on one shard.
    ///
    /// Errors: those of `work`; the server's.
    pub(crate) fn at<T>(
        &self,
        session: &mut Session,
        shard: &str,
        work: impl FnOnce(&mut Session) -> server::Result<T>,
    ) -> server::Result<T> {
        if !self.are_several() {
            return work(session);
        }
        let there = session.exec(&format!("USE {}", quote_name(shard)));
        let done = there.and_then(|_| work(session));
        if let Err(error) = session.exec(&format!("USE {}", quote_name(&self.keyspace))) {
            // Whatever is asked next would be asked of one shard.
            session.give_up();
            return Err(done.err().unwrap_or(error));
        }
        done
    }

    /// Does something on each shard, on the last one at the end.
    ///
    /// Errors: those of `work`; the server's.
    pub(crate) fn at_each(
        &self,
        session: &mut Session,
        mut work: impl FnMut(&mut Session) -> server::Result<()>,
    ) -> server::Result<()> {
        self.all().into_iter().try_for_each(|shard| self.at(session, shard, &mut work))
    }

    /// Does something on each shard but the last.
    ///
    /// Errors: those of `work`; the server's.
    pub(crate) fn at_others(
        &self,
        session: &mut Session,
        mut work: impl FnMut(&mut Session) -> server::Result<()>,
    ) -> server::Result<()> {
        let others = self.names.split_last().map_or(&[][..], |(_, others)| others);
        others.iter().try_for_each(|shard| self.at(session, shard, &mut work))
    }

    /// Why rows do not go into a target in several shards by this method, which `changes` rows that are there,
    /// a sentence each.
    ///
    /// Errors: the server's.
    pub(crate) fn refused(
        &self,
        target: &mut Lock,
        method: Method,
        changes: bool,
    ) -> server::Result<Vec<String>> {
        let count = self.names.len();
        if method != Method::Append {
            return Ok(vec![format!(
                "{} ({} has {count} shards, which Vitess commits one after the other, so a transaction of all \
                 rows could end half done; {} adds rows to one table exactly once, chunk by chunk)",
                Kind::Vitess,
                self.keyspace,
                MODE.with("append")
            )]);
        }
        let mut refused = Vec::new();
        if changes {
            refused.push(format!(
                "{} (vtgate does not replace or update rows of a sharded keyspace by their keys: {})",
                Kind::Vitess,
                ON_DUPLICATE.with_any(&["fail", "skip"])
            ));
        }
        if let Err(why) = Vindex::read(target)? {
            refused.push(format!("{} ({why})", Kind::Vitess));
        }
        Ok(refused)
    }
}

impl Vindex {
    /// The vindex that divides a table, if it is one whose answers vtgate gives without other tables; else why
    /// it is not, in words.
    ///
    /// Errors: the server's.
    pub(crate) fn read(target: &mut Lock) -> server::Result<Result<Vindex, String>> {
        let name = target.table.name.clone();
        let asked = target.session.query(&format!("SHOW VSCHEMA VINDEXES ON {}", name.quoted()));
        let rows = match asked {
            Err(error @ server::Error::Statement { .. }) => {
                return Ok(Err(format!("the vindexes of {name} are unknown: {error}")));
            }
            rows => rows?,
        };
        let [row] = &rows[..] else {
            return Ok(Err(format!(
                "{name} has {} vindexes; only tables with one are loaded, because rows of a lookup vindex \
                 are committed by themselves",
                rows.len()
            )));
        };
        // Columns, name, type, parameters, owner.
        let (column, vindex, kind) = (row.text(0)?, row.text(1)?, row.text(2)?);
        let is_owned = !row.text_or_null(4)?.unwrap_or_default().is_empty();
        if !COMPUTED.contains(&kind.as_str()) || column.contains(", ") || is_owned {
            return Ok(Err(format!(
                "{name} is divided by the vindex {vindex} ({kind}) over {column}; only {} over one column are \
                 supported",
                COMPUTED.join(", ")
            )));
        }
        let vindex = Vindex { keyspace: name.database.clone(), name: vindex, column };
        // Asked before anything is sent: a half committed chunk needs the answer.
        let probe = vindex.shards(&mut target.session, &HashSet::from(["'1'"]));
        Ok(match probe {
            Ok(_) => Ok(vindex),
            Err(Error::Server(error @ server::Error::Statement { .. })) => {
                Err(format!("vtgate does not tell the shards of {name}: {error}"))
            }
            Err(Error::Server(error)) => return Err(error),
            Err(error) => Err(error.to_string()),
        })
    }

    /// Which of these rows of a chunk, by their place, go to these shards. The chunk is one of tuples; `at` is the
    /// place of the vindex's column in each.
    pub(crate) fn rows_of(
        &self,
        session: &mut Session,
        chunk: &SentChunk,
        rows: &[usize],
        at: usize,
        shards: &[String],
    ) -> Result<Vec<usize>, Error> {
        if chunk.form != Form::Tuples {
            return Err(Error::Internal("rows of shards are not tuples".to_owned()));
        }
        let unread = || Error::Internal("a value of a row that was sent is not found".to_owned());
        let mut keys = Vec::with_capacity(rows.len());
        for &row in rows {
            let text = std::str::from_utf8(chunk.text_of(row..row + 1)).map_err(|_| unread())?;
            keys.push(value(text, at).ok_or_else(unread)?);
        }
        let told = self.shards(session, &keys.iter().copied().collect())?;
        let is_of = |key: &str| {
            let shard = told.get(key).map(|shard| format!("{}:{shard}", self.keyspace));
            shard.is_some_and(|shard| shards.contains(&shard))
        };
        Ok(rows.iter().zip(&keys).filter(|(_, key)| is_of(key)).map(|(row, _)| *row).collect())
    }

    /// The shard of each value, as vtgate tells it. Values are as statements have them.
    fn shards<'k>(
        &self,
        session: &mut Session,
        keys: &HashSet<&'k str>,
    ) -> Result<HashMap<&'k str, String>, Error> {
        // vtgate takes nothing but plain literals there, and any value of a variable.
        let is_plain =
            |key: &&&str| key.starts_with('\'') || key.bytes().all(|b| b.is_ascii_digit());
        let (plain, others): (Vec<&&str>, Vec<&&str>) = keys.iter().partition(is_plain);
        let from = format!("{}.{}", quote_name(&self.keyspace), quote_name(&self.name));
        let select = format!("SELECT shard FROM {from} WHERE id");
        let mut told = HashMap::new();
        for some in plain.chunks(KEYS_MAX) {
            let list: Vec<&str> = some.iter().map(|key| **key).collect();
            let rows = session.query(&format!("{select} IN ({})", list.join(", ")))?;
            if rows.len() != some.len() {
                return Err(self.untold(some.len() - rows.len().min(some.len())));
            }
            for (key, row) in list.into_iter().zip(&rows) {
                told.insert(key, row.text(0)?);
            }
        }
        for key in others {
            session.exec(&format!("SET @inrush_key={key}"))?;
            let rows = session.query(&format!("{select}=@inrush_key"))?;
            let row = rows.first().ok_or_else(|| self.untold(1))?;
            told.insert(*key, row.text(0)?);
        }
        Ok(told)
    }

    fn untold(&self, count: usize) -> Error {
        Error::Internal(format!(
            "vtgate does not tell the shards of {count} values by {}",
            quote_text(&self.name)
        ))
    }
}

/// A value of a tuple, `(1,'a',NULL)`, as it stands there.
fn value(tuple: &str, at: usize) -> Option<&str> {
    let inner = tuple.strip_prefix('(')?.strip_suffix(')')?;
    let (mut begin, mut count, mut depth) = (0, 0, 0);
    let (mut is_text, mut is_escaped) = (false, false);
    for (place, byte) in inner.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'\'' => is_text = !is_text,
            b'(' if !is_text => depth += 1,
            b')' if !is_text => depth -= 1,
            b',' if !is_text && depth == 0 => {
                if count == at {
                    return inner.get(begin..place);
                }
                (begin, count) = (place + 1, count + 1);
            }
            _ => {}
        }
    }
    (count == at).then(|| &inner[begin..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_between_commas_that_are_not_theirs() {
        let tuple = r"(-7,'a,''b\\',_binary x'2C',CURRENT_TIMESTAMP(6),NULL,'')";
        let values: Vec<_> = (0..7).map(|at| value(tuple, at)).collect();
        let expected =
            ["-7", r"'a,''b\\'", "_binary x'2C'", "CURRENT_TIMESTAMP(6)", "NULL", "''"].map(Some);
        assert_eq!(values[..6], expected);
        assert_eq!(values[6], None);
        assert_eq!(value("(1)", 0), Some("1"));
        assert_eq!(value("1,2", 0), None);
    }
}
