#!/usr/bin/env python3
"""Loads and exports on the engines that docs/reference/engines.md describes, each on the real program.

Every case runs on the engine and on MariaDB. Both have to have the same rows: those of the sorted exports.

  TIDB=.../tidb-server  VITESS=.../vitess  MYSQLD=.../mysqld  INRUSH=target/release/inrush  scripts/engines.py [CASE...]

VITESS is a folder with bin (vttestserver, vtcombo, mysqlctl) and config, as a release of Vitess has them.
TIDB_SOURCE and VITESS_SOURCE are folders of their sources instead: go builds the programs into target/engines.
Servers listen on the loopback only, and end with the script.
"""

import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ENV = os.environ
HERE = pathlib.Path(__file__).resolve().parent.parent
INRUSH = ENV.get("INRUSH", str(HERE / "target/release/inrush"))
SEED = int(ENV.get("SEED", "1"))
WAIT = 120


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Engine:
    """A server that is started here, and ended."""

    paths = ["stream", "insert"]
    # How several tables are loaded: by one swap, or one after the other.
    several = []
    # The modes of loads that are killed.
    modes = ["append", "insert"]

    def __init__(self, name, folder):
        self.name, self.folder, self.port, self.process = name, folder, None, None
        folder.mkdir()

    def spawn(self, command, **more):
        log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, **more)

    def until_up(self):
        end = time.time() + WAIT
        while time.time() < end:
            if self.sql("SELECT 1", check=False).returncode == 0:
                return
            time.sleep(0.3)
        raise AssertionError(f"{self.name} does not answer; its words are in {self.folder}/log")

    def sql(self, text, check=True, database=None):
        command = ["mariadb", "--no-defaults", "-uroot", "-h127.0.0.1", f"-P{self.port}", "-N", "-B"]
        command += [database] if database else []
        done = subprocess.run(command + ["-e", text], capture_output=True, text=True)
        if check and done.returncode != 0:
            raise AssertionError(f"{text}: {done.stderr.strip()}")
        return done

    def version(self):
        return self.sql("SELECT VERSION()").stdout.strip()

    def server(self):
        return ["--host", "127.0.0.1", "--port", str(self.port), "--user", "root"]

    def kill(self, how=signal.SIGKILL):
        os.killpg(self.process.pid, how)
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.kill(signal.SIGTERM)

    def make(self, table, shape):
        self.sql(f"DROP TABLE IF EXISTS {table}", database="un")
        self.sql(f"CREATE TABLE {table} ({shape})", database="un")


class MariaDb(Engine):
    def start(self):
        data = self.folder / "data"
        if not data.exists():
            install = ["mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={data}",
                       "--auth-root-authentication-method=normal"]
            subprocess.run(install, check=True, capture_output=True)
        self.port = free_port()
        self.spawn(["mariadbd", "--no-defaults", "--user=root", f"--datadir={data}", f"--port={self.port}",
                    "--bind-address=127.0.0.1", f"--socket={self.folder}/socket", "--local-infile=1"])
        self.until_up()
        self.sql("CREATE DATABASE IF NOT EXISTS un")


class TiDb(Engine):
    def start(self):
        self.port = self.port or free_port()
        self.spawn([ENV["TIDB"], "--store=unistore", f"--path={self.folder}/data", "--host=127.0.0.1",
                    f"-P={self.port}", f"--status={free_port()}", "--status-host=127.0.0.1", "--advertise-address=127.0.0.1",
                    f"--socket={self.folder}/socket", f"--temp-dir={self.folder}/tmp"], cwd=self.folder)
        self.until_up()
        self.sql("CREATE DATABASE IF NOT EXISTS un")
        # TiKV's garbage collection writes this; the store within tidb-server has none.
        self.sql("INSERT IGNORE INTO mysql.tidb VALUES "
                 "('tikv_gc_safe_point', '20260101-00:00:00.000 +0000', 'of scripts/engines.py')")


