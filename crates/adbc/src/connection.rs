//! A connection to a server.

use std::collections::HashSet;
use std::sync::Arc;

use adbc_core::error::{Result, Status};
use adbc_core::options::{InfoCode, ObjectDepth, OptionConnection, OptionValue};
use adbc_core::{CancelHandle, Connection, Optionable};
use arrow_schema::Schema;
use schema::TableName;
use server::Session;
use server::identifier::quote_name;

use crate::errors::{error, not_implemented, of_server, unset};
use crate::info;
use crate::objects::{self, Filter};
use crate::result::{self, Reader};
use crate::server_options::{ServerOptions, text};
use crate::shared::{CATALOG, Shared, current_database};
use crate::statement::InrushStatement;
use crate::work::Work;

/// A connection to a server, which commits each statement.
#[derive(Debug)]
pub struct InrushConnection {
    shared: Arc<Shared>,
}

impl InrushConnection {
    /// Connects. A name in double quotes is that of a table or column, as in standard SQL: pandas writes so.
    pub(crate) fn new(server: &ServerOptions) -> Result<InrushConnection> {
        let options = server.connect_options()?;
        let connect = || -> server::Result<Session> {
            let mut session = Session::connect(&options)?;
            let modes = session.query_text("SELECT @@SESSION.sql_mode")?.unwrap_or_default();
            session.set(&[("sql_mode", &format!("{modes},ANSI_QUOTES"))])?;
            Ok(session)
        };
        let session = connect().map_err(|cause| of_server(&cause))?;
        let (server, work) = (server.clone(), Work::new(options));
        Ok(InrushConnection { shared: Arc::new(Shared::new(session, server, work)) })
    }

    fn set_current(&mut self, database: &str) -> Result<()> {
        self.shared.with_session(|session| {
            let done = session.exec(&format!("USE {}", quote_name(database)));
            done.map(drop).map_err(|cause| of_server(&cause))
        })
    }
}

impl Connection for InrushConnection {
    type StatementType = InrushStatement;

    fn new_statement(&mut self) -> Result<InrushStatement> {
        Ok(InrushStatement::new(Arc::clone(&self.shared)))
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        Box::new(self.shared.work.clone())
    }

    fn get_info(&self, codes: Option<HashSet<InfoCode>>) -> Result<Reader> {
        let version = self.shared.with_session(|session| session.version().clone());
        info::info(codes.as_ref(), &version)
    }

    fn get_objects(
        &self,
        depth: ObjectDepth,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table_name: Option<&str>,
        table_type: Option<Vec<&str>>,
        column_name: Option<&str>,
    ) -> Result<Reader> {
        let filter = Filter { catalog, db_schema, table_name, table_type, column_name };
        self.shared.with_session(|session| objects::objects(session, depth, &filter))
    }

    fn get_table_schema(
        &self,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table_name: &str,
    ) -> Result<Schema> {
        if catalog.is_some_and(|name| !name.is_empty() && name != CATALOG) {
            return Err(error(Status::NotFound, format!("there is no catalog but {CATALOG}")));
        }
        let name = match db_schema.filter(|name| !name.is_empty()) {
            Some(database) => TableName::new(database, table_name).quoted(),
            None => quote_name(table_name),
        };
        let sql = format!("SELECT * FROM {name} LIMIT 0");
        self.shared.with_session(|session| result::schema(session, &sql))
    }

    fn get_table_types(&self) -> Result<Reader> {
        info::table_types()
    }

    fn get_statistic_names(&self) -> Result<Reader> {
        Err(not_implemented("the driver has no statistics"))
    }

    fn get_statistics(
        &self,
        _catalog: Option<&str>,
        _db_schema: Option<&str>,
        _table_name: Option<&str>,
        _approximate: bool,
    ) -> Result<Reader> {
        Err(not_implemented("the driver has no statistics"))
    }

    fn commit(&mut self) -> Result<()> {
        Err(error(Status::InvalidState, "the connection commits each statement by itself"))
    }

    fn rollback(&mut self) -> Result<()> {
        Err(error(Status::InvalidState, "the connection commits each statement by itself"))
    }

    fn read_partition(&self, _partition: impl AsRef<[u8]>) -> Result<Reader> {
        Err(not_implemented("the driver has no partitioned results"))
    }
}

impl Optionable for InrushConnection {
    type Option = OptionConnection;

    fn set_option(&mut self, key: OptionConnection, value: OptionValue) -> Result<()> {
        let value = text(&key, value)?;
        match (&key, value.as_str()) {
            (OptionConnection::AutoCommit, "true")
            | (OptionConnection::ReadOnly, "false")
            | (OptionConnection::CurrentCatalog, CATALOG) => Ok(()),
            (OptionConnection::AutoCommit, _) => Err(not_implemented(
                "the driver has no transactions: a load commits its rows by itself, so the \
                 connection commits each statement (autocommit)",
            )),
            (OptionConnection::CurrentSchema, database) => self.set_current(database),
            (OptionConnection::CurrentCatalog, _) => {
                Err(error(Status::NotFound, format!("there is no catalog but {CATALOG}")))
            }
            _ => Err(not_implemented(&format!(
                "a connection of the driver has no option {}",
                key.as_ref()
            ))),
        }
    }

    fn get_option_string(&self, key: OptionConnection) -> Result<String> {
        match key {
            OptionConnection::AutoCommit => Ok("true".to_owned()),
            OptionConnection::CurrentCatalog => Ok(CATALOG.to_owned()),
            OptionConnection::CurrentSchema => {
                let database = self.shared.with_session(current_database)?;
                database.ok_or_else(|| unset(key.as_ref()))
            }
            _ => Err(unset(key.as_ref())),
        }
    }

    fn get_option_bytes(&self, key: OptionConnection) -> Result<Vec<u8>> {
        Err(unset(key.as_ref()))
    }

    fn get_option_int(&self, key: OptionConnection) -> Result<i64> {
        Err(unset(key.as_ref()))
    }

    fn get_option_double(&self, key: OptionConnection) -> Result<f64> {
        Err(unset(key.as_ref()))
    }
}
