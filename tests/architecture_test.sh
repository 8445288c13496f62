#!/usr/bin/env bash
# Reads the sources and checks what the compiler doesn't: who may include whom, that no file is
# dead or untested, and that none has grown too long. Prints every violation.
set -euo pipefail
export LC_ALL=C.UTF-8  # columns are characters
cd "$(dirname "${BASH_SOURCE[0]}")/.."
shopt -s nullglob globstar

max_lines=700
max_columns=100

# A core source without a test of its own: ["core/name.cpp"]="the reason".
declare -A untested=(
  ["core/cuckoo_filter_check.cpp"]="a part of the class in cuckoo_filter.hpp: cuckoo_filter_test.cpp"
  ["core/logged_filter_check.cpp"]="a part of the class in logged_filter.hpp: logged_filter_test.cpp"
  ["core/logged_filter_rebuild.cpp"]="a part of the class in logged_filter.hpp: logged_filter_test.cpp"
)
for part in check checkpoint collect log mount replay; do
  untested["core/flash_store_$part.cpp"]="a part of the class in flash_store.hpp: flash_store_test.cpp"
done

violations=0
violation() {
  printf '%s\n' "$1"
  violations=$((violations + 1))
}

# violations_in "what is wrong" "regular expression" files...
violations_in() {
  local what=$1 pattern=$2 line
  shift 2
  [ "$#" -gt 0 ] || return 0
  while IFS= read -r line; do
    violation "$what: $line"
  done < <(grep -nHE -- "$pattern" "$@" || true)
}

include='^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]'

core=(core/*.cpp core/*.hpp core/*.h)
ext=()
for file in ext/*.cpp ext/*.hpp ext/*.h; do
  [ "$file" = ext/sqlite_api.hpp ] || ext+=("$file")
done
sources=(core/**/*.{cpp,hpp,h} ext/**/*.{cpp,hpp,h} tests/**/*.{cpp,hpp,h})
[ "${#core[@]}" -gt 0 ] || violation "core/ has no sources"

violations_in "core must not include ext" "${include}([^>\"]*/)?ext/" "${core[@]}"
violations_in "core must not include tests" "${include}([^>\"]*/)?tests/" "${core[@]}"
violations_in "core must not know SQLite" "${include}([^>\"]*/)?sqlite" "${core[@]}"
violations_in "only ext/sqlite_api.hpp includes SQLite's headers" \
  "${include}([^>\"]*/)?sqlite3(ext)?\\.h" "${ext[@]}"
violations_in "ext must not include tests" "${include}([^>\"]*/)?tests/" "${ext[@]}"
violations_in "paths in #include start at the root of the repository" "${include}\\.\\.?/" \
  "${sources[@]}"

for header in core/*.hpp ext/*.hpp; do
  users=$(grep -lE -- "${include}${header//./\\.}[>\"]" "${sources[@]}" | grep -vxF "$header" || true)
  [ -n "$users" ] || violation "$header: nobody includes \"$header\""
done

for source in core/*.cpp; do
  name=$(basename "$source" .cpp)
  if [ -n "${untested[$source]-}" ]; then
    [ ! -e "tests/core/${name}_test.cpp" ] ||
      violation "$source: has a test now, take it off the list in $0"
  elif [ ! -e "tests/core/${name}_test.cpp" ]; then
    violation "$source: no tests/core/${name}_test.cpp"
  fi
done

for file in "${sources[@]}"; do
  lines=$(wc -l <"$file")
  [ "$lines" -le "$max_lines" ] || violation "$file: $lines lines, at most $max_lines"
done
violations_in "longer than $max_columns columns" "^.{$((max_columns + 1)),}" "${sources[@]}"
violations_in "trailing space or tab" '[[:space:]]$|	' "${sources[@]}"

printf '%d sources, %d violations\n' "${#sources[@]}" "$violations"
[ "$violations" -eq 0 ]
