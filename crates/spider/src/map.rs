//! A table whose partitions are tables of other servers: a Spider table.
//!
//! ```text
//! head:    t, a partition each for   s1: db.t       s2: db.t        link: what its definition says
//!          its next table, for       s1: db.t_load  s2: db.t_load   filled beside, in the same database
//!          RENAME TABLE t TO old, next TO t                         one statement: all shards or none
//! ```
//!
//! The head's next table is made first and says by its links what the load makes on the shards: whoever
//! finds it later, after a kill, removes these too. The same goes for the old one.

use std::collections::BTreeSet;

use face::option::SHARD;
use schema::TableName;
use server::error::Result;
use server::identifier::{digest, quote_text};
use server::session::Session;
use server::{ConnectOptions, replicas};

use crate::link::{Links, Parameters, without_links};

/// A part of the name of each table that a load makes on a shard.
const MARK: &str = "__load_";
/// Characters of the table's name in those names: 64 less mark, digest and numbers.
const NAME_CHARS: usize = 20;

/// A partition's rows: a table of another server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shard {
    /// The partition.
    pub(crate) partition: String,
    /// The server as the head names it; its address where it has no name.
    pub(crate) server: String,
    /// `host:port`, or the path of a socket.
    pub(crate) address: String,
    /// The table there.
    pub(crate) table: TableName,
}

impl Shard {
    /// The server and its address, for people.
    pub(crate) fn name(&self) -> String {
        match self.server == self.address {
            true => self.address.clone(),
            false => format!("{} ({})", self.server, self.address),
        }
    }

    /// How its server is reached by the account of the load.
    ///
    /// Errors: those of [`replicas::reached`].
    pub(crate) fn connect_options(&self, head: &ConnectOptions) -> Result<ConnectOptions> {
        let reached = replicas::reached(&self.address, head)?;
        Ok(ConnectOptions { interrupt: head.interrupt.clone(), ..reached })
    }
}

/// Where the rows of a table are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShardMap {
    /// One a partition, in their order.
    pub(crate) shards: Vec<Shard>,
    links: Links,
    definition: String,
}

impl ShardMap {
    /// That of a table of this definition; `given` has addresses of servers by their names, which count before
    /// what the head knows. The table is not opened: those of its shards may be missing.
    ///
    /// Errors: the server's; the inner one is what of the map is not known, in words.
    pub(crate) fn read(
        session: &mut Session,
        name: &TableName,
        definition: &str,
        given: &[(String, String)],
    ) -> Result<std::result::Result<ShardMap, String>> {
        let links = match Links::read(definition) {
            Ok(links) => links,
            Err(why) => return Ok(Err(why)),
        };
        let servers = Servers { given, known: Servers::known(session)? };
        let shards = links
            .partitions
            .iter()
            .map(|link| servers.shard(&link.partition, [&link.own, &links.table], name));
        let shards: std::result::Result<Vec<Shard>, String> = shards.collect();
        Ok(shards.and_then(|shards| {
            check(&shards)?;
            Ok(ShardMap { shards, links, definition: definition.to_owned() })
        }))
    }

    /// A server whose address is given and that has no partition, unless it is one of `others`; in words.
    pub(crate) fn unknown(&self, given: &[(String, String)], others: &[String]) -> Option<String> {
        let names = || self.shards.iter().map(|shard| &shard.server);
        let is_known =
            |name: &str| names().chain(others).any(|known| known.eq_ignore_ascii_case(name));
        let (name, _) = given.iter().find(|(name, _)| !is_known(name))?;
        let mut known: Vec<&str> = names().map(String::as_str).collect();
        known.dedup();
        Some(format!(
            "no partition is on server {name}, which {SHARD} names; the partitions are on {}",
            known.join(", ")
        ))
    }

    /// True if it has the rows of this table.
    pub(crate) fn has(&self, shard: &Shard) -> bool {
        let is_it = |own: &Shard| own.address == shard.address && own.table == shard.table;
        self.shards.iter().any(is_it)
    }

    /// The same partitions with tables that a load makes: no other has their names.
    pub(crate) fn next(&self, target: &TableName, connection: u64) -> ShardMap {
        let begun = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanos = begun.unwrap_or_default().as_nanos();
        let word = format!("{nanos} {} {connection}", std::process::id());
        let token = digest(word.as_bytes()) >> 32;
        let mut next = self.clone();
        for (at, shard) in next.shards.iter_mut().enumerate() {
            shard.table.table = format!("{}{at}_{token:08x}", own_prefix(target));
        }
        let tables: Vec<String> =
            next.shards.iter().map(|shard| shard.table.table.clone()).collect();
        next.definition = self.links.relinked(&self.definition, &tables);
        next
    }

    /// Makes a head's table of this map under a name. It is not opened: the head would remember for a while
    /// that tables of the shards are missing.
    ///
    /// Errors: the server's.
    pub(crate) fn create(&self, session: &mut Session, name: &TableName) -> Result<()> {
        let done = session.exec(&format!(
            "SET STATEMENT sql_mode='ALLOW_INVALID_DATES' FOR CREATE TABLE {} (\n{}",
            name.quoted(),
            self.definition
        ));
        done.map(drop)
    }
}

/// True if a table of the Spider server is divided as `like` is defined.
///
/// Errors: the server's.
pub(crate) fn is_divided_like(session: &mut Session, name: &TableName, like: &str) -> Result<bool> {
    session.exec(&format!("FLUSH TABLES {}", name.quoted()))?;
    Ok(without_links(&catalog::definition(session, name)?) == without_links(like))
}

