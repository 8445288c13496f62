#!/usr/bin/env bash
# The same statements on two processors leave the same bytes: databases and images are compared, and
# each side then reads and changes what the other one made.
# usage: exchange.sh this-machine's-module the-other's-module command-that-runs-the-other's-sqlite3…
#
# SQLITE3=file is this machine's sqlite3, which must be of the other one's version.
set -euo pipefail
here=("${SQLITE3:-sqlite3}") here_module=$1 there_module=$2
shift 2
there=("$@")
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

on_here() { HOME=$work "${here[@]}" -batch -bail -cmd ".load $here_module" "$@"; }
on_there() { HOME=$work "${there[@]}" -batch -bail -cmd ".load $there_module" "$@"; }

fail() {
  printf 'FAILED  %s\n' "$1"
  exit 1
}
same() {  # same what file file
  cmp "$2" "$3" || fail "$1"
  printf 'ok      %s: the same %d bytes\n' "$1" "$(stat -c %s "$2")"
}

versions=$(on_here :memory: 'SELECT sqlite_version(), cuckoo_version()')
[ "$versions" = "$(on_there :memory: 'SELECT sqlite_version(), cuckoo_version()')" ] ||
  fail 'the two sides have other versions'

for side in here there; do
  mkdir "$work/$side"
  (cd "$work/$side" && "on_$side" made.db <"$scripts/exchange.sql" >made.txt)
done
same 'what was answered' "$work/here/made.txt" "$work/there/made.txt"
same 'the databases' "$work/here/made.db" "$work/there/made.db"
images=0
for image in "$work"/here/*.image; do
  same "$(basename "$image")" "$image" "$work/there/$(basename "$image")"
  images=$((images + 1))
done
[ "$images" -ge 8 ] || fail "only $images images"

# Each reads and changes what the other made.
mv "$work/here" "$work/x" && mv "$work/there" "$work/here" && mv "$work/x" "$work/there"
for side in here there; do
  (cd "$work/$side" && "on_$side" made.db <"$scripts/exchange_read.sql" >read.txt) ||
    fail "$side: what the other side made is not read"
done
same 'what is read' "$work/here/read.txt" "$work/there/read.txt"
same 'the databases, changed' "$work/here/made.db" "$work/there/made.db"
grep -qx 'ok' "$work/here/read.txt" || fail 'exchange_read.sql checked nothing'
