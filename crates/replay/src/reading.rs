//! A dump's statements, read as the server reads them.

use server::Session;
use server::version::Flavor;
use sources::dump::{SqlOptions, SqlReader};
use sql::{Comments, Syntax};

use crate::options::ReplayOptions;
use crate::state::SessionState;

/// Part of the memory that one statement may take: it is held as read, and as it is sent.
const STATEMENT_SHARE: u64 = 4;

/// How statements are read that go to the server of this session.
pub(crate) fn options(options: &ReplayOptions, own: &Session) -> SqlOptions {
    SqlOptions { comments: comments(own), ..without_server(options) }
}

/// Which version comments the server of this session runs.
pub(crate) fn comments(own: &Session) -> Comments {
    let version = own.version();
    let (major, minor, patch) = version.number;
    Comments {
        mariadb: version.flavor == Flavor::MariaDb,
        version: u32::from(major) * 10_000 + u32::from(minor) * 100 + u32::from(patch),
    }
}

/// The same where no server is asked.
pub(crate) fn without_server(options: &ReplayOptions) -> SqlOptions {
    SqlOptions {
        statement_bytes_max: usize::try_from(options.memory_bytes_max / STATEMENT_SHARE)
            .unwrap_or(usize::MAX),
        temp_dir: options.temp_dir.clone(),
        stop: options.interrupt.flag(),
        ..SqlOptions::default()
    }
}

/// Has a reader go on as a session reads that is set to `state`.
pub(crate) fn follow(reader: &mut SqlReader, state: &SessionState) {
    reader.set_syntax(Syntax {
        no_backslash_escapes: state.has_mode("NO_BACKSLASH_ESCAPES"),
        ansi_quotes: state.has_mode("ANSI_QUOTES"),
        characters: reader.syntax().characters,
    });
}
