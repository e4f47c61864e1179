#!/bin/sh
# Moves what debuggers and backtraces want of a program into PROGRAM.debug beside it, where they look
# for it: three quarters of the size. Does nothing where that is done, or without objcopy.
set -eu

program=$1
command -v objcopy >/dev/null && command -v readelf >/dev/null || exit 0
readelf -S --wide "$program" | grep -q '\.debug_line' || exit 0
objcopy --only-keep-debug "$program" "$program.debug"
chmod 644 "$program.debug"
# Not in place: cargo has the same file under another name.
objcopy --strip-all --add-gnu-debuglink="$program.debug" "$program" "$program.stripped"
mv "$program.stripped" "$program"
