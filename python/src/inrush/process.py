"""One run of the program, in a process of its own."""

from __future__ import annotations

import fcntl
import json
import signal
import subprocess
import threading
from dataclasses import dataclass
from typing import IO, Any, BinaryIO, Callable, Dict, List, Mapping, Optional, Sequence

from .connection import Connection, environment
from .errors import InrushError, of_failure
from .frames import Feed
from .program import find_program

#: Linux: sets the size of a pipe. Python has the name from 3.10 on.
_SET_PIPE_SIZE = 1031
_PIPE_BYTES = 1 << 20
#: What is written or read at once through a buffer. Columns of a batch are larger, and go to the pipe without a copy.
_BUFFER_BYTES = 64 << 10
#: Seconds for a program that was told to end at once.
_END_SECONDS = 10.0
#: Seconds for a program that was told to stop, while its input stays open.
_STOP_SECONDS = 0.5

Consume = Callable[[BinaryIO], Any]


@dataclass
class Output:
    """The results of a run."""

    status: int
    #: The objects of JSON on standard output.
    objects: List[Dict[str, Any]]
    stdout: str
    stderr: str
    #: The value that ``consume`` gave.
    consumed: Any = None

    def failure(self, table: Optional[str] = None) -> Optional[InrushError]:
        """The error that the program reports, if it failed. The list of jobs also has errors of others."""
        if self.status == 0:
            return None
        told = next((one for one in self.objects if "error" in one), None)
        if told is not None:
            return of_failure(told, self.status, self.stderr, table)
        if self.status in (0, 3) or (self.objects and self.status == 2):
            return None
        return of_failure({}, self.status, self.stderr, table)


def run(
    arguments: Sequence[str],
    connection: Optional[Connection] = None,
    *,
    feed: Optional[Feed] = None,
    consume: Optional[Consume] = None,
    on_message: Optional[Callable[[str], bool]] = None,
    variables: Optional[Mapping[str, str]] = None,
) -> Output:
    """Runs the program until its end.

    ``feed`` is its standard input, ``consume`` reads its standard output. An exception of theirs,
    also KeyboardInterrupt, stops the program before it is raised. ``on_message`` gets each line of
    its standard error and is true for lines that are not kept; it raises nothing. ``variables`` are
    added to its environment.
    """
    process = subprocess.Popen(
        [find_program(), *arguments],
        stdin=subprocess.DEVNULL if feed is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**environment(connection), **(variables or {})},
        # Ctrl-C of the terminal comes to Python alone, which passes it on once.
        start_new_session=True,
        bufsize=_BUFFER_BYTES,
    )
    messages, listener = _listen(process.stderr, on_message)
    text: List[bytes] = []
    consumed = None
    try:
        reader = None if consume is not None else _collect(process.stdout, text)
        if feed is not None and process.stdin is not None:
            _feed(process.stdin, feed)
        if consume is not None and process.stdout is not None:
            consumed = consume(process.stdout)  # type: ignore[arg-type]
        process.wait()
        if reader is not None:
            reader.join()
    except BaseException as error:
        _stop(process)
        listener.join()
        _add_note(error, "".join(messages))
        raise
    finally:
        listener.join()
        _close(process)
    stdout = b"".join(text).decode(errors="replace")
    stderr = "".join(messages)
    return Output(process.returncode, _objects(stdout), stdout, stderr, consumed)


def _add_note(error: BaseException, stderr: str) -> None:
    """The program's last words, which say what is in the table (from Python 3.11 on)."""
    if stderr.strip() and hasattr(error, "add_note"):
        error.add_note(stderr.strip().splitlines()[-1])


def _feed(sink: IO[bytes], feed: Feed) -> None:
    try:
        fcntl.fcntl(sink, _SET_PIPE_SIZE, _PIPE_BYTES)
    except OSError:
        pass
    try:
        feed(sink)  # type: ignore[arg-type]
        sink.close()
    except BrokenPipeError:
        # The program has ended, and says why.
        pass


def _listen(
    source: Optional[IO[bytes]], on_message: Optional[Callable[[str], bool]]
) -> "tuple[List[str], threading.Thread]":
    messages: List[str] = []

    def listen() -> None:
        assert source is not None
        for line in source:
            text = line.decode(errors="replace")
            if on_message is None or not on_message(text):
                messages.append(text)

    thread = threading.Thread(target=listen, name="inrush messages", daemon=True)
    thread.start()
    return messages, thread


def _collect(source: Optional[IO[bytes]], text: List[bytes]) -> threading.Thread:
    def collect() -> None:
        assert source is not None
        text.append(source.read())

    thread = threading.Thread(target=collect, name="inrush output", daemon=True)
    thread.start()
    return thread


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Has the program stop and clean up. Another exception meanwhile has it end at once."""
    if process.stdout is not None:
        _drain(process.stdout)
    process.send_signal(signal.SIGINT)
    try:
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            # The program waits for input. It takes no input without an end marker for a complete one.
            _cut(process.stdin)
            process.wait()
    except BaseException:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _cut(sink: Optional[IO[bytes]]) -> None:
    """Closes a pipe without the bytes that were not written yet."""
    raw = getattr(sink, "raw", None)
    if raw is not None:
        raw.close()


def _drain(source: IO[bytes]) -> None:
    """Reads and forgets, so that a full pipe does not hold up the program's end."""

    def drain() -> None:
        try:
            while source.read(1 << 16):
                pass
        except (OSError, ValueError):
            pass

    threading.Thread(target=drain, name="inrush output", daemon=True).start()


def _close(process: "subprocess.Popen[bytes]") -> None:
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is None:
            continue
        try:
            stream.close()
        except (OSError, ValueError):
            pass


def _objects(text: str) -> List[Dict[str, Any]]:
    """The objects of JSON in a text, one behind the other.

    >>> _objects('{"a": 1} {"b": 2} and words')
    [{'a': 1}, {'b': 2}]
    """
    out: List[Dict[str, Any]] = []
    decoder, at = json.JSONDecoder(), 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            return out
        out.extend(value if isinstance(value, list) else [value])
