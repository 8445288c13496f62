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
platforms=(linux-x64 linux-arm64)
declare -A debian_arch=([linux-x64]=amd64 [linux-arm64]=arm64)
declare -A machine=([linux-x64]=x86_64 [linux-arm64]=aarch64)
declare -A npm_cpu=([linux-x64]=x64 [linux-arm64]=arm64)

triplet_of() {
  printf '%s-linux-gnu' "${machine[$1]}"
}

# The files in dist/.
tar_file() { printf 'sqlite-cuckoo-%s-%s.tar.gz' "$version" "$1"; }
npm_file() { printf 'sqlite-cuckoo%s-%s.tgz' "${1:+-$1}" "$version"; }
deb_file() { printf '%s_%s-1_%s.deb' "$1" "$version" "${debian_arch[$2]}"; }
wheel_file() {  # glibc as in 2.17
  printf 'sqlite_cuckoo-%s-py3-none-manylinux_%s_%s.whl' "$version" "${2/./_}" "${machine[$1]}"
}

native() {
  [ "$(uname -m)" = "${machine[$1]}" ]
}
