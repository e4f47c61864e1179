"""A destination of dlt whose rows are loaded by Inrush.

    import dlt
    from inrush.dlt import inrush

    pipeline = dlt.pipeline("shop", destination=inrush("mysql+pymysql://loader:secret@db1/"),
                            dataset_name="shop")

Tables, schema versions and state are those of dlt's destination ``sqlalchemy``. A table and its
nested tables are loaded at once: ``replace`` puts all of them in place in one step, ``append`` adds
the rows of all of them or none. ``merge`` adds rows and updates those with the same primary key.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Dict, Iterable, List, Optional, Sequence, Type

from dlt.common import logger
from dlt.common.destination import DestinationCapabilitiesContext
from dlt.common.destination.client import FollowupJobRequest, LoadJob, RunnableLoadJob
from dlt.common.destination.exceptions import (
    DestinationTerminalException,
    DestinationTransientException,
)
from dlt.common.storages.load_package import ParsedLoadJobFileName
from dlt.destinations.impl.sqlalchemy.configuration import SqlalchemyClientConfiguration
from dlt.destinations.impl.sqlalchemy.factory import sqlalchemy
from dlt.destinations.impl.sqlalchemy.sqlalchemy_job_client import SqlalchemyJobClient
from dlt.destinations.job_impl import (
    FinalizedLoadJobWithFollowupJobs,
    ReferenceFollowupJobRequest,
)
from sqlalchemy.dialects import mysql

from .commands import load
from .connection import Connection
from .errors import InputError, InrushError, KeysLeftError, RowError, UsageError

__all__ = ["inrush"]

#: Length of texts in primary keys, where the column has none: an index needs one.
_KEY_TEXT = 255
_DIGITS = 6
#: Types of dlt whose texts in JSON have a format of their own.
_JSON_FORMATS = {"timestamp": "iso", "binary": "base64"}

#: Values that columns accept; others accept 0.
_VALUES = {"date": "2000-01-01", "json": "{}", "time": "00:00:00", "timestamp": "2000-01-01"}


class InrushJobClient(SqlalchemyJobClient):
    """Tables by SQLAlchemy, rows by Inrush."""

    def create_load_job(
        self, table: Any, file_path: str, load_id: str, restore: bool = False
    ) -> LoadJob:
        """Files wait for the others of their tables; the job that names them all loads them."""
        if ReferenceFollowupJobRequest.is_reference_job(file_path):
            return _LoadTables(file_path)
        if ParsedLoadJobFileName.parse(file_path).file_format in ("parquet", "jsonl"):
            return FinalizedLoadJobWithFollowupJobs(file_path)
        return super().create_load_job(table, file_path, load_id, restore)

    def create_table_chain_completed_followup_jobs(
        self, table_chain: Sequence[Any], completed_table_chain_jobs: Optional[Sequence[Any]] = None
    ) -> List[FollowupJobRequest]:
        """One job for a table and its nested tables."""
        files = [
            job.file_path
            for job in completed_table_chain_jobs or ()
            if job.job_file_info.file_format in ("parquet", "jsonl")
        ]
        if not files:
            return []
        names = [table["name"] for table in table_chain]
        request = ReferenceFollowupJobRequest(os.path.basename(files[0]), [",".join(names), *files])
        return [request]

    def should_truncate_table_before_load(self, table_name: str) -> bool:
        """Never: the old rows stay until the new ones take their place."""
        return False

    def should_load_data_to_staging_dataset(self, table_name: str) -> bool:
        """Never: Inrush has its own staging tables."""
        return False

    def _to_table_object(self, schema_table: Any) -> Any:
        """Tables of merge have their primary key, by which rows are updated."""
        configured = self.config.create_primary_keys
        self.config.create_primary_keys = configured or _is_merged(schema_table)
        try:
            return super()._to_table_object(schema_table)
        finally:
            self.config.create_primary_keys = configured

    def _to_column_object(self, schema_column: Any, table: Any) -> Any:
        """Columns that hold all values of the type."""
        column = super()._to_column_object(schema_column, table)
        kind, precision = schema_column.get("data_type"), schema_column.get("precision")
        if kind == "time":
            column.type = mysql.TIME(fsp=_DIGITS if precision is None else precision)
        elif kind == "text" and precision is None:
            is_key = schema_column.get("primary_key") and self.config.create_primary_keys
            is_key = is_key or (schema_column.get("unique") and self.config.create_unique_indexes)
            column.type = mysql.VARCHAR(_KEY_TEXT) if is_key else mysql.LONGTEXT()
        elif kind == "binary" and precision is None:
            column.type = mysql.LONGBLOB()
        return column


class _LoadTables(RunnableLoadJob):
    """Loads all files of a table and its nested tables."""

    def run(self) -> None:
        lines = ReferenceFollowupJobRequest.resolve_references(self._file_path)
        names, files = lines[0].split(","), lines[1:]
        tables = [self._schema.tables[name] for name in names]
        disposition = self._load_table["write_disposition"]
        options = _options(disposition, tables)
        try:
            self._load(names, files, disposition, options)
        except KeysLeftError as error:
            # All rows are in. The next load moves the keys of other tables.
            logger.warning(str(error))
        except (InputError, RowError, UsageError) as error:
            raise DestinationTerminalException(str(error)) from error
        except InrushError as error:
            raise DestinationTransientException(str(error)) from error

    def _load(
        self, names: List[str], files: List[str], disposition: str, options: Dict[str, Any]
    ) -> None:
        client: Any = self._job_client
        database = client.sql_client.dataset_name
        server = Connection.of(client.config.credentials.engine)
        # Names of the URL's database are not meant.
        options["connection"] = replace(server, database=None) if server else None
        options.update(_formats(files, self._schema, names))
        if len(names) == 1:
            load(files, into=f"{database}.{names[0]}", **options)
            return
        # dlt names a file by its table: orders__items.1a2b3c.0.parquet.
        loaded = {os.path.basename(file).split(".")[0] for file in files}
        maps = {f"{name}.*": name for name in names if name in loaded}
        if disposition != "replace" or len(loaded) == len(names):
            load(files, into=database, map=maps, **options)
            return
        missing = [name for name in names if name not in loaded]
        options["set"] = _no_values(self._schema, missing)
        with _empty_files(missing) as empty:
            maps = {f"{name}.*": name for name in names}
            load([*files, *empty], into=database, map=maps, **options)


def _is_merged(table: Any) -> bool:
    return bool(table.get("write_disposition") == "merge")


def _options(disposition: str, tables: Sequence[Any]) -> Dict[str, Any]:
    if disposition == "replace":
        return {"mode": "replace", "allow_empty": True}
    if disposition == "append":
        return {"mode": "append", "allow_empty": True}
    root = tables[0]
    if len(tables) > 1:
        raise DestinationTerminalException(
            f"table {root['name']} has nested tables, whose old rows merge would leave behind: "
            "set max_table_nesting=0 for the resource, which stores nested values as JSON"
        )
    if not any(column.get("primary_key") for column in root["columns"].values()):
        raise DestinationTerminalException(
            f"merge into table {root['name']} needs a primary key: set primary_key for the resource"
        )
    return {"mode": "append", "allow_empty": True, "on_duplicate": "update"}


def _formats(files: Iterable[str], schema: Any, names: Sequence[str]) -> Dict[str, Any]:
    """Formats of values in JSON. Parquet has types."""
    if not any(".jsonl" in os.path.basename(file) for file in files):
        return {}
    formats: Dict[str, str] = {}
    for name in names:
        prefix = "" if len(names) == 1 else f"{name}."
        for column, hints in schema.tables[name]["columns"].items():
            found = _JSON_FORMATS.get(hints.get("data_type", ""))
            if found:
                formats[prefix + column] = found
    return {"format": "jsonl", "format_of": formats}


def _no_values(schema: Any, names: Iterable[str]) -> Dict[str, str]:
    """Values for columns of files without rows: the program wants one for each that is NOT NULL."""
    return {
        f"{name}.{column}": _VALUES.get(hints.get("data_type", ""), "0")
        for name in names
        for column, hints in schema.tables[name]["columns"].items()
        if not hints.get("nullable", True)
    }


class _empty_files:
    """A file without rows for each of the tables, in a folder that goes away."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def __enter__(self) -> List[str]:
        import tempfile

        self._folder = tempfile.TemporaryDirectory(prefix="inrush-")
        files = []
        for name in self._names:
            files.append(os.path.join(self._folder.name, f"{name}.empty.jsonl"))
            with open(files[-1], "w"):
                pass
        return files

    def __exit__(self, *error: object) -> None:
        self._folder.cleanup()


class inrush(sqlalchemy):
    """The destination. Its arguments are those of dlt's ``sqlalchemy``: a URL or an engine."""

    spec = SqlalchemyClientConfiguration

    def _raw_capabilities(self) -> DestinationCapabilitiesContext:
        capabilities = super()._raw_capabilities()
        capabilities.preferred_loader_file_format = "parquet"
        capabilities.supported_loader_file_formats = ["parquet", "jsonl", "reference"]
        capabilities.supported_merge_strategies = ["upsert"]
        capabilities.supported_replace_strategies = ["truncate-and-insert"]
        return capabilities

    @property
    def client_class(self) -> Type[InrushJobClient]:
        """The client of this destination."""
        return InrushJobClient


inrush.register()
