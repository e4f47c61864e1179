//! The definition of a trigger on MySQL, by which it is made anew under another name or on another table.
//!
//! The dictionary keeps the text as it was typed, in the character set of whoever typed it, with the `sql_mode` and
//! collations of that session. SHOW CREATE TRIGGER has it to the letter; information_schema has it converted, and with
//! other escapes. What the dictionary has of the database's collation cannot be set: it is what the database has when the
//! trigger is made.
//! Source: tried on MySQL 9.7.4; MySQL 9.7, sql/trigger.cc, `construct_definition_statement`.

use std::collections::BTreeSet;

use schema::quote_name;
use server::Unsupported;
use server::error::{Error, Result};
use server::facts::ServerFacts;
use server::identifier::{TableName, quote_text};
use server::session::{Row, Session};

/// The prefix of a trigger that holds the text of another.
const HELD: &str = "_inrush_";
/// Characters of a name that leave room for that.
const NAME_CHARS_MAX: usize = 56;
/// Character sets in which a text can be sent as it is.
const UNICODE: [&str; 3] = ["utf8mb4", "utf8mb3", "utf8"];

/// A trigger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TriggerText {
    pub(super) name: String,
    /// BEFORE or AFTER, and the statement.
    event: String,
    /// `CREATE DEFINER=..`
    head: String,
    /// Behind FOR EACH ROW.
    body: String,
    definer: String,
    sql_mode: String,
    character_set: String,
    collation: String,
    database_collation: String,
}

impl TriggerText {
    /// The triggers of a table, as far as the account sees them; those of one event in their order.
    ///
    /// Errors: [`Error::Altered`] where the server words one in another way than it should.
    pub(super) fn all(session: &mut Session, table: &TableName) -> Result<Vec<TriggerText>> {
        let sql = format!(
            "SELECT TRIGGER_NAME, CONCAT(ACTION_TIMING, ' ', EVENT_MANIPULATION), DEFINER, SQL_MODE, \
             CHARACTER_SET_CLIENT, COLLATION_CONNECTION, DATABASE_COLLATION \
             FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA={} AND EVENT_OBJECT_TABLE={} \
             ORDER BY EVENT_MANIPULATION, ACTION_TIMING, ACTION_ORDER",
            quote_text(&table.database),
            quote_text(&table.table)
        );
        let rows = session.query(&sql)?;
        rows.iter().map(|row| TriggerText::read(session, table, row)).collect()
    }

    fn read(session: &mut Session, table: &TableName, row: &Row) -> Result<TriggerText> {
        let (name, event) = (row.text(0)?, row.text(1)?);
        let sql =
            format!("SHOW CREATE TRIGGER {}.{}", quote_name(&table.database), quote_name(&name));
        let whole = session.query_row(&sql)?.text_lossy(2);
        let on = quote_name(&table.table);
        let between = format!(" TRIGGER {} {event} ON {on} FOR EACH ROW ", quote_name(&name));
        let Some((head, body)) = whole.split_once(&between) else {
            let detail = format!("the text of trigger {name} cannot be read: {whole}");
            return Err(Error::Altered { target: table.to_string(), detail });
        };
        Ok(TriggerText {
            head: head.to_owned(),
            body: body.to_owned(),
            name,
            event,
            definer: row.text(2)?,
            sql_mode: row.text(3)?,
            character_set: row.text(4)?,
            collation: row.text(5)?,
            database_collation: row.text(6)?,
        })
    }

    /// The same under the name of a trigger that holds its text.
    pub(super) fn held(&self) -> TriggerText {
        TriggerText { name: format!("{HELD}{}", self.name), ..self.clone() }
    }

    /// The trigger whose text this one holds; none of any other trigger.
    pub(super) fn holds(&self) -> Option<TriggerText> {
        let name = self.name.strip_prefix(HELD)?;
        Some(TriggerText { name: name.to_owned(), ..self.clone() })
    }

