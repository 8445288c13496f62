#!/usr/bin/env bash
# Checks packages/reader: stored images, tests/golden/reader.jsonl, and random ones that the module makes
# now. The readers' answers must be the module's, false positives included. A damaged image is an error.
# usage: tests/reader/run.sh module [count [check...]]
#
# A check is a command that takes files of cases; that of Python by default. CUCKOO_MODEL_FIRST=s begins
# at seed s.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
module=$1 count=${2:-10} seed=${CUCKOO_MODEL_FIRST:-1}
cases=$(mktemp)
trap 'rm -f "$cases"' EXIT

python=
for program in python3 /usr/bin/python3; do
  if "$program" -c 'import sqlite3; sqlite3.Connection.enable_load_extension' 2>/dev/null; then
    python=$program
    break
  fi
done
if [ -n "$python" ]; then
  printf 'CUCKOO_MODEL_FIRST=%s\n' "$seed"
  "$python" cases.py "$module" "$seed" "$count" >"$cases"
else
  python=python3
  echo 'stored images only: no python3 here loads extensions into SQLite'
fi
shift "$(($# < 2 ? $# : 2))"
[ "$#" -gt 0 ] || set -- "$python check.py"
for check in "$@"; do
  $check "$PWD/../golden/reader.jsonl" "$cases"
done