class Vitess(Engine):
    paths = ["insert"]
    several = ["--each"]
    shards = 1

    def start(self):
        # mysqlctl does not run as root, and MySQL from 9 lacks a variable of the configuration for tests.
        programs, base = pathlib.Path(ENV["VITESS"]), self.port - 3 if self.port else free_base()
        root = self.folder / "root"
        if not root.exists():
            root.mkdir()
            (root / "bin").symlink_to(programs / "bin")
            shutil.copytree(programs / "config", root / "config")
            tests = root / "config/mycnf/test-suite.cnf"
            lines = [line for line in tests.read_text().splitlines() if "innodb_log_file_size" not in line]
            tests.write_text("\n".join(lines) + "\n")
        mysql = pathlib.Path(ENV["MYSQLD"]).resolve().parent.parent
        env = {**ENV, "VTROOT": str(root), "VTDATAROOT": str(self.folder), "HOME": str(self.folder),
               "VT_MYSQL_ROOT": str(mysql), "PATH": f"{mysql}/bin:{ENV['PATH']}"}
        user = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.getuid() == 0 else {}
        if user:
            for place in [self.folder, self.folder.parent]:
                place.chmod(0o777)
        self.port = base + 3
        self.spawn([str(programs / "bin/vttestserver"), f"--port={base}", "--keyspaces=un", f"--num-shards={self.shards}",
                    "--mysql-bind-host=127.0.0.1", f"--data-dir={self.folder}", "--persistent-mode",
                    "--vschema-ddl-authorized-users=%"], env=env, cwd=self.folder, **user)
        self.until_up()

    def kill(self, how=signal.SIGKILL):
        super().kill(how)
        # mysqlctl starts it as a session of its own.
        for file in self.folder.glob("vt_*/mysql.pid"):
            pid = int(file.read_text())
            try:
                os.kill(pid, how)
            except ProcessLookupError:
                continue
            while pathlib.Path(f"/proc/{pid}").exists():
                time.sleep(0.1)

    def make(self, table, shape):
        super().make(table, shape)
        self.until_known(table)

    def until_known(self, table):
        # vtgate learns of tables a little later.
        end = time.time() + WAIT
        while self.sql(f"SELECT 1 FROM {table} LIMIT 1", check=False, database="un").returncode and time.time() < end:
            time.sleep(0.2)
        time.sleep(1)


class VitessShards(Vitess):
    """A keyspace of two shards, whose tables are divided by their first column."""

    shards = 2
    modes = ["append"]

    def make(self, table, shape):
        # vtgate makes and drops tables that have a vindex.
        column = shape.split(" ", 1)[0]
        self.sql(f"ALTER VSCHEMA ON un.{table} DROP VINDEX hash", check=False)
        self.sql(f"ALTER VSCHEMA ON un.{table} ADD VINDEX hash({column}) USING hash")
        end = time.time() + WAIT
        while self.sql(f"DROP TABLE IF EXISTS {table}", check=False, database="un").returncode and time.time() < end:
            time.sleep(0.2)
        self.sql(f"CREATE TABLE {table} ({shape})", database="un")
        self.until_known(table)


def free_base():
    """The first of four ports in a row."""
    while True:
        base = free_port()
        if base < 60000:
            return base


# Loads and exports.


class Run:
    """What a case has: an engine, MariaDB beside it, and a folder."""

    def __init__(self, engine, maria, folder):
        self.engine, self.maria, self.folder = engine, maria, folder
        folder.mkdir()

    def inrush(self, server, *words, status=0):
        command = [INRUSH, *map(str, words), *server.server()]
        env = {**ENV, "XDG_STATE_HOME": str(self.folder / server.name)}
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=600)
        said = f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}"
        assert status is None or done.returncode == status, said
        return done

    def start(self, *words):
        env = {**ENV, "XDG_STATE_HOME": str(self.folder / self.engine.name)}
        command = [INRUSH, *map(str, words), *self.engine.server()]
        return subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def file(self, name, lines):
        path = self.folder / name
        path.write_text("".join(line + "\n" for line in lines))
        return path

    def rows(self, server, table):
        out = self.folder / f"{table}.{server.name}.txt"
        self.inrush(server, "export", f"un.{table}", "-o", out, "--force")
        return sorted(out.read_text().splitlines())

    def same(self, table):
        seen, expected = (self.rows(server, table) for server in (self.engine, self.maria))
        assert seen == expected, f"{table}: {len(seen)} rows, MariaDB has {len(expected)}: " + str(
            [row for row in seen if row not in set(expected)][:3])
        return len(seen)

    def both(self, *words, status=0):
        return [self.inrush(server, *words, status=status) for server in (self.maria, self.engine)]

    def make(self, table, shape, maria=None):
        self.engine.make(table, shape)
        self.maria.make(table, maria or shape)


NUMBERED = "id BIGINT PRIMARY KEY, k INT NOT NULL, c VARCHAR(60), KEY (k)"


