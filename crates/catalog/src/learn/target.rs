//! A collation that is being learned: how statements name it, and how the server tells its levels.

use values::Charset;

use super::is_mysql;
use server::error::Result;
use server::identifier::hex;
use server::session::{Row, Session};

/// Levels a collation may have.
const LEVELS_MAX: usize = 3;
/// The unit between the levels of MySQL's weights. No weight of several levels contains it.
const SEPARATOR: [u8; 2] = [0, 0];

/// A collation as statements name it.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) charset: Charset,
    /// Checked by [`super::check_name`].
    pub(super) name: &'a str,
    pub(super) levels: Levels,
}

/// How the server tells the weights of each level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Levels {
    /// There is one.
    One,
    /// MariaDB: by the level's number. Zeros stand behind the numbers of the levels there are.
    Numbered([u8; LEVELS_MAX]),
    /// MySQL: so many levels at once, with a unit of zero between them.
    Separated(usize),
}

impl Target<'_> {
    /// A literal of this collation.
    pub(super) fn literal(self, text: &[u8]) -> String {
        format!("_{} {} COLLATE {}", self.charset.name(), hex_literal(text), self.name)
    }

    /// A literal of an ASCII text.
    fn ascii(self, text: &str) -> String {
        let mut bytes = Vec::new();
        text.chars().for_each(|c| self.charset.push_char(c.into(), &mut bytes));
        self.literal(&bytes)
    }

    pub(super) fn level_count(self) -> usize {
        match self.levels {
            Levels::One => 1,
            Levels::Numbered(levels) => levels.iter().filter(|&&level| level > 0).count(),
            Levels::Separated(count) => count,
        }
    }

    /// Columns of a SELECT with the weights of an expression, for [`Target::read`].
    pub(super) fn weights(self, expression: &str) -> Vec<String> {
        match self.levels {
            Levels::One | Levels::Separated(_) => vec![format!("WEIGHT_STRING({expression})")],
            Levels::Numbered(levels) => {
                let levels = levels.into_iter().filter(|&level| level > 0);
                levels.map(|level| format!("WEIGHT_STRING({expression} LEVEL {level})")).collect()
            }
        }
    }

    /// The weight of each level from the columns of [`Target::weights`], the first of which is
    /// `column`; None without a weight.
    ///
    /// The inner None: the weight has another number of levels.
    pub(super) fn read(self, row: &Row, column: usize) -> Option<Option<Vec<&[u8]>>> {
        match self.levels {
            Levels::Separated(count) => {
                let levels: Vec<_> = separated(row.bytes(column)?).collect();
                Some(Some(levels).filter(|levels| levels.len() == count))
            }
            _ => {
                let columns = column..column + self.level_count();
                columns.map(|column| row.bytes(column)).collect::<Option<_>>().map(Some)
            }
        }
    }

    /// The weight of a string, as WEIGHT_STRING gives it, of its weights on each level.
    pub(super) fn whole(self, levels: &[Vec<u8>]) -> Vec<u8> {
        match self.levels {
            Levels::Separated(_) => levels.join(&SEPARATOR[..]),
            _ => levels.concat(),
        }
    }

    /// The levels that the weight of a string is made of; None if the weight is not these levels
    /// one after the other.
    pub(super) fn find_levels(self, session: &mut Session) -> Result<Option<Levels>> {
        let text = self.ascii("aB");
        if is_mysql(session) {
            let row = session.query_row(&format!("SELECT WEIGHT_STRING({text})"))?;
            let count = separated(row.bytes(0).unwrap_or_default()).count();
            return Ok(match count {
                1 => Some(Levels::One),
                _ => Some(Levels::Separated(count)).filter(|_| count <= LEVELS_MAX),
            });
        }
        let level = |level: usize| format!("WEIGHT_STRING({text} LEVEL {level})");
        let sql = format!("SELECT WEIGHT_STRING({text}), {}, {}, {}", level(1), level(2), level(3));
        let row = session.query_row(&sql)?;
        let weight = |column| row.bytes(column).unwrap_or_default();
        // A level that a collation lacks weighs nothing, or as its last one.
        let candidates: [[u8; LEVELS_MAX]; 4] = [[1, 0, 0], [1, 2, 0], [1, 3, 0], [1, 2, 3]];
        let adds_up = |levels: &[u8; LEVELS_MAX]| {
            let levels = levels.iter().filter(|&&level| level > 0);
            let all: Vec<u8> = levels.flat_map(|&level| weight(level.into())).copied().collect();
            all == weight(0)
        };
        Ok(candidates.into_iter().find(adds_up).map(|levels| match levels {
            [_, 0, _] => Levels::One,
            levels => Levels::Numbered(levels),
        }))
    }

    /// True if the collation is one that pads with spaces.
    pub(super) fn has_pad_attribute(self, session: &mut Session) -> Result<bool> {
        if !is_mysql(session) {
            return Ok(!self.name.contains("_nopad_"));
        }
        let sql = format!(
            "SELECT PAD_ATTRIBUTE <> 'NO PAD' FROM information_schema.COLLATIONS \
             WHERE COLLATION_NAME = '{}'",
            self.name
        );
        session.query_row(&sql)?.number::<u8>(0).map(|pads| pads == 1)
    }

    /// True if a space at the end does not count.
    pub(super) fn is_padded(self, session: &mut Session) -> Result<bool> {
        let sql = format!("SELECT {} = {}", self.ascii("a"), self.ascii("a "));
        session.query_row(&sql)?.number::<u8>(0).map(|equal| equal == 1)
    }
}

/// The levels of a weight of MySQL.
fn separated(weight: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(weight);
    std::iter::from_fn(move || {
        let levels = rest?;
        let separator = levels.chunks_exact(SEPARATOR.len()).position(|unit| unit == SEPARATOR);
        let end = separator.map_or(levels.len(), |units| units * SEPARATOR.len());
        rest = separator.map(|_| &levels[end + SEPARATOR.len()..]);
        Some(&levels[..end])
    })
}

/// Bytes as statements write them.
pub(super) fn hex_literal(bytes: &[u8]) -> String {
    format!("x'{}'", hex(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_mysql_are_split_at_whole_units() {
        let split = |weight: &[u8]| separated(weight).map(<[u8]>::to_vec).collect::<Vec<_>>();
        assert_eq!(split(&[]), [vec![0; 0]]);
        assert_eq!(split(&[0, 0]), [vec![0; 0], vec![]]);
        // 1c 00 00 20 has zeros side by side, but in two units.
        let weight = [0x1c, 0, 0, 0x20, 0, 0, 0, 0x20, 0, 0, 0, 2];
        assert_eq!(split(&weight), [vec![0x1c, 0, 0, 0x20], vec![0, 0x20], vec![0, 2]]);
    }
}
