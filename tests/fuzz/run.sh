#!/usr/bin/env bash
# Builds the fuzz targets and runs each from its seeds: one line a target. A crash, a leak, a slow
# input or a large allocation fails the run; the input is kept, and the line says where.
#
#   tests/fuzz/run.sh              20 seconds a target
#   tests/fuzz/run.sh 600          ten minutes a target
#   tests/fuzz/run.sh 60 log_row   one target
#
# The build is in build/fuzz; BUILD_DIR=dir builds there instead. The repository stays as it is:
# what a run finds is in the build directory, <target>.corpus and <target>.log. A run goes on from
# there; remove it to start from the seeds alone.
set -euo pipefail

seconds=${1-20}
only=${2-}
if ! [[ $seconds =~ ^[1-9][0-9]*$ ]] || [ "$#" -gt 2 ]; then
  echo "usage: $0 [SECONDS [TARGET]]" >&2
  exit 2
fi

build_dir=$(realpath -m "${BUILD_DIR:-$(dirname "${BASH_SOURCE[0]}")/../../build/fuzz}")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/install.sh
ensure_packages "${build_packages[@]}" clang libclang-rt-dev

mkdir -p "$build_dir"
build_log=$build_dir/fuzz_build.log
if ! { cmake --preset fuzz -B "$build_dir" && cmake --build "$build_dir" --target fuzz_targets; } \
  >"$build_log" 2>&1; then
  cat "$build_log" >&2
  exit 1
fi

# An input has at most 8 KB, and no decoder allocates more than a small multiple of that at a time.
# A whole filter takes what its root and headers ask for, which has limits of its own, and a ring
# has tables of all slots or ids.
export limits='-max_len=8192 -rss_limit_mb=1024 -timeout=10'
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"

run_target() {
  local target=$1 name=${1%_fuzz} rc=0 units speed input malloc_mb=1
  local log=$build_dir/$target.log found=$build_dir/$target.corpus
  mkdir -p "$found"
  [ "$target" != filter_file_fuzz ] || malloc_mb=80
  [ "$target" != ring_image_fuzz ] || malloc_mb=4
  "$build_dir/tests/$target" $limits -malloc_limit_mb="$malloc_mb" -max_total_time="$seconds" \
    -print_final_stats=1 -artifact_prefix="$build_dir/$target." \
    "$found" "tests/fuzz/corpus/$name" >"$log" 2>&1 || rc=$?
  if [ "$rc" -eq 0 ]; then
    units=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    speed=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
    printf '%-22s ok      %s runs in %s s, %s a second\n' "$target" "$units" "$seconds" "$speed"
  else
    input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
    printf '%-22s FAILED  %s; input: %s\n' "$target" "$log" "${input:-none}"
    grep -m 3 -E 'ERROR|SUMMARY|not true|runtime error' "$log" || tail -n 5 "$log"
    return 1
  fi
}
export -f run_target
export build_dir seconds

targets=()
for source in tests/fuzz/*_fuzz.cpp; do
  target=$(basename "$source" .cpp)
  if [ -z "$only" ] || [ "$only" = "${target%_fuzz}" ] || [ "$only" = "$target" ]; then
    targets+=("$target")
  fi
done
if [ "${#targets[@]}" -eq 0 ]; then
  echo "no such target: $only" >&2
  exit 2
fi
printf '%s\0' "${targets[@]}" | xargs -0 -n 1 -P 2 bash -c 'run_target "$1"' bash
