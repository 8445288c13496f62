#!/usr/bin/env bash
# Builds and tests what CI's machine is not: other processors, another C++ library, another SQLite, and
# the module as it is packaged. Installs what it needs, and downloads into build/.
#
#   tests/platforms/run.sh [--quick] [platform …]     all of them if none is named
#
#   libcxx     Clang with libc++
#   i686       32-bit x86; databases and images exchanged with x86-64
#   arm64      64-bit ARM in an emulator (qemu-user), but for the tests that measure; the same exchange
#   newest     the newest SQLite that an npm package brings as source, library and shell
#   portable   CUCKOO_PORTABLE: what the packages hold; it must need nothing but an old libc
#
# --quick: of newest the sql/ scripts, the documents' examples, the cases in SQL, and the tests of
# loading, limits and memory; of portable the module's needs and a first use; of the others the build
# of the module.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/install.sh
. packages/sources.sh

share=4  # of the work of random tests, as in tests/run.sh
quick=
if [ "${1-}" = --quick ]; then
  quick=1
  shift
fi

build() {  # build name target|all [cmake argument …]
  local name=$1 target=$2
  shift 2
  cmake -S . -B "build/$name" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCUCKOO_WERROR=ON \
    -DCUCKOO_BUILD_BENCH=OFF "$@" >"build/$name.log" || { cat "build/$name.log"; return 1; }
  cmake --build "build/$name" --target "$target"
}

build_and_test() {  # build_and_test name [cmake argument …]
  local name=$1
  shift
  if [ -n "$quick" ]; then
    build "$name" cuckoo "$@"
    return
  fi
  build "$name" all "$@"
  . tests/share.sh
  CUCKOO_SHARE="${CUCKOO_SHARE:-$share}" ctest --test-dir "build/$name" --output-on-failure --no-tests=error --parallel 2
}

cross() {  # cross name debian's-name triplet
  ensure_packages "${build_packages[@]}" "g++-$3" googletest
  packages/toolchains/sysroot.sh "$2" "build/sysroot/$2"
  build_and_test "$1" -DCUCKOO_GTEST_SOURCE=/usr/src/googletest \
    -DCMAKE_TOOLCHAIN_FILE="$PWD/packages/toolchains/$3.cmake" \
    -DCUCKOO_SYSROOT="$PWD/build/sysroot/$2"
}

here_module() {  # this machine's own, to compare with
  local build_dir
  build_dir=$(realpath -m "${BUILD_DIR:-build/release}")
  [ -e "$build_dir/CMakeCache.txt" ] || cmake --preset release -B "$build_dir" >/dev/null || return
  cmake --build "$build_dir" --target cuckoo >/dev/null || return
  printf '%s\n' "$build_dir/cuckoo.so"
}

exchange_with() {  # exchange_with name debian's-name command-that-runs-its-programs…
  local name=$1 arch=$2 module
  shift 2
  [ -z "$quick" ] || return 0
  module=$(here_module)
  tests/platforms/exchange.sh "$module" "$PWD/build/$name/cuckoo.so" \
    "$@" "$PWD/build/sysroot/$arch/usr/bin/sqlite3"
}

