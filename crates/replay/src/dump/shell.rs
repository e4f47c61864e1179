//! Folders that MySQL Shell's `util.dumpInstance`, `dumpSchemas` and `dumpTables` wrote.
//!
//! ```text
//! @.json          the databases            db.json         its tables and views
//! @.done.json     it came to its end       db.sql          CREATE DATABASE, events, routines
//! @.sql, @.post.sql   around the rest      db@t.json       columns, dialect, chunks of a table
//! @.users.sql     accounts                 db@t.sql        CREATE TABLE
//! db@v.pre.sql    a view in its place      db@t.triggers.sql
//! db@v.sql        the view                 db@t@0.tsv.zst .. db@t@@9.tsv.zst   rows; @@ is the last
//! ```
//!
//! In the files' names what is no letter, digit, `_`, `-`, `.` or `~` of ASCII stands as `%2F`; `basenames` say which
//! file is whose. Values of BINARY, BLOB, BIT and geometry stand in base64 or hexadecimal digits (`decodeColumns`).
//!
//! Source: `modules/util/dump/dumper.cc`, `schema_dumper.cc`, `common/dump/utils.cc`,
//! `load/dump_reader.cc` and `load/dump_loader.cc` of MySQL Shell 9.

use std::path::PathBuf;

use serde_json::Value;
use sources::Dialect;
use sources::dump::SqlReader;
use sql::StatementKind;

use crate::dump::folder::{self, Folder};
use crate::dump::{Coding, Content, Dump, FieldColumn, Part, Script, TableRows};
use crate::error::Error;
use crate::names::Names;

/// True if MySQL Shell wrote the folder.
pub(super) fn is_shell(folder: &Folder) -> bool {
    folder.file(b"@.json").is_some()
}

/// The parts of a folder of MySQL Shell's: databases, tables with their rows, triggers, routines and events, views.
///
/// Errors: a file that cannot be read or is not as MySQL Shell writes it; a complete dump that lacks
/// a file; columns that are decoded by an expression.
pub(super) fn open(folder: &Folder, names: &Names) -> Result<Dump, Error> {
    let (path, about) = json(folder, "@.json")?;
    let mut plan = FolderPlan {
        folder,
        names,
        is_complete: folder.file(b"@.done.json").is_some(),
        charset: text_of(&about, "defaultCharacterSet").unwrap_or_else(|| "utf8mb4".to_owned()),
        parts: Vec::new(),
        notes: Vec::new(),
        missing: Vec::new(),
    };
    if !plan.is_complete {
        plan.missing.push(format!(
            "{} is incomplete: MySQL Shell's @.done.json is missing; the existing files are \
             replayed",
            folder.path.display()
        ));
    }
    if folder.file(b"@.users.sql").is_some() {
        plan.notes.push("accounts and grants (@.users.sql) are not replayed".to_owned());
    }
    let mut schemas = Vec::new();
    for name in strings(&about, "schemas").ok_or_else(|| wrong(&path, "schemas"))? {
        let base = base_name(&about, &name).unwrap_or_else(|| name.clone());
        schemas.extend(plan.schema(name, base)?);
    }
    plan.begin(about.get("tzUtc").and_then(Value::as_bool).unwrap_or(true));
    plan.databases(&schemas)?;
    plan.tables(&schemas)?;
    plan.others(&schemas);
    Ok(Dump { parts: plan.parts, notes: plan.notes, missing: plan.missing, counts: Vec::new() })
}

/// A database of the dump.
struct Schema {
    name: String,
    base: String,
    /// Names and those in the files' names.
    tables: Vec<(String, String)>,
    views: Vec<(String, String)>,
}

/// The parts so far.
struct FolderPlan<'a> {
    folder: &'a Folder,
    names: &'a Names,
    is_complete: bool,
    charset: String,
    parts: Vec<Part>,
    notes: Vec<String>,
    missing: Vec<String>,
}

