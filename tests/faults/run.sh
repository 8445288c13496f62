#!/usr/bin/env bash
# Faults, by SQLite's own means: memory, I/O, a full disk, files that can't be opened, shared
# memory, interrupts, power cuts, each at every point where it can come, through all kinds of tables
# with an ordinary table beside each. Builds SQLite's testfixture the first time (a minute or two,
# with the network), in build/faults or build/faults-newest.
#
#   tests/faults/run.sh                      at most 1000 points of a scenario and kind, an hour
#   tests/faults/run.sh --all                every point, hours
#   tests/faults/run.sh --short              five points of each, a minute
#   tests/faults/run.sh --newest [--…]       with Debian's newest SQLite, not the system's
#   tests/faults/run.sh [--…] FILE …         only tests/faults/FILE.test
#
# A failure prints what replays it: CUCKOO_ONLY="scenario kind point" tests/faults/run.sh FILE
# JOBS=n: so many files at a time (2). BUILD_DIR=dir: where the module is built (build/release).
set -euo pipefail

points=1000 suite=()
while [[ ${1-} == -* ]]; do
  case $1 in
    --short) points=5 ;;
    --all) points=0 ;;
    --newest) suite=(sid) ;;
    *)
      echo "usage: $0 [--newest] [--short | --all] [FILE …]" >&2
      exit 2
      ;;
  esac
  shift
done

build_dir=$(realpath -m "${BUILD_DIR:-$(dirname "${BASH_SOURCE[0]}")/../../build/release}")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/install.sh
. tests/faults/fixture.sh

fixture_dir=$PWD/build/faults${suite:+-newest}
if [ ! -x "$fixture_dir/testfixture" ]; then
  ensure_packages "${fixture_packages[@]}"
  echo 'building testfixture'
  build_fixture "$fixture_dir" "${suite[@]}"
fi
ensure_packages "${build_packages[@]}"
[ -e "$build_dir/CMakeCache.txt" ] || cmake --preset release -B "$build_dir" >/dev/null
cmake --build "$build_dir" --target cuckoo >/dev/null

files=("$@")
[ "$#" -gt 0 ] || files=(filter schema files exact crash loading)
for file in "${files[@]}"; do
  if [ ! -e "tests/faults/$file.test" ]; then
    echo "no such file: tests/faults/$file.test" >&2
    exit 2
  fi
done

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

# Each file in a folder of its own. One that ends without its last line crashed.
run_file() {
  local file=$1 rc=0
  mkdir "$results/$file"
  (
    cd "$results/$file"
    exec "$fixture_dir/testfixture" "$root/tests/faults/$file.test" >../"$file.log" 2>&1 </dev/null
  ) || rc=$?
  if ! grep -q '^total refusals' "$results/$file.log"; then
    printf 'FAILED: CUCKOO_ONLY="%s": crashed (%d)\n' \
      "$(cat "$results/$file/current" 2>/dev/null)" "$rc" >>"$results/$file.log"
  fi
  grep -v '^total' "$results/$file.log" || true
}
export -f run_file
export results fixture_dir root=$PWD
export CUCKOO_EXTENSION=$build_dir/cuckoo.so CUCKOO_POINTS=$points

start=$SECONDS
printf '%s\n' "${files[@]}" | xargs -P "${JOBS:-2}" -I '{}' bash -c 'run_file {}'

printf '\n%-24s %8s %9s\n' fault trials injected
cat "$results"/*.log | awk '
  /^total crashes/ { crashes += $3; next }
  /^total refusals/ { refusals += $3; lost += $5; next }
  /^total/ { trials[$2] += $3; faults[$2] += $5; all += $3; injected += $5 }
  END {
    for (kind in trials) printf "%-24s %8d %9d\n", kind, trials[kind], faults[kind] | "sort"
    close("sort")
    printf "%-24s %8d %9d\n", "all", all, injected
    printf "%d power cuts; %d times a table refused use until a roll-back", crashes, refusals
    printf "; %d times SQLite lost an error of its own\n", lost
  }'
failed=$(cat "$results"/*.log | grep -c '^FAILED' || true)
printf '%d failed, %d s\n' "$failed" $((SECONDS - start))
[ "$failed" -eq 0 ]
