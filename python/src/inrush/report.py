"""Reports of commands."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Optional

#: Columns of the rejected rows, with the names of their Arrow types.
_REJECT_COLUMNS = {
    "file": "string",
    "line": "int64",
    "byte": "int64",
    "field": "int64",
    "column": "string",
    "value": "string",
    "reason": "string",
}


@dataclass(frozen=True)
class Stage:
    """A stage of a load, and the seconds it took."""

    name: str
    seconds: float


@dataclass(frozen=True)
class Report:
    """A load that succeeded. ``raw`` is the program's own report, with all its fields."""

    #: ``database.table``, or the database of several tables.
    target: str
    rows: int
    #: Number of rejected rows.
    rejected: int
    #: Number of skipped or replaced duplicates.
    duplicates: int
    bytes: int
    seconds: float
    rows_per_second: float
    #: Method: ``direct``, ``stream``, ``insert``, ``import`` or ``coordinator``.
    path: Optional[str]
    #: Reason for the method.
    why: str
    server: str
    #: Name of the job, for ``inrush.jobs``.
    job: Optional[str]
    stages: List[Stage]
    notes: List[str]
    warnings: List[str]
    #: File of the rejected rows, or of the rejected lines of a job file.
    rejects_file: Optional[str]
    #: Rejected rows by column and reason, of all tables.
    rejects_by_reason: List[Dict[str, Any]]
    #: One report for each of several tables; empty for one table.
    tables: List["Report"]
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @staticmethod
    def of(raw: Mapping[str, Any]) -> "Report":
        """The report of a load as the program writes it."""
        tables = [Report.of(table) for table in raw.get("tables") or []]
        # Lines of a job file are rejected before they are rows of its tables.
        lines = raw.get("lines") or {}
        reasons = list(raw.get("rejects_by_reason") or lines.get("reasons") or [])
        rows = _number(raw, "rows", tables)
        seconds = float(raw.get("seconds") or sum(table.seconds for table in tables))
        return Report(
            target=raw.get("target") or raw.get("database") or "",
            rows=rows,
            rejected=int(raw["rejects"]) if "rejects" in raw else sum(t.rejected for t in tables),
            duplicates=_number(raw, "duplicates", tables),
            bytes=_number(raw, "bytes", tables),
            seconds=seconds,
            rows_per_second=float(raw.get("rows_per_second") or rows / max(seconds, 1e-9)),
            path=raw.get("path"),
            why=raw.get("why") or "",
            server=raw.get("server") or next((table.server for table in tables), ""),
            job=raw.get("job"),
            stages=[Stage(one["name"], one["seconds"]) for one in raw.get("stages") or []],
            notes=list(raw.get("notes") or []),
            warnings=list(raw.get("warnings") or []),
            rejects_file=raw.get("rejects_file") or lines.get("rejects_file"),
            rejects_by_reason=reasons + [one for table in tables for one in table.rejects_by_reason],
            tables=tables,
            raw=raw,
        )

    @cached_property
    def rejects(self) -> Any:
        """The rejected rows of all tables: a pyarrow table, or a list of dictionaries without pyarrow.

        The first use reads them from the file beside :attr:`rejects_file`.
        """
        files = [one.rejects_file for one in (self, *self.tables) if one.rejected]
        return rejects_table(row for file in files for row in read_reasons(file))

    def __bool__(self) -> bool:
        """True if no row was rejected."""
        return self.rejected == 0


@dataclass(frozen=True)
class Plan:
    """How a load would run. It is true if the load can run."""

    target: str
    #: Method; None if no method can load the table, of several tables, and without a server.
    path: Optional[str]
    why: str
    #: Each method that was refused, with the reason.
    refused: List[Dict[str, str]]
    #: Expected seconds.
    seconds: Optional[float]
    notes: List[str]
    #: False if a table cannot be loaded.
    can_load: bool
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @staticmethod
    def of(raw: Mapping[str, Any], *, can_load: bool) -> "Plan":
        """The plan as the program writes it."""
        estimate = raw.get("estimate")
        seconds = estimate.get("seconds") if isinstance(estimate, Mapping) else None
        return Plan(
            target=raw.get("target") or raw.get("database") or "",
            path=raw.get("path"),
            why=raw.get("why") or "",
            refused=list(raw.get("refused") or []),
            seconds=seconds,
            notes=list(raw.get("notes") or []),
            can_load=can_load,
            raw=raw,
        )

    def __bool__(self) -> bool:
        """True if the load can run."""
        return self.can_load


