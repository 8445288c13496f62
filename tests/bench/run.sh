#!/usr/bin/env bash
# Installs what is missing, builds for release and runs the benchmarks: bench_core, bench_slot_cache,
# bench_flash, bench_library and bench_ring, then bench_sql; with arguments (--quick, --large, names
# of groups; see sql_bench.cpp) bench_sql alone. The exit code is 1 when a budget is missed.
#
# BUILD_DIR=dir builds there instead of in build/release.
set -euo pipefail

build_dir=$(realpath -m "${BUILD_DIR:-$(dirname "${BASH_SOURCE[0]}")/../../build/release}")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/install.sh
ensure_packages "${build_packages[@]}"

cmake --preset release -B "$build_dir" -DCUCKOO_BUILD_BENCH=ON >/dev/null
cmake --build "$build_dir" --target bench_core bench_slot_cache bench_flash bench_library bench_ring \
  bench_sql

status=0
if [ "$#" -eq 0 ]; then
  "$build_dir/tests/bench_core"
  "$build_dir/tests/bench_slot_cache"
  "$build_dir/tests/bench_flash"
  "$build_dir/tests/bench_library"
  "$build_dir/tests/bench_ring" || status=$?
fi
"$build_dir/tests/bench_sql" "$@" || status=$?
exit "$status"
