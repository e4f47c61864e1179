"""The driver for ADBC, with its driver manager, polars and pandas."""

import datetime
import decimal
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

import pytest

import inrush
import inrush.adbc
from conftest import rows

dbapi = pytest.importorskip("adbc_driver_manager.dbapi")
pa = pytest.importorskip("pyarrow")

try:
    inrush.adbc.find_driver()
except FileNotFoundError as error:
    pytest.skip(str(error), allow_module_level=True)

TABLE = pa.table({"id": [1, 2, 3], "name": ["a", "b", None]})


@pytest.fixture
def connection(server, database):
    with inrush.adbc.connect(server, database=database) as connection:
        yield connection


@pytest.fixture
def cursor(connection):
    with connection.cursor() as cursor:
        yield cursor


def query(cursor, statement):
    """Old driver managers do not give the cursor back."""
    cursor.execute(statement)
    return cursor


def test_rows_are_ingested_in_each_mode(server, cursor):
    assert cursor.adbc_ingest("t", TABLE, mode="create") == 3
    assert cursor.adbc_ingest("t", TABLE.to_batches()[0], mode="append") == 3
    assert cursor.adbc_ingest("t", TABLE.to_reader(), mode="create_append") == 3
    assert rows(server, "SELECT COUNT(*) FROM py.t") == ["9"]
    assert cursor.adbc_ingest("t", TABLE.slice(1), mode="replace") == 2
    assert rows(server, "SELECT * FROM py.t ORDER BY id") == ["2\tb", "3\tNULL"]
    assert cursor.adbc_ingest("new", TABLE, mode="create_append") == 3
    assert cursor.adbc_ingest("a `b\".c", TABLE, mode="replace", db_schema_name="py") == 3
    assert query(cursor, 'SELECT COUNT(*) FROM "a `b"".c"').fetchone() == (3,)

    with pytest.raises(dbapi.ProgrammingError, match="table py.t exists already"):
        cursor.adbc_ingest("t", TABLE, mode="create")
    with pytest.raises(dbapi.ProgrammingError, match="table py.none does not exist"):
        cursor.adbc_ingest("none", TABLE, mode="append")
    # The cursor is as good as before.
    assert query(cursor, "SELECT COUNT(*) FROM t").fetchone() == (2,)


def test_options_and_the_report_of_a_load(connection):
    options = {"inrush.load.path": "stream", "inrush.load.types": "id=TINYINT"}
    with connection.cursor(adbc_stmt_kwargs=options) as cursor:
        assert cursor.adbc_ingest("t", TABLE) == 3
        report = json.loads(cursor.adbc_statement.get_option("inrush.report"))
        assert (report["path"], report["rows"]) == ("stream", 3)
        assert query(cursor, "SELECT id FROM t").fetch_arrow_table().schema.field("id").type == "int8"


def test_a_load_that_would_load_nothing_is_refused(connection):
    with pytest.raises(dbapi.ProgrammingError, match="dry-run"):
        connection.cursor(adbc_stmt_kwargs={"inrush.load.dry_run": "true"})


TYPES = {
    "TINYINT": (-128, pa.int8()),
    "SMALLINT UNSIGNED": (65535, pa.uint16()),
    "MEDIUMINT": (-8388608, pa.int32()),
    "INT UNSIGNED": (2**32 - 1, pa.uint32()),
    "BIGINT": (-(2**63), pa.int64()),
    "BIGINT UNSIGNED": (2**64 - 1, pa.uint64()),
    "DECIMAL(12,2)": (decimal.Decimal("-9999999999.99"), pa.decimal128(12, 2)),
    "DECIMAL(65,30)": (decimal.Decimal("9" * 35 + "." + "9" * 30), pa.decimal256(65, 30)),
    # The text protocol would give 16777200.
    "FLOAT": (16777216.0, pa.float32()),
    "DOUBLE": (0.1 + 0.2, pa.float64()),
    "YEAR": (2155, pa.uint16()),
    "DATE": (datetime.date(1, 2, 3), pa.date32()),
    "TIME(6)": (datetime.timedelta(hours=-838, microseconds=-1), pa.duration("us")),
    "DATETIME(6)": (datetime.datetime(9999, 12, 31, 23, 59, 59, 999999), pa.timestamp("us")),
    "TIMESTAMP(6)": (
        datetime.datetime(2026, 1, 2, 3, 4, 5, 6, datetime.timezone.utc),
        pa.timestamp("us", "UTC"),
    ),
    "VARCHAR(9)": ("\U0001f600'\\", pa.string()),
    "VARCHAR(9) CHARACTER SET latin1": ("\xe9", pa.string()),
    "ENUM('a','b')": ("b", pa.string()),
    "JSON": ('{"a": 1}', pa.string()),
    "VARBINARY(9)": (b"\x00\xff'", pa.binary()),
    "BIT(9)": (b"\x01\x02", pa.binary()),
}


