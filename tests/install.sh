# shellcheck shell=bash
# Sourced. ensure_packages makes sure that the Debian packages named are there, and touches neither
# apt-get nor the network when they are.

# Run as root, through sudo without a password, or not at all.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    sudo -n "$@"
  fi
}

can_be_root() {
  [ "$(id -u)" -eq 0 ] || { command -v sudo && sudo -n true; } >/dev/null 2>&1
}

# The program that tells whether a package is there, where nobody can ask dpkg.
tool_of_package() {
  case "$1" in
    g++ | cmake | sqlite3 | clang-format | clang-tidy) echo "$1" ;;
    ninja-build) echo ninja ;;
    *) ;;  # headers and data: cmake, or the user of the data, will say what it misses
  esac
}

ensure_tools() {
  local package tool missing=()
  for package in "$@"; do
    tool=$(tool_of_package "$package")
    if [ -n "$tool" ] && ! command -v "$tool" >/dev/null 2>&1; then
      missing+=("$tool")
    fi
  done
  if [ "${#missing[@]}" -gt 0 ]; then
    echo "Please install: ${missing[*]} (on Debian, the packages are: $*)" >&2
    exit 1
  fi
}

ensure_packages() {
  if ! command -v dpkg-query >/dev/null 2>&1; then
    ensure_tools "$@"
    return
  fi
  local package missing=()
  for package in "$@"; do
    if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
      missing+=("$package")
    fi
  done
  [ "${#missing[@]}" -gt 0 ] || return 0

  local update=(apt-get update)
  local install=(apt-get install -y --no-install-recommends "${missing[@]}")
  if ! can_be_root; then
    printf 'Missing packages. Please run:\n  sudo %s && sudo %s\n' \
      "${update[*]}" "${install[*]}" >&2
    exit 1
  fi
  echo "Installing: ${missing[*]}"
  if ! as_root env DEBIAN_FRONTEND=noninteractive "${update[@]}" </dev/null >&2 ||
     ! as_root env DEBIAN_FRONTEND=noninteractive "${install[@]}" </dev/null >&2; then
    printf 'Could not install. Please run:\n  sudo %s && sudo %s\n' \
      "${update[*]}" "${install[*]}" >&2
    exit 1
  fi
}

# What building and testing need; for the scripts that source this.
# shellcheck disable=SC2034
build_packages=(g++ cmake ninja-build libsqlite3-dev libssl-dev libgtest-dev libbenchmark-dev
  libxxhash-dev pkg-config sqlite3 ccache)
