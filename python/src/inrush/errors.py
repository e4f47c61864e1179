"""Errors, with the fields that the program reports."""

from __future__ import annotations

import json
import signal
from typing import Any, Dict, Mapping, Optional, Type

__all__ = [
    "ConnectError",
    "DuplicateKeyError",
    "InputError",
    "InrushError",
    "InrushWarning",
    "KeysLeftError",
    "LoadError",
    "RowError",
    "StoppedError",
    "UnfitError",
    "UsageError",
]


class InrushWarning(UserWarning):
    """A warning of the program about a load or a replay that succeeded."""


class InrushError(Exception):
    """A command of the program failed. The fields that do not apply are None."""

    #: A sentence: the problem, and what to do.
    message: str
    #: A word for the kind of the error, such as ``rows``, ``duplicate``, ``connect``.
    kind: str
    #: Exit status of the program; negative for a signal that ended it.
    status: int
    #: The table, as ``database.table``.
    table: Optional[str]
    #: The file; ``/dev/stdin`` is the data that Python sent.
    file: Optional[str]
    #: Line of the file, or number of the row in Parquet and Arrow, from 1.
    line: Optional[int]
    #: Byte of the file, from 0.
    byte: Optional[int]
    #: Field of the line, from 1.
    field: Optional[int]
    #: Column that the field goes to.
    column: Optional[str]
    #: The value, cut.
    value: Optional[str]
    #: The reason against the value.
    reason: Optional[str]
    #: Everything that the program wrote to its standard error.
    stderr: str

    def __init__(
        self,
        message: str,
        *,
        status: int = 1,
        stderr: str = "",
        fields: Optional[Mapping[str, Any]] = None,
    ) -> None:
        super().__init__(message)
        known = fields or {}
        self.message = message
        self.status = status
        self.stderr = stderr
        self.kind = known.get("kind") or ("usage" if status == 2 else "failed")
        self.table = known.get("table")
        self.file = known.get("file")
        self.line = known.get("line")
        self.byte = known.get("byte")
        self.field = known.get("field")
        self.column = known.get("column")
        self.value = known.get("value")
        self.reason = known.get("reason")

    def to_dict(self) -> Dict[str, Any]:
        """All fields but the standard error.

        >>> InrushError("no server", status=2).to_dict()["kind"]
        'usage'
        """
        names = ("message", "kind", "status", "table", "file", "line", "byte", "field", "column")
        return {name: getattr(self, name) for name in (*names, "value", "reason")}

    def __reduce__(self) -> Any:
        # Workers of Airflow and of process pools send exceptions to their parents.
        return _restored, (type(self), json.dumps(self.to_dict()), self.stderr)


class LoadError(InrushError):
    """The load failed; the table is unchanged, unless the message says otherwise (status 1)."""


class UsageError(InrushError, ValueError):
    """Options, table or server do not fit; nothing was started (status 2)."""


class UnfitError(UsageError):
    """The table is missing, is not empty, or cannot be loaded (status 2)."""


class RowError(LoadError, ValueError):
    """A row was rejected, and ``rejects_max`` allows no more."""


class DuplicateKeyError(RowError):
    """Two rows have the same key; ``on_duplicate`` chooses one."""


class InputError(LoadError):
    """The input is damaged, or changed while it was read."""


class ConnectError(LoadError, ConnectionError):
    """The server was not reached, or refused the account."""


class StoppedError(LoadError):
    """A signal ended the load."""


class KeysLeftError(InrushError):
    """All rows are in, but foreign keys of other tables refer to the old table (status 4).

    Do not load the rows again. The next load of the server finishes the work, or
    :func:`inrush.resume` with the job of :attr:`report`.
    """

    #: The report of the load.
    report: Any = None


_KINDS: Dict[str, Type[InrushError]] = {
    "connect": ConnectError,
    "duplicate": DuplicateKeyError,
    "empty": InputError,
    "foreign-key": RowError,
    "input": InputError,
    "rows": RowError,
    "space": UsageError,
    "stopped": StoppedError,
    "unfit": UnfitError,
    "usage": UsageError,
}


def of_failure(
    fields: Mapping[str, Any], status: int, stderr: str, table: Optional[str] = None
) -> InrushError:
    """The exception of a failed command, from its JSON, its status and its messages.

    >>> str(of_failure({}, -9, "note: first\\nnote: last\\n")).split("; ")[1]
    'its last line: note: last'
    """
    message = fields.get("error") or _last_message(stderr) or f"inrush ended with status {status}"
    if status < 0:
        message = f"inrush was ended by signal {-status}"
        message += " (the system does so if memory is exhausted)" if status == -signal.SIGKILL else ""
        message += f"; its last line: {_last_line(stderr)}" if stderr.strip() else ""
    kind = fields.get("kind") or ("usage" if status == 2 else "")
    by_status = {2: UsageError, 4: KeysLeftError}.get(status, LoadError)
    cause = by_status if status == 4 else _KINDS.get(kind, by_status)
    error = cause(str(message), status=status, stderr=stderr, fields=fields)
    if error.table is None:
        error.table = table
    return error


def _last_message(stderr: str) -> str:
    """The last message that begins with the program's name, without the name."""
    lines = [line for line in stderr.splitlines() if line.startswith("inrush: ")]
    lines = [line for line in lines if not line.startswith("inrush: warning: ")] or lines
    return lines[-1][len("inrush: ") :] if lines else stderr.strip()


def _last_line(stderr: str) -> str:
    return stderr.strip().splitlines()[-1]


def _restored(cause: Type[InrushError], text: str, stderr: str) -> InrushError:
    fields = json.loads(text)
    return cause(fields["message"], status=fields["status"], stderr=stderr, fields=fields)
