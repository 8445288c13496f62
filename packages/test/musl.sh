#!/usr/bin/env bash
# Tests the library for musl with Debian's musl, in an SQLite that the same compiler builds for it:
# what it exports and needs; the sql/ scripts; and files that go to the library for glibc and back.
# Builds below build/musl/.
# usage: musl.sh cuckoo.so-for-musl cuckoo.so
set -euo pipefail
library=$(realpath "$1") linux_library=$(realpath "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/install.sh
. packages/sources.sh
dir=$PWD/build/musl

packages=(gcc musl binutils libsqlite3-dev libxxhash-dev)
command -v npm >/dev/null || packages+=(npm ca-certificates)
ensure_packages "${packages[@]}"
tests/exported_symbol_test.sh "$library"
[ "$(packages/portable/needs.sh "$library")" = 'musl 1.2' ]

sqlite=$(sqlite_source)
packages/toolchains/zig_libraries.sh x86_64-linux-musl "$dir/libraries"
made_from=$sqlite$(<"$dir/libraries/.done")
if [ ! -e "$dir/.done" ] || [ "$(<"$dir/.done")" != "$made_from" ]; then
  options=(-O2 -w -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_ENABLE_DBSTAT_VTAB
    "$sqlite"/{sqlite3,shell}.c)
  "$dir/libraries/cc" -dynamic "${options[@]}" -o "$dir/sqlite3"
  gcc "${options[@]}" -o "$dir/sqlite3-glibc" -ldl -lpthread -lm
  printf '%s' "$made_from" >"$dir/.done"
fi
readelf --program-headers --wide "$dir/sqlite3" | grep -q 'interpreter: /lib/ld-musl-' || {
  echo "$dir/sqlite3 is not linked with musl"
  exit 1
}

tests/sql/run_scripts.sh "$dir/sqlite3" "$library"
SQLITE3=$dir/sqlite3-glibc tests/platforms/exchange.sh "$linux_library" "$library" "$dir/sqlite3"