library_path() {  # library_path debian's-name triplet
  local path=/usr/$2/lib folder
  for folder in "$PWD/build/sysroot/$1"/{usr/,}lib/*-linux-gnu; do
    path+=:$folder
  done
  printf '%s\n' "$path"
}

libcxx() {
  ensure_packages "${build_packages[@]}" clang-14 libc++-14-dev libc++abi-14-dev googletest
  build_and_test libcxx -DCMAKE_CXX_COMPILER=clang++-14 -DCMAKE_CXX_FLAGS=-stdlib=libc++ \
    -DCUCKOO_GTEST_SOURCE=/usr/src/googletest
}

i686() {
  cross i686 i386 i686-linux-gnu
  exchange_with i686 i386 /usr/i686-linux-gnu/lib/ld-linux.so.2 \
    --library-path "$(library_path i386 i686-linux-gnu)"
}

arm64() {
  ensure_packages qemu-user
  share=12
  cross arm64 arm64 aarch64-linux-gnu
  exchange_with arm64 arm64 qemu-aarch64 -L /usr/aarch64-linux-gnu \
    -E "LD_LIBRARY_PATH=$(library_path arm64 aarch64-linux-gnu)"
}

# The cases in SQL, and what depends on how SQLite prepares statements, and on which tables it opens
# and checks unasked: this machine's tests, with that library.
statement_tests() {  # statement_tests build-folder folder-of-libsqlite3.so
  local cases
  cases=$(find tests/ext -name '*.test' -exec sed -nE 's/^# ([A-Za-z]+\.[A-Za-z0-9_]+)$/\1/p' {} + |
    paste -sd :)
  cmake --build "$1" --target ext_tests >/dev/null
  ln -sf libsqlite3.so "$2/libsqlite3.so.0"  # the name that the tests were linked with
  LD_LIBRARY_PATH=$2 "$1/tests/ext_tests" --gtest_brief=1 \
    --gtest_filter="$cases:*Load*:*TwoLibraries*:*OwnLimit*:*Sparse*.takes_memory_for_*"
}

newest() {
  local sources directory=build/sqlite-newest
  local packages=(gcc wamerican)
  command -v npm >/dev/null || packages+=(npm ca-certificates)
  ensure_packages "${build_packages[@]}" "${packages[@]}"
  sources=$(sqlite_source)
  if [ ! -e "$directory/.done" ] || [ "$(<"$directory/.done")" != "$sources" ]; then
    mkdir -p "$directory"
    (
      cd "$directory"
      gcc -w -fPIC -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_ENABLE_DBSTAT_VTAB \
        -c "$sources"/{sqlite3,shell}.c
      gcc -shared sqlite3.o -o libsqlite3.so -Wl,-soname,libsqlite3.so -lm
      gcc sqlite3.o shell.o -o sqlite3 -ldl -lpthread -lm
    )
    printf '%s' "$sources" >"$directory/.done"
  fi
  "$directory/sqlite3" --version
  if [ -n "$quick" ]; then
    local module
    module=$(here_module)
    tests/sql/run_scripts.sh "$PWD/$directory/sqlite3" "$module"
    tests/sql/readme_test.sh "$PWD/$directory/sqlite3" "$module"
    statement_tests "$(dirname "$module")" "$directory"
    return
  fi
  build_and_test newest -DSQLite3_INCLUDE_DIR="$sources" \
    -DSQLite3_LIBRARY="$PWD/$directory/libsqlite3.so" -DSQLITE3_SHELL="$PWD/$directory/sqlite3"
}

portable() {
  local glibc
  ensure_packages "${build_packages[@]}"
  build_and_test portable -DCUCKOO_PORTABLE=ON
  glibc=$(packages/portable/needs.sh build/portable/cuckoo.so)
  printf 'cuckoo.so: %d bytes, glibc %s\n' "$(stat -c %s build/portable/cuckoo.so)" "$glibc"
  [ "$(sqlite3 -batch :memory: -cmd '.load build/portable/cuckoo' "SELECT sha1('abc')")" = \
    a9993e364706816aba3e25717850c26c9cd0d89d ]
}

platforms=("$@")
[ "$#" -gt 0 ] || platforms=(libcxx i686 newest portable arm64)
mkdir -p build
passed=0 failed=0
for platform in "${platforms[@]}"; do
  case $platform in
    libcxx | i686 | arm64 | newest | portable) ;;
    *)
      echo "usage: $0 [--quick] [libcxx] [i686] [arm64] [newest] [portable]" >&2
      exit 2
      ;;
  esac
done
for platform in "${platforms[@]}"; do
  printf '\n== %s\n' "$platform"
  start=$SECONDS
  set +e  # not in an "if": there bash would not stop at what fails inside
  (set -e; "$platform")
  status=$?
  set -e
  if [ "$status" -eq 0 ]; then
    printf '== %s: ok, %d s\n' "$platform" $((SECONDS - start))
    passed=$((passed + 1))
  else
    printf '== %s: FAILED, %d s\n' "$platform" $((SECONDS - start))
    failed=$((failed + 1))
  fi
done
printf '%d platforms passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
