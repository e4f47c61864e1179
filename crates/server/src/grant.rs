//! The statement that gives an account a right, as messages have it.

use crate::identifier::quote_name;

/// `user@host` in backquotes; `host` is what comes after its last `@`.
pub(crate) fn account(user_and_host: &str, host: &str) -> String {
    let user = user_and_host.strip_suffix(host).and_then(|user| user.strip_suffix('@'));
    format!("{}@{}", quote_name(user.unwrap_or_default()), quote_name(host))
}

/// `GRANT .. ON database.* TO account`.
pub fn grant(rights: &[&str], database: &str, account: &str) -> String {
    // The name of a database is a pattern here.
    let plain = database.replace('\\', "\\\\").replace('_', "\\_").replace('%', "\\%");
    format!("GRANT {} ON {}.* TO {account}", rights.join(", "), quote_name(&plain))
}