@pytest.mark.parametrize("sql_type", TYPES)
def test_values_come_back_by_the_type_of_the_column(server, cursor, sql_type):
    value, arrow = TYPES[sql_type]
    text = f"x'{value.hex()}'" if isinstance(value, bytes) else f"'{value}'"
    if isinstance(value, str):
        text = "CONVERT(x'" + value.encode().hex() + "' USING utf8mb4)"
    elif isinstance(value, datetime.timedelta):
        text = "'-838:00:00.000001'"
    elif isinstance(value, datetime.date) and value.year == 1:
        text = "'0001-02-03'"
    elif isinstance(value, datetime.datetime):
        text = f"'{value.replace(tzinfo=None)}'"
    cursor.execute(f"CREATE TABLE t (id INT, v {sql_type} NULL)")
    cursor.execute(f"INSERT INTO t VALUES (1, {text}), (2, NULL)")
    table = query(cursor, "SELECT v FROM t ORDER BY id").fetch_arrow_table()
    assert table.schema.field("v").type == arrow
    assert table.column("v").to_pylist() == [value, None]


def test_what_was_ingested_is_selected_again(cursor):
    table = pa.table(
        {
            "id": pa.array(range(100_000), pa.int64()),
            "price": pa.array([decimal.Decimal(n).scaleb(-2) for n in range(100_000)], pa.decimal128(12, 2)),
            "ratio": pa.array([n / 7 for n in range(100_000)], pa.float64()),
            "name": pa.array([None if n % 3 else f"n{n}" for n in range(100_000)]),
        }
    )
    assert cursor.adbc_ingest("t", table) == 100_000
    found = query(cursor, "SELECT * FROM t").fetch_arrow_table()
    assert found.sort_by("id") == table
    assert query(cursor, "SELECT * FROM t WHERE id < 0").fetch_arrow_table().schema == table.schema


def test_values_that_arrow_does_not_have_are_errors(server, cursor):
    cursor.execute("CREATE TABLE t (d DATE)")
    server.sql("SET sql_mode = ''; INSERT INTO py.t VALUES ('2026-01-01'), ('0000-00-00')")
    with pytest.raises(dbapi.DataError, match='column d, row 2: "0000-00-00" is no value'):
        cursor.execute("SELECT d FROM t")
    assert query(cursor, "SELECT CAST(d AS CHAR) FROM t").fetchall()[1] == ("0000-00-00",)


def test_times_have_no_zone_once_the_time_zone_is_another(cursor):
    statement = "SELECT CAST(FROM_UNIXTIME(0) AS CHAR), t.at FROM (SELECT FROM_UNIXTIME(0) AS x) AS s, t"
    cursor.execute("CREATE TABLE t (at TIMESTAMP)")
    cursor.execute("INSERT INTO t VALUES ('2026-01-02 00:00:00')")
    assert query(cursor, statement).fetch_arrow_table().schema.field("at").type == pa.timestamp("us", "UTC")
    cursor.execute("SET time_zone = '+02:00'")
    table = query(cursor, statement).fetch_arrow_table()
    assert table.schema.field("at").type == pa.timestamp("us")
    assert table.column("at").to_pylist() == [datetime.datetime(2026, 1, 2, 2)]


