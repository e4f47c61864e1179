"""Bulk loads into InnoDB tables of MariaDB and MySQL.

The package runs the program ``inrush``, which comes with it. Frames are sent to the program as an
Arrow stream, and the program builds the table's file or sends the rows to the server.

>>> import inrush
>>> import pyarrow as pa
>>> orders = pa.table({"id": [1, 2, 3], "item": ["bolt", "nut", None]})
>>> with inrush.sandbox() as server:
...     report = inrush.load(orders, into="shop.orders", create=True, connection=server)
...     report.rows, inrush.read("shop.orders", connection=server).num_rows
(3, 3)

A failed load is an exception, and the table is unchanged:

>>> with inrush.sandbox() as server:
...     server.sql("CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY)")
...     try:
...         inrush.load(pa.table({"id": [1, 1]}), into="shop.t", connection=server)
...     except inrush.DuplicateKeyError as error:
...         error.table, error.line
''
('shop.t', 2)
"""

from .commands import (
    call,
    check,
    export,
    jobs,
    load,
    plan,
    read,
    replay,
    resume,
    sniff,
    verify,
)
from .connection import Connection
from .errors import (
    ConnectError,
    DuplicateKeyError,
    InputError,
    InrushError,
    InrushWarning,
    KeysLeftError,
    LoadError,
    RowError,
    StoppedError,
    UnfitError,
    UsageError,
)
from .frames import insert_method
from .program import find_program, version
from .report import Check, Export, Plan, Report, Stage, Verification
from .sandbox import Sandbox, sandbox

__all__ = [
    "Check",
    "ConnectError",
    "Connection",
    "DuplicateKeyError",
    "Export",
    "InputError",
    "InrushError",
    "InrushWarning",
    "KeysLeftError",
    "LoadError",
    "Plan",
    "Report",
    "RowError",
    "Sandbox",
    "Stage",
    "StoppedError",
    "UnfitError",
    "UsageError",
    "Verification",
    "call",
    "check",
    "export",
    "find_program",
    "insert_method",
    "jobs",
    "load",
    "plan",
    "read",
    "replay",
    "resume",
    "sandbox",
    "sniff",
    "verify",
    "version",
]
