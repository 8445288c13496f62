#!/usr/bin/env bash
# Checks what a portable module needs of the machine that loads it, libc alone and an old one, and
# prints the version of glibc, such as 2.17. A module for Windows needs what every Windows has; prints
# "Windows".
# usage: needs.sh cuckoo.so|cuckoo.dll
set -euo pipefail
export LC_ALL=C
module=$1
oldest=$(sed -n 's/^set(CUCKOO_GLIBC \([0-9.]*\))/\1/p' "$(dirname "${BASH_SOURCE[0]}")/portable.cmake")

refuse() {
  printf '%s %s\n' "$module" "$1" >&2
  exit 1
}

if [ "$(head -c 2 "$module")" = MZ ]; then
  others=$(objdump --private-headers "$module" | sed -n 's/.*DLL Name: //p' |
    grep -vxiE 'kernel32\.dll|msvcrt\.dll' || true)
  [ -z "$others" ] || refuse "needs more than Windows' C library: $others"
  echo Windows
  exit
fi

dynamic=$(readelf --dynamic --wide "$module")
others=$(sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' <<<"$dynamic" |
  grep -vxE 'libc\.so\.6|libm\.so\.6|ld-linux-.*\.so\.[0-9]' || true)
[ -z "$others" ] || refuse "needs more than libc: $others"
! grep -qE '^ *0x0*24 ' <<<"$dynamic" || refuse 'has packed relocations (DT_RELR): glibc 2.36 reads them'

versions=$(readelf --version-info --wide "$module" | sed -nE 's/.*Name: GLIBC_([^ ]+) .*/\1/p' | sort -Vu)
named=$(grep '^[A-Z]' <<<"$versions" || true)
[ -z "$named" ] || refuse "needs GLIBC_$named, which no old glibc has"
newest=$(tail -1 <<<"$versions")
[ -n "$newest" ] || refuse 'names no version of glibc'
if [ "$(printf '%s\n' "$newest" "$oldest" | sort -V | tail -1)" != "$oldest" ]; then
  readelf --dyn-syms --wide "$module" | grep "GLIBC_$newest" >&2 || true
  refuse "needs glibc $newest, newer than $oldest"
fi
printf '%s\n' "$newest"
