//! Words and figures for what a tablespace has.

use innodb::extent::state;
use innodb::index_page::FREE_SPACE_EMPTY;
use innodb::verify::LevelReport;

/// Name of an extent's state.
pub(super) fn state_name(extent_state: u32) -> &'static str {
    match extent_state {
        state::NOT_INITED => "not initialised",
        state::FREE => "free",
        state::FREE_FRAG => "single pages, some free",
        state::FULL_FRAG => "single pages, none free",
        state::SEGMENT => "segment",
        state::LEASED => "segment, but for the first pages",
        _ => "unknown",
    }
}

/// Used share of what the pages of a level have for records, in percent.
pub(super) fn fill_percent(level: &LevelReport) -> f64 {
    let capacity = level.pages * FREE_SPACE_EMPTY as u64;
    match capacity {
        0 => 0.0,
        _ => 100.0 - 100.0 * level.free_bytes as f64 / capacity as f64,
    }
}
