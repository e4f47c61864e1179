//! The driver with a server, and with a stand-in for the program.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use adbc_core::error::Status;
use adbc_core::options::{IngestMode, OptionConnection, OptionDatabase, OptionStatement};
use adbc_core::{Connection, Database, Driver, Optionable, Statement};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int32Type, TimestampMicrosecondType, UInt64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch, RecordBatchReader, StringViewArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use testkit::TestServer;

use crate::InrushDriver;
use crate::connection::InrushConnection;

fn connect(server: &TestServer, database: &str, program: &Path) -> InrushConnection {
    let mut root = server.connect().unwrap();
    root.exec("CREATE USER IF NOT EXISTS adbc@localhost IDENTIFIED BY 'of nobody'").unwrap();
    root.exec("GRANT ALL ON *.* TO adbc@localhost").unwrap();
    let option = |name: &str, value: &str| (OptionDatabase::from(name), value.into());
    let given = [
        option("inrush.socket", &server.socket().to_string_lossy()),
        option("inrush.database", database),
        option("inrush.program", &program.to_string_lossy()),
        option("username", "adbc"),
        option("password", "of nobody"),
    ];
    InrushDriver.new_database_with_opts(given).unwrap().new_connection().unwrap()
}

fn select(connection: &mut InrushConnection, sql: &str) -> adbc_core::error::Result<RecordBatch> {
    let mut statement = connection.new_statement()?;
    statement.set_sql_query(sql)?;
    let mut reader = statement.execute()?;
    let schema = reader.schema();
    Ok(reader.next().unwrap_or_else(|| Ok(RecordBatch::new_empty(schema)))?)
}

fn exec(connection: &mut InrushConnection, sql: &str) -> Option<i64> {
    let mut statement = connection.new_statement().unwrap();
    statement.set_sql_query(sql).unwrap();
    statement.execute_update().unwrap()
}

