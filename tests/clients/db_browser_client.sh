#!/usr/bin/env bash
# Edits cells in DB Browser for SQLite, under Xvfb, as a user does: click, type, Return, Ctrl+S. It
# has no scenario: it can't bind values or open savepoints. db_browser_client.sh DIRECTORY
#
# Where a cell is on the screen depends on fonts. So no check asks which cell was hit: exactly one
# row must be another one than before, and have the text that was typed.
set -euo pipefail

directory=$1
database=$directory/client.db
export HOME=$directory XDG_CONFIG_HOME=$directory/.config XDG_RUNTIME_DIR=$directory
pids=()

shell() {
  sqlite3 -batch -cmd ".load $CUCKOO_EXTENSION" -cmd ".timeout 5000" "$database" "$@"
}

own() {  # own WHAT COMMAND…
  local what=$1
  shift
  if "$@"; then echo "own: ok $what"; else echo "own: FAILED $what"; fi
}

stop() {
  local pid
  for pid in "${pids[@]}"; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
}
trap stop EXIT

shell <<'SQL'
CREATE VIRTUAL TABLE kv USING flash_kv(name TEXT, doc, size = '1MB', seed = 1);
INSERT INTO kv VALUES ('a', 'one'), ('b', 'two'), ('c', 'three'), ('d', 'four');
CREATE VIRTUAL TABLE seen USING cuckoo_filter(email TEXT, seed = 1);
INSERT INTO seen VALUES ('ada@example.org');
SQL

Xvfb -displayfd 3 -screen 0 1280x900x24 3>"$directory/display" 2>"$directory/xvfb.log" &
pids+=("$!")
for _ in {1..100}; do
  [ -s "$directory/display" ] && break
  sleep 0.1
done
DISPLAY=:$(cat "$directory/display")
export DISPLAY

# start OPTION VALUE: -t TABLE is shown in "Browse Data"; -s FILE is executed. Waits for the window.
start() {
  window=
  sqlitebrowser -o extensions/list="$CUCKOO_EXTENSION" "$1" "$2" "$database" \
    >>"$directory/browser.log" 2>&1 &
  browser=$!
  pids+=("$browser")
  for _ in {1..150}; do
    window=$(xdotool search --onlyvisible --name 'DB Browser.*client[.]db' | head -1 || true)
    [ -z "$window" ] || break
    sleep 0.2
  done
  sleep 2
}

# On its way up DB Browser sometimes gets into its own way, "The database is currently busy: reading
# rows", and asks what to do: a second window. Then it is started again.
browse() {
  local windows
  for _ in {1..10}; do
    start "$@"
    windows=$(xdotool search --onlyvisible --class 'DB Browser' | wc -l)
    [ "$windows" -gt 1 ] || return 0
    leave
  done
}

leave() {
  kill "$browser"
  wait "$browser" 2>/dev/null || true
}

# edit TEXT [KEY …]: clicks on the first column of the second row, goes on from there by keys, types
# over what is there, writes the changes
edit() {
  local text=$1 key
  shift
  xdotool windowfocus "$window" mousemove 50 229 click 1
  sleep 0.5
  for key in "$@"; do
    xdotool key "$key"
  done
  xdotool type --delay 50 "$text"
  xdotool key Return
  sleep 0.5
  xdotool key ctrl+s
}

within() {  # within SECONDS COMMAND…: whether it succeeds in that time
  local tries=$(($1 * 5))
  shift
  while ! "$@"; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || return 1
    sleep 0.2
  done
}

rows() {
  shell "SELECT quote(name), quote(doc) FROM kv ORDER BY name"
}

# changed BEFORE TEXT: one row is another one, and has that text now
changed() {
  local new
  new=$(comm -13 <(sort <<<"$1") <(rows | sort))
  [ "$(rows | wc -l)" -eq "$(wc -l <<<"$1")" ] && [ "$(wc -l <<<"$new")" -eq 1 ] &&
    [[ $new == *"'$2'"* ]]
}

version=$(dpkg-query -W -f '${Version}' sqlitebrowser 2>/dev/null || echo '?')
echo "client: DB Browser for SQLite ${version%-*}, SQLite $(
  dpkg-query -W -f '${Version}' libsqlite3-0 2>/dev/null | cut -d- -f1)"

browse -t kv
before=$(rows)
edit edited Right
own 'an edited cell changes that row of a flash_kv and no other' within 10 changed "$before" edited
before=$(rows)
edit twice Right
sleep 2
own 'the same cell again, without F5: nothing is written' [ "$before" = "$(rows)" ]
xdotool key F5
sleep 1
edit refreshed Right
own 'after F5 it is' within 10 changed "$before" refreshed
xdotool key F5
sleep 1
before=$(rows)
edit renamed
own 'an edited key changes that row and no other' within 10 changed "$before" renamed
leave
own 'the store is whole' [ "$(shell "SELECT cuckoo_check('kv')")" = ok ]

browse -t seen
edit nonsense
sleep 1
own 'a filter shows nothing that could be edited' \
  [ "$(shell "SELECT count(*), filter_contains('seen', 'ada@example.org'), cuckoo_check('seen')
              FROM seen")" = '1|1|ok' ]
leave

# "Execute SQL", by a file.
echo "INSERT INTO kv SELECT 'found', email FROM seen WHERE email = 'ada@example.org';" \
  >"$directory/ask.sql"
browse -s "$directory/ask.sql"
xdotool key ctrl+s
found() {
  [ "$(shell "SELECT doc FROM kv WHERE name = 'found'")" = ada@example.org ]
}
own 'SQL with a key is answered' within 10 found
leave
