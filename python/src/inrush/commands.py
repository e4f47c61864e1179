"""The commands of the program as functions."""

from __future__ import annotations

import contextlib
import os
import tempfile
import warnings
import weakref
from typing import Any, BinaryIO, Dict, List, Mapping, Optional, Sequence, Union

from . import frames
from .connection import Connection
from .errors import InrushError, InrushWarning, KeysLeftError
from .process import Output, run
from .program import arguments
from .progress import Progress
from .report import Check, Export, Plan, Report, Verification

#: Names of the program's standard output.
_STDOUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")

_Path = Union[str, "os.PathLike[str]"]


def load(
    data: Any,
    into: str,
    *,
    connection: Any = None,
    mode: Optional[str] = None,
    create: bool = False,
    rejects_max: Union[None, int, str] = None,
    on_duplicate: Optional[str] = None,
    progress: Optional[bool] = None,
    **options: Any,
) -> Report:
    """Loads data into a table: all rows or none.

    ``data`` is a path, a pattern of names, a URL, a list of them, or rows: anything with
    ``__arrow_c_stream__`` (pyarrow, polars, pandas, DuckDB), a DataFrame of pandas, a list of
    dictionaries, an iterator of record batches or frames. An exception in the iterator stops the
    load; nothing is loaded then.

    ``into`` is ``database.table``, or a table of the connection's database. ``mode`` is ``insert``
    (the default: the table is empty), ``append`` or ``replace``. ``create`` creates a missing
    table. ``rejects_max`` (10, or ``"1%"``) tolerates bad rows. ``on_duplicate`` is ``fail``,
    ``skip``, ``replace`` or ``update``. ``options`` are all other options of ``inrush load``:
    ``null_token="NA"`` is ``--null-token NA``, ``header=True`` is ``--header``.

    ``progress`` draws a bar: always, never, or (None) if tqdm is there and somebody sees it.
    """
    if options.get("dry_run"):
        raise TypeError("dry_run loads nothing: inrush.check(data, into=..) gives the bad rows")
    known = dict(mode=mode, create=create, rejects_max=rejects_max, on_duplicate=on_duplicate)
    output = _with_input("load", data, into, connection, {**known, **options}, progress)
    if output.status == 4:
        _keys_left(output, into)
    raw = _object(output, into)
    _warn(raw)
    return Report.of(raw)


def plan(data: Any, into: str, *, connection: Any = None, **options: Any) -> Plan:
    """The method, time and room that a load would take. Nothing is changed."""
    output = _with_input("plan", data, into, connection, options)
    return Plan.of(_object(output, into), can_load=output.status == 0)


def check(data: Any, into: str, *, connection: Any = None, **options: Any) -> Check:
    """All bad rows of data. Nothing is loaded.

    The bad rows stay in the file ``rejects``, or in a temporary one as long as the result is in use.
    """
    with contextlib.ExitStack() as stack:
        if options.get("rejects") is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="inrush-"))
            options["rejects"] = os.path.join(folder, "rejects")
        raw = _object(_with_input("check", data, into, connection, options), into)
        found = Check.of(raw, os.fspath(options["rejects"]))
        weakref.finalize(found, stack.pop_all().close)
    return found


def verify(data: Any, into: str, *, connection: Any = None, **options: Any) -> Verification:
    """Compares a table with data. Nothing is changed."""
    return Verification.of(_object(_with_input("verify", data, into, connection, options), into))


def export(table: str, output: _Path, *, connection: Any = None, **options: Any) -> Export:
    """Writes a table or view to a file or folder; the ending of the file says the format."""
    server = Connection.of(connection)
    known = {"output": output, **options}
    target = _target(table, server)
    done = run(["export", "--json", *_arguments(server, known), "--", target], server)
    return Export.of(_object(done, target))


def read(table: str, *, connection: Any = None, **options: Any) -> Any:
    """The rows of a table or view as a ``pyarrow.Table``.

    ``columns=["id"]`` selects columns, ``where="id > 10"`` rows. ``polars.from_arrow`` and
    ``to_pandas`` make frames of the table.
    """
    try:
        import pyarrow as pa
    except ImportError:
        raise ImportError("inrush.read needs pyarrow (pip install 'inrush[arrow]')") from None
    server = Connection.of(connection)
    known = {"output": "-", "format": "arrow", "quiet": True, **options}
    target = _target(table, server)

    def consume(source: BinaryIO) -> Any:
        try:
            with pa.ipc.open_stream(source) as reader:
                return reader.read_all()
        except (pa.ArrowInvalid, OSError) as error:
            # The program says more about its own end.
            while source.read(1 << 20):
                pass
            return error

    done = run(["export", *_arguments(server, known), "--", target], server, consume=consume)
    failure = done.failure(target)
    if failure is not None:
        raise failure
    if isinstance(done.consumed, Exception):
        raise done.consumed
    return done.consumed


