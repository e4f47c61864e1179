"""Loads of files and frames, and what ends them."""

import decimal
import datetime
import io
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest

import inrush
from conftest import rows

pa = pytest.importorskip("pyarrow")

TABLE = {"id": [1, 2, 3], "name": ["a", "b", None]}


def polars_frame():
    return pytest.importorskip("polars").DataFrame(TABLE)


def polars_lazily():
    pl = pytest.importorskip("polars")
    return (frame for frame in pl.DataFrame(TABLE).iter_slices(2))


def pandas_frame():
    return pytest.importorskip("pandas").DataFrame(TABLE)


def indexed_pandas_frame():
    return pandas_frame().set_index("id")


def pandas_chunks():
    frame = pandas_frame()
    return iter([frame[:2], frame[2:]])


def duckdb_relation():
    duckdb = pytest.importorskip("duckdb")
    return duckdb.sql("SELECT * FROM (VALUES (1, 'a'), (2, 'b'), (3, NULL)) AS t (id, name)")


KINDS = {
    "pyarrow table": lambda: pa.table(TABLE),
    "reader": lambda: pa.table(TABLE).to_reader(max_chunksize=1),
    "record batch": lambda: pa.record_batch(TABLE),
    "batches": lambda: iter(pa.table(TABLE).to_batches(max_chunksize=2)),
    "list of batches": lambda: pa.table(TABLE).to_batches(max_chunksize=2),
    "dictionary": lambda: TABLE,
    "dictionaries": lambda: [dict(zip(TABLE, row)) for row in zip(*TABLE.values())],
    "polars frame": polars_frame,
    "polars frames": polars_lazily,
    "pandas frame": pandas_frame,
    "pandas frame with an index": indexed_pandas_frame,
    "pandas chunks": pandas_chunks,
    "DuckDB relation": duckdb_relation,
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_every_kind_are_loaded(server, database, kind):
    server.sql("CREATE TABLE py.t (id INT PRIMARY KEY, name VARCHAR(9))")
    report = inrush.load(KINDS[kind](), into="py.t", connection=server)
    assert (report.rows, report.rejected, report.target, bool(report)) == (3, 0, "py.t", True)
    assert rows(server, "SELECT * FROM py.t ORDER BY id") == ["1\ta", "2\tb", "3\tNULL"]


def test_dictionaries_have_the_keys_of_all_of_them(server, database):
    records = [{"id": 1}, {"id": 2, "note": "x"}, {"size": 1.5, "note": None, "id": 3}]
    inrush.load(records, into="py.t", create=True, connection=server)
    assert rows(server, "SELECT * FROM py.t ORDER BY id") == ["1\tNULL\tNULL", "2\tx\tNULL", "3\tNULL\t1.5"]


def test_iterators_of_paths_and_of_dictionaries_are_loaded(server, database, tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(f"id,name\n1,{name}\n")
    load = {"into": "py.t", "connection": server, "mode": "replace", "create": True}
    assert inrush.load(tmp_path.glob("*.csv"), **load).rows == 2
    assert inrush.load({tmp_path / "a.csv"}, **load).rows == 1
    dictionaries = ({"id": n, "name": str(n)} if n else {"id": 0} for n in range(3))
    assert inrush.load(dictionaries, **load).rows == 3
    assert rows(server, "SELECT * FROM py.t ORDER BY id") == ["0\tNULL", "1\t1", "2\t2"]


def test_datasets_are_loaded(server, database, tmp_path):
    dataset = pytest.importorskip("pyarrow.dataset")
    write_table = pytest.importorskip("pyarrow.parquet").write_table
    write_table(pa.table({"id": [1, 2]}), tmp_path / "a.parquet")
    files = dataset.dataset(tmp_path)
    load = {"into": "py.t", "connection": server, "mode": "replace", "create": True}
    assert inrush.load(files, **load).rows == 2
    assert inrush.load(files.scanner(columns=["id"]), **load).rows == 2


@pytest.mark.parametrize(
    "data, words",
    [
        (io.StringIO("id"), "an open file; expected is its path"),
        (iter([1]), "an item of the data is a int"),
        (b"a.csv", "data is a bytes"),
        ({"id": 1}, "a sequence for each column"),
        (pa.chunked_array([[1]]), "data is one column"),
        ([], "no record batch and no row"),
        (pa.table({}), "the data has no columns"),
    ],
)
def test_data_of_other_kinds_is_an_error_that_names_what_is_expected(data, words):
    with pytest.raises((TypeError, ValueError), match=words):
        inrush.load(data, into="py.t", connection={"host": "127.0.0.1", "port": 1})


def test_values_of_arrow_come_back(server, database):
    table = pa.table(
        {
            "id": pa.array([1, 2], pa.uint64()),
            "price": pa.array([decimal.Decimal("1.50"), None], pa.decimal128(12, 2)),
            "at": pa.array([datetime.datetime(2026, 1, 2, 3, 4, 5, 6), None], pa.timestamp("us")),
            "day": pa.array([datetime.date(2026, 1, 2), None]),
            "data": pa.array([b"\x00\xff", None]),
            "kind": pa.array(["x", "y"]).dictionary_encode(),
            "ratio": pa.array([0.1, -0.0]),
        }
    )
    inrush.load(table, into="py.t", create=True, connection=server)
    back = inrush.read("py.t", connection=server)
    assert back.to_pydict() == table.to_pydict()
    some = inrush.read("py.t", columns=["id", "day"], where="id > 1", connection=server)
    assert some.to_pydict() == {"id": [2], "day": [None]}


def test_views_and_long_batches_are_sent_in_parts(server, database):
    pl = pytest.importorskip("polars")
    count = 200_000
    texts = [f"a text that does not fit into a view, {number}" for number in range(count)]
    frame = pl.DataFrame({"id": range(count), "text": texts, "list": [["x"]] * count})
    report = inrush.load(frame, into="py.t", create=True, connection=server)
    assert report.rows == count
    assert inrush.verify(frame, into="py.t", connection=server)


def test_files_are_loaded_by_path_pattern_and_list(server, database, tmp_path):
    for number in (1, 2):
        (tmp_path / f"part-{number}.csv").write_text(f"id,name\n{number},x\n")
    server.sql("CREATE TABLE py.t (id INT PRIMARY KEY, name VARCHAR(9))")
    files = [tmp_path / "part-1.csv", str(tmp_path / "part-2.csv")]
    for data in (files[0], str(tmp_path / "part-*.csv"), files):
        options = {"mode": "replace", "header": True, "connection": server}
        report = inrush.load(data, into="py.t", **options)
        assert report.rows == (1 if data is files[0] else 2)


def test_several_tables_are_loaded_from_a_folder(server, database, tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.csv").write_text("id\n1\nx\n")
        server.sql(f"CREATE TABLE py.{name} (id INT PRIMARY KEY)")
    report = inrush.load(tmp_path, into="py", header=True, rejects_max=1, connection=server)
    assert (report.rows, report.rejected, len(report.tables)) == (2, 2, 2)
    assert report.tables[0].rejects.to_pydict()["value"] == ["x"]
    assert report.rejects.to_pydict()["value"] == ["x", "x"]
    assert [one["rows"] for one in report.rejects_by_reason] == [1, 1]
    (tmp_path / "two.csv").write_text("id\n5\n5\n")
    with pytest.raises(inrush.DuplicateKeyError) as caught:
        inrush.load(tmp_path, "py", header=True, mode="replace", rejects_max=1, connection=server)
    assert (caught.value.table, caught.value.line) == ("py.two", 3)


def test_a_bad_row_is_an_error_with_its_place(server, database, tmp_path):
    file = tmp_path / "bad.csv"
    file.write_text("1,a\nx,b\n")
    server.sql("CREATE TABLE py.t (id INT PRIMARY KEY, name VARCHAR(9))")
    with pytest.raises(inrush.RowError) as caught:
        inrush.load(file, into="py.t", connection=server)
    error = caught.value
    assert (error.kind, error.status, error.table) == ("rows", 1, "py.t")
    assert (error.file, error.line, error.byte, error.field) == (str(file), 2, 4, 1)
    assert (error.column, error.value) == ("id", "x")
    assert "x" in error.reason and "nothing was loaded" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert again.to_dict() == error.to_dict() and type(again) is type(error)


def test_rejected_rows_are_a_table(server, database):
    server.sql("CREATE TABLE py.t (id TINYINT PRIMARY KEY)")
    report = inrush.load(pa.table({"id": [1, 300]}), "py.t", rejects_max=1, connection=server)
    assert (report.rows, report.rejected, bool(report)) == (1, 1, False)
    rejects = report.rejects.to_pylist()
    assert [(one["line"], one["column"], one["value"]) for one in rejects] == [(2, "id", "300")]
    checked = inrush.check(pa.table({"id": [300, 7, 7]}), into="py.t", connection=server)
    assert (checked.rows, checked.bad_rows, bool(checked)) == (3, 2, False)
    assert checked.rejects.num_rows == 2
    with pytest.raises(ValueError, match="standard output"):
        inrush.load({"id": [2]}, "py.t", mode="append", rejects="/dev/stdout", connection=server)


def test_rejected_rows_are_read_when_they_are_used(server, database, tmp_path):
    server.sql("CREATE TABLE py.t (id TINYINT PRIMARY KEY)")
    options = {"rejects": tmp_path / "bad", "rejects_max": 1, "connection": server}
    report = inrush.load(pa.table({"id": [1, 300]}), "py.t", **options)
    (tmp_path / "bad.reasons.jsonl").rename(tmp_path / "reasons")
    with pytest.raises(FileNotFoundError, match="bad.reasons.jsonl"):
        report.rejects
    (tmp_path / "reasons").rename(tmp_path / "bad.reasons.jsonl")
    assert report.rejects.num_rows == 1
    assert pickle.loads(pickle.dumps(report)).rejects.num_rows == 1
    checked = inrush.check(pa.table({"id": [300]}), into="py.t", mode="append", connection=server)
    reasons = f"{checked.rejects_file}.reasons.jsonl"
    assert os.path.exists(reasons) and checked.rejects.num_rows == 1
    del checked
    assert not os.path.exists(os.path.dirname(reasons))
    options.update(rejects="/dev/null", mode="append")
    assert inrush.load(pa.table({"id": [2, 300]}), "py.t", **options).rejects.num_rows == 0


def test_a_job_file_has_rejected_lines(server, database, tmp_path):
    server.sql("CREATE TABLE py.one (id INT PRIMARY KEY); CREATE TABLE py.two (id INT PRIMARY KEY)")
    lines, job = tmp_path / "lines.csv", tmp_path / "job.toml"
    lines.write_text("1,10\nx,20\n")
    job.write_text(
        '[input]\ncolumns = ["a", "b"]\n'
        '[[table]]\nname = "one"\ncolumns.id = { from = "a" }\n'
        '[[table]]\nname = "two"\ncolumns.id = { from = "b" }\n'
    )
    options = {"into": "py", "job": job, "connection": server}
    report = inrush.load(lines, rejects_max=1, **options)
    assert (report.rows, report.rejected, bool(report)) == (2, 1, False)
    assert report.rejects.to_pydict()["value"] == ["x"]
    assert (report.rejects_by_reason[0]["rows"], bool(report.rejects_file)) == (1, True)
    verified = inrush.verify(lines, **options)
    assert (verified.refused_rows, verified.missing_rows, bool(verified)) == (1, 0, False)


def test_kinds_of_errors(server, database):
    server.sql("CREATE TABLE py.t (id INT PRIMARY KEY)")
    one = pa.table({"id": [1]})
    cases = [
        (lambda: inrush.load({"id": [1, 1]}, "py.t", connection=server), inrush.DuplicateKeyError),
        (lambda: inrush.load(one, "py.missing", connection=server), inrush.UsageError),
        (lambda: inrush.load(one, "py.t", no_such=1, connection=server), inrush.UsageError),
        (lambda: inrush.load("/no/such.csv", "py.t", connection=server), inrush.InrushError),
        (lambda: inrush.read("py.missing", connection=server), inrush.UsageError),
        (lambda: inrush.load(one, "py.t", connection="mysql://a:b@127.0.0.1:1"), inrush.ConnectError),
        (lambda: inrush.load(one, "py.t", password="x"), TypeError),
        (lambda: inrush.load(7, "py.t"), TypeError),
        (lambda: inrush.load(one, "py.t", dry_run=True, connection=server), TypeError),
        (lambda: inrush.load(iter([]), "py.t"), ValueError),
    ]
    for call, kind in cases:
        with pytest.raises(kind):
            call()
    assert rows(server, "SELECT COUNT(*) FROM py.t") == ["0"]


def test_an_exception_of_the_iterator_stops_the_load(server, database):
    server.sql("CREATE TABLE py.t (id INT PRIMARY KEY)")

    def batches():
        yield pa.record_batch({"id": range(50_000)})
        raise LookupError("the source has ended early")

    for mode in ("insert", "append", "replace"):
        with pytest.raises(LookupError, match="early"):
            inrush.load(batches(), into="py.t", mode=mode, connection=server)
    assert rows(server, "SELECT COUNT(*) FROM py.t") == ["0"]


def test_frames_with_other_columns_than_the_first_stop_the_load(server, database):
    server.sql("CREATE TABLE py.t (id INT PRIMARY KEY, note TEXT)")
    first = pa.record_batch({"id": [1], "note": ["a"]})
    others = [
        pa.record_batch({"id": [2], "note": ["b"], "more": [1]}),
        pa.record_batch({"id": [2]}),
        pa.record_batch([pa.array([2]), pa.array(["b"]), pa.array(["c"])], names=["id", "note", "note"]),
    ]
    for other in others:
        with pytest.raises(ValueError, match="columns of this record batch are id"):
            inrush.load(iter([first, other]), into="py.t", connection=server)
    assert rows(server, "SELECT COUNT(*) FROM py.t") == ["0"]
    swapped = pa.record_batch({"note": ["b"], "id": [2]})
    inrush.load(iter([first, swapped]), into="py.t", connection=server)
    assert rows(server, "SELECT note FROM py.t WHERE id=2") == ["b"]


MOMENT = datetime.datetime(2026, 1, 2, 3)

#: Types of two batches, values of the second one, and the stored ones; None if a value would change.
TYPES_OF_BATCHES = [
    (pa.float32(), pa.float64(), [0.5, None], ["0.5", "NULL"]),
    (pa.float32(), pa.float64(), [0.1], None),
    (pa.float64(), pa.int8(), [7], ["7"]),
    (pa.int64(), pa.float64(), [2.0, None], ["2", "NULL"]),
    (pa.int64(), pa.float64(), [2.5], None),
    (pa.int8(), pa.int64(), [300], None),
    (pa.bool_(), pa.int64(), [5], None),
    (pa.bool_(), pa.null(), [None], ["NULL"]),
    (pa.string(), pa.int64(), [7], ["7"]),
    (pa.string(), pa.float64(), [7.0], None),
    (pa.string(), pa.dictionary(pa.int8(), pa.string()), ["a"], ["a"]),
    (pa.decimal128(5, 2), pa.decimal128(4, 1), [decimal.Decimal("1.5")], ["1.50"]),
    (pa.decimal128(5, 2), pa.decimal128(5, 3), [decimal.Decimal("1.501")], None),
    (pa.timestamp("us"), pa.date32(), [MOMENT.date()], ["2026-01-02 00:00:00.000000"]),
    (pa.date32(), pa.timestamp("us"), [MOMENT], None),
    (pa.timestamp("us"), pa.timestamp("us", "America/New_York"), [MOMENT], None),
    (pa.timestamp("us", "UTC"), pa.timestamp("us"), [MOMENT], None),
    (pa.timestamp("us", "UTC"), pa.timestamp("us", "Asia/Tokyo"), [MOMENT], ["2026-01-02 03:00:00.000000"]),
    (pa.list_(pa.string()), pa.list_(pa.null()), [[]], ["[]"]),
    (pa.struct([("a", pa.int64())]), pa.struct([("a", pa.float64())]), [{"a": 1.5}], None),
]


@pytest.mark.parametrize("first, second, values, stored", TYPES_OF_BATCHES)
def test_types_of_later_batches_change_no_value(server, database, first, second, values, stored):
    batches = [
        pa.record_batch({"n": pa.array([0]), "v": pa.array([None], first)}),
        pa.record_batch({"n": range(1, len(values) + 1), "v": pa.array(values, second)}),
    ]
    load = lambda: inrush.load(iter(batches), into="py.t", create=True, connection=server)  # noqa: E731
    if stored is None:
        with pytest.raises(ValueError, match="column v has type .* give all batches one type"):
            load()
        return
    load()
    assert rows(server, "SELECT v FROM py.t WHERE n > 0 ORDER BY n") == stored


def test_the_error_of_a_load_that_ends_early_is_not_a_broken_pipe(server, database):
    server.sql("CREATE TABLE py.t (id TINYINT PRIMARY KEY)")

    def endless():
        while True:
            yield pa.record_batch({"id": [300] * 10_000})

    with pytest.raises(inrush.RowError):
        inrush.load(endless(), into="py.t", connection=server)


def test_an_interrupt_stops_the_load(server, database):
    server.sql("CREATE TABLE py.t (id INT PRIMARY KEY)")
    begun = threading.Event()

    def slow():
        for number in range(10_000):
            yield pa.record_batch({"id": [number]})
            begun.set()
            time.sleep(0.05)

    def interrupt():
        begun.wait()
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        inrush.load(slow(), into="py.t", connection=server)
    assert rows(server, "SELECT COUNT(*) FROM py.t") == ["0"]
    assert inrush.load({"id": [1]}, into="py.t", connection=server).rows == 1


def test_a_killed_python_leaves_no_part_of_a_load(server, database):
    server.sql("CREATE TABLE py.t (id INT PRIMARY KEY)")
    script = (
        "import sys, time, inrush, pyarrow as pa\n"
        "def slow():\n"
        "    yield pa.record_batch({'id': list(range(500_000))})\n"
        "    yield pa.record_batch({'id': list(range(500_000, 1_000_000))})\n"
        "    print('sent', flush=True)\n"
        "    time.sleep(60)\n"
        "inrush.load(slow(), into='py.t', connection=sys.argv[1])\n"
    )
    child = subprocess.Popen([sys.executable, "-c", script, server.socket], stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"sent\n"
    child.kill()
    child.communicate()
    # The load is over when the next one has the table.
    assert inrush.load({"id": [-1]}, into="py.t", mode="append", connection=server).rows == 1
    assert rows(server, "SELECT COUNT(*) FROM py.t") == ["1"]


def test_polars_sends_frames_without_pyarrow(server, database, monkeypatch):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"id": range(20_000), "name": [f"{n:1000}" for n in range(20_000)]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert inrush.load(frame, into="py.t", create=True, connection=server).rows == 20_000
    found = rows(server, "SELECT COUNT(*), SUM(id), SUM(name) FROM py.t")
    assert found == ["20000\t199990000\t199990000"]
    assert inrush.load(frame.head(0), into="py.t", mode="append", allow_empty=True, connection=server).rows == 0


def test_nanoarrow_sends_frames_without_pyarrow(server, database, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    data = pa.table(TABLE)
    try:
        import nanoarrow  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match=r"inrush\[arrow\]"):
            inrush.load(data, into="py.t", create=True, connection=server)
        return
    report = inrush.load(data, into="py.t", create=True, connection=server)
    assert (report.rows, report.rejects) == (3, [])
    with pytest.raises(ImportError, match=r"inrush\[arrow\]"):
        inrush.load(TABLE, into="py.t", connection=server)
    with pytest.raises(ImportError, match="pyarrow"):
        inrush.read("py.t", connection=server)


def test_progress_is_drawn_by_tqdm(server, database, capsys):
    pytest.importorskip("tqdm")
    from inrush import program, progress

    if not program.knows(program.find_program(), "load", "progress"):
        pytest.skip("the program does not know --progress")
    inrush.load({"id": [1, 2]}, into="py.t", create=True, progress=True, connection=server)
    assert "inrush" in capsys.readouterr().err

    class Bar:
        n = 0

        def set_description_str(self, text, refresh):
            self.text = text

        set_postfix_str = set_description_str

        def refresh(self):
            pass

    bar = Bar()
    reader = progress.Progress(bar)
    assert reader.take('{"inrush_progress": 1, "phase": "rows", "rows": 5, "percent": null}\n')
    assert not reader.take("inrush: a message\n") and not reader.take("{no JSON\n")
    assert (bar.n, bar.text) == (5, "rows")


def test_a_bar_that_fails_holds_up_no_load(tmp_path, monkeypatch):
    tqdm = pytest.importorskip("tqdm.auto")

    class Bar:
        def __init__(self, **options):
            self.n = 0

        def refresh(self):
            raise BrokenPipeError("nobody sees the bar")

        close = refresh

    monkeypatch.setattr(tqdm, "tqdm", Bar)
    program = tmp_path / "inrush"
    # More lines than a pipe holds.
    program.write_text(
        "#!/bin/sh\n"
        'if [ "$2" = --help-all ]; then echo --progress; exit; fi\n'
        "for n in $(seq 5000); do echo '{\"inrush_progress\": 1, \"rows\": 1}' >&2; done\n"
        "echo '{\"rows\": 5}'\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("INRUSH_PROGRAM", str(program))
    assert inrush.load("t.csv", into="py.t", progress=True).rows == 5
