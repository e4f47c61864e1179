//! Makes the dumps.

use std::fs;
use std::path::Path;

use super::dump::{Dump, Kind, MAKER, note, path};
use super::player::Player;
use crate::error::Error;
use crate::rows;
use crate::tpch::Table;

/// Fills the tables and dumps them.
///
/// Errors: rows that cannot be made, a server that refuses them, a `mariadb-dump` that fails.
pub(super) fn make(dir: &Path, kind: Kind, scale: f64, player: &mut Player) -> Result<Dump, Error> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    player.drop_database()?;
    player.create_tables(&kind.statements()?)?;
    for table in Table::ALL {
        let file = rows::generate(table, scale, dir, threads)?;
        player.load_data(table, &file)?;
    }
    let path = path(dir, kind);
    let unfinished = path.with_extension("sql.part");
    player.dump(&unfinished)?;
    fs::rename(&unfinished, &path).map_err(Error::io("renaming", &unfinished))?;
    let dump = Dump {
        bytes: fs::metadata(&path).map_err(Error::io("reading", &path))?.len(),
        kind,
        scale,
        tables: player.contents()?,
        schema: player.schema()?,
        server: player.session.version().to_string(),
        maker: MAKER.to_owned(),
        path,
    };
    let note = note(&dump.path);
    let text = serde_json::to_string_pretty(&dump).map_err(std::io::Error::from);
    text.and_then(|text| fs::write(&note, text + "\n")).map_err(Error::io("writing", &note))?;
    Ok(dump)
}
