#!/usr/bin/env bash
# Compiles core/, ext/ and packages/wasm/ for WebAssembly, and links nothing: it says soon that a
# change does not build where size_t has 32 bits and the C++ library is LLVM's. Downloads nothing, so
# SQLite's, xxHash's and OpenSSL's headers are this machine's; packages/wasm/build.sh takes libmd in
# OpenSSL's place. Unoptimized, because the code is thrown away.
#
#   packages/wasm/check.sh    BUILD_DIR=dir builds elsewhere than in build/
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/install.sh

[ "$#" -eq 0 ] || {
  echo "usage: $0" >&2
  exit 2
}
ensure_packages cmake ninja-build emscripten node-acorn libsqlite3-dev libxxhash-dev libssl-dev
build_dir=${BUILD_DIR:-build}/wasm-check
headers=$build_dir/include

# These alone: beside them in /usr/include is a C library for another machine.
mkdir -p "$headers/openssl"
cp -up /usr/include/{sqlite3,sqlite3ext,xxhash}.h "$headers/"
cp -up /usr/include/openssl/*.h /usr/include/"$(gcc -print-multiarch)"/openssl/*.h "$headers/openssl/"
headers=$(realpath "$headers")
: >"$build_dir/no_library.a"  # CMake looks whether there is one

emcmake cmake -S . -B "$build_dir" -G Ninja -Wno-dev -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS=-fexceptions -DCMAKE_CXX_FLAGS_RELEASE='-O0 -DNDEBUG' \
  -DCUCKOO_WERROR=ON -DCUCKOO_BUILD_TESTS=OFF -DCUCKOO_BUILD_BENCH=OFF -DCUCKOO_INSTALL=OFF \
  -DOPENSSL_INCLUDE_DIR="$headers" -DOPENSSL_CRYPTO_LIBRARY="$(realpath "$build_dir/no_library.a")" \
  -DSQLite3_INCLUDE_DIR="$headers" -DSQLite3_LIBRARY=none \
  -DXXHASH_INCLUDE_DIR="$headers" -DCUCKOO_UNITS=OFF >"$build_dir/cmake.log" 2>&1 || {
  cat "$build_dir/cmake.log" >&2
  exit 1
}
# The module `cuckoo` has the sources of `cuckoo_static`, for a SQLite that can load libraries.
objects=$(ninja -C "$build_dir" -t targets all |
  sed -nE 's/^(CMakeFiles\/(cuckoo_core|cuckoo_static|playground)\.dir\/.*\.cpp\.o): .*/\1/p')
[ -n "$objects" ] || {
  echo "$build_dir has no objects to compile" >&2
  exit 1
}
xargs ninja -C "$build_dir" -k 0 --quiet <<<"$objects"  # says all that fails
printf '%d files compile for WebAssembly\n' "$(wc -l <<<"$objects")"