@dataclass(frozen=True)
class Check:
    """The bad rows of an input. It is true if all rows are good."""

    target: str
    rows: int
    bad_rows: int
    #: Bad rows by column and reason.
    reasons: List[Dict[str, Any]]
    #: Names of rules that the check could not judge.
    not_judged: List[str]
    #: File of the bad rows.
    rejects_file: str = field(repr=False, compare=False)
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @staticmethod
    def of(raw: Mapping[str, Any], rejects_file: str) -> "Check":
        """The result of a check as the program writes it."""
        tables = raw.get("tables") or []
        return Check(
            target=raw.get("target") or raw.get("database") or "",
            rows=int(raw["rows"]) if "rows" in raw else sum(one["rows"] for one in tables),
            bad_rows=int(raw["bad_rows"])
            if "bad_rows" in raw
            else sum(one["bad_rows"] for one in tables),
            reasons=list(raw.get("reasons") or []),
            not_judged=list(raw.get("not_judged") or []),
            rejects_file=rejects_file,
            raw=raw,
        )

    @cached_property
    def rejects(self) -> Any:
        """The bad rows: a pyarrow table, or a list of dictionaries without pyarrow.

        The first use reads them from the file beside :attr:`rejects_file`.
        """
        return rejects_table(read_reasons(self.rejects_file) if self.bad_rows else [])

    def __bool__(self) -> bool:
        """True if all rows are good."""
        return self.bad_rows == 0


@dataclass(frozen=True)
class Verification:
    """A comparison of a table with an input. It is true if the rows are the same."""

    target: str
    rows: int
    table_rows: int
    missing_rows: int
    changed_rows: int
    extra_rows: int
    #: Rows of the input that no table can hold, with bad lines of a job file.
    refused_rows: int
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @staticmethod
    def of(raw: Mapping[str, Any]) -> "Verification":
        """The result of a comparison as the program writes it."""
        tables = raw.get("tables") or [raw]
        names = ("rows", "table_rows", "missing_rows", "changed_rows", "extra_rows")
        sums = {
            name: sum(int(one.get(name) or 0) for one in tables)
            for name in (*names, "refused_rows")
        }
        sums["refused_rows"] += int(raw.get("bad_lines") or 0)
        target = raw.get("target") or raw.get("database") or ""
        return Verification(target=target, raw=raw, **sums)

    def __bool__(self) -> bool:
        """True if the rows are the same."""
        different = self.missing_rows + self.changed_rows + self.extra_rows + self.refused_rows
        return different == 0


@dataclass(frozen=True)
class Export:
    """An export that succeeded."""

    table: str
    rows: int
    bytes: int
    seconds: float
    files: List[str]
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @staticmethod
    def of(raw: Mapping[str, Any]) -> "Export":
        """The report of an export as the program writes it; that of a database is the sum of its tables."""
        tables = raw.get("tables")
        each = [raw] if tables is None else list(tables)
        return Export(
            table=raw.get("table") or raw.get("database") or "",
            rows=sum(int(one.get("rows") or 0) for one in each),
            bytes=sum(int(one.get("bytes") or 0) for one in each),
            seconds=sum(float(one.get("seconds") or 0.0) for one in each),
            files=[file for one in each for file in one.get("files") or []],
            raw=raw,
        )


def read_reasons(rejects: Optional[str]) -> List[Dict[str, Any]]:
    """The reasons beside a file of rejected rows, or beside those of a folder."""
    if rejects is None:
        return []
    path = Path(rejects)
    files = [Path(f"{rejects}.reasons.jsonl")]
    if path.is_dir():
        files = sorted(path.glob("*.reasons.jsonl"))
    elif path.exists() and not path.is_file():
        # A device has no reasons beside it.
        return []
    out: List[Dict[str, Any]] = []
    for file in files:
        with open(file, encoding="utf-8", errors="replace") as lines:
            out.extend(json.loads(line) for line in lines if line.strip())
    return out


def rejects_table(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Rejected rows as a pyarrow table, or as dictionaries without pyarrow."""
    found = [{name: row.get(name) for name in _REJECT_COLUMNS} for row in rows]
    try:
        import pyarrow as pa
    except ImportError:
        return found
    schema = pa.schema([(name, getattr(pa, kind)()) for name, kind in _REJECT_COLUMNS.items()])
    return pa.Table.from_pylist(found, schema=schema)


def _number(raw: Mapping[str, Any], name: str, tables: List[Report]) -> int:
    if raw.get(name) is not None:
        return int(raw[name])
    return sum(getattr(table, name) for table in tables)
