# shellcheck shell=bash
# Sourced by packages/test.sh: the Go module's own tests and the programs of docs/install.md and of its
# README.md, with Debian's go-sqlite3 and without the network.
# shellcheck disable=SC2154

go_offline() {
  GO111MODULE=on GOFLAGS='-mod=mod -tags=libsqlite3' GOPROXY=off GOSUMDB=off GOWORK=off \
    GOPATH=$work_dir/go/path GOCACHE=$work_dir/go/cache quietly /usr/bin/go "$@"
}

test_go() {
  need go
  ensure_packages golang-go golang-github-mattn-go-sqlite3-dev libsqlite3-dev libssl-dev g++ unzip
  local dir=$work_dir/go/program program
  mkdir -p "$dir"/{install,readme}
  cd "$dir" || return
  unzip -q "$dist/$(go_file)" -d cuckoo
  example go "$root/docs/install.md" >install/main.go
  example go cuckoo/README.md >readme/main.go
  go_offline mod init program
  go_offline mod edit -require sqlite-cuckoo/cuckoo@v0.0.0 -replace sqlite-cuckoo/cuckoo=./cuckoo
  go_offline mod edit \
    -replace github.com/mattn/go-sqlite3=/usr/share/gocode/src/github.com/mattn/go-sqlite3
  go_offline vet ./install ./readme sqlite-cuckoo/cuckoo
  go_offline test sqlite-cuckoo/cuckoo
  for program in install readme; do
    go_offline build -o "$program/main" "./$program"
    [ "$(cd "$program" && ./main)" = true ] || fail "the Go program of $program"
  done
  cd "$root" || return
}
