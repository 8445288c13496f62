#!/usr/bin/env bash
# The library for programs in C++ as it is installed: each header compiles alone, and the programs of
# docs/cpp.md compile and print what the page says, by pkg-config and by find_package.
#
# usage: cpp_test.sh prefix|/ cmake [--asan] compiler...
set -euo pipefail
prefix=${1%/} cmake=$2
shift 2
options=(-std=c++20 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
if [ "${1-}" = --asan ]; then
  options+=(-g -fsanitize=address,undefined -fno-sanitize-recover=all)
  shift
fi
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work_dir=$(mktemp -d)
trap 'rm -rf "$work_dir"' EXIT
[ -z "$prefix" ] || export PKG_CONFIG_PATH=$prefix/lib/pkgconfig:$(printf '%s:' "$prefix"/lib/*/pkgconfig)

fail() {
  printf '%s\n' "$1" >&2
  exit 1
}

# The blocks of ```cpp with a main(), and what the ```text after each says: N.cpp and N.txt.
awk -v dir="$work_dir" '
  /^```/ && inside { inside = ""; next }
  /^```cpp$/ { inside = "cpp"; ++count; next }
  /^```text$/ { inside = "txt"; next }
  /^```/ { inside = "other"; next }
  inside == "cpp" || inside == "txt" { print > (dir "/" count "." inside) }
' "$root/docs/cpp.md"
programs=("$work_dir"/*.cpp)
[ "${#programs[@]}" -ge 2 ] || fail 'docs/cpp.md has no programs'
# The page's filters draw their seed, and one absent key in a thousand seems to be there: not here.
grep -qE '[.]rate = [^,}]+[,}]' "${programs[@]}" || fail 'docs/cpp.md: no filter takes a seed'
sed -i -E 's/([.]rate = [^,}]+)([,}])/\1, .seed = 42\2/' "${programs[@]}"
[ "$(find "$work_dir" -name '*.txt' | wc -l)" -eq "${#programs[@]}" ] ||
  fail 'docs/cpp.md: a program without its output'

read -ra flags < <(pkg-config --cflags sqlite_cuckoo_core)
read -ra libraries < <(pkg-config --libs sqlite_cuckoo_core)
include=$(pkg-config --variable=includedir sqlite_cuckoo_core)
headers=("$include"/cuckoo/*.hpp)
prints() {  # prints program expected what
  local found
  found=$(cd "$work_dir" && "$1" 2>&1) || true
  [ "$found" = "$(<"$2")" ] || fail "$3: $(diff <(printf '%s\n' "$found") "$2" || true)"
}
for compiler in "$@"; do
  for header in "${headers[@]}"; do
    printf '#include <cuckoo/%s>\n' "$(basename "$header")" >"$work_dir/alone.cc"
    "$compiler" "${options[@]}" "${flags[@]}" -fsyntax-only "$work_dir/alone.cc" ||
      fail "$header does not compile alone, by $compiler"
  done
  echo '#include <cuckoo/cuckoo_filter.hpp>' >"$work_dir/old.cc"
  told=$("$compiler" -std=c++17 "${flags[@]}" -fsyntax-only "$work_dir/old.cc" 2>&1) || true
  [[ $(grep -m 1 'error' <<<"$told") = *'need C++20: -std=c++20'* ]] ||
    fail "with -std=c++17, $compiler does not begin with what is needed: $told"
  for program in "${programs[@]}"; do
    name=$(basename "$program" .cpp)
    "$compiler" "${options[@]}" "${flags[@]}" "$program" "${libraries[@]}" \
      -o "$work_dir/by_pkg_config" || fail "docs/cpp.md, program $name: $compiler"
    prints "$work_dir/by_pkg_config" "$work_dir/$name.txt" "docs/cpp.md, program $name, by $compiler"
  done
  cat >"$work_dir/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.20)
project(programs LANGUAGES CXX)
find_package(sqlite_cuckoo REQUIRED COMPONENTS core)
file(GLOB programs ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
foreach(program IN LISTS programs)
  get_filename_component(name ${program} NAME_WE)
  add_executable(program_${name} ${program})
  target_link_libraries(program_${name} PRIVATE sqlite_cuckoo::core)
endforeach()
EOF
  rm -rf "$work_dir/build"
  "$cmake" -S "$work_dir" -B "$work_dir/build" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_FLAGS="${options[*]:1}" >"$work_dir/log" 2>&1 &&
    "$cmake" --build "$work_dir/build" >>"$work_dir/log" 2>&1 || {
    cat "$work_dir/log"
    fail "docs/cpp.md, by find_package and $compiler"
  }
  for program in "${programs[@]}"; do
    name=$(basename "$program" .cpp)
    prints "$work_dir/build/program_$name" "$work_dir/$name.txt" "program $name, by find_package"
  done
done
printf '%d headers and %d programs, by %s\n' "${#headers[@]}" "${#programs[@]}" "$*"
