#!/usr/bin/env bash
# Runs each sql/NN_*.sql in the sqlite3 shell, on a new database in a new folder, with the extension
# loaded, and compares all of its output with sql/NN_*.expected. No two runs agree on times: what
# `.timer on` prints is compared as "Run Time: …". Shells of different versions align columns in
# different ways: any number of blanks is compared as one, and so is any number of dashes. A script
# with a line `-- Reads /path/to/file` is skipped where there is no such file.
# usage: run_scripts.sh sqlite3 cuckoo.so ["libraries to preload"]
#
# SCRIPTS=dir has the scripts instead of sql/.
set -euo pipefail
shell=$1 extension=$2 preload=${3-}
scripts_dir=$(cd "${SCRIPTS:-$(dirname "${BASH_SOURCE[0]}")/../../sql}" && pwd) || {
  echo "no folder sql/"
  exit 1
}
shopt -s nullglob

work_dir=$(mktemp -d)
trap 'rm -rf "$work_dir"' EXIT

values() {  # values file
  sed -E 's/ +/ /g; s/--+/--/g' "$1"
}

# Prints why the script failed, if it did.
run_script() {
  local script=$1 expected=${1%.sql}.expected dir status=0
  if [ ! -e "$expected" ]; then
    echo "$(basename "$expected") is missing"
    return 1
  fi

  dir=$work_dir/$(basename "$script" .sql)
  mkdir "$dir" "$dir/home"
  (
    cd "$dir"
    # HOME: nobody's .sqliterc.
    env HOME="$dir/home" XDG_CONFIG_HOME="$dir/home" ${preload:+LD_PRELOAD="$preload"} \
      "$shell" -batch -cmd ".load $extension" test.db <"$script" >"$dir/out" 2>"$dir/err"
  ) || status=$?

  local failed=0
  sed -i 's/^Run Time: .*/Run Time: …/' "$dir/out"
  if ! diff -u --label expected --label actual <(values "$expected") <(values "$dir/out"); then
    failed=1
  fi
  if [ -s "$dir/err" ]; then
    echo "on stderr:"
    cat "$dir/err"
    failed=1
  fi
  if [ "$status" -ne 0 ]; then
    echo "exit code $status"
    failed=1
  fi
  return "$failed"
}

missing_file() {  # missing_file script: the first file that it reads and that is not there
  local file
  while IFS= read -r file; do
    if [ ! -r "$file" ]; then
      echo "$file"
      return
    fi
  done < <(sed -n 's/^-- Reads \(\/[^ ]*\).*/\1/p' "$1")
}

count=0 failures=0
for script in "$scripts_dir"/[0-9][0-9]_*.sql; do
  missing=$(missing_file "$script")
  if [ -n "$missing" ]; then
    printf 'skipped %s: there is no %s\n' "$(basename "$script")" "$missing"
    continue
  fi
  count=$((count + 1))
  if output=$(run_script "$script"); then
    printf 'ok      %s\n' "$(basename "$script")"
  else
    printf 'FAILED  %s\n%s\n' "$(basename "$script")" "$output"
    failures=$((failures + 1))
  fi
done
for expected in "$scripts_dir"/*.expected; do
  if [ ! -e "${expected%.expected}.sql" ]; then
    printf 'FAILED  %s has no script\n' "$(basename "$expected")"
    failures=$((failures + 1))
  fi
done

printf '%d scripts, %d failures\n' "$count" "$failures"
if [ "$count" -eq 0 ]; then
  echo "no sql/NN_*.sql to run"
  exit 1
fi
[ "$failures" -eq 0 ]
