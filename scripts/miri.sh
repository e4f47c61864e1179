#!/bin/sh
# What Miri can run of the crates at the bottom: no server, no C code, none of the scanners' instructions.
#
#   scripts/miri.sh [CRATE...]       default: simd sort values
#
# Left out are tests of zstd, of time zones' files, of files and threads that wait, and those that go
# through thousands of values, for each of which Miri takes more than a minute. PROPTEST_CASES is how
# often a property is tried (2).
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
    sort) skip='faults:: entries_that_do_not_compress bare_keys_are_packed' ;;
    values)
        skip='timestamps_know_their_zone zone::tests a_rounded_moment
            every_ wide_characters equal_tables data_survives computed_and_equal_pages numbers_of_all_lengths
            compare_as_the_strings what_is_below_the_space composite_keys a_refused_value
            what_is_converted_straight what_is_plain_is' ;;
    *) skip= ;;
    esac
    left_out=
    for name in $skip; do left_out="$left_out --skip $name"; done
    cargo +nightly miri test -p "inrush-$crate" --lib -- $left_out
done
