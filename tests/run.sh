#!/usr/bin/env bash
# Installs what is missing, builds, runs every test. The exit code is ctest's.
#
#   tests/run.sh            Release, in build/release
#   tests/run.sh --asan     AddressSanitizer and UBSan, in build/asan
#   tests/run.sh --tsan     ThreadSanitizer, in build/tsan
#   tests/run.sh --threads  the same, of tests/threads alone
#
# AddressSanitizer is in the product: the tests are those of Release, linked with it or loading it. They
# are built in build/release; RELEASE_DIR=dir has them built already.
#
# A random test does a quarter of its work, sanitized a twelfth, with other seeds after each commit; a
# failure names its seed. CUCKOO_SHARE=1 does all, CUCKOO_MODEL_FIRST=s begins at seed s. Sanitized,
# the tests that only measure rates, loads, wear and times are left out.
#
# BUILD_DIR=dir builds there instead; CI=true turns warnings into errors; LEFT_OUT=regex leaves out the
# tests with such names.
set -euo pipefail

preset=release
share=4
compiler=()
options=()
targets=(--target tested)
tests=()
sanitizers=
case "${1-}" in
  '') ;;
  --asan)
    preset=asan
    share=12
    sanitizers=address,undefined
    compiler=(clang libclang-rt-dev)  # it takes a third less time than GCC
    ;;
  --tsan)
    preset=tsan
    share=12
    sanitizers=thread
    ;;
  --threads)
    preset=tsan
    share=12
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
release_werror=OFF
[ "${CI-}" != true ] || release_werror=ON
werror=OFF
[ "$preset" != release ] || werror=$release_werror

cache=$build_dir/CMakeCache.txt
if [ "$preset" = asan ]; then
  release_dir=$(realpath -m "${RELEASE_DIR:-build/release}")
  if [ -z "${RELEASE_DIR-}" ]; then
    cmake --preset release -B "$release_dir" -DCUCKOO_WERROR="$release_werror"
    cmake --build "$release_dir" --target core_tests ext_tests threads_tests
  fi
  options+=(-DCUCKOO_TESTS_OF="$release_dir")
  # Told of another compiler than the folder has, CMake forgets all else that it was told.
  if [ -e "$cache" ] && ! grep -q '^CMAKE_CXX_COMPILER:.*[=/]clang++$' "$cache"; then
    rm -rf "$cache" "$build_dir/CMakeFiles"
  fi
fi
cmake --preset "$preset" -B "$build_dir" -DCUCKOO_WERROR="$werror" "${options[@]}"
if [ -n "$sanitizers" ] && ! grep -q "^CUCKOO_SANITIZE:.*=$sanitizers\$" "$cache"; then
  echo "$build_dir was not configured with CUCKOO_SANITIZE=$sanitizers: remove it" >&2
  exit 1
fi
cmake --build "$build_dir" "${targets[@]}"

export CUCKOO_SHARE="${CUCKOO_SHARE:-$share}"
. tests/share.sh
printf 'CUCKOO_SHARE=%s CUCKOO_MODEL_FIRST=%s\n' "$CUCKOO_SHARE" "$CUCKOO_MODEL_FIRST"

[ -z "${LEFT_OUT-}" ] || tests+=(--exclude-regex "$LEFT_OUT")
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
# A fifth of the time: SQLite allocates much, and in deep stacks.
export ASAN_OPTIONS="${ASAN_OPTIONS:-quarantine_size_mb=32:malloc_context_size=8}"
exec ctest --test-dir "$build_dir" --output-on-failure --no-tests=error --parallel 2 \
  "${tests[@]}"
