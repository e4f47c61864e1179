//! Names of a load's own tables and its lock.
//!
//! All names begin with `_inrush_` and hold a digest of the target's full name, so that nothing of
//! anyone else's is ever taken for a leftover.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use schema::{Mode, Table};
use server::identifier::{TableName, digest};

/// Characters of the target's name in the names of ours: 64 less prefix and digest.
const NAME_CHARS: usize = 30;

/// The mark before the proof of a command in a name, and before the last `_`.
const PROOF_MARK: &str = "_by";
/// The kind of tables whose row proves that a transaction was committed.
pub(super) const MARK: &str = "mark";
/// The kinds of old tables that a swap has renamed.
pub(super) const ASIDES: [&str; 3] = ["old", "empty", "before"];

/// Names of one load's helpers, derived from the target's name alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The table that is filled and swapped in.
    /// [`StagingCopy::create`](super::staging_copy::StagingCopy::create) gives it a name of one load alone.
    pub staging: TableName,
    /// Name of the target after a swap that replaces its rows.
    pub replaced: TableName,
    /// Name of the target after a swap if it was empty.
    pub emptied: TableName,
    /// Name of the target after a swap if its rows were taken over.
    pub extended: TableName,
    /// Made and dropped to raise the server's counter of hidden row ids.
    pub row_ids: TableName,
    /// Which chunks of a load by statements are in.
    pub ledger: TableName,
    /// Which appends to tables of other servers are begun, and which of them are decided.
    pub appends: TableName,
    /// The server's named lock.
    pub lock: String,
    /// The identity of the command's rows, in names of tables that prove that they are in.
    pub proof: Option<String>,
}

impl Names {
    /// The names for a target.
    pub fn of(target: &TableName) -> Names {
        let suffix = suffix(target);
        let name = |kind: &str| {
            TableName::new(target.database.clone(), format!("_inrush_{kind}_{suffix}"))
        };
        Names {
            staging: name("new"),
            replaced: name("old"),
            emptied: name("empty"),
            extended: name("before"),
            row_ids: name("ids"),
            ledger: name("ledger"),
            appends: name("append"),
            lock: format!("inrush_{}", digest_of(target)),
            proof: None,
        }
    }

    /// The server's named lock of loads that publish the table or a table that foreign keys join with it.
    pub(super) fn publishing_lock(&self) -> String {
        format!("{}_publish", self.lock)
    }

    /// The same for a command whose rows are known by this, 16 digits.
    pub(crate) fn proven_by(self, proof: Option<String>) -> Names {
        Names { proof, ..self }
    }

    /// The table that takes the target's place, right before it does.
    pub(super) fn replacement(&self, table: &Table) -> TableName {
        match table.references.is_empty() {
            true => self.staging.clone(),
            false => TableName::new(self.staging.table.as_str(), table.name.table.as_str()),
        }
    }

    /// Name of the target once that has its place. Tables without foreign keys are named by the
    /// proof of their command: the privileges of the others are those to databases of fixed names.
    pub(super) fn aside(&self, table: &Table, mode: Mode) -> TableName {
        let (aside, kind) = match mode {
            Mode::Insert => (&self.emptied, "empty"),
            Mode::Replace => (&self.replaced, "old"),
            Mode::Append => (&self.extended, "before"),
        };
        if mode == Mode::Append && merged_space_id(&table.name, aside).is_some() {
            return aside.clone();
        }
        if let Some(proof) = self.proof.as_ref().filter(|_| table.foreign_keys.is_empty()) {
            return proven_name(&table.name, kind, proof);
        }
        match table.references.is_empty() {
            true => aside.clone(),
            false => TableName::new(aside.table.as_str(), table.name.table.as_str()),
        }
    }

    /// All that the target can be called then.
    pub(super) fn asides(&self, target: &TableName) -> Vec<TableName> {
        let elsewhere =
            |aside: &TableName| TableName::new(aside.table.as_str(), target.table.as_str());
        let beside = self.beside();
        beside.into_iter().cloned().chain(beside.map(elsewhere)).collect()
    }

    /// The names that it can have in its own database.
    pub(super) fn beside(&self) -> [&TableName; 3] {
        [&self.emptied, &self.replaced, &self.extended]
    }

