//! The last line of a dump by mariadb-dump or mysqldump, and the triggers that `--tab` writes behind it.
//!
//! ```text
//! -- Dump completed on 2026-12-01  3:46:21
//! ALTER DATABASE `s` CHARACTER SET latin1 ..     where the trigger's is not that of the database
//! /*!50003 SET @saved_cs_client .. */ ;          and more of these
//! /*!50032 DROP TRIGGER IF EXISTS `t` */;        --add-drop-trigger
//! DELIMITER ;;
//! /*!50003 CREATE*/ .. trigger t ..
//! DELIMITER ;
//! /*!50003 SET collation_connection  = @saved_col_connection */ ;
//! ALTER DATABASE `s` CHARACTER SET utf8mb4 ..    only behind the first line of this kind
//! ```
//!
//! Source: `dump_triggers_for_table` in `client/mysqldump.cc` of MariaDB 10.11, and its dumps.

use memchr::memmem;
use sql::StatementKind;

use super::statement::Statement;

/// The beginning of the last line.
pub(super) const COMPLETED: &[u8] = b"-- Dump completed";
/// The end of the last SET behind a trigger.
const LAST_SET: &[u8] = b"= @saved_col_connection";
const ALTER_DATABASE: &[u8] = b"ALTER DATABASE";

/// The last line of an input as far as it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LastLine {
    /// The last line has not come, or a statement came behind it that belongs to no trigger.
    #[default]
    Missing,
    /// The last line came, and no statement behind it.
    Read,
    /// Triggers came behind the last line.
    Triggers {
        /// True if the last one has all its statements.
        is_whole: bool,
        /// True if the database still has the character set of a trigger.
        is_altered: bool,
    },
}

impl LastLine {
    /// True if nothing is missing behind the statements so far.
    pub(super) fn is_end(self) -> bool {
        matches!(self, LastLine::Read | LastLine::Triggers { is_whole: true, is_altered: false })
    }

    /// The same with a line `DELIMITER` behind it.
    pub(super) fn with_delimiter(self) -> LastLine {
        let (_, is_altered) = self.triggers();
        self.with_triggers(false, is_altered)
    }

    /// The same with a statement behind it.
    pub(super) fn with(self, statement: &Statement) -> LastLine {
        let Statement { kind, text, .. } = statement;
        let (is_whole, is_altered) = self.triggers();
        match kind {
            StatementKind::Set { .. } => {
                self.with_triggers(memmem::find(text, LAST_SET).is_some(), is_altered)
            }
            StatementKind::CreateTrigger(_) | StatementKind::DropTrigger(_) => {
                self.with_triggers(false, is_altered)
            }
            StatementKind::Other if text.starts_with(ALTER_DATABASE) => {
                self.with_triggers(is_whole, !is_altered)
            }
            _ => LastLine::Missing,
        }
    }

    /// True if the last trigger is whole; true if the database has the character set of one.
    fn triggers(self) -> (bool, bool) {
        match self {
            LastLine::Triggers { is_whole, is_altered } => (is_whole, is_altered),
            LastLine::Missing | LastLine::Read => (false, false),
        }
    }

    fn with_triggers(self, is_whole: bool, is_altered: bool) -> LastLine {
        match self {
            LastLine::Missing => self,
            LastLine::Read | LastLine::Triggers { .. } => {
                LastLine::Triggers { is_whole, is_altered }
            }
        }
    }
}
