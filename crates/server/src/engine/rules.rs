//! The table: what a load keeps to on each engine.

use super::Kind;

/// Bytes that an engine counts besides those of a chunk's text: for each row, each of its columns,
/// and its keys. See [`Rules::chunk_bytes_max`].
const ROW_BYTES: u64 = 64;
const COLUMN_BYTES: u64 = 16;
/// An entry of an index, in an engine that keeps rows by keys: two 8-byte numbers, names, the row's key.
const ENTRY_BYTES: u64 = 64;
/// The same where rows are replicated with their unique keys. Measured with Galera 26.4.23: rows of two
/// INTs with a primary key and another take 21 bytes.
const CERTIFIED_BYTES: u64 = 24;
/// The most bytes of a byte of text in the engine: in another character set.
const BYTE_BYTES: u64 = 4;
/// Least that a chunk is.
const CHUNK_BYTES_MIN: u64 = 1 << 10;
/// Text of which an engine never makes less than a byte: `1234567890` is an INT of four.
const TEXT_PER_BYTE: u64 = 4;

/// A limit, and what sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Bytes at most.
    pub bytes: u64,
    /// The variable or the rule.
    pub from: &'static str,
}

/// How a filled table takes another one's place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Swap {
    /// By one RENAME, behind LOCK TABLES.
    #[default]
    Locked,
    /// By one RENAME; LOCK TABLES does nothing there.
    Unlocked,
    /// It does not, for this reason.
    Never(&'static str),
}

/// The rules of an engine for a load. The default is that of a plain server: none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// The engine.
    pub kind: Kind,
    /// Why no row is sent, whatever the table.
    pub refused: Option<String>,
    /// Why rows are not sent by LOAD DATA LOCAL.
    pub no_load_data: Option<String>,
    /// The character sets that LOAD DATA takes rows in, whatever it is told; none where it does as it is
    /// told.
    pub load_data_charsets: Option<&'static [&'static str]>,
    /// Limit of a statement.
    pub statement: Option<Limit>,
    /// Limit of a transaction, as the engine counts it.
    pub transaction: Option<Limit>,
    /// Rows that a transaction may have, and the variable.
    pub transaction_rows: Option<(u64, &'static str)>,
    /// Connections at most that send rows, where nothing is asked for.
    pub connections_max: Option<usize>,
    /// How a filled table takes another one's place.
    pub swap: Swap,
    /// Why not all rows go in by one transaction.
    pub no_whole: Option<String>,
    /// Why indexes of a table that is filled are not left for later.
    pub no_deferred_indexes: bool,
    /// The keyspaces of Vitess and their shards, as `SHOW VITESS_SHARDS` has them: `shop/-80`.
    pub(crate) shards: Vec<String>,
    /// Notes for the user, a sentence each.
    pub notes: Vec<String>,
}

impl Rules {
    /// True for a plain server's: no rules.
    pub fn is_plain(&self) -> bool {
        self.kind == Kind::Plain
    }

    /// Why no row of a load goes into a table of `database`.
    pub fn refuses(&self, database: &str) -> Option<String> {
        let is_unknown = self.kind == Kind::Vitess && self.own_shards(database).next().is_none();
        let unknown = || format!("SHOW VITESS_SHARDS lists no shard of {database}");
        self.refused.clone().or_else(|| is_unknown.then(unknown))
    }

    /// The shards of a keyspace that has several, as USE takes them: `shop:-80`. A transaction over them is
    /// committed shard by shard. Source: vitess.io, MySQL compatibility, "Cross-shard Transactions".
    pub fn shards_of(&self, database: &str) -> Vec<String> {
        let own = self.own_shards(database).map(|shard| format!("{database}:{shard}"));
        let own: Vec<String> = own.collect();
        if own.len() > 1 { own } else { Vec::new() }
    }

    fn own_shards(&self, database: &str) -> impl Iterator<Item = &str> {
        let all = self.shards.iter().filter_map(|shard| shard.split_once('/'));
        all.filter(move |(keyspace, _)| *keyspace == database).map(|(_, shard)| shard)
    }

    /// Why rows in this character set are not sent by LOAD DATA LOCAL.
    pub fn refuses_load_data(&self, charset: &str) -> Option<String> {
        if self.no_load_data.is_some() {
            return self.no_load_data.clone();
        }
        let taken = self.load_data_charsets?;
        (!taken.contains(&charset)).then(|| {
            format!(
                "{} reads every LOAD DATA as {}, but the input is in {charset}",
                self.kind, taken[0]
            )
        })
    }