def numbered(first, count):
    return [f"{id}\t{id % 97}\ttext of {id}" for id in range(first, first + count)]


def ways(run):
    """insert, append, replace and --atomic by each path"""
    first, more = run.file("first.txt", numbered(1, 30000)), run.file("more.txt", numbered(50001, 25000))
    for path in run.engine.paths:
        run.make("t", NUMBERED)
        run.inrush(run.engine, "plan", first, "--into", "un.t")
        for mode, file in [("insert", first), ("append", more), ("replace", first), ("replace", more)]:
            run.both("load", file, "--into", "un.t", "--mode", mode, "--path", path)
            run.same("t")
        run.both("load", first, "--into", "un.t", "--mode", "append", "--atomic", "--path", path)
        assert run.same("t") == 55000
        run.inrush(run.engine, "load", first, "--into", "un.t", "--path", path, status=2)
        run.inrush(run.engine, "load", first, "--into", "un.t", "--mode", "append", "--path", path, status=1)
        assert run.same("t") == 55000
    run.inrush(run.engine, "load", more, "--into", "un.t", "--mode", "replace")
    run.inrush(run.engine, "verify", more, "--into", "un.t")


def several(run):
    """several tables by one command"""
    dump = run.folder / "dump"
    dump.mkdir()
    for table in "abc":
        run.make(table, NUMBERED)
        (dump / f"{table}.txt").write_text("\n".join(numbered(1, 5000)) + "\n")
    for mode in ["insert", "replace"]:
        run.inrush(run.maria, "load", dump, "--into", "un", "--mode", mode)
        run.inrush(run.engine, "load", dump, "--into", "un", "--mode", mode, *run.engine.several)
        for table in "abc":
            run.same(table)


def job_file(run):
    """lines of one file split into two tables by a job file"""
    # Keys of entities that are texts are refused: their order is not learned from these engines.
    run.make("customers", "id INT PRIMARY KEY, code INT NOT NULL, UNIQUE KEY (code)")
    run.make("orders", "no INT PRIMARY KEY, customer INT NOT NULL, KEY (customer)")
    run.file("orders.csv", ["no,code", *(f"{no},{no % 700 + 1000}" for no in range(1, 9001))])
    run.file("more.csv", ["no,code", *(f"{no},{no % 900 + 1000}" for no in range(10001, 14001))])
    job = run.folder / "job.toml"
    for mode, file in [("insert", "orders.csv"), ("append", "more.csv")]:
        job.write_text(JOB.format(file))
        run.both("load", "-c", job, "--mode", mode)
        assert run.same("customers") == {"insert": 700, "append": 900}[mode]
        run.same("orders")


JOB = """into = "un"
[input]
files = ["{}"]
header = true
[[table]]
name = "customers"
columns = {{ code = "code" }}
entity = {{ key = ["code"], id = "id" }}
[[table]]
name = "orders"
columns = {{ no = "no", customer = {{ id_of = "customers" }} }}
"""


def foreign_keys(run):
    """a table with a foreign key: rows without their parent are refused"""
    for server in (run.engine, run.maria):
        server.sql("DROP TABLE IF EXISTS child", database="un")
    run.make("parent", "id BIGINT PRIMARY KEY, k INT NOT NULL")
    run.make("child", "id BIGINT PRIMARY KEY, p BIGINT NOT NULL, KEY (p), "
             "CONSTRAINT f FOREIGN KEY (p) REFERENCES parent (id)")
    rows = run.file("parent.txt", [f"{id}\t{id}" for id in range(1, 1001)])
    run.both("load", rows, "--into", "un.parent", "--mode", "append")
    children = run.file("child.txt", [f"{id}\t{id % 1000 + 1}" for id in range(1, 5001)])
    run.both("load", children, "--into", "un.child", "--mode", "append")
    assert run.same("child") == 5000
    lost = run.file("lost.txt", ["6001\t1", "6002\t5000"])
    for mode in ["append", "replace"]:
        run.both("load", lost, "--into", "un.child", "--mode", mode, status=1)
        assert run.same("child") == 5000, mode
    run.both("load", run.file("one.txt", ["7001\t7"]), "--into", "un.child", "--mode", "replace")
    assert run.same("child") == 1


