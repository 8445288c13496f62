# shellcheck shell=bash
# Sourced. build_consumers builds consumer.c and consumer.cpp, each by pkg-config and by find_package,
# and looks whether they print the version.
#
# build_consumers cmake work-dir version [cmake options...]
#
# PKG_CONFIG_PATH and the options say where sqlite_cuckoo was installed. CC and CXX are the compilers.
consumers_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

build_consumers() {
  local cmake=$1 dir=$2 version=$3 language compiler flags
  shift 3
  [ "$(pkg-config --modversion sqlite_cuckoo)" = "$version" ] || {
    echo 'pkg-config: no sqlite_cuckoo, or of another version'
    return 1
  }
  read -ra flags < <(pkg-config --cflags --libs sqlite_cuckoo)
  for language in c cpp; do
    compiler=${CC:-cc}
    [ "$language" = c ] || compiler=${CXX:-c++}
    command -v "$compiler" >/dev/null || {
      printf 'no %s: nothing linked from %s\n' "$compiler" "$language"
      continue
    }
    "$compiler" -Wall -Wextra -Wpedantic -Werror "$consumers_dir/consumer.$language" "${flags[@]}" \
      -o "$dir/by_pkg_config.$language" || return 1
    prints_version "$dir/by_pkg_config.$language" "$version" || return 1

    if ! {
      "$cmake" -S "$consumers_dir" -B "$dir/$language" -DCONSUMER="$language" \
        -DEXPECTED_VERSION="$version" "$@" && "$cmake" --build "$dir/$language"
    } >"$dir/log" 2>&1; then
      cat "$dir/log"
      return 1
    fi
    prints_version "$dir/$language/consumer" "$version" || return 1
  done
}

prints_version() {
  local found
  found=$("$1" 2>&1) || true
  [ "$found" = "$2" ] || {
    printf '%s: "%s", expected "%s"\n' "$1" "$found" "$2"
    return 1
  }
}
