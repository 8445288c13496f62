#!/usr/bin/env bash
# What applications do, from end to end, beside plain SQLite: a table of seconds and megabytes.
#
#   tests/bench/tasks.sh [scale]     0.01: does it still run? 1 takes some ten minutes
set -euo pipefail
build_dir=$(realpath -m "${BUILD_DIR:-$(dirname "${BASH_SOURCE[0]}")/../../build/release}")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/install.sh
ensure_packages "${build_packages[@]}" python3 wamerican
cmake --preset release -B "$build_dir" >/dev/null
cmake --build "$build_dir" --target cuckoo >/dev/null
exec /usr/bin/python3 tests/bench/tasks.py "$build_dir/cuckoo" "${1-1}"
