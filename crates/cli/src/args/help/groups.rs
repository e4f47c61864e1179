//! Groups of options, in the order of help, and the options that a command shows.

/// Options under one heading.
pub(super) struct Group {
    pub(super) heading: &'static str,
    /// Long names, separated by spaces. Each is in one group only.
    pub(super) options: &'static str,
}

/// Headings of the program's commands, each with the names of its commands.
pub(super) const COMMAND_GROUPS: [(&str, &str); 5] = [
    ("Load files", "load plan check verify sniff job"),
    ("Dumps and exports", "replay export"),
    ("Loads that ran or were interrupted", "jobs resume"),
    ("Servers and their files", "doctor tune sandbox inspect"),
    ("Other commands", "bench help completions"),
];

pub(super) const GROUPS: [Group; 12] = [
    Group {
        heading: "Tables",
        options: "into mode create ddl types collation one-column no-guess job map each atomic tables exclude \
         keep-auto-increment allow-empty",
    },
    Group {
        heading: "Text format (\\t \\n \\r \\0 \\\\ are read as in LOAD DATA)",
        options: "dialect header skip-lines sheet charset null-token null-in-quotes \
         fields-terminated-by fields-enclosed-by fields-escaped-by lines-terminated-by lines-starting-by",
    },
    Group {
        heading: "Columns and values",
        options: "columns by-position where set set-sql ignore-unknown-columns missing-null format-of map-collation date-format \
         decimal-comma yes-no trim sql-mode time-zone",
    },
    Group {
        heading: "Bad and duplicate rows",
        options: "rejects rejects-max on-duplicate duplicates dry-run strict show-changes",
    },
    Group {
        heading: "Files",
        options: "output format no-create compression split-rows split-size",
    },
    Group {
        heading: "Actions",
        options: "apply restore prove show page verify shards force partial fresh man with-tables tables-like",
    },
    Group {
        heading: "Method",
        options: "path as unlogged no-verify stamp no-triggers no-foreign-key-checks tune small \
         untested-server server-program",
    },
    Group { heading: "Replicas and shards", options: "replica max-lag shard" },
    Group {
        heading: "Resources and limits",
        options: "threads memory temp-dir state-dir connections batch-rows batch-bytes max-rate \
         lock-wait max-write-block page-cache fill",
    },
    Group {
        heading: "Server (default: option files, MYSQL_* variables, then the sandbox)",
        options: "via host port socket user password datadir sandbox defaults-file defaults-extra-file \
         protocol connect-timeout compress",
    },
    Group {
        heading: "Encryption",
        options: "ssl skip-ssl ssl-ca ssl-cert ssl-key ssl-verify-server-cert \
         skip-ssl-verify-server-cert ssl-mode server-public-key-path \
         get-server-public-key",
    },
    Group {
        heading: "Messages and help",
        options: "quiet verbose json progress metrics report help help-all version",
    },
];

/// Options of `load` that another command accepts, since the same command line then serves both, and does not
/// show.
pub(super) const HIDDEN: [(&str, &str); 3] = [
    (
        "plan",
        "rejects duplicates dry-run progress metrics report verbose no-verify tune max-rate max-lag \
         batch-rows batch-bytes lock-wait page-cache via",
    ),
    (
        "check",
        "create types collation ddl map each atomic keep-auto-increment allow-empty \
         duplicates dry-run report verbose path unlogged no-verify stamp no-triggers tune \
         untested-server server-program replica max-lag shard batch-rows batch-bytes connections max-rate lock-wait \
         max-write-block page-cache fill datadir via",
    ),
    (
        "verify",
        "create types collation ddl each mode atomic keep-auto-increment \
         allow-empty rejects rejects-max on-duplicate duplicates dry-run report verbose \
         path unlogged no-verify stamp no-triggers no-foreign-key-checks tune untested-server \
         server-program replica max-lag \
         shard batch-rows batch-bytes connections max-rate lock-wait max-write-block \
         page-cache fill datadir via",
    ),
];

/// Options of `--help` where a command has many. Commands that are not listed show all.
pub(super) const COMMON: [(&str, &str); 6] = [
    (
        "load",
        "into mode create types ddl job dialect header charset columns rejects rejects-max \
         on-duplicate dry-run quiet verbose json host port socket user password help \
         help-all",
    ),
    (
        "plan",
        "into mode create ddl job dialect header charset columns on-duplicate path memory \
         json host port socket user password help help-all",
    ),
    (
        "check",
        "into mode job dialect header charset columns set date-format rejects \
         on-duplicate memory quiet json host port socket user password help help-all",
    ),
    (
        "verify",
        "into job dialect header charset columns set date-format memory quiet json host port \
         socket user password help help-all",
    ),
    (
        "replay",
        "into tables exclude atomic dry-run force fresh as memory quiet json host port \
         socket user password help help-all",
    ),
    (
        "export",
        "output format compression force columns where dialect header quiet json host \
         port socket user password help help-all",
    ),
];

/// Three examples a command, each with its line above.
pub(super) const EXAMPLES: [(&str, &[(&str, &str)]); 9] = [
    (
        "load",
        &[
            ("Load a CSV file into a new table:", "orders.csv --into shop.orders --create"),
            (
                "Add rows, and skip up to 99 bad rows:",
                "new.csv --into shop.orders --header --mode append --rejects-max 99",
            ),
            ("Load a folder, a file for each table:", "exports/ --into shop --mode replace"),
        ],
    ),
    ("plan", &[("Show how a load would run:", "orders.csv --into shop.orders --header")]),
    (
        "check",
        &[(
            "Find all bad rows, and write them to a file:",
            "orders.csv --into shop.orders --header --rejects bad.csv",
        )],
    ),
    ("verify", &[("Compare a table with its file:", "orders.csv --into shop.orders --header")]),
    ("replay", &[("Load a dump into a database:", "dump.sql.gz --into shop")]),
    ("export", &[("Write a table to a compressed CSV file:", "shop.orders -o orders.csv.gz")]),
    ("sniff", &[("Guess the columns of a file:", "orders.csv --into shop.orders")]),
    ("help", &[("Show the man page of a command:", "load --man | man -l -")]),
    (
        "completions",
        &[
            (
                "Bash (new shells read the file by themselves):",
                "bash > ~/.local/share/bash-completion/completions/inrush",
            ),
            ("Zsh (a folder of $fpath):", "zsh > ~/.zfunc/_inrush"),
            ("Fish:", "fish > ~/.config/fish/completions/inrush.fish"),
            ("With the tables of the server:", "bash --with-tables"),
        ],
    ),
];

/// True if the help of a command has an option.
pub(super) fn is_shown(command: &str, option: &str) -> bool {
    !of(&HIDDEN, command).is_some_and(|hidden| has(hidden, option))
}

/// True if the short help of a command has an option.
pub(super) fn is_common(command: &str, option: &str) -> bool {
    of(&COMMON, command).is_none_or(|common| has(common, option))
}

/// True if a list of names has a name.
fn has(names: &str, name: &str) -> bool {
    names.split(' ').any(|one| one == name)
}

/// The entry of a command in a list.
pub(super) fn of<T: ?Sized>(list: &[(&str, &'static T)], command: &str) -> Option<&'static T> {
    list.iter().find(|(name, _)| *name == command).map(|(_, entry)| *entry)
}
