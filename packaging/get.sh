#!/bin/sh
# Fetches what building and testing packages needs from elsewhere; fails where it cannot be had.
set -eu

cd "$(dirname "$0")/.."
. packaging/common.sh
get_linker
clean_debian "$work/base"
