#!/usr/bin/env bash
# The long version of the flash store's power cuts, for as long as it takes. For each seed:
#
# - the library's store, on a device that loses what was not synced, in any order, and kill -9, 100
#   times: CUCKOO_SEED=<seed> core_tests --gtest_filter='*FlashPower.*:FlashKill.*' does it again.
# - tests/core/flash/power_cut_test.cpp: every step of longer workloads in every mode, all cuts
#   inside what comes after some of them, three nested cuts for a sample. Prints how many cuts each
#   workload had. A failure prints its id, and the others go on:
#   CUCKOO_FLASH_CUT=<id> core_tests --gtest_filter='*replays'.
#
#   tests/soak_flash.sh [seeds [first seed]]     20 seeds of each kind and geometry, from seed 1
set -euo pipefail

usage='[seeds [first seed]]' default_count=20 targets=(core_tests)
. "$(dirname "${BASH_SOURCE[0]}")/soak_setup.sh"

status=0
# run lines filter: prints those lines as they come, so a run that is stopped says what it did.
run() {
  "$build_dir/tests/core_tests" --gtest_filter="$2" 2>&1 |
    { grep --line-buffered -E "$1" || true; } || status=1
}
for ((seed = first; seed < first + count; ++seed)); do
  export CUCKOO_SEED=$seed
  CUCKOO_FLASH_KILLS=100 run 'CUCKOO_SEED=|Failure|FAILED|ms total' '*FlashPower.a_cut*:FlashKill.*'
  CUCKOO_FLASH_CUTS=all run ' cuts; |CUCKOO_FLASH_CUT=' '*FlashPowerCut.*'
done
exit "$status"
