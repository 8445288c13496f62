#!/usr/bin/env bash
# The module defines its entry point, under the two names that SQLite tries, and nothing else; does not
# bring a second SQLite into the process; and is never unmapped: SQLite closes a library whose load
# failed, and keeps what it registered.
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
printf 'exports %s; needs %s\n' "$symbols" "$(tr '\n' ' ' <<<"$needed")"
