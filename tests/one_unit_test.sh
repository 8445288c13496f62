#!/usr/bin/env bash
# Compiles core and ext as one unit: two sources that call different things the same are an error there.
# usage: one_unit_test.sh compiler flag…
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tests/sources.sh
command=()
for word in "$@"; do
  [ -z "$word" ] || command+=("$word")  # CMake gives an empty one for a flag that is off
done
one_unit | "${command[@]}" -x c++ -fsyntax-only -I. -Icore/include -Wall -Wextra -Wpedantic -
