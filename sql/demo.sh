#!/usr/bin/env bash
# The main jobs on real data: a word list in a cuckoo_filter, a million requests most of which ask
# for words that don't exist, and the look-ups that the filter saves; and a file cut into pieces,
# stored by content in a flash_kv and read back byte for byte.
#
#   sql/demo.sh          the word list of Debian's package wamerican, and sqlite3.h
#   sql/demo.sh FILE     any file: its lines are the words, unless it is no text; its bytes are cut
#
# Installs what is missing, builds, runs in a temporary folder, and ends with an error if any result
# is not what it must be. BUILD_DIR=dir builds there instead of in build/release.
set -euo pipefail
export LC_ALL=C.UTF-8

if [ "$#" -gt 1 ] || { [ "$#" -eq 1 ] && [ ! -r "$1" ]; }; then
  echo "usage: $0 [FILE]   FILE: any readable file, best with one word a line" >&2
  exit 2
fi
cut_file=${1:+$(realpath "$1")}
file=$cut_file
if [ -n "$file" ] && ! grep -qI . "$file"; then  # no text: its lines are no words
  file=
fi
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
build_dir=$(realpath -m "${BUILD_DIR:-$root/build/release}")

requests=1000000 urls=2000000 links=200000 asked_fpr=0.001 seed=42

# --- what it needs ---------------------------------------------------------------------------------

cd "$root"
. tests/install.sh
packages=("${build_packages[@]}")
if [ -z "$file" ]; then
  for file in /usr/share/dict/american-english /usr/share/dict/words; do
    [ ! -r "$file" ] || break
  done
  [ -r "$file" ] || packages+=(wamerican)
fi
ensure_packages "${packages[@]}"

work_dir=$(mktemp -d)
trap 'rm -rf "$work_dir"' EXIT

quietly() {
  "$@" >"$work_dir/log" 2>&1 || {
    cat "$work_dir/log" >&2
    echo "failed: $*" >&2
    exit 1
  }
}
if [ ! -e "$build_dir/CMakeCache.txt" ]; then
  echo 'Building (a minute or two, once)'
  quietly cmake --preset release -B "$build_dir" -DCUCKOO_WERROR=OFF
fi
quietly cmake --build "$build_dir" --target cuckoo

ln -s "$build_dir/cuckoo.so" "$work_dir/cuckoo.so"
ln -s "$file" "$work_dir/words"
cut_file=${cut_file:-/usr/include/sqlite3.h}
[ -r "$cut_file" ] || cut_file=$file
ln -s "$cut_file" "$work_dir/cut_file"
cd "$work_dir"

# --- helpers ---------------------------------------------------------------------------------------

# sql DATABASE <script: a new connection with the extension loaded; stops at the first error
sql() {
  { printf '.load ./cuckoo\n' && cat; } | sqlite3 -batch -bail -init /dev/null "$1"
}
value() {  # value DATABASE 'query'
  sql "$1" <<<"$2;"
}

step_number=0
step() {
  step_number=$((step_number + 1))
  printf '\n%d. %s\n' "$step_number" "$1"
}
say() {
  printf '   %s\n' "$@"
}
show() {  # SQL as it is run, a plan
  sed 's/^/     /'
}
commas() {  # 1234567 -> 1,234,567
  sed -E ':more; s/([0-9])([0-9]{3})($|,)/\1,\2\3/; t more' <<<"$1"
}
percent() {  # percent part whole
  awk -v part="$1" -v whole="$2" 'BEGIN { printf "%.3g %%", (whole > 0 ? 100 * part / whole : 0) }'
}
fail() {
  printf '\nUNEXPECTED: %s\n' "$1" >&2
  exit 1
}
expect() {  # expect what actual expected
  [ "$2" = "$3" ] || fail "$1: '$2', expected '$3'"
}
# How many false positives there are is a matter of chance: at most five standard deviations more
# than the rate asked for.
expect_fpr() {  # expect_fpr what positives probes
  awk -v positives="$2" -v mean="$(awk "BEGIN { print $asked_fpr * $3 }")" \
    'BEGIN { exit !(positives <= mean + 5 * sqrt(mean) + 3) }' ||
    fail "$1: $2 false positives of $3 probes, asked rate $asked_fpr"
}
run_times() {  # the milliseconds of each timed statement
  sed -nE 's/^Run Time: real ([0-9.]+).*/\1/p' | awk '{ print $1 * 1000 }'
}
median() {
  sort -n | awk '{ t[NR] = $1 } END { printf "%.0f", t[int((NR + 1) / 2)] }'
}
ratio() {  # ratio slow fast
  awk -v slow="$1" -v fast="$2" 'BEGIN { printf "%.1f", slow / (fast > 0 ? fast : 1) }'
}

