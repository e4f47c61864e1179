#!/usr/bin/env python3
"""Writes spark.parquet with the rows of values.tsv: pip install pyspark==3.5.3; TZ=UTC python3 make_spark.py

Wants Java 17. Spark has no unsigned integers: `u` is a DECIMAL(20,0). Times are INT96, as it writes them by itself."""

import datetime as dt
import decimal
import glob
import shutil
import tempfile

from pyspark.sql import SparkSession

ROWS = range(20)
DAY = dt.date(2024, 2, 25)
NOON = dt.datetime(2024, 2, 25, 12)
TYPES = (
    "i int, u decimal(20,0), f double, d decimal(12,2), day date, ts timestamp, s string, b boolean, "
    "l array<bigint>, st struct<x: bigint, y: string>"
)


def row(i):
    return (
        None if i == 3 else i - 10,
        decimal.Decimal(2**64 - 1 - i),
        i / 8,
        decimal.Decimal(i * 7) / 100,
        DAY + dt.timedelta(days=i),
        NOON + dt.timedelta(microseconds=i),
        f"text {i % 4}",
        i % 2 == 0,
        None if i == 5 else list(range(i % 3)),
        (i, f"{i}"),
    )


spark = SparkSession.builder.master("local[1]").config("spark.sql.session.timeZone", "UTC").getOrCreate()
rows = spark.createDataFrame([row(i) for i in ROWS], TYPES).coalesce(1)
with tempfile.TemporaryDirectory() as folder:
    rows.write.mode("overwrite").parquet(folder)
    shutil.copy(glob.glob(f"{folder}/part-*.parquet")[0], "spark.parquet")