    /// The databases that a load of the target makes, whether or not it needs them.
    pub(super) fn staging_databases(&self) -> [&str; 4] {
        let [emptied, replaced, extended] = self.beside();
        [&self.staging.table, &emptied.table, &replaced.table, &extended.table]
    }
}

/// A name beside the target with the proof of a command in place of what can be read.
pub(super) fn proven_name(target: &TableName, kind: &str, proof: &str) -> TableName {
    let table = format!("_inrush_{kind}_{}{PROOF_MARK}_{proof}", digest_of(target));
    TableName::new(target.database.clone(), table)
}

/// The proof in a name that [`proven_name`] gives, or [`merged_name`].
pub(super) fn proof_in(table: &TableName) -> Option<String> {
    let (before, proof) = table.table.rsplit_once('_')?;
    let is_proof = proof.len() == 16 && proof.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_marked = before.ends_with(PROOF_MARK);
    let is_merged = table.table.contains("_merged_");
    (is_proof && (is_marked || is_merged)).then(|| proof.to_owned())
}

/// The prefix of all tables of one kind that a load makes for a target.
pub(super) fn kind_prefix(target: &TableName, kind: &str) -> String {
    format!("_inrush_{kind}_{}_", digest_of(target))
}

/// The table whose row proves that one transaction was committed, of a load that is known by nothing else.
pub(super) fn mark_name(target: &TableName, names: &Names, connection: u64) -> TableName {
    match &names.proof {
        Some(proof) => proven_name(target, MARK, proof),
        None => staging_name(target, connection),
    }
}

/// True if a database is one that a load makes for tables with foreign keys, by its name.
pub(super) fn is_own_database(database: &str) -> bool {
    database.starts_with("_inrush_")
}

/// The end of all names of ours for a table: a digest of its full name, and the readable part of
/// its name.
pub fn suffix(table: &TableName) -> String {
    let plain: String = table
        .table
        .chars()
        .flat_map(char::to_lowercase)
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .take(NAME_CHARS)
        .collect();
    format!("{}_{plain}", digest_of(table))
}

/// In 16 digits.
pub(super) fn digest_of(table: &TableName) -> String {
    format!("{:016x}", digest(format!("{}\0{}", table.database, table.table).as_bytes()))
}

/// Possible digests of a target in a name of ours; nothing in other names.
pub(super) fn digests_in(name: &str) -> impl Iterator<Item = String> {
    let is_ours = name.contains("_inrush_");
    let words = name.split(['_', '.', '#', '/']).filter(move |word| is_ours && word.len() == 16);
    words.map(str::to_owned)
}

/// A pattern of LIKE for all names of ours for a table.
pub(super) fn own_pattern(target: &TableName) -> String {
    format!("\\_inrush\\_%\\_{}\\_%", digest_of(target))
}

/// The prefix of all tables for partitions of a target.
pub(super) fn part_prefix(target: &TableName) -> String {
    format!("_inrush_part_{}_", digest_of(target))
}

/// A table for a partition of a target, or for all of them.
pub(super) fn part_name(target: &TableName, which: &str) -> TableName {
    TableName::new(target.database.clone(), format!("{}{which}", part_prefix(target)))
}

/// A table with the old and new rows of a partition, whose tablespace has this number: the rows take it
/// along when they are exchanged, and the name stays.
pub(super) fn merged_name(target: &TableName, names: &Names, space_id: u32) -> TableName {
    let proof = names.proof.as_ref().map_or(String::new(), |proof| format!("_{proof}"));
    part_name(target, &format!("merged_{space_id}{proof}"))
}

/// True of a name that [`merged_name`] gives.
pub(super) fn is_merged(target: &TableName, table: &TableName) -> bool {
    table.table.starts_with(&format!("{}merged_", part_prefix(target)))
}

/// The number in a name that [`merged_name`] gives.
pub(super) fn merged_space_id(target: &TableName, table: &TableName) -> Option<u32> {
    let words = table.table.strip_prefix(&part_prefix(target))?.strip_prefix("merged_")?;
    words.split_once('_').map_or(words, |(number, _)| number).parse().ok()
}