# --- the words -------------------------------------------------------------------------------------

versions=$(value :memory: "SELECT printf('sqlite-cuckoo %s in SQLite %s', cuckoo_version(), sqlite_version())")
printf '%s; words from %s\n' "$versions" "$file"

step 'The dictionary: an ordinary table with an index on the text'
sql demo.db <<SQL
CREATE TABLE raw(word TEXT);
.mode ascii
.separator "\037" "\n"
.import words raw
CREATE TABLE dictionary(id INTEGER PRIMARY KEY, word TEXT UNIQUE);
INSERT INTO dictionary(word)
  SELECT DISTINCT rtrim(word, char(13)) FROM raw WHERE rtrim(word, char(13)) <> '';
DROP TABLE raw;
SQL
words=$(value demo.db 'SELECT count(*) FROM dictionary')
[ "$words" -gt 0 ] || fail "$file has no words"
say "$(commas "$words") words"

step 'The filter: every word goes in; it keeps a fingerprint of each, not the word'
filter_sql="CREATE VIRTUAL TABLE seen USING cuckoo_filter(
  word TEXT, capacity = $words, fpr = $asked_fpr, seed = $seed);
INSERT INTO seen SELECT word FROM dictionary;"
show <<<"$filter_sql"
sql demo.db <<<"$filter_sql"
items=$(value demo.db 'SELECT count(*) FROM seen')
found=$(value demo.db 'SELECT count(*) FROM dictionary JOIN seen USING (word)')
say "$(commas "$found") of $(commas "$words") words are found again: a filter has no false negatives"
expect 'items in the filter' "$items" "$words"
expect 'words found again' "$found" "$words"
sql demo.db <<<"INSERT INTO seen(seen) VALUES ('rebuild');"  # compacts the log
size=$(value demo.db "SELECT printf('%.1f bytes a word on disk: %.1f for the filter, the rest for its log of hashes',
  1.0 * disk_bytes / items, bits_per_key / 8) FROM filter_info('seen')")
say "$size"

step 'The requests: one in ten is a word, the others are misspelt (swapped or doubled letters)'
sql demo.db <<SQL
CREATE TABLE requests(id INTEGER PRIMARY KEY, word TEXT);
WITH RECURSIVE
  n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < $requests - 1),
  pick AS (SELECT i, word, length(word) AS len, i * 40503 % 65521 % length(word) + 1 AS p
           FROM n CROSS JOIN dictionary d ON d.id = (i * 2654435761 >> 7) % $words + 1)
INSERT INTO requests SELECT i,
  CASE
    WHEN i % 10 = 0 THEN word
    WHEN i % 2 = 0 OR p = len OR substr(word, p, 1) = substr(word, p + 1, 1)
      THEN substr(word, 1, p) || substr(word, p)
    ELSE substr(word, 1, p - 1) || substr(word, p + 1, 1) || substr(word, p, 1) || substr(word, p + 2)
  END FROM pick;
