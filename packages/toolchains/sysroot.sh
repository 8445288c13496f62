#!/usr/bin/env bash
# Puts the libraries of another processor's Debian that sqlite-cuckoo is built with and tested
# against below a folder; what is installed on this machine stays as it is. Nothing to do where they
# are there already.
# usage: sysroot.sh arm64|i386 folder
set -euo pipefail
arch=$1 folder=$(realpath -m "$2")
packages=(libssl-dev libssl3 libsqlite3-dev libsqlite3-0 libxxhash-dev sqlite3 libreadline8 libtinfo6
  zlib1g)
done_mark=$folder/.done

if [ -e "$done_mark" ] && [ "$(<"$done_mark")" = "${packages[*]}" ]; then
  exit 0
fi
if [ -n "$(ls -A "$folder" 2>/dev/null)" ] && [ ! -e "$done_mark" ] && [ ! -e "$folder/.apt" ]; then
  echo "$folder has files of somebody else" >&2
  exit 1
fi
rm -rf "$folder"
mkdir -p "$folder/.apt/state/lists/partial" "$folder/.apt/cache/archives/partial"
: >"$folder/.apt/status"

# apt's own state, kept apart: it knows the other processor, and that nothing is installed.
apt=(-o APT::Architecture="$arch" -o APT::Architectures="$arch" -o APT::Sandbox::User=root
  -o Dir::State="$folder/.apt/state" -o Dir::State::status="$folder/.apt/status"
  -o Dir::Cache="$folder/.apt/cache" -qq)
apt-get "${apt[@]}" update </dev/null >&2 ||
  echo 'Going on with the lists that could be read' >&2
(cd "$folder/.apt" && apt-get "${apt[@]}" download "${packages[@]}" </dev/null >&2)
for package in "$folder"/.apt/*.deb; do
  dpkg-deb -x "$package" "$folder"
done
rm -rf "$folder/.apt"
printf '%s' "${packages[*]}" >"$done_mark"
