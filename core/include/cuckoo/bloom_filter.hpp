// A set of keys in little memory: a Bloom filter, which can't remove. At a rate of 0.1 % its cells
// take 16 % more memory than a cuckoo filter's, at 3 % or more they take less.
//
//   auto made = cuckoo::BloomFilter::make({.expected_keys = 1'000'000, .rate = 0.01});
//   if (!made.ok()) { … made.error().message … }
//   (void)made.value().add_all(words);
//
// <cuckoo/filter.hpp> has the common part of all filters, the errors, and rules for threads.
//
// It is a set: a key that is added twice is there once. size() also leaves out new keys that seemed
// present when they came. Their share of all new keys is the rate_now() of that moment.
//
// References: Bloom: "Space/Time Trade-offs in Hash Coding with Allowable Errors", 1970. Putze,
// Sanders, Singler: "Cache-, Hash- and Space-Efficient Bloom Filters", 2007 (kBlocked).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <cuckoo/filter.hpp>

namespace cuckoo {
inline namespace v1 {

enum class BloomLayout : uint8_t {
  kStandard,  // the bits of a key are anywhere in its segment: least memory
  kBlocked,   // they are in one cache line, below a rate of 7e-4 in a few: a look-up takes half the
              // time, and 5 to 30 % more memory
};

struct BloomFilterOptions {
  uint64_t expected_keys = 1000;      // 1 … 2^40; expected_keys / rate is at most 2^60
  double rate = 0.001;                // of wrong yeses, at any size: 2^-30 … 0.25
  std::optional<uint64_t> seed = {};  // random if it is not given
  bool grows = true;                  // beyond expected_keys
  BloomLayout layout = BloomLayout::kStandard;
};

class BloomFilter : public MembershipFilter {
 public:
  // Makes an object that holds nothing and takes nothing, to be assigned to.
  BloomFilter() noexcept = default;
  BloomFilter(BloomFilter&&) noexcept = default;
  BloomFilter& operator=(BloomFilter&&) noexcept = default;

  // Makes an empty filter. kInvalid: an option is out of its range; the text says which.
  static Result<BloomFilter> make(const BloomFilterOptions& options = {});
  // Makes a filter of an image that to_bytes() or filter_export() gave. Verifies all of it:
  // kCorrupt. The filter grows if the image has hashes. kInvalid: it is the image of something
  // else, such as a counting Bloom filter. O(bytes).
  static Result<BloomFilter> from_bytes(std::span<const std::byte> image);

  BloomLayout layout() const noexcept;
  // Adds all that the other one holds. If both grow, their sizes and rates may differ; otherwise
  // both must have been made for the same. kInvalid: they don't go together, or have different
  // seeds. O(size of the other one), or O(all cells) if one of them does not grow.
  Status merge(const BloomFilter& other) { return merge_from(other); }

 private:
  explicit BloomFilter(std::unique_ptr<MemoryFilter>&& filter) noexcept
      : MembershipFilter(std::move(filter)) {}
};

}  // namespace v1
}  // namespace cuckoo
