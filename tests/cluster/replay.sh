#!/usr/bin/env bash
# Statement replication: the same random statements over all four kinds of table, on two databases
# in two processes. The first is SQLite's shell, which reads the whole script. The second runs one
# statement at a time, with a cache that spills, in WAL mode, reopened now and then, and asks the
# tables in between. With seeds both must then hold the same bytes; without them, the same answers
# but for false positives. An ordinary table beside each says what it must hold.
#
#   tests/cluster/replay.sh [--short] [SEED [STATEMENTS]]     2000 statements from seed 1
#   --short: 1000, a few seconds
#
# It stops at the first difference, and keeps the statements and both files.
set -euo pipefail

count=2000
if [ "${1-}" = --short ]; then
  count=1000
  shift
fi
seed=${1:-1} count=${2:-$count}
case "$seed$count" in
  *[!0-9]*)
    echo "usage: $0 [--short] [SEED [STATEMENTS]]" >&2
    exit 2
    ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/cluster/setup.sh
prepare python3

for mode in seeds 'no seeds'; do
  run_for $((120 + count / 5)) /usr/bin/python3 tests/cluster/replay.py "$mode" "$seed" "$count" \
    "$work"
done
