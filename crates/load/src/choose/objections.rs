//! Reasons against each path, by facts and options.

use face::option::{
    DUPLICATES, MAX_RATE, MODE, NO_TRIGGERS, ON_DUPLICATE, PATH, REPLICA, UNLOGGED,
};
use job::options::{LoadOptions, LoadPath, Mode, OnDuplicate, RowRules, WithOthers};
use schema::Method;

use super::facts::{Facts, Input, RowsThere};
use super::importing;
use super::refused::Refused;
use super::small_input::{SMALL, TogetherSeconds};
use crate::partitioned::Scope;

/// Why the direct path is taken, when it is.
const WHY_DIRECT: &str = "the server's files are accessible and the direct path supports the table";
/// Why tables are not built whose rows go into themselves.
const TOGETHER: &str = "a table of the command keeps its rows, or no staging table can replace \
                        it, so one transaction loads the rows of all tables";
/// The reason not to add rows that may be in the table already.
const WAS_EXTENDED: &str = "an earlier load had added all its rows before it was killed, and may \
                            have added these rows; to add the rows of this input, run the same \
                            command again";

/// The paths that were asked for, and reasons against them.
pub(super) struct Objections {
    paths: Vec<LoadPath>,
    pub(super) refused: Vec<Refused>,
}

impl Objections {
    /// Every reason that does not hang on speed.
    pub(super) fn of(facts: &Facts, options: &LoadOptions) -> Objections {
        let paths = match options.path {
            LoadPath::Auto => LoadPath::TAKEN.to_vec(),
            path => vec![path],
        };
        let mut against = Objections { paths, refused: Vec::new() };
        against.server(facts, options);
        against.sending(facts);
        if let Some(rows) = &facts.rows {
            against.rows(facts, options, rows);
        }
        if let Some(why) = against_a_rule_without_keys(facts, options) {
            against.all(&why);
        }
        if let Some(why) = &facts.against_all {
            against.all(why);
        }
        // Where no path is left, nothing more was looked at.
        if let (Some(input), Some(_)) = (&facts.input, against.first()) {
            against.input(facts, options, input);
        }
        if facts.is_small() && against.may_send() {
            against.refuse(LoadPath::Direct, SMALL);
        }
        against
    }

    /// The fastest path that is open.
    pub(super) fn first(&self) -> Option<LoadPath> {
        self.paths.iter().copied().find(|path| self.is_open(*path))
    }

    pub(super) fn is_open(&self, path: LoadPath) -> bool {
        self.paths.contains(&path) && !self.refused.iter().any(|no| no.path == path.name())
    }

    /// True if rows may be sent.
    pub(super) fn may_send(&self) -> bool {
        self.is_open(LoadPath::Stream) || self.is_open(LoadPath::Insert)
    }

    /// The path by which rows would be sent.
    pub(super) fn sent_by(&self) -> LoadPath {
        match !self.is_open(LoadPath::Stream) && self.is_open(LoadPath::Insert) {
            true => LoadPath::Insert,
            false => LoadPath::Stream,
        }
    }

    /// Notes a reason against a path, if it may be taken.
    pub(super) fn refuse(&mut self, path: LoadPath, reason: impl Into<String>) {
        if self.paths.contains(&path) {
            self.refused.push(Refused { path: path.name(), reason: reason.into() });
        }
    }

    fn refuse_sending(&mut self, reason: &str) {
        self.refuse(LoadPath::Stream, reason);
        self.refuse(LoadPath::Insert, reason);
        self.refuse(LoadPath::Import, reason);
    }

    /// One reason against all paths: others are of no use.
    fn all(&mut self, reason: &str) {
        self.refused.clear();
        self.paths.clone().into_iter().for_each(|path| self.refuse(path, reason));
    }