impl FolderPlan<'_> {
    /// The dump's contents for a database; None if the dump ended before it.
    fn schema(&mut self, name: String, base: String) -> Result<Option<Schema>, Error> {
        let file = format!("{base}.json");
        if !self.is_complete && self.folder.file(file.as_bytes()).is_none() {
            self.missing.push(format!("database {name:?} is not in the dump"));
            return Ok(None);
        }
        let (_, about) = json(self.folder, &file)?;
        let list = |key: &str| -> Vec<(String, String)> {
            let found = strings(&about, key).unwrap_or_default().into_iter();
            let taken = found.filter(|one| self.names.takes(Some(name.as_bytes()), one.as_bytes()));
            let with_base = |one: String| {
                let file = base_name(&about, &one).unwrap_or_else(|| format!("{base}@{one}"));
                (one, file)
            };
            taken.map(with_base).collect()
        };
        Ok(Some(Schema { tables: list("tables"), views: list("views"), name, base }))
    }

    fn push(&mut self, database: Option<&str>, content: Content) {
        self.parts.push(Part { database: database.map(|name| name.as_bytes().to_vec()), content });
    }

    /// A file of statements, if it is there.
    fn sql(&mut self, database: Option<&str>, name: &str) {
        if let Some(path) = self.folder.file(name.as_bytes()).cloned() {
            self.push(database, Content::of(path));
        }
    }

    /// Adds the settings that MySQL Shell makes in its sessions. Source: `Dump_loader::create_session`.
    fn begin(&mut self, is_utc: bool) {
        let names = format!("SET NAMES {}", self.charset);
        let mut settings = vec![
            "SET SQL_MODE='NO_AUTO_VALUE_ON_ZERO'",
            "SET FOREIGN_KEY_CHECKS=0",
            "SET UNIQUE_CHECKS=0",
            &names,
        ];
        if is_utc {
            settings.push("SET TIME_ZONE='+00:00'");
        }
        let script = Script::own(settings);
        self.push(None, Content::Script(script));
        self.sql(None, "@.sql");
    }

    /// The file of a database has its events and routines too; they come later.
    fn databases(&mut self, schemas: &[Schema]) -> Result<(), Error> {
        for schema in schemas {
            let name = server::identifier::quote_name(&schema.name);
            let mut create = format!("CREATE DATABASE IF NOT EXISTS {name}").into_bytes();
            if let Some(path) = self.folder.file(format!("{}.sql", schema.base).as_bytes()) {
                let mut reader =
                    SqlReader::open(std::slice::from_ref(path), folder::reading(path))?;
                while let Some(statement) = reader.next()? {
                    if let StatementKind::CreateDatabase(_) = statement.kind {
                        create = statement.text;
                        break;
                    }
                }
            }
            self.push(None, Content::Script(Script::own([create])));
        }
        Ok(())
    }

    fn tables(&mut self, schemas: &[Schema]) -> Result<(), Error> {
        for schema in schemas {
            for (table, base) in &schema.tables {
                self.sql(Some(&schema.name), &format!("{base}.sql"));
                if let Some(rows) = self.rows(schema, table, base)? {
                    self.push(Some(&schema.name), Content::Rows(Box::new(rows)));
                }
            }
        }
        Ok(())
    }

    /// The rows of a table; None if the dump has none of it.
    fn rows(
        &mut self,
        schema: &Schema,
        table: &str,
        base: &str,
    ) -> Result<Option<TableRows>, Error> {
        let file = format!("{base}.json");
        if self.folder.file(file.as_bytes()).is_none() {
            // Written for all tables, unless the dump is of definitions only.
            let rows = self.folder.files.keys().any(|name| is_rows_of(name, base));
            if rows || !self.is_complete {
                let what = format!("{}.{table}: {file} is missing", schema.name);
                return self.lacks(&what).map(|()| None);
            }
            return Ok(None);
        }
        let (path, about) = json(self.folder, &file)?;
        if about.get("includesData").and_then(Value::as_bool) == Some(false) {
            return Ok(None);
        }
        let options = about.get("options").ok_or_else(|| wrong(&path, "options"))?;
        let extension = text_of(&about, "extension").unwrap_or_else(|| "tsv".to_owned());
        let is_chunked = about.get("chunking").and_then(Value::as_bool).unwrap_or(false);
        let partitions = about.get("basenames").and_then(Value::as_object);
        let bases: Vec<String> = match partitions.filter(|bases| !bases.is_empty()) {
            Some(bases) => bases.values().filter_map(Value::as_str).map(str::to_owned).collect(),
            None => vec![base.to_owned()],
        };
        let mut files = Vec::new();
        for base in &bases {
            let (mut found, is_all) = self.chunks(base, &extension, is_chunked);
            if !is_all {
                let what = format!("{}.{table}: some files of {base} are missing", schema.name);
                self.lacks(&what)?;
            }
            files.append(&mut found);
        }
        Ok(Some(TableRows {
            table: table.as_bytes().to_vec(),
            files,
            dialect: dialect(&path, options)?,
            skip_lines: 0,
            columns: columns(&path, options)?,
            charset: text_of(options, "defaultCharacterSet")
                .unwrap_or_else(|| self.charset.clone()),
            sql_mode: None,
            row_count: None,
        }))
    }

    /// Something is not there: to be said of a dump that was interrupted, an error otherwise.
    fn lacks(&mut self, what: &str) -> Result<(), Error> {
        if !self.is_complete {
            self.missing.push(what.to_owned());
            return Ok(());
        }
        let folder = self.folder.path.display();
        Err(Error::Usage(format!(
            "{what}, although the dump in {folder} is complete; copy the folder again"
        )))
    }

    /// The files `base@0`, `base@1`, .., `base@@n`, and whether the last is there; or one, `base`.
    fn chunks(&self, base: &str, extension: &str, is_chunked: bool) -> (Vec<PathBuf>, bool) {
        let file = |middle: &str| {
            let name = format!("{base}{middle}.{extension}");
            self.folder.file(folder::plain(name.as_bytes())).cloned()
        };
        // Of an empty table old versions wrote one file whether it is chunked or not.
        let mut files: Vec<PathBuf> = file("").into_iter().collect();
        if !is_chunked || !files.is_empty() {
            let is_all = !files.is_empty();
            return (files, is_all);
        }
        while let Some(path) = file(&format!("@{}", files.len())) {
            files.push(path);
        }
        let last = file(&format!("@@{}", files.len()));
        let is_all = last.is_some();
        files.extend(last);
        (files, is_all)
    }

    fn others(&mut self, schemas: &[Schema]) {
        for schema in schemas {
            for (_, base) in &schema.views {
                self.sql(Some(&schema.name), &format!("{base}.pre.sql"));
            }
        }
        for schema in schemas {
            for (_, base) in &schema.tables {
                self.sql(Some(&schema.name), &format!("{base}.triggers.sql"));
            }
            self.sql(Some(&schema.name), &format!("{}.sql", schema.base));
        }
        for schema in schemas {
            for (_, base) in &schema.views {
                self.sql(Some(&schema.name), &format!("{base}.sql"));
            }
        }
        self.sql(None, "@.post.sql");
    }
}

