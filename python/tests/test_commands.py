"""Other commands, and connections of every kind."""

import contextlib
import os
import ssl
import stat
import subprocess
import tempfile
import traceback
import types
import warnings

import pytest

import inrush
from conftest import rows
from inrush import Connection

pa = pytest.importorskip("pyarrow")


@pytest.fixture
def table(server, database):
    server.sql("CREATE TABLE py.t (id INT PRIMARY KEY, name VARCHAR(9))")
    inrush.load({"id": [1, 2], "name": ["a", "b"]}, into="py.t", connection=server)
    return "py.t"


def test_plan_says_method_and_reasons(server, table):
    plan = inrush.plan(pa.table({"id": [3]}), into=table, mode="replace", connection=server)
    assert plan and plan.path == "direct"
    refused = inrush.plan(pa.table({"id": [3]}), into=table, connection=server)
    assert not refused and "not empty" in refused.refused[0]["reason"]


def test_plans_of_several_tables_are_true_if_all_can_be_loaded(server, table, tmp_path):
    for name in ("t", "new"):
        (tmp_path / f"{name}.csv").write_text("3,c\n")
    server.sql("CREATE TABLE py.new (id INT PRIMARY KEY, name VARCHAR(9))")
    assert inrush.plan(tmp_path, into="py", mode="append", connection=server)
    assert not inrush.plan(tmp_path, into="py", connection=server)


def test_a_run_without_a_report_is_an_error(tmp_path, monkeypatch):
    program = tmp_path / "inrush"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    monkeypatch.setenv("INRUSH_PROGRAM", str(program))
    with pytest.raises(inrush.InrushError, match="no report") as caught:
        inrush.load("t.csv", into="py.t", progress=False)
    assert caught.value.status == 0


def test_verify_compares(server, table):
    same = {"id": [1, 2], "name": ["a", "b"]}
    assert inrush.verify(same, into=table, connection=server)
    other = {"id": [1, 3], "name": ["x", "b"]}
    found = inrush.verify(other, into=table, connection=server)
    assert not found
    assert (found.missing_rows, found.changed_rows, found.extra_rows) == (1, 1, 1)


def test_export_and_read(server, table, tmp_path):
    file = tmp_path / "t.csv"
    done = inrush.export(table, file, header=True, connection=server)
    assert (done.rows, done.files) == (2, [str(file)])
    assert file.read_text().splitlines()[0] == "id,name"
    with pytest.raises(inrush.InrushError):
        inrush.export(table, file, connection=server)
    assert inrush.read(table, connection=server).num_rows == 2


@pytest.mark.parametrize("rest", [0, 1000, 3000])
def test_a_read_that_is_cut_says_how_the_program_ended(tmp_path, monkeypatch, rest):
    stream = tmp_path / "stream"
    with pa.ipc.new_stream(str(stream), pa.schema([("id", pa.int64())])) as writer:
        writer.write_batch(pa.record_batch({"id": pa.array(range(1000), pa.int64())}))
    program = tmp_path / "inrush"
    program.write_text(f"#!/bin/sh\nhead -c {rest} {stream}\nkill -KILL $$\n")
    program.chmod(0o755)
    monkeypatch.setenv("INRUSH_PROGRAM", str(program))
    with pytest.raises(inrush.InrushError, match="ended by signal 9"):
        inrush.read("py.t")


def test_replay_and_sniff_and_call(server, table, tmp_path):
    dump = tmp_path / "dump.sql"
    dump.write_text("CREATE TABLE d (id INT PRIMARY KEY);\nINSERT INTO d VALUES (1),(2);\n")
    report = inrush.replay(dump, into="py", connection=server)
    assert rows(server, "SELECT COUNT(*) FROM py.d") == ["2"], report
    file = tmp_path / "x.csv"
    file.write_text("id,name\n1,a\n")
    assert "CREATE TABLE" in str(inrush.sniff(file))
    assert inrush.call("doctor", connection=server)
    with pytest.raises(inrush.RowError):
        inrush.load({"id": ["x"], "name": ["a"]}, into=table, mode="append", connection=server)
    # A failed load is a job with an error, and no error of the list.
    assert any("error" in job for job in inrush.jobs())


