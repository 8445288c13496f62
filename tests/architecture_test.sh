#!/usr/bin/env bash
# Reads the sources and checks what the compiler doesn't: who may include whom, that no file is
# dead or untested, and that none has grown too long. Prints every violation.
set -euo pipefail
export LC_ALL=C.UTF-8  # columns are characters
cd "$(dirname "${BASH_SOURCE[0]}")/.."
shopt -s nullglob globstar

max_lines=700
max_source_lines=500  # core, ext
max_columns=100

# The folders, and what each may include besides itself. Includes go down only.
declare -A may_include=(
  [core/base]=""
  [core/filter]="core/base"
  [core/stored]="core/base core/filter"
  [core/segments]="core/base core/filter core/stored"
  [core/flash]="core/base"
  [core/ring]="core/base"
  [core/include/cuckoo]=""
  [core/library]="core/base core/filter core/stored core/segments core/flash core/ring"
  [ext/sqlite]="core/base"
  [ext/table]="core/base ext/sqlite"
  [ext/filter]="core/base core/filter core/segments core/stored ext/sqlite ext/table"
  [ext/flash]="core/base core/flash ext/sqlite ext/table"
  [ext/ring]="core/base core/ring ext/sqlite ext/table"
)

# A core source without a test of its own: ["core/folder/name.cpp"]="the reason".
declare -A untested=(
  ["core/filter/cuckoo_filter_check.cpp"]="a part of the class in cuckoo_filter.hpp: cuckoo_filter_test.cpp"
  ["core/filter/cuckoo_insert.cpp"]="a part of the class in cuckoo_filter.hpp: cuckoo_filter_test.cpp"
  ["core/segments/message_header.cpp"]="a part of the format in image.hpp: image_test.cpp, image_damage_test.cpp"
  ["core/segments/message_header_pieces.cpp"]="a part of the format in image.hpp: image_test.cpp, image_damage_test.cpp"
  ["core/segments/message_writer.cpp"]="a part of the format in image.hpp: image_test.cpp"
  ["core/flash/store_changes.cpp"]="a part of the class in store.hpp: store_test.cpp, healer_test.cpp"
  ["core/segments/segment_piece.cpp"]="a part of the class in segment.hpp: filter_file_contents_test.cpp, filter_file_replace_test.cpp"
  ["core/segments/segment_check.cpp"]="a part of the class in segment.hpp: segment_test.cpp"
  ["core/segments/segment_fold.cpp"]="a part of the class in segment.hpp: segment_test.cpp"
)

# Words in names of classes that mean what they mean in English or in SQL. All others have a row in the
# glossary of docs/DESIGN.md.
plain_words=(affinity algorithm allocator applier argument avx2 awaited binary bit builder byte checked
  code collector column connection content declared equal error fact fit function info keep large last lasting
  layout limit location maker membership memory more name new operator os own planned planning portable read
  reader registered register registration result rowid rule saved scan schema shared size spec sql
  statement stats status surroundings survey test transaction two type view walk writer)

violations=0
violation() {
  printf '%s\n' "$1"
  violations=$((violations + 1))
}

# violations_in "what is wrong" "regular expression" files...
violations_in() {
  local what=$1 pattern=$2 line
  shift 2
  [ "$#" -gt 0 ] || return 0
  while IFS= read -r line; do
    violation "$what: $line"
  done < <(grep -nHE -- "$pattern" "$@" || true)
}

include='^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]'

core=(core/**/*.{cpp,hpp,h})
ext=()
for file in ext/**/*.{cpp,hpp,h}; do
  [ "$file" = ext/sqlite/api.hpp ] || ext+=("$file")
done
sources=("${core[@]}" ext/**/*.{cpp,hpp,h} tests/**/*.{cpp,hpp,h})
scripts=()  # of the page that shows the tables at work; cuckoo.js is built
for file in docs/playground/**/*.js; do
  [ "$file" = docs/playground/cuckoo.js ] || scripts+=("$file")
done
[ "${#core[@]}" -gt 0 ] || violation "core/ has no sources"

