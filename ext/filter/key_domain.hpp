// Which keys are one key: the affinity and the collation of each column of a filter's key, and what
// is known of the keys that were hashed under them. A filter keeps hashes alone, so keys may go
// from one to another only where none of them would be hashed differently there.
//
// Invariants
//   I1  collated() gives equal bytes exactly for texts that SQLite's collation calls equal.
//   I2  the types of a domain are those of all keys that were added since it was empty; more than
//       were added is allowed, fewer is not.
//   I3  obstacle() is empty only if every key of `from` is found in `to` by all who would find it
//       in an ordinary table that the values had been copied to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/stored/key_form.hpp"
#include "ext/sqlite/value.hpp"

namespace cuckoo {

inline constexpr size_t kMaxKeyColumns = KeyForm::kMaxColumns;

// The numbers are stored (FORMAT.md, "Images").
enum class Collation : uint8_t { kBinary = 0, kNocase = 1, kRtrim = 2 };

const char* collation_name(Collation collation) noexcept;
// By its name, in any case; nothing for any other collation.
std::optional<Collation> collation_named(std::string_view name);

// A text as its collation compares it: NOCASE folds A-Z up to the first NUL, and of what follows
// that only the length counts; RTRIM drops spaces at the end. Other keys as they are. The result
// may point into `buffer`.
KeyView collated(const KeyView& key, Collation collation, std::string& buffer);

// Types of keys, after affinity and before collation; the bits are stored.
enum KeyTypes : uint8_t {
  kIntegerKeys = 1,
  kRealKeys = 2,
  kTextKeys = 4,
  kBlobKeys = 8,
  kCasedKeys = 16,   // texts that NOCASE changes
  kPaddedKeys = 32,  // texts that RTRIM changes
  kUnknownKeys = 128,
};

// Adds the key's type. A text is looked at as long as it could add something.
void note_key_type(const KeyView& key, uint8_t& types) noexcept;

// One column of a key.
struct ColumnDomain {
  Affinity affinity = Affinity::kNone;
  Collation collation = Collation::kBinary;
  uint8_t types = 0;

  friend bool operator==(const ColumnDomain&, const ColumnDomain&) = default;
};

struct KeyDomain {
  KeyForm form;
  uint64_t types = 0;  // a byte a column, the first in the lowest

  KeyDomain() = default;
  KeyDomain(const KeyForm& key_form, uint64_t key_types) noexcept
      : form(key_form), types(key_types) {}
  explicit KeyDomain(const ColumnDomain& only) noexcept { set(0, only); }

  size_t columns() const noexcept { return form.columns; }
  ColumnDomain column(size_t index) const noexcept;
  void set(size_t index, const ColumnDomain& column) noexcept;
  bool knows_types() const noexcept;  // those of every column
};

// "INTEGER TEXT" where both were keys of one column, "INTEGER, TEXT" of two columns; empty where
// there were no keys.
std::string key_types_text(const KeyDomain& keys);
// "NOCASE"; "BINARY, NOCASE" of two columns.
std::string collations_text(const KeyForm& form);
// … and what that text means. Nothing where it is none.
std::optional<KeyForm> form_of_collations(std::string_view text);

// Why keys of `from` can't be added to what is keyed like `to`, whose types don't matter: what they
// are and the way out, to stand behind the name of what they come from. Empty: they can.
std::string obstacle(const KeyDomain& from, const KeyDomain& to);
// The same for one column of the two.
std::string obstacle(const ColumnDomain& from, const ColumnDomain& to);
// ", in column 2 of the key,"; empty where it is the only one. To stand before such a text.
std::string of_column(size_t index, size_t columns);

}  // namespace cuckoo
