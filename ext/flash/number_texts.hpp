// Finds the keys of a flash_kv that may equal a number, besides the number itself.
//
//   plain integer   '5': how SQLite writes an integer; the index finds it by these bytes
//   number text     '05', '5.0', ' 5': equals a number in a comparison with a column of numbers.
//                   The index can't find it by the number; a scan lists all such keys once for
//                   each state of the store
// The store notes which kinds of keys it ever held (FlashStore::note). So a table that never held a
// number text needs no scan.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/flash/store.hpp"

namespace cuckoo {

// Notes of the store. Each says that such a key was written since the table was made.
inline constexpr uint64_t kHeldNumber = 1;
inline constexpr uint64_t kHeldPlainInteger = 2;
inline constexpr uint64_t kHeldNumberText = 4;

// Returns the note of a key that encode_flash_key() made, or 0 if the key equals no number. Notes
// some texts that equal no number, too.
uint64_t note_of(std::span<const std::byte> key);
// Returns whether one number may equal several keys of a table with these notes.
constexpr bool is_ambiguous(uint64_t notes) noexcept {
  constexpr uint64_t kBoth = kHeldNumber | kHeldPlainInteger;
  return (notes & kHeldNumberText) != 0 || (notes & kBoth) == kBoth;
}

class NumberTexts {
 public:
  // Calls visit(FlashStore::Listed) for each row that may equal the number, and for some others.
  template <class Visit>
  Status find(FlashStore& store, double number, Visit&& visit) {
    if ((store.stats().notes & kHeldNumberText) == 0) {
      return {};
    }
    CUCKOO_TRY(follow(store));
    for (const Row& row : equal_range(number)) {
      visit(row.listed);
    }
    return {};
  }

 private:
  struct Row {
    double number;  // approximate
    FlashStore::Listed listed;
  };

  Status follow(FlashStore& store);
  std::span<const Row> equal_range(double number) const noexcept;

  std::optional<uint64_t> state_;  // the store's, when rows_ was listed
  std::vector<Row> rows_;          // by number
};

}  // namespace cuckoo
