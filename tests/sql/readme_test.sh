#!/usr/bin/env bash
# README.md and docs/ against the extension: each ```sql block is run in the sqlite3 shell and gives
# the text of the ```text block that follows, or none (```sql unloaded: in a shell that has not loaded
# the extension; ```python tested: what the program prints, and what it fails with); the tables of options, commands, functions and
# columns are those the extension names itself; figures are those that were measured; the files and
# headings that a document points to are there, and so is what the tour of the code names.
#
# All blocks of a document see one database, my.db, each in a connection of its own. `.load cuckoo`
# finds the extension, as where it is installed. What the shell puts before and after the text of an
# error differs from version to version: it is compared as "Error: ", and what points into the
# statement is left out.
# usage: readme_test.sh sqlite3 cuckoo.so ["libraries to preload"]
set -euo pipefail
export LC_ALL=C.UTF-8
shell=$1 extension=$2 preload=${3-}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
mapfile -t documents < <(find . -name '*.md' -not -path './build/*' -not -path './.*' \
  -not -path '*/node_modules/*' |
  cut -c3- | LC_ALL=C sort)

work_dir=$(mktemp -d)
trap 'rm -rf "$work_dir"' EXIT
cd "$work_dir"
failures=0

fail() {
  printf 'FAILED  %s\n' "$1"
  failures=$((failures + 1))
}
libraries=$(dirname "$extension")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
shell_on() {  # shell_on database [argument …] <script: the shell's output, errors included
  env HOME="$work_dir" XDG_CONFIG_HOME="$work_dir" LD_LIBRARY_PATH="$libraries" \
    ${preload:+LD_PRELOAD="$preload"} "$shell" -batch "${@:2}" "$1" 2>&1 || true
}
run() {  # run database <script: with the extension
  # Newer shells are defensive if not told otherwise.
  shell_on "$1" -cmd '.output /dev/null' -cmd '.dbconfig defensive off' -cmd .output \
    -cmd ".load $extension"
}
run_python() {  # run_python file: what it prints, and the last line of what it says of an error
  LD_LIBRARY_PATH=$libraries "$python" -I "$1" 2>errors || true
  tail -n 1 errors
}
compare() {  # compare what expected-file actual-file
  if diff -u --label 'the document' --label 'the extension' "$2" "$3"; then
    printf 'ok      %s\n' "$1"
  else
    fail "$1"
  fi
}

# --- examples: 1.sql and 1.text, …

# A Python that can load the extension: Debian's, or the first one. None where the extension is of
# another processor, or needs a library that is preloaded.
loading="import sqlite3, sys
db = sqlite3.connect(':memory:')
db.enable_load_extension(True)
db.load_extension(sys.argv[1])"
python=
for candidate in /usr/bin/python3 python3; do
  [ -z "$preload$python" ] || break
  ! "$candidate" -I -c "$loading" "$extension" 2>/dev/null || python=$candidate
done

