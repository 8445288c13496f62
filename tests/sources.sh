# shellcheck shell=bash
# Sourced, in the repository's folder. one_unit prints a source that includes all of core and ext, so that
# a compiler reads them as one. Left out are the sources in `apart`: core/library, whose FlashGeometry is
# not core/flash's, and operator new, which the module alone has.
apart=(core/library/*.cpp ext/sqlite/allocation.cpp)

one_unit() {
  find core ext -name '*.cpp' | LC_ALL=C sort | grep -vxF "$(printf '%s\n' "${apart[@]}")" |
    sed 's|.*|#include "&"|'
}
