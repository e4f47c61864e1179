//! The replicas of a server, and how far they are behind.
//!
//! The primary tells which replicas registered ([`find`]), which are asked by accounts without a
//! password only; users name the others ([`Replica::named`]). Each is asked over a connection of
//! its own with the load's account and options: `Seconds_Behind_Master`, less the delay that it
//! was told to keep.

use std::collections::HashMap;
use std::time::Duration;

use face::option::REPLICA;

use super::lag::{Following, Lag};
use crate::error::{Error, Result};
use crate::facts::followers;
use crate::interrupt::Interrupt;
use crate::options::{ConnectOptions, Known, Protocol, check_host};
use crate::session::Session;
use crate::version::Flavor;

const PORT: u16 = 3306;

/// Longest wait for a connection to a replica: it is waited for with the load behind it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// One replica.
#[derive(Debug)]
pub struct Replica {
    /// `host:port`.
    name: String,
    options: ConnectOptions,
    session: Option<Session>,
    /// True if the user named it: then it is waited for in any case.
    is_named: bool,
    /// True if it has ever been seen to follow.
    followed: bool,
    /// `@@server_id`, once it was asked: all servers that replicate from each other differ in it.
    id: Option<u64>,
    /// `@@server_id` of the primary: a replica may have others too.
    primary: Option<u64>,
}

impl Replica {
    /// The replica at `HOST[:PORT]` or `[ADDRESS]:PORT`, reached as the primary of `options` is.
    ///
    /// Errors: it does not answer, or does not say how far it is behind (the account needs REPLICA
    /// MONITOR, on MySQL REPLICATION CLIENT), or replicates from nobody.
    pub fn named(address: &str, options: &ConnectOptions) -> Result<Replica> {
        let mut replica = Replica::new(address, reached(address, options)?, true);
        let following = replica.ask().map_err(|error| {
            Error::Option(format!("the replica {address} does not report its lag: {error}"))
        })?;
        if following.is_none() {
            return Err(Error::Option(format!("{address} is not a replica of any server")));
        }
        Ok(replica)
    }

    fn at(host: &str, port: u16, options: &ConnectOptions, is_named: bool) -> Replica {
        let name =
            if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        Replica::new(&name, over_tcp(host, port, options), is_named)
    }

    fn new(name: &str, options: ConnectOptions, is_named: bool) -> Replica {
        let name = name.to_owned();
        Replica { name, options, session: None, is_named, followed: false, id: None, primary: None }
    }

    /// `host:port`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if both are reached by the same address, or are the same server.
    pub fn is_same(&self, other: &Replica) -> bool {
        self.name == other.name || (self.id.is_some() && self.id == other.id)
    }

    /// How far it is behind now. None where nobody has to wait for it: it replicates from others,
    /// or was found, not named, and does not answer, or has stood still from the start.
    pub fn lag(&mut self) -> Option<Lag> {
        let following = match self.ask() {
            Ok(following) => following?,
            Err(_) => {
                self.session = None;
                Following::Unreachable
            }
        };
        match following {
            Following::Behind(_) => self.followed = true,
            Following::Stopped if !self.is_named && !self.followed => return None,
            Following::Unreachable if !self.is_named => return None,
            _ => {}
        }
        Some(Lag { replica: self.name.clone(), following })
    }

    /// Its replication state; None if it is no replica of the primary.
    fn ask(&mut self) -> Result<Option<Following>> {
        let session = match &mut self.session {
            Some(session) => session,
            none => none.insert(Session::connect(&self.options)?),
        };
        if self.id.is_none() {
            self.id = Some(session.query_row("SELECT @@server_id")?.number(0)?);
        }
        let sql = match session.version().flavor {
            Flavor::MariaDb => "SHOW ALL SLAVES STATUS",
            _ if session.version().number >= (8, 0, 22) => "SHOW REPLICA STATUS",
            _ => "SHOW SLAVE STATUS",
        };
        let channels = session.query_named(sql)?;
        let ours = |channel: &&Channel| {
            let id = field(channel, "server_id").and_then(|id| id.parse().ok());
            // 0 before the first contact.
            self.primary.is_none() || id == self.primary || id == Some(0)
        };
        Ok(channels.iter().filter(ours).map(following).max())
    }
}