CREATE TABLE absent(word TEXT);
INSERT INTO absent SELECT word FROM requests EXCEPT SELECT word FROM dictionary;
SQL
present=$(value demo.db 'SELECT count(*) FROM requests WHERE word IN (SELECT word FROM dictionary)')
examples=$(value demo.db "SELECT group_concat(word, '  ')
  FROM (SELECT substr(word, 1, 12) AS word FROM requests LIMIT 6)")
say "$(commas "$requests") requests, $(commas "$present") of them for a word; the first ones:" \
  "  $examples"

# --- the join --------------------------------------------------------------------------------------

plain_join='SELECT count(*) FROM requests JOIN dictionary USING (word);'
filter_join='SELECT count(*) FROM requests JOIN seen USING (word) JOIN dictionary USING (word);'

step 'The plan: SQLite asks the filter first, and the index only for what the filter lets through'
show <<<"$filter_join"
plan=$(value demo.db "EXPLAIN QUERY PLAN $filter_join")
show <<<"$plan"
order=$(grep -oE '(SCAN|SEARCH) [a-z]+' <<<"$plan" | tr '\n' ';')
expect 'the plan' "$order" 'SCAN requests;SCAN seen;SEARCH dictionary;'

step 'What the filter saves: look-ups in the index'
counts=$(sql demo.db <<SQL
$filter_join
SELECT probes, positives FROM filter_info('seen');
$plain_join
SQL
)
{
  read -r with_filter
  IFS='|' read -r probes positives
  read -r without_filter
} <<<"$counts"
saved=$((probes - positives))
say "$(commas "$probes") look-ups without the filter, $(commas "$positives") with it:" \
  "$(commas "$saved") saved, $(percent "$saved" "$probes"); both joins give the same $(commas "$with_filter") rows"
expect 'rows of the join with the filter' "$with_filter" "$without_filter"
expect 'rows of the join' "$with_filter" "$present"
expect 'probes of the filter' "$probes" "$requests"

step 'False positives: absent words that the filter lets through all the same'
distinct=$(value demo.db 'SELECT count(*) FROM absent')
false_positives=$(value demo.db 'SELECT count(*) FROM absent JOIN seen USING (word)')
say "$(commas "$false_positives") of $(commas "$distinct") different absent words: measured $(percent "$false_positives" "$distinct"), asked $(percent "$asked_fpr" 1)"
expect_fpr 'absent words' "$false_positives" "$distinct"

step 'Time on a small, hot table (all of it in the page cache), median of 5 runs'
times=$(sql demo.db <<SQL
PRAGMA cache_size = -200000;
.output warm_up
$plain_join
$filter_join
.output
.timer on
$(for _ in 1 2 3 4 5; do printf '%s\n%s\n' "$plain_join" "$filter_join"; done)
SQL
)
plain=$(run_times <<<"$times" | awk 'NR % 2 == 1' | median)
filtered=$(run_times <<<"$times" | awk 'NR % 2 == 0' | median)
say "without the filter $plain ms, with it $filtered ms: $(ratio "$plain" "$filtered") times as fast" \
  'that is the least a filter gains: a hot index is quick, too; step 10 has a large one'

# --- removing, reopening ---------------------------------------------------------------------------

step 'Removal: every tenth word leaves the dictionary and the filter in one transaction'
sql demo.db <<SQL
CREATE TABLE removed(word TEXT);
BEGIN;
INSERT INTO removed SELECT word FROM dictionary WHERE id % 10 = 1;
DELETE FROM seen WHERE word IN (SELECT word FROM removed);
DELETE FROM dictionary WHERE id % 10 = 1;
COMMIT;
SQL
removed=$(value demo.db 'SELECT count(*) FROM removed')
left=$((words - removed))
items=$(value demo.db 'SELECT count(*) FROM seen')
still=$(value demo.db 'SELECT count(*) FROM removed JOIN seen USING (word)')
kept=$(value demo.db 'SELECT count(*) FROM dictionary JOIN seen USING (word)')
say "$(commas $((removed - still))) of $(commas "$removed") removed words are gone; $(commas "$still") look present by chance, as any absent word may" \
  "$(commas "$kept") of $(commas "$left") others are still found: removing a word never loses another"
expect 'words that stay and are found' "$kept" "$left"
expect 'items in the filter' "$items" "$left"
expect_fpr 'removed words' "$still" "$removed"

step 'Close and reopen: the filter is part of the database file'
answers="SELECT (SELECT count(*) FROM seen), (SELECT count(*) FROM dictionary JOIN seen USING (word)),
  (SELECT count(*) FROM removed JOIN seen USING (word)),
  (SELECT count(*) FROM absent JOIN seen USING (word))"
before=$(value demo.db "$answers")
mv demo.db reopened.db
after=$(value reopened.db "$answers")
check=$(value reopened.db "INSERT INTO seen(seen) VALUES ('check')")
integrity=$(value reopened.db 'PRAGMA integrity_check')
say "the file under another name, in a new process: $(commas "${after%%|*}") items, all answers as before" \
  "INSERT INTO seen(seen) VALUES ('check') reads every page, counter and log entry: nothing wrong"
expect 'answers after reopening' "$after" "$before"
expect 'the check' "$check" ''
expect 'PRAGMA integrity_check' "$integrity" ok

# --- a large table ---------------------------------------------------------------------------------

step "A large table: $(commas "$urls") URLs with an index, $(commas "$links") links, nine in ten of them unknown"
make_url="'https://www.' || word || '.example/' || printf('%08x', i * 2654435761 % 4294967296)"
sql large.db >pragmas <<SQL
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -400000;
ATTACH 'reopened.db' AS demo;
CREATE TEMP TABLE word(id INTEGER PRIMARY KEY, word TEXT);
INSERT INTO word(word) SELECT word FROM demo.dictionary UNION ALL SELECT word FROM demo.removed;
CREATE TABLE pages(id INTEGER PRIMARY KEY, url TEXT);
WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < $urls - 1)
INSERT INTO pages SELECT i, $make_url
  FROM n CROSS JOIN word w ON w.id = i * 40503 % $words + 1;
