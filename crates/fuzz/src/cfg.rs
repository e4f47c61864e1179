//! `.cfg` files: one that is read is written as it was understood, without the columns that were dropped.

use innodb::cfg::Cfg;

pub(crate) fn run(bytes: &[u8]) {
    let Ok(mut cfg) = Cfg::parse(bytes) else { return };
    let _ = (cfg.row_format(), cfg.clustered(), cfg.has_supported_page_size());
    if let Some(mysql) = &mut cfg.mysql {
        // Only staging tables get files that we write, and none of these was altered.
        mysql.dropped.clear();
    }
    let again = Cfg::parse(&cfg.to_bytes()).expect("what we write can be read");
    assert_eq!(again, cfg);
}
