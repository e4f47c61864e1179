#!/usr/bin/env python3
"""Reads exported files by pyarrow, DuckDB and polars, and compares them with the server's values.

    read-columnar.py VALUES.tsv FILE.parquet FILE.arrow

VALUES.tsv has a header, and a line of text a row: numbers with their digits, bytes in hexadecimal digits, dates and
times as ISO has them, durations in microseconds, \\N for NULL. Exit status 3: a package is missing."""

import datetime as dt
import sys
import uuid

try:
    import duckdb
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as error:
    print(error)
    sys.exit(3)


def text(value):
    """A value as the server's text."""
    if value is None:
        return "\\N"
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, dt.timedelta):
        return str(value // dt.timedelta(microseconds=1))
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.timezone.utc).replace(tzinfo=None).isoformat(" ", "microseconds") \
            if value.tzinfo else value.isoformat(" ", "microseconds")
    if hasattr(value, "as_tuple"):
        return format(value, "f")
    return str(value)


def rows_of_pyarrow(table):
    return [[row[name] for name in table.column_names] for row in table.to_pylist()]


def main(values, parquet, arrow):
    lines = [line.split("\t") for line in open(values, encoding="utf-8").read().splitlines()]
    names, expected = lines[0], lines[1:]
    narrow = [name for name in names if name != "wide"]
    duckdb.sql("SET TimeZone = 'UTC'")
    columns = ", ".join(f'"{name}"' for name in narrow)
    with pa.OSFile(arrow) as file:
        from_arrow = pa.ipc.open_file(file).read_all()
    from_parquet = pq.read_table(parquet)
    from_parquet.validate(full=True)
    from_arrow.validate(full=True)
    # polars and DuckDB have decimals of 38 digits.
    readers = {
        "pyarrow, Parquet": (names, rows_of_pyarrow(from_parquet)),
        "pyarrow, Arrow": (names, rows_of_pyarrow(from_arrow)),
        "DuckDB, Parquet": (narrow, duckdb.sql(f"SELECT {columns} FROM '{parquet}'").fetchall()),
        "polars, Parquet": (narrow, pl.read_parquet(parquet, columns=narrow).rows()),
        "polars, Arrow": (narrow, pl.read_ipc(arrow, columns=narrow).rows()),
    }
    failed = False
    for reader, (columns, rows) in readers.items():
        if len(rows) != len(expected):
            print(f"{reader}: {len(rows)} rows, {len(expected)} expected")
            failed = True
        for number, (row, line) in enumerate(zip(rows, expected)):
            wanted = dict(zip(names, line))
            for name, value in zip(columns, row):
                # polars has UUIDs as their bytes.
                seen = text(uuid.UUID(bytes=value) if name == "uu" and isinstance(value, bytes) else value)
                if isinstance(value, float) and value == float(wanted[name]):
                    continue
                if seen != wanted[name]:
                    print(f"{reader}: row {number}, {name}: {seen}, {wanted[name]} expected")
                    failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