type Channel = HashMap<String, Option<String>>;

/// A column by the end of its name, which begins with Master_ or Source_.
fn field<'a>(channel: &'a Channel, name: &str) -> Option<&'a str> {
    let name = |prefix: &str| format!("{prefix}_{name}");
    let value = channel.get(&name("master")).or_else(|| channel.get(&name("source")))?;
    value.as_deref()
}

/// How one channel of a replica follows.
fn following(channel: &Channel) -> Following {
    let number = |name: &str| -> Option<u64> { channel.get(name)?.as_deref()?.parse().ok() };
    let runs = |thread: &str| {
        let name = |prefix: &str| format!("{prefix}_{thread}_running");
        let state = channel.get(&name("slave")).or_else(|| channel.get(&name("replica")));
        state.and_then(Option::as_deref) == Some("Yes")
    };
    let behind = number("seconds_behind_master").or_else(|| number("seconds_behind_source"));
    // MySQL 9.7 says 0 seconds of a replica that has applied all it got before it was cut off.
    match behind.filter(|_| runs("io") && runs("sql")) {
        Some(behind) => {
            let delay = number("sql_delay").unwrap_or(0);
            Following::Behind(Duration::from_secs(behind.saturating_sub(delay)))
        }
        None => Following::Stopped,
    }
}

/// The replicas that a primary knows, beside those that the user `named`, and that say how far they
/// are behind. Those that do not are
/// named in `remarks`, a sentence each: nobody waits for them.
///
/// A replica gives its own name, so with a password none of them is asked: any account that may
/// replicate could have the password sent to a host of its own, whose certificate is in order.
pub fn find(session: &mut Session, named: &[Replica], remarks: &mut Vec<String>) -> Vec<Replica> {
    let primary = session.query_row("SELECT @@server_id").and_then(|row| row.number(0)).ok();
    let mut found = Vec::new();
    for (host, port) in registered(session) {
        let mut replica = Replica::at(&host, port, session.options(), false);
        replica.primary = primary;
        if named.iter().any(|named| named.is_same(&replica)) {
            continue;
        }
        if replica.options.has_password() {
            let name = replica.name();
            remarks.push(format!(
                "the load does not wait for the replica {name}: replicas choose their own names, \
                 so no password is sent there; {} makes the load wait for it",
                REPLICA.with(name)
            ));
            continue;
        }
        match replica.ask() {
            Ok(Some(Following::Behind(_))) => {
                replica.followed = true;
                found.push(replica);
            }
            Ok(Some(_)) => {
                let name = replica.name().to_owned();
                remarks.push(format!(
                    "the replica {name} has stopped replicating: the load waits for the replica \
                     only if replication starts again; {} makes the load wait in any case",
                    REPLICA.with(&name)
                ));
                found.push(replica);
            }
            // Another server that is reached by that address.
            Ok(None) => {}
            Err(error) => remarks.push(format!(
                "the load does not wait for the replica {}, because it does not report its lag: \
                 {error}",
                replica.name()
            )),
        }
    }
    found
}

/// Hosts and ports of the replicas that registered, as far as the account may see them.
fn registered(session: &mut Session) -> Vec<(String, u16)> {
    let rows = session.query("SHOW SLAVE HOSTS").or_else(|_| session.query("SHOW REPLICAS"));
    let rows = rows.unwrap_or_default();
    let mut found: Vec<(String, u16)> = rows
        .iter()
        .filter_map(|row| Some((row.text(1).ok()?, row.number(2).unwrap_or(PORT))))
        .collect();
    // Without report_host a replica registers no name: then its connection has its address.
    if found.iter().any(|(host, _)| host.is_empty()) {
        let mut addresses = addresses(session);
        addresses.sort();
        addresses.dedup();
        for (host, _) in found.iter_mut().filter(|(host, _)| host.is_empty()) {
            // With several, nobody knows which of them has this port.
            if let [only] = addresses.as_slice() {
                host.clone_from(only);
            }
        }
        found.retain(|(host, _)| !host.is_empty());
    }
    found.sort();
    found.dedup();
    found
}

