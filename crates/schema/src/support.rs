//! Features of tables, and the methods that take them: one table, in one place.
//!
//! Nothing else judges a table's shape. A new feature does not compile before it has a line here.

use crate::feature::Feature;
use crate::table::Table;

/// The meaning of a table's feature for those who take rows to it or from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Support {
    /// True if a tablespace with it is built.
    pub is_built: bool,
    /// True if its rows are read from the tablespace.
    pub is_read: bool,
    /// Its meaning for a staging table, and for rows sent to either.
    pub staged: Staged,
    /// True if the server adds to rows, in the order in which they come.
    pub adds_by_order: bool,
    /// True if the server gives rows what an input lacks.
    pub fills_in: bool,
}

/// The meaning of a table's feature for a staging table that takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staged {
    /// The server takes rows, and its copy of the table is like it.
    Copied,
    /// It is tied to the table, and a copy would be without.
    Tied,
    /// The same on MySQL; MariaDB copies it.
    TiedOnMySql,
    /// There is nothing to send rows to.
    Refused,
}

/// Built, read, sent, copied: nothing is in the way.
const PLAIN: Support = Support {
    is_built: true,
    is_read: true,
    staged: Staged::Copied,
    adds_by_order: false,
    fills_in: false,
};
/// No rows of its own.
const NO_TABLE: Support = Support { staged: Staged::Refused, ..SENT };
/// A file that is another than what is built and read here.
const SENT: Support = Support { is_built: false, is_read: false, ..PLAIN };
/// Something that the server would do row by row, or that a build would lack.
const NOT_BUILT: Support = Support { is_built: false, ..PLAIN };

impl Feature {
    /// The meaning of the feature.
    pub fn support(&self) -> Support {
        use Feature::*;
        match self {
            View | Sequence | TableType(_) => NO_TABLE,
            // Asked of the table besides: its history, and what its engine is like.
            SystemVersioning => Support { adds_by_order: true, ..SENT },
            Engine(_) => SENT,
            CompressedRows | RedundantRows | PageCompression(_) | Encryption(_) => SENT,
            // A copy of the table is in the same one.
            Tablespace(_) => SENT,
            // An empty table has a file of one step.
            AutoExtend(_) => NOT_BUILT,
            DataDirectory(_) => Support { staged: Staged::Tied, ..SENT },
            // A file each; partitions of partitions have files of their own.
            Partitions(by) if by.unfit().is_some() => SENT,
            Partitions(_) => PLAIN,
            // Values in a form that is neither built nor read.
            OldTemporal(_) | CompressedColumn(_) | TwoDigitYear(_) | OldUuids(_) => SENT,
            UnknownCharset(_) | UnknownType(_) => SENT,
            // Values of the server's. Columns that are exported are looked at one by one.
            GeneratedColumn(_) => NOT_BUILT,
            FullTextIndex(_) | SpatialIndex(_) | HashIndex(_) => NOT_BUILT,
            VectorIndex(_) | ExpressionIndex(_) | OtherIndex(_) => NOT_BUILT,
            Period(_) | WithoutOverlaps(_) => NOT_BUILT,
            // A copy of the table has another; that shows when the two are compared.
            RoundedDefault(_) => NOT_BUILT,
            Trigger(_) => {
                Support { staged: Staged::Tied, adds_by_order: true, fills_in: true, ..NOT_BUILT }
            }
            // MySQL's copy gives CHECK constraints names of its own.
            Check(_) => Support { staged: Staged::TiedOnMySql, ..NOT_BUILT },
            // Looked at when all rows are there.
            ForeignKeys(_) => Support { staged: Staged::Tied, ..PLAIN },
        }
    }
}

impl Table {
    /// The features for which a tablespace of the table cannot be built, in the order of reports.
    pub fn not_built(&self) -> Vec<Feature> {
        self.features().into_iter().filter(|feature| !feature.support().is_built).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraint::{Check, Trigger};

    #[test]
    fn each_feature_means_what_it_always_meant() {
        let trigger = Feature::Trigger(Trigger { name: "t".to_owned() }).support();
        assert_eq!(trigger.staged, Staged::Tied);
        assert!(trigger.adds_by_order && trigger.fills_in && trigger.is_read && !trigger.is_built);
        let check = Check { name: "c".to_owned(), clause: "1".to_owned() };
        let check = Feature::Check(check).support();
        assert_eq!((check.staged, check.fills_in), (Staged::TiedOnMySql, false));
        assert_eq!(Feature::View.support(), NO_TABLE);
        let versions = Feature::SystemVersioning.support();
        assert!(versions.staged == Staged::Copied && versions.adds_by_order && !versions.is_read);
        let hash = Feature::HashIndex("i".to_owned()).support();
        assert!(hash.staged == Staged::Copied && hash.is_read && !hash.is_built);
        let keys = Feature::ForeignKeys(Vec::new()).support();
        assert!(keys.is_built && keys.is_read && keys.staged == Staged::Tied);
    }
}
