#!/usr/bin/env bash
# The long version of the flash store's power cuts (tests/core/flash_power_cut_test.cpp): every step
# of longer workloads in every mode, all cuts inside what comes after some of them, three nested
# cuts for a sample; for as long as it takes. Prints how many cuts each workload had. A failure
# prints its id, and the others go on: CUCKOO_FLASH_CUT=<id> core_tests --gtest_filter='*replays'.
#
#   tests/soak_flash.sh [seeds [first seed]]     20 seeds of each kind and geometry, from seed 1
#
# BUILD_DIR=dir builds there instead of in build/release.
set -euo pipefail

seeds=${1:-20}
first=${2:-1}
case "$seeds$first" in
  *[!0-9]*)
    echo "usage: $0 [seeds [first seed]]" >&2
    exit 2
    ;;
esac

build_dir=$(realpath -m "${BUILD_DIR:-$(dirname "${BASH_SOURCE[0]}")/../build/release}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tests/install.sh
ensure_packages "${build_packages[@]}"

cmake --preset release -B "$build_dir" >/dev/null
cmake --build "$build_dir" --target core_tests

log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
for ((seed = first; seed < first + seeds; ++seed)); do
  CUCKOO_FLASH_CUTS=all CUCKOO_SEED=$seed "$build_dir/tests/core_tests" \
    --gtest_filter='*Flash_power_cut.*' >"$log" 2>&1 || status=1
  grep -E ' cuts; |CUCKOO_FLASH_CUT=' "$log" || true
done
exit "$status"
