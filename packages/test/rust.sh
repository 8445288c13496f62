# shellcheck shell=bash
# Sourced by packages/test.sh: the crate's own tests, among them the example of its README.md, with
# Debian's rusqlite and without the network; and the program of docs/install.md.
# shellcheck disable=SC2154

# cargo_offline subcommand options...
cargo_offline() {
  RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc CARGO_TARGET_DIR=$work_dir/rust/target quietly \
    /usr/bin/cargo "$@" --quiet --offline \
    --config 'source.crates-io.replace-with="debian"' \
    --config 'source.debian.directory="/usr/share/cargo/registry"'
}

test_rust() {
  need crate
  ensure_packages cargo librust-rusqlite-dev librust-libsqlite3-sys-dev librust-cc-dev \
    librust-openssl-sys-dev libsqlite3-dev libssl-dev g++
  local dir=$work_dir/rust
  mkdir -p "$dir/program/src"
  cd "$dir/program" || return
  tar -xzf "$dist/$(crate_file)"
  (
    cd "sqlite-cuckoo-$version" || return
    cargo_offline test
    CXXFLAGS=-O0 cargo_offline test --no-default-features --test rusqlite
  )
  cat >Cargo.toml <<END
[package]
name = "program"
version = "0.0.0"
edition = "2021"

$(example toml "$root/docs/install.md" | sed "s/VERSION/$version/")
END
  example rust "$root/docs/install.md" >src/main.rs
  cargo_offline build
  [ "$("$dir/target/debug/program")" = true ] || fail 'the Rust program of docs/install.md'
  cd "$root" || return
}
