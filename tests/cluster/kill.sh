#!/usr/bin/env bash
# kill -9, again and again. A process writes transactions into filters that grow and split, into the
# other kinds of tables, and into an ordinary table beside each the same. It says what it committed,
# and is killed in mid-write: in a commit, in a transaction that spilled its cache, or while it reads
# the journal of the one before. (No spills in WAL mode, where SQLite 3.40.1 loses commits then.)
# After each kill: all that was acknowledged is there, every table agrees with its ordinary one and
# with cuckoo_check(), and the next process goes on with the file. After some tens of kills, or when the
# filters are large, a new file begins, in the next journal mode.
#
#   tests/cluster/kill.sh [MINUTES]     1 minute
set -euo pipefail

minutes=${1:-1}
if ! [[ $minutes =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: $0 [MINUTES]" >&2
  exit 2
fi

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/cluster/setup.sh
prepare python3
run_for $((120 + minutes * 60)) /usr/bin/python3 tests/cluster/kill.py kill "$work" "$minutes"
