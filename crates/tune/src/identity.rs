//! Which server it is, and since when it runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use server::Session;
use server::error::Result;
use server::identifier::digest;
use server::version::Flavor;

/// The identity of a server. MariaDB's `server_uid` is that of the machine, so it alone does not
/// suffice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// `server_uid`, of MySQL `server_uuid`.
    pub uid: String,
    /// Its machine.
    pub hostname: String,
    /// Its port.
    pub port: String,
    /// Its socket.
    pub socket: String,
    /// Its data directory.
    pub datadir: String,
}

impl Identity {
    /// Asks the server.
    pub fn read(session: &mut Session) -> Result<Identity> {
        let rows = session.query(
            "SHOW GLOBAL VARIABLES WHERE LOWER(Variable_name) IN \
             ('server_uid', 'server_uuid', 'hostname', 'port', 'socket', 'datadir')",
        )?;
        let values: BTreeMap<String, String> = rows
            .iter()
            .map(|row| (row.text_lossy(0).to_ascii_lowercase(), row.text_lossy(1)))
            .collect();
        let text = |name: &str| values.get(name).cloned().unwrap_or_default();
        Ok(Identity {
            uid: text("server_uid") + &text("server_uuid"),
            hostname: text("hostname"),
            port: text("port"),
            socket: text("socket"),
            datadir: text("datadir"),
        })
    }

    /// A name for files that are about it.
    pub(crate) fn key(&self) -> String {
        let Identity { uid, hostname, port, socket, datadir } = self;
        let all = [uid, hostname, port, socket, datadir].map(String::as_str).join("\0");
        format!("{:016x}", digest(all.as_bytes()))
    }
}

/// The second in which the server began: another one says that it was restarted, and has its own settings.
///
/// Both terms are the statement's time, so that the difference is always the same. A time of before the begin, since
/// the clock was set back, makes the second term a negative number, which the server shows modulo 2^64.
pub(crate) fn started_unix(session: &mut Session) -> Result<i64> {
    let schema = match session.version().flavor {
        Flavor::MariaDb => "information_schema",
        Flavor::MySql => "performance_schema",
    };
    let row = session.query_row(&format!(
        "SELECT UNIX_TIMESTAMP() DIV 1, VARIABLE_VALUE FROM {schema}.global_status \
         WHERE VARIABLE_NAME = 'Uptime'"
    ))?;
    let (now, uptime): (i64, i128) = (row.number(0)?, row.number(1)?);
    Ok(now.wrapping_sub(uptime as i64))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use testkit::TestServer;

    use super::*;

    #[test]
    fn a_server_has_one_begin_whatever_its_clock_says() {
        let servers = [TestServer::start(), TestServer::mysql(Vec::new())];
        for server in servers.into_iter().flatten() {
            let mut session = server.connect().unwrap();
            let begun = started_unix(&mut session).unwrap();
            for now in [begun - 3_600, begun, begun + 3_600] {
                session.exec(&format!("SET timestamp={now}")).unwrap();
                assert_eq!(started_unix(&mut session).unwrap(), begun);
            }
        }
    }
}
