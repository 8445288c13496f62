# shellcheck shell=bash
# Sourced by packages/test.sh: the extension as one source, by the commands of its README.md.
# shellcheck disable=SC2154

# run_example n: the nth command of the README, in the working folder.
run_example() {
  example sh README.md "$1" >example.sh
  [ -s example.sh ] || fail "the README of the amalgamation has no command $1"
  quietly bash -e example.sh
}

test_amalgamation() {
  need amalgamation
  ensure_packages gcc g++ clang g++-mingw-w64-x86-64-posix libsqlite3-dev libssl-dev sqlite3 unzip
  local dir=$work_dir/amalgamation warnings=(-std=c++20 -Wall -Wextra -Werror) script error shown
  unzip -q "$dist/$(amalgamation_file)" -d "$dir"
  cd "$dir" || return

  run_example 1
  expect 'the amalgamation' "$(ask_shell "$dir" ./cuckoo)"
  shown=$(nm -D --defined-only cuckoo.so | awk '$3 !~ /^_Z/ { print $3 }')  # but the C++ library's
  [ "$(paste -sd' ' <<<"$shown")" = 'sqlite3_cuckoo_init sqlite3_extension_init' ] ||
    fail "the amalgamation shows $shown"
  [ "$(readelf -d cuckoo.so | grep -cE 'Flags: NODELETE|\(SYMBOLIC\)')" = 2 ] ||
    fail 'the module may be unmapped, or take functions of another copy'
  quietly "$root/tests/sql/run_scripts.sh" sqlite3 "$dir/cuckoo.so"

  example c README.md >program.c
  run_example 2
  [ "$(./program)" = 1 ] || fail 'the program of the README of the amalgamation'

  # Without OpenSSL: the scripts but for those that compute digests, which are errors.
  quietly g++ "${warnings[@]}" -O0 -DCUCKOO_NO_OPENSSL -fPIC -shared -Wl,-z,nodelete,--no-undefined \
    sqlite_cuckoo.cpp -o without.so
  mkdir scripts
  for script in "$root"/sql/[0-9]*.sql; do
    grep -qE 'sha1|sha256|ketama' "$script" || cp "${script%.sql}".* scripts/
  done
  SCRIPTS=scripts quietly "$root/tests/sql/run_scripts.sh" sqlite3 "$dir/without.so"
  for script in "SELECT sha1('a')" \
    "CREATE VIRTUAL TABLE k USING hash_ring(algorithm = ketama); INSERT INTO k(node) VALUES ('a')" \
    "CREATE VIRTUAL TABLE kv USING flash_kv(key, value); INSERT INTO kv(value) VALUES ('a')"; do
    error=$(sqlite3 -batch -cmd '.load ./without' :memory: "$script" 2>&1) &&
      fail "without OpenSSL: $script succeeds"
    [[ $error == *'this build has no OpenSSL'* ]] || fail "without OpenSSL: $script: $error"
  done

  quietly clang++ "${warnings[@]}" -fsyntax-only sqlite_cuckoo.cpp
  mkdir headers
  cp /usr/include/sqlite3{,ext}.h headers/
  run_example 3
  [ "$("$root"/packages/portable/needs.sh cuckoo.dll)" = Windows ] || fail "cuckoo.dll of the amalgamation"
  cd "$root" || return
}
