//! A server with an account.

use std::collections::HashMap;

use adbc_core::error::Result;
use adbc_core::options::{OptionConnection, OptionDatabase, OptionValue};
use adbc_core::{Database, Optionable};

use crate::connection::InrushConnection;
use crate::errors::unset;
use crate::server_options::ServerOptions;

/// A server with an account. No connection is made before one is asked for.
#[derive(Debug)]
pub struct InrushDatabase {
    options: HashMap<OptionDatabase, OptionValue>,
    server: ServerOptions,
}

impl InrushDatabase {
    pub(crate) fn new(
        options: impl IntoIterator<Item = (OptionDatabase, OptionValue)>,
    ) -> Result<InrushDatabase> {
        let options: HashMap<_, _> = options.into_iter().collect();
        let server = ServerOptions::of(options.clone())?;
        Ok(InrushDatabase { options, server })
    }
}

impl Database for InrushDatabase {
    type ConnectionType = InrushConnection;

    fn new_connection(&self) -> Result<InrushConnection> {
        InrushConnection::new(&self.server)
    }

    fn new_connection_with_opts(
        &self,
        options: impl IntoIterator<Item = (OptionConnection, OptionValue)>,
    ) -> Result<InrushConnection> {
        let mut connection = self.new_connection()?;
        options.into_iter().try_for_each(|(key, value)| connection.set_option(key, value))?;
        Ok(connection)
    }
}

impl Optionable for InrushDatabase {
    type Option = OptionDatabase;

    fn set_option(&mut self, key: OptionDatabase, value: OptionValue) -> Result<()> {
        self.options.insert(key, value);
        self.server = ServerOptions::of(self.options.clone())?;
        Ok(())
    }

    fn get_option_string(&self, key: OptionDatabase) -> Result<String> {
        match self.options.get(&key) {
            // Neither has a password in it that anybody should read.
            Some(OptionValue::String(text))
                if !matches!(key, OptionDatabase::Password | OptionDatabase::Uri) =>
            {
                Ok(text.clone())
            }
            _ => Err(unset(key.as_ref())),
        }
    }

    fn get_option_bytes(&self, key: OptionDatabase) -> Result<Vec<u8>> {
        Err(unset(key.as_ref()))
    }

    fn get_option_int(&self, key: OptionDatabase) -> Result<i64> {
        match self.options.get(&key) {
            Some(OptionValue::Int(number)) => Ok(*number),
            _ => Err(unset(key.as_ref())),
        }
    }

    fn get_option_double(&self, key: OptionDatabase) -> Result<f64> {
        Err(unset(key.as_ref()))
    }
}
