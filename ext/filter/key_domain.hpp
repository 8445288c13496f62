// Which keys are one key: the affinity and the collation of a filter's key column, and what is
// known of the keys that were hashed under them. A filter keeps hashes alone, so keys may go from
// one to another only where none of them would be hashed differently there.
//
// Invariants
//   I1  collated() gives equal bytes exactly for texts that SQLite's collation calls equal.
//   I2  the types of a domain are those of all keys that were added since it was empty; more than
//       were added is allowed, fewer is not.
//   I3  obstacle() is empty only if every key of `from` is found in `to` by whoever would find it
//       in an ordinary table that the values had been copied to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ext/sqlite/value.hpp"

namespace cuckoo {

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
// "INTEGER TEXT"; empty where there are none.
std::string key_types_text(uint8_t types);

struct KeyDomain {
  Affinity affinity = Affinity::kNone;
  Collation collation = Collation::kBinary;
  uint8_t types = 0;
};

// Why keys of `from` can't be added to what is keyed like `to`, whose types don't matter: what they
// are and the way out, to stand behind the name of what they come from. Empty: they can.
std::string obstacle(const KeyDomain& from, const KeyDomain& to);

}  // namespace cuckoo