/// True if a load has made the table, by its name.
pub(crate) fn is_own(table: &TableName, target: &TableName) -> bool {
    table.table.starts_with(&own_prefix(target))
}

/// The prefix of the names of all tables that loads of a target make on shards. It holds a digest
/// of the target's full name.
fn own_prefix(target: &TableName) -> String {
    let plain = target.table.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let plain: String = plain.take(NAME_CHARS).collect();
    let full = format!("shard\0{}\0{}", target.database, target.table);
    format!("{plain}{MARK}{:016x}_", digest(full.as_bytes()))
}

/// Spider tables of the head that may have the rows of a table of this name, by their names and by what their
/// links say.
///
/// Errors: the server's.
pub(crate) fn linked(session: &mut Session, table: &str) -> Result<Vec<TableName>> {
    let pattern = table.replace('\\', "\\\\").replace('_', "\\_").replace('%', "\\%");
    let pattern = quote_text(&format!("%\"{pattern}\"%"));
    let rows = session.query(&format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE ENGINE='SPIDER' AND \
         (TABLE_COMMENT LIKE {pattern} OR TABLE_NAME={}) UNION SELECT TABLE_SCHEMA, TABLE_NAME FROM \
         information_schema.PARTITIONS WHERE PARTITION_COMMENT LIKE {pattern}",
        quote_text(table)
    ))?;
    rows.iter().map(|row| Ok(TableName::new(row.text(0)?, row.text(1)?))).collect()
}

/// The known servers.
struct Servers<'g> {
    given: &'g [(String, String)],
    /// Name, host, port, socket, database; none where the account may not read them.
    known: Option<Vec<[String; 5]>>,
}

impl Servers<'_> {
    fn known(session: &mut Session) -> Result<Option<Vec<[String; 5]>>> {
        // Never the passwords.
        let sql = "SELECT Server_name, Host, Port, Socket, Db FROM mysql.servers";
        let rows = match session.query(sql) {
            Err(error) if error.is_denied() => return Ok(None),
            rows => rows?,
        };
        let text = |row: &server::Row, at| -> Result<String> {
            Ok(row.text_or_null(at)?.unwrap_or_default())
        };
        let known = rows.iter().map(|row| {
            Ok([text(row, 0)?, text(row, 1)?, text(row, 2)?, text(row, 3)?, text(row, 4)?])
        });
        known.collect::<Result<Vec<_>>>().map(Some)
    }

    /// The shard of a partition; what its own parameters do not say, the table's do, and then the server's.
    fn shard(
        &self,
        partition: &str,
        parameters: [&Parameters; 2],
        target: &TableName,
    ) -> std::result::Result<Shard, String> {
        let of = |name: &str| parameters.iter().find_map(|own| own.get(name)).map(str::to_owned);
        for name in ["server", "host", "socket", "table", "database"] {
            if of(name).is_some_and(|value| value.contains(char::is_whitespace)) {
                let what = "several links with copies of the same rows";
                return Err(format!("partition {partition} has {what}"));
            }
        }
        let name = of("server");
        let known = name.as_ref().and_then(|name| {
            self.known.as_ref()?.iter().find(|[known, ..]| known.eq_ignore_ascii_case(name))
        });
        let known = known.cloned().map(|known| known.map(Some)).unwrap_or_default();
        let [_, own_host, own_port, own_socket, own_database] = known;
        let given = name
            .as_ref()
            .and_then(|name| self.given.iter().find(|(given, _)| given.eq_ignore_ascii_case(name)));
        let full = |value: &String| !value.is_empty() && value != "0";
        let host = of("host").or(own_host).filter(full);
        let socket = of("socket").or(own_socket).filter(full);
        let port = of("port").or(own_port).filter(full);
        let address = match (given, host, socket) {
            (Some((_, address)), ..) => address.clone(),
            (None, Some(host), None) if host.contains(':') => {
                format!("[{host}]:{}", port.as_deref().unwrap_or("3306"))
            }
            (None, Some(host), None) => format!("{host}:{}", port.as_deref().unwrap_or("3306")),
            (None, _, Some(socket)) => socket,
            (None, None, None) => {
                let server = name.unwrap_or_else(|| "the server".to_owned());
                return Err(format!(
                    "the address of {server}, which has partition {partition}, is unknown: grant \
                     SELECT ON mysql.servers, or use {}",
                    SHARD.with(format!("{server}=HOST:PORT"))
                ));
            }
        };
        let database = of("database").or(own_database).filter(full);
        let table = TableName::new(
            database.unwrap_or_else(|| target.database.clone()),
            of("table").unwrap_or_else(|| target.table.clone()),
        );
        let server = name.unwrap_or_else(|| address.clone());
        Ok(Shard { partition: partition.to_owned(), server, address, table })
    }
}

/// Refuses a map by which a row could be in two places, or none.
fn check(shards: &[Shard]) -> std::result::Result<(), String> {
    if shards.is_empty() {
        return Err("its partitions have no links of their own".to_owned());
    }
    let mut seen = BTreeSet::new();
    for shard in shards {
        if !seen.insert((&shard.address, &shard.table)) {
            let Shard { table, server, .. } = shard;
            return Err(format!("two partitions have the rows of {table} on {server}"));
        }
    }
    Ok(())
}
