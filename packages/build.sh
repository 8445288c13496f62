#!/usr/bin/env bash
# Builds all packages into dist/: npm, wheels, gems, Debian, archives, the amalgamation, a Rust crate,
# a Go module, the readers of images, the playground's zip, and checksums.txt over them. Installs what
# that needs. The same sources give the same bytes, with the same compiler and libraries. In dist/,
# these packages replace those of any version, when all are built; other files stay.
# usage: packages/build.sh [platform | wasm | reader | amalgamation | crate | go]...     all, if none
#
# DIST=dir and BUILD_DIR=dir build elsewhere than in dist/ and build/packages/.
set -euo pipefail
umask 022
export LC_ALL=C
target=$(realpath -m "${DIST:-$(dirname "${BASH_SOURCE[0]}")/../dist}")
build_dir=$(realpath -m "${BUILD_DIR:-$(dirname "${BASH_SOURCE[0]}")/../build/packages}")
dist=$build_dir/unfinished-packages  # until all are built
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tests/install.sh
. packages/common.sh
unset CC CXX CPP CFLAGS CXXFLAGS CPPFLAGS LDFLAGS  # they are for this machine

# The time that the files in the packages have: that of the last commit.
last_commit=$(git log -1 --format=%ct 2>/dev/null || date -r CHANGELOG.md +%s)
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$last_commit}

fail() {
  printf '%s\n' "$1" >&2
  exit 1
}

wanted=("${@:-${targets[@]}}")
for platform in "${wanted[@]}"; do
  [[ " ${targets[*]} " == *" $platform "* ]] || {
    printf 'usage: %s [target...], of: %s\n' "$0" "${targets[*]}" >&2
    exit 2
  }
done

