#!/bin/sh
# The fuzz targets under libFuzzer and AddressSanitizer, the C code of zstd and xz included.
#
#   scripts/sanitized.sh MINUTES [TARGET...]       default: archive, whose readers are partly in C
#
# Needs no nightly compiler: the stable one has the sanitizer's runtime, and RUSTC_BOOTSTRAP lets it
# be used. Builds into a folder of its own, which takes minutes the first time. New inputs go to
# target/sanitized/corpus/TARGET, those that fail to target/sanitized.
set -eu

cd "$(dirname "$0")/.."
minutes=${1:?minutes}
shift
[ $# -gt 0 ] || set -- archive

command -v c++ >/dev/null || { echo 'libFuzzer is built by a C++ compiler: install g++' >&2; exit 1; }
host=$(rustc -vV | sed -n 's/^host: //p')
folder=${CARGO_TARGET_DIR:-$(pwd)/target}/sanitized
export RUSTC_BOOTSTRAP=1
export RUSTFLAGS="-Zsanitizer=address --cfg fuzzing -Cpasses=sancov-module \
-Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
# Not for what runs while it is built: build scripts.
export "CFLAGS_$(echo "$host" | tr - _)=-fsanitize=address -fno-omit-frame-pointer"

CARGO_TARGET_DIR=$folder cargo build --target "$host" --manifest-path crates/fuzz/libfuzzer/Cargo.toml \
    $(printf -- ' --bin %s' "$@")
# What ends with the process is no leak: statics of the C libraries, threads that are given up on.
export ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:${ASAN_OPTIONS:-}"
for target; do
    mkdir -p "$folder/corpus/$target"
    "$folder/$host/debug/$target" "$folder/corpus/$target" "crates/fuzz/corpus/$target" \
        -max_total_time=$((minutes * 60 / $#)) -artifact_prefix="$folder/$target-" \
        -rss_limit_mb=4096 -timeout=60 -max_len=200000 -print_final_stats=1
done
