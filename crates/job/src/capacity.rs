//! How much of a server a load may use: what it says of its processors and connections.

use server::error::Result;
use server::session::Session;
use server::version::Flavor;

/// Connections that are left to others.
const CONNECTIONS_LEFT: u64 = 10;
/// Connections of a load that do not load: its own statements, its eyes, its way to stop the rest.
const CONNECTIONS_BESIDE: u64 = 3;

/// A server's capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// Processors, where they can be known.
    pub cores: Option<usize>,
    /// Connections that this account may still open.
    pub connections: Option<usize>,
}

impl Capacity {
    /// Asks the server of `session`.
    pub fn read(session: &mut Session) -> Result<Capacity> {
        Ok(Capacity { cores: cores(session)?, connections: connections(session)? })
    }
}

/// MariaDB's `thread_pool_size` is the number of processors unless somebody set it, also when the
/// pool is not used. MySQL says nothing of them; if it is on this machine, it has ours.
fn cores(session: &mut Session) -> Result<Option<usize>> {
    if session.version().flavor == Flavor::MariaDb {
        let size = session.query("SELECT @@thread_pool_size").ok();
        let size = size.and_then(|rows| rows.first()?.number::<usize>(0).ok());
        if let Some(cores) = size {
            return Ok(Some(cores));
        }
    }
    let is_here = session.options().socket_path().is_some()
        || session.query_row("SELECT @@hostname")?.bytes(0)
            == Some(rustix::system::uname().nodename().to_bytes());
    let ours = std::thread::available_parallelism().ok().map(usize::from);
    Ok(ours.filter(|_| is_here))
}

/// The least of what the server and the account's limit leave.
fn connections(session: &mut Session) -> Result<Option<usize>> {
    let row = session.query_row("SELECT @@max_connections, @@max_user_connections")?;
    let (most, most_of_user): (u64, u64) = (row.number(0)?, row.number(1)?);
    let sql = "SHOW GLOBAL STATUS LIKE 'Threads_connected'";
    let used: u64 = session.query(sql)?.first().map_or(Ok(0), |row| row.number(1))?;
    let free = most.saturating_sub(used + CONNECTIONS_LEFT);
    // 0 is no limit. Ours count among the user's; how many others are open is not known.
    let of_user = match most_of_user {
        0 => free,
        most => most.saturating_sub(CONNECTIONS_BESIDE),
    };
    Ok(usize::try_from(free.min(of_user).max(1)).ok())
}
