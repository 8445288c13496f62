#!/usr/bin/env bash
# The library for programs in C++ asks for no library of digests unless a program does: no object of
# its archive but digest's refers to one, and a program with a filter and a ring links without it.
# Each of its headers compiles alone, without a warning.
#
# tests/library_links_test.sh libcuckoo_core.a compiler [flags…]
set -euo pipefail
archive=$(realpath "$1")
compiler=("${@:2}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
fail() {
  printf '%s\n' "$1"
  failures=$((failures + 1))
}

undefined=$(nm -A -C --undefined-only "$archive")
digests='U (EVP_|MD5|SHA)'
grep -qE "digest\.cpp.*$digests" <<<"$undefined" ||
  fail "digest.cpp.o refers to no digest: this test looks for other names"
if others=$(grep -E "$digests" <<<"$undefined" | grep -v 'digest\.cpp'); then
  fail "objects that refer to a library of digests: $others"
fi
if others=$(grep -E 'U cuckoo::(Digester|system_md5)' <<<"$undefined" | grep -v ':md5\.cpp'); then
  fail "objects that refer to digest.cpp or md5.cpp: $others"
fi

cat >"$folder/program.cpp" <<'EOF'
#include <cuckoo/bloom_filter.hpp>
#include <cuckoo/cuckoo_filter.hpp>
#include <cuckoo/hash_ring.hpp>

int main() {
  auto cuckoo = cuckoo::CuckooFilter::make();
  auto bloom = cuckoo::BloomFilter::make();
  auto ring = cuckoo::HashRing::make();
  const bool made = cuckoo.value().add("a").ok() && bloom.value().add("a").ok() &&
                    ring.value().add("a").ok();
  const auto copy = cuckoo::HashRing::from_bytes(ring.value().to_bytes().value());
  return made && cuckoo.value().contains("a") && copy.value().owner("a") == "a" ? 0 : 1;
}
EOF
warnings=(-std=c++20 -Wall -Wextra -Wconversion -Werror -Icore/include)
if "${compiler[@]}" "${warnings[@]}" "$folder/program.cpp" "$archive" -o "$folder/program"; then
  "$folder/program" || fail "the program failed"
else
  fail "a program that asks for no digest does not link without one"
fi

for header in core/include/cuckoo/*.hpp; do
  printf '#include <cuckoo/%s>\n' "${header##*/}" >"$folder/header.cpp"
  if grep -q '<openssl/' "$header" && ! echo '#include <openssl/evp.h>' |
    "${compiler[@]}" -x c++ -fsyntax-only - 2>/dev/null; then
    continue
  fi
  "${compiler[@]}" "${warnings[@]}" -fsyntax-only "$folder/header.cpp" ||
    fail "$header does not compile alone"
  if grep -nE '^ *# *define|[<"](core|ext|tests)/|[<"]xxh' "$header"; then
    fail "$header defines a macro, or includes what is not installed"
  fi
done

# With GNU's extensions there are integers of 128 bits, of which a key would lose half.
cat >"$folder/wide.cpp" <<'EOF'
#include <cuckoo/key.hpp>

#include <type_traits>

#if defined(__SIZEOF_INT128__)
static_assert(!std::is_constructible_v<cuckoo::Key, __int128>);
#endif
EOF
"${compiler[@]}" -std=gnu++20 -Icore/include -fsyntax-only "$folder/wide.cpp" ||
  fail "a key is made of 128 bits"

printf '%d failures\n' "$failures"
[ "$failures" -eq 0 ]