    /// By server, account and options.
    fn server(&mut self, facts: &Facts, options: &LoadOptions) {
        for reason in &facts.against_direct {
            self.refuse(LoadPath::Direct, reason);
        }
        if options.limits.batches.bytes_per_second_max.is_some() {
            self.refuse(LoadPath::Direct, format!("{MAX_RATE} limits rows that are sent"));
        }
        match options.with_others {
            WithOthers::Alone | WithOthers::Swap => {}
            WithOthers::Small => self.refuse(LoadPath::Direct, SMALL),
            WithOthers::Transaction => self.refuse(LoadPath::Direct, TOGETHER),
        }
        if options.server.unlogged && facts.is_logged {
            self.refuse_sending(&format!(
                "{UNLOGGED} is for the direct path: sent rows are in the binary log"
            ));
        }
        if options.rows.on_duplicate == OnDuplicate::Update {
            let update = ON_DUPLICATE.with("update");
            self.refuse(LoadPath::Stream, format!("only INSERT supports {update}"));
        }
        if options.rows.duplicates.is_some() {
            self.refuse_sending(&format!(
                "{}: a server does not report the rows that it skips or replaces",
                DUPLICATES.with("FILE")
            ));
        }
        importing::refused(facts, options)
            .into_iter()
            .for_each(|reason| self.refuse(LoadPath::Import, reason));
        if let Some(why) = &facts.against_load_data {
            self.refuse(LoadPath::Stream, why);
        }
        if !facts.local_infile {
            self.refuse(
                LoadPath::Stream,
                "local_infile is off, so the server refuses LOAD DATA LOCAL",
            );
        }
        if options.server.no_triggers && facts.has_triggers {
            self.refuse_sending(&format!(
                "{NO_TRIGGERS} is for the direct path: sent rows run the triggers"
            ));
            if !options.server.replicas.named.is_empty() {
                self.refuse(
                    LoadPath::Direct,
                    format!("{NO_TRIGGERS} works for one server; {REPLICA} names more"),
                );
            }
        }
    }

    /// By where rows would go that are sent.
    fn sending(&mut self, facts: &Facts) {
        if let Some(Err(reasons)) = &facts.sending {
            reasons.iter().for_each(|reason| self.refuse_sending(reason));
        }
    }

    /// By rows that are there.
    fn rows(&mut self, facts: &Facts, options: &LoadOptions, rows: &RowsThere) {
        if rows.is_empty || options.mode == Mode::Replace {
            return;
        }
        if options.mode == Mode::Insert {
            return self.all(&not_empty(rows.was_swapped));
        }
        if rows.was_extended {
            self.all(WAS_EXTENDED);
        }
        if let Some(reason) = against_merging(facts, options, rows) {
            self.refuse(LoadPath::Direct, reason);
        }
    }

    fn input(&mut self, facts: &Facts, options: &LoadOptions, input: &Input) {
        let is_whole = facts.sending == Some(Ok(Method::Transaction));
        if let Some(why) = input.against_whole.as_ref().filter(|_| is_whole) {
            self.refuse_sending(why);
        }
        for reason in &input.unfit {
            self.refuse(LoadPath::Direct, reason);
        }
        if options.rows.on_duplicate == OnDuplicate::Update
            && let Some(reason) = against_replacing_whole_rows(facts, input)
        {
            self.refuse(LoadPath::Direct, reason);
        }
        let is_open = self.is_open(LoadPath::Direct);
        if is_open && input.is_read_once && facts.partitions.is_some() && facts.extends(options) {
            self.refuse(
                LoadPath::Direct,
                "the table is not empty and has partitions, and the input can be read only once, \
                 so it is unknown in advance which partitions get rows",
            );
        }
    }
}

impl Facts {
    /// True if one transaction into the table is faster than any build.
    pub(super) fn is_small(&self) -> bool {
        let is_small = |bytes| TogetherSeconds::of(self.flavor, 1, 0, bytes).are_small(bytes);
        self.small_bytes.is_some_and(is_small)
    }

    /// True if rows are added to some that are there.
    pub(super) fn extends(&self, options: &LoadOptions) -> bool {
        let has_rows = self.rows.as_ref().is_some_and(|rows| !rows.is_empty);
        options.mode == Mode::Append && has_rows
    }
}

