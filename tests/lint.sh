#!/usr/bin/env bash
# Reads core/ and ext/ with clang-tidy (.clang-tidy), all sources as one: it takes half a minute, file
# by file nine. So it sees what a function does that stands in another file. What it can't see is a source
# that lacks an #include, or has a using declaration that it doesn't use: --includes reads each source by
# itself for that.
#
#   tests/lint.sh             clang-tidy
#   tests/lint.sh --includes  each source by itself; with CUCKOO_SHARE=n an n-th of them, another one
#                             after each commit, and those that the last commit changed
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tests/sources.sh
flags=(-std=c++20 -I. -Icore/include)

tidy=$(command -v clang-tidy-14 || command -v clang-tidy)
if [ "${1-}" = --includes ]; then
  . tests/share.sh
  mapfile -t files < <({
    git ls-files 'core/*.cpp' 'ext/*.cpp' |
      awk -v share="${CUCKOO_SHARE:-1}" -v first="$CUCKOO_MODEL_FIRST" '(NR + first) % share == 0'
    git diff --name-only --diff-filter=d HEAD~1 -- 'core/*.cpp' 'ext/*.cpp' 2>/dev/null || true
  } | sort -u)
  printf '%s\0' "${files[@]}" |
    xargs -0 -n 1 -P 2 sh -c '"$0" --quiet --config={} --checks="-*,misc-unused-using-decls,misc-unused-alias-decls,google-global-names-in-headers" --warnings-as-errors="*" "$4" -- "$1" "$2" "$3" -fnew-alignment=8 2>/dev/null' \
      "$tidy" "${flags[@]}"
  printf '%d sources include what they need\n' "${#files[@]}"
  exit
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

lint() {  # lint source
  "$tidy" --quiet --config-file=.clang-tidy --checks=-bugprone-suspicious-include,-google-global-names-in-headers "$1" -- "${flags[@]}" -fnew-alignment=8 \
    2> >(sed -E '/^[0-9]+ warnings? generated\.$/d' >&2)
}

one_unit >"$folder/all.cpp"
status=0
lint "$folder/all.cpp" &
all=$!
for source in "${apart[@]}"; do
  lint "$source" || status=1
done
wait "$all" || status=1
exit "$status"