# Every file is in one of these folders, except three of ext.
for file in "${sources[@]}"; do
  folder=${file%/*}
  case $file in tests/* | ext/extension.cpp | ext/version.hpp | ext/sqlite_cuckoo.h) continue ;; esac
  [ -n "${may_include[$folder]+set}" ] || violation "$file: \"$folder\" is not a folder that $0 knows"
done
for folder in "${!may_include[@]}"; do
  allowed=${may_include[$folder]}
  while IFS= read -r line; do
    included=${line#*[<\"]}
    case " $folder $allowed " in
      *" ${included%/*} "*) ;;
      *) violation "$folder may include ${allowed:-nothing} beside itself: $line" ;;
    esac
  done < <(grep -nHE -- "${include}(core|ext|tests)/" "$folder"/*.cpp "$folder"/*.hpp || true)
done
violations_in "core must not know SQLite" "${include}([^>\"]*/)?sqlite" "${core[@]}"
violations_in "only ext/sqlite/api.hpp includes SQLite's headers" \
  "${include}([^>\"]*/)?sqlite3(ext)?\\.h" "${ext[@]}"
# The headers of core/include/ are what programs in C++ get: core sees its results and the names of
# rings' algorithms alone.
private=()
for file in "${core[@]}" "${ext[@]}"; do
  case $file in
    core/include/* | core/library/* | core/base/result.hpp | core/ring/ketama_key_hash.hpp) ;;
    *) private+=("$file") ;;
  esac
done
violations_in "only core/library includes <cuckoo/...>" "${include}cuckoo/" "${private[@]}"
violations_in "ext must not include tests" "${include}([^>\"]*/)?tests/" "${ext[@]}"
# Debian's Emscripten has LLVM's C++ library of version 13, and CI has no Emscripten.
violations_in "the C++ library for WebAssembly lacks it" \
  'std::(ranges::(s[^i]|[^s])[a-z_]*\(|(ranges::)?views::|make_unique_for_overwrite|format\()' \
  "${core[@]}" "${ext[@]}"
violations_in "paths in #include start at the root of the repository" "${include}\\.\\.?/" \
  "${sources[@]}"

# Sources are compiled many at a time. Then a name that two of them give, each in an anonymous
# namespace, is an error, or, for functions of other parameters, an overload: the compiler may take the
# other source's. core/library is compiled file by file.
while IFS= read -r line; do
  violation "two sources of one namespace have that name: $line"