CREATE UNIQUE INDEX pages_by_url ON pages(url);
CREATE VIRTUAL TABLE known USING cuckoo_filter(
  url TEXT, capacity = $urls, fpr = $asked_fpr, seed = $seed);
INSERT INTO known SELECT url FROM pages;
CREATE TABLE links(url TEXT);
WITH RECURSIVE
  n(x) AS (VALUES (0) UNION ALL SELECT x + 1 FROM n WHERE x < $links - 1),
  pick AS (SELECT x * 7919 % ($links * 5) + iif(x % 10 = 0, 0, $urls) AS i FROM n)
INSERT INTO links SELECT $make_url
  FROM pick CROSS JOIN word w ON w.id = i * 40503 % $words + 1;
SQL
plain_join() {  # plain_join n: the join of the first n links
  printf 'SELECT count(*) FROM (SELECT url FROM links LIMIT %d) JOIN pages USING (url);' "$1"
}
filter_join() {
  printf 'SELECT count(*) FROM (SELECT url FROM links LIMIT %d) JOIN known USING (url)
    JOIN pages USING (url);' "$1"
}
without_filter=$(value large.db "$(plain_join "$links")")
with_filter=$(value large.db "$(filter_join "$links")")
expect 'known links' "$without_filter" $((links / 10))
expect 'known links, with the filter' "$with_filter" "$without_filter"
size=$(value large.db "SELECT printf('%d MB of database; the pages of the filter, all that a probe reads, are %.1f MB',
  page_count * page_size / 1000000, (SELECT capacity * bits_per_key / 8e6 FROM filter_info('known')))
  FROM pragma_page_count, pragma_page_size")
say "$size" 'each run in a new connection with the default cache of 2 MB, filter loading included; median of 3'

once() {  # once 'query': its milliseconds in a new connection
  sql large.db <<<".timer on
$1" | run_times
}
drop_cache() {  # asks the system to forget the file; not every file system does
  sync large.db
  dd if=large.db iflag=nocache count=0 2>dd_log || true
}
compare() {  # compare label links command-before-each-run
  local plain filtered plain_times='' filter_times=''
  for _ in 1 2 3; do
    "$3"
    plain_times+=$(once "$(plain_join "$2")")$'\n'
    "$3"
    filter_times+=$(once "$(filter_join "$2")")$'\n'
  done
  plain=$(printf '%s' "$plain_times" | median)
  filtered=$(printf '%s' "$filter_times" | median)
  say "$(printf '%7s links, %-13s without the filter %5d ms, with it %4d ms: %4s times as fast' \
    "$(commas "$2")" "$1:" "$plain" "$filtered" "$(ratio "$plain" "$filtered")")"
  [ "$filtered" -lt "$plain" ] || fail "$1: the join with the filter is not faster"
}
compare 'file cached' "$links" true
compare 'file on disk' $((links / 10)) drop_cache