    /// Input that a transaction's rows may be of, for a table with so many columns and indexes, of which
    /// so many columns have fields in it; none where nothing limits it.
    ///
    /// An engine counts the row as it keeps it or replicates it, with its keys, so that of short rows it
    /// is many times their text. A row is `fields` bytes of text at least, its separators; more text than
    /// that only makes the rest a smaller part.
    pub fn chunk_bytes_max(&self, fields: usize, columns: usize, indexes: usize) -> Option<u64> {
        let (fields, columns, indexes) = (fields.max(1) as u64, columns as u64, indexes as u64);
        // Whether an index has an entry with the text of its columns once more.
        let (copies, of_index) = match self.kind.has_files() {
            true => (1, CERTIFIED_BYTES),
            false => (1 + indexes, ENTRY_BYTES),
        };
        let of_row = ROW_BYTES + COLUMN_BYTES * columns + of_index * indexes;
        let times = BYTE_BYTES * copies + of_row.div_ceil(fields);
        let bytes = self.transaction.map(|limit| (limit.bytes / times).max(CHUNK_BYTES_MIN));
        // The ledger's row is one of them.
        let rows = self.transaction_rows.map(|(rows, _)| rows.saturating_sub(1).max(1) * fields);
        bytes.into_iter().chain(rows).min()
    }

    /// Why `text_bytes` of rows surely do not go in by one transaction.
    pub fn refuses_whole(&self, text_bytes: u64) -> Option<String> {
        let limit = self.transaction.filter(|limit| text_bytes / TEXT_PER_BYTE > limit.bytes)?;
        Some(format!(
            "one transaction loads all rows, but {} allows {} bytes in a transaction ({}); the \
             input has {text_bytes} bytes",
            self.kind, limit.bytes, limit.from
        ))
    }

    /// The rules that bind, a sentence each.
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        sentences.extend(self.refused.iter().map(|why| format!("rows cannot be sent: {why}")));
        sentences.extend(self.transaction.map(|limit| {
            format!("a transaction has at most {} bytes ({})", limit.bytes, limit.from)
        }));
        sentences.extend(
            self.transaction_rows
                .map(|(rows, from)| format!("a transaction has at most {rows} rows ({from})")),
        );
        sentences.extend(self.statement.map(|limit| {
            format!("a statement has at most {} bytes ({})", limit.bytes, limit.from)
        }));
        sentences.extend(self.no_load_data.iter().map(|why| format!("no LOAD DATA: {why}")));
        sentences.extend(match self.swap {
            Swap::Locked => None,
            Swap::Unlocked => Some(
                "the swap works without LOCK TABLES: rows that others insert at that moment are \
                 kept in the old table and reported"
                    .to_owned(),
            ),
            Swap::Never(why) => Some(format!("tables cannot be swapped: {why}")),
        });
        sentences.extend(
            self.no_whole
                .as_ref()
                .map(|why| format!("one transaction cannot load all rows: {why}")),
        );
        sentences.extend(self.notes.iter().cloned());
        sentences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(bytes: u64) -> Rules {
        let transaction = Some(Limit { bytes, from: "txn-total-size-limit" });
        Rules { kind: Kind::TiDb, transaction, ..Rules::default() }
    }

    #[test]
    fn chunks_leave_room_for_what_the_engine_adds() {
        assert_eq!(Rules::default().chunk_bytes_max(3, 3, 2), None);
        // Four columns of one digit, a key: (64 + 64 + 64) / 4 + 8.
        assert_eq!(limited(56_000_000).chunk_bytes_max(4, 4, 1), Some(1_000_000));
        assert!(limited(100 << 20).chunk_bytes_max(16, 16, 2) > Some(2 << 20));
        assert!(limited(100 << 20).chunk_bytes_max(2, 2, 20) < Some(1 << 20));
        // What the input lacks is in the row all the same.
        assert!(limited(100 << 20).chunk_bytes_max(2, 200, 1) < Some(100 << 10));
        assert_eq!(limited(1).chunk_bytes_max(1, 1, 0), Some(CHUNK_BYTES_MIN));
        let replicated = Rules { kind: Kind::Galera, ..limited(96_000_000) };
        assert_eq!(replicated.chunk_bytes_max(4, 4, 2), Some(2_000_000));
        let rows =
            Rules { transaction_rows: Some((5000, "wsrep_max_ws_rows")), ..limited(1 << 40) };
        assert_eq!(rows.chunk_bytes_max(4, 4, 1), Some(4 * 4999));
    }

    #[test]
    fn what_surely_does_not_fit_one_transaction_is_refused_before() {
        assert_eq!(limited(1000).refuses_whole(4003), None);
        let told = limited(1000).refuses_whole(4004).unwrap_or_default();
        assert!(told.contains("TiDB allows 1000 bytes"), "{told}");
        assert_eq!(Rules::default().refuses_whole(u64::MAX), None);
    }

    #[test]
    fn shards_of_a_keyspace_are_told_if_they_are_several() {
        let shards = ["shop/-80", "shop/80-", "one/0"].map(str::to_owned).to_vec();
        let rules = Rules { kind: Kind::Vitess, shards, ..Rules::default() };
        assert_eq!((rules.refuses("shop"), rules.refuses("one")), (None, None));
        assert!(rules.refuses("other").is_some());
        assert_eq!(rules.shards_of("shop"), ["shop:-80", "shop:80-"]);
        assert_eq!(rules.shards_of("one"), Vec::<String>::new());
    }
}
