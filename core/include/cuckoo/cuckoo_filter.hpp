// A set of keys in little memory that can also remove them: a cuckoo filter.
//
//   auto made = cuckoo::CuckooFilter::make({.expected_keys = 1'000'000, .rate = 0.001});
//   if (!made.ok()) { … made.error().message … }
//   cuckoo::CuckooFilter& seen = made.value();
//   (void)seen.add("https://a.example/");
//   seen.contains("https://a.example/");  // true
//   (void)seen.remove("https://a.example/");
//
// <cuckoo/filter.hpp> has the common part of all filters, the errors, and rules for threads.
//
// A key that was added twice is there until it is removed twice. Remove only keys that were added.
// Another key seems present at the rate of wrong yeses, and then remove() takes away a key with the
// same cells. From then on contains() may say no to that key. This is so in every cuckoo filter.
//
// Reference: Fan, Andersen, Kaminsky, Mitzenmacher: "Cuckoo Filter: Practically Better Than Bloom",
// 2014.
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

struct CuckooFilterOptions {
  uint64_t expected_keys = 1000;      // 1 … 2^40; expected_keys / rate is at most 2^60
  double rate = 0.001;                // of wrong yeses, at any size: 2^-30 … 0.25
  std::optional<uint64_t> seed = {};  // random if it is not given
  bool grows = true;                  // beyond expected_keys
};

class CuckooFilter : public MembershipFilter {
 public:
  // Makes an object that holds nothing and takes nothing, to be assigned to.
  CuckooFilter() noexcept = default;
  CuckooFilter(CuckooFilter&&) noexcept = default;
  CuckooFilter& operator=(CuckooFilter&&) noexcept = default;

  // Makes an empty filter. kInvalid: an option is out of its range; the text says which.
  static Result<CuckooFilter> make(const CuckooFilterOptions& options = {});
  // Makes a filter of an image that to_bytes() or filter_export() gave. Verifies all of it:
  // kCorrupt. The filter grows if the image has hashes. kInvalid: it is the image of something
  // else. O(bytes).
  static Result<CuckooFilter> from_bytes(std::span<const std::byte> image);

  // Returns how often the key is there; 0: it is not. The number is too high at the rate of wrong
  // yeses, and never too low. After memory ran out in a change it is 1 for every key. O(1).
  uint64_t count(const Key& key) const;
  using MembershipFilter::add;
  // Adds a key so many times, 1 … 2^31, in O(1). kFull: as of a single add.
  Status add(const Key& key, uint64_t copies);
  // Removes a key once. False: it definitely was not there, and nothing changed. O(1), amortized.
  Result<bool> remove(const Key& key);
  // Adds all that the other one holds. If both grow, their sizes and rates may differ; otherwise
  // both must have been made for the same. kInvalid: they don't go together, or have different
  // seeds. kFull: nothing changed. O(size of the other one), or O(all cells) if one of them does
  // not grow.
  Status merge(const CuckooFilter& other) { return merge_from(other); }

 private:
  explicit CuckooFilter(std::unique_ptr<MemoryFilter>&& filter) noexcept
      : MembershipFilter(std::move(filter)) {}
};

}  // namespace v1
}  // namespace cuckoo
