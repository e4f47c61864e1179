"""The wheel, from a stand-in for the program."""

import base64
import csv
import hashlib
import importlib.util
import io
import pathlib
import stat
import zipfile

import pytest

SCRIPT = pathlib.Path(__file__).parent.parent / "build_wheel.py"


@pytest.fixture
def build():
    spec = importlib.util.spec_from_file_location("build_wheel", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def program(machine, *glibc):
    symbols = b"".join(f"GLIBC_2.{minor}\0".encode() for minor in glibc)
    return b"\x7fELF" + bytes(14) + machine.to_bytes(2, "little") + symbols


def test_the_tag_says_machine_and_glibc(build):
    assert build.platform(program(0x3E, 2, 17, 28)) == "manylinux_2_28_x86_64"
    assert build.platform(program(0x3E, 2)) == "manylinux_2_28_x86_64"
    assert build.platform(program(0xB7, 34)) == "manylinux_2_34_aarch64"
    with pytest.raises(SystemExit):
        build.platform(b"#!/bin/sh\n")


def test_the_driver_is_beside_the_modules(build, tmp_path):
    library = b"\x7fELF" + bytes(12) + b"\x03\0" + (0x3E).to_bytes(2, "little") + b"GLIBC_2.30\0"
    (tmp_path / "inrush").write_bytes(program(0x3E, 17))
    (tmp_path / "driver.so").write_bytes(library)
    wheel = build.write(tmp_path / "inrush", tmp_path, tmp_path / "driver.so")
    assert "manylinux_2_30_x86_64" in wheel
    with zipfile.ZipFile(tmp_path / wheel) as archive:
        assert archive.read(build.DRIVER) == library
    (tmp_path / "driver.so").write_bytes(program(0xB7))
    with pytest.raises(SystemExit):
        build.write(tmp_path / "inrush", tmp_path, tmp_path / "driver.so")


def test_the_record_has_every_file_and_the_bytes_are_the_same_each_time(build, tmp_path):
    path = tmp_path / "inrush"
    path.write_bytes(program(0x3E, 17))
    first = build.write(path, tmp_path / "a")
    assert first == build.write(path, tmp_path / "b")
    wheel = tmp_path / "a" / first
    assert wheel.read_bytes() == (tmp_path / "b" / first).read_bytes()
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        record = next(name for name in names if name.endswith("RECORD"))
        lines = list(csv.reader(io.StringIO(archive.read(record).decode())))
        assert [line[0] for line in lines] == names
        for name, digest, size in lines[:-1]:
            data = archive.read(name)
            want = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert (digest, size) == (f"sha256={want}", str(len(data)))
        script = next(name for name in names if name.endswith(".data/scripts/inrush"))
        mode = archive.getinfo(script).external_attr >> 16
        assert stat.S_IMODE(mode) == 0o755
        assert "inrush/py.typed" in names
