# shellcheck shell=bash
# Sourced by the scripts beside it, in the repository's root. prepare PACKAGE … installs what they
# need, builds the module, and makes $work, a directory that is removed at the end. What is started
# with its process id in $work/*.pid is ended then, each by that id.

prepare() {
  local build_dir
  build_dir=$(realpath -m "${BUILD_DIR:-build/release}")
  . tests/install.sh
  ensure_packages "${build_packages[@]}" "$@"
  [ -e "$build_dir/CMakeCache.txt" ] || cmake --preset release -B "$build_dir" >/dev/null
  cmake --build "$build_dir" --target cuckoo >/dev/null
  export CUCKOO_EXTENSION=$build_dir/cuckoo.so PYTHONDONTWRITEBYTECODE=1
  work=$(mktemp -d)
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

clean_up() {
  local file
  for file in "$work"/*.pid; do
    [ ! -e "$file" ] || kill -KILL "$(cat "$file")" 2>/dev/null || true
  done
  rm -rf "$work"
}