/// Why a path is taken.
pub(super) fn why(
    path: LoadPath,
    facts: &Facts,
    options: &LoadOptions,
    refused: &[Refused],
) -> String {
    if path != LoadPath::Direct {
        return match options.path == path {
            true => format!("{} requests it", PATH.with(path.name())),
            false => Refused::sentences(refused).join("; "),
        };
    }
    let scope = facts.input.as_ref().and_then(|input| input.scope.as_ref());
    match (facts.partitions, scope) {
        (None, _) => WHY_DIRECT.to_owned(),
        (Some(_), Some(Scope::One(..))) => format!(
            "{WHY_DIRECT}: the partition with new rows is rebuilt with its old rows, and \
             exchanged with ALTER TABLE .. EXCHANGE PARTITION, which reads all rows; the other \
             partitions stay"
        ),
        (Some(parts), Some(Scope::Altered(_))) => format!(
            "{WHY_DIRECT}: the table was altered instantly, so all of its {parts} partitions are \
             rebuilt with their old rows, and exchanged into a new table with ALTER TABLE .. \
             EXCHANGE PARTITION, which reads all rows"
        ),
        (Some(parts), Some(_)) => format!(
            "{WHY_DIRECT}: rows go to several of its {parts} partitions, so these are rebuilt \
             with their old rows, and all are exchanged into a new table with ALTER TABLE .. \
             EXCHANGE PARTITION, which reads all rows"
        ),
        (Some(parts), None) => format!(
            "{WHY_DIRECT}: each of its {parts} partitions with rows is built as a table, and \
             exchanged into a new one with ALTER TABLE .. EXCHANGE PARTITION, which reads all rows"
        ),
    }
}

/// Why a rule for duplicates cannot keep rows from being in the table twice. A dump's INSERT IGNORE means what
/// the server makes of it.
fn against_a_rule_without_keys(facts: &Facts, options: &LoadOptions) -> Option<String> {
    let on_duplicate = options.rows.on_duplicate;
    let is_rule = on_duplicate != OnDuplicate::Fail && options.rows.rules == RowRules::LoadData;
    (is_rule && options.mode == Mode::Append && facts.unique_keys == 0).then(|| {
        format!(
            "{} needs a primary or unique key, but the table has none: a second load of the same \
             rows would add them again",
            ON_DUPLICATE.with(on_duplicate.name())
        )
    })
}

/// Why rows cannot be added to those there by building the table anew.
fn against_merging(facts: &Facts, options: &LoadOptions, rows: &RowsThere) -> Option<String> {
    let rule = ON_DUPLICATE.with(options.rows.on_duplicate.name());
    if facts.partitions.is_some() && options.rows.on_duplicate != OnDuplicate::Fail {
        return Some(format!(
            "the table is not empty and has partitions: {rule} has to resolve duplicates before \
             the partitions with new rows are known"
        ));
    }
    if options.with_others != WithOthers::Alone {
        return Some(
            "the table is not empty, and a command can add rows to one table only".to_owned(),
        );
    }
    if facts.keeps_keys_apart {
        return Some(
            "the table is not empty and has foreign keys, and MySQL has no lock under which the rows of the \
             table can be read from its file and the table then replaced"
                .to_owned(),
        );
    }
    if options.rows.on_duplicate.replaces() && facts.is_referred_to {
        return Some(format!(
            "the table is not empty, and {rule} removes rows that other tables may refer to"
        ));
    }
    rows.ledger.as_ref().map(|ledger| {
        format!(
            "a load with INSERT or LOAD DATA was interrupted, and {ledger} lists its loaded rows: \
             the command of that load continues with the others"
        )
    })
}

/// Why a row that takes the place of another is not what INSERT .. ON DUPLICATE KEY UPDATE makes of
/// that: it keeps what the input has no field for, and with a second unique key it may be refused.
fn against_replacing_whole_rows(facts: &Facts, input: &Input) -> Option<String> {
    let update = ON_DUPLICATE.with("update");
    if let Some(name) = &input.lacks {
        return Some(format!(
            "{update} keeps {name} of existing rows, because the input has no field for it: only \
             INSERT can do that"
        ));
    }
    let unique = facts.unique_keys;
    (unique > 1)
        .then(|| format!("only INSERT supports {update} of a table with {unique} unique keys"))
}

/// The sentence for a table that has rows already; `was_swapped` if they are those of a load that
/// was killed after its swap.
pub fn not_empty(was_swapped: bool) -> String {
    let replace = MODE.with("replace");
    if was_swapped {
        format!(
            "the table is not empty: an earlier load had loaded all its rows before it was killed; \
             {replace} replaces them with the rows of this input"
        )
    } else {
        format!(
            "the table is not empty; {} adds the rows of the input, {replace} replaces the \
             table's rows",
            MODE.with("append")
        )
    }
}
