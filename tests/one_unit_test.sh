#!/usr/bin/env bash
# Compiles core and ext as one unit: two sources that call different things the same are an error there.
# usage: one_unit_test.sh compiler flag…
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tests/sources.sh
one_unit | "$@" -x c++ -fsyntax-only -I. -Icore/include -Wall -Wextra -Wpedantic -
