#!/usr/bin/env bash
# The long version of the model tests: random scripts in SQL and in core, in Release, for as long as
# it takes. Prints which seeds are done; a failure prints the script, and the others go on. Every
# script is its seed: CUCKOO_SEED=<seed> replays it.
#
#   tests/soak.sh [scripts [first seed]]     20000 scripts of each kind, from seed 1
set -euo pipefail

usage='[scripts [first seed]]' default_count=20000 targets=(core_tests ext_tests)
. "$(dirname "${BASH_SOURCE[0]}")/soak_setup.sh"

# soak name program share filter: all scripts of one kind, a share at a time.
soak() {
  local name=$1 program=$2 share=$3 filter=$4
  local seed=$first end=$((first + count)) start=$SECONDS failed=0 log part bad
  log=$(mktemp)
  while [ "$seed" -lt "$end" ]; do
    part=$((end - seed < share ? end - seed : share))
    if CUCKOO_MODEL_FIRST=$seed CUCKOO_MODEL_SCRIPTS=$part \
      "$program" --gtest_filter="$filter" >"$log" 2>&1; then
      if ! grep -q '^\[  PASSED  \] [1-9]' "$log"; then
        echo "$name: no test is called $filter"
        break
      fi
      seed=$((seed + part))
      printf '%s: seeds %d to %d, %d s\n' "$name" "$first" $((seed - 1)) $((SECONDS - start))
      continue
    fi
    failed=$((failed + 1))
    cat "$log"
    # Each test stops at a seed of its own: go on after the first of them.
    bad=$(sed -nE 's/.*CUCKOO_SEED=([0-9]+).*/\1/p' "$log" | sort -n | head -n 1)
    if [ -z "$bad" ]; then
      echo "$name: stopped between the seeds $seed and $((seed + part - 1))"
      break
    fi
    printf '%s: seed %d FAILED\n' "$name" "$bad"
    seed=$((bad + 1))
  done
  rm -f "$log"
  printf '%s: %d scripts, %d failed, %d s\n' "$name" $((seed - first)) "$failed" \
    $((SECONDS - start))
  [ "$failed" -eq 0 ] && [ "$seed" -eq "$end" ]
}

core_models='*FilterLives.*:*FilterFileChanges.I1_*:*WindowsOfSegments.I1_I4_*'
core_models+=':FlashEndurance.blocks_fail*'
# What ctest leaves out, and all of each test.
status=0
for program in core_tests ext_tests; do
  env -u CUCKOO_SHARE "$build_dir/tests/$program" --gtest_brief=1 || status=1
done

# Both at once: neither uses more than one processor.
soak sql "$build_dir/tests/ext_tests" 100 '*odel.*' &
sql=$!
soak core "$build_dir/tests/core_tests" 20 "$core_models" &
core=$!
wait "$sql" || status=1
wait "$core" || status=1
exit "$status"