def replay(
    dump: _Path, into: Optional[str] = None, *, connection: Any = None, **options: Any
) -> Dict[str, Any]:
    """Loads a SQL dump, a file or a folder; gives the program's report.

    A dump that was cut, and statements that failed with ``force=True``, are an
    :class:`InrushWarning`: rows of the dump may be missing. ``partial=True`` accepts a cut dump.
    """
    server = Connection.of(connection)
    known = {"into": into, **options}
    done = run(["replay", "--json", *_arguments(server, known), "--", os.fspath(dump)], server)
    raw = _object(done, into)
    _warn(raw)
    return raw


def sniff(data: Union[_Path, Sequence[_Path]], **options: Any) -> Dict[str, Any]:
    """The format of files, a CREATE TABLE, and a command that loads them."""
    files = frames.paths(frames.collected(data)) or []
    return _object(run(["sniff", "--json", *arguments(options), "--", *files]))


def jobs(**options: Any) -> List[Dict[str, Any]]:
    """The loads of this user, the newest last."""
    done = run(["jobs", "--json", *arguments(options)])
    failure = done.failure()
    if failure is not None:
        raise failure
    return done.objects


def resume(job: str, *, connection: Any = None, **options: Any) -> Optional[Report]:
    """Continues a load of files that failed or was killed; a report if the load ran again.

    ``connection`` gives the password alone: the job has the server and the account.
    """
    server = Connection.of(connection)
    # The job's command may have been typed without --json.
    variables = {"INRUSH_JSON": "1"}
    done = run(["resume", *arguments(options), "--", job], server, variables=variables)
    failure = done.failure()
    if failure is not None:
        raise failure
    reports = [one for one in done.objects if "rows" in one]
    if not reports:
        return None
    _warn(reports[-1])
    return Report.of(reports[-1])


def call(command: str, *words: str, connection: Any = None, **options: Any) -> Any:
    """Any command of the program that has ``--json``: ``inrush.call("doctor", connection=url)``."""
    server = Connection.of(connection)
    done = run([command, "--json", *_arguments(server, options), *words], server)
    failure = done.failure()
    if failure is not None:
        raise failure
    for raw in done.objects if command in ("load", "replay") else ():
        _warn(raw)
    return done.objects[0] if len(done.objects) == 1 else done.objects


def _with_input(
    command: str,
    data: Any,
    into: str,
    connection: Any,
    options: Dict[str, Any],
    progress: Optional[bool] = False,
) -> Output:
    for name in ("rejects", "duplicates"):
        if str(options.get(name)) in _STDOUT:
            raise ValueError(f"{name} is the standard output, which has the report: name a file")
    server = Connection.of(connection)
    data = frames.collected(data)
    files = frames.paths(data)
    feed = None
    if files is None:
        feed = frames.feed(data)
        options = {"format": "arrow", **options}
    bar = Progress.of(progress, command, frames.length(data))
    typed = [command, "--json", f"--into={_target(into, server)}", *_arguments(server, options)]
    typed += bar.arguments() if bar else []
    try:
        return run(
            [*typed, "--", *(["-"] if files is None else files)],
            server,
            feed=feed,
            on_message=bar.take if bar else None,
        )
    finally:
        if bar:
            bar.close()


def _arguments(server: Optional[Connection], options: Dict[str, Any]) -> List[str]:
    return [*(server.arguments() if server else []), *arguments(options)]


def _target(name: str, server: Optional[Connection]) -> str:
    """``orders`` is a table of the connection's database, if the connection has one."""
    if server is None or server.database is None or "." in name or name == server.database:
        return name
    return f"{server.database}.{name}"


def _object(output: Output, into: Optional[str] = None) -> Dict[str, Any]:
    """The report; raises the error of a command that failed."""
    failure = output.failure(into if into and "." in into else None)
    if failure is not None:
        raise failure
    if not output.objects:
        message = f"inrush succeeded (status {output.status}), but gave no report"
        raise InrushError(message, status=output.status, stderr=output.stderr)
    return output.objects[0]


def _warn(raw: Mapping[str, Any]) -> None:
    """Warns of all that a report warns of, and of statements that a replay passed over."""
    reports = [raw, *(raw.get("tables") or [])]
    texts = [text for report in reports for text in report.get("warnings") or []]
    failed = raw.get("failed") or []
    if failed:
        first = "{file}, line {line}: {error}".format_map(failed[0])
        count = len(failed) + (raw.get("failed_more") or 0)
        number = "1 statement" if count == 1 else f"{count} statements"
        texts.append(f"{number} of the dump failed, the first in {first}")
    for text in texts:
        warnings.warn(str(text), InrushWarning, stacklevel=3)


def _keys_left(output: Output, into: str) -> None:
    failure = output.failure(into)
    if isinstance(failure, KeysLeftError):
        failure.report = Report.of(output.objects[0]) if output.objects else None
        raise failure
