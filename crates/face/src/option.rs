//! All options of ours that messages of libraries name. A test of the program compares them with its commands.

use super::{Form, OptionName};

macro_rules! options {
    ($($form:ident { $($option:ident $name:literal $($typed:literal)?,)* })*) => {
        $($(
            #[doc = concat!("`--", $name, "`.")]
            pub const $option: OptionName =
                OptionName { name: $name, typed: typed!($name $($typed)?), form: Form::$form };
        )*)*
        /// Each of them.
        pub const ALL: &[OptionName] = &[$($($option),*),*];
    };
}

macro_rules! typed {
    ($name:literal) => {
        concat!("--", $name)
    };
    ($name:literal $typed:literal) => {
        $typed
    };
}

// Each with its name, and what messages of the program say in place of `--name`.
options! {
    Flag {
        ALLOW_EMPTY "allow-empty", ATOMIC "atomic", BY_POSITION "by-position", CREATE "create", EACH "each", FORCE "force",
        FRESH "fresh", GET_SERVER_PUBLIC_KEY "get-server-public-key",
        HEADER "header",
        IGNORE_UNKNOWN_COLUMNS "ignore-unknown-columns", JSON "json", MISSING_NULL "missing-null",
        NO_FOREIGN_KEY_CHECKS "no-foreign-key-checks", NO_TRIGGERS "no-triggers", ONE_COLUMN "one-column", PARTIAL "partial",
        PROVE "prove",
        QUIET "quiet", RESTORE "restore", SHOW_CHANGES "show-changes", SKIP_SSL "skip-ssl",
        SKIP_SSL_VERIFY_SERVER_CERT "skip-ssl-verify-server-cert", SSL "ssl",
        SSL_VERIFY_SERVER_CERT "ssl-verify-server-cert", STRICT "strict", UNLOGGED "unlogged",
        UNTESTED_SERVER "untested-server", VERBOSE "verbose",
    }
    Value {
        BATCH_BYTES "batch-bytes", BATCH_ROWS "batch-rows", CHARSET "charset",
        COLLATION "collation", COLUMNS "columns", CONNECT_TIMEOUT "connect-timeout",
        CONNECTIONS "connections", DATADIR "datadir", DDL "ddl", DEFAULTS_FILE "defaults-file", DIALECT "dialect",
        DUPLICATES "duplicates", EXCLUDE "exclude", FIELDS_ESCAPED_BY "fields-escaped-by",
        FIELDS_TERMINATED_BY "fields-terminated-by", FORMAT "format", FORMAT_OF "format-of", HOST "host", INTO "into",
        LINES_STARTING_BY "lines-starting-by", LINES_TERMINATED_BY "lines-terminated-by",
        LOCK_WAIT "lock-wait", MAP "map", MAP_COLLATION "map-collation", MAX_LAG "max-lag", MAX_RATE "max-rate",
        MAX_WRITE_BLOCK "max-write-block", MEMORY "memory", METRICS "metrics", MODE "mode", NULL_TOKEN "null-token",
        ON_DUPLICATE "on-duplicate", OUTPUT "output" "-o", PASSWORD "password" "-p", PATH "path",
        PROGRESS "progress",
        REJECTS "rejects", REJECTS_MAX "rejects-max", REPLICA "replica", REPORT "report",
        SANDBOX "sandbox", SERVER_PROGRAM "server-program", SERVER_PUBLIC_KEY_PATH "server-public-key-path", SET "set", SET_SQL "set-sql",
        SHARD "shard", SHARDS "shards", SHEET "sheet", SKIP_LINES "skip-lines", SPLIT_ROWS "split-rows",
        SPLIT_SIZE "split-size", SQL_MODE "sql-mode", SSL_CA "ssl-ca", SSL_CERT "ssl-cert",
        SSL_KEY "ssl-key", STAMP "stamp", STATE_DIR "state-dir", TABLES "tables", TEMP_DIR "temp-dir",
        THREADS "threads", TIME_ZONE "time-zone", TYPES "types", USER "user", WHERE "where",
    }
    Joined {
        SSL_MODE "ssl-mode", TUNE "tune",
    }
}
