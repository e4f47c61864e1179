//! Loads rows into InnoDB tables of MariaDB and MySQL, from files or from a source of the caller's own.
//!
//! All that a caller needs is here, and nothing else is: each item is of the crate that its page names.
//!
//! ```no_run
//! use inrush::{ConnectOptions, LoadOptions, Preset, load};
//!
//! let server = ConnectOptions::for_socket("/run/mysqld/mysqld.sock");
//! let mut options = LoadOptions::new(vec!["orders.csv".into()], "shop", "orders");
//! options.input.dialect = Preset::Csv.dialect();
//! let report = load(&server, &options, &())?;
//! println!("{} rows in {:.1} s", report.rows, report.seconds);
//! # Ok::<(), inrush::Error>(())
//! ```
//!
//! In reading order: [`ConnectOptions`] and [`Sandbox`] the server; [`LoadOptions`] the request, with
//! [`Preset`], [`charset`] and [`sniff`] for what a file is; [`plan()`] the decision; [`load()`],
//! [`load_from()`] and [`load_several()`] the load; [`Progress`] and [`Report`] what is told. [`source`] is for
//! rows of the caller's own, [`mod@replay`] for dumps, [`mod@export`] for the way back.
//!
//! Messages name options as a command line has them, `--rejects-max`, unless a caller chooses another [`Face`].

#![forbid(unsafe_code)]

pub use face::Face;
pub use load::sniff::{self, Sniffed};
pub use load::{
    Batches, Constant, ConstantValue, Error, ErrorPlace, Estimate, Fill, InputOptions, Interrupt,
    LeftKeys, LinesOf, LoadOptions, LoadPath, Mode, OnDuplicate, Plan, Position, Progress, Refused,
    RejectTally, Replicas, Report, ResourceLimits, RowOptions, RowRules, ServerOptions,
    SeveralPlan, SeveralReport, Snapshot, Stage, carry_keys_over, charset, check, check_lines,
    default_state_dir, evaluate_expressions, jobs, load_lines, load_several, verify_lines,
};
pub use sandbox::{Sandbox, SandboxOptions, Status};
pub use server::{ConnectOptions, Encryption, OptionFiles, TlsOptions, Verify};
pub use sources::{Dialect, Encoding, Preset, expand};
pub use spider::{load, load_each, load_from, plan, plan_several};

/// Builds of servers that nobody has tested: [`look`](prove::look) before a load, and [`prove`](prove::prove).
pub mod prove {
    pub use ::prove::{Obstacle, Proof, Request, SECONDS_MAX, Trust, look, prove, risk};
    pub use server::tested_build::Outcome;
    pub use server::{ServerBuild, UntestedBuilds};
}

/// Rows of the caller's own.
pub mod source {
    pub use sources::batch::{Cells, TypedColumn, TypedColumns};
    pub use sources::{
        Batch, Chunk, Error, FieldKind, InputFacts, InputFile, ReadAs, Reader, Result, Row, Rows,
        Source, SourceExt, Start, Value,
    };
    pub use values::Zone;
}

/// Dumps, statement by statement and table by table.
pub mod replay {
    pub use replay::{As, Error, ReplayOptions, dry_run, replay};
}

/// Rows of a table to files.
pub mod export {
    pub use export::{
        ColumnarKind, Compression, Error, ExportOptions, ExportPath, ExportReport, Format, Place,
        Split,
    };
    pub use spider::export;
}
