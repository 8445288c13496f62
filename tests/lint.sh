#!/usr/bin/env bash
# Reads core/ and ext/ with clang-tidy (.clang-tidy), each source that changed since it was last found
# clean, or includes a header that did; all of them when the configuration or the tool changed.
#
# BUILD_DIR=dir has the compilation database and remembers what is clean; it is build/release else.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build_dir=${BUILD_DIR:-build/release}
tidy=$(command -v clang-tidy-14 || command -v clang-tidy)
clean=$build_dir/lint
mkdir -p "$clean"
configuration=$({ "$tidy" --version; cat .clang-tidy; } | sha256sum)

# A source with all that it includes of ours, as one number.
state_of() {
  {
    echo "$configuration"
    "${CXX:-c++}" -std=c++20 -I. -MM "$1" | tr -d '\\' | tr -s ' ' '\n' | grep -E '^(core|ext)/' |
      sort -u | xargs sha256sum
  } | sha256sum
}

lint_one() {
  local source=$1 mark=$clean/${1//\//_} state
  state=$(state_of "$source")
  if [ -e "$mark" ] && [ "$(cat "$mark")" = "$state" ]; then
    return 0
  fi
  echo "$source" >>"$clean/read"
  if "$tidy" -p "$build_dir" --quiet "$source" 2>&1 | sed -E '/^[0-9]+ warnings? generated\.$/d'; then
    echo "$state" >"$mark"
  else
    return 1
  fi
}
export -f state_of lint_one
export tidy clean configuration build_dir

: >"$clean/read"
status=0
find core ext -name '*.cpp' -print0 | sort -z |
  xargs -0 -r -n 1 -P 2 bash -o pipefail -c 'lint_one "$1"' bash || status=1
printf '%d sources read, %d unchanged since they were clean\n' "$(wc -l <"$clean/read")" \
  $(($(find core ext -name '*.cpp' | wc -l) - $(wc -l <"$clean/read")))
exit "$status"
