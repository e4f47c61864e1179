#!/bin/sh
# Fails if a program wants a newer glibc than named, or a library that old systems lack.
#
#   packaging/symbols.sh PROGRAM GLIBC
set -eu

program=$1 glibc=$2
newest=$(objdump -T "$program" | sed -n 's/.*(\{0,1\}GLIBC_\([0-9.]*\))\{0,1\} .*/\1/p' | sort -Vu | tail -n 1)
[ -n "$newest" ] || { echo "$program: no symbol of glibc was found, so nothing is proven" >&2; exit 1; }
if [ "$(printf '%s\n%s\n' "$newest" "$glibc" | sort -V | tail -n 1)" != "$glibc" ]; then
    echo "$program wants glibc $newest, and $glibc is promised:" >&2
    objdump -T "$program" | grep "GLIBC_$newest" >&2
    exit 1
fi
others=$(objdump -p "$program" | sed -n 's/^ *NEEDED *//p' |
    grep -Ev '^(libc|libm|libpthread|libdl|librt|libutil|ld-linux-.*)\.so\.[0-9]*$' || true)
[ -z "$others" ] || { echo "$program wants libraries besides glibc: $others" >&2; exit 1; }
echo "$program: glibc $newest, of at most $glibc; $(($(stat -c %s "$program") / 1000)) kB" >&2
