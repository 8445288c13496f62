#!/usr/bin/env bash
# Checks what a portable module needs of the machine that loads it, libc alone and an old one, and
# prints the version of glibc, such as 2.17. A module for Windows needs what every Windows has; prints
# "Windows". One for macOS needs its C library; prints "macOS 11.0", the oldest that it asks for. One
# for musl needs nothing that musl 1.2.0 has not; prints "musl 1.2".
# usage: needs.sh cuckoo.so|cuckoo.dll|cuckoo.dylib
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

if [ "$(od -An -tx4 -N4 "$module")" = ' feedfacf' ]; then
  told=$(python3 "$(dirname "${BASH_SOURCE[0]}")/macho.py" "$module")
  others=$(sed -n 's/^needs //p' <<<"$told" | grep -vxF /usr/lib/libSystem.B.dylib || true)
  [ -z "$others" ] || refuse "needs more than macOS' C library: $others"
  sed -n 's/^oldest /macOS /p' <<<"$told"
  exit
fi

dynamic=$(readelf --dynamic --wide "$module")
needed=$(sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' <<<"$dynamic")
if [ "$needed" = libc.so ]; then  # musl's symbols have no versions: these are of 1.2.1 to 1.2.5
  newer=$(nm -D --undefined-only "$module" | awk '{ print $NF }' | grep -xE \
    'reallocarray|gettid|_Fork|qsort_r|pthread_getname_np|statx|preadv2|pwritev2' || true)
  [ -z "$newer" ] || refuse "needs a musl newer than 1.2.0: $newer"
  echo 'musl 1.2'
  exit
fi
others=$(grep -vxE 'libc\.so\.6|libm\.so\.6|ld-linux-.*\.so\.[0-9]' <<<"$needed" || true)
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
