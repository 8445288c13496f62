#!/usr/bin/env bash
# Builds the page, opens it in a headless Chromium, clicks through every view and compares what it
# shows with what SQL answers. Installs what is missing.
#
#   docs/playground/test.sh              tests
#   docs/playground/test.sh --pictures   … and takes docs/pictures/playground_*.png anew
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/install.sh

case "${1-}" in
  '' | --pictures) ;;
  *)
    echo "usage: $0 [--pictures]" >&2
    exit 2
    ;;
esac

packages=(chromium)
command -v node >/dev/null || packages+=(nodejs)
command -v npm >/dev/null || packages+=(npm)
ensure_packages "${packages[@]}"
packages/wasm/build.sh

driver=puppeteer-core@24.8.2
mkdir -p build/playground
if [ ! -e "build/playground/node_modules/.$driver" ]; then
  npm install --prefix build/playground --no-save --no-audit --no-fund --silent "$driver"
  touch "build/playground/node_modules/.$driver"
fi
commit=$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
PLAYGROUND_COMMIT=$commit node docs/playground/test.js build/playground/node_modules "${1-}"
