#!/bin/sh
# What Miri can run of the crates at the bottom: no server, no C code, none of the scanners' instructions.
#
#   scripts/miri.sh [CRATE...]       default: simd sort values
#
# Left out are tests of every code point, of zstd, and of files and threads that wait: Miri takes a
# thousand times as long. PROPTEST_CASES is how often a property is tried (2).
set -eu

cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- simd sort values

if ! cargo +nightly miri --version >/dev/null 2>&1; then
    echo 'Miri is not there: rustup toolchain install nightly --component miri,rust-src' >&2
    exit 1
fi
export MIRIFLAGS="-Zmiri-disable-isolation ${MIRIFLAGS:-}"
export PROPTEST_CASES="${PROPTEST_CASES:-2}"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$(pwd)/target}/miri"
for crate; do
    case $crate in
    sort) skip='faults:: entries_that_do_not_compress' ;;
    values) skip='every_code_point' ;;
    *) skip= ;;
    esac
    cargo +nightly miri test -p "inrush-$crate" --lib -- $(printf -- '--skip %s ' $skip)
done
