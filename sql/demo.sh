#!/usr/bin/env bash
# One look-up path, as in a web service, on real data: a hash ring says which node has a record, a
# filter spares the nodes what nobody has, an exact store on flash keeps chunks of a file, each once.
# Says what each step saves, measured, and ends with a table of it.
#
#   sql/demo.sh          cuts up SQLite's header file
#   sql/demo.sh FILE     cuts up that file, of any kind and length
#
# Installs what is missing, builds, runs in a temporary folder, leaves flash_map.svg in the current
# one, and ends with an error if any result is not what it must be. BUILD_DIR=dir builds there
# instead of in build/release.
set -euo pipefail
export LC_ALL=C.UTF-8

if [ "$#" -gt 1 ] || { [ "$#" -eq 1 ] && { [ ! -r "$1" ] || [ -d "$1" ]; }; }; then
  echo "usage: $0 [FILE]   FILE: a readable file" >&2
  exit 2
fi
file=${1:+$(realpath "$1")}
map=$PWD/flash_map.svg
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
build_dir=$(realpath -m "${BUILD_DIR:-$root/build/release}")

requests=1000000 asked_fpr=0.001 seed=42

# --- what it needs ---------------------------------------------------------------------------------

cd "$root"
. tests/install.sh
packages=("${build_packages[@]}")
for words_file in /usr/share/dict/american-english /usr/share/dict/words; do
  [ ! -r "$words_file" ] || break
done
[ -r "$words_file" ] || packages+=(wamerican)
ensure_packages "${packages[@]}"
[ -r "$words_file" ] || words_file=/usr/share/dict/american-english
file=${file:-/usr/include/sqlite3.h}

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
  quietly cmake --preset release -B "$build_dir"
fi
quietly cmake --build "$build_dir" --target cuckoo

ln -s "$build_dir/cuckoo.so" "$work_dir/cuckoo.so"
ln -s "$words_file" "$work_dir/words"
cp "$file" "$work_dir/original"
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

nodes=(north east south west)
attach=$(printf "ATTACH '%s.db' AS %s;" north north east east south south west west)
summary=()
summarise() {  # summarise 'what' 'without' 'with'
  summary+=("$(printf '%-46s | %18s | %18s' "$1" "$2" "$3")")
}

# --- where a record is -----------------------------------------------------------------------------

versions=$(value :memory: "SELECT printf('sqlite-cuckoo %s in SQLite %s', cuckoo_version(), sqlite_version())")
printf '%s\n' "$versions"

step 'hash_ring: which of four databases has the record of a word?'
ring_sql="CREATE VIRTUAL TABLE ring USING hash_ring(algorithm = slots, seed = $seed);
INSERT INTO ring(node, weight) VALUES ('north', 1), ('east', 1), ('south', 1), ('west', 2);"
show <<<"$ring_sql"
sql demo.db <<SQL
$attach
CREATE TABLE raw(word TEXT);
.mode ascii
.separator "\037" "\n"
.import words raw
CREATE TABLE dictionary(id INTEGER PRIMARY KEY, word TEXT UNIQUE);
INSERT INTO dictionary(word) SELECT DISTINCT word FROM raw WHERE word <> '';
DROP TABLE raw;
$ring_sql
CREATE TABLE placed AS SELECT word, node FROM dictionary JOIN ring ON key = word;
$(for node in "${nodes[@]}"; do
  echo "CREATE TABLE $node.records(word TEXT PRIMARY KEY, body TEXT) WITHOUT ROWID;"
  echo "INSERT INTO $node.records SELECT word, 'all about ' || word FROM placed WHERE node = '$node';"
done)
SQL
words=$(value demo.db 'SELECT count(*) FROM dictionary')
say "$(commas "$words") words, $(value demo.db "SELECT group_concat(node || ' ' || n, ', ')
  FROM (SELECT node, count(*) AS n FROM placed GROUP BY node)")" 'west has the weight 2'
expect 'records placed' "$(value demo.db 'SELECT count(*) FROM placed')" "$words"

# --- what need not be looked up --------------------------------------------------------------------

step "cuckoo_filter: $(commas "$requests") requests, nine in ten for words that don't exist"
filter_sql="CREATE VIRTUAL TABLE seen USING cuckoo_filter(
  word TEXT, capacity = $words, fpr = $asked_fpr, seed = $seed);