def test_replays_warn_of_what_is_missing(server, database, tmp_path):
    dump = tmp_path / "dump.sql"
    # The last line, "-- Dump completed", is missing.
    dump.write_text(
        "-- MariaDB dump 10.19  Distrib 10.11.6-MariaDB, for debian-linux-gnu (x86_64)\n"
        "CREATE TABLE d (id INT PRIMARY KEY);\nINSERT INTO d VALUES (1),(2);\n"
    )
    with pytest.warns(inrush.InrushWarning, match="cut short"):
        assert inrush.replay(dump, into="py", connection=server)["rows"] == 2
    server.sql("DROP TABLE py.d")
    with pytest.warns(inrush.InrushWarning, match="cut short"):
        inrush.call("replay", str(dump), into="py", fresh=True, connection=server)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        server.sql("DROP TABLE py.d")
        inrush.replay(dump, into="py", partial=True, fresh=True, connection=server)
    dump.write_text("INSERT INTO no_such VALUES (1);\nALTER TABLE no_such ADD c INT;\n")
    with pytest.warns(inrush.InrushWarning, match="failed, the first in .*dump.sql, line 1"):
        assert inrush.replay(dump, into="py", force=True, connection=server)["failed"]


def test_errors_of_replays_have_their_kinds(server, database, tmp_path):
    dump = tmp_path / "dump.sql"
    dump.write_text("CREATE TABLE d (id INT PRIMARY KEY);\nINSERT INTO no_such VALUES (1);\n")
    with pytest.raises(inrush.ConnectError):
        inrush.replay(dump, into="py", connection="mysql://a:b@127.0.0.1:1")
    with pytest.raises(inrush.UsageError) as caught:
        inrush.replay(dump, into="py", tables=["py.none"], connection=server)
    assert caught.value.kind == "usage"
    with pytest.raises(inrush.LoadError) as caught:
        inrush.replay(dump, into="py", connection=server)
    assert (caught.value.file, caught.value.line) == (str(dump), 2)


def test_resume_runs_a_failed_load_again(server, database, tmp_path):
    file = tmp_path / "new.csv"
    file.write_text("3,7\n")
    server.sql("CREATE TABLE py.p (id INT PRIMARY KEY)")
    server.sql("CREATE TABLE py.c (id INT PRIMARY KEY, p INT REFERENCES p (id))")
    # A command line without --json.
    command = [inrush.find_program(), "load", str(file), "--into=py.c", "--socket=" + server.socket]
    assert subprocess.run([*command, "--user=root"], stderr=subprocess.DEVNULL).returncode == 1
    job = inrush.jobs()[-1]["job"]
    server.sql("INSERT INTO py.p VALUES (7)")
    report = inrush.resume(job)
    assert (report.target, report.rows) == ("py.c", 1)
    with pytest.raises(inrush.UsageError, match="done"):
        inrush.resume(report.job)


def engine(account, server):
    return pytest.importorskip("sqlalchemy").create_engine(_url(account, "mysql+pymysql"))


def engine_of_socket(account, server):
    return pytest.importorskip("sqlalchemy").create_engine(server.url())


def engine_with_connect_args(account, server):
    create_engine = pytest.importorskip("sqlalchemy").create_engine
    return create_engine("mysql+pymysql://no.such.host.invalid/", connect_args=account)


def engine_with_a_creator(account, server):
    pymysql = pytest.importorskip("pymysql")
    create_engine = pytest.importorskip("sqlalchemy").create_engine
    return create_engine("mysql+pymysql://", creator=lambda: pymysql.connect(**account))


def engine_with_an_event(account, server):
    sqlalchemy = pytest.importorskip("sqlalchemy")
    engine = sqlalchemy.create_engine("mysql+pymysql://no.such.host.invalid/")
    sqlalchemy.event.listen(engine, "do_connect", lambda *arguments: arguments[3].update(account))
    return engine


def pymysql_connection(account, server):
    return pytest.importorskip("pymysql").connect(**account)


