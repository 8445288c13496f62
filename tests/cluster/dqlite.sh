#!/usr/bin/env bash
# dqlite: three nodes on the loopback that replicate pages by Raft, each linked with the extension.
# A client writes transactions into all kinds of tables, and into an ordinary table beside each the
# same. The leader is killed in mid-write, again and again. After each kill, and with each node as
# the leader at the end: all that was acknowledged is there, every table is right by its ordinary
# one and by 'check'. At last the nodes' databases are equal. Prints also how long writing takes.
#
#   tests/cluster/dqlite.sh [KILLS]     5, a quarter of a minute when it is built
set -euo pipefail

kills=${1:-5}
case "$kills" in
  *[!0-9]*)
    echo "usage: $0 [KILLS]" >&2
    exit 2
    ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/cluster/setup.sh
prepare python3 libdqlite-dev
build_dir=$(dirname "$CUCKOO_EXTENSION")
cmake --build "$build_dir" --target cuckoo_static >/dev/null
"${CC:-cc}" -std=c11 -D_POSIX_C_SOURCE=200809L -O1 -Wall -Wextra -Iext tests/cluster/dqlite_node.c \
  -o "$work/dqlite_node" -L"$build_dir" -lcuckoo -ldqlite -lsqlite3 -lcrypto -lstdc++ -lm
run_for $((120 + kills * 60)) /usr/bin/python3 tests/cluster/dqlite.py "$work/dqlite_node" "$work" \
  "$kills"
