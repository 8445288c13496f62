# For the long runs: sourced with `usage`, `default_count` and `targets` set. Takes their arguments
# (count, first) and builds, in Release; BUILD_DIR=dir builds there instead of in build/release.

count=${1:-$default_count}
first=${2:-1}
case "$count$first" in
  *[!0-9]*)
    echo "usage: $0 $usage" >&2
    exit 2
    ;;
esac

export CUCKOO_KEEP_GOING=1  # a script that fails in one kind says nothing about the other kinds
build_dir=$(realpath -m "${BUILD_DIR:-$(dirname "${BASH_SOURCE[0]}")/../build/release}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tests/install.sh
ensure_packages "${build_packages[@]}"

cmake --preset release -B "$build_dir" >/dev/null
cmake --build "$build_dir" --target "${targets[@]}"