# Before the work: can the packages be put where they are to be?
case "$target/" in
  "$dist"/*) fail "DIST can't be $target: that folder is removed" ;;
esac
mkdir -p "$target" "$build_dir"
[ -w "$target" ] || fail "can't write to $target"
[ ! -e "$target/checksums.txt" ] ||
  grep -qE '  (lib)?sqlite[-_]cuckoo.*[-_][0-9]+\.[0-9]+\.[0-9]+' "$target/checksums.txt" ||
  fail "$target/checksums.txt is not ours: it would be replaced"

install_tools() {
  local packages=(g++ cmake ninja-build binutils dpkg-dev file python3 libsqlite3-dev libssl-dev
    libxxhash-dev zip ruby)
  local platform
  for platform in "${wanted[@]}"; do
    case $platform in
      reader | amalgamation | crate | go) ;;
      wasm) packages+=(cmark-gfm) ;;  # for the playground's pages
      win32-x64) packages+=(g++-mingw-w64-x86-64-posix) ;;
      darwin-* | *-musl) command -v npm >/dev/null || packages+=(npm ca-certificates) ;;
      *) native "$platform" || packages+=("g++-$(triplet_of "$platform" | tr _ -)") ;;
    esac
  done
  ensure_packages "${packages[@]}"
}

# What cmake is to know of a platform other than this machine's.
cross_options() {
  local arch=${debian_arch[$1]-} folder
  printf '%s\n' "-DCMAKE_TOOLCHAIN_FILE=$PWD/packages/toolchains/$(toolchain_of "$1").cmake"
  if has_deb "$1"; then
    folder=$build_dir/sysroot-$arch
    rm -rf "$folder"  # there may be a newer OpenSSL
    bash packages/toolchains/sysroot.sh "$arch" "$folder"
    printf '%s\n' "-DCUCKOO_SYSROOT=$folder"
  else
    folder=$build_dir/libraries-$1
    case $1 in
      win32-*) bash packages/toolchains/windows_libraries.sh "$folder" ;;
      *)
        bash packages/toolchains/zig_libraries.sh "$(zig_target "$1")" "$folder"
        printf '%s\n' "-DCUCKOO_LIBRARIES=$folder" "-DCUCKOO_SYSTEM=$(cmake_system "$1")" \
          "-DCUCKOO_MACHINE=${machine[$1]}" -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON
        ;;
    esac
    printf '%s\n' -DCUCKOO_PORTABLE=OFF -DCUCKOO_INSTALL=OFF -DCUCKOO_LIBMD=ON \
      "-DLIBMD_INCLUDE_DIR=$folder/include" "-DLIBMD_LIBRARY=$folder/libmd.a" \
      "-DSQLite3_INCLUDE_DIR=$folder/include" -DSQLite3_LIBRARY=none \
      "-DXXHASH_INCLUDE_DIR=$folder/include"
  fi
}

zig_target() {
  case $1 in
    darwin-arm64) printf 'aarch64-macos.11.0-none' ;;
    darwin-x64) printf 'x86_64-macos.11.0-none' ;;
    *-musl) printf '%s-linux-musl' "${machine[$1]}" ;;
  esac
}

cmake_system() {
  case $1 in
    darwin-*) printf 'Darwin' ;;
    *) printf 'Linux' ;;
  esac
}

strip_library() {  # strip_library platform from to
  case $1 in
    darwin-* | *-musl) cp "$2" "$3" ;;  # the linker did; for macOS it signed what it left
    *) "$(triplet_of "$1")-strip" -o "$3" "$2" ;;
  esac
}

# build_library platform: leaves the stripped library in $build_dir/platform/stage.
build_library() {
  local platform=$1 dir=$build_dir/$1 options=() log=$build_dir/$1.log library triplet
  library=$(library_of "$platform") triplet=$(triplet_of "$platform")
  if ! native "$platform"; then
    cross_options "$platform" >"$build_dir/$platform.options"
    mapfile -t options <"$build_dir/$platform.options"
  fi
  rm -f "$dir/CMakeCache.txt"
  {
    cmake -S . -B "$dir" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCUCKOO_PORTABLE=ON \
      -DCUCKOO_BUILD_TESTS=OFF -DCUCKOO_BUILD_BENCH=OFF \
      -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR="lib/$triplet" "${options[@]}" &&
      rm -rf "$dir/stage" "$dir/tree" &&
      mkdir "$dir/stage" &&
      if has_deb "$platform"; then
        cmake --build "$dir" &&
          cmake --install "$dir" --prefix "$dir/tree" --component extension --strip &&
          cp "$dir/tree/lib/$triplet/$library" "$dir/stage/"
      else
        cmake --build "$dir" --target cuckoo &&
          strip_library "$platform" "$dir/$library" "$dir/stage/$library"
      fi
  } >"$log" 2>&1 || {
    tail -n 50 "$log" >&2
    fail "$platform: not built; all of the log is in $log"
  }
  cp LICENSE "$dir/packages/THIRD-PARTY.txt" "$dir/stage/"
  packages/portable/needs.sh "$dir/stage/$library" >/dev/null
}

# pack tar-options... : a tar.gz on the output, the same for the same files.
pack() {
  tar --format=ustar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --mtime="@$SOURCE_DATE_EPOCH" -c "$@" | gzip -9n
}

zip_files() {  # zip_files folder file: the files of the folder; the same for the same files
  touch --date="@$SOURCE_DATE_EPOCH" "$1"/*
  (cd "$1" && TZ=UTC zip -X -9 -q "$2" -- *)
}

# Fills in @version@ and the words given as name=value.
fill() {
  local script="s/@version@/$version/g" word
  for word in "$@"; do
    script+=";s|@${word%%=*}@|${word#*=}|g"
  done
  sed "$script"
}

build_archive() {  # without folders: sqlpkg makes none
  local stage=$build_dir/$1/archive file
  file=$dist/$(archive_file "$1")
  rm -rf "$stage"
  cp -r "$build_dir/$1/stage" "$stage"
  fill library="$(library_of "$1")" <packages/archive/README.md >"$stage/README.md"
  case $file in
    *.zip)
      zip_files "$stage" "$file"
      ;;
    *) (cd "$stage" && pack -- *) >"$file" ;;
  esac
}

build_npm_platform() {
  local stage=$build_dir/$1/npm/package cpu=${1#*-} libc=glibc without=
  rm -rf "$stage"
  mkdir -p "$stage"
  cp "$build_dir/$1/stage/"* "$stage/"
  [[ $1 == linux-* ]] || without='/"libc":/d'  # npm knows it of Linux alone
  [[ $1 != *-musl ]] || libc=musl cpu=${cpu%-musl}
  fill platform="$1" os="${1%%-*}" cpu="$cpu" libc="$libc" library="$(library_of "$1")" \
    <packages/npm/platform/package.json | sed "$without" >"$stage/package.json"
  fill platform="$1" <packages/npm/platform/README.md >"$stage/README.md"
  pack -C "$stage/.." package >"$dist/$(npm_file "$1")"
}

build_npm_main() {
  local stage=$build_dir/npm/package
  rm -rf "$stage"
  mkdir -p "$stage"
  cp packages/npm/index.* packages/npm/README.md LICENSE "$stage/"
  fill <packages/npm/package.json >"$stage/package.json"
  pack -C "$stage/.." package >"$dist/$(npm_file '')"
}

build_wheel() {
  local stage=$build_dir/$1/stage library needs
  library=$stage/$(library_of "$1")
  needs=$(packages/portable/needs.sh "$library")
  python3 packages/python/build_wheel.py --version "$version" --library "$library" \
    --license "$stage/LICENSE" --license "$stage/THIRD-PARTY.txt" \
    --out "$dist/$(wheel_file "$1" "$needs")"
}

build_gem() {
  local stage=$build_dir/$1/gem rubygems=2.7
  [[ $1 != *-musl ]] || rubygems=3.3.22  # older ones take it for glibc, too
  rm -rf "$stage"
  mkdir -p "$stage/lib/sqlite_cuckoo"
  cp "$build_dir/$1/stage/"{LICENSE,THIRD-PARTY.txt} packages/ruby/README.md "$stage/"
  cp "$build_dir/$1/stage/$(library_of "$1")" "$stage/lib/sqlite_cuckoo/"
  fill <packages/ruby/sqlite_cuckoo.rb >"$stage/lib/sqlite_cuckoo.rb"
  fill platform="$(gem_platform "$1")" rubygems="$rubygems" <packages/ruby/sqlite_cuckoo.gemspec \
    >"$stage/sqlite_cuckoo.gemspec"
  (cd "$stage" && gem build --norc --silent --output "$dist/$(gem_file "$1")" sqlite_cuckoo.gemspec)
}

build_deb() {
  local dir=$build_dir/$1
  rm -rf "$dir/_CPack_Packages"
  (cd "$dir" && cpack -G DEB -B "$dir/deb") >"$dir/cpack.log" 2>&1 || {
    cat "$dir/cpack.log" >&2
    fail "$1: no Debian packages"
  }
  cp "$dir/deb/$(deb_file sqlite-cuckoo "$1")" "$dir/deb/$(deb_file libsqlite-cuckoo-dev "$1")" \
    "$dist/"
}

# The npm package, and a page that needs no server, with the documents that it links to.
build_wasm() {
  local wasm=build  # as packages/wasm/build.sh has it by itself
  [ -z "${BUILD_DIR-}" ] || wasm=$build_dir
  BUILD_DIR=$wasm packages/wasm/build.sh >"$build_dir/wasm.log" 2>&1 || {
    tail -n 50 "$build_dir/wasm.log" >&2
    fail "wasm: not built; all of the log is in $build_dir/wasm.log"
  }
  local stage=$build_dir/wasm-stage page
  page=$stage/$(basename "$(playground_file)" .zip)
  rm -rf "$stage"
  mkdir -p "$page/docs"
  cp -r "$wasm/wasm/package" "$stage/package"
  pack -C "$stage" package >"$dist/$(npm_file wasm)"
  cp docs/playground/*.{js,css} LICENSE README.md "$page/"
  rm "$page/test.js"
  cp docs/*.md "$page/docs/"
  cp -r docs/pictures "$page/docs/"
  node packages/wasm/pages.js "$page" style.css
  sed -E 's#href="\.\./\.\./README\.md"#href="README.html"#
    s#href="\.\./(\w+)\.md"#href="docs/\1.html"#' docs/playground/index.html >"$page/index.html"
  find "$page" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
  (cd "$stage" && find "${page##*/}" -type f | sort | TZ=UTC zip -9qX@ "$dist/$(playground_file)")
}

