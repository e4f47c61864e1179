//! A statement: SQL for the server, or a bulk load.

use std::sync::Arc;

use adbc_core::error::{Result, Status};
use adbc_core::options::{IngestMode, OptionStatement, OptionValue};
use adbc_core::{CancelHandle, Optionable, PartitionedResult, Statement};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::Schema;

use crate::errors::{error, not_implemented, unset};
use crate::ingest::Ingest;
use crate::result::{self, Reader, StatementResult};
use crate::server_options::text;
use crate::shared::Shared;

/// Prefix of options of a load: `inrush.load.path` is its option `path`.
const LOAD_OPTION: &str = "inrush.load.";
/// The report of the last load, as JSON.
const REPORT: &str = "inrush.report";

/// SQL for the server, or a bulk load of bound data.
pub struct InrushStatement {
    shared: Arc<Shared>,
    sql: Option<String>,
    data: Option<Reader>,
    ingest: Ingest,
    report: Option<serde_json::Value>,
}

impl InrushStatement {
    pub(crate) fn new(shared: Arc<Shared>) -> InrushStatement {
        InrushStatement { shared, sql: None, data: None, ingest: Ingest::default(), report: None }
    }

    /// Loads the bound data; gives the number of rows.
    fn load(&mut self) -> Result<Option<i64>> {
        let data = self.data.take().ok_or_else(|| {
            let message = format!("no data is bound for table {}", self.ingest.table);
            error(Status::InvalidState, message)
        })?;
        let report = self.ingest.run(&self.shared, data)?;
        let rows = report.get("rows").and_then(serde_json::Value::as_i64);
        self.report = Some(report);
        Ok(rows)
    }

    fn is_load(&self) -> bool {
        !self.ingest.table.is_empty()
    }

    fn query(&mut self) -> Result<StatementResult> {
        if self.data.take().is_some() {
            return Err(not_implemented(
                "the driver has no parameters of statements: write the values into the statement",
            ));
        }
        let sql = self.sql.as_deref().ok_or_else(no_statement)?;
        StatementResult::of(&self.shared, sql)
    }

    fn set_load_option(&mut self, name: &str, value: &str) -> Result<()> {
        let name = name.replace('_', "-");
        if name == "password" || name.is_empty() || name.contains('=') {
            let message = format!("{name:?} is no option of a load");
            return Err(error(Status::InvalidArguments, message));
        }
        if name == "dry-run" && value != "false" {
            let message = "option dry-run loads nothing, but the statement gives the number of \
                           loaded rows: inrush check lists the bad rows";
            return Err(error(Status::InvalidArguments, message));
        }
        self.ingest.options.retain(|(other, _)| *other != name);
        match value {
            "false" => {}
            "true" | "" => self.ingest.options.push((name, None)),
            value => self.ingest.options.push((name, Some(value.to_owned()))),
        }
        Ok(())
    }
}

impl Statement for InrushStatement {
    fn bind(&mut self, batch: RecordBatch) -> Result<()> {
        let schema = batch.schema();
        self.data = Some(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
        Ok(())
    }

    fn bind_stream(&mut self, reader: Box<dyn RecordBatchReader + Send>) -> Result<()> {
        self.data = Some(reader);
        Ok(())
    }

    fn execute(&mut self) -> Result<Reader> {
        if self.is_load() {
            self.load()?;
            return Ok(result::reader(Arc::new(Schema::empty()), Vec::new()));
        }
        Ok(Box::new(self.query()?))
    }

    fn execute_update(&mut self) -> Result<Option<i64>> {
        if self.is_load() {
            return self.load();
        }
        let rows = self.query()?.affected_rows()?;
        Ok(rows.and_then(|rows| i64::try_from(rows).ok()))
    }

    fn execute_schema(&mut self) -> Result<Schema> {
        Err(not_implemented("the driver has no schema of a statement that is not executed"))
    }

    fn execute_partitions(&mut self) -> Result<PartitionedResult> {
        Err(not_implemented("the driver has no partitioned results"))
    }

    fn get_parameter_schema(&self) -> Result<Schema> {
        Err(not_implemented("the driver has no parameters of statements"))
    }

    /// A statement is parsed when it is executed.
    fn prepare(&mut self) -> Result<()> {
        self.sql.as_ref().map(drop).ok_or_else(no_statement)
    }

    fn set_sql_query(&mut self, query: impl AsRef<str>) -> Result<()> {
        self.sql = Some(query.as_ref().to_owned());
        self.ingest.table.clear();
        self.data = None;
        Ok(())
    }

    fn set_substrait_plan(&mut self, _plan: impl AsRef<[u8]>) -> Result<()> {
        Err(not_implemented("the driver has no plans of Substrait"))
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        Box::new(self.shared.work.clone())
    }
}

impl Optionable for InrushStatement {
    type Option = OptionStatement;

    fn set_option(&mut self, key: OptionStatement, value: OptionValue) -> Result<()> {
        let value = text(&key, value)?;
        match &key {
            OptionStatement::TargetTable => {
                self.ingest.table = value;
                self.sql = None;
                // Those of the load before.
                (self.ingest.database, self.ingest.catalog) = (None, None);
            }
            OptionStatement::TargetDbSchema => self.ingest.database = Some(value),
            OptionStatement::TargetCatalog => self.ingest.catalog = Some(value),
            OptionStatement::IngestMode => self.ingest.mode = Some(value.parse()?),
            OptionStatement::Temporary if value == "false" => {}
            OptionStatement::Temporary => {
                return Err(not_implemented(
                    "a temporary table cannot be loaded: the connection of the load does not see it",
                ));
            }
            OptionStatement::Other(name) if name.starts_with(LOAD_OPTION) => {
                self.set_load_option(&name[LOAD_OPTION.len()..], &value)?;
            }
            _ => {
                let message = format!("a statement of the driver has no option {}", key.as_ref());
                return Err(not_implemented(&message));
            }
        }
        Ok(())
    }

    fn get_option_string(&self, key: OptionStatement) -> Result<String> {
        let value = match &key {
            OptionStatement::TargetTable => Some(self.ingest.table.clone()),
            OptionStatement::TargetDbSchema => self.ingest.database.clone(),
            OptionStatement::TargetCatalog => self.ingest.catalog.clone(),
            OptionStatement::IngestMode => self.ingest.mode.map(IngestMode::into),
            OptionStatement::Other(name) if name == REPORT => {
                self.report.as_ref().map(serde_json::Value::to_string)
            }
            _ => None,
        };
        value.filter(|value| !value.is_empty()).ok_or_else(|| unset(key.as_ref()))
    }

    fn get_option_bytes(&self, key: OptionStatement) -> Result<Vec<u8>> {
        Err(unset(key.as_ref()))
    }

    fn get_option_int(&self, key: OptionStatement) -> Result<i64> {
        Err(unset(key.as_ref()))
    }

    fn get_option_double(&self, key: OptionStatement) -> Result<f64> {
        Err(unset(key.as_ref()))
    }
}

fn no_statement() -> adbc_core::error::Error {
    error(Status::InvalidState, "the statement has neither SQL nor a target table")
}