def counters(run):
    """AUTO_INCREMENT, and TiDB's AUTO_RANDOM, with numbers in the input and without"""
    shape = "id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT, c VARCHAR(60)"
    run.make("t", shape)
    rows = run.file("rows.txt", numbered(1, 20000))
    short = run.file("short.txt", [row.split("\t", 1)[1] for row in numbered(1, 20000)])
    for mode in ["insert", "replace"]:
        run.both("load", rows, "--into", "un.t", "--mode", mode)
        run.same("t")
    for mode in ["append", "replace"]:
        run.both("load", short, "--into", "un.t", "--columns", "k,c", "--mode", mode)
        for server in (run.maria, run.engine):
            told = server.sql("SET @a = 0; SELECT COUNT(*), COUNT(DISTINCT id), SUM(k) FROM un.t").stdout.split()
            count = {"append": 40000, "replace": 20000}[mode]
            assert told[:2] == [str(count)] * 2, told
    if run.engine.name == "tidb":
        run.engine.make("r", "id BIGINT AUTO_RANDOM PRIMARY KEY, k INT, c VARCHAR(60)")
        run.maria.make("r", "id BIGINT PRIMARY KEY, k INT, c VARCHAR(60)")
        run.both("load", rows, "--into", "un.r")
        run.same("r")
        for mode in ["append", "replace"]:
            run.inrush(run.engine, "load", short, "--into", "un.r", "--columns", "k,c", "--mode", mode)
        told = run.engine.sql("SELECT COUNT(*), COUNT(DISTINCT id) FROM un.r").stdout.split()
        assert told == ["20000", "20000"], told


def shapes(run):
    """types, generated columns, JSON, UTF-8, a unique key, partitions"""
    shape = ("id INT PRIMARY KEY, u VARCHAR(40) COLLATE utf8mb4_bin NOT NULL, d DECIMAL(12,3), f DOUBLE, "
             "m DATETIME(3), y DATE, b VARBINARY(20), e ENUM('a','b'), j JSON, "
             "g INT GENERATED ALWAYS AS (id * 2) {}, UNIQUE KEY (u)")
    run.make("t", shape.format("STORED"))
    texts = ["ä", "日本", "🙂", "a\\tb", "\\\\N", "", "'", '"']
    lines = []
    for id in range(1, 2001):
        null = id % 9 == 0
        value = [id, f"{texts[id % 8]}{id}", f"{id}.125", id / 8, "2024-02-29 12:34:56.789", "1999-12-31",
                 "x\\0y", "ab"[id % 2], '{"k": [%d, null]}' % id]
        lines.append("\t".join("\\N" if null and at > 1 else str(one) for at, one in enumerate(value)))
    rows = run.file("rows.txt", lines)
    names = "id,u,d,f,m,y,b,e,j"
    for path in run.engine.paths:
        run.both("load", rows, "--into", "un.t", "--columns", names, "--mode", "replace", "--path", path)
        columns = "id,u,d,f,m,y,b,e,g"
        seen = []
        for server in (run.engine, run.maria):
            out = run.folder / f"t.{server.name}.txt"
            run.inrush(server, "export", "un.t", "-o", out, "--force", "--columns", columns)
            seen.append(sorted(out.read_text().splitlines()))
        assert seen[0] == seen[1], "differ"
        told = run.engine.sql("SELECT COUNT(*), SUM(JSON_EXTRACT(j, '$.k[0]') = id) FROM un.t").stdout.split()
        assert told == ["2000", "1778"], told
    parts = NUMBERED.replace(", KEY (k)", "") + ") PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10000), " \
        "PARTITION p1 VALUES LESS THAN MAXVALUE"
    run.make("p", parts)
    rows = run.file("parts.txt", numbered(1, 20000))
    for mode in ["insert", "replace"]:
        run.both("load", rows, "--into", "un.p", "--mode", mode)
        assert run.same("p") == 20000


def bad_rows(run):
    """rejects, and rows with keys that are there"""
    lines = numbered(1, 2000)
    lines[100], lines[200] = "x\ty\tz", "201\tno\t-"
    rows = run.file("rows.txt", lines)
    for path in run.engine.paths:
        run.make("t", NUMBERED)
        for server in (run.maria, run.engine):
            bad = run.folder / f"bad.{server.name}"
            bad.unlink(missing_ok=True)
            run.inrush(server, "load", rows, "--into", "un.t", "--rejects-max", 5, "--rejects", bad, "--path", path,
                       "--mode", "append", status=3)
            assert len(bad.read_text().splitlines()) == 2, bad.read_text()
        assert run.same("t") == 1998
    twice = run.file("twice.txt", [row.replace("text", "new") for row in numbered(1001, 2000)])
    for how in ["skip", "replace", "update"]:
        run.make("t", NUMBERED)
        good = run.file("good.txt", numbered(1, 2000))
        run.both("load", good, "--into", "un.t")
        run.both("load", twice, "--into", "un.t", "--mode", "append", "--on-duplicate", how, status=None)
        assert run.same("t") == 3000, how