def test_errors_have_the_words_of_the_server(connection, cursor):
    with pytest.raises(dbapi.ProgrammingError, match="Table 'py.none' doesn't exist") as caught:
        cursor.execute("SELECT * FROM none")
    assert caught.value.sqlstate == "42S02"
    assert (b"inrush.errno", b"1146") in caught.value.details
    assert caught.value.status_code == 3
    with pytest.raises(dbapi.ProgrammingError, match="error in your SQL syntax"):
        cursor.execute("SELEC 1")
    cursor.execute("CREATE TABLE t (id TINYINT PRIMARY KEY)")
    cursor.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(dbapi.IntegrityError, match="Duplicate entry '1'"):
        cursor.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(dbapi.DataError, match="row 1, field 1 `id`") as caught:
        cursor.adbc_ingest("t", pa.table({"id": ["x"]}), mode="append")
    fields = json.loads(dict(caught.value.details)[b"inrush.error"])
    assert (fields["kind"], fields["column"], fields["line"]) == ("rows", "id", 1)
    with pytest.raises(dbapi.IntegrityError):
        cursor.adbc_ingest("t", pa.table({"id": [1]}), mode="append")
    with pytest.raises(dbapi.ProgrammingError, match="the columns `other`"):
        cursor.adbc_ingest("t", pa.table({"other": [1]}), mode="replace")
    assert query(cursor, "SELECT COUNT(*) FROM t").fetchone() == (1,)
    with pytest.raises(dbapi.ProgrammingError, match="Unknown database"):
        connection.adbc_current_db_schema = "nowhere"


def test_what_the_driver_lacks_is_named(server, connection, cursor):
    for call, words in [
        (lambda: cursor.execute("SELECT ?", [1]), "no parameters"),
        (lambda: cursor.executemany("INSERT INTO t VALUES (?)", [(1,)]), "no parameters"),
        (lambda: cursor.adbc_ingest("t", TABLE, temporary=True), "temporary table"),
        (lambda: cursor.adbc_ingest("t", TABLE, catalog_name="other"), "one catalog"),
        (lambda: cursor.execute(b"plan"), "Substrait"),
        (lambda: cursor.adbc_execute_partitions("SELECT 1"), "partitioned"),
        (getattr(connection, "adbc_get_statistics", None), "no statistics"),
    ]:
        if call is None:
            # An old driver manager.
            continue
        with pytest.raises(dbapi.NotSupportedError, match=words):
            call()
    with pytest.warns(match="autocommit"):
        inrush.adbc.connect(server, autocommit=False).close()
    with pytest.raises(dbapi.ProgrammingError, match="database of table t is missing"):
        with inrush.adbc.connect(server) as other, other.cursor() as of_other:
            of_other.adbc_ingest("t", TABLE)


def test_objects_and_schemas(server, connection, cursor):
    server.sql("DROP DATABASE IF EXISTS py2; CREATE DATABASE py2; CREATE TABLE py2.only_there (id INT)")
    cursor.execute("CREATE TABLE p (id INT AUTO_INCREMENT PRIMARY KEY COMMENT 'the id', u INT UNSIGNED NOT NULL UNIQUE)")
    cursor.execute("CREATE TABLE c (p_id INT, price DECIMAL(12,2) DEFAULT 1.50, FOREIGN KEY fk (p_id) REFERENCES p (id))")
    cursor.execute("CREATE VIEW v AS SELECT 1 AS one")

    def names(**filters):
        found = connection.adbc_get_objects(depth="tables", **filters).read_all().to_pylist()
        schemas = [schema for catalog in found for schema in catalog["catalog_db_schemas"]]
        return {
            schema["db_schema_name"]: [table["table_name"] for table in schema["db_schema_tables"]]
            for schema in schemas
        }

    assert names(db_schema_filter="py%") == {"py": ["c", "p", "v"], "py2": ["only_there"]}
    views = names(db_schema_filter="py", table_types_filter=["VIEW"])
    # Old driver managers do not pass the types on.
    assert views in ({"py": ["v"]}, {"py": ["c", "p", "v"]})
    # As in SQL, a name without a database is one of the connection's.
    assert names(table_name_filter="only_there") == {"py": []}
    assert {"py", "py2"} <= names().keys()
    assert names(catalog_filter="other") == {}
    found = connection.adbc_get_objects(db_schema_filter="py", table_name_filter="_").read_all().to_pylist()
    child, parent, _ = found[0]["catalog_db_schemas"][0]["db_schema_tables"]
    assert [one["constraint_type"] for one in parent["table_constraints"]] == ["PRIMARY KEY", "UNIQUE"]
    (key,) = child["table_constraints"]
    assert key["constraint_column_names"] == ["p_id"]
    assert key["constraint_column_usage"] == [
        {"fk_catalog": "def", "fk_db_schema": "py", "fk_table": "p", "fk_column_name": "id"}
    ]
    column = parent["table_columns"][0]
    assert (column["remarks"], column["xdbc_is_autoincrement"]) == ("the id", True)
    assert child["table_columns"][1]["xdbc_type_name"] == "decimal(12,2)"
    catalogs = connection.adbc_get_objects(depth="catalogs").read_all().to_pylist()
    assert catalogs == [{"catalog_name": "def", "catalog_db_schemas": None}]

    schema = connection.adbc_get_table_schema("c", db_schema_filter="py")
    assert schema == pa.schema([("p_id", pa.int32()), ("price", pa.decimal128(12, 2))])
    assert not connection.adbc_get_table_schema("p").field("u").nullable
    with pytest.raises(dbapi.ProgrammingError):
        connection.adbc_get_table_schema("none")
    assert connection.adbc_get_info()["vendor_name"] in ("MariaDB", "MySQL")
    assert "BASE TABLE" in connection.adbc_get_table_types()
    connection.adbc_current_db_schema = "py2"
    assert (connection.adbc_current_catalog, connection.adbc_current_db_schema) == ("def", "py2")
    assert query(cursor, "SELECT COUNT(*) FROM only_there").fetchone() == (0,)


