// The kinds of filters: what each is called and what it can. This is the one list of them.
//
// To add a kind: a number here and a row in find_kind(), its class (core/filter/filter.hpp), tests
// and docs. The compiler then names every place that has to know it: each is a switch over the
// kinds without a default, or a function that Filter asks for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace cuckoo {

// The numbers are stored (FORMAT.md, "seen_config: options").
enum class FilterKind : uint8_t {
  kCuckoo = 1,
  kBloom = 2,          // layout = standard
  kBlockedBloom = 3,   // layout = blocked
  kCountingBloom = 4,  // counting = on
  kLegacyBloom = 5,    // hash = murmur2
};

// What may be asked for instead of a rate.
enum class OwnSize : uint8_t {
  kFingerprintBits,
  kBitsPerKey,  // and hashes
};

struct KindTraits {
  const char* name;
  // Removes make sense: items are adds minus removes, a hash may be there often. The others hold a
  // set: an add of what is present changes nothing.
  bool multiset;
  // Pages and overflow table depend on the multiset of hashes alone, not on their history.
  bool canonical;
  // Each item takes a slot of its own. So its cells tell how many items it holds, and it is full
  // when those are as many as its capacity; copies fill it, too. In the others keys share cells:
  // how many there are is an estimate.
  bool slot_per_item;
  // Its keys are pairs of hashes and it has no log (core/filter/legacy_bloom.hpp). What takes a
  // single hash is never called for it. It comes from a file, which may have asked for any rate.
  bool pairs;
  OwnSize own_size;
};

// None for a number that is no kind's.
constexpr std::optional<KindTraits> find_kind(FilterKind kind) noexcept {
  switch (kind) {
    case FilterKind::kCuckoo:
      return KindTraits{.name = "cuckoo",
                        .multiset = true,
                        .canonical = false,
                        .slot_per_item = true,
                        .pairs = false,
                        .own_size = OwnSize::kFingerprintBits};
    case FilterKind::kBloom:
      return KindTraits{.name = "standard",
                        .multiset = false,
                        .canonical = true,
                        .slot_per_item = false,
                        .pairs = false,
                        .own_size = OwnSize::kBitsPerKey};
    case FilterKind::kBlockedBloom:
      return KindTraits{.name = "blocked",
                        .multiset = false,
                        .canonical = true,
                        .slot_per_item = false,
                        .pairs = false,
                        .own_size = OwnSize::kBitsPerKey};
    case FilterKind::kCountingBloom:
      return KindTraits{.name = "counting",
                        .multiset = true,
                        .canonical = true,
                        .slot_per_item = false,
                        .pairs = false,
                        .own_size = OwnSize::kBitsPerKey};
    case FilterKind::kLegacyBloom:
      return KindTraits{.name = "legacy",
                        .multiset = false,
                        .canonical = true,
                        .slot_per_item = false,
                        .pairs = true,
                        .own_size = OwnSize::kBitsPerKey};
  }
  return std::nullopt;
}

constexpr bool is_kind(FilterKind kind) noexcept { return find_kind(kind).has_value(); }
constexpr KindTraits traits_of(FilterKind kind) noexcept { return *find_kind(kind); }
constexpr bool is_multiset(FilterKind kind) noexcept { return traits_of(kind).multiset; }

// All of them, in the order of their numbers.
inline constexpr auto kFilterKinds = [] {
  constexpr auto for_each = [](auto&& visit) {
    for (unsigned number = 0; number <= UINT8_MAX; ++number) {
      if (is_kind(static_cast<FilterKind>(number))) {
        visit(static_cast<FilterKind>(number));
      }
    }
  };
  constexpr size_t kCount = [&for_each] {
    size_t count = 0;
    for_each([&count](FilterKind) { ++count; });
    return count;
  }();
  std::array<FilterKind, kCount> kinds{};
  size_t found = 0;
  for_each([&](FilterKind kind) { kinds[found++] = kind; });
  return kinds;
}();

}  // namespace cuckoo
