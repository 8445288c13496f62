# shellcheck shell=bash
# Sourced by build.sh and test.sh, at the repository's root: the version, and the platforms that
# packages are built for.
# shellcheck disable=SC2034

version=$(sed -nE 's/.*kVersion\[\] = "(.*)";/\1/p' ext/version.hpp)
[ -n "$version" ] || {
  echo 'ext/version.hpp: no version' >&2
  exit 1
}

# As npm calls them. How others call the same processor:
platforms=(linux-x64 linux-arm64 linux-x64-musl linux-arm64-musl win32-x64 darwin-arm64
  darwin-x64)
declare -A debian_arch=([linux-x64]=amd64 [linux-arm64]=arm64)  # others have no Debian packages
declare -A machine=([linux-x64]=x86_64 [linux-arm64]=aarch64 [linux-x64-musl]=x86_64
  [linux-arm64-musl]=aarch64 [win32-x64]=x86_64 [darwin-arm64]=arm64 [darwin-x64]=x86_64)

# What build.sh is told: platforms, and what is for any.
targets=("${platforms[@]}" wasm reader amalgamation crate go)

triplet_of() {
  case $1 in
    win32-*) printf '%s-w64-mingw32' "${machine[$1]}" ;;
    darwin-*) printf '%s-apple-darwin' "${machine[$1]}" ;;
    *-musl) printf '%s-linux-musl' "${machine[$1]}" ;;
    *) printf '%s-linux-gnu' "${machine[$1]}" ;;
  esac
}

toolchain_of() {  # a file's name in packages/toolchains/
  case $1 in
    darwin-* | *-musl) printf 'zig' ;;
    *) triplet_of "$1" ;;
  esac
}

library_of() {
  case $1 in
    win32-*) printf 'cuckoo.dll' ;;
    darwin-*) printf 'cuckoo.dylib' ;;
    *) printf 'cuckoo.so' ;;
  esac
}

# The files in dist/.
archive_file() {
  case $1 in
    win32-*) printf 'sqlite-cuckoo-%s-%s.zip' "$version" "$1" ;;
    *) printf 'sqlite-cuckoo-%s-%s.tar.gz' "$version" "$1" ;;
  esac
}
npm_file() { printf 'sqlite-cuckoo%s-%s.tgz' "${1:+-$1}" "$version"; }
deb_file() { printf '%s_%s-1_%s.deb' "$1" "$version" "${debian_arch[$2]}"; }
wheel_file() {  # wheel_file platform needs: as needs.sh tells, such as "glibc 2.17"
  local tag
  case $1 in
    win32-*) tag=win_${debian_arch[linux-${1#*-}]} ;;
    darwin-*) tag=macosx_${2##* }_${machine[$1]} && tag=${tag/./_} ;;
    *-musl) tag=musllinux_${2##* }_${machine[$1]} && tag=${tag/./_} ;;
    *) tag=manylinux_${2##* }_${machine[$1]} && tag=${tag/./_} ;;
  esac
  printf 'sqlite_cuckoo-%s-py3-none-%s.whl' "$version" "$tag"
}

reader_file() { printf 'sqlite-cuckoo-reader-%s.zip' "$version"; }
gem_file() { printf 'sqlite_cuckoo-%s-%s.gem' "$version" "$(gem_platform "$1")"; }
gem_platform() {
  case $1 in
    win32-x64) printf 'x64-mingw-ucrt' ;;  # RubyInstaller's, from Ruby 3.1 on
    darwin-*) printf '%s-darwin' "${machine[$1]}" ;;
    *-musl) printf '%s-linux-musl' "${machine[$1]}" ;;
    *) printf '%s-linux' "${machine[$1]}" ;;
  esac
}
amalgamation_file() { printf 'sqlite-cuckoo-amalgamation-%s.zip' "$version"; }
crate_file() { printf 'sqlite-cuckoo-%s.crate' "$version"; }
go_file() { printf 'sqlite-cuckoo-go-%s.zip' "$version"; }
playground_file() { printf 'sqlite-cuckoo-playground-%s.zip' "$version"; }

# package_names target...: those of the targets, and npm's main package; a line each. The wheel's is
# a pattern, of any version of the C library.
package_names() {
  local platform
  npm_file ''
  for platform in "$@"; do
    case $platform in
      wasm) printf '\n%s' "$(npm_file wasm)" "$(playground_file)" ;;
      reader) printf '\n%s' "$(reader_file)" ;;
      amalgamation) printf '\n%s' "$(amalgamation_file)" ;;
      crate) printf '\n%s' "$(crate_file)" ;;
      go) printf '\n%s' "$(go_file)" ;;
      *)
        printf '\n%s' "$(archive_file "$platform")" "$(npm_file "$platform")" \
          "$(wheel_file "$platform" '+([0-9]).+([0-9])')" "$(gem_file "$platform")"
        if has_deb "$platform"; then
          printf '\n%s' "$(deb_file sqlite-cuckoo "$platform")" "$(deb_file libsqlite-cuckoo-dev "$platform")"
        fi
        ;;
    esac
  done
  echo
}

# packages_in folder pattern...: the files there with a name that matches one of them.
packages_in() {
  local folder=$1 file pattern
  shift
  for file in "$folder"/*; do
    for pattern in "$@"; do
      # shellcheck disable=SC2053
      if [[ ${file##*/} == $pattern ]]; then
        printf '%s\n' "${file##*/}"
      fi
    done
  done
}

native() {
  [ "$(uname -sm)" = "Linux ${machine[$1]}" ] && has_deb "$1"
}

has_deb() {
  [ -n "${debian_arch[$1]-}" ]
}
