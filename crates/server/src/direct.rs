//! What the direct path says to the features of a table.

use schema::{Feature, Table};

use crate::unsupported::Unsupported;

/// Whether the direct path cannot build a table with this feature.
pub fn refuses(feature: &Feature) -> bool {
    use Feature::*;
    match feature {
        View | Sequence | SystemVersioning | TableType(_) | Engine(_) => true,
        // What the files would have to be.
        CompressedRows | RedundantRows => true,
        // A file each.
        Partitions(partitioning) => partitioning.unfit().is_some(),
        PageCompression(_) | Encryption(_) | DataDirectory(_) => true,
        // Values in a form that is not built, and those that are the server's.
        OldTemporal(_) | CompressedColumn(_) | TwoDigitYear(_) | OldUuids(_) => true,
        UnknownCharset(_) | UnknownType(_) | GeneratedColumn(_) => true,
        FullTextIndex(_) | SpatialIndex(_) | HashIndex(_) | VectorIndex(_) | OtherIndex(_) => true,
        // What the server would check or do, row by row.
        Trigger(_) | Check(_) | Period(_) | WithoutOverlaps(_) => true,
        // Looked at when all rows are there.
        ForeignKeys(_) => false,
        // The shadow would have another.
        RoundedDefault(_) => true,
    }
}

/// Whether a table has nothing that keeps the direct path from it, whatever its server is like.
pub fn takes(table: &Table) -> bool {
    !table.features().iter().any(refuses)
}

/// What of a table keeps the direct path from it, in the order in which it is told.
pub fn refused(table: &Table) -> Vec<Unsupported> {
    table.features().into_iter().filter(refuses).map(Unsupported::Table).collect()
}