INSERT INTO seen SELECT word FROM dictionary;"
show <<<"$filter_sql"
sql demo.db <<SQL
$filter_sql
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
SQL
present=$(value demo.db 'SELECT count(*) FROM requests WHERE word IN (SELECT word FROM dictionary)')
answer() {  # answer requests: the four look-ups, one at each node
  local node
  for node in "${nodes[@]}"; do
    echo "SELECT count(*) FROM routed JOIN $node.records USING (word) WHERE node = '$node';"
  done
}
path=$(sql demo.db <<SQL
$attach
PRAGMA cache_size = -200000;
.timer on
CREATE TEMP TABLE routed AS SELECT word, node FROM requests JOIN ring ON key = word;
$(answer)
.timer off
SELECT 'without', count(*) FROM routed;
DROP TABLE routed;
.timer on
CREATE TEMP TABLE routed AS
  SELECT word, node FROM requests JOIN ring ON key = word WHERE filter_contains('seen', word);
$(answer)
.timer off
SELECT 'with', count(*) FROM routed;
SELECT 'filter', probes, positives FROM filter_info('seen');
SQL
)
counts() { grep -E '^[0-9]+$' <<<"$path" | awk -v from="$1" 'NR >= from && NR < from + 4 { n += $1 } END { print n }'; }
times() { run_times <<<"$path" | awk -v from="$1" 'NR >= from && NR < from + 5 { t += $1 } END { printf "%.0f", t }'; }
expect 'answers without the filter' "$(counts 1)" "$present"
expect 'answers with the filter' "$(counts 5)" "$present"
looked_up=$(sed -n 's/^with|//p' <<<"$path")
false_positives=$((looked_up - present))
say "asked of the nodes without the filter $(commas "$requests"), with it $(commas "$looked_up")" \
  "the same $(commas "$present") answers; $(commas "$false_positives") absent words got through: $(percent "$false_positives" $((requests - present))) of them, asked $(percent "$asked_fpr" 1)"
expect_fpr 'absent words' "$false_positives" $((requests - present))
summarise 'look-ups at the nodes' "$(commas "$requests")" "$(commas "$looked_up")"
summarise 'answering them (hot cache)' "$(times 1) ms" "$(times 6) ms"

# --- a node is lost --------------------------------------------------------------------------------

step 'a node is lost: only its own records move'
sql demo.db <<SQL
CREATE TABLE foretold AS SELECT to_node, share FROM hash_ring_moves('ring', 'remove', 'east');
DELETE FROM ring WHERE node = 'east';
CREATE TABLE moved AS SELECT p.node AS was, r.node AS is_now
  FROM placed p JOIN ring r ON r.key = p.word WHERE p.node <> r.node;
SQL
moved=$(value demo.db 'SELECT count(*) FROM moved')
modulo=$(value demo.db 'SELECT count(*) FROM dictionary WHERE id % 4 <> id % 3')
say "foretold by hash_ring_moves: $(value demo.db "SELECT group_concat(printf('%.1f %% to %s', 100 * share, to_node), ', ') FROM foretold")" \
  "moved: $(commas "$moved") records, all of them east's; with \"id modulo nodes\" $(commas "$modulo")"
expect 'records of other nodes that moved' "$(value demo.db "SELECT count(*) FROM moved WHERE was <> 'east'")" 0
expect 'records moved' "$moved" "$(value demo.db "SELECT count(*) FROM placed WHERE node = 'east'")"
summarise 'records that move when a node is lost' "$(commas "$modulo") (modulo)" "$(commas "$moved")"

# --- chunks of a file ------------------------------------------------------------------------------

step "flash_kv: $(basename "$file") cut into pieces of 1004 bytes, each stored once under its SHA-1"
bytes=$(stat -c %s original)
device=$((bytes * 2 + 1000000))
flash_sql="CREATE VIRTUAL TABLE chunks USING flash_kv(
  address TEXT, piece BLOB, size = $device, erase_block = 16, seed = $seed);"
