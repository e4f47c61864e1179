#!/usr/bin/env python3
"""Writes the files of this folder: pip install pyarrow polars duckdb; python3 make.py

All files have the rows of values.tsv, which is made from the values themselves."""

import base64
import datetime as dt
import decimal
import json

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as encryption

ROWS = range(20)
DAY = dt.date(2024, 2, 25)
NOON = dt.datetime(2024, 2, 25, 12)


def text(value):
    if value is None:
        return r"\N"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (list, dict)):
        return json.dumps(value, separators=(",", ":"))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


values = {
    "i": [None if i == 3 else i - 10 for i in ROWS],
    "u": [2**64 - 1 - i for i in ROWS],
    "f": [i / 8 for i in ROWS],
    "d": [decimal.Decimal(i * 7) / 100 for i in ROWS],
    "day": [DAY + dt.timedelta(days=i) for i in ROWS],
    "ts": [NOON + dt.timedelta(microseconds=i) for i in ROWS],
    "s": [f"text {i % 4}" for i in ROWS],
    "b": [i % 2 == 0 for i in ROWS],
    "l": [None if i == 5 else list(range(i % 3)) for i in ROWS],
    "st": [{"x": i, "y": f"{i}"} for i in ROWS],
}
types = {
    "i": pa.int32(),
    "u": pa.uint64(),
    "f": pa.float64(),
    "d": pa.decimal128(12, 2),
    "day": pa.date32(),
    "ts": pa.timestamp("us"),
    "s": pa.string(),
    "b": pa.bool_(),
    "l": pa.list_(pa.int64()),
    "st": pa.struct([("x", pa.int64()), ("y", pa.string())]),
}
rows = pa.table({name: pa.array(values[name], types[name]) for name in values})
columns = list(values.values())
columns[3] = [f"{value:.2f}" for value in columns[3]]
with open("values.tsv", "w") as out:
    for row in zip(*columns):
        out.write("\t".join(text(value) for value in row) + "\n")

for name, options in {
    "pyarrow-snappy.parquet": {"compression": "snappy"},
    "pyarrow-v2-zstd.parquet": {"compression": "zstd", "data_page_version": "2.0", "row_group_size": 7},
    "pyarrow-lz4.parquet": {"compression": "lz4", "use_dictionary": False},
    "pyarrow-int96.parquet": {"use_deprecated_int96_timestamps": True},
    "pyarrow-checksums.parquet": {"write_page_checksum": True, "compression": "gzip"},
}.items():
    pq.write_table(rows, name, **options)
feather.write_feather(rows, "pyarrow-lz4.feather", compression="lz4")
with pa.ipc.new_stream("pyarrow.arrows", rows.schema) as out:
    out.write_table(rows, max_chunksize=6)

few = pa.table({"i": pa.array([7, 8, 9], pa.int32()), "s": ["a", "b", "c"], "more": [0.5, 1.5, 2.5]})
pq.write_table(few, "other/three-columns.parquet")
odd = pa.table([pa.array([number]) for number in (1, 2, 3, 4)], names=["id", "ID", "", "end "])
pq.write_table(odd, "other/odd-names.parquet")
# Not compressed, so that only its checksum tells of another byte.
plain = pa.table({"id": pa.array([7001, 7002, 7003], pa.int64())})
options = {"write_page_checksum": True, "use_dictionary": False, "compression": "none"}
pq.write_table(plain, "other/checksums.parquet", **options)
uuids = [bytes(range(at, at + 16)) for at in (0, 100)] + [None]
pq.write_table(pa.table({"id": [1, 2, 3], "u": pa.array(uuids, pa.uuid())}), "other/uuids.parquet")


class Keys(encryption.KmsClient):
    """Keys that are their own names."""

    def __init__(self, _):
        super().__init__()

    def wrap_key(self, key, master):
        return base64.b64encode(master.encode() + key)

    def unwrap_key(self, wrapped, master):
        return base64.b64decode(wrapped)[len(master) :]


# The column b is encrypted, the footer is not.
secret = pa.table({"id": [1, 2, 3], "b": ["a", "b", "c"]})
master = "0123456789012345"
encrypted = encryption.EncryptionConfiguration(footer_key=master, column_keys={master: ["b"]}, plaintext_footer=True)
factory = encryption.CryptoFactory(Keys)
keys = factory.file_encryption_properties(encryption.KmsConnectionConfig(), encrypted)
with pq.ParquetWriter("other/encrypted-column.parquet", secret.schema, encryption_properties=keys) as out:
    out.write_table(secret)

# INT96 with digits below microseconds, and moments: three columns of one value, to columns of three types.
FIRST = 1_709_200_800_000_000_000
moments = [FIRST + i * 1_000_000_000 for i in range(3)]
utc = pa.array(moments, pa.timestamp("ns", "UTC")).cast(pa.timestamp("us", "UTC"))
old = pa.array([FIRST + 1_000, FIRST + 1_001, None], pa.timestamp("ns"))
table = pa.table({"id": pa.array([1, 2, 3], pa.int32()), "old": old, "dt": utc, "at": utc, "s": utc})
pq.write_table(table, "other/pyarrow-moments.parquet", use_deprecated_int96_timestamps=True)

frame = pl.from_arrow(rows).with_columns(pl.col("s").cast(pl.Categorical))
frame.write_parquet("polars.parquet")
frame.write_ipc("polars.arrow", compression="zstd")
frame.write_ipc_stream("polars.arrows")

duckdb.sql("COPY (SELECT * FROM rows) TO 'duckdb.parquet' (FORMAT parquet, COMPRESSION zstd)")
