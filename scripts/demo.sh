#!/bin/sh
# Inrush from nothing: rows, a load into the sandbox, a look at the table and its file, and the
# same load beside LOAD DATA. Everything stays in one folder, which the next run uses again.
#
#   SCALE=1  INRUSH=target/demo/inrush  DEMO_DIR=target/tpch  scripts/demo.sh
set -eu

cd "$(dirname "$0")/.."
inrush=${INRUSH:-target/demo/inrush}
scale=${SCALE:-1}
demo=${DEMO_DIR:-target/tpch}
mkdir -p "$demo"
demo=$(cd "$demo" && pwd)

step() { printf '\n== %s\n' "$1"; }
run() { printf '$ %s\n' "$*" >&2; "$@"; }
stop() { "$inrush" sandbox stop --sandbox "$demo/sandbox" >/dev/null 2>&1 || true; }
trap stop EXIT
trap 'exit 130' INT TERM

step "TPC-H lineitem at scale $scale"
rows=$(run "$inrush" bench tproch --schema dbgen --scale "$scale" --data-dir "$demo" --rows-only)

step "Load it into a private MariaDB"
run "$inrush" load "$rows/lineitem.tbl" --into tpch.lineitem --ddl "$rows/lineitem.sql" \
    --mode replace --sandbox "$demo/sandbox"

step "What the server says"
run "$inrush" sandbox sql --sandbox "$demo/sandbox" \
    'SELECT COUNT(*), MIN(l_shipdate), MAX(l_shipdate), SUM(l_extendedprice) FROM tpch.lineitem'
run "$inrush" sandbox sql --sandbox "$demo/sandbox" 'CHECK TABLE tpch.lineitem'
stop

step "The file itself"
run "$inrush" inspect "$demo/sandbox/data/tpch/lineitem.ibd"

step "The same rows by LOAD DATA and by Inrush, on one server"
run "$inrush" bench tproch --schema dbgen --scale "$scale" --data-dir "$demo" \
    --ways load-data,unchecked,direct
