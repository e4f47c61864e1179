//! URIs of servers: `mysql://loader:secret@db1:3306/shop?ssl-ca=ca.pem`.

use adbc_core::error::{Result, Status};

use crate::errors::error;

/// The parts of a URI as names and values of options. The password is one of them.
///
/// Errors: another scheme, `%` without two digits behind it, a port that is no number, `/` and `?` in a
/// password.
pub(crate) fn options(uri: &str) -> Result<Vec<(String, String)>> {
    let rest = uri.strip_prefix("mysql://").or_else(|| uri.strip_prefix("mariadb://"));
    // The URI may hold a password, so that no message has it.
    let rest = rest.ok_or_else(|| bad("the URI does not begin with mysql:// or mariadb://"))?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (account, address) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = match account.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (account, None),
    };
    let (host, port) = split_port(address);
    // They are the rest of a password, whose `/` or `?` ends the account.
    let is_account = database.contains('@') || (account.is_empty() && query.contains('@'));
    if is_account || !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(malformed());
    }
    let mut options = Vec::new();
    let mut add = |name: &str, value: &str| -> Result<()> {
        if !value.is_empty() {
            options.push((name.to_owned(), decoded(value)?));
        }
        Ok(())
    };
    add("host", host)?;
    add("port", port)?;
    add("user", user)?;
    add("database", database)?;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, "true"));
        if name.contains('@') {
            return Err(malformed());
        }
        add(&decoded(name)?.replace('_', "-"), value)?;
    }
    if let Some(password) = password {
        options.push(("password".to_owned(), decoded(password)?));
    }
    Ok(options)
}

/// Host and port; an address of IPv6 is in brackets.
fn split_port(address: &str) -> (&str, &str) {
    if let Some((host, rest)) = address.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (host, rest.strip_prefix(':').unwrap_or_default());
    }
    address.rsplit_once(':').unwrap_or((address, ""))
}

fn decoded(text: &str) -> Result<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let byte = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.ok_or_else(|| bad("a % in the URI has no two digits behind it"))?);
        bytes.extend(part.as_bytes().iter().skip(2));
    }
    String::from_utf8(bytes).map_err(|_| bad("the URI is not UTF-8"))
}

fn malformed() -> adbc_core::error::Error {
    bad(
        "the URI is malformed: characters of the user and the password are escaped, / as %2F, ? as \
         %3F, @ as %40, and the port is a number",
    )
}

fn bad(message: &str) -> adbc_core::error::Error {
    error(Status::InvalidArguments, message)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn text(uri: &str) -> String {
        let options = options(uri).unwrap();
        options.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn uris_are_options() {
        for (uri, expected) in [
            ("mysql://db1", "host=db1"),
            ("mariadb://[::1]:3307/", "host=::1 port=3307"),
            (
                "mysql://root@localhost/?socket=/run/s.sock",
                "host=localhost user=root socket=/run/s.sock",
            ),
            (
                "mysql://lo%40der:p%3A%2F@db1:3307/my%20shop?ssl_ca=ca.pem&compress",
                "host=db1 port=3307 user=lo@der database=my shop ssl-ca=ca.pem compress=true password=p:/",
            ),
            ("mysql://u:@h", "host=h user=u password="),
        ] {
            assert_eq!(text(uri), expected, "{uri}");
        }
    }

    #[test]
    fn bad_uris_are_errors_that_do_not_show_them() {
        for uri in [
            "postgresql://u:secret@h",
            "mysql://u:secret%4@h",
            "mysql://u:secret%ff@h",
            "mysql://u:secret/x@h/shop",
            "mysql://u:12/secret@h/shop",
            "mysql://u:x?secret@h/shop",
            "mysql://u:x?secret=y@h/shop",
            "mysql://u:a@b/secret@h/shop",
            "mysql://u:a@b?secret@h/shop",
            "mysql://h:secret/shop",
        ] {
            assert!(!options(uri).unwrap_err().message.contains("secret"), "{uri}");
        }
    }
}