show <<<"$flash_sql
INSERT OR IGNORE INTO chunks(piece) SELECT piece FROM pieces;"
sql chunks.db <<SQL
$flash_sql
CREATE TABLE manifest(number INTEGER PRIMARY KEY, address TEXT);
CREATE TEMP TABLE original(content BLOB);
INSERT INTO original VALUES (readfile('original'));
CREATE TEMP TABLE slices AS
  WITH RECURSIVE s(first) AS (
    VALUES (0) UNION ALL SELECT first + 100 FROM s WHERE (first + 100) * 1004 < $bytes)
  SELECT first, substr(content, first * 1004 + 1, 100400) AS slice FROM s, original;
CREATE TEMP VIEW pieces AS
  WITH RECURSIVE hundred(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM hundred WHERE i < 99)
  SELECT first + i AS number, substr(slice, i * 1004 + 1, 1004) AS piece
  FROM slices JOIN hundred ON i * 1004 < length(slice) ORDER BY 1;
BEGIN;
INSERT OR IGNORE INTO chunks(piece) SELECT piece FROM pieces;
INSERT INTO manifest SELECT number, sha1(piece) FROM pieces;
COMMIT;
SQL
sql chunks.db <<SQL >written
SELECT writefile('restored', coalesce(CAST(group_concat(piece, '') AS BLOB), x''))
FROM (SELECT piece FROM manifest CROSS JOIN chunks USING (address) ORDER BY number);
SQL
cmp original restored || fail 'what was read back is not the file'
pieces=$(value chunks.db 'SELECT count(*) FROM manifest')
expect 'pieces' "$pieces" $(((bytes + 1003) / 1004))
stored=$(value chunks.db 'SELECT count(*) FROM chunks')
say "$(commas "$bytes") bytes, $(commas "$pieces") pieces, $(commas "$stored") stored; read back in a new process: equal, byte for byte"
reads=$(sql chunks.db <<SQL
SELECT count(*) FROM manifest CROSS JOIN chunks USING (address);
SELECT record_reads FROM flash_kv_info('chunks');
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
SELECT count(*) FROM n CROSS JOIN chunks ON address = sha1('nobody has ' || i);
SELECT record_reads FROM flash_kv_info('chunks');
SQL
)
{
  read -r hits
  read -r hit_reads
  read -r misses
  read -r all_reads
} <<<"$reads"
expect 'pieces found' "$hits" "$pieces"
expect 'absent pieces found' "$misses" 0
say "record reads for $(commas "$hits") present pieces $(commas "$hit_reads"), for 100,000 absent ones $((all_reads - hit_reads)): probably yes becomes definitely yes"
summarise 'pieces stored' "$(commas "$pieces")" "$(commas "$stored")"
summarise 'flash reads for 100,000 absent pieces' '100,000' "$((all_reads - hit_reads))"

rounds=$((1 + 60000000 / (bytes + 1000000)))
step "wear: half of the pieces are rewritten $rounds times"
sql chunks.db >written <<SQL
CREATE TEMP TABLE half AS SELECT address, piece FROM chunks WHERE substr(address, 1, 1) < '8';
$(for _ in $(seq "$rounds"); do
  echo 'UPDATE chunks SET piece = piece WHERE address IN (SELECT address FROM half);'
done)
INSERT INTO chunks(chunks) VALUES ('check');
SELECT writefile('map.svg', flash_kv_map('chunks'));
SQL
cp map.svg "$map"
say "$(value chunks.db "SELECT printf('write amplification %.2f; erases of a block: least %d, mean %.1f, most %d', write_amplification, erase_min, erase_avg, erase_max) FROM flash_kv_info('chunks')")" \
  "wear and liveness of every sector: $map"
sql chunks.db <<SQL >written
SELECT writefile('restored', coalesce(CAST(group_concat(piece, '') AS BLOB), x''))
FROM (SELECT piece FROM manifest CROSS JOIN chunks USING (address) ORDER BY number);
SQL
cmp original restored || fail 'after the rewriting what was read back is not the file'

# --- what it comes to ------------------------------------------------------------------------------

printf '\n%-46s | %18s | %18s\n' 'What was saved' 'without' 'with'
printf '%s-+-%s-+-%s\n' "$(printf '%.0s-' {1..46})" "$(printf '%.0s-' {1..18})" "$(printf '%.0s-' {1..18})"
printf '%s\n' "${summary[@]}"
printf '\nAll results are as they must be.\n'
