//! The statement that gives an account a right, as messages have it.

use crate::identifier::quote_name;

/// `user@host` in backquotes; `host` is what comes after its last `@`.
pub(crate) fn account(user_and_host: &str, host: &str) -> String {
    let user = user_and_host.strip_suffix(host).and_then(|user| user.strip_suffix('@'));
    format!("{}@{}", quote_name(user.unwrap_or_default()), quote_name(host))
}

/// Shows whether MySQL takes the names of databases in GRANT as they are.
pub(crate) const LITERAL: &str = "SHOW GLOBAL VARIABLES LIKE 'partial_revokes'";

/// `GRANT .. ON database.* TO account`. The name of a database is a pattern there, unless it `is_literal`.
pub(crate) fn grant(rights: &[&str], database: &str, account: &str, is_literal: bool) -> String {
    let plain = database.replace('\\', "\\\\").replace('_', "\\_").replace('%', "\\%");
    let name = if is_literal { database } else { &plain };
    format!("GRANT {} ON {}.* TO {account}", rights.join(", "), quote_name(name))
}
