#!/usr/bin/env bash
# Checks what a portable module needs of the machine that loads it, libc alone and an old one, and
# prints the version of glibc, such as 2.17.
# usage: needs.sh cuckoo.so
set -euo pipefail
module=$1
oldest=$(sed -n 's/^set(CUCKOO_GLIBC \([0-9.]*\))/\1/p' "$(dirname "${BASH_SOURCE[0]}")/portable.cmake")

others=$(LC_ALL=C readelf -d "$module" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' |
  grep -vxE 'libc\.so\.6|libm\.so\.6|ld-linux-.*\.so\.[0-9]' || true)
if [ -n "$others" ]; then
  printf '%s needs more than libc: %s\n' "$module" "$others" >&2
  exit 1
fi
newest=$(LC_ALL=C readelf --version-info --wide "$module" |
  sed -nE 's/.*Name: GLIBC_([0-9.]+) .*/\1/p' | sort -V | tail -1)
if [ "$(printf '%s\n' "$newest" "$oldest" | sort -V | tail -1)" != "$oldest" ]; then
  printf '%s needs glibc %s, newer than %s:\n' "$module" "$newest" "$oldest" >&2
  LC_ALL=C readelf --dyn-syms --wide "$module" | grep "GLIBC_$newest" >&2
  exit 1
fi
printf '%s\n' "$newest"