/// A program that keeps its arguments, its password and its input in a folder.
fn stand_in(folder: &Path, end: &str) -> std::path::PathBuf {
    let path = folder.join("program");
    let script = format!(
        "#!/bin/sh\ncd {}\nprintf '%s\\n' \"$@\" >arguments\nprintf %s \"$MYSQL_PWD\" >password\n\
         cat >input\n{end}\n",
        folder.display()
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn results_have_the_types_of_the_server() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut connection = connect(server, &database, Path::new("none"));
    exec(
        &mut connection,
        "CREATE TABLE t (f FLOAT, u BIGINT UNSIGNED, at TIMESTAMP(6) NULL, s TEXT, b BLOB)",
    );
    let insert = "INSERT INTO t VALUES (16777217, 18446744073709551615, '2026-01-02 00:00:00.5', 'a', x'ff'), \
                  (NULL, NULL, NULL, NULL, NULL)";
    assert_eq!(exec(&mut connection, insert), Some(2));
    let batch = select(&mut connection, "SELECT * FROM \"t\" ORDER BY u DESC").unwrap();
    assert_eq!(batch.num_rows(), 2);
    // The text protocol would say 16777200.
    assert_eq!(batch.column(0).as_primitive::<Float32Type>().value(0), 16_777_216.0);
    assert_eq!(batch.column(1).as_primitive::<UInt64Type>().value(0), u64::MAX);
    let moments = batch.column(2).as_primitive::<TimestampMicrosecondType>();
    assert_eq!((moments.value(0), moments.timezone()), (1_767_312_000_500_000, Some("UTC")));
    assert_eq!(batch.column(3).as_string::<i32>().value(0), "a");
    assert_eq!(batch.column(4).as_binary::<i32>().value(0), [0xff]);
    assert!(batch.columns().iter().all(|column| column.is_null(1) && column.null_count() == 1));

    let schema = connection.get_table_schema(None, Some(&database), "t").unwrap();
    assert_eq!(schema.field(0).data_type(), &DataType::Float32);
    assert_eq!(
        select(&mut connection, "SELECT * FROM t WHERE u = 0").unwrap().schema().fields(),
        schema.fields()
    );
    let error = select(&mut connection, "SELECT CAST('2026-00-00' AS DATE) AS d").unwrap_err();
    assert_eq!(error.status, Status::InvalidData, "{}", error.message);
    assert!(error.message.contains("column d, row 1"), "{}", error.message);
    exec(&mut connection, "CREATE PROCEDURE p() SELECT f FROM t");
    let error = select(&mut connection, "CALL p()").unwrap_err();
    assert!(error.message.contains("column f is FLOAT"), "{}", error.message);
    let error = select(&mut connection, "SELECT * FROM nothing").unwrap_err();
    assert_eq!((error.status, error.vendor_code), (Status::NotFound, 1146));
    assert_eq!(select(&mut connection, "DO 1").unwrap().num_columns(), 0);
    let error = connection.set_option(OptionConnection::AutoCommit, "false".into()).unwrap_err();
    assert_eq!(error.status, Status::NotImplemented);
}

#[test]
fn an_executed_statement_whose_result_has_no_type_says_so() {
    let Some(server) = TestServer::shared() else { return };
    let (database, folder) = (server.database().unwrap(), tempfile::tempdir().unwrap());
    let mut connection = connect(server, &database, &stand_in(folder.path(), "true"));
    exec(&mut connection, "SET sql_mode=''");
    exec(&mut connection, "CREATE TABLE t (id INT PRIMARY KEY, d DATE, f FLOAT)");
    for (id, column) in [(1, "d"), (2, "f")] {
        let sql = format!("INSERT INTO t VALUES ({id}, '0000-00-00', 1) RETURNING {column}");
        let error = select(&mut connection, &sql).unwrap_err();
        assert!(
            error.message.starts_with("the server executed the statement"),
            "{}",
            error.message
        );
        let rows = select(&mut connection, &format!("SELECT id FROM t WHERE id={id}")).unwrap();
        assert_eq!(rows.num_rows(), 1);
    }
    // The last row fails behind a value without a type.
    let sql = "INSERT INTO t VALUES (3, '0000-00-00', 1), (1, NULL, 1) RETURNING d";
    let error = select(&mut connection, sql).unwrap_err();
    assert_eq!(error.vendor_code, 1062, "{}", error.message);
    let error = select(&mut connection, "SELECT d FROM t WHERE id=1").unwrap_err();
    assert!(error.message.starts_with("column d"), "{}", error.message);
}

fn open(connection: &mut InrushConnection, sql: &str) -> Box<dyn RecordBatchReader + Send> {
    let mut statement = connection.new_statement().unwrap();
    statement.set_sql_query(sql).unwrap();
    statement.execute().unwrap()
}

/// Rows of 1,000 bytes, more than the network keeps.
const LARGE: &str = "SELECT seq, REPEAT('x', 1000) AS t FROM seq_1_to_400000";

/// The number of statements that read the large result at this moment.
fn large_results(server: &TestServer) -> u64 {
    let sql =
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT seq, REPEAT%'";
    let number = server.connect().unwrap().query_text(sql).unwrap().unwrap();
    number.parse().unwrap()
}

#[test]
fn results_are_read_as_they_arrive() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut connection = connect(server, &database, Path::new("none"));
    let mut reader = open(&mut connection, LARGE);
    let mut rows = reader.next().unwrap().unwrap().num_rows();
    assert_eq!(large_results(server), 1);
    // Another statement of the connection has the rest read into memory.
    assert_eq!(select(&mut connection, "SELECT 1").unwrap().num_rows(), 1);
    assert_eq!(large_results(server), 0);
    rows += reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>();
    assert_eq!(rows, 400_000);

    let mut reader = open(&mut connection, LARGE);
    assert!(reader.next().unwrap().is_ok());
    drop(reader);
    assert_eq!(large_results(server), 0);

    // Moments have their time zone in the first batch, and an error comes behind the batches.
    exec(&mut connection, "CREATE TABLE t (at TIMESTAMP NOT NULL DEFAULT '2026-01-01')");
    exec(&mut connection, "INSERT INTO t VALUES ()");
    let sql = "SELECT at, CAST(IF(seq < 150000, '2026-01-01', '2026-00-00') AS DATE) AS d \
               FROM t, seq_1_to_200000";
    let mut reader = open(&mut connection, sql);
    let batch = reader.next().unwrap().unwrap();
    let moments = batch.column(0).as_primitive::<TimestampMicrosecondType>();
    assert_eq!((batch.num_rows(), moments.timezone()), (65_536, Some("UTC")));
    let error = reader.find_map(Result::err).unwrap().to_string();
    assert!(error.contains("column d, row 150000"), "{error}");
    assert!(reader.next().is_none());
}

fn bound() -> RecordBatch {
    let names: ArrayRef =
        Arc::new(StringViewArray::from(vec![Some("a name of more than twelve bytes"), None]));
    let keys = Int32Array::from(vec![0, 0]);
    let kinds: DictionaryArray<Int32Type> =
        DictionaryArray::try_new(keys, Arc::new(StringViewArray::from(vec!["kind"]))).unwrap();
    RecordBatch::try_from_iter([("name", names), ("kind", Arc::new(kinds) as ArrayRef)]).unwrap()
}

