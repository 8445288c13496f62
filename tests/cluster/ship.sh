#!/usr/bin/env bash
# Copies of a database that is being written, and readers that must not write. One process writes
# transactions into all kinds of tables, and into an ordinary table beside each the same. Meanwhile
# its database is shipped: as copies of the file and its WAL, by VACUUM INTO, by the backup API (of
# Python, in steps, and of the shell). Each copy is opened read-only, in every way there is, asked
# everything that can be asked, and must be right by its own ordinary tables and unchanged, byte for
# byte. Readers of the live file hold their snapshot meanwhile. At last the writer is killed.
#
#   tests/cluster/ship.sh [--short] [ROUNDS]     60 rounds, a minute
#   --short: 3 rounds, some seconds
set -euo pipefail

rounds=60
if [ "${1-}" = --short ]; then
  rounds=3
  shift
fi
rounds=${1:-$rounds}
case "$rounds" in
  *[!0-9]*)
    echo "usage: $0 [--short] [ROUNDS]" >&2
    exit 2
    ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/cluster/setup.sh
prepare python3
run_for $((60 + rounds * 10)) /usr/bin/python3 tests/cluster/ship.py ship "$work" "$rounds"