    /// Makes it on a table, behind those of its event that are there.
    pub(super) fn make(&self, session: &mut Session, table: &TableName) -> Result<()> {
        let mode = session.variable("sql_mode").unwrap_or_default().to_owned();
        session.exec(&format!(
            "SET character_set_client={}, collation_connection={}, sql_mode={}",
            quote_text(&self.character_set),
            quote_text(&self.collation),
            quote_text(&self.sql_mode)
        ))?;
        let name = format!("{}.{}", quote_name(&table.database), quote_name(&self.name));
        let TriggerText { head, event, body, .. } = self;
        let on = table.quoted();
        let made =
            session.exec(&format!("{head} TRIGGER {name} {event} ON {on} FOR EACH ROW {body}"));
        if session.is_alive() {
            let _shield = session.options().interrupt.shield();
            session.exec(&format!("SET NAMES utf8mb4, sql_mode={}", quote_text(&mode)))?;
        }
        made.map(drop)
    }

    /// Drops the trigger of this name in a database.
    pub(super) fn drop_in(&self, session: &mut Session, database: &str) -> Result<()> {
        let sql = format!("DROP TRIGGER {}.{}", quote_name(database), quote_name(&self.name));
        session.exec(&sql).map(drop)
    }

    /// True if a statement with it is the same bytes in its character set as in ours.
    fn is_sent_as_it_is(&self, table: &TableName) -> bool {
        let texts = [&self.name, &self.head, &self.body, &table.database, &table.table];
        UNICODE.contains(&self.character_set.as_str()) || texts.iter().all(|text| text.is_ascii())
    }
}

/// Why triggers of a table could not be made anew, as far as the server can be asked without a change.
pub(super) fn unmovable(
    session: &mut Session,
    table: &TableName,
    facts: &ServerFacts,
) -> Result<Vec<Unsupported>> {
    let texts = match TriggerText::all(session, table) {
        Err(Error::Altered { detail, .. }) => return Ok(vec![Unsupported::StuckTrigger(detail)]),
        texts => texts?,
    };
    let row = session.query_row(&format!(
        "SELECT CURRENT_USER(), @@GLOBAL.log_bin_trust_function_creators, DEFAULT_COLLATION_NAME \
         FROM information_schema.SCHEMATA WHERE SCHEMA_NAME={}",
        quote_text(&table.database)
    ))?;
    let (account, is_trusted, collation) = (row.text(0)?, row.text(1)? == "1", row.text(2)?);
    let (rights, database) = (&facts.privileges, &table.database);
    let mut stuck: Vec<String> = Vec::new();
    let mut missing = BTreeSet::new();
    for text in &texts {
        let name = &text.name;
        if name.starts_with(HELD) {
            stuck.push(format!("{name}: names that begin with {HELD} are those of loads"));
        } else if name.chars().count() > NAME_CHARS_MAX {
            stuck.push(format!("{name}: its name has more than {NAME_CHARS_MAX} characters"));
        }
        if !text.is_sent_as_it_is(table) {
            let set = &text.character_set;
            stuck.push(format!("{name}: its text is in {set}, and has more than ASCII"));
        }
        if text.database_collation != collation {
            let before = &text.database_collation;
            stuck.push(format!(
                "{name}: it was created when the database had the collation {before}, and the database has \
                 {collation} now"
            ));
        }
        let may_set = rights.on_server("SET_ANY_DEFINER") || rights.on_server("SUPER");
        if text.definer != account && !may_set {
            missing.insert(format!("GRANT SET_ANY_DEFINER ON *.* TO {}", facts.account));
        }
    }
    if facts.log_bin && !is_trusted && !rights.on_server("SUPER") {
        stuck.push(
            "log_bin is on: the server lets this account create triggers with \
             log_bin_trust_function_creators=ON or with SUPER only"
                .to_owned(),
        );
    }
    if !rights.on_database("TRIGGER", database) {
        missing.insert(rights.grant(&["TRIGGER"], database, &facts.account));
    }
    let mut found: Vec<Unsupported> = stuck.into_iter().map(Unsupported::StuckTrigger).collect();
    if !missing.is_empty() {
        found.push(Unsupported::Privileges(missing.into_iter().collect()));
    }
    Ok(found)
}
