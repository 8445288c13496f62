#!/usr/bin/env bash
# Prints the oldest glibc that has all symbols which a library takes from it, such as 2.17.
# usage: glibc_need.sh library.so
set -euo pipefail
need=$(LC_ALL=C readelf --version-info --wide "$1" |
  sed -nE 's/.*Name: GLIBC_([0-9.]+) .*/\1/p' | sort -V | tail -1)
[ -n "$need" ] || {
  echo "$1: takes nothing from glibc" >&2
  exit 1
}
printf '%s\n' "$need"
