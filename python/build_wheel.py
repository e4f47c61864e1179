#!/usr/bin/env python3
"""Builds the wheel of Inrush: the program, and the Python package around it.

    python3 python/build_wheel.py PROGRAM FOLDER

Only the standard library is needed. The same inputs and SOURCE_DATE_EPOCH give the same bytes. The
wheel's tag says the machine and the glibc that the program needs (2.28 at least). The program goes
into the folder of programs, so `inrush` starts without Python.
"""

import base64
import hashlib
import os
import re
import sys
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent
# Seconds since 1970 of all files, without SOURCE_DATE_EPOCH: the first day that zip can write.
EPOCH = 315_532_800
GLIBC_MIN = 28
MACHINES = {0x3E: "x86_64", 0xB7: "aarch64"}

METADATA = """\
Metadata-Version: 2.1
Name: inrush
Version: {version}
Summary: Bulk loader for InnoDB: files and frames into MariaDB and MySQL
License: Apache-2.0
Keywords: mariadb,mysql,innodb,arrow,parquet,bulk load
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Programming Language :: Rust
Classifier: Topic :: Database
Classifier: Typing :: Typed
Requires-Python: >=3.9
Provides-Extra: arrow
Requires-Dist: pyarrow>=15; extra == "arrow"
Provides-Extra: progress
Requires-Dist: tqdm; extra == "progress"
Provides-Extra: dlt
Requires-Dist: dlt[sqlalchemy]>=1.20; extra == "dlt"
Requires-Dist: pyarrow>=15; extra == "dlt"
Requires-Dist: pymysql; extra == "dlt"
Description-Content-Type: text/markdown

{description}"""


def version():
    """The version of the workspace."""
    text = (ROOT.parent / "Cargo.toml").read_text()
    return re.search(r'^version\s*=\s*"([^"]+)"', text, re.MULTILINE).group(1)


def platform(program):
    """The wheel's platform, from the header and the symbol versions of the program."""
    if program[:4] != b"\x7fELF":
        raise SystemExit("the program is not an ELF file")
    machine = int.from_bytes(program[18:20], "little")
    found = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)\0", program)]
    return f"manylinux_2_{max(GLIBC_MIN, *found, 0)}_{MACHINES[machine]}"


def contents(program):
    """The files of the wheel: name, bytes, and whether the file is executable."""
    name = f"inrush-{version()}"
    tag = f"py3-none-{platform(program)}"
    package = ROOT / "src" / "inrush"
    for path in sorted(package.rglob("*")):
        if path.suffix == ".py" or path.name == "py.typed":
            yield path.relative_to(package.parent).as_posix(), path.read_bytes(), False
    yield f"{name}.data/scripts/inrush", program, True
    info = f"{name}.dist-info"
    description = (ROOT / "README.md").read_text()
    metadata = METADATA.format(version=version(), description=description)
    yield f"{info}/METADATA", metadata.encode(), False
    wheel = f"Wheel-Version: 1.0\nGenerator: inrush\nRoot-Is-Purelib: false\nTag: {tag}\n"
    yield f"{info}/WHEEL", wheel.encode(), False
    yield f"{info}/LICENSE", (ROOT.parent / "LICENSE").read_bytes(), False


def write(program, folder):
    """Writes the wheel; gives its name."""
    name = f"inrush-{version()}"
    program = Path(program).read_bytes()
    wheel = f"{name}-py3-none-{platform(program)}.whl"
    seconds = max(int(os.environ.get("SOURCE_DATE_EPOCH", EPOCH)), EPOCH)
    date = time.gmtime(seconds)[:6]
    record = f"{name}.dist-info/RECORD"
    lines = []
    Path(folder).mkdir(parents=True, exist_ok=True)
    unfinished = Path(folder, f".{wheel}")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:

        def add(path, data, is_program=False):
            entry = zipfile.ZipInfo(path, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            archive.writestr(entry, data)

        for path, data, is_program in contents(program):
            add(path, data, is_program)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{path},sha256={digest},{len(data)}\n")
        add(record, "".join(lines) + f"{record},,\n")
    os.replace(unfinished, Path(folder, wheel))
    return wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """For pip (PEP 517): the program is INRUSH_PROGRAM, or the release build beside."""
    program = os.environ.get("INRUSH_PROGRAM") or ROOT.parent / "target" / "release" / "inrush"
    return write(program, wheel_directory)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    print(Path(sys.argv[2], write(*sys.argv[1:])))
