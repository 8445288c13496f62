// Sorts log entries, or hashes, by their hash.
//
// Invariants
//   I1  the result has the entries of all parts, each as often as the parts have it.
//   I2  it ascends by hash. The remove bit does not count. Equal hashes keep their order: that of
//       the parts, and within a part its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/key_hash.hpp"
#include "core/base/large_memory.hpp"
#include "core/base/poll.hpp"
#include "core/base/result.hpp"

namespace cuckoo {

// Returns the entries sorted, by a radix sort. O(n), because hashes are uniform. Memory: the
// result. If most hashes begin with the same ten bits, up to one and a half times as much again.
LargeVector<uint64_t> sorted_by_hash(std::span<const std::span<const uint64_t>> parts,
                                     HashWidth width);
// Does the same for hashes that have their first `depth` bits in common.
Result<LargeVector<uint64_t>> sorted_by_hash(std::span<const uint64_t> entries, HashWidth width,
                                             unsigned depth, const Poll& poll);
inline LargeVector<uint64_t> sorted_by_hash(std::span<const uint64_t> entries, HashWidth width) {
  return sorted_by_hash(std::span(&entries, 1), width);
}
// Does the same, unless the poll stops it.
Result<LargeVector<uint64_t>> sorted_by_hash(std::span<const std::span<const uint64_t>> parts,
                                             HashWidth width, const Poll& poll);

// Many hashes in parts, which are sorted in place. Each part is ordered by the first digit when it
// comes, because it is in the processor's cache then. Later all hashes of one digit are sorted at a
// time. The sequence goes from digit to digit, and within a digit from part to part.
//
// Invariants
//   I3  a part is ordered by the first digit, also when a sort was stopped.
class HashParts {
 public:
  static constexpr unsigned kFirstBits = 10;  // of a hash, the leading ones: its first digit

  bool empty() const noexcept { return parts_.empty(); }
  size_t size() const noexcept;
  // Adds a copy of the hashes. It joins the last part if both together have at most `most`. If it
  // throws, nothing changed.
  void add(std::span<const uint64_t> hashes, size_t most);
  // Sorts the sequence. Memory: that of the hashes of one digit, once or one and a half times.
  Status sort(HashWidth width, const Poll& poll);
  // Cuts each hash to that width.
  void narrow(HashWidth width) noexcept;

  // Visits the sequence, a piece at a time, until the visitor fails.
  template <class Visitor>
  Status for_each_piece(Visitor&& visit) const {
    for (size_t digit = 0; digit < kDigits; ++digit) {
      for (const Part& part : parts_) {
        CUCKOO_TRY(visit(part.of(digit)));
      }
    }
    return {};
  }

 private:
  static constexpr size_t kDigits = size_t{1} << kFirstBits;

  struct Part {
    LargeVector<uint64_t> hashes;
    std::vector<size_t> begins;  // of each digit, and where the last one ends

    std::span<const uint64_t> of(size_t digit) const noexcept {
      return std::span(hashes).subspan(begins[digit], begins[digit + 1] - begins[digit]);
    }
  };

  std::vector<Part> parts_;
};

}  // namespace cuckoo