def test_pandas_writes_and_reads(server, connection):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"id": [1, 2, 3], "name": ["a", "b", "c"], "at": pd.to_datetime(["2026-01-02"] * 3)})
    assert frame.to_sql("t", connection, index=False) == 3
    with pytest.raises(ValueError, match="already exists"):
        frame.to_sql("t", connection, index=False)
    assert frame.to_sql("t", connection, index=False, if_exists="append") == 3
    assert frame.to_sql("t", connection, index=False, if_exists="replace") == 3
    assert frame.to_sql("t", connection, index=False, schema="py", if_exists="append") == 3
    found = pd.read_sql("SELECT DISTINCT * FROM t ORDER BY id", connection)
    assert found.astype(str).equals(frame.astype(str))
    assert len(pd.read_sql_table("t", connection)) == 6


def test_polars_writes_and_reads(connection):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(
        {
            "id": [1, 2, 3],
            "name": ["a", "b" * 40, None],
            "kind": pl.Series(["x", "y", "x"], dtype=pl.Categorical),
            "day": [datetime.date(2026, 1, 2)] * 3,
        }
    )
    try:
        frame.write_database("first", connection, engine="adbc")
    except ModuleNotFoundError as error:
        pytest.skip(f"this polars knows only drivers of its own list: {error}")
    for table, how, count in [
        ("t", "fail", 3),
        ("py.t", "append", 6),
        ("t", "replace", 3),
        ("other", "append", 3),
    ]:
        assert frame.write_database(table, connection, engine="adbc", if_table_exists=how) == 3
        name = table.split(".")[-1]
        found = pl.read_database(f"SELECT * FROM {name} ORDER BY id", connection)
        assert len(found) == count
    assert found.equals(frame.with_columns(pl.col("kind").cast(pl.String)))
    with pytest.raises(dbapi.ProgrammingError, match="exists already"):
        frame.write_database("t", connection, engine="adbc")


def test_large_batches_go_in_parts(cursor):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"id": range(200_000), "name": ["x" * 100] * 200_000})
    assert cursor.adbc_ingest("t", frame) == 200_000
    assert query(cursor, "SELECT COUNT(*), MIN(LENGTH(name)) FROM t").fetchone() == (200_000, 100)


