#!/usr/bin/env python3
"""Builds the wheel of Inrush: the program, the driver for ADBC, and the Python package around them.

    python3 python/build_wheel.py PROGRAM FOLDER [DRIVER]

Without DRIVER, the library of crates/adbc, the wheel has no driver. Only the standard library is
needed. The same inputs and SOURCE_DATE_EPOCH give the same bytes. The wheel's tag says the machine and
the glibc that both need (2.28 at least). The program goes into the folder of programs, so `inrush`
starts without Python.
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
#: Beside the modules of the package, which looks for it there.
DRIVER = "inrush/libadbc_driver_inrush.so"
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
Provides-Extra: adbc
Requires-Dist: adbc-driver-manager>=1.0; extra == "adbc"
Requires-Dist: pyarrow>=15; extra == "adbc"
Description-Content-Type: text/markdown

{description}"""


def version():
    """The version of the workspace."""
    text = (ROOT.parent / "Cargo.toml").read_text()
    return re.search(r'^version\s*=\s*"([^"]+)"', text, re.MULTILINE).group(1)


def platform(program, driver=b""):
    """The wheel's platform, from the header and the symbol versions of the program and the driver."""
    if program[:4] != b"\x7fELF":
        raise SystemExit("the program is not an ELF file")
    machine = int.from_bytes(program[18:20], "little")
    # Type 3 is that of libraries.
    if driver and (driver[:4], driver[16:20]) != (b"\x7fELF", b"\x03\0" + program[18:20]):
        raise SystemExit("the driver is not a library for the machine of the program")
    found = [int(minor) for both in (program, driver) for minor in re.findall(rb"GLIBC_2\.(\d+)\0", both)]
    return f"manylinux_2_{max(GLIBC_MIN, *found, 0)}_{MACHINES[machine]}"


def contents(program, driver):
    """The files of the wheel: name, bytes, and whether the file is executable."""
    name = f"inrush-{version()}"
    tag = f"py3-none-{platform(program, driver)}"
    package = ROOT / "src" / "inrush"
    for path in sorted(package.rglob("*")):
        if path.suffix == ".py" or path.name == "py.typed":
            yield path.relative_to(package.parent).as_posix(), path.read_bytes(), False
    if driver:
        yield DRIVER, driver, True
    yield f"{name}.data/scripts/inrush", program, True
    info = f"{name}.dist-info"
    description = (ROOT / "README.md").read_text()
    metadata = METADATA.format(version=version(), description=description)
    yield f"{info}/METADATA", metadata.encode(), False
    wheel = f"Wheel-Version: 1.0\nGenerator: inrush\nRoot-Is-Purelib: false\nTag: {tag}\n"
    yield f"{info}/WHEEL", wheel.encode(), False
    yield f"{info}/LICENSE", (ROOT.parent / "LICENSE").read_bytes(), False


def write(program, folder, driver=None):
    """Writes the wheel; gives its name."""
    name = f"inrush-{version()}"
    program = Path(program).read_bytes()
    driver = Path(driver).read_bytes() if driver else b""
    wheel = f"{name}-py3-none-{platform(program, driver)}.whl"
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

        for path, data, is_program in contents(program, driver):
            add(path, data, is_program)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{path},sha256={digest},{len(data)}\n")
        add(record, "".join(lines) + f"{record},,\n")
    os.replace(unfinished, Path(folder, wheel))
    return wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """For pip (PEP 517): the program is INRUSH_PROGRAM, or the release build beside. The driver is ADBC_DRIVER_INRUSH,
    or the one beside the program, if there is one."""
    program = Path(os.environ.get("INRUSH_PROGRAM") or ROOT.parent / "target" / "release" / "inrush")
    driver = Path(os.environ.get("ADBC_DRIVER_INRUSH") or program.with_name(Path(DRIVER).name))
    return write(program, wheel_directory, driver if driver.is_file() else None)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    print(Path(sys.argv[2], write(*sys.argv[1:])))
