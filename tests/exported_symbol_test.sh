#!/usr/bin/env bash
# The module defines its entry point, under the two names that SQLite tries, and nothing else; does not
# bring a second SQLite into the process; and is never unmapped: SQLite closes a library whose load
# failed, and keeps what it registered.
# usage: exported_symbol_test.sh cuckoo.so
set -euo pipefail
module=$1

symbols=$(nm -D --defined-only "$module" | awk '{print $NF}' | LC_ALL=C sort | paste -sd' ')
expected='sqlite3_cuckoo_init sqlite3_extension_init'
if [ "$symbols" != "$expected" ]; then
  printf 'exported symbols: %s; expected %s\n' "${symbols:-(none)}" "$expected"
  exit 1
fi

needed=$(readelf -d "$module" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
if grep -q sqlite <<<"$needed"; then
  printf 'the module is linked with a SQLite library:\n%s\n' "$needed"
  exit 1
fi
if ! readelf -d "$module" | grep -q NODELETE; then
  echo 'the module may be unmapped: it was linked without -z nodelete'
  exit 1
fi
printf 'exports %s; needs %s\n' "$symbols" "$(tr '\n' ' ' <<<"$needed")"
