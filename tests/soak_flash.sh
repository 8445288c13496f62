#!/usr/bin/env bash
# The long version of the flash store's power cuts (tests/core/flash/power_cut_test.cpp): every step
# of longer workloads in every mode, all cuts inside what comes after some of them, three nested
# cuts for a sample; for as long as it takes. Prints how many cuts each workload had. A failure
# prints its id, and the others go on: CUCKOO_FLASH_CUT=<id> core_tests --gtest_filter='*replays'.
#
#   tests/soak_flash.sh [seeds [first seed]]     20 seeds of each kind and geometry, from seed 1
set -euo pipefail

usage='[seeds [first seed]]' default_count=20 targets=(core_tests)
. "$(dirname "${BASH_SOURCE[0]}")/soak_setup.sh"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
for ((seed = first; seed < first + count; ++seed)); do
  CUCKOO_FLASH_CUTS=all CUCKOO_SEED=$seed "$build_dir/tests/core_tests" \
    --gtest_filter='*FlashPowerCut.*' >"$log" 2>&1 || status=1
  grep -E ' cuts; |CUCKOO_FLASH_CUT=' "$log" || true
done
exit "$status"
