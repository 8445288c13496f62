#!/usr/bin/env bash
# The module defines its entry point, under the two names that SQLite tries, and nothing else; does not
# bring a second SQLite into the process; and is never unmapped: SQLite closes a library whose load
# failed, and keeps what it registered. It asks for no newer glibc symbol that the packages do not bring.
# usage: exported_symbol_test.sh cuckoo.so|cuckoo.dll|cuckoo.dylib
set -euo pipefail
module=$1

windows='' mac=''
if [ "$(head -c 2 "$module")" = MZ ]; then
  windows=1
  headers=$(objdump --private-headers "$module")
  symbols=$(awk '/^\[Ordinal\/Name Pointer\] Table/ { on = 1; next } /^$/ { on = 0 } on { print $NF }' \
    <<<"$headers")
  needed=$(sed -n 's/.*DLL Name: //p' <<<"$headers")
elif [ "$(od -An -tx4 -N4 "$module")" = ' feedfacf' ]; then
  mac=1
  told=$(python3 "$(dirname "${BASH_SOURCE[0]}")/../packages/portable/macho.py" "$module")
  # The linker always exports two names of the file's beginning, which are no code.
  symbols=$(sed -n 's/^exports _//p' <<<"$told" | grep -vxE '_mh_dylib_header|__dso_handle')
  needed=$(sed -n 's/^needs //p' <<<"$told")
else
  symbols=$(nm -D --defined-only "$module" | awk '{print $NF}')
  needed=$(readelf -d "$module" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
fi
symbols=$(LC_ALL=C sort <<<"$symbols" | paste -sd' ')
expected='sqlite3_cuckoo_init sqlite3_extension_init'
if [ "$symbols" != "$expected" ]; then
  printf 'exported symbols: %s; expected %s\n' "${symbols:-(none)}" "$expected"
  exit 1
fi

if grep -q sqlite <<<"$needed"; then
  printf 'the module is linked with a SQLite library:\n%s\n' "$needed"
  exit 1
fi
if [ -n "$windows" ]; then
  if ! grep -q GetModuleHandleExW <<<"$headers"; then
    echo 'the module may be unmapped: it does not ask Windows to keep it'
    exit 1
  fi
elif [ -n "$mac" ]; then
  if ! grep -qx 'imports _dladdr' <<<"$told" || ! grep -qx 'imports _dlopen' <<<"$told"; then
    echo 'the module may be unmapped: it does not ask macOS to keep it'
    exit 1
  fi
  if grep '^weak ' <<<"$told"; then
    echo 'the module takes these of another library in the process, if one has them'
    exit 1
  fi
elif ! readelf -d "$module" | grep -q NODELETE; then
  echo 'the module may be unmapped: it was linked without -z nodelete'
  exit 1
fi
# packages/build.sh builds on Debian 12, whose glibc says what is newer.
portable=$(dirname "${BASH_SOURCE[0]}")/../packages/portable
if [ "$(getconf GNU_LIBC_VERSION 2>/dev/null)" = 'glibc 2.36' ] && [ -z "$windows$mac" ]; then
  oldest=$(sed -n 's/^set(CUCKOO_GLIBC 2\.\([0-9]*\))/\1/p' "$portable/portable.cmake")
  newer=$(readelf --dyn-syms --wide "$module" |
    sed -nE 's/.* ([A-Za-z_0-9]+)@GLIBC_2\.([0-9]+).*/\2 \1/p' |
    awk -v oldest="$oldest" '$1 > oldest + 0 { print $2 }' | sort -u)
  for name in $newer; do
    if ! grep -qw "$name" "$portable/glibc.cpp"; then
      echo "the module needs $name, which is newer than glibc 2.$oldest: packages/portable/glibc.cpp lacks it"
      exit 1
    fi
  done
fi
printf 'exports %s; needs %s\n' "$symbols" "$(tr '\n' ' ' <<<"$needed")"
