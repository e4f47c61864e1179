//! Kills, panics, full disks and cut connections.

mod disturbed;
pub(crate) mod faults;
mod file_systems;
mod flushed;
mod full_logs;
mod holder_lost;
mod kill;
mod killed;
mod killed_connections;
mod left_keys;
mod lost_rows;
mod panics;
mod power;
mod power_cuts;
mod put_aside;
mod replay_kill;
mod signals;
mod space;
