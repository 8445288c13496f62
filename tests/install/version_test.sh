#!/usr/bin/env bash
# The version is in one place, ext/version.hpp; what can't read it there agrees with it.
# usage: version_test.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. packages/common.sh

fail() {
  printf '%s\n' "$1"
  exit 1
}

newest=$(sed -nE '/^## /{s/^## ([^ ]+).*/\1/p;q}' CHANGELOG.md)
[ "$newest" = "$version" ] || fail "CHANGELOG.md: newest is '$newest', ext/version.hpp has $version"

sqlpkg=$(sed -nE 's/^ *"version": "(.*)",$/\1/p' sqlpkg.json)
[ "$sqlpkg" = "$version" ] || fail "sqlpkg.json: version '$sqlpkg', ext/version.hpp has $version"

if elsewhere=$(grep -rnwF "$version" packages README.md CMakeLists.txt); then
  fail "$(printf 'the version once more:\n%s' "$elsewhere")"
fi

for platform in "${platforms[@]}"; do
  case $platform in
    *-musl) ;;  # sqlpkg can't tell it from glibc
    *)
      grep -qF "\"$(version={version} archive_file "$platform")\"" sqlpkg.json ||
        fail "sqlpkg.json: no $platform"
      ;;
  esac
  grep -qF "\"sqlite-cuckoo-$platform\": \"@version@\"" packages/npm/package.json ||
    fail "packages/npm/package.json: no $platform"
done
printf 'version %s, platforms %s\n' "$version" "${platforms[*]}"
