// A set of keys in little memory that can also remove them: a cuckoo filter.
//
//   auto made = cuckoo::CuckooFilter::make({.expected_keys = 1'000'000, .rate = 0.001});
//   if (!made.ok()) { … made.error().message … }
//   cuckoo::CuckooFilter& seen = made.value();
//   (void)seen.add("https://a.example/");
//   seen.contains("https://a.example/");  // true
//   (void)seen.remove("https://a.example/");
//
// What all filters have in common, what errors mean, and threads: <cuckoo/filter.hpp>.
//
// A key that was added twice is there until it is removed twice. Remove only keys that were added:
// another key seems present at the rate of wrong yeses, and then remove() takes away a key with the
// same cells. From then on contains() may say no to that key. Every cuckoo filter is so.
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
  // Holds nothing, takes nothing: to be assigned to.
  CuckooFilter() noexcept = default;
  CuckooFilter(CuckooFilter&&) noexcept = default;
  CuckooFilter& operator=(CuckooFilter&&) noexcept = default;

  // An empty filter. kInvalid: an option is out of its range; the text says which.
  static Result<CuckooFilter> make(const CuckooFilterOptions& options = {});
  // Of an image that to_bytes() or filter_export() gave. All of it is verified: kCorrupt. It grows
  // if the image has hashes. kInvalid: it is the image of something else.
  // O(bytes).
  static Result<CuckooFilter> from_bytes(std::span<const std::byte> image);

  // How often the key is there; 0: it is not. Too high at the rate of wrong yeses, never too low.
  // 1 of every key after memory ran out in a change. O(1).
  uint64_t count(const Key& key) const;
  using MembershipFilter::add;
  // Adds a key so many times, 1 … 2^31, in O(1). kFull as of one.
  Status add(const Key& key, uint64_t copies);
  // Removes a key once. False: it definitely was not there, and nothing changed. O(1), amortized.
  Result<bool> remove(const Key& key);
  // Adds all that the other one holds. Where both grow, their sizes and rates may differ; else both
  // were made for the same. kInvalid: they don't go together, or have different seeds. kFull:
  // nothing changed. O(size of the other one); of all cells where one of them does not grow.
  Status merge(const CuckooFilter& other) { return merge_from(other); }

 private:
  explicit CuckooFilter(std::unique_ptr<MemoryFilter>&& filter) noexcept
      : MembershipFilter(std::move(filter)) {}
};

}  // namespace v1
}  // namespace cuckoo
