#!/usr/bin/env bash
# Builds the static library, installs the build into a new folder (with --prefix, and once more below
# DESTDIR), and builds a
# small application in C++ and one in C against what was installed: linked as README.md says, by
# pkg-config, and by find_package. Then all of it is moved, and the last two are done again. The
# library for programs in C++ is looked at by cpp_test.sh.
# usage: install_test.sh cmake build-dir config libdir includedir module-name c++ [flags...]
set -euo pipefail
cmake=$1 build_dir=$2 config=$3 libdir=$4 includedir=$5 module=$6
shift 6
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/consumers.sh"
work_dir=$(mktemp -d)
trap 'rm -rf "$work_dir"' EXIT

fail() {
  printf '%s\n' "$1"
  exit 1
}

# An absolute libdir ignores the prefix, by design: nothing to look at in a folder of ours.
case "$libdir$includedir" in /*) fail "CMAKE_INSTALL_LIBDIR and _INCLUDEDIR must be relative" ;; esac

install_build() {
  "$cmake" --install "$build_dir" ${config:+--config "$config"} "$@" >"$work_dir/log" 2>&1 || {
    cat "$work_dir/log"
    fail "cmake --install failed"
  }
}

mapfile -t headers < <(cd "$here/../../core/include" && find cuckoo -name '*.hpp')
expected=$(printf '%s\n' "$includedir/sqlite_cuckoo.h" "${headers[@]/#/$includedir/}" \
  "$libdir/libcuckoo.a" "$libdir/libcuckoo_core.a" "$libdir/$module" \
  "$libdir/pkgconfig/sqlite_cuckoo.pc" "$libdir/pkgconfig/sqlite_cuckoo_core.pc" "$libdir/cmake/sqlite_cuckoo/sqlite_cuckoo-config.cmake" \
  "$libdir/cmake/sqlite_cuckoo/sqlite_cuckoo-config-version.cmake" | LC_ALL=C sort)
check_tree() {
  local found
  found=$(cd "$1" && find . -type f | sed 's|^\./||' | LC_ALL=C sort)
  [ "$found" = "$expected" ] ||
    fail "$(printf 'installed:\n%s\nexpected:\n%s' "$found" "$expected")"
}

"$cmake" --build "$build_dir" ${config:+--config "$config"} --target cuckoo_static cuckoo_library \
  >"$work_dir/log" 2>&1 || {
  cat "$work_dir/log"
  fail 'libcuckoo.a and libcuckoo_core.a were not built'
}
prefix=$work_dir/prefix
install_build --prefix "$prefix"
check_tree "$prefix"

DESTDIR=$work_dir/destdir install_build --prefix /opt/cuckoo
check_tree "$work_dir/destdir/opt/cuckoo"

install_build --prefix "$work_dir/extension" --component extension
[ "$(cd "$work_dir/extension" && find . -type f -not -path './share/doc/*')" = "./$libdir/$module" ] ||
  fail "component extension: not just the module and its licence"

"$@" -Wall -Wextra -Wpedantic -Werror -I "$prefix/$includedir" "$here/consumer.cpp" \
  -L "$prefix/$libdir" -lcuckoo -lsqlite3 -lcrypto -o "$work_dir/consumer"
linked=$("$work_dir/consumer")
loaded=$("$work_dir/consumer" "$prefix/$libdir/$module")
if [ -z "$linked" ] || [ "$linked" != "$loaded" ]; then
  fail "cuckoo_version() linked in: '$linked', loaded: '$loaded'"
fi

# From C: the libraries that c++ would add must be named.
if cc=$(command -v "${CC:-cc}"); then
  "$cc" -std=c99 -Wall -Wextra -Wpedantic -Werror -I "$prefix/$includedir" "$here/consumer.c" \
    -L "$prefix/$libdir" -lcuckoo -lsqlite3 -lcrypto -lstdc++ -lm -o "$work_dir/c_consumer"
  in_c=$("$work_dir/c_consumer")
  [ "$in_c" = "$linked" ] || fail "cuckoo_version() in C: '$in_c'"
else
  echo 'no C compiler: nothing linked from C'
fi

by_tools() {  # by_tools prefix folder
  mkdir "$work_dir/$2"
  PKG_CONFIG_PATH=$1/$libdir/pkgconfig build_consumers "$cmake" "$work_dir/$2" "$linked" \
    -DCMAKE_PREFIX_PATH="$1" || fail "not linked with what is in $1"
}
if command -v pkg-config >/dev/null; then
  by_tools "$prefix" installed
  "$here/cpp_test.sh" "$prefix" "$cmake" "$1" || fail 'the library for programs in C++'
  mv "$prefix" "$work_dir/elsewhere"
  by_tools "$work_dir/elsewhere" moved
else
  echo 'no pkg-config: not used'
fi

# As a part of another build, the target has the same name. Configured alone: built it is elsewhere.
# The program in C is told what the C++ compiler would add, if it is linked by the C compiler.
languages=(cpp)
! command -v "${CC:-cc}" >/dev/null || languages+=(c)
for language in "${languages[@]}"; do
  "$cmake" -S "$here" -B "$work_dir/in_$language" -DCONSUMER="$language" \
    -DSUBPROJECT="$here/../.." -DCMAKE_CXX_COMPILER="$1" \
    >"$work_dir/log" 2>&1 || {
    cat "$work_dir/log"
    fail "add_subdirectory failed in a project in $language"
  }
done
if [ -e "$work_dir/in_c" ]; then
  grep -rqE --include=link.txt --include=build.ninja 'libcuckoo\.a.* -lstdc\+\+ +-lm' \
    "$work_dir/in_c" || fail 'add_subdirectory, from C: the C++ library is not linked'
fi
printf 'version %s, linked in (C++, C) and loaded\n' "$linked"
