#!/usr/bin/env bash
# Tests the library for Windows under wine, in an SQLite for Windows that is built for it: what it
# exports and needs; the sql/ scripts; the tests of core and of the tables, but for those that need
# fork(); and files that go from Windows to Linux and back. Builds below build/windows/ and
# build/windows-tests/.
# usage: windows.sh cuckoo.dll cuckoo.so
set -euo pipefail
library=$(realpath "$1") linux_library=$(realpath "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/install.sh
. packages/sources.sh
dir=$PWD/build/windows tests=$PWD/build/windows-tests triplet=x86_64-w64-mingw32

packages=(g++ g++-mingw-w64-x86-64-posix binutils wine wine64 cmake ninja-build googletest libsqlite3-dev
  libxxhash-dev)
command -v npm >/dev/null || packages+=(npm ca-certificates)
ensure_packages "${packages[@]}"
tests/exported_symbol_test.sh "$library"
[ "$(packages/portable/needs.sh "$library")" = Windows ]

# SQLite, for the tests that are linked with it, and its shell, the same for Linux.
options=(-O2 -w -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_ENABLE_DBSTAT_VTAB)
# Temporary tables and sorters are in memory in the tests. Each connection of a test begins SQLite's
# random numbers anew, so that a run is like the last one. The names of temporary files are made of
# these numbers: a second connection would make the file that the first one has open. POSIX has no
# such file: SQLite removes its name at once there.
test_options=(-DSQLITE_TEMP_STORE=2)
build_sqlite() {
  (
    cd "$dir"
    "$triplet-gcc-posix" "${options[@]}" "${test_options[@]}" -static-libgcc -shared \
      "$sqlite/sqlite3.c" -o sqlite3.dll -Wl,--out-implib,libsqlite3.dll.a
    "$triplet-gcc-posix" "${options[@]}" -static -municode "$sqlite"/{sqlite3,shell}.c -o sqlite3.exe
    gcc "${options[@]}" "$sqlite"/{sqlite3,shell}.c -o sqlite3-linux -ldl -lpthread -lm
  )
}

sqlite=$(sqlite_source)
mkdir -p "$dir"
built="$sqlite ${options[*]} ${test_options[*]}"
if [ ! -e "$dir/.done" ] || [ "$(<"$dir/.done")" != "$built" ]; then
  build_sqlite
  printf '%s' "$built" >"$dir/.done"
fi

# A Windows of its own, which ends with this script.
mkdir -p "$dir/wine"
export WINEPREFIX=$dir/wine WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
unset DISPLAY
trap '/usr/lib/wine/wineserver --kill' EXIT
# Its services start here, and stay: those that a test starts keep the test's output open, and ctest
# waits until that is closed.
/usr/lib/wine/wineserver --persistent </dev/null >/dev/null 2>&1
/usr/lib/wine/wine64 wineboot --init </dev/null >/dev/null 2>&1
shell=$dir/sqlite3
cat >"$shell" <<EOF
#!/bin/bash
set -o pipefail
/usr/lib/wine/wine64 ${dir@Q}/sqlite3.exe "\$@" | tr -d '\\r'  # its lines end as Windows' do
EOF
chmod +x "$shell"
"$shell" --version
# Two scripts remove files by `.shell rm`.
printf '@for %%%%f in (%%*) do @del %%%%f\r\n' >"$WINEPREFIX/drive_c/windows/rm.bat"

tests/sql/run_scripts.sh "$shell" "$library"
SQLITE3=$dir/sqlite3-linux tests/platforms/exchange.sh "$linux_library" "$library" "$shell"

libraries=$dir/libraries
packages/toolchains/windows_libraries.sh "$libraries"
cmake -S . -B "$tests" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCUCKOO_WERROR=ON \
  -DCMAKE_TOOLCHAIN_FILE="$PWD/packages/toolchains/$triplet.cmake" \
  -DCUCKOO_INSTALL=OFF -DCUCKOO_BUILD_BENCH=OFF -DCUCKOO_GTEST_SOURCE=/usr/src/googletest \
  -DCUCKOO_LIBMD=ON -DLIBMD_INCLUDE_DIR="$libraries/include" -DLIBMD_LIBRARY="$libraries/libmd.a" \
  -DXXHASH_INCLUDE_DIR="$libraries/include" -DCUCKOO_TESTED_LIBRARY="$library" \
  -DSQLite3_INCLUDE_DIR="$libraries/include" -DSQLite3_LIBRARY="$dir/libsqlite3.dll.a" >"$dir/cmake.log"
cmake --build "$tests" --target core_tests ext_tests
cp "$dir/sqlite3.dll" "$tests/tests/"
. tests/share.sh
CUCKOO_SHARE=4 ctest --test-dir "$tests" --tests-regex '^(core|ext)\.' --output-on-failure --no-tests=error \
  --parallel 2
