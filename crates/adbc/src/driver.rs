//! The driver: makes databases.

use std::sync::Once;

use adbc_core::error::Result;
use adbc_core::options::{OptionDatabase, OptionValue};

use crate::database::InrushDatabase;

/// The driver for ADBC.
#[derive(Debug)]
pub struct InrushDriver;

impl Default for InrushDriver {
    fn default() -> InrushDriver {
        hush();
        InrushDriver
    }
}

impl adbc_core::Driver for InrushDriver {
    type DatabaseType = InrushDatabase;

    fn new_database(&mut self) -> Result<InrushDatabase> {
        InrushDatabase::new([])
    }

    fn new_database_with_opts(
        &mut self,
        options: impl IntoIterator<Item = (OptionDatabase, OptionValue)>,
    ) -> Result<InrushDatabase> {
        InrushDatabase::new(options)
    }
}

/// Keeps off the terminal what the client library dies of when a server answers without sense: there is an
/// error for it. The hook is that of this library alone.
fn hush() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        face::Face::Keyword.choose();
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let connects = std::thread::current().name() == Some(server::CONNECT_THREAD);
            if !connects && !server::is_in_driver() {
                usual(panic);
            }
        }));
    });
}
