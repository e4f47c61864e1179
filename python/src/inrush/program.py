"""The program: its place, and options as its arguments."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Sequence

#: Options whose values are one list, separated by commas.
_LISTS = frozenset({"columns", "tables", "exclude"})


def find_program() -> str:
    """Path of the program.

    The variable INRUSH_PROGRAM names it; else it is the program of this package, or one on PATH.
    """
    named = os.environ.get("INRUSH_PROGRAM")
    if named:
        return named
    for folder in _folders():
        path = folder / "inrush"
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    found = shutil.which("inrush")
    if found:
        return found
    raise FileNotFoundError(
        "the program inrush was not found beside this Python or on PATH; "
        "pip install --force-reinstall inrush installs it, and INRUSH_PROGRAM names another one"
    )


def _folders() -> Iterator[Path]:
    """Folders into which pip installs programs."""
    yield Path(sysconfig.get_path("scripts"))
    package = Path(__file__).resolve().parent
    # pip install --prefix and --user: lib/python3.x/site-packages beside bin.
    if len(package.parents) > 3:
        yield package.parents[3] / "bin"
    # pip install --target.
    yield package.parent / "bin"
    yield Path(sys.executable).parent


def base_environment() -> Dict[str, str]:
    """The environment of Python. Messages name options as keywords of a call."""
    environment = {name: value for name, value in os.environ.items() if name != "INRUSH_PROGRAM"}
    environment["INRUSH_FACE"] = "keyword"
    return environment


def version() -> str:
    """Version of the program, such as ``0.1.0``."""
    arguments = [find_program(), "--version"]
    out = subprocess.run(arguments, stdout=subprocess.PIPE, env=base_environment(), check=True)
    return out.stdout.decode().split()[-1]


@functools.lru_cache(maxsize=None)
def knows(program: str, command: str, option: str) -> bool:
    """True if a command of the program has an option."""
    arguments = [program, command, "--help-all"]
    out = subprocess.run(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=base_environment(),
        check=False,
    )
    return f"--{option}" in out.stdout.decode(errors="replace")


def arguments(options: Mapping[str, Any]) -> List[str]:
    """Options as arguments of the program. None and False leave an option out.

    >>> arguments({"rejects_max": 10, "header": True, "trim": False, "mode": None})
    ['--rejects-max=10', '--header']
    >>> arguments({"columns": ["id", "name"], "null_token": ["NA", ""]})
    ['--columns=id,name', '--null-token=NA', '--null-token=']
    >>> arguments({"types": {"id": "BIGINT", "name": "TEXT"}})
    ['--types=id=BIGINT', '--types=name=TEXT']
    """
    out: List[str] = []
    for name, value in options.items():
        option = "--" + name.strip("_").replace("_", "-")
        if option in ("--password", "-p"):
            raise TypeError("a password belongs to connection=, not to the options")
        if value is None or value is False:
            continue
        if value is True:
            out.append(option)
        elif isinstance(value, Mapping):
            out.extend(f"{option}={key}={_text(one)}" for key, one in value.items())
        elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
            values = [_text(one) for one in value]
            if name in _LISTS:
                out.append(f"{option}={','.join(values)}")
            else:
                out.extend(f"{option}={one}" for one in values)
        else:
            out.append(f"{option}={_text(value)}")
    return out


def _text(value: Any) -> str:
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    raise TypeError(f"an option has a value of type {type(value).__name__}")