# --- the exact store -------------------------------------------------------------------------------

bytes=$(stat -L -c %s cut_file)
step "An exact store: $(basename "$cut_file"), $(commas "$bytes") bytes, cut into pieces of 1004 bytes"
chunks_sql="CREATE VIRTUAL TABLE chunks USING flash_kv(
  address TEXT, piece BLOB, size = $((bytes + bytes / 2 + 4194304)), erase_block = 16, seed = $seed);
INSERT OR IGNORE INTO chunks(piece) SELECT piece FROM pieces;
INSERT INTO manifest SELECT number, sha1(piece) FROM pieces;"
show <<<"$chunks_sql"
sql chunks.db <<SQL
CREATE TABLE manifest(number INTEGER PRIMARY KEY, address TEXT);
CREATE TEMP TABLE content AS SELECT readfile('cut_file') AS bytes;
CREATE TEMP VIEW pieces(number, piece) AS
WITH RECURSIVE
  slices(first, left) AS (
    SELECT 0, $bytes UNION ALL SELECT first + 1000, left - 1004000 FROM slices WHERE left > 1004000),
  sliced AS MATERIALIZED (SELECT first, substr(bytes, first * 1004 + 1, 1004000) AS slice
                          FROM slices, content),
  thousand(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM thousand WHERE i < 999)
SELECT first + i, substr(slice, i * 1004 + 1, 1004)
FROM sliced JOIN thousand ON i * 1004 < length(slice);
BEGIN;
$chunks_sql
COMMIT;
SQL
pieces=$(((bytes + 1003) / 1004))
expect 'pieces in the manifest' "$(value chunks.db 'SELECT count(*) FROM manifest')" "$pieces"
stored=$(value chunks.db 'SELECT count(*) FROM chunks')
say "$(commas "$pieces") pieces, $(commas "$stored") different ones are stored, each under the SHA-1 of its bytes" \
  "$(commas $((pieces - stored))) duplicates saved, $(percent $((pieces - stored)) "$pieces")"

step 'Read back by the manifest, in a new process: equal byte for byte?'
look_up='SELECT count(piece) FROM manifest CROSS JOIN chunks USING (address)'
figures=$(sql chunks.db <<SQL
SELECT writefile('restored', CAST(coalesce(group_concat(piece, ''), '') AS BLOB))
FROM (SELECT piece FROM manifest CROSS JOIN chunks USING (address) ORDER BY number);
CREATE TEMP TABLE before AS SELECT record_reads AS reads FROM flash_kv_info('chunks');
$look_up;
SELECT printf('%.3f', 1.0 * (record_reads - reads) / max(1, $pieces)) FROM flash_kv_info('chunks'), before;
SELECT printf('%d entries, index %.0f %% full with %.1f bytes an entry', entries,
  100 * load_factor, 1.0 * index_bytes / max(1, entries)) FROM flash_kv_info('chunks');
SELECT writefile('map.svg', flash_kv_map('chunks'));
SQL
)
cmp cut_file restored || fail 'the file that was read back is another one'
say "$(commas "$(stat -c %s restored)") bytes, all of them equal" \
  "$(sed -n 3p <<<"$figures") records of the log read for each look-up" "$(sed -n 4p <<<"$figures")"
expect 'pieces found' "$(sed -n 2p <<<"$figures")" "$pieces"
expect 'the check' "$(value chunks.db "INSERT INTO chunks(chunks) VALUES ('check')")" ''
map=$(mktemp --suffix=.svg)
cp map.svg "$map"
say "$map shows what each flash sector holds and how often it was erased; any browser opens it"

printf '\nAll results are as they must be.\n'
