#!/usr/bin/env bash
# What a portable module needs of the machine that loads it: libc alone, and an old one.
# usage: needs.sh cuckoo.so
set -euo pipefail
module=$1
oldest=$(sed -n 's/^set(CUCKOO_GLIBC \([0-9.]*\))/\1/p' \
  "$(dirname "${BASH_SOURCE[0]}")/../../packages/portable/portable.cmake")

needed=$(readelf -d "$module" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
others=$(grep -vxE 'libc\.so\.6|libm\.so\.6|ld-linux-.*\.so\.[0-9]' <<<"$needed" || true)
if [ -n "$others" ]; then
  printf '%s needs more than libc:\n%s\n' "$module" "$others"
  exit 1
fi
newest=$(readelf -V "$module" | grep -oE 'GLIBC_[0-9.]+' | sed 's/GLIBC_//' | sort -V | tail -1)
if [ "$(printf '%s\n' "$newest" "$oldest" | sort -V | tail -1)" != "$oldest" ]; then
  printf '%s needs glibc %s, newer than %s:\n' "$module" "$newest" "$oldest"
  readelf --dyn-syms -W "$module" | grep "GLIBC_$newest"
  exit 1
fi
printf '%s: %d bytes, needs glibc %s\n' "$module" "$(stat -c %s "$module")" "$newest"
