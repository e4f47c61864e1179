"""The private server of Inrush, for trials and tests."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from typing import Any, Dict, Iterator, Optional, Union

from .errors import InrushError
from .program import base_environment, find_program


@dataclass(frozen=True)
class Sandbox:
    """A private MariaDB that runs. Every ``connection=`` of the package takes it."""

    #: Its folder.
    dir: str
    #: Its Unix socket.
    socket: str

    def sql(self, statements: str) -> str:
        """Runs SQL as the mariadb client does; gives the client's output."""
        return _run("sql", self.dir, "--", statements)

    @property
    def arguments(self) -> Dict[str, Any]:
        """Arguments of ``pymysql.connect``."""
        return {"unix_socket": self.socket, "user": "root"}

    def url(self, driver: str = "pymysql", database: str = "") -> str:
        """URL for ``sqlalchemy.create_engine``.

        >>> Sandbox("/tmp/sb", "/tmp/sb/server.sock").url(database="shop")
        'mysql+pymysql://root@localhost/shop?unix_socket=/tmp/sb/server.sock'
        """
        return f"mysql+{driver}://root@localhost/{database}?unix_socket={self.socket}"


@contextlib.contextmanager
def sandbox(dir: Union[None, str, "os.PathLike[str]"] = None) -> Iterator[Sandbox]:
    """Starts a private MariaDB for a ``with`` block, from the installed ``mariadbd``.

    Without ``dir`` its data is in a temporary folder and goes with it. A server in ``dir`` is
    created once and keeps its data. If the block started it, it stops with its last user: this
    block, another block, or a command that runs then.
    """
    temporary: Optional[str] = None
    if dir is None:
        # A socket's path has at most 107 bytes.
        temporary = tempfile.mkdtemp(prefix="inrush-")
    folder = os.path.abspath(os.path.join(temporary, "server") if temporary else os.fspath(dir))  # type: ignore[arg-type]
    try:
        with _running(folder) as socket:
            yield Sandbox(folder, socket)
    finally:
        if temporary:
            with contextlib.suppress(InrushError):
                _run("stop", folder)
            shutil.rmtree(temporary, ignore_errors=True)


@contextlib.contextmanager
def _running(folder: str) -> Iterator[str]:
    """The socket of a sandbox, which the program uses meanwhile in a process of its own.

    Ctrl-C does not reach that process. It leaves the sandbox also when Python is killed.
    """
    process = subprocess.Popen(
        [find_program(), "sandbox", "run", "--sandbox", folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=base_environment(),
        start_new_session=True,
    )
    with process:
        assert process.stdin and process.stdout and process.stderr
        out = b""
        for line in process.stdout:
            out += line
            if line.startswith(b"status "):
                break
        else:
            _check("run", process.wait(), process.stderr.read())
        try:
            yield _field(out.decode(errors="replace"), "socket")
        finally:
            # A forked process may hold the pipe open.
            with contextlib.suppress(OSError):
                process.stdin.write(b"\n")
                process.stdin.close()


def socket_of(folder: str) -> str:
    """The Unix socket of the sandbox in a folder."""
    return _field(_run("path", folder), "socket")


def _field(text: str, name: str) -> str:
    for line in text.splitlines():
        if line.startswith(name + " "):
            return line[len(name) :].strip()
    return ""


def _run(action: str, folder: str, *arguments: str) -> str:
    done = subprocess.run(
        [find_program(), "sandbox", action, "--sandbox", folder, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=base_environment(),
        check=False,
    )
    _check(action, done.returncode, done.stderr)
    return done.stdout.decode(errors="replace")


def _check(action: str, status: int, stderr: bytes) -> None:
    if status == 0:
        return
    text = stderr.decode(errors="replace")
    lines = [line for line in text.splitlines() if line.strip()]
    message = (lines[-1] if lines else f"inrush sandbox {action} failed").strip()
    prefix = "inrush: "
    message = message[len(prefix) :] if message.startswith(prefix) else message
    raise InrushError(message, status=status, stderr=text)