def programs():
    """Command lines of the children of this process."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            status = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            if int(status[1]) == os.getpid():
                found.append((int(folder.name), (folder / "cmdline").read_bytes().split(b"\0")))
        except (OSError, IndexError, ValueError):
            pass
    return [(pid, line) for pid, line in found if b"load" in line]


def test_the_password_is_on_no_command_line(server, database, account):
    seen = []

    def batches():
        seen.extend(line for _, line in programs())
        yield TABLE.to_batches()[0]

    with inrush.adbc.connect({**account, "database": database}) as connection, connection.cursor() as cursor:
        assert cursor.adbc_ingest("t", pa.RecordBatchReader.from_batches(TABLE.schema, batches())) == 3
        # The value of an option is not given back either.
        with pytest.raises(dbapi.Error):
            connection.adbc_database.get_option("password")
    (line,) = seen
    assert b"--user=loader" in line and not any(account["password"].encode() in word for word in line)
    assert "MYSQL_PWD" not in os.environ
    with pytest.raises(dbapi.ProgrammingError, match="Access denied") as caught:
        inrush.adbc.connect({**account, "password": "wrong"})
    assert "wrong" not in str(caught.value)


def test_the_uri_of_the_driver_is_enough(server, database):
    uri = f"mysql://root@localhost/{database}?socket={server.socket}"
    options = {"uri": uri, "inrush.program": inrush.find_program()}
    with dbapi.connect(driver=inrush.adbc.find_driver(), db_kwargs=options, autocommit=True) as connection:
        with connection.cursor() as cursor:
            assert cursor.adbc_ingest("t", TABLE) == 3
    for options, words in [
        ({"uri": "mysql://u:secret@db1/?speed=1"}, "unknown option speed"),
        ({"uri": "sqlite://u:secret@db1/"}, "mysql://"),
    ]:
        with pytest.raises(dbapi.Error, match=words) as caught:
            dbapi.connect(driver=inrush.adbc.find_driver(), db_kwargs=options, autocommit=True)
        assert "secret" not in str(caught.value)


def test_an_error_of_the_data_stops_the_load(server, cursor):
    def batches():
        yield TABLE.to_batches()[0]
        raise OSError("the source is gone")

    cursor.execute("CREATE TABLE t (id INT, name VARCHAR(9))")
    with pytest.raises(Exception, match="the source is gone"):
        cursor.adbc_ingest("t", pa.RecordBatchReader.from_batches(TABLE.schema, batches()), mode="append")
    assert rows(server, "SELECT COUNT(*) FROM py.t") == ["0"]
    assert not programs()


def test_a_load_is_cancelled(server, cursor):
    def batches():
        while True:
            time.sleep(0.01)
            yield TABLE.to_batches()[0]

    def cancel():
        while not programs():
            time.sleep(0.01)
        time.sleep(0.3)
        cursor.adbc_cancel()

    begin = time.monotonic()
    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(dbapi.OperationalError, match="CANCELLED") as caught:
        cursor.adbc_ingest("t", pa.RecordBatchReader.from_batches(TABLE.schema, batches()))
    thread.join()
    assert caught.value.status_code == 11
    # The batches are small: a full buffer would take half a minute.
    assert time.monotonic() - begin < 15
    assert rows(server, "SHOW TABLES FROM py") == []
    assert not programs()


def test_a_statement_is_cancelled(cursor):
    threading.Timer(0.5, cursor.adbc_cancel).start()
    begin = time.monotonic()
    try:
        cursor.execute("SELECT SLEEP(60)")
    except dbapi.Error as error:
        assert "1317" in str(error)
    assert time.monotonic() - begin < 30
    assert query(cursor, "SELECT 1").fetchone() == (1,)


def test_a_program_that_ends_early_is_an_error(server, database):
    """Also where SIGPIPE would end the process, as in C and R."""
    script = f"""
import signal, inrush.adbc, pyarrow as pa
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
from inrush.adbc import database_options, find_driver
from adbc_driver_manager import dbapi
options = database_options("{server.socket}", database="py")
options["inrush.user"] = "root"
table = pa.table({{"id": range(1_000_000)}})
for program in ("/bin/true", "/bin/false", "/nowhere/inrush"):
    options["inrush.program"] = program
    with dbapi.connect(driver=find_driver(), db_kwargs=options, autocommit=True) as connection:
        with connection.cursor() as cursor:
            try:
                print(cursor.adbc_ingest("t", table))
            except dbapi.Error as error:
                print(error)
"""
    out = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True)
    lines = out.stdout.decode().splitlines()
    assert len(lines) == 3, lines
    for line, words in zip(lines, ("no report", "status 1", "was not found")):
        assert words in line


def test_without_a_server_nothing_is_guessed(monkeypatch, tmp_path):
    for name in ("MYSQL_HOST", "MYSQL_TCP_PORT", "MYSQL_UNIX_PORT", "MYSQL_PWD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(dbapi.ProgrammingError, match="no server is named|connecting to"):
        inrush.adbc.connect()
