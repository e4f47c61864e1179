//! The ways a dump is played.

use crate::choice::choices;

choices! {
    /// A way of replaying a dump into a server without its database.
    pub enum ReplayWay {
        /// `mariadb < dump.sql`.
        Client = "client", "mariadb < dump.sql";
        /// `inrush replay dump.sql --as statements`, from the start of the process to its end.
        Statements = "statements", "Inrush as statements";
        /// `inrush replay dump.sql`.
        Rows = "rows", "Inrush as rows";
    }
}
