// Keys and values of a flash_kv as the bytes of the log's records: FORMAT.md, "The tables of a
// flash_kv".
//
//   key    1 byte: type; then
//            1 integer   the fewest bytes of two's complement that hold it, 0 … 8, little-endian
//            2 real      8 bytes, IEEE 754; never one that an integer equals
//            3 text      UTF-8
//            4 blob
//            5 digest    20 or 32 bytes: a text of 40 or 64 lower-case hex digits
//   value  1 byte: type (0 null, 1 … 4 as above; a real may be a whole number), + 16: the key was
//          given as a real; then as above
//
// So keys are byte-equal exactly when SQLite calls them equal with BINARY collation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/digest.hpp"
#include "core/base/result.hpp"
#include "ext/sqlite/value.hpp"

namespace cuckoo {

// The result is valid until the digester's next call. Throws SqlError if OpenSSL does not offer the
// algorithm.
std::span<const std::byte> content_digest(Digester& digester, DigestKind kind,
                                          std::span<const std::byte> content);

// Encodes a key that is not NULL. A text that looks like a digest of `kind` is stored as one.
void encode_flash_key(const KeyView& key, DigestKind kind, std::vector<std::byte>& out);
// Encodes the digest itself as a key.
void encode_flash_address(std::span<const std::byte> digest, std::vector<std::byte>& out);
// Returns whether a whole number was given as a real. Its key is stored as an integer, and the
// value of its row keeps that fact (key_was_real()).
bool is_whole_real(const KeyView& key) noexcept;

void encode_flash_value(const KeyView& value, bool key_was_real, std::vector<std::byte>& out);

bool is_number_key(std::span<const std::byte> key) noexcept;
// Returns the key as a text, a view of it or of `buffer`; nothing if it has another type.
std::optional<std::string_view> text_of_flash_key(std::span<const std::byte> key,
                                                  std::string& buffer);

// Give SQLite the result of a column. Return kCorrupt if the bytes are no key, or no value.
Status result_flash_key(sqlite3_context* context, std::span<const std::byte> key, bool was_real,
                        DigestKind kind);
Status result_flash_value(sqlite3_context* context, std::span<const std::byte> value);

// Returns whether a column shows this key differently if it was given as a real.
bool may_be_whole_real(std::span<const std::byte> key) noexcept;
bool key_was_real(std::span<const std::byte> value) noexcept;
void set_key_was_real(std::vector<std::byte>& value, bool real) noexcept;
// The type of a stored value, and its bytes. The digest of a text or a BLOB is made of these bytes.
struct FlashContent {
  int type = 0;  // SQLITE_TEXT and so on
  std::span<const std::byte> bytes;
};
FlashContent content_of(std::span<const std::byte> value) noexcept;
// Returns the digest of a stored value in hex digits, or an empty text if it has none.
std::string digest_text(Digester& digester, DigestKind kind, std::span<const std::byte> value);

}  // namespace cuckoo
