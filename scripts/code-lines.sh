#!/bin/sh
# Lines of code a crate: no comments, no blank lines, no tests, no benchmarks, no test servers.
# Usage: scripts/code-lines.sh [CHECKOUT]
set -eu
cd "${1:-$(dirname "$0")/..}"
[ ! -d crates ] || cd crates

for manifest in */Cargo.toml; do
    crate=${manifest%/Cargo.toml}
    case $crate in bench | fuzz | testkit) continue ;; esac
    find "$crate/src" -name '*.rs' ! -path '*/tests/*' ! -name tests.rs -exec cat {} + | awk -v crate="$crate" '
        # An item under #[cfg(test)] ends at the brace of its own indent, or on its line.
        inside { if ($0 == closing) inside = 0; next }
        /^ *#\[cfg\(test\)\]$/ { is_test = 1; next }
        is_test && /^ *#\[/ { next }
        is_test {
            is_test = 0
            if (/\{$/) { inside = 1; match($0, /^ */); closing = substr($0, 1, RLENGTH) "}" }
            next
        }
        /^ *$/ || /^ *\/\// { next }
        { lines++ }
        END { printf "%7d %s\n", lines, crate }'
done | sort -k 2 | awk '{ sum += $1; print } END { printf "%7d in all\n", sum }'
