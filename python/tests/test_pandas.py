"""DataFrame.to_sql with rows loaded by Inrush."""

import pytest

import inrush
from conftest import rows

pd = pytest.importorskip("pandas")
sqlalchemy = pytest.importorskip("sqlalchemy")
pytest.importorskip("pymysql")
pytest.importorskip("pyarrow")


@pytest.fixture
def engine(server, database):
    return sqlalchemy.create_engine(server.url(database=database))


FRAME = pd.DataFrame(
    {"id": [1, 2, 3], "name": ["a", None, "c"], "at": pd.to_datetime(["2026-01-02 03:04:05"] * 3)}
)


@pytest.mark.parametrize("chunksize", [None, 2])
@pytest.mark.parametrize("index", [False, True])
def test_to_sql_loads_all_rows(server, engine, chunksize, index):
    options = {"chunksize": chunksize, "index": index, "method": inrush.insert_method}
    assert FRAME.to_sql("t", engine, **options) in (3, None)
    assert FRAME.to_sql("t", engine, if_exists="append", **options) in (3, None)
    assert FRAME.to_sql("t", engine, if_exists="replace", **options) in (3, None)
    want = ["1\ta\t2026-01-02 03:04:05", "2\tNULL\t2026-01-02 03:04:05"]
    assert rows(server, "SELECT id, name, at FROM py.t ORDER BY id")[:2] == want
    assert rows(server, "SELECT COUNT(*) FROM py.t") == ["3"]


def test_to_sql_over_a_connection(server, engine):
    with engine.connect() as connection:
        FRAME.to_sql("t", connection, schema="py", index=False, method=inrush.insert_method)
    assert rows(server, "SELECT COUNT(*) FROM py.t") == ["3"]


def test_rows_that_pandas_deletes_in_its_transaction_are_not_waited_for(server, engine):
    FRAME.to_sql("t", engine, index=False)
    options = {"index": False, "method": inrush.insert_method, "if_exists": "delete_rows"}
    with pytest.raises(ValueError, match="delete_rows|'delete_rows' is not valid"):
        FRAME.to_sql("t", engine, **options)
    assert rows(server, "SELECT COUNT(*) FROM py.t") == ["3"]