def writers(run):
    """exports while others write: the sum over all rows stays 0"""
    count = 200000
    run.engine.make("t", "id BIGINT PRIMARY KEY, a BIGINT, b BIGINT, k BIGINT NOT NULL")
    rows = run.file("rows.txt", [f"{id}\t{id}\t{id}\t0" for id in range(1, count + 1)])
    run.inrush(run.engine, "load", rows, "--into", "un.t")
    if run.engine.name == "tidb":
        run.engine.sql("ANALYZE TABLE un.t")
    over, dice = threading.Event(), random.Random(SEED)
    seen = set()

    def write():
        command = ["mariadb", "--no-defaults", "-uroot", "-h127.0.0.1", f"-P{run.engine.port}", "un"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as client:
            while not over.is_set():
                one, two = dice.randint(1, count), dice.randint(1, count)
                client.stdin.write(f"BEGIN; UPDATE t SET k=k+1 WHERE id={one}; UPDATE t SET k=k-1 WHERE id={two}; COMMIT;\n")
                client.stdin.flush()
                time.sleep(0.003)

    threads = [threading.Thread(target=write) for _ in range(2)]
    [thread.start() for thread in threads]
    try:
        for _ in range(12):
            out = run.folder / "out.txt"
            run.inrush(run.engine, "export", "un.t", "-o", out, "--force", "--threads", "4")
            numbers = [int(line.rsplit("\t", 1)[1]) for line in out.read_text().splitlines()]
            assert len(numbers) == count and sum(numbers) == 0, (len(numbers), sum(numbers))
            seen.add(sum(number != 0 for number in numbers))
    finally:
        over.set()
        [thread.join() for thread in threads]
    assert len(seen) > 6, f"the writers wrote nothing: {seen}"


def killed(run):
    """kill -9 at ten places, and the same command again"""
    rows = numbered(1, 120000)
    file, dice = run.file("rows.txt", rows), random.Random(SEED)
    for mode in run.engine.modes:
        for at in range(10):
            run.engine.make("t", NUMBERED)
            words = ["load", file, "--into", "un.t", "--mode", mode]
            load = run.start(*words)
            time.sleep(0.05 + at * 0.12 + dice.random() * 0.1)
            load.kill()
            load.wait()
            again(run, words, len(rows))


def again(run, words, rows):
    """The same command leads to all rows, each once: a load that was through tells that, or finds its rows there."""
    for _ in range(20):
        done = run.inrush(run.engine, *words, status=None)
        count = int(run.engine.sql("SELECT COUNT(*) FROM un.t").stdout)
        if count == rows:
            break
        assert done.returncode != 0 and count < rows, f"{count} rows of {rows}: {done.stderr}"
        time.sleep(1)
    assert count == rows, f"{count} of {rows}: {done.stderr}"
    left = run.engine.sql("SHOW TABLES", database="un").stdout.split()
    assert not [name for name in left if name.startswith("_inrush")] or done.returncode != 0, left


def two_at_once(run):
    """two loads of one table"""
    run.engine.make("t", NUMBERED)
    files = [run.file("a.txt", numbered(1, 60000)), run.file("b.txt", numbered(100001, 60000))]
    loads = [run.start("load", file, "--into", "un.t", "--mode", "append") for file in files]
    [load.wait() for load in loads]
    for load, file in zip(loads, files):
        if load.returncode != 0:
            run.inrush(run.engine, "load", file, "--into", "un.t", "--mode", "append")
    assert len(run.rows(run.engine, "t")) == 120000


def engine_killed(run):
    """the engine is killed during a load, and comes back"""
    rows = numbered(1, 150000)
    file = run.file("rows.txt", rows)
    run.engine.make("t", NUMBERED)
    words = ["load", file, "--into", "un.t", "--mode", "append"]
    load = run.start(*words)
    time.sleep(0.6)
    run.engine.kill()
    time.sleep(1)
    run.engine.start()
    load.wait()
    again(run, words, len(rows))


def on_shards(run):
    """rows that are added to two shards, with rejects and keys that are there; what is refused"""
    for shape in [NUMBERED, "k BIGINT NOT NULL, c VARCHAR(60), KEY (k)"]:
        has_key = shape == NUMBERED
        run.make("t", shape)
        file = run.file("rows.txt", numbered(1, 30000) if has_key else [f"{id - 500}\ttext" for id in range(30000)])
        for mode in ["insert", "replace"]:
            run.inrush(run.engine, "load", file, "--into", "un.t", "--mode", mode, status=2)
        run.inrush(run.engine, "load", file, "--into", "un.t", "--mode", "append", "--atomic", status=2)
        run.inrush(run.engine, "plan", file, "--into", "un.t", "--mode", "append")
        run.both("load", file, "--into", "un.t", "--mode", "append")
        assert run.same("t") == 30000
        divided = [int(run.engine.sql(f"USE `un:{shard}`; SELECT COUNT(*) FROM t").stdout) for shard in ["-80", "80-"]]
        assert sum(divided) == 30000 and min(divided) > 10000, divided
    run.make("t", NUMBERED)
    run.both("load", run.file("rows.txt", numbered(1, 3000)), "--into", "un.t", "--mode", "append")
    lines = numbered(2500, 2000)
    lines[700] = "x\ty\tz"
    mixed = run.file("mixed.txt", lines)
    run.inrush(run.engine, "load", mixed, "--into", "un.t", "--mode", "append", "--on-duplicate", "replace", status=2)
    run.both("load", mixed, "--into", "un.t", "--mode", "append", status=1)
    run.both("load", mixed, "--into", "un.t", "--mode", "append", "--on-duplicate", "skip", "--rejects-max", 1, status=3)
    assert run.same("t") == 4498
    run.engine.sql("CREATE TABLE nowhere (id INT PRIMARY KEY)", check=False, database="un:-80")
    run.inrush(run.engine, "load", mixed, "--into", "un.nowhere", "--mode", "append", status=None)


def half_committed(run):
    """chunks that only one of two shards has, and the same command again"""
    rows = numbered(1, 150000)
    file = run.file("rows.txt", rows)
    text = file.read_bytes()
    words = ["load", file, "--into", "un.t", "--mode", "append"]
    for lost in ["80-", "-80"]:
        run.engine.make("t", NUMBERED)
        load = run.start(*words)
        ledger = of_shard(run, "80-", "SHOW TABLES LIKE '\\_inrush\\_ledger%'", until=True)[0]
        chunks = of_shard(run, "80-", f"SELECT ordinal, first_byte, bytes FROM {ledger} WHERE ordinal >= 0", until=True)
        load.kill()
        load.wait()
        time.sleep(1)
        ordinal, begin, size = map(int, chunks[0].split())
        ids = [int(line.split(b"\t")[0]) for line in text[begin:begin + size].splitlines()]
        of_shard(run, lost, f"DELETE FROM {ledger} WHERE ordinal={ordinal}")
        for first in range(min(ids), max(ids) + 1, 5000):
            of_shard(run, lost, f"DELETE FROM t WHERE id BETWEEN {first} AND {min(first + 4999, max(ids))}")
        left = int(run.engine.sql("SELECT COUNT(*) FROM un.t").stdout)
        assert 0 < left < len(rows), left
        again(run, words, len(rows))
        told = run.engine.sql("SELECT COUNT(DISTINCT id), SUM(id) FROM un.t").stdout.split()
        assert told == ["150000", str(150000 * 150001 // 2)], told


def of_shard(run, shard, sql, until=False):
    """The lines of an answer of one shard; waits for one, if it has to be."""
    end = time.time() + WAIT
    while True:
        lines = run.engine.sql(f"USE `un:{shard}`; {sql}", check=not until).stdout.splitlines()
        if lines or not until or time.time() > end:
            return lines
        time.sleep(0.02)


CASES = [ways, several, job_file, foreign_keys, counters, shapes, bad_rows, writers, killed, two_at_once, engine_killed]
OF_SHARDS = [on_shards, half_committed, killed, two_at_once, engine_killed]


def build_tidb(source, lacks):
    """Gives the program of these sources; the first time takes minutes. Nothing is written among them."""
    source, folder = pathlib.Path(source).resolve(), HERE / "target/engines/tidb"
    if not shutil.which("go") or not (source / "cmd/tidb-server").exists():
        lacks.append("go, or cmd/tidb-server in the folder TIDB_SOURCE=")
        return ""
    folder.mkdir(parents=True, exist_ok=True)
    program, overlay = folder / "tidb-server", []
    grammar = source / "pkg/parser"
    if not (grammar / "parser.go").exists():
        # Copies of the repository may lack what its Makefile makes.
        subprocess.run(["go", "build", "-o", str(folder / "goyacc"), "./goyacc"], cwd=grammar, check=True)
        made = [str(folder / "goyacc"), "-o", str(folder / "parser.go"), "-v", str(folder / "y.output")]
        subprocess.run([*made, "-p", "yy", "-t", "Parser", "parser.y"], cwd=grammar, check=True)
        replaced = {str(grammar / "parser.go"): str(folder / "parser.go")}
        (folder / "overlay.json").write_text(json.dumps({"Replace": replaced}))
        overlay = ["-overlay", str(folder / "overlay.json")]
    build = ["go", "build", "-buildvcs=false", "-ldflags=-checklinkname=0", *overlay, "-o", str(program)]
    subprocess.run([*build, "./cmd/tidb-server"], cwd=source, check=True)
    return str(program)


def build_vitess(source, lacks):
    """Gives the folder with the programs of these sources; the first time takes minutes."""
    source, folder = pathlib.Path(source).resolve(), HERE / "target/engines/vitess"
    if not shutil.which("go") or not (source / "go/cmd/vttestserver").exists():
        lacks.append("go, or go/cmd/vttestserver in the folder VITESS_SOURCE=")
        return ""
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    for program in ["vttestserver", "vtcombo", "mysqlctl"]:
        build = ["go", "build", "-buildvcs=false", "-o", str(folder / "bin" / program), f"./go/cmd/{program}"]
        subprocess.run(build, cwd=source, check=True)
    shutil.copytree(source / "config", folder / "config", dirs_exist_ok=True)
    return str(folder)


def lacking():
    found, lacks = [], []
    if ENV.get("TIDB_SOURCE") and not ENV.get("TIDB"):
        ENV["TIDB"] = build_tidb(ENV["TIDB_SOURCE"], lacks)
    if ENV.get("VITESS_SOURCE") and not ENV.get("VITESS"):
        ENV["VITESS"] = build_vitess(ENV["VITESS_SOURCE"], lacks)
    tidb, vitess, mysqld = (ENV.get(name, "") for name in ("TIDB", "VITESS", "MYSQLD"))
    if os.access(tidb, os.X_OK):
        found.append(TiDb)
    else:
        lacks.append("TIDB=, the program tidb-server")
    if not os.access(f"{vitess}/bin/vttestserver", os.X_OK):
        lacks.append("VITESS=, a folder with bin/vttestserver, bin/vtcombo, bin/mysqlctl and config")
    elif not os.access(mysqld, os.X_OK):
        lacks.append("MYSQLD=, the mysqld under Vitess")
    else:
        found += [Vitess, VitessShards]
    return found, lacks


def main():
    named = sys.argv[1:]
    found, lacks = lacking()
    for what in lacks:
        print(f"skipped, for it lacks {what}")
    run, failed = 0, 0
    with tempfile.TemporaryDirectory(prefix="inrush-engines-") as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        maria = MariaDb("mariadb", folder / "mariadb")
        engines = [kind(kind.__name__.lower(), folder / kind.__name__.lower()) for kind in found]
        try:
            if engines:
                maria.start()
            for engine in engines:
                engine.start()
                print(f"{engine.name} {engine.version()}", flush=True)
                cases = OF_SHARDS if engine.name == "vitessshards" else CASES
                for case in (case for case in cases if not named or case.__name__ in named):
                    begun, words, run = time.time(), "passed", run + 1
                    try:
                        case(Run(engine, maria, folder / f"{engine.name}-{case.__name__}"))
                    except (AssertionError, subprocess.TimeoutExpired) as error:
                        failed, words = failed + 1, f"FAILED: {error}"
                    print(f"  {case.__doc__}: {words}, {time.time() - begun:.0f} s", flush=True)
                engine.stop()
        finally:
            for server in [maria, *engines]:
                server.stop()
    print(f"{run - failed} passed, {failed} failed")
    return 1 if failed or not found else 0


if __name__ == "__main__":
    sys.exit(main())