def option_file(account, server):
    path = os.path.join(os.environ["XDG_STATE_HOME"], "my.cnf")
    with open(path, "w") as file:
        os.chmod(path, 0o600)
        password = account["password"].replace('"', '\\"')
        file.write(f"[client]\nhost={account['host']}\nport={account['port']}\n")
        file.write(f'user={account["user"]}\npassword="{password}"\n')
    return path


def _url(account, scheme="mysql"):
    from urllib.parse import quote

    password = quote(account["password"], safe="")
    return f"{scheme}://{account['user']}:{password}@{account['host']}:{account['port']}/py"


CONNECTIONS = {
    "URL": lambda account, server: _url(account),
    "URL of SQLAlchemy": lambda account, server: _url(account, "mariadb+pymysql"),
    "URL of a socket": lambda account, server: f"mysql://root@localhost/?socket={server.socket}",
    "socket": lambda account, server: server.socket,
    "folder of a sandbox": lambda account, server: server.dir,
    "arguments": lambda account, server: account,
    "arguments of the sandbox": lambda account, server: server.arguments,
    "PyMySQL": pymysql_connection,
    "engine": engine,
    "connection of SQLAlchemy": lambda account, server: engine(account, server).connect(),
    "engine of a socket": engine_of_socket,
    "engine with connect_args": engine_with_connect_args,
    "engine with a creator": engine_with_a_creator,
    "connection of an engine with a creator": lambda account, server: engine_with_a_creator(
        account, server
    ).connect(),
    "engine with an event": engine_with_an_event,
    "option file": option_file,
    "Connection": lambda account, server: Connection(socket=server.socket, user="root"),
}


@pytest.mark.parametrize("kind", CONNECTIONS)
def test_connections_of_every_kind_reach_the_server(server, table, account, kind, monkeypatch):
    # Variables of the environment belong to other servers.
    monkeypatch.setenv("MYSQL_HOST", "no.such.host.invalid")
    connection = CONNECTIONS[kind](account, server)
    assert inrush.read(table, connection=connection).num_rows == 2
    assert account["password"] not in " ".join(Connection.of(connection).arguments())
    assert account["password"] not in repr(Connection.of(connection))


def test_a_table_without_database_belongs_to_that_of_the_connection(table, account):
    assert inrush.read("t", connection=_url(account)).num_rows == 2


def test_options_of_connections():
    url = "mysql://u@db1/shop?ssl_ca=ca.pem&ssl_verify_cert=true&charset=utf8mb4&compress=1"
    assert Connection.of("mysql://u@db1/?ssl_ca=/a@b/ca.pem").options == {"ssl-ca": "/a@b/ca.pem"}
    options = {"ssl-ca": "ca.pem", "ssl-verify-server-cert": True, "compress": True}
    assert Connection.of(url).options == options
    typed = Connection.of(url).arguments()
    assert typed[:3] == ["--defaults-file=/dev/null", "--host=db1", "--user=u"]
    assert "--ssl-verify-server-cert" in typed
    arguments = {"host": "localhost", "ssl": {"ca": "ca.pem"}, "cursorclass": object}
    assert Connection.of(arguments).options == {"ssl-ca": "ca.pem", "protocol": "tcp"}
    for wrong in ("postgresql://u@db1/", "mysql://u@db1/?no_such=1"):
        with pytest.raises(ValueError):
            Connection.of(wrong)
    with pytest.raises(TypeError):
        Connection.of(7)
    # Without a host, the load would go to this machine.
    with pytest.raises(ValueError, match="unknown argument hostname"):
        Connection.of({"hostname": "db1", "user": "loader"})
    with pytest.raises(ValueError, match="begins with mysql://") as caught:
        Connection.of("loader:secret@db1/shop")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "mysql://loader:secret/x@db1/shop",
        "mysql://loader:12/secret@db1/shop",
        "mysql://loader:x?secret@db1/shop",
        "mysql://loader:a@b?secret@db1/shop",
        "mysql://loader:x#secret@db1/shop",
        "mysql://loader:1#secret@db1/shop",
        "mysql://loader:x[secret@db1/shop",
        "mysql://loader:secret\u2100@db1/shop",
    ],
)
def test_malformed_urls_are_errors_that_do_not_show_them(url):
    with pytest.raises(ValueError, match="URL of the connection is malformed") as caught:
        Connection.of(url)
    assert "secret" not in "".join(traceback.format_exception_only(caught.type, caught.value))
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_engines_of_unknown_servers_are_refused():
    sqlalchemy, pymysql = pytest.importorskip("sqlalchemy"), pytest.importorskip("pymysql")
    options = {"module": pymysql, "creator": lambda: None}
    with pytest.raises(ValueError, match="its server is not known"):
        Connection.of(sqlalchemy.create_engine("mysql+mysqldb://u@db1/", **options))
    tls = {"ssl": ssl.create_default_context()}
    with pytest.raises(ValueError, match="ssl of the connection"):
        Connection.of(sqlalchemy.create_engine("mysql+pymysql://u@db1/", connect_args=tls))
    engine = sqlalchemy.create_engine("mysql+pymysql://u:p@db1:3307/shop?ssl_ca=ca.pem")
    # Events of other kinds do not change the server.
    sqlalchemy.event.listen(engine, "do_execute", lambda *arguments: None)
    found = Connection.of(engine)
    assert (found.host, found.port, found.options) == ("db1", 3307, {"ssl-ca": "ca.pem"})


