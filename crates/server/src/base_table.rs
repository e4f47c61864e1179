//! The view that a server has refused where a statement takes base tables only.

use schema::BASE_TABLE;

/// Server error of an index hint that names no index, or is on a view.
const ER_KEY_DOES_NOT_EXIST: u16 = 1176;

/// The view that a statement was refused for; none of another error.
pub(crate) fn refused_view(errno: u16, message: &str, sql: &str) -> Option<String> {
    if errno != ER_KEY_DOES_NOT_EXIST || !sql.contains(BASE_TABLE) {
        return None;
    }
    // `Key '(null)' doesn't exist in table 'v'`, in the server's language: the last of what is in quotes.
    let name = message.rsplit('\'').nth(1).unwrap_or_default();
    let quoted = format!(".{} ", schema::quote_name(name));
    let database = sql.split(&quoted).next().filter(|before| before.len() < sql.len());
    let database = database.and_then(|before| before.strip_suffix('`')?.rsplit('`').next());
    Some(match database {
        Some(database) => format!("{database}.{name}"),
        None => name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use schema::TableName;

    use super::*;

    #[test]
    fn a_refused_view_is_named_with_its_database() {
        let refused = |message: &str, sql: &str| refused_view(1176, message, sql);
        let (one, other) = (TableName::new("d", "t"), TableName::new("e d", "v w"));
        let sql = format!("SELECT 1 FROM {}, {} LIMIT 0", one.base(), other.base());
        let view = refused("Key '(null)' doesn't exist in table 'v w'", &sql);
        assert_eq!(view.as_deref(), Some("e d.v w"));
        let view = refused("Schluessel '(null)' existiert in der Tabelle 't' nicht", &sql);
        assert_eq!(view.as_deref(), Some("d.t"));
        assert_eq!(refused("Key 'k' doesn't exist in table 't'", "SELECT 1 FROM t"), None);
    }
}
