#!/usr/bin/env bash
# Puts what a module for Windows is built with, and Debian has not for Windows, below a folder: libmd,
# and the headers of SQLite and xxHash. Nothing to do where it is there already.
# usage: windows_libraries.sh folder
set -euo pipefail
folder=$(realpath -m "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. packages/sources.sh
triplet=x86_64-w64-mingw32

libmd=$(debian_source libmd)
made_from=$("$triplet-gcc-posix" --version | head -1; echo "$libmd"
  cat packages/toolchains/windows_libraries.sh /usr/include/{sqlite3,xxhash}.h | sha256sum)
if [ -e "$folder/.done" ] && [ "$(<"$folder/.done")" = "$made_from" ]; then
  exit 0
fi
mkdir -p "$folder/include"
cp /usr/include/{sqlite3,sqlite3ext,xxhash}.h "$libmd"/include/*.h "$folder/include/"
cp "$libmd/COPYING" "$folder/"
: >"$folder/config.h"  # libmd's: a good compiler needs none of it
cd "$folder"
for name in md5 sha1 sha2; do
  "$triplet-gcc-posix" -O3 -w -I. -Iinclude -c "$libmd/src/$name.c"
done
"$triplet-ar" rcsD libmd.a md5.o sha1.o sha2.o
printf '%s' "$made_from" >.done
