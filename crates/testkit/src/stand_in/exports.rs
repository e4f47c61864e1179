//! Questions of an export: how large a table is, between what its keys are, and its rows.

use super::engine::Engine;
use super::statements::{Answer, Run, names, text, within};
use super::tables::Value;

/// Bytes that each table is said to have: enough for several connections.
const BYTES: u64 = 64 << 20;
/// Rows that a tablet returns, and that it deletes (`queryserver-config-max-result-size`).
const ROWS_MAX: usize = 10_000;

impl Run<'_> {
    /// The answer to a question of an export.
    pub(super) fn exported(&self, sql: &str) -> Option<Answer> {
        if sql.starts_with("SELECT DATA_LENGTH FROM information_schema.TABLES ") {
            return Some(Answer::Rows(1, vec![vec![text(BYTES)]]));
        }
        if sql == "SELECT @@tidb_current_ts" {
            return Some(Answer::Rows(1, vec![vec![text(454_000_000_000_000_001_u64)]]));
        }
        if sql == "SELECT @@GLOBAL.tidb_gc_life_time, @@GLOBAL.tidb_gc_max_wait_time" {
            return Some(Answer::Rows(2, vec![["10m0s", "86400"].map(text).to_vec()]));
        }
        let columns = within(sql, "SELECT ", " FROM `model`.`")?;
        if !columns.starts_with("MIN(") && !columns.starts_with('`') {
            return None;
        }
        let name = names(sql).into_iter().find(|name| !columns.contains(&format!("`{name}`")))?;
        let numbers = |value: &Value| -> i64 {
            let bytes = value.clone().unwrap_or_default();
            String::from_utf8_lossy(&bytes).parse().unwrap_or_default()
        };
        let mut tables = self.shared.held();
        let seen = tables.tables.get(&name)?.seen_by(self.id);
        let mut rows: Vec<Vec<Value>> = seen.map(|row| row.values.clone()).collect();
        rows.sort_by_key(|row| numbers(&row[0]));
        if columns.starts_with("MIN(") {
            let ends = [rows.first()?, rows.last()?].map(|row| row[0].clone());
            return Some(Answer::Rows(2, vec![ends.to_vec()]));
        }
        if !sql.contains(" ORDER BY ") {
            return None;
        }
        let bound = |sign: &str| -> Option<i64> {
            let (_, rest) = sql.split_once(sign)?;
            rest.split(' ').next()?.parse().ok()
        };
        let (from, to) = (bound("`>="), bound("`<"));
        let is_in = |at: i64| from.is_none_or(|from| at >= from) && to.is_none_or(|to| at < to);
        rows.retain(|row| is_in(numbers(&row[0])));
        let is_olap =
            tables.session(self.id).variables.get("workload").is_some_and(|to| to == "OLAP");
        drop(tables);
        if let Some(refused) = self.too_many(rows.len()).filter(|_| !is_olap) {
            return Some(refused);
        }
        Some(Answer::Rows(columns.split(',').count(), rows))
    }

    /// A tablet's refusal of a statement about so many rows.
    pub(super) fn too_many(&self, rows: usize) -> Option<Answer> {
        let is_vitess = matches!(self.shared.engine, Engine::Vitess { .. });
        let words = format!("Aborted desc = row count exceeded {ROWS_MAX}");
        (is_vitess && rows > ROWS_MAX).then_some(Answer::Refused(1317, words))
    }
}
