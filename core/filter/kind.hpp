// The kinds of filters, with their names and traits. This is the only list of them.
//
// To add a kind, add a number here and a row in find_kind(), its class (core/filter/filter.hpp),
// tests and docs. The compiler then names nearly every place that has to know it, because these are
// switches over the kinds without a default, or functions that Filter requires. docs/CHANGING.md
// names the others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace cuckoo::core {

// The numbers are stored (FORMAT.md, "seen_config: options").
enum class FilterKind : uint8_t {
  kCuckoo = 1,
  kBloom = 2,          // layout = standard
  kBlockedBloom = 3,   // layout = blocked
  kCountingBloom = 4,  // counting = on
  kLegacyBloom = 5,    // hash = murmur2
};

// The options that may be set instead of a rate.
enum class OwnSize : uint8_t {
  kFingerprintBits,
  kBitsPerKey,  // and hashes
};

struct KindTraits {
  const char* name;
  // Removes make sense: items are adds minus removes, and a hash may be there several times. The
  // other kinds hold a set: an add of a present key changes nothing.
  bool multiset;
  // Pages and overflow table depend only on the multiset of hashes, not on their history.
  bool canonical;
  // Each item takes a slot of its own. So the cells tell how many items the filter holds, and it is
  // full when it holds as many as its capacity; copies fill it, too. In the other kinds keys share
  // cells, so the number of items is an estimate.
  bool slot_per_item;
  // Its keys are pairs of hashes, and it has no log (core/filter/legacy_bloom.hpp). No function
  // that takes a single hash is called for it. It comes from a file, which may have asked for any
  // rate.
  bool pairs;
  OwnSize own_size;
};

// Returns nullopt for a number that is no kind.
[[gnu::always_inline]] constexpr std::optional<KindTraits> find_kind(FilterKind kind) noexcept {
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

// All kinds, in the order of their numbers.
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

}  // namespace cuckoo::core
