#!/usr/bin/env bash
# All tests, many beside each other. A few that fail are run once more, with nothing beside them; only those that fail
# again fail. What failed at first is named at the end: it waits to be looked into.
set -uo pipefail
cargo=${CARGO:-cargo}
most=5

log=$(mktemp) again=$(mktemp)
trap 'rm -f "$log" "$again"' EXIT
# Messages of all failures stay on one screen.
export RUST_BACKTRACE=0

"$cargo" test --locked --workspace --no-fail-fast 2>&1 | tee "$log" && exit 0

mapfile -t failed < <(sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p' "$log" | sort -u)
# One that ended by a signal, or was not built, has no such line.
if ((${#failed[@]} == 0 || ${#failed[@]} > most)) ||
	(($(grep -c '^    `' "$log") != $(grep -c '^test result: FAILED' "$log"))); then
	exit 1
fi

printf 'These failed beside others, and are run once more alone:\n'
printf '    %s\n' "${failed[@]}"
RUST_TEST_THREADS=1 "$cargo" test --locked --workspace -- --exact "${failed[@]}" 2>&1 | tee "$again" || exit 1
if (($(grep -c '^test .* \.\.\. ok$' "$again") < ${#failed[@]})); then
	exit 1
fi
printf 'Passed alone, failed beside others: %s\n' "${failed[@]}"
