"""The destination of dlt, with Parquet and JSON Lines."""

import datetime
import decimal

import pytest

from conftest import rows

dlt = pytest.importorskip("dlt")
pytest.importorskip("sqlalchemy")
pytest.importorskip("pymysql")

from inrush import KeysLeftError  # noqa: E402
from inrush.dlt import inrush  # noqa: E402

ORDERS = [
    {
        "id": number,
        "name": f"item {number}",
        "at": datetime.datetime(2026, 1, 2, 3, 4, 5, 123456, datetime.timezone.utc),
        "day": datetime.date(2026, 1, 2),
        "clock": datetime.time(1, 2, 3, 456),
        "price": decimal.Decimal("1.50"),
        "ratio": 0.5,
        "good": True,
        "data": b"\x00\xff",
    }
    for number in (1, 2, 3)
]


@pytest.fixture(params=["parquet", "jsonl"])
def run(request, server, tmp_path, monkeypatch):
    monkeypatch.setenv("RUNTIME__DLTHUB_TELEMETRY", "false")
    server.sql("DROP DATABASE IF EXISTS lake")
    pipeline = dlt.pipeline(
        "shop",
        destination=inrush(server.url()),
        dataset_name="lake",
        pipelines_dir=str(tmp_path),
    )

    def run(data, **options):
        info = pipeline.run(data, loader_file_format=request.param, **options)
        info.raise_on_failed_jobs()
        return info

    return run


def test_rows_are_appended_with_their_types(server, run):
    run(ORDERS, table_name="orders")
    run(ORDERS[:1], table_name="orders", write_disposition="append")
    want = "1\titem 1\t2026-01-02 03:04:05.123456\t2026-01-02\t01:02:03.000456\t1.500000000\t0.5\t1\t00FF"
    got = rows(
        server,
        "SELECT id, name, at, day, clock, price, ratio, good, HEX(data) FROM lake.orders ORDER BY id",
    )
    assert len(got) == 4 and got[0] == want
    assert rows(server, "SELECT COUNT(*) FROM lake._dlt_loads WHERE status = 0") == ["2"]


def test_replace_swaps_a_table_and_its_nested_tables(server, run):
    nested = [{"id": 1, "parts": [{"n": 1}, {"n": 2}]}, {"id": 2, "parts": [{"n": 3}]}]
    run(nested, table_name="orders", write_disposition="replace")
    assert rows(server, "SELECT COUNT(*) FROM lake.orders__parts") == ["3"]
    run(nested[1:], table_name="orders", write_disposition="replace")
    assert rows(server, "SELECT id FROM lake.orders") == ["2"]
    assert rows(server, "SELECT n FROM lake.orders__parts") == ["3"]
    # A nested table without rows is emptied with the others.
    run([{"id": 3}], table_name="orders", write_disposition="replace")
    assert rows(server, "SELECT id FROM lake.orders") == ["3"]
    assert rows(server, "SELECT COUNT(*) FROM lake.orders__parts") == ["0"]


def test_nested_tables_are_appended_together(server, run):
    nested = [{"id": 1, "parts": [{"n": 1}]}]
    run(nested, table_name="orders")
    run(nested, table_name="orders")
    assert rows(server, "SELECT COUNT(*) FROM lake.orders") == ["2"]
    assert rows(server, "SELECT COUNT(*) FROM lake.orders__parts") == ["2"]


def test_merge_updates_rows_with_the_same_key(server, run):
    options = {"table_name": "orders", "write_disposition": "merge", "primary_key": "code"}
    run([{"code": "a", "n": 1}, {"code": "b", "n": 2}], **options)
    run([{"code": "b", "n": 20}, {"code": "c", "n": 3}], **options)
    assert rows(server, "SELECT code, n FROM lake.orders ORDER BY code") == ["a\t1", "b\t20", "c\t3"]


def test_merge_refuses_nested_tables(server, run):
    options = {"table_name": "orders", "write_disposition": "merge", "primary_key": "id"}
    with pytest.raises(Exception, match="max_table_nesting"):
        run([{"id": 1, "parts": [{"n": 1}]}], **options)


def test_left_keys_are_logged(server, run, monkeypatch):
    def load(*arguments, **options):
        raise KeysLeftError("the keys of lake.child refer to the old table", status=4)

    messages = []
    monkeypatch.setattr("inrush.dlt.load", load)
    monkeypatch.setattr("inrush.dlt.logger.warning", messages.append)
    run([{"n": 1}], table_name="orders")
    assert "the keys of lake.child refer to the old table" in messages


def test_a_rejected_row_fails_the_job(server, run):
    columns = {"n": {"data_type": "text", "precision": 3}}
    with pytest.raises(Exception, match="nothing was loaded"):
        run([{"n": "a long text"}], table_name="orders", columns=columns)
    assert rows(server, "SELECT COUNT(*) FROM lake.orders") == ["0"]
