# shellcheck shell=bash
# Sourced by the scripts beside it and by tests/clients/run.sh, in the repository's root.
#
#   prepare PACKAGE …          installs what they need, builds the module, and makes $work, a
#                              directory that is removed at the end
#   run_for SECONDS COMMAND …  the command's exit code; it is ended when it takes longer
#
# However the script ends, that command is ended first, and then each process whose id is in a file
# $work/*.pid.

running=

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

run_for() {
  local seconds=$1 status=0
  shift
  timeout --foreground --kill-after=10 "$seconds" "$@" &
  running=$!
  wait "$running" || status=$?
  running=
  return "$status"
}

clean_up() {
  local file
  if [ -n "$running" ]; then
    kill -TERM "$running" 2>/dev/null || true
    wait "$running" || true
  fi
  for file in "$work"/*.pid; do
    [ ! -e "$file" ] || kill -KILL "$(cat "$file")" 2>/dev/null || true
  done
  rm -rf "$work"
}
