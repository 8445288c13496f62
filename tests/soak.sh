#!/usr/bin/env bash
# The long version of the model tests: random scripts in SQL and in core, in Release, for as long as
# it takes. Prints which seeds are done; a failure prints the script, and the others go on. Every
# script is its seed: CUCKOO_SEED=<seed> replays it.
#
#   tests/soak.sh [scripts [first seed]]     20000 scripts of each kind, from seed 1
#
# BUILD_DIR=dir builds there instead of in build/release.
set -euo pipefail

scripts=${1:-20000}
first=${2:-1}
case "$scripts$first" in
  *[!0-9]*)
    echo "usage: $0 [scripts [first seed]]" >&2
    exit 2
    ;;
esac

build_dir=$(realpath -m "${BUILD_DIR:-$(dirname "${BASH_SOURCE[0]}")/../build/release}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tests/install.sh
ensure_packages "${build_packages[@]}"

cmake --preset release -B "$build_dir" >/dev/null
cmake --build "$build_dir" --target core_tests ext_tests

# soak name program filter: all scripts of one kind, a share at a time.
soak() {
  local name=$1 program=$2 filter=$3 share=1000
  local seed=$first end=$((first + scripts)) start=$SECONDS failed=0 log count
  log=$(mktemp)
  while [ "$seed" -lt "$end" ]; do
    count=$((end - seed < share ? end - seed : share))
    if CUCKOO_MODEL_FIRST=$seed CUCKOO_MODEL_SCRIPTS=$count \
      "$program" --gtest_filter="$filter" >"$log" 2>&1; then
      seed=$((seed + count))
      printf '%s: seeds %d to %d, %d s\n' "$name" "$first" $((seed - 1)) $((SECONDS - start))
      continue
    fi
    failed=$((failed + 1))
    cat "$log"
    if ! [[ $(grep -oE 'CUCKOO_SEED=[0-9]+' "$log") =~ =([0-9]+) ]]; then
      echo "$name: stopped between the seeds $seed and $((seed + count - 1))"
      break
    fi
    printf '%s: seed %d FAILED\n' "$name" "${BASH_REMATCH[1]}"
    seed=$((BASH_REMATCH[1] + 1))
  done
  rm -f "$log"
  printf '%s: %d scripts, %d failed, %d s\n' "$name" $((seed - first)) "$failed" \
    $((SECONDS - start))
  [ "$failed" -eq 0 ]
}

# Both at once: neither uses more than one processor.
soak sql "$build_dir/tests/ext_tests" '*odel.*' &
sql=$!
soak core "$build_dir/tests/core_tests" '*Model.*' &
core=$!
status=0
wait "$sql" || status=1
wait "$core" || status=1
exit "$status"
