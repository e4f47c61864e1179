//! The address of another machine: `ssh://[USER@]HOST[:PORT]`.

use std::fmt;
use std::path::Path;
use std::process::Command;

/// Settings that a user's configuration of ssh may have, and that a load must not have.
///
/// A build on the other machine may take hours without a byte, and firewalls forget idle connections. Files come back
/// among the messages of ssh, of which only errors may be there.
const SETTINGS: [&str; 6] = [
    "BatchMode=yes",
    "LogLevel=ERROR",
    "RemoteCommand=none",
    "ClearAllForwardings=yes",
    "ControlMaster=no",
    "ServerAliveInterval=30",
];

/// Another machine, as ssh is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    user: Option<String>,
    host: String,
    port: Option<u16>,
}

impl Address {
    /// Reads an address. Hosts may be names of the user's ssh configuration.
    ///
    /// Errors: anything else, in words that follow the text.
    pub fn parse(text: &str) -> Result<Address, &'static str> {
        const FORM: &str = "is not of the form ssh://[USER@]HOST[:PORT]";
        let rest = text.strip_prefix("ssh://").ok_or(FORM)?;
        let (user, place) = match rest.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, rest),
        };
        let (host, port) = match place.strip_prefix('[').and_then(|place| place.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, Some(port.strip_prefix(':').ok_or(FORM)?)),
            None => match place.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (place, None),
            },
        };
        if host.contains('/') || port.is_some_and(|port| port.contains('/')) {
            return Err("has a path: the program there is found by its PATH");
        }
        if !is_plain(host, "._-:%") {
            return Err(
                "has an invalid host name; letters, digits, dots and dashes are expected, and no dash first",
            );
        }
        if user.is_some_and(|user| !is_plain(user, "._-+@\\")) {
            return Err(
                "has an invalid user name, or a password; ssh logs in by a key or an agent",
            );
        }
        let port = port.map(|port| port.parse().ok().filter(|&port| port > 0));
        let port = port.map(|port| port.ok_or("has no port between 1 and 65535"));
        Ok(Address {
            user: user.map(str::to_owned),
            host: host.to_owned(),
            port: port.transpose()?,
        })
    }

    /// A run of ssh on this machine, less the command there. No terminal, no question, no forwarding.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.args(["-T", "-a", "-x"]);
        command.args(SETTINGS.iter().flat_map(|setting| ["-o", setting]));
        if let Some(port) = self.port {
            command.args(["-p", &port.to_string()]);
        }
        if let Some(user) = &self.user {
            command.args(["-l", user]);
        }
        command.args(["--", &self.host]);
        command
    }
}

/// True for a word of letters, digits and these marks that cannot be an option.
fn is_plain(word: &str, marks: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || marks.contains(c);
    !word.is_empty() && !word.starts_with('-') && word.chars().all(is_plain)
}

/// The host, for messages.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let parts = |text: &str| {
            let Address { user, host, port } = Address::parse(text).ok()?;
            Some((user.unwrap_or_default(), host, port.unwrap_or(0)))
        };
        for (text, user, host, port) in [
            ("ssh://db1", "", "db1", 0),
            ("ssh://mysql@db-1.example.org:2222", "mysql", "db-1.example.org", 2222),
            ("ssh://a@realm@h", "a@realm", "h", 0),
            ("ssh://[fe80::1%eth0]:22", "", "fe80::1%eth0", 22),
            ("ssh://[::1]", "", "::1", 0),
        ] {
            let expected = Some((user.to_owned(), host.to_owned(), port));
            assert_eq!(parts(text), expected, "{text}");
        }
        for wrong in [
            "db1",
            "http://db1",
            "ssh://",
            "ssh:///x",
            "ssh://h/x",
            "ssh://h:22/x",
            "ssh://-oProxyCommand=x",
            "ssh://u@-h",
            "ssh://-lroot@h",
            "ssh://u:p@h",
            "ssh://@h",
            "ssh://h:",
            "ssh://h:0",
            "ssh://h:70000",
            "ssh://a b",
            "ssh://`id`",
            "ssh://$(id)",
            "ssh://h;id",
            "ssh://[::1",
            "ssh://[::1]22",
            "ssh://h\n",
            "SSH://h",
        ] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_host_is_behind_the_end_of_options() {
        let address = Address { user: Some("u".into()), host: "h".into(), port: Some(22) };
        let command = address.command(Path::new("ssh"));
        let words: Vec<_> = command.get_args().filter_map(|word| word.to_str()).collect();
        assert!(words.ends_with(&["-p", "22", "-l", "u", "--", "h"]), "{words:?}");
        assert!(words.contains(&"BatchMode=yes"), "{words:?}");
    }
}
