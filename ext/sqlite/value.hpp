// An SQL value as a key: the declared type's affinity, equality as SQLite's under BINARY collation,
// the keyed hash, and the copy that a cursor echoes.
//
// Invariants
//   I1  a key hashes like the value an ordinary column of the declared type would hold.
//   I2  the value's own type and text are read before anything that may convert them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ext/sqlite/api.hpp"

namespace cuckoo {

inline bool is_null(sqlite3_value* value) noexcept {
  return sqlite3_value_type(value) == SQLITE_NULL;
}

enum class Affinity { kNone, kText, kNumeric, kInteger, kReal };

const char* affinity_word(Affinity affinity) noexcept;  // "NONE", "TEXT" and so on: stored
// Returns stored words, perhaps "INTEGER, NONE", as errors show them: "INTEGER, no type".
std::string shown_types(std::string_view words);
// Follows SQLite's rules (datatype3.html, 3.1) for a declared type; kNone for no type and BLOB.
Affinity affinity_of(std::string_view declared_type);

// A key after its column's affinity. Texts and blobs are views.
struct KeyView {
  int type = SQLITE_NULL;
  int64_t integer = 0;
  double real = 0;
  const char* bytes = nullptr;
  int size = 0;
  uint64_t column_types = 0;  // if several columns are one BLOB: their types, a byte a column
};

// Returns a value's bytes. SQLite makes the bytes of a zeroblob when they are asked for. If it has
// no memory for them, it turns the value into NULL, and this throws std::bad_alloc.
inline std::span<const std::byte> blob_of(sqlite3_value* value) {
  const bool was_null = sqlite3_value_type(value) == SQLITE_NULL;
  const void* bytes = sqlite3_value_blob(value);
  if (bytes == nullptr && !was_null && sqlite3_value_type(value) == SQLITE_NULL) {
    throw std::bad_alloc();
  }
  return {static_cast<const std::byte*>(bytes), static_cast<size_t>(sqlite3_value_bytes(value))};
}

// Returns a value after its column's affinity. A text of a UTF-16 database loses nothing
// (utf16_text.hpp), and SQLite can go on using the value. The result is a view of the value or of
// `buffer`.
KeyView key_of(sqlite3_value* value, Affinity affinity, std::string& buffer);
uint64_t hash_key(const KeyView& key, uint64_t seed) noexcept;             // the key is not NULL
inline std::span<const std::byte> bytes_of(const KeyView& key) noexcept {  // a text or a blob
  return {reinterpret_cast<const std::byte*>(key.bytes), static_cast<size_t>(key.size)};
}

// Returns whether a value is an integer that its column keeps as one. That is the commonest key, so
// it should cost nothing beside its hashing.
inline bool is_plain_integer(sqlite3_value* value, Affinity affinity) noexcept {
  return sqlite3_value_type(value) == SQLITE_INTEGER && affinity != Affinity::kText &&
         affinity != Affinity::kReal;
}

// Returns the integer that a real equals, by the rule of hash_real(); nothing if there is none.
inline std::optional<int64_t> whole_number(double real) noexcept {
  if (real >= -0x1p63 && real < 0x1p63) {
    const auto integer = static_cast<int64_t>(real);
    if (static_cast<double>(integer) == real) {
      return integer;
    }
  }
  return std::nullopt;
}

// Frees a buffer that is kept for the next key, if a large key has made it large.
inline bool is_small(const std::string& buffer) noexcept { return buffer.capacity() <= 1 << 16; }
inline void keep_if_small(std::string& buffer) noexcept {
  if (!is_small(buffer)) [[unlikely]] {
    std::string().swap(buffer);
  }
}

// A key that owns its bytes; its buffer is reused from row to row.
class KeyCopy {
 public:
  void assign(const KeyView& key);
  void assign(sqlite3_value* value, Affinity affinity) { assign(key_of(value, affinity, buffer_)); }
  void assign(int64_t integer) noexcept {
    view_.type = SQLITE_INTEGER;
    view_.integer = integer;
  }
  void result(sqlite3_context* context) const;
  KeyView view() const noexcept;
  bool is_small() const noexcept { return cuckoo::is_small(buffer_); }

 private:
  KeyView view_;
  std::string buffer_;
};

}  // namespace cuckoo
