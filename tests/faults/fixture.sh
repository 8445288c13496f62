# shellcheck shell=bash
# Sourced by run.sh, in the repository's root. build_fixture DIRECTORY [SUITE] makes
# DIRECTORY/testfixture, SQLite's own test program with its fault simulators and its crash VFS, from
# Debian's source package of sqlite3: that of the system, or of another suite of Debian. Nothing of
# the system changes: the source lists are copies of its own with "deb" made "deb-src", and all that
# apt-get keeps is in a directory that is removed.

# shellcheck disable=SC2034
fixture_packages=(gcc make tcl-dev dpkg-dev)

# The system's sources, as those of source packages, in directory $1. With a suite $2: of that one.
write_source_lists() {
  local file suite=${2-}
  mkdir -p "$1"
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -r "$file" ] || continue
    sed -nE 's/^deb(-src)?[[:space:]]/deb-src /p' "$file" |
      sed -E "${suite:+s/^(deb-src (\[[^]]*\] *)?[^ ]+ +)[^ ]+/\1$suite/}" \
        >"$1/$(basename "$file" .list).list"
  done
  for file in /etc/apt/sources.list.d/*.sources; do
    [ -r "$file" ] || continue
    sed -E "s/^Types:.*/Types: deb-src/${suite:+; s/^Suites:.*/Suites: $suite/}" "$file" \
      >"$1/$(basename "$file")"
  done
}

fetch_sqlite_source() {  # into the current directory: sqlite3-<version>/, of suite $1 if given
  local apt=(apt-get -qq -o Debug::NoLocking=true -o APT::Sandbox::User=
    -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$PWD/sources"
    -o "Dir::State::lists=$PWD/lists" -o "Dir::Cache=$PWD/cache")
  write_source_lists "$PWD/sources" "$@"
  mkdir -p lists/partial cache/archives/partial
  "${apt[@]}" update </dev/null || true  # what one of many sources lacks need not be SQLite
  "${apt[@]}" source sqlite3 </dev/null
}

# With its asserts, and with guards around each allocation, which find uses of what was freed.
build_fixture() {
  local directory=$1 suite=("${@:2}") work source
  work=$(mktemp -d)
  (
    set -e
    mkdir -p "$directory"
    cd "$work"
    fetch_sqlite_source "${suite[@]}"
    source=$(echo "$PWD"/sqlite3-*/)
    mkdir build
    cd build
    "${source}configure" CFLAGS='-O1 -DSQLITE_DEBUG -DSQLITE_MEMDEBUG'
    make testfixture
  ) >"$work/log" 2>&1 || {
    tail -n 30 "$work/log" >&2
    echo "could not build testfixture; the whole log: $work/log" >&2
    return 1
  }
  mkdir -p "$directory"
  mv "$work/build/testfixture" "$directory/testfixture"
  rm -rf "$work"
}
