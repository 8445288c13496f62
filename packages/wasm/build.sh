#!/usr/bin/env bash
# Builds SQLite with the four tables for WebAssembly: the npm package, in build/wasm/package/, and
# docs/playground/cuckoo.js, which is the same in one file with what draws the tables' inside, the
# examples of README.md, the recipes, the scripts of sql/, and from what it was built. Installs what
# is missing; downloads sources into build/.
#
#   packages/wasm/build.sh           then open docs/playground/index.html
#   packages/wasm/build.sh --tests   core_tests instead, and runs them in Node.js
#
# BUILD_DIR=dir builds elsewhere than in build/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/install.sh
. packages/common.sh
. packages/sources.sh

case "${1-}" in
  '' | --tests) ;;
  *)
    echo "usage: $0 [--tests]" >&2
    exit 2
    ;;
esac

packages=(cmake ninja-build emscripten node-acorn libxxhash-dev xz-utils)
[ "${1-}" != --tests ] || packages+=(googletest)
command -v npm >/dev/null || packages+=(npm)
ensure_packages "${packages[@]}"
export NODE_PATH=/usr/share/nodejs  # emscripten's acorn, for a Node.js that is not Debian's

root=${BUILD_DIR:-build}
build_dir=$root/wasm targets=(cuckoo_wasm playground) tests=OFF optimize=-Os  # small to load
if [ "${1-}" = --tests ]; then
  build_dir=$root/wasm-tests targets=(core_tests) tests=ON optimize=-O2
fi
mkdir -p "$root"
libraries=$(realpath "$root")/wasm-libraries
mkdir -p "$libraries/include" "$build_dir"

# SQLite and the digests, unless they are there from these sources already.
sqlite=$(sqlite_source)
libmd=$(debian_source libmd)
made_from=$(emcc --version | head -1; echo "$sqlite $libmd"; cat packages/wasm/build.sh)
if [ ! -e "$libraries/.done" ] || [ "$(<"$libraries/.done")" != "$made_from" ]; then
  cp -p "$sqlite"/sqlite3{,ext}.h "$libmd"/include/*.h /usr/include/xxhash.h \
    "$libraries/include/"  # with their times: no reason to compile all anew
  cp "$libmd/COPYING" "$libraries/"
  : >"$libraries/config.h"  # libmd's: a good compiler needs none of it
  (
    cd "$libraries"
    emcc -Os -w -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_DQS=0 \
      -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_RTREE \
      -DSQLITE_DEFAULT_MEMSTATUS=0 -c "$sqlite/sqlite3.c"
    for name in md5 sha1 sha2; do
      emcc -O2 -w -I. -Iinclude -c "$libmd/src/$name.c"
    done
    emar rcs libsqlite3.a sqlite3.o
    emar rcs libmd.a md5.o sha1.o sha2.o
  )
  printf '%s' "$made_from" >"$libraries/.done"
fi

# Exceptions by JavaScript: WebAssembly's own, by Emscripten 3.1.6, left out a loop of a test.
emcmake cmake -S . -B "$build_dir" -G Ninja -Wno-dev -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CROSSCOMPILING_EMULATOR='node;--stack-size=8000' \
  -DCMAKE_CXX_FLAGS=-fexceptions -DCMAKE_CXX_FLAGS_RELEASE="$optimize -DNDEBUG" \
  -DCUCKOO_WERROR=ON -DCUCKOO_BUILD_TESTS="$tests" -DCUCKOO_BUILD_BENCH=OFF \
  -DCUCKOO_INSTALL=OFF -DCUCKOO_GTEST_SOURCE=/usr/src/googletest \
  -DCUCKOO_LIBMD=ON -DLIBMD_INCLUDE_DIR="$libraries/include" -DLIBMD_LIBRARY="$libraries/libmd.a" \
  -DSQLite3_INCLUDE_DIR="$libraries/include" -DSQLite3_LIBRARY="$libraries/libsqlite3.a" \
  -DXXHASH_INCLUDE_DIR="$libraries/include" >"$build_dir/cmake.log" 2>&1 || {
  cat "$build_dir/cmake.log" >&2
  exit 1
}
cmake --build "$build_dir" --target "${targets[@]}"

if [ "${targets[0]}" = core_tests ]; then
  exec ctest --test-dir "$build_dir" --tests-regex '^core\.' --output-on-failure --no-tests=error
fi

# in_one loader: what both have, with nothing of it to be seen outside.
in_one() {
  echo 'const sqliteCuckoo = (() => {'
  echo 'const exports = undefined, module = undefined, define = undefined;'
  cat "$1" packages/wasm/{api,storage,open}.js
  echo 'return { open, readModule };'
  echo '})();'
}

package=$build_dir/package
rm -rf "$package"
mkdir "$package"
for suffix in js mjs; do
  {
    in_one "$build_dir/cuckoo_wasm.js"
    cat "packages/wasm/init.$suffix"
  } >"$package/sqlite-cuckoo.$suffix"
done
install -m 644 "$build_dir/cuckoo_wasm.wasm" "$package/sqlite-cuckoo.wasm"
cp packages/wasm/npm/*.{d.ts,d.mts} packages/wasm/npm/README.md LICENSE \
  "$build_dir/packages/THIRD-PARTY.txt" "$package/"
sed "s/@version@/$version/g" packages/wasm/npm/package.json >"$package/package.json"

if commit=$(git rev-parse --short=12 HEAD 2>/dev/null); then
  git diff --quiet HEAD || commit+=', changed'
else
  commit=unknown
fi
page=docs/playground/cuckoo.js
{
  node packages/wasm/about.js "$version" "$commit" "$sqlite/sqlite3.h" README.md docs/recipes.md \
    sql LICENSE "$build_dir/packages/THIRD-PARTY.txt"
  in_one "$build_dir/playground.js"
  echo 'const initSqliteCuckoo = () => sqliteCuckoo.open();'
} >"$build_dir/cuckoo.js"
mv "$build_dir/cuckoo.js" "$page"
for file in "$page" "$package"/sqlite-cuckoo.{wasm,mjs}; do
  printf '%s: %d bytes, %d compressed\n' "$file" "$(stat -c %s "$file")" \
    "$(gzip -9c "$file" | wc -c)"
done
