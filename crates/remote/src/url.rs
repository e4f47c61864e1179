//! URLs of HTTP: what a request needs, and the name that messages show.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sources::remote::without_secrets;
use ureq::http::Uri;

/// A URL of an input.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Url {
    /// `http` or `https`.
    scheme: String,
    /// The host, and the port if it is named.
    host: String,
    /// Path and query.
    target: String,
    /// The value of the header Authorization; None without a user in the URL.
    pub(crate) login: Option<String>,
}

impl Url {
    /// Reads a URL. Bytes that may not be in one, such as blanks, are encoded.
    pub(crate) fn parse(text: &str) -> Option<Url> {
        let (scheme, rest) = text.split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        if scheme != "http" && scheme != "https" {
            return None;
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let target = match target.starts_with('/') {
            true => encoded(target),
            false => format!("/{}", encoded(target)),
        };
        let login = user.map(|user| format!("Basic {}", BASE64_STANDARD.encode(decoded(user))));
        let url = Url { scheme, host: host.to_owned(), target, login };
        let is_valid = url
            .request()
            .parse::<Uri>()
            .is_ok_and(|uri| uri.host().is_some_and(|host| !host.is_empty()));
        let behind_address = url.host.rsplit(']').next().unwrap_or_default();
        let port = behind_address.split_once(':').map(|(_, port)| port);
        let has_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
        (is_valid && has_port).then_some(url)
    }

    /// As a request names it.
    pub(crate) fn request(&self) -> String {
        format!("{}://{}{}", self.scheme, self.host, self.target)
    }

    /// As messages show it.
    pub(crate) fn shown(&self) -> String {
        without_secrets(&self.request()).map_or_else(String::new, |(shown, _)| shown)
    }

    /// The URL that a redirect names.
    ///
    /// Errors: why it is not followed.
    pub(crate) fn redirected(&self, location: &str) -> Result<Url, String> {
        let to = if location.starts_with("//") {
            Url::parse(&format!("{}:{location}", self.scheme))
        } else if location.contains("://") && !location.starts_with(['/', '?']) {
            Url::parse(location)
        } else {
            let path = self.target.split('?').next().unwrap_or_default();
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let target = match location.as_bytes().first() {
                Some(b'/') => location.to_owned(),
                Some(b'?') => format!("{path}{location}"),
                _ => format!("{folder}/{location}"),
            };
            Url::parse(&format!("{}://{}{target}", self.scheme, self.host))
        };
        let to = to.ok_or("the server redirects to something that is no URL of HTTP")?;
        if self.scheme == "https" && to.scheme == "http" {
            return Err(format!(
                "the server redirects from https to http, to {}; name that URL if it is meant",
                to.shown()
            ));
        }
        let login = to.login.clone().or_else(|| {
            let is_same = (&self.scheme, &self.host) == (&to.scheme, &to.host);
            self.login.clone().filter(|_| is_same)
        });
        Ok(Url { login, ..to })
    }
}

/// The text with the bytes encoded that may not be in a URL.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte.is_ascii_alphanumeric() || b"-._~:/?@!$&'()*+,;=%".contains(&byte) {
            true => out.push(char::from(byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The bytes that percent signs stand for.
fn decoded(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, more)) = rest.split_first() {
        let digits = more.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(value) if byte == b'%' => {
                out.push(value);
                rest = &more[2..];
            }
            _ => {
                out.push(byte);
                rest = more;
            }
        }
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_and_shown_without_secrets() {
        let url = Url::parse("https://us%40er:pass@h:8443/a b/\u{e9}.csv?sig=s#part").unwrap();
        assert_eq!(url.request(), "https://h:8443/a%20b/%C3%A9.csv?sig=s");
        assert_eq!(url.shown(), "https://h:8443/a%20b/%C3%A9.csv");
        let login = BASE64_STANDARD.encode("us@er:pass");
        assert_eq!(url.login.as_deref(), Some(format!("Basic {login}").as_str()));
        assert_eq!(Url::parse("http://h?x=1").unwrap().request(), "http://h/?x=1");
        for wrong in ["ftp://h/a", "http://", "http:///a", "http://h:port/a", "http://a b/"] {
            assert!(Url::parse(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn redirects_keep_a_login_on_their_host_and_never_leave_https() {
        let url = Url::parse("https://u:p@h/a/b?q").unwrap();
        let to =
            |location: &str| url.redirected(location).map(|to| (to.request(), to.login.is_some()));
        let is = |request: &str, login| Ok((request.to_owned(), login));
        assert_eq!(to("/c?d"), is("https://h/c?d", true));
        assert_eq!(to("c"), is("https://h/a/c", true));
        assert_eq!(to("?r"), is("https://h/a/b?r", true));
        assert_eq!(to("//other/c"), is("https://other/c", false));
        assert_eq!(to("https://h/x?u=http://y"), is("https://h/x?u=http://y", true));
        assert_eq!(to("https://h:444/x"), is("https://h:444/x", false));
        let error = to("http://h/x?secret").unwrap_err();
        assert!(error.contains("http://h/x") && !error.contains("secret"), "{error}");
        assert!(to("ftp://h/x").is_err());
    }
}
