# shellcheck shell=bash
# Sourced by packages/test.sh: npm's sqlite-cuckoo-wasm in Node.js, Bun and Chromium, files from it
# to the Linux library and back, and the playground's zip.
# shellcheck disable=SC2154

browser_driver=puppeteer-core@24.8.2
kilobytes_at_most=1300

# ask_linux database statements...: the answers of the Linux library.
ask_linux() {
  local database=$1
  shift
  sqlite3 -batch -init /dev/null -cmd ".load $work_dir/wasm-linux/cuckoo" "$database" "$@"
}

test_wasm() {
  need "$here" wasm
  local packages=(chromium sqlite3 unzip) dir=$work_dir/wasm node size image found page
  command -v npm >/dev/null || packages+=(npm)
  ensure_packages "${packages[@]}"
  size=$(stat -c %s "$dist/$(npm_file wasm)")
  ((size <= kilobytes_at_most * 1000)) || fail "npm's wasm package has $size bytes"

  mkdir "$dir"
  unpack "$here" "$work_dir/wasm-linux"
  cp packages/test/wasm/* "$dir/"
  ask_linux "$dir/linux.db" ".read $setup" 'PRAGMA journal_mode = WAL' \
    'PRAGMA wal_checkpoint(TRUNCATE)' >/dev/null
  image=$(ask_linux "$dir/linux.db" "SELECT sha1(filter_export('seen'))")

  cd "$dir" || return
  quietly npm init --yes
  quietly npm install --no-audit --no-fund "$dist/$(npm_file wasm)" "node-$here@$node_version" \
    "$browser_driver" "${npm_packages[@]}"
  for node in "node-$here/bin/node" "@oven/bun-$here/bin/bun"; do
    node=$dir/node_modules/$node
    found=$("$node" node.mjs "$setup" "$question" "$answer" linux.db here.db)
    [ "$found" = "$image
$(ask_linux here.db "SELECT sha1(filter_export('seen'))")" ] || fail "$node: $found"
    found=$(ask_linux here.db '.read '"$question" 'PRAGMA integrity_check' \
      "SELECT cuckoo_check('seen'), filter_contains('seen', 'grace@example.org')")
    [ "$found" = "$answer
ok
ok|1" ] || fail "$node, its file on Linux: $found"
  done
  node=$dir/node_modules/node-$here/bin/node
  example js "$root/packages/wasm/npm/README.md" >readme.mjs
  [ "$("$node" readme.mjs)" = 1 ] || fail "the example in the wasm package's README.md"
  quietly "$node" node_modules/typescript/bin/tsc --strict --noEmit --module nodenext \
    --target es2022 --lib es2022,dom --types node types.mts types.cts

  found=$("$node" browser.mjs "$setup" "$question" "$answer" browser.db)
  [ "$found" = "$(ask_linux browser.db "SELECT sha1(filter_export('seen'))")" ] ||
    fail "Chromium: $found"
  [ "$(ask_linux browser.db "SELECT cuckoo_check('seen'), filter_contains('seen', 'user300')")" = \
    'ok|1' ] || fail "Chromium's file on Linux"

  cd "$root" || return
  quietly unzip "$dist/$(playground_file)" -d "$dir/zip"
  page=$dir/zip/$(basename "$(playground_file)" .zip)
  check_links "$page"
  PLAYGROUND_COMMIT=commit PLAYGROUND=$page quietly "$node" docs/playground/test.js \
    "$dir/node_modules"  # of some commit
}

# What the pages in that folder link to, and is no other site's, is there, and they are HTML.
check_links() {
  local page link
  [ -z "$(find "$1" -name '*.md')" ] || fail "the playground's zip has Markdown"
  while IFS= read -r page; do
    while IFS= read -r link; do
      [ -e "${page%/*}/$link" ] || fail "the playground's zip has no $link, to which $page links"
    done < <(grep -oE '(href|src)="[^"#]+' "$page" | grep -vE '"(data|https?|mailto):' | cut -d '"' -f 2)
  done < <(find "$1" -name '*.html')
}