/// True if a file has rows of the table whose files begin so.
fn is_rows_of(name: &[u8], base: &str) -> bool {
    let rest = name.strip_prefix(base.as_bytes());
    rest.is_some_and(|rest| rest.starts_with(b"@") || rest.starts_with(b".tsv"))
}

/// A file of JSON, and its path for messages.
fn json(folder: &Folder, name: &str) -> Result<(PathBuf, Value), Error> {
    let path = folder.file(name.as_bytes()).ok_or_else(|| {
        Error::Usage(format!("{} has no {name}; copy the folder again", folder.path.display()))
    })?;
    let value = serde_json::from_slice(&folder::text(path)?)
        .map_err(|error| Error::Usage(format!("{} is not JSON: {error}", path.display())))?;
    Ok((path.clone(), value))
}

fn wrong(path: &std::path::Path, key: &str) -> Error {
    Error::Usage(format!("{}: {key:?} is not as MySQL Shell writes it", path.display()))
}

fn text_of(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

fn strings(value: &Value, key: &str) -> Option<Vec<String>> {
    value.get(key)?.as_array()?.iter().map(|one| one.as_str().map(str::to_owned)).collect()
}

/// The form of `name` in the names of its files.
fn base_name(about: &Value, name: &str) -> Option<String> {
    text_of(about.get("basenames")?, name)
}

fn dialect(path: &std::path::Path, options: &Value) -> Result<Dialect, Error> {
    let bytes = |key: &str, default: &str| {
        text_of(options, key).unwrap_or_else(|| default.to_owned()).into_bytes()
    };
    let byte = |key: &str, default: &str| match bytes(key, default).as_slice() {
        [] => Ok(None),
        [byte] => Ok(Some(*byte)),
        _ => Err(wrong(path, key)),
    };
    Ok(Dialect {
        fields_terminated_by: bytes("fieldsTerminatedBy", "\t"),
        enclosed_by: byte("fieldsEnclosedBy", "")?,
        optionally_enclosed: options.get("fieldsOptionallyEnclosed") == Some(&Value::Bool(true)),
        escaped_by: byte("fieldsEscapedBy", "\\")?,
        lines_terminated_by: bytes("linesTerminatedBy", "\n"),
        ..Dialect::mysql()
    })
}

/// The columns and what stands for their values.
fn columns(path: &std::path::Path, options: &Value) -> Result<Option<Vec<FieldColumn>>, Error> {
    let Some(names) = strings(options, "columns") else { return Ok(None) };
    let decoded = options.get("decodeColumns");
    let column = |name: String| {
        let coding = match decoded.and_then(|decoded| decoded.get(&name)).map(Value::as_str) {
            None => Coding::Plain,
            Some(Some("UNHEX")) => Coding::Hex,
            Some(Some("FROM_BASE64")) => Coding::Base64,
            Some(_) => return Err(wrong(path, "decodeColumns")),
        };
        Ok(FieldColumn { name: name.into_bytes(), coding })
    };
    names.into_iter().map(column).collect::<Result<_, _>>().map(Some)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A folder as MySQL Shell 9 writes it: two databases, a chunked table, a partitioned one, a
    /// view, columns in base64.
    const FILES: [(&str, &str); 19] = [
        (
            "@.json",
            r#"{"dumper":"mysqlsh Ver 9.1.0","version":"2.0.1","origin":"dumpInstance",
            "schemas":["a/b","s"],"basenames":{"a/b":"a%2Fb","s":"s"},"defaultCharacterSet":"utf8mb4",
            "tzUtc":true,"users":["'u'@'%'"]}"#,
        ),
        ("@.done.json", r#"{"dataBytes":1,"tableDataBytes":{}}"#),
        ("@.sql", "-- MySQLShell dump 2.0.1\n"),
        ("@.post.sql", "-- MySQLShell dump 2.0.1\n"),
        ("@.users.sql", "CREATE USER u;\n"),
        (
            "a%2Fb.json",
            r#"{"schema":"a/b","includesDdl":true,"includesViewsDdl":true,"includesData":true,
            "tables":["t"],"views":["v"],"basenames":{"t":"a%2Fb@t","v":"a%2Fb@v"}}"#,
        ),
        (
            "a%2Fb.sql",
            "-- x\nCREATE DATABASE /*!32312 IF NOT EXISTS*/ `a/b` /*!40100 DEFAULT CHARACTER SET \
             latin1 */;\n\nUSE `a/b`;\nDELIMITER ;;\nCREATE PROCEDURE p() SELECT 1;;\nDELIMITER ;\n",
        ),
        ("a%2Fb@t.sql", "CREATE TABLE IF NOT EXISTS `t` (`i` int, `b` blob);\n"),
        (
            "a%2Fb@t.json",
            r#"{"options":{"schema":"a/b","table":"t","columns":["i","b"],
            "decodeColumns":{"b":"FROM_BASE64"},"defaultCharacterSet":"utf8mb4",
            "fieldsTerminatedBy":"\t","fieldsEnclosedBy":"","fieldsOptionallyEnclosed":false,
            "fieldsEscapedBy":"\\","linesTerminatedBy":"\n"},"triggers":["tr"],"includesData":true,
            "includesDdl":true,"extension":"tsv.zst","chunking":true,"compression":"zstd",
            "primaryIndex":["i"],"partitions":[],"basenames":{}}"#,
        ),
        ("a%2Fb@t.triggers.sql", ""),
        ("a%2Fb@t@0.tsv.zst", ""),
        ("a%2Fb@t@0.tsv.zst.idx", ""),
        ("a%2Fb@t@1.tsv.zst", ""),
        ("a%2Fb@t@@2.tsv.zst", ""),
        ("a%2Fb@v.pre.sql", ""),
        ("a%2Fb@v.sql", ""),
        ("s.json", r#"{"schema":"s","tables":["p"],"basenames":{"p":"s@p"}}"#),
        ("s@p@x@@0.tsv", ""),
        (
            "s@p.json",
            r#"{"options":{"columns":["i"]},"extension":"tsv","chunking":true,"compression":"none",
            "basenames":{"x":"s@p@x"}}"#,
        ),
    ];

    fn open_files(leave_out: &[&str]) -> Result<(Vec<String>, Vec<String>), Error> {
        let place = tempfile::tempdir().unwrap();
        for (name, text) in FILES.iter().filter(|(name, _)| !leave_out.contains(name)) {
            std::fs::write(place.path().join(name), text).unwrap();
        }
        let folder = Folder::open(place.path())?;
        assert!(is_shell(&folder));
        let dump = open(&folder, &Names::default())?;
        let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        let shown = dump.parts.iter().map(|part| {
            let database = String::from_utf8(part.database.clone().unwrap_or_default()).unwrap();
            let what = match &part.content {
                Content::Sql { files, .. } => files.iter().map(name).collect::<Vec<_>>().join(" "),
                Content::Rows(rows) => rows.files.iter().map(name).collect::<Vec<_>>().join(" "),
                Content::Script(script) => {
                    let first = script.statements.first().map(|one| one.text.clone());
                    String::from_utf8(first.unwrap_or_default()).unwrap()
                }
            };
            format!("{database}: {what}")
        });
        Ok((shown.collect(), [dump.notes, dump.missing].concat()))
    }

    #[test]
    fn rows_follow_their_table_and_routines_and_views_come_last() {
        let (parts, warnings) = open_files(&[]).unwrap();
        assert_eq!(
            parts,
            [
                ": SET SQL_MODE='NO_AUTO_VALUE_ON_ZERO'",
                ": @.sql",
                ": CREATE DATABASE /*!32312 IF NOT EXISTS*/ `a/b` /*!40100 DEFAULT CHARACTER SET latin1 */",
                ": CREATE DATABASE IF NOT EXISTS `s`",
                "a/b: a%2Fb@t.sql",
                "a/b: a%2Fb@t@0.tsv.zst a%2Fb@t@1.tsv.zst a%2Fb@t@@2.tsv.zst",
                "s: s@p@x@@0.tsv",
                "a/b: a%2Fb@v.pre.sql",
                "a/b: a%2Fb@t.triggers.sql",
                "a/b: a%2Fb.sql",
                "a/b: a%2Fb@v.sql",
                ": @.post.sql",
            ]
        );
        assert_eq!(warnings.len(), 1, "{warnings:?}");
    }

    #[test]
    fn what_is_missing_is_an_error_unless_the_dump_was_interrupted() {
        let error = open_files(&["a%2Fb@t@@2.tsv.zst"]).unwrap_err().to_string();
        assert!(error.contains("a/b.t: some files of a%2Fb@t are missing"), "{error}");
        assert!(open_files(&["a%2Fb@t.json"]).is_err());
        assert!(open_files(&["s.json"]).is_err());
        let (parts, warnings) =
            open_files(&["@.done.json", "s.json", "a%2Fb@t@@2.tsv.zst"]).unwrap();
        assert!(parts.contains(&"a/b: a%2Fb@t@0.tsv.zst a%2Fb@t@1.tsv.zst".to_owned()));
        assert_eq!(warnings.len(), 4, "{warnings:?}");
    }
}