/// Name for the old rows of a table or a partition, if others may have written to it at the last moment. No
/// load removes it.
pub(super) fn kept_name(target: &TableName, connection: u64) -> TableName {
    let table = format!("_inrush_kept_{}_{:016x}", digest_of(target), token(connection));
    TableName::new(target.database.clone(), table)
}

/// The prefix of the staging tables that rows for a target are sent to, and of its marks without a proof.
pub(super) fn staging_prefix(target: &TableName) -> String {
    format!("_inrush_twin_{}_", digest_of(target))
}

/// A name that no other load gives, and that nobody foresees.
pub(super) fn staging_name(target: &TableName, connection: u64) -> TableName {
    let token = token(connection);
    TableName::new(target.database.clone(), format!("{}{token:016x}", staging_prefix(target)))
}

/// A number that no other load gives: by time, process and connection, under a key from the system's random
/// numbers.
pub fn token(connection: u64) -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    RandomState::new().hash_one((since.as_nanos(), std::process::id(), connection))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_helpers_fit_and_differ() {
        let long = TableName::new("d", "\u{65e5}".repeat(64));
        let names = Names::of(&long);
        for name in
            [&names.staging, &names.replaced, &names.emptied, &names.extended, &names.row_ids]
        {
            assert!(name.table.chars().count() <= 64 && name.table.is_ascii(), "{name}");
            assert!(name.table.starts_with("_inrush_"));
        }
        assert_ne!(names.staging, Names::of(&TableName::new("d", "\u{65e6}".repeat(64))).staging);
        // A dot more or less on either side is another table.
        assert_ne!(
            Names::of(&TableName::new("a", "b.c")).lock,
            Names::of(&TableName::new("a.b", "c")).lock
        );
        assert_eq!(Names::of(&TableName::new("d", "Line-Item")).staging.table.len(), 38);
    }

    #[test]
    fn the_name_of_a_merged_partition_says_its_number() {
        let target = TableName::new("d", "t".repeat(64));
        let names = Names::of(&target);
        let proven = names.clone().proven_by(Some("0123456789abcdef".to_owned()));
        for (names, proof) in [(names, None), (proven, Some("0123456789abcdef".to_owned()))] {
            let merged = merged_name(&target, &names, u32::MAX);
            assert!(merged.table.len() <= 64 && merged.table.starts_with(&part_prefix(&target)));
            assert_eq!(merged_space_id(&target, &merged), Some(u32::MAX));
            assert_eq!(proof_in(&merged), proof);
        }
        let merged = merged_name(&target, &Names::of(&target), u32::MAX);
        assert_eq!(merged_space_id(&target, &part_name(&target, "7")), None);
        assert_eq!(merged_space_id(&TableName::new("e", "t"), &merged), None);
    }

    #[test]
    fn the_name_of_a_proof_says_which_command_it_is_of() {
        let target = TableName::new("d", "t".repeat(64));
        let proof = "0123456789abcdef".to_owned();
        for kind in [MARK, "old", "empty", "before"] {
            let name = proven_name(&target, kind, &proof);
            assert!(name.table.len() <= 64 && name.table.starts_with(&kind_prefix(&target, kind)));
            assert_eq!(proof_in(&name), Some(proof.clone()));
        }
        let names = Names::of(&target);
        for plain in [&names.replaced, &names.emptied, &names.extended, &names.staging] {
            assert_eq!(proof_in(plain), None, "{plain}");
        }
        // Anybody may have made a table of such a name.
        let foreign = format!("{}{}", kind_prefix(&target, "old"), "\u{540d}".repeat(6));
        assert_eq!(proof_in(&TableName::new("d", foreign)), None);
    }

    #[test]
    fn names_of_staging_tables_differ_and_are_found() {
        let target = TableName::new("d", "t".repeat(64));
        let (one, other) = (staging_name(&target, 1), staging_name(&target, 2));
        assert_ne!(one, other);
        assert!(one.table.starts_with(&staging_prefix(&target)) && one.table.len() <= 64, "{one}");
        assert!(!one.table.starts_with(&staging_prefix(&TableName::new("e", "t".repeat(64)))));
    }
}
