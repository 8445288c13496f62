#!/usr/bin/env bash
# Plants the faults of tests/mutants.txt in a copy of the sources, one at a time, and tells which test
# finds each: how strong are the tests? It takes one to five minutes a fault.
#
#   tests/mutants.sh            all faults
#   tests/mutants.sh 3 17       faults 3 and 17
#   tests/mutants.sh --check    builds nothing; fails if a fault has lost its place in the sources
#
# The tests of the changed source's own test file run first, then all of core and ext; for a source of
# ext, those of ext alone. The exit code is 0 if all faults are found. The copy and its build are in
# build/mutants; BUILD_DIR=dir puts them there.
set -euo pipefail

build_dir=$(realpath -m "${BUILD_DIR:-$(dirname "${BASH_SOURCE[0]}")/../build/mutants}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD list=$root/tests/mutants.txt total=$(grep -c '^# ' "$root/tests/mutants.txt")
copy=$build_dir/source out=$copy/build/release  # where a clone has it, so that ccache knows the files

wanted=("$@")
if [ "$#" -eq 0 ] || [ "$1" = --check ]; then
  mapfile -t wanted < <(seq "$total")
fi
for number in "${wanted[@]}"; do
  if ! [[ $number =~ ^[1-9][0-9]*$ ]] || [ "$number" -gt "$total" ]; then
    echo "usage: $0 [--check | NUMBER...]: from 1 to $total" >&2
    exit 2
  fi
done

# Files that are the same keep their time: only what changed is built again.
copy_sources() {
  local file
  while IFS= read -r -d '' file; do
    if [ -f "$file" ] && ! cmp -s "$file" "$copy/$file"; then
      mkdir -p "$copy/$(dirname "$file")"
      cp "$file" "$copy/$file"
    fi
  done < <(git ls-files -z --cached --others --exclude-standard)
  while IFS= read -r -d '' file; do  # CMake takes every source that is there
    [ -f "$file" ] || rm -f "$copy/$file"
  done < <(cd "$copy" && find . -path ./build -prune -o -type f -printf '%P\0')
}

# faults check folder: each must be in its file once. faults plant folder number: prints the file's name
# and what the fault is.
faults() {
  python3 - "$list" "$@" <<'PYTHON'
import re, sys
listed, action, folder = sys.argv[1:4]
listed = re.split(r'^# ', open(listed).read(), flags=re.M)
for number in map(int, sys.argv[4:]) if action == 'plant' else range(1, len(listed)):
    fault = listed[number].strip('\n').split('\n')
    what, name = fault[:2]
    old = '\n'.join(line[1:] for line in fault if line.startswith('-'))
    new = '\n'.join(line[1:] for line in fault if line.startswith('+'))
    text = open(f'{folder}/{name}').read()
    if not old or text.count(old) != 1:
        sys.exit(f'fault {number}: {name} has it {text.count(old)} times, expected once: {old}')
    if action == 'plant':
        open(f'{folder}/{name}', 'w').write(text.replace(old, new))
        print(name)
        print(what)
PYTHON
}

build() {
  cmake --build "$out" --target cuckoo core_tests ext_tests >"$build_dir/build.log" 2>&1
}

# run program shards filter: prints the first test that fails, or nothing.
run() {
  local program=$1 shards=$2 filter=$3 shard rc
  local pids=()
  for ((shard = 0; shard < shards; ++shard)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard GTEST_FAIL_FAST=1 timeout 1800 \
      "$out/tests/$program" --gtest_brief=1 --gtest_filter="$filter" >"$build_dir/$program.$shard" 2>&1 &
    pids+=($!)
  done
  for ((shard = 0; shard < shards; ++shard)); do
    rc=0
    wait "${pids[shard]}" || rc=$?
    if [ "$rc" -ne 0 ]; then
      sed -n 's/^\[  FAILED  \] \([A-Za-z0-9_/.]*\).*(.*/\1/p' "$build_dir/$program.$shard" | head -n 1 |
        grep . || echo "$program (exit code $rc)"
    fi
  done
}

# own_filter file: the suites of the source's own test files.
own_filter() {
  local tests=tests/${1%.*}
  { cat "$tests"*_test.cpp "$tests"*.test 2>/dev/null || true; } |
    sed -nE 's/^(TYPED_)?TEST(_[FP])?\(([A-Za-z0-9]+),.*/\3.*:*\/\3.*:\3\/*/p; s/^# ([A-Za-z0-9]+)[.].*/\1.*/p' |
    sort -u | paste -sd:
}

find_it() {
  local file=$1 own program found
  own=$(own_filter "$file")
  if [ -n "$own" ]; then
    program=${file%%/*}_tests
    found=$(run "$program" 1 "$own")
    [ -z "$found" ] || { head -n 1 <<<"$found"; return; }
  fi
  for program in core_tests ext_tests; do
    [[ $program = core_tests && $file = ext/* ]] && continue
    found=$(run "$program" 2 '*')
    [ -z "$found" ] || { head -n 1 <<<"$found"; return; }
  done
}

faults check "$root"
[ "${1-}" != --check ] || exit 0
. tests/install.sh
ensure_packages "${build_packages[@]}" python3
mkdir -p "$copy"
copy_sources
cmake --preset release -S "$copy" -B "$out" >"$build_dir/build.log" 2>&1 || {
  cat "$build_dir/build.log" >&2
  exit 1
}
build || {
  cat "$build_dir/build.log" >&2
  exit 1
}

missed=0 broken=0
for number in "${wanted[@]}"; do
  planted=$(faults plant "$copy" "$number")
  file=${planted%%$'\n'*} what=${planted#*$'\n'}
  if build; then
    found=$(find_it "$file")
    [ -n "$found" ] || missed=$((missed + 1))
    printf '%2d  %-32s %-58s %s\n' "$number" "$file" "$what" "${found:-NOT FOUND}"
  else
    broken=$((broken + 1))
    printf '%2d  %-32s %-58s %s\n' "$number" "$file" "$what" 'DOES NOT COMPILE'
    grep -m 3 'error' "$build_dir/build.log" >&2 || true
  fi
  cp "$root/$file" "$copy/$file"
done
printf '%d of %d found\n' $((${#wanted[@]} - missed - broken)) "${#wanted[@]}"
[ $((missed + broken)) -eq 0 ]
