#!/usr/bin/env bash
# Reads core/ and ext/ with clang-tidy (.clang-tidy), all sources as one: it takes half a minute, file
# by file nine. So it sees what a function does that stands in another file. What it can't see is a source
# that lacks an #include: --includes compiles each source by itself for that.
#
#   tests/lint.sh             clang-tidy
#   tests/lint.sh --includes  each source by itself; with CUCKOO_SHARE=n an n-th of them, another one
#                             after each commit
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tests/sources.sh
flags=(-std=c++20 -I. -Icore/include)

if [ "${1-}" = --includes ]; then
  commits=$(git rev-list --count HEAD 2>/dev/null) || commits=0
  mapfile -t files < <(git ls-files 'core/*.cpp' 'ext/*.cpp' |
    awk -v share="${CUCKOO_SHARE:-1}" -v commits="$commits" '(NR + commits) % share == 0')
  # SQLite's allocator, which the extension's operator new asks, aligns to 8 bytes.
  printf '%s\0' "${files[@]}" |
    xargs -0 -n 1 -P 2 "${CXX:-g++}" "${flags[@]}" -faligned-new=8 -fsyntax-only
  printf '%d sources include what they need\n' "${#files[@]}"
  exit
fi

tidy=$(command -v clang-tidy-14 || command -v clang-tidy)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

lint() {  # lint source
  "$tidy" --quiet --config-file=.clang-tidy --checks=-bugprone-suspicious-include "$1" -- "${flags[@]}" -fnew-alignment=8 \
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
