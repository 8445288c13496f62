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
targets=(--target tested)
tests=()
sanitizers=
case "${1-}" in
  '') ;;
  --asan)
    preset=asan
    sanitizers=address,undefined
    compiler=(clang libclang-rt-dev)  # it takes a third less time than GCC
    ;;
  --tsan)
    preset=tsan
    sanitizers=thread
    ;;
  --threads)
    preset=tsan
    sanitizers=thread
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

# Told of another compiler than the folder has, CMake forgets all else that it was told.
cache=$build_dir/CMakeCache.txt
if [ "$preset" = asan ] && [ -e "$cache" ] &&
   ! grep -q '^CMAKE_CXX_COMPILER:.*[=/]clang++$' "$cache"; then
  rm -rf "$cache" "$build_dir/CMakeFiles"
fi
cmake --preset "$preset" -B "$build_dir" -DCUCKOO_WERROR="$werror"
if [ -n "$sanitizers" ] && ! grep -q "^CUCKOO_SANITIZE:.*=$sanitizers\$" "$cache"; then
  echo "$build_dir was not configured with CUCKOO_SANITIZE=$sanitizers: remove it" >&2
  exit 1
fi
cmake --build "$build_dir" "${targets[@]}"

export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
exec ctest --test-dir "$build_dir" --output-on-failure --no-tests=error --parallel 2 \
  "${tests[@]}"
