// A key of several columns as one BLOB, which is what a filter hashes. cuckoo_key(a, b) returns it,
// and a filter of several columns makes it of the values of a row.
//
// Layout (FORMAT.md, "Keys of several columns")
//   key    = "CKT", the number of columns (1 byte), then each column in its order
//   column = kind (1 byte, KeyKind), length (4 bytes, little-endian), content
//   An integer and a real have 8 bytes, little-endian. A real that equals a 64-bit integer is
//   written as that integer. A text is UTF-8.
//
// Invariants
//   I1  injective: two keys have equal bytes exactly if they have equal columns, as SQLite compares
//       values under BINARY after affinity and collation. So ('a', 'bc') and ('ab', 'c') differ.
//   I2  decode_tuple() takes exactly the bytes that a TupleKey makes. Any others are a plain BLOB.
//   I3  the buffer is used again. From the second key on, a key that is as long allocates nothing.
//       Whoever keeps the object beyond a statement calls keep_if_small().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/base/key_hash.hpp"
#include "ext/filter/key_domain.hpp"
#include "ext/sqlite/value.hpp"

namespace cuckoo {

class TupleKey {
 public:
  // Makes the key of the values, each with its column's affinity and collation. A NULL among them
  // makes it NULL. The result points into this object. Throws std::bad_alloc.
  KeyView make(const KeyDomain& keys, sqlite3_value** values);

  // Make the same key a column at a time: begin(), then add() for each. The column's key had its
  // affinity, and is not NULL. `types` are other types that it may have had.
  void begin(size_t columns);
  void add(const KeyView& key, Collation collation, uint8_t types = 0);
  KeyView view() const noexcept;
  bool is_small() const noexcept { return cuckoo::is_small(buffer_); }
  void keep_if_small() noexcept {
    for (std::string* buffer : {&buffer_, &collated_, &text_}) {
      cuckoo::keep_if_small(*buffer);
    }
  }

 private:
  void put(KeyKind kind, const void* content, size_t size);
  void put_number(KeyKind kind, uint64_t number);

  std::string buffer_;
  std::string collated_, text_;
  size_t columns_ = 0;  // how many were added
  uint64_t types_ = 0;
};

// The columns of a key. They point into its bytes.
struct TupleColumns {
  size_t count = 0;
  std::array<KeyView, kMaxKeyColumns> keys;
};
std::optional<TupleColumns> decode_tuple(std::span<const std::byte> bytes) noexcept;

}  // namespace cuckoo
