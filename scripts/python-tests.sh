#!/bin/sh
# Tests of the Python package: builds the wheel of a program, installs it into a clean virtual environment for
# each Python that is here, and runs pytest there. mypy runs on 3.11.
#
#   scripts/python-tests.sh PROGRAM
#
# The driver for ADBC is the one beside the program (cargo build --locked -p inrush-adbc).
# Pythons and packages that cannot be had are named and left out.
set -eu
program=$(realpath "$1")
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")

# A Python of this version: by its name, or by pyenv's.
find_python() {
    for python in "$(command -v "python$1" || true)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python; do
        if "$python" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null; then
            echo "$python"
            return
        fi
    done
}

tested=0
wheel=
for version in 3.9 3.11 3.13; do
    python=$(find_python "$version")
    if [ -z "$python" ]; then
        echo "skipped, for Python $version is not installed: tests of the Python package on it"
        continue
    fi
    venv=$target/python-$version
    "$python" -m venv "$venv" || { echo "skipped, for python3-venv is not installed: Python $version"; continue; }
    if [ -z "$wheel" ]; then
        # Debug symbols would take minutes to compress.
        rm -rf "$target/wheels" && mkdir -p "$target/wheels"
        strip -o "$target/wheels/inrush" "$program" 2>/dev/null || cp "$program" "$target/wheels/inrush"
        driver=$(dirname "$program")/libadbc_driver_inrush.so
        if [ -e "$driver" ]; then
            strip -o "$target/wheels/driver.so" "$driver" 2>/dev/null || cp "$driver" "$target/wheels/driver.so"
            driver=$target/wheels/driver.so
        else
            echo "skipped, for there is no $driver: tests of the driver for ADBC"
            driver=
        fi
        wheel=$("$python" python/build_wheel.py "$target/wheels/inrush" "$target/wheels" ${driver:+"$driver"})
    fi
    "$venv/bin/pip" install -q --no-deps --force-reinstall "$wheel"
    "$venv/bin/pip" check
    packages='pyarrow polars pandas duckdb sqlalchemy pymysql tqdm pytest adbc-driver-manager'
    # On the others it is tested that dlt, nanoarrow and mypy may be missing.
    case $version in
        3.11) packages="$packages dlt[sqlalchemy] nanoarrow mypy" ;;
    esac
    # shellcheck disable=SC2086
    if ! "$venv/bin/pip" install -q $packages; then
        echo "skipped, for packages cannot be had here: tests of the Python package on $version"
        continue
    fi
    echo "Python $version"
    # The installed package is tested, not the sources: their folder is not on the path.
    (
        unset INRUSH_PROGRAM PYTHONPATH
        cd python
        "$venv/bin/python" -m pytest
        "$venv/bin/python" -m pytest --pyargs inrush --ignore-glob="$venv/*/dlt.py"
        case $version in 3.11) "$venv/bin/mypy" ;; esac
    )
    tested=$((tested + 1))
done
[ "$tested" -gt 0 ] || echo 'skipped, for no Python can run it: the Python package'
