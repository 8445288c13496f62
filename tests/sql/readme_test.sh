#!/usr/bin/env bash
# The README against the extension: each ```sql block is run in the sqlite3 shell and gives the text
# of the ```text block that follows, or none; the tables of options, commands, functions and columns
# are those the extension names itself; the files and headings it points to are there.
# usage: readme_test.sh sqlite3 cuckoo.so ["libraries to preload"]
set -euo pipefail
export LC_ALL=C.UTF-8
shell=$1 extension=$2 preload=${3-}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readme=$root/README.md

work_dir=$(mktemp -d)
trap 'rm -rf "$work_dir"' EXIT
cd "$work_dir"
failures=0

run() {  # run database <script: the shell's output, errors included
  env HOME="$work_dir" XDG_CONFIG_HOME="$work_dir" ${preload:+LD_PRELOAD="$preload"} \
    "$shell" -batch -cmd ".load $extension" "$1" 2>&1 || true
}
compare() {  # compare what expected-file actual-file
  if diff -u --label README.md --label 'the extension' "$2" "$3"; then
    printf 'ok      %s\n' "$1"
  else
    printf 'FAILED  %s\n' "$1"
    failures=$((failures + 1))
  fi
}

# --- examples: 1.sql and 1.text, …

awk '
  /^```/ && !inside { inside = 1; language = substr($0, 4)
    if (language == "sql") { ++pairs; file = pairs ".text"; printf "" >file; file = pairs ".sql" }
    else if (language == "text" && last == "sql") file = pairs ".text"
    else file = ""
    if (file != "") printf "" >file
    next }
  /^```/ { inside = 0; last = language; next }
  inside { if (file != "") print >file; next }
  NF { last = "" }
' "$readme"
examples=0
for expected in *.text; do
  [ -e "$expected" ] || continue
  examples=$((examples + 1))
  run "$examples.db" <"${expected%.text}.sql" >actual
  compare "example $examples" "$expected" actual
done
if [ "$examples" -eq 0 ]; then
  echo 'FAILED  no example with its output'
  failures=$((failures + 1))
fi

# --- tables

first_cells() {  # first_cells heading: the first column of the table whose first heading that is
  awk -F'|' -v heading=" $1 " '
    $2 == heading { inside = 1; getline; next }
    !/^\|/ { inside = 0 }
    inside { print $2 }
  ' "$readme"
}
names() { grep -oE "$1" | LC_ALL=C sort; }

check_module() {  # check_module module other: an option that only one of them has is marked "(cuckoo)"
  first_cells option | grep -v "(${2%_filter})" | sed 's/(.*//' | names '[a-z_]+' >expected
  run :memory: <<<"CREATE VIRTUAL TABLE x USING $1(nothing = 1);" |
    sed 's/.*the options are//' | names '[a-z_0-9]+' >actual
  compare "options of $1" expected actual

  first_cells command | grep -oE "'[a-z]+'" | names '[a-z]+' >expected
  run :memory: <<<"CREATE VIRTUAL TABLE x USING $1(); INSERT INTO x(x) VALUES ('nothing');" |
    sed 's/.*the commands are//' | names '[a-z]+' >actual
  compare "commands of $1" expected actual
}
check_module cuckoo_filter bloom_filter
check_module bloom_filter cuckoo_filter

check_options() {  # check_options module: the options in its own table
  first_cells "$1 option" | names '[a-z_]+' >expected
  run :memory: <<<"CREATE VIRTUAL TABLE x USING $1(nothing = 1);" |
    sed 's/.*the options are//' | names '[a-z_0-9]+' >actual
  compare "options of $1" expected actual
}
check_options flash_kv
check_options hash_ring
first_cells 'flash_kv command' | grep -oE "'[a-z]+'" | names '[a-z]+' >expected
run :memory: <<<"CREATE VIRTUAL TABLE x USING flash_kv(k, v); INSERT INTO x(x) VALUES ('nothing');" |
  sed 's/.*the commands are//' | names '[a-z]+' >actual
compare 'commands of flash_kv' expected actual

# A function by its name and how many arguments it takes, a table-valued one by its name.
first_cells 'function' | tr -d '\140 ' | awk '
  { name = $0; sub(/\(.*/, "", name)
    if (name ~ /^(filter_info|flash_kv_info|flash_kv_sectors|hash_ring_moves)$/) { print name; next }
    arguments = $0; gsub(/^[^(]*\(|\).*$/, "", arguments)
    most = arguments == "" ? 0 : gsub(/,/, ",", arguments) + 1
    for (least = most - gsub(/\[/, "", arguments); least <= most; ++least) print name "/" least }
' | LC_ALL=C sort >expected
catalogue="SELECT DISTINCT name || '/' || narg FROM pragma_function_list
  UNION SELECT name FROM pragma_module_list;"
env HOME="$work_dir" "$shell" -batch :memory: "$catalogue" | LC_ALL=C sort >without
run :memory: <<<"$catalogue" | LC_ALL=C sort | comm -13 without - |
  grep -vxE '(cuckoo|bloom)_filter|flash_kv|hash_ring' >actual
compare functions expected actual

check_columns() {  # check_columns function
  awk -v start="^Columns of .$1." '$0 ~ start { inside = 1 } !NF { inside = 0 } inside' "$readme" |
    grep -oE $'\140[a-z_]+\140' | tr -d '\140' | grep -vx "$1" | LC_ALL=C sort >expected
  run :memory: <<<"SELECT name FROM pragma_table_xinfo('$1') WHERE hidden = 0;" |
    LC_ALL=C sort >actual
  compare "columns of $1" expected actual
}
check_columns filter_info
check_columns flash_kv_info
check_columns flash_kv_sectors

# --- figures: each number of sql/12_disk.expected is in the README

figures=$(grep -oE '\| +[0-9]+\.[0-9]+ ' "$root/sql/12_disk.expected" | grep -oE '[0-9.]+' || true)
if [ -z "$figures" ]; then
  echo 'FAILED  no figures in sql/12_disk.expected'
  failures=$((failures + 1))
fi
for figure in $figures; do
  if ! grep -qE "(^|[^0-9.])${figure//./\\.}([^0-9.]|\$|\.)" "$readme"; then
    echo "FAILED  figure $figure of sql/12_disk.expected is not in the README"
    failures=$((failures + 1))
  fi
done

# --- links

while IFS= read -r link; do
  if [ ! -e "$root/$link" ]; then
    echo "FAILED  link to $link"
    failures=$((failures + 1))
  fi
done < <(grep -oE '\]\([^)#]+' "$readme" | cut -c3- | grep -v '^https:')

anchors() {  # anchors file: of its headings, as GitHub makes them
  sed -nE 's/^#+ +//p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}
while IFS='#' read -r file anchor; do
  if ! anchors "$root/${file:-README.md}" | grep -qx -- "$anchor"; then
    echo "FAILED  link to $file#$anchor"
    failures=$((failures + 1))
  fi
done < <(grep -oE '\]\([^)]*#[^)]+' "$readme" | cut -c3- | grep -v '^https:')

printf '%d failures\n' "$failures"
[ "$failures" -eq 0 ]
