#!/usr/bin/env bash
# Reads core/ and ext/ with clang-tidy (.clang-tidy). A source is read again when it, a header that it
# includes, the configuration or the tool changed since it was found clean, in any clone on this machine.
#
# BUILD_DIR=dir has the compilation database; it is build/release else.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tests/passed.sh
build_dir=${BUILD_DIR:-build/release}
tidy=$(command -v clang-tidy-14 || command -v clang-tidy)
database=$build_dir/lint
mkdir -p "$database"
configuration=$({ "$tidy" --version; cat .clang-tidy; } | sha256sum)

# Without precompiled headers, so that a source that lacks an #include is found.
sed -E 's/ -Winvalid-pch| -include [^ "]*cmake_pch\.hxx| -fpch-preprocess//g' \
  "$build_dir/compile_commands.json" >"$database/compile_commands.json"

# A source with all that it includes of ours, as one number.
state_of() {
  {
    echo "$configuration"
    "${CXX:-c++}" -std=c++20 -I. -Icore/include -MM "$1" | tr -d '\\' | tr -s ' ' '\n' | grep -E '^(core|ext)/' |
      sort -u | xargs sha256sum
  } | sha256sum | cut -d ' ' -f 1
}

lint_one() {
  local source=$1 state
  state=$(state_of "$source")
  if has_passed lint "$state"; then
    return 0
  fi
  echo "$source" >>"$database/read"
  if "$tidy" -p "$database" --quiet "$source" 2>&1 | sed -E '/^[0-9]+ warnings? generated\.$/d'; then
    note_passed lint "$state"
  else
    return 1
  fi
}
export -f state_of lint_one
export tidy database configuration

: >"$database/read"
status=0
find core ext -name '*.cpp' -print0 | sort -z |
  xargs -0 -r -n 1 -P 2 bash -o pipefail -c 'lint_one "$1"' bash || status=1
printf '%d sources read, %d unchanged since they were clean\n' "$(wc -l <"$database/read")" \
  $(($(find core ext -name '*.cpp' | wc -l) - $(wc -l <"$database/read")))
exit "$status"