#[test]
fn bound_data_goes_to_the_program() {
    let Some(server) = TestServer::shared() else { return };
    let (database, folder) = (server.database().unwrap(), tempfile::tempdir().unwrap());
    let program = stand_in(folder.path(), r#"echo '{"rows": 2}'"#);
    let mut connection = connect(server, &database, &program);
    let mut statement = connection.new_statement().unwrap();
    statement.set_option(OptionStatement::TargetTable, "t".into()).unwrap();
    statement
        .set_option(OptionStatement::IngestMode, String::from(IngestMode::Append).into())
        .unwrap();
    statement
        .set_option(OptionStatement::Other("inrush.load.path".into()), "stream".into())
        .unwrap();
    let dry_run = OptionStatement::Other("inrush.load.dry_run".into());
    assert!(statement.set_option(dry_run, "true".into()).is_err());
    statement.bind(bound()).unwrap();
    assert_eq!(statement.execute_update().unwrap_err().status, Status::NotFound);

    exec(&mut connection, "CREATE TABLE t (name TEXT, kind TEXT)");
    statement.bind(bound()).unwrap();
    assert_eq!(statement.execute_update().unwrap(), Some(2));
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let arguments = read("arguments");
    assert!(arguments.starts_with("load\n--defaults-file=/dev/null\n--"), "{arguments}");
    let end = format!("--into=`{database}`.`t`\n--mode=append\n--path=stream\n--\n-\n");
    assert!(arguments.ends_with(&end), "{arguments}");
    assert!(!arguments.contains("of nobody"));
    assert_eq!(read("password"), "of nobody");
    let input = fs::File::open(folder.path().join("input")).unwrap();
    let batches: Vec<RecordBatch> = arrow_ipc::reader::StreamReader::try_new(input, None)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(batches[0].schema().field(0).data_type(), &DataType::LargeUtf8);
    assert_eq!(
        batches[0].column(0).as_string::<i64>().value(0),
        "a name of more than twelve bytes"
    );
    assert!(batches[0].column(0).is_null(1));
    let kinds = batches[0].column(1).as_dictionary::<Int32Type>();
    assert_eq!(kinds.values().as_string::<i64>().value(0), "kind");
    let error = statement.execute_update().unwrap_err();
    assert!(error.message.contains("no data is bound"), "{}", error.message);
}

#[test]
fn failures_of_the_program_are_errors() {
    let Some(server) = TestServer::shared() else { return };
    let (database, folder) = (server.database().unwrap(), tempfile::tempdir().unwrap());
    for (end, status, words) in [
        (
            r#"echo '{"error": "nothing was loaded", "kind": "rows"}'; exit 1"#,
            Status::InvalidData,
            "nothing was loaded",
        ),
        ("echo 'inrush: no such thing' >&2; exit 2", Status::InvalidArguments, "no such thing"),
        ("true", Status::Unknown, "inrush gave no report"),
        ("kill -INT $$", Status::Cancelled, "ended by signal 2"),
    ] {
        let program = stand_in(folder.path(), end);
        let mut connection = connect(server, &database, &program);
        let mut statement = connection.new_statement().unwrap();
        statement.set_option(OptionStatement::TargetTable, "t".into()).unwrap();
        statement.bind(bound()).unwrap();
        let error = statement.execute_update().unwrap_err();
        assert_eq!(error.status, status, "{}", error.message);
        assert!(error.message.contains(words), "{}", error.message);
    }
}

#[test]
fn data_that_fails_stops_the_program() {
    let Some(server) = TestServer::shared() else { return };
    let (database, folder) = (server.database().unwrap(), tempfile::tempdir().unwrap());
    let program = stand_in(folder.path(), "echo '{}'");
    let mut connection = connect(server, &database, &program);
    let mut statement = connection.new_statement().unwrap();
    statement.set_option(OptionStatement::TargetTable, "t".into()).unwrap();
    let schema = Arc::new(Schema::new(vec![Field::new("id", DataType::Int32, true)]));
    let failure = Err(ArrowError::CDataInterface("the source is gone".to_owned()));
    let data = arrow_array::RecordBatchIterator::new([failure], schema);
    statement.bind_stream(Box::new(data)).unwrap();
    let error = statement.execute_update().unwrap_err();
    assert!(error.message.contains("the source is gone"), "{}", error.message);
    // Rows that were appended before are in: only the program knows.
    assert!(error.message.ends_with("; inrush was ended by signal 2"), "{}", error.message);
}
