//! The one door to the driver, which is not to be trusted with a server's answers.
//!
//! The driver (mysql 28.0.4) panics on answers that make no sense, such as a packet of no bytes, and goes on after an answer that it
//! could not read, so that the rest of it would be taken for the answer to the next statement. Here a panic becomes an error, and a
//! connection is given up at the first answer that is none: nothing more is asked of it, and nothing more believed.

use std::any::Any;
use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler};

type Panic = Box<dyn Any + Send>;

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// True if this thread is in the driver: a panic there becomes an error, so nobody need print it.
pub fn is_in_driver() -> bool {
    IS_INSIDE.get()
}

/// A connection of the driver's.
pub(crate) struct Driver {
    /// None once it was given up.
    conn: Option<Conn>,
    /// How often it was called.
    calls: u64,
}

/// A panic of our own while the driver had us at work, which goes on behind it.
#[derive(Default)]
pub(crate) struct Ours(Option<Panic>);

impl Driver {
    pub(crate) fn new(conn: Conn) -> Driver {
        Driver { conn: Some(conn), calls: 0 }
    }

    /// The number that the server gave the connection; 0 where it was given up.
    pub(crate) fn connection_id(&self) -> u32 {
        self.conn.as_ref().map_or(0, Conn::connection_id)
    }

    /// How often the driver was called so far.
    pub(crate) fn calls(&self) -> u64 {
        self.calls
    }

    /// Sets the source of the bytes for LOAD DATA LOCAL.
    pub(crate) fn set_local_infile_handler(&mut self, handler: Option<LocalInfileHandler>) {
        if let Some(conn) = &mut self.conn {
            conn.set_local_infile_handler(handler);
        }
    }

    /// Has the driver do something, to the end of the server's answer.
    ///
    /// Errors: the server's refusal, after which the connection is as good as before; anything else, and it is gone.
    pub(crate) fn call<T>(
        &mut self,
        work: impl FnOnce(&mut Conn) -> mysql::Result<T>,
    ) -> mysql::Result<T> {
        self.calls += 1;
        let Some(conn) = &mut self.conn else { return Err(given_up()) };
        let outcome = inside(|| work(conn)).unwrap_or_else(|panic| {
            Err(nonsense(&format!("the driver failed: {}", words(&*panic))))
        });
        if !matches!(outcome, Ok(_) | Err(mysql::Error::MySqlError(_))) {
            self.give_up();
        }
        outcome
    }

    /// A statement whose rows do not matter.
    pub(crate) fn query_drop(&mut self, sql: &str) -> mysql::Result<()> {
        self.call(|conn| conn.query_drop(sql))
    }

    /// Ends the connection: nothing more is believed of it.
    pub(super) fn give_up(&mut self) {
        let conn = self.conn.take();
        // Its last word to the server can be one too many.
        let _ = inside(|| drop(conn));
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl Ours {
    /// Runs work of ours that the driver calls; none where it panicked.
    pub(crate) fn run<T>(&mut self, work: impl FnOnce() -> T) -> Option<T> {
        let was_inside = IS_INSIDE.replace(false);
        let outcome = catch_unwind(AssertUnwindSafe(work));
        IS_INSIDE.set(was_inside);
        outcome.map_err(|panic| self.0 = Some(panic)).ok()
    }

    /// Lets the panic go on, if there was one.
    pub(crate) fn go_on(&mut self) {
        if let Some(panic) = self.0.take() {
            resume_unwind(panic);
        }
    }
}

/// The result of `work`, or its panic.
fn inside<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    let was_inside = IS_INSIDE.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    IS_INSIDE.set(was_inside);
    outcome
}

/// The error of an answer that is none.
pub(super) fn nonsense(words: &str) -> mysql::Error {
    mysql::Error::IoError(io::Error::new(io::ErrorKind::InvalidData, words))
}

fn given_up() -> mysql::Error {
    let text = "it was closed after an earlier answer";
    mysql::Error::IoError(io::Error::new(io::ErrorKind::NotConnected, text))
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}