/// Where the binary log is being sent to.
fn addresses(session: &mut Session) -> Vec<String> {
    let address =
        |host: &String| host.rsplit_once(':').map_or(host.as_str(), |(host, _)| host).to_owned();
    followers(session).iter().map(address).collect()
}

/// How the replica at `address` is reached, by the account of `options` of its primary.
///
/// Errors: it is neither `HOST[:PORT]`, `[ADDRESS]:PORT` nor the path of a socket.
pub fn reached(address: &str, options: &ConnectOptions) -> Result<ConnectOptions> {
    if address.starts_with('/') {
        let socket = Some(address.into());
        let protocol = Some(Protocol::Socket);
        return Ok(ConnectOptions { socket, protocol, ..over_tcp("localhost", PORT, options) });
    }
    check_host(REPLICA, address)?;
    let (host, port) = split(address)?;
    Ok(over_tcp(host, port, options))
}

fn over_tcp(host: &str, port: u16, options: &ConnectOptions) -> ConnectOptions {
    let connect_timeout = options.connect_timeout.unwrap_or(CONNECT_TIMEOUT);
    ConnectOptions {
        host: Some(host.to_owned()),
        port: Some(port),
        socket: None,
        database: None,
        protocol: Some(Protocol::Tcp),
        connect_timeout: Some(connect_timeout.min(CONNECT_TIMEOUT)),
        interrupt: Interrupt::default(),
        known: Known::default(),
        // That of another server.
        datadir: None,
        ..options.clone()
    }
}

/// Host and port of `HOST[:PORT]`.
fn split(address: &str) -> Result<(&str, u16)> {
    let wrong = |what: &str| {
        let replica = REPLICA.with(address);
        Error::Option(format!("{replica}: {what}; HOST:PORT or a socket's path is expected"))
    };
    let bracketed = address.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (host, port) = match bracketed {
        Some((host, "")) => (host, None),
        Some((host, rest)) => {
            (host, Some(rest.strip_prefix(':').ok_or_else(|| wrong("the port is missing"))?))
        }
        // More than one colon is an address of version 6.
        None if address.matches(':').count() == 1 => {
            address.split_once(':').map_or((address, None), |(host, port)| (host, Some(port)))
        }
        None => (address, None),
    };
    if host.is_empty() {
        return Err(wrong("the host is missing"));
    }
    let port = port.map(|port| port.parse().map_err(|_| wrong("the port is not a port number")));
    Ok((host, port.transpose()?.unwrap_or(PORT)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_hosts_and_ports() {
        for (address, expected) in [
            ("db2", Some(("db2", 3306))),
            ("db2:3307", Some(("db2", 3307))),
            ("10.0.0.2:1", Some(("10.0.0.2", 1))),
            ("[fe80::1]:3310", Some(("fe80::1", 3310))),
            ("[fe80::1]", Some(("fe80::1", 3306))),
            ("fe80::1", Some(("fe80::1", 3306))),
            ("db2:", None),
            ("db2:70000", None),
            (":3306", None),
            ("", None),
            ("[fe80::1]3306", None),
        ] {
            assert_eq!(split(address).ok(), expected, "{address}");
        }
    }

    #[test]
    fn a_delay_that_was_asked_for_is_no_lag() {
        let channel = |behind: Option<&str>, delay: &str| -> Channel {
            [
                ("seconds_behind_master", behind),
                ("sql_delay", Some(delay)),
                ("slave_io_running", Some("Yes")),
                ("slave_sql_running", Some("Yes")),
            ]
            .map(|(name, value)| (name.to_owned(), value.map(str::to_owned)))
            .into()
        };
        let seconds = |seconds| Following::Behind(Duration::from_secs(seconds));
        assert_eq!(following(&channel(Some("70"), "60")), seconds(10));
        assert_eq!(following(&channel(Some("12"), "60")), seconds(0));
        assert_eq!(following(&channel(Some("12"), "0")), seconds(12));
        assert_eq!(following(&channel(None, "0")), Following::Stopped);
        for state in ["No", "Connecting"] {
            let mut cut_off = channel(Some("0"), "0");
            cut_off.insert("slave_io_running".to_owned(), Some(state.to_owned()));
            assert_eq!(following(&cut_off), Following::Stopped);
        }
    }
}
