"""Connections by ADBC: bulk loads by Inrush, and SQL with results as Arrow.

``pip install 'inrush[adbc]'`` installs the driver manager. The driver itself is in the wheel.

>>> import inrush.adbc
>>> import pyarrow as pa
>>> orders = pa.table({"id": [1, 2, 3], "item": ["bolt", "nut", None]})
>>> with inrush.sandbox() as server:
...     _ = server.sql("CREATE DATABASE shop")
...     with inrush.adbc.connect(server, database="shop") as connection:
...         with connection.cursor() as cursor:
...             cursor.adbc_ingest("orders", orders, mode="create")
...             _ = cursor.execute("SELECT item FROM orders WHERE id < 3")
...             cursor.fetchall()
3
[('bolt',), ('nut',)]
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, Optional

from .connection import Connection
from .program import find_program
from .sandbox import socket_of

__all__ = ["connect", "database_options", "find_driver"]

_DRIVER = "libadbc_driver_inrush.so"


def find_driver() -> str:
    """Path of the driver, for driver managers of other languages too.

    The variable ADBC_DRIVER_INRUSH names it; else it is the driver of this package.
    """
    named = os.environ.get("ADBC_DRIVER_INRUSH")
    path = Path(named) if named else Path(__file__).resolve().parent / _DRIVER
    if not path.is_file():
        raise FileNotFoundError(
            f"the driver {path} was not found; pip install --force-reinstall inrush installs it, "
            "and ADBC_DRIVER_INRUSH names another one"
        )
    return str(path)


def database_options(connection: Any, *, database: Optional[str] = None) -> Dict[str, str]:
    """The options of the driver for a connection.

    >>> options = database_options("mysql://loader:secret@db1/shop?ssl_ca=ca.pem")
    >>> options["inrush.host"], options["inrush.database"], options["inrush.ssl-ca"]
    ('db1', 'shop', 'ca.pem')
    """
    server = Connection.of(connection) or Connection()
    options: Dict[str, Any] = {"program": find_program()}
    for name in ("host", "port", "user", "socket"):
        options[name] = getattr(server, name)
    options["database"] = database or server.database
    options.update(server.options)
    folder = options.pop("sandbox", None)
    if folder is not None:
        options.update(socket=socket_of(folder), user="root")
    out = {f"inrush.{name}": _text(value) for name, value in options.items() if value is not None}
    if server.password is not None:
        out["password"] = server.password
    return out


def connect(connection: Any = None, *, database: Optional[str] = None, autocommit: bool = True) -> Any:
    """A connection of ``adbc_driver_manager.dbapi``.

    ``connection`` is anything that ``connection=`` of :func:`inrush.load` takes. Without it, option
    files and the environment name the server. Tables without a database belong to ``database``.
    The driver commits each statement, so ``autocommit=False`` warns.
    """
    try:
        from adbc_driver_manager import dbapi
    except ImportError:
        raise ImportError(
            "inrush.adbc needs the driver manager (pip install 'inrush[adbc]')"
        ) from None
    return dbapi.connect(
        driver=find_driver(),
        db_kwargs=database_options(connection, database=database),
        autocommit=autocommit,
    )


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)