done < <(printf '%s\n' "${core[@]}" "${ext[@]}" | grep '\.cpp$' | grep -v '^core/library/' | xargs awk '
  FNR == 1 { outer = ""; inside = 0 }
  /^namespace [a-z:]+ \{$/ { outer = $2 }
  /^namespace \{$/ { inside = 1; next }
  /^}  \/\/ namespace$/ { inside = 0; next }
  !inside || /^[ \t}#\/]/ || /^(template|static_assert|using [a-z:]+)/ { next }
  {
    sub(/^(\[\[[a-z]+\]\] )+/, "")
    name = ""
    if (match($0, /^(class|struct|enum class|enum|using) [A-Z][A-Za-z0-9_]*/)) {
      name = substr($0, RSTART, RLENGTH)
      sub(/.* /, "", name)
    } else if (match($0, / [*&]?[A-Za-z0-9_]+(\(| =|\[|\{|;)/)) {  # not Class::function(
      name = substr($0, RSTART, RLENGTH)
      gsub(/[^A-Za-z0-9_]/, "", name)
    }
    key = outer "::" name
    if (name != "" && first[key] != "" && first[key] != FILENAME) {
      print name ", " first[key] ", " FILENAME
    }
    first[key] = FILENAME
  }')

declare -A is_included=()
while IFS= read -r line; do
  included=${line#*[<\"]}
  [ "${line%%:*}" = "$included" ] || is_included[$included]=1
done < <(grep -oHE -- "${include}[^>\"]+" "${sources[@]}")
for header in core/**/*.hpp ext/**/*.hpp; do
  [ -n "${is_included[${header#core/include/}]-}" ] || violation "$header: no file includes \"$header\""
done

for source in core/**/*.cpp; do
  test=tests/${source%.cpp}_test.cpp
  if [ -n "${untested[$source]-}" ]; then
    [ ! -e "$test" ] || violation "$source: has a test now, take it off the list in $0"
  elif [ ! -e "$test" ]; then
    violation "$source: no $test"
  fi
done

# FORMAT.md, "Hash rings" and DESIGN.md, "2. State …": a comment names a heading, whole, as it stands
# there but for its backticks.
for document in FORMAT DESIGN; do
  headings=$(sed -nE 's/^#+ //p' "docs/$document.md" | tr -d '`')
  mapfile -t citing < <(grep -lF "$document.md" "${core[@]}" "${ext[@]}")
  for file in "${citing[@]}"; do
    while IFS= read -r cited; do
      heading=$(sed -E "s/^$document\\.md,? ?\"?//; s/\"\$//" <<<"$cited")
      grep -qxF -- "${heading:-nothing}" <<<"$headings" ||
        violation "$file: $document.md has no heading \"$heading\""
    done < <(sed -E 's|^ *// ?||' "$file" | tr '\n' ' ' | grep -oE "$document\\.md(, \"[^\"]*\")?" || true)
  done
done

# What each folder may include is a table in docs/TOUR.md, too.
sorted() {  # sorted words...
  printf '%s\n' "$@" | sort | tr '\n' ' '
}
for folder in "${!may_include[@]}"; do
  read -ra allowed <<<"${may_include[$folder]:-nothing}"
  read -ra told < <(tr -d '\140' <docs/TOUR.md | sed -nE "s=^\\| $folder \\|.*\\| ([^|]*) \\|\$=\\1=p") || true
  [ "$(sorted "${told[@]}")" = "$(sorted "${allowed[@]}")" ] ||
    violation "docs/TOUR.md says of $folder that it may include \"${told[*]}\", expected \"${allowed[*]}\""
done

# The classes of the headers, those inside of another class left out, are called by words of the
# glossary or by plain ones. A word may have an ending: "stored" is found as "store".
declare -A known=() used=()
while IFS= read -r word; do
  known[$word]=glossary
done < <(awk -F'|' '/^## / { inside = $0 == "## Glossary" } inside && /^\| / { print tolower($2) }' \
  docs/DESIGN.md | grep -oE '[a-z0-9]+')
[ "${#known[@]}" -gt 50 ] || violation "docs/DESIGN.md: no table under \"Glossary\""
for word in "${plain_words[@]}"; do
  [ -z "${known[$word]-}" ] ||
    violation "\"$word\" is in the glossary of docs/DESIGN.md, take it off plain_words in $0"
  known[$word]=plain
done
classes=0
while read -r file class words; do
  classes=$((classes + 1))
  for word in $words; do
    found=
    for stem in "$word" "${word%s}" "${word%es}" "${word%d}" "${word%ed}" "${word%r}" "${word%er}" \
      "${word/%ies/y}"; do
      if [ -n "${known[$stem]-}" ]; then
        found=$stem
        break
      fi
    done
    used[${found:-none}]=1
    [ -n "$found" ] || violation "$file: class $class: \"$word\" has no row in the glossary of\
 docs/DESIGN.md; call it by words that have one, add a row, or, if it means what it means in English,\
 add it to plain_words in $0"
  done
done < <(grep -oE '^(class|struct|enum class|enum) +(\[\[[^]]*\]\] +)?[A-Z][A-Za-z0-9]*' \
  core/**/*.{hpp,h} ext/**/*.{hpp,h} |
  sed -E 's/:.* /\t/; h; s/.*\t//; s/([a-z0-9])([A-Z])/\1 \2/g; s/.*/\L&/; H; g; s/[\t\n]/ /g')
[ "$classes" -gt 0 ] || violation "the headers have no classes"
for word in "${plain_words[@]}"; do
  [ -n "${used[$word]-}" ] || violation "no class has \"$word\" in its name: take it off plain_words in $0"
done

while read -r lines file; do
  most=$max_lines
  [[ $file == tests/* ]] || most=$max_source_lines
  [ "$lines" -le "$most" ] || violation "$file: $lines lines, at most $most"
done < <(wc -l "${sources[@]}" "${scripts[@]}" | sed '$d')
violations_in "longer than $max_columns columns" "^.{$((max_columns + 1)),}" "${sources[@]}" \
  "${scripts[@]}"
violations_in "tests are called TEST(OfWhat, what_is_true)" \
  '^TEST(_F|_P)?\(([a-z]|[A-Za-z0-9]*_|[A-Za-z0-9]+, (DISABLED_)?([ISR][0-9]+_)*[A-Z][a-z_])' \
  tests/**/*.cpp
violations_in "trailing space or tab" '[[:space:]]$|	' "${sources[@]}"

printf '%d sources, %d violations\n' "${#sources[@]}" "$violations"
[ "$violations" -eq 0 ]