# The readers of images, in source.
build_reader() {
  local stage=$build_dir/reader-stage folder
  folder=$(basename "$(reader_file)" .zip)
  rm -rf "$stage"
  mkdir -p "$stage/$folder"
  cp packages/reader/* LICENSE "$stage/$folder/"
  sed 's#\[FORMAT\.md\]([^)]*)#docs/FORMAT.md of sqlite-cuckoo#' packages/reader/README.md >"$stage/$folder/README.md"
  touch -d "@$SOURCE_DATE_EPOCH" "$stage/$folder"/*
  (cd "$stage" && TZ=UTC zip -9qX "$dist/$(reader_file)" "$folder"/*)
}

amalgamate() {  # amalgamate folder: the source, its header and the licence, in a new folder
  rm -rf "$1"
  mkdir -p "$1"
  python3 packages/amalgamation/amalgamate.py "$1" /usr/include/xxhash.h
  cp LICENSE "$1/"
}

build_amalgamation() {
  local stage=$build_dir/amalgamation
  amalgamate "$stage"
  fill <packages/amalgamation/README.md >"$stage/README.md"
  zip_files "$stage" "$dist/$(amalgamation_file)"
}

build_crate() {
  local stage=$build_dir/crate folder=sqlite-cuckoo-$version
  amalgamate "$stage/$folder"
  cp -r packages/rust/{build.rs,README.md,src,tests} "$stage/$folder/"
  fill <packages/rust/Cargo.toml >"$stage/$folder/Cargo.toml"
  mkdir "$stage/$folder/sqlite3"
  cp /usr/include/sqlite3.h "$stage/$folder/sqlite3/"
  pack -C "$stage" "$folder" >"$dist/$(crate_file)"
}

build_go() {  # without folders: vendoring leaves them out
  local stage=$build_dir/go
  amalgamate "$stage"
  cp packages/go/* /usr/include/sqlite3{,ext}.h "$stage/"
  zip_files "$stage" "$dist/$(go_file)"
}

install_tools
rm -rf "$dist"
mkdir -p "$dist"
for platform in "${wanted[@]}"; do
  printf '%s\n' "$platform"
  case $platform in
    wasm | reader | amalgamation | crate | go)
      "build_$platform"
      continue
      ;;
  esac
  build_library "$platform"
  build_archive "$platform"
  build_npm_platform "$platform"
  build_wheel "$platform"
  build_gem "$platform"
  if has_deb "$platform"; then
    build_deb "$platform"
  fi
  library=$build_dir/$platform/stage/$(library_of "$platform")
  printf '  %s: %s bytes, needs %s\n' "${library##*/}" "$(stat -c %s "$library")" \
    "$(packages/portable/needs.sh "$library")"
done
build_npm_main
(cd "$dist" && stat -c '%9s %n' -- *)

# finish: puts them into $target, for those of any version; checksums.txt is over all that are there.
finish() {
  local any='+([0-9]).+([0-9]).+([0-9])' built all old
  mapfile -t built < <(version=$any package_names "${wanted[@]}")
  mapfile -t all < <(version=$any package_names "${targets[@]}")
  cd "$target" || return
  mapfile -t old < <(packages_in . "${built[@]}")
  rm -f -- "${old[@]}" checksums.txt && mv -- "$dist"/* . && rmdir "$dist" || return
  packages_in . "${all[@]}" | xargs sha256sum -- >checksums.txt  # sqlpkg looks for this name
}
finish || fail "not put into $target: the packages are in $dist"
