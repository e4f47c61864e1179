//! The nesting of the columns that a footer describes, examined before its tree is made.
//!
//! Source: Apache Parquet, `parquet.thrift`: field 2 of FileMetaData is the schema as a list, in which field 5 of a
//! SchemaElement says how many of those behind it are its children.

use crate::guard::Problem;
use crate::thrift::Thrift;

/// Levels that are read: a list has three, a map too.
const LEVELS_MAX: usize = 200;

/// Refuses a footer that is damaged, or whose columns are nested too deeply for those who go down into them.
pub(super) fn check(footer: &[u8]) -> Result<(), Problem> {
    match levels(footer) {
        Some(..=LEVELS_MAX) => Ok(()),
        Some(_) => Err(format!("its columns are nested more than {LEVELS_MAX} levels deep")),
        None => Err("the footer of Parquet is damaged".to_owned()),
    }
}

/// Levels of the deepest column; None of what is no footer, or is cut off.
fn levels(footer: &[u8]) -> Option<usize> {
    let mut thrift = Thrift::new(footer);
    let (mut id, mut deepest) = (0, 0);
    while let Some((kind, number)) = thrift.field(id)? {
        id = number;
        match (number, kind) {
            (2, 9) => deepest = levels_of_schema(&mut thrift)?,
            (_, kind) => thrift.skip(kind)?,
        }
    }
    (thrift.read_bytes() <= footer.len()).then_some(deepest)
}

fn levels_of_schema(thrift: &mut Thrift<'_>) -> Option<usize> {
    let (_, count) = thrift.list()?;
    // Children of each open element that are still to come.
    let mut open: Vec<u64> = Vec::new();
    let mut deepest = 0;
    for _ in 0..count {
        let children = children(thrift)?;
        if let Some(left) = open.last_mut() {
            *left = left.saturating_sub(1);
        }
        if children > 0 {
            open.push(children);
            deepest = deepest.max(open.len());
        } else {
            while open.last() == Some(&0) {
                open.pop();
            }
        }
    }
    Some(deepest)
}

/// Children of an element.
fn children(thrift: &mut Thrift<'_>) -> Option<u64> {
    let (mut id, mut children) = (0, 0);
    while let Some((kind, number)) = thrift.field(id)? {
        id = number;
        match (number, kind) {
            (5, 5) => children = u64::try_from(thrift.zigzag()?).ok()?,
            (_, kind) => thrift.skip(kind)?,
        }
    }
    Some(children)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer with one column so many levels deep.
    fn footer(groups: usize) -> Vec<u8> {
        // Version 1, then the schema: an element has a name of one byte and perhaps a child.
        let mut bytes = vec![0x15, 2, 0x19, 0xfc];
        let mut count = groups + 1;
        while count >= 0x80 {
            bytes.push(count as u8 | 0x80);
            count >>= 7;
        }
        bytes.push(count as u8);
        (0..groups).for_each(|_| bytes.extend([0x48, 1, b'g', 0x15, 2, 0]));
        bytes.extend([0x48, 1, b'x', 0, 0]);
        bytes
    }

    #[test]
    fn levels_are_those_of_the_deepest_column() {
        assert_eq!(levels(&footer(1)), Some(1));
        assert_eq!(levels(&footer(3)), Some(3));
        // A root with two groups of one column each, and a column.
        let root = [0x48, 1, b'r', 0x15, 6, 0];
        let pair = [0x48, 1, b'g', 0x15, 2, 0, 0x48, 1, b'x', 0];
        let head = [0x15, 2, 0x19, 0x6c];
        let last = [0x48, 1, b'y', 0, 0];
        let bytes = [&head[..], &root, &pair, &pair, &last].concat();
        assert_eq!(levels(&bytes), Some(2));
        (0..bytes.len()).for_each(|end| assert_eq!(levels(&bytes[..end]), None, "{end}"));
    }

    #[test]
    fn columns_of_a_million_levels_are_refused() {
        assert_eq!(check(&footer(LEVELS_MAX)), Ok(()));
        for groups in [LEVELS_MAX + 1, 1_000_000] {
            assert!(check(&footer(groups)).is_err_and(|problem| problem.contains("nested")));
        }
    }
}
