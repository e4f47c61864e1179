//! Foreign keys as a CREATE TABLE has them.

/// A foreign key, taken apart where the table it refers to is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// The name of the constraint, where the dump gives it one.
    pub name: Option<String>,
    /// `` CONSTRAINT `f` FOREIGN KEY ( `a` ) REFERENCES ``.
    pub head: String,
    /// The table it refers to.
    pub parent: Parent,
    /// `` ( `id` ) ON DELETE CASCADE ``.
    pub tail: String,
    /// Names of the columns that it is of.
    pub columns: Vec<Vec<u8>>,
}

/// A table that a foreign key refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// Its database, where the dump names it: else that of the table with the foreign key.
    pub database: Option<String>,
    /// Its name.
    pub table: String,
}

impl ForeignKey {
    /// True if an index of these columns serves for it, so that the server makes none of its own,
    /// or drops that when this one is made.
    pub fn is_served_by(&self, columns: &[Vec<u8>]) -> bool {
        // Names of columns have no case.
        columns.len() >= self.columns.len()
            && columns.iter().zip(&self.columns).all(|(a, b)| a.eq_ignore_ascii_case(b))
    }

    /// True if it is written in ASCII alone, so that it reads the same in every character set.
    pub fn is_ascii(&self) -> bool {
        let parts = [&self.head, &self.tail, &self.parent.table];
        parts.into_iter().chain(&self.parent.database).all(|part| part.is_ascii())
    }
}
