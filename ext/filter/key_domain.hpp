// Says which keys are equal: the affinity and the collation of each column of a filter's key, and
// the known types of the keys that were hashed under them. A filter keeps hashes alone, so keys may
// go from one filter to another only if none of them would have another hash there.
//
// Invariants
//   I1  collated() gives equal bytes exactly for texts that SQLite's collation calls equal.
//   I2  the types of a domain include those of all keys that were added since it was empty. They
//       may include more.
//   I3  imagine the values of `from` in an ordinary table. obstacle() is empty only if every
//       look-up that finds a key there also finds it in `to`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/stored/key_form.hpp"
#include "ext/sqlite/value.hpp"

namespace cuckoo {

inline constexpr size_t kMaxKeyColumns = KeyForm::kMaxColumns;

// The numbers are stored (FORMAT.md, "Images and changes").
enum class Collation : uint8_t { kBinary = 0, kNocase = 1, kRtrim = 2 };

const char* collation_name(Collation collation) noexcept;
// Returns the collation of that name, in any case; nothing for any other collation.
std::optional<Collation> collation_named(std::string_view name);

// Returns a text as its collation compares it. NOCASE folds A-Z up to the first NUL. Of the bytes
// after that, only the number counts. RTRIM drops spaces at the end. Other keys stay as they are.
// The result may point into `buffer`.
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

// Adds the key's type. Looks at a text only as long as it could add something.
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

// Returns "INTEGER TEXT" if both types were in one column, "INTEGER, TEXT" for two columns, and an
// empty text if there were no keys.
std::string key_types_text(const KeyDomain& keys);
// Returns "NOCASE", or "BINARY, NOCASE" for two columns.
std::string collations_text(const KeyForm& form);
// Returns "INTEGER", or "INTEGER, NONE" for two columns.
std::string affinities_text(const KeyForm& form);
// Parses a text of collations. Returns nothing for any other text.
std::optional<KeyForm> form_of_collations(std::string_view text);

// Returns why keys of `from` can't be added to a filter with the keys `to`, and the way out. The
// types of `to` don't matter. The text follows the name of the keys' origin. It is empty if they
// can be added.
std::string obstacle(const KeyDomain& from, const KeyDomain& to);
// Does the same for one column of the two.
std::string obstacle(const ColumnDomain& from, const ColumnDomain& to);
// Returns ", in column 2 of the key,", which goes before such a text; empty if it is the only one.
std::string of_column(size_t index, size_t columns);

}  // namespace cuckoo