#: A certificate of an authority.
AUTHORITY = """\
-----BEGIN CERTIFICATE-----
MIIBfzCCASWgAwIBAgIUXLQgI6w+z//GIGfRQX/nFvewvrowCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJYXV0aG9yaXR5MCAXDTI2MTEzMDAwMjk0MFoYDzIxMjYxMTA2
MDAyOTQwWjAUMRIwEAYDVQQDDAlhdXRob3JpdHkwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQBxmHwEJmJctlRNdAP623VMRSrpd6D5Ne6SVAd92U7mKhpOmLtklWY
S6VFOubwFzbWIW87sYyBW3+TMQsGTEwho1MwUTAdBgNVHQ4EFgQUI9VDLw7Szo27
cS3jfdkekFrAO9kwHwYDVR0jBBgwFoAUI9VDLw7Szo27cS3jfdkekFrAO9kwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEAk0dKmFwQpPkmWbMAo/hh
RYTxBWqrjhkW4OzMvIQ3lsoCIDK5b5tKVBEWslPgw6P7G4lUMvTFT76OOTtkuENG
JNl8
-----END CERTIFICATE-----
"""


def test_connections_of_pymysql_keep_their_authority():
    def options(context):
        account = {"host": "db1", "port": 3306, "user": "u", "password": "p", "db": None}
        driver = types.SimpleNamespace(**account, unix_socket=None, ctx=context)
        return dict(Connection.of(driver).options)

    context = ssl.create_default_context(cadata=AUTHORITY)
    found = options(context)
    with open(found.pop("ssl-ca"), encoding="ascii") as file:
        assert file.read() == AUTHORITY
    assert found == {}
    context.check_hostname = False
    assert options(context)["ssl-mode"] == "VERIFY_CA"
    # PyMySQL verifies nothing by a file alone.
    context.verify_mode = ssl.CERT_NONE
    assert options(context)["ssl-mode"] == "VERIFY_CA"
    system = ssl.create_default_context()
    system.check_hostname, system.verify_mode = False, ssl.CERT_NONE
    assert options(system) == options(None) == {}


def test_the_sandbox_is_private_and_goes_away():
    with inrush.sandbox() as sandbox:
        folder = os.path.dirname(sandbox.dir)
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        assert sandbox.sql("SELECT 1 AS one") == "one\n1\n"
        with pytest.raises(inrush.InrushError, match="syntax"):
            sandbox.sql("SELEC")
    assert not os.path.exists(folder)


def test_the_last_block_stops_a_sandbox_that_several_use():
    def is_running(sandbox):
        return os.path.exists(os.path.join(sandbox.dir, "server.pid"))

    with tempfile.TemporaryDirectory(prefix="inrush-") as folder:
        folder = os.path.join(folder, "server")
        with contextlib.ExitStack() as second:
            with inrush.sandbox(folder) as first:
                other = second.enter_context(inrush.sandbox(folder))
                assert first.sql("SELECT 1 AS one") == "one\n1\n"
            assert other.sql("SELECT 2 AS two") == "two\n2\n"
        assert not is_running(other)
