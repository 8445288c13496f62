#!/usr/bin/env bash
# Installs what is missing, builds, runs every test. The exit code is ctest's.
#
#   tests/run.sh            Release, in build/release
#   tests/run.sh --asan     AddressSanitizer and UBSan, in build/asan
#   tests/run.sh --tsan     ThreadSanitizer, in build/tsan
#   tests/run.sh --threads  the same, of tests/threads alone
#
# Sanitized, the tests that only measure rates, loads and wear are left out.
#
# BUILD_DIR=dir builds there instead; CI=true turns warnings into errors.
set -euo pipefail

preset=release
compiler=()
targets=()
tests=()
case "${1-}" in
  '') ;;
  --asan)
    preset=asan
    compiler=(clang libclang-rt-dev)  # it takes a third less time than GCC
    ;;
  --tsan) preset=tsan ;;
  --threads)
    preset=tsan
    targets=(--target threads_tests)
    tests=(--tests-regex '^threads\.')
    ;;
  *)
    echo "usage: $0 [--asan | --tsan | --threads]" >&2
    exit 2
    ;;
esac

build_dir=$(realpath -m "${BUILD_DIR:-$(dirname "${BASH_SOURCE[0]}")/../build/$preset}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tests/install.sh
ensure_packages "${build_packages[@]}" "${compiler[@]}" wamerican  # words for sql/04_spelling.sql

# GCC's own advice: with sanitizers, warnings that follow the data flow are not to be relied on.
werror=OFF
if [ "${CI-}" = true ] && [ "$preset" = release ]; then
  werror=ON
fi

cmake --preset "$preset" -B "$build_dir" -DCUCKOO_WERROR="$werror"
cmake --build "$build_dir" "${targets[@]}"

export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
exec ctest --test-dir "$build_dir" --output-on-failure --no-tests=error --parallel 2 \
  "${tests[@]}"