examples=0
for document in "${documents[@]}"; do
  rm -rf blocks
  mkdir blocks
  awk '
    /^```/ && !inside { inside = 1; line = NR; split(substr($0, 4), words, " "); language = words[1]
      if (language == "python" && words[2] != "tested") language = "other"
      if (language == "sql" || language == "python") {
        file = sprintf("blocks/%05d.text", line); printf "" >file
        suffix = words[2] == "unloaded" ? words[2] : language
        last_text = file; file = sprintf("blocks/%05d.%s", line, suffix); printf "" >file
      } else if (language == "text" && (last == "sql" || last == "python")) file = last_text
      else file = ""
      next }
    /^```/ { inside = 0; last = language; next }
    inside { if (file != "") print >file; next }
    NF { last = "" }
  ' "$root/$document"
  cd blocks
  for script in *.sql *.unloaded *.python; do
    [ -e "$script" ] || continue
    [ -n "$python" ] || [ "${script##*.}" != python ] || continue
    printf '%s\n' "$script"
  done | LC_ALL=C sort >scripts
  while IFS= read -r script; do
    examples=$((examples + 1))
    case $script in
      *.sql) run my.db <"$script" ;;
      *.unloaded) shell_on my.db <"$script" ;;
      *.python) run_python "$script" ;;
    esac | awk '
      /error here( ---\^)?$/ { skipped = 1; next }
      NR > 1 && !skipped { print last }
      { last = $0; skipped = 0 }
      END { if (NR && !skipped) print last }
    ' | sed -E 's/^(Parse e|Runtime e|E)rror(: | )(near line [0-9]+: )?/Error: /
              /^Error: / { s/ \([0-9]+\)$//; s/^Error: (in prepare|stepping), /Error: / }' >actual
    compare "$document, line $((10#${script%%.*}))" "${script%.*}.text" actual
  done <scripts
  cd ..
done
[ "$examples" -gt 0 ] || fail 'no example with its output'
if [ -n "$preload" ]; then  # a sanitizer finds nothing in what follows: the tables, figures, links and names
  printf '%d documents, %d examples, %d failures\n' "${#documents[@]}" "$examples" "$failures"
  [ "$failures" -eq 0 ]
  exit
fi

# --- tables

first_cells() {  # first_cells heading: the first column of the table whose first heading that is
  awk -F'|' -v heading=" $1 " '
    $2 == heading { inside = 1; getline; next }
    !/^\|/ { inside = 0 }
    inside { print $2 }
  ' "${documents[@]/#/$root/}"
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
check_options filter_guard
check_options flash_kv
check_options hash_ring
check_commands() {  # check_commands module: the commands in its own table
  first_cells "$1 command" | grep -oE "'[a-z]+'" | names '[a-z]+' >expected
  run :memory: <<<"CREATE VIRTUAL TABLE x USING $1(); INSERT INTO x(x) VALUES ('nothing');" |
    sed 's/.*the commands are//' | names '[a-z]+' >actual
  compare "commands of $1" expected actual
}
check_commands flash_kv
check_commands hash_ring

# A function by its name and how many arguments it takes, a table-valued one by its name. A last "…"
# stands for further columns of a key, eight in all.
first_cells 'function' | tr -d '\140 ' | awk '
  { name = $0; sub(/\(.*/, "", name)
    if (name ~ /^(filter_info|filter_parts|filter_plan|filter_top|flash_kv_info|flash_kv_plan|flash_kv_salvage|flash_kv_sectors|hash_ring_moves)$/) { print name; next }
    arguments = $0; gsub(/^[^(]*\(|\).*$/, "", arguments)
    columns = sub(/,…$/, "", arguments) ? 8 + (arguments ~ /^filter,/) : 0
    most = arguments == "" ? 0 : gsub(/,/, ",", arguments) + 1
    least = most - gsub(/\[/, "", arguments)
    for (most = columns ? columns : most; least <= most; ++least) print name "/" least }
' | LC_ALL=C sort >expected
catalogue="SELECT DISTINCT name || '/' || narg FROM pragma_function_list
  UNION SELECT name FROM pragma_module_list;"
# What the shell brings itself, but for what the documents claim (newer ones have a sha1(), too).
env HOME="$work_dir" "$shell" -batch :memory: "$catalogue" | LC_ALL=C sort |
  comm -23 - expected >without
run :memory: <<<"$catalogue" | LC_ALL=C sort | comm -13 without - |
  grep -vxE '(cuckoo|bloom)_filter|cuckoo_source_row|filter_guard|flash_kv|hash_ring' >actual
compare functions expected actual

check_columns() {  # check_columns function
  awk -v start="^Columns of .$1." '$0 ~ start { inside = 1 } !NF { inside = 0 } inside' \
    "${documents[@]/#/$root/}" |
    grep -oE $'\140[a-z_]+\140' | tr -d '\140' | grep -vx "$1" | LC_ALL=C sort >expected
  run :memory: <<<"SELECT name FROM pragma_table_xinfo('$1') WHERE hidden = 0;" |
    LC_ALL=C sort >actual
  compare "columns of $1" expected actual
}
check_columns filter_info
check_columns filter_plan
check_columns flash_kv_info
check_columns flash_kv_sectors
check_columns flash_kv_plan

# --- figures

# has_figure figure file …: the number stands in one of them, not as a part of another
has_figure() {
  local pattern="(^|[^0-9.])${1//./\\.}([^0-9.]|\$|\.([^0-9]|\$))"
  shift
  (cd "$root" && grep -qE -- "$pattern" "$@")
}
figures=$(grep -oE '\| +[0-9]+\.[0-9]+ ' "$root/sql/12_disk.expected" | grep -oE '[0-9.]+' || true)
[ -n "$figures" ] || fail 'no figures in sql/12_disk.expected'
for figure in $figures; do
  has_figure "$figure" docs/benchmarks.md docs/filters.md ||
    fail "figure $figure of sql/12_disk.expected is not in docs/benchmarks.md or filters.md"
done
pictures=$root/docs/pictures
while IFS=, read -r name figure _; do
  [ "$name" != name ] || continue
  has_figure "$figure" docs/benchmarks.md ||
    fail "figure $figure, $name of docs/pictures/figures.csv, is not in docs/benchmarks.md"
  case $name in
    absent_0_* | absent_100_* | index_mb | filter_mb)
      has_figure "$figure" README.md ||
        fail "figure $figure, $name of docs/pictures/figures.csv, is not in README.md"
      ;;
  esac
done <"$pictures/figures.csv"
if python3 -c '' 2>/dev/null; then
  python3 "$root/tests/bench/figures.py" draw "$pictures/figures.csv" >drawn.svg
  compare 'the picture drawn from figures.csv' "$pictures/look_ups.svg" drawn.svg
fi

lines=$(wc -l <"$root/README.md")
[ "$lines" -le 200 ] || fail "README.md has $lines lines, at most 200: the rest belongs in docs/"

# --- links

# Of all documents, without what is fenced off: "anchor file#heading", as GitHub makes them, and
# "link document link file#heading".
read_links() {
  awk -v root="$root/" '
    function target(link,   file, parts, count, kept, i, path) {
      file = link; sub(/#.*/, "", file)
      count = split(file == "" ? document : folder file, parts, "/")
      for (i = 1; i <= count; ++i) {
        if (parts[i] == "..") --kept
        else if (parts[i] != "." && parts[i] != "") stack[++kept] = parts[i]
      }
      for (i = 1; i <= kept; ++i) path = path (i > 1 ? "/" : "") stack[i]
      return path substr(link, length(file) + 1)
    }
    FNR == 1 { inside = 0; document = substr(FILENAME, length(root) + 1); folder = document
      sub(/[^\/]*$/, "", folder) }
    /^```/ { inside = !inside; next }
    inside { next }
    /^#+ / { heading = tolower($0); sub(/^#+ +/, "", heading)
      gsub(/[^a-z0-9 _-]/, "", heading); gsub(/ /, "-", heading)
      print "anchor", document "#" heading }
    { for (line = $0; match(line, /\]\([^) ]+/); line = substr(line, RSTART + RLENGTH)) {
        link = substr(line, RSTART + 2, RLENGTH - 2)
        if (link !~ /^https?:/) print "link", document, link, target(link) } }
  ' "${documents[@]/#/$root/}"
}
read_links >links
declare -A anchors linked
while read -r _ anchor; do
  anchors[$anchor]=1
done < <(grep '^anchor ' links)
links=0
while read -r _ document link target; do
  links=$((links + 1))
  file=${target%%#*}
  [ "$file" = "$document" ] || linked[$file]=1
  if [ ! -e "$root/$file" ]; then
    fail "$document: link to $link"
  elif [ "$file" != "$target" ] && [ -z "${anchors[$target]-}" ]; then
    fail "$document: link to $link, no such heading"
  fi
done < <(grep '^link ' links)
for document in "${documents[@]}"; do
  [ "$document" = README.md ] || [ -n "${linked[$document]-}" ] ||
    fail "$document: no document points to it"
done

# --- names in the tour of the code and in what leads through changes

# A path that one of them names is there; "*" stands for several. A function `name()` or `Class::name()`
# occurs in a file that its paragraph, list item or row names. A class or constant `LikeThis`,
# `kLikeThis` occurs in core/, ext/ or tests/.

# "path …|function …|text" of each paragraph of prose in a file that names a function
read_paragraphs() {
  awk '
    function show(   rest, word, paths, names) {
      for (rest = text; match(rest, /`[^`]*`/); rest = substr(rest, RSTART + RLENGTH)) {
        word = substr(rest, RSTART + 1, RLENGTH - 2)
        if (word ~ /^[A-Za-z_][A-Za-z0-9_:]*\(\)$/) names = names " " substr(word, 1, length(word) - 2)
        else if (word ~ /\//) { gsub(/[|]/, " ", word); paths = paths " " word }
      }
      if (names != "") { gsub(/[|]/, " ", text); print paths "|" names "|" text }
      text = ""
    }
    /^```/ { inside = !inside; next }
    inside { next }
    /^(#|\|)/ || /^ *([-*]|[0-9]+\.) / || !NF { show() }
    { text = text " " $0 }
    /^(#|\|)/ { show() }
    END { show() }
  ' "$1"
}
has_function() {  # has_function name file …: one of the files has it, and its class
  local name=$1 function=${1##*::} class=
  [ "$name" = "$function" ] || { class=${name%::*} && class=${class##*::}; }
  shift
  local file
  for file in "$@"; do
    if [ -f "$file" ] && grep -qE -- "(^|[^A-Za-z0-9_])$function *[(<]" "$file" &&
      { [ -z "$class" ] || grep -qw -- "$class" "$file"; }; then
      return 0
    fi
  done
  return 1
}
paths=0 functions=0 classes=0
for document in docs/TOUR.md docs/CHANGING.md; do
  while IFS= read -r path; do
    paths=$((paths + 1))
    compgen -G "$root/$path" >/dev/null || fail "$document: there is no $path"
  done < <(grep -oE '(^|[^A-Za-z0-9_./-])(core|ext|tests|docs|packages|sql|\.ci)/[A-Za-z0-9_.*/-]*' \
    "$root/$document" | sed -E 's/^[^a-z.]//; s/[.]+$//' | LC_ALL=C sort -u)
  while IFS='|' read -r patterns names text; do
    files=()
    read -ra patterns <<<"$patterns"
    for pattern in "${patterns[@]}"; do
      for file in "$root"/$pattern; do
        files+=("$file")
      done
    done
    for name in $names; do
      functions=$((functions + 1))
      has_function "$name" "${files[@]}" ||
        fail "$document: none of the files that stand with $name() has it:${text:0:60}…"
    done
  done < <(read_paragraphs "$root/$document")
  grep -oE $'\140(k?[A-Z][a-z0-9]+)+\140' "$root/$document" | tr -d '\140' | LC_ALL=C sort -u >named
  while IFS= read -r name; do
    fail "$document: no source has $name"
  done < <(cd "$root" && grep -rhowF -f "$work_dir/named" core ext tests | LC_ALL=C sort -u |
    LC_ALL=C comm -23 "$work_dir/named" -)
  classes=$((classes + $(wc -l <named)))
done
[ "$((paths * functions * classes))" -gt 0 ] ||
  fail "the tour names $paths paths, $functions functions and $classes classes"

printf '%d documents, %d examples, %d links, %d names, %d failures\n' \
  "${#documents[@]}" "$examples" "$links" \
  "$((paths + functions + classes))" "$failures"
[ "$failures" -eq 0 ]
