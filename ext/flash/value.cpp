#include "ext/flash/value.hpp"

#include <bit>
#include <cmath>

#include "core/base/bytes.hpp"
#include "ext/sqlite/function.hpp"
#include "ext/sqlite/utf16_text.hpp"

namespace cuckoo {
namespace {

constexpr std::byte kNullType{0};
constexpr std::byte kIntegerType{1};
constexpr std::byte kRealType{2};
constexpr std::byte kTextType{3};
constexpr std::byte kBlobType{4};
constexpr std::byte kDigestType{5};
constexpr std::byte kKeyWasRealType{16};

void put_bytes(std::byte type, std::span<const std::byte> bytes, std::vector<std::byte>& out) {
  out.clear();
  out.reserve(bytes.size() + 1);
  out.push_back(type);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// Returns how many whole bytes the value takes with its sign bit; 0 takes none.
size_t integer_bytes(int64_t value) noexcept {
  const auto magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  return value == 0 ? 0 : static_cast<size_t>(std::bit_width(magnitude)) / 8 + 1;
}

void put_integer(int64_t value, std::vector<std::byte>& out) {
  std::byte bytes[8];
  store_le(bytes, static_cast<uint64_t>(value));
  put_bytes(kIntegerType, {bytes, integer_bytes(value)}, out);
}

void put_real(double value, std::vector<std::byte>& out) {
  std::byte bytes[8];
  store_le(bytes, bits_of(value));
  put_bytes(kRealType, bytes, out);
}

std::span<const std::byte> behind_type(std::span<const std::byte> bytes) noexcept {
  return bytes.subspan(1);
}

int64_t integer_of(std::span<const std::byte> bytes) noexcept {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  }
  const unsigned unused = 64 - 8 * static_cast<unsigned>(bytes.size());
  return bytes.empty() ? 0 : static_cast<int64_t>(value << unused) >> unused;
}

bool is_own_integer(std::span<const std::byte> bytes) noexcept {
  return bytes.size() <= 8 && bytes.size() == integer_bytes(integer_of(bytes));
}

// Returns whether the bytes are the encoding of the key that they show. If not, a look-up by that
// key would not find them.
bool is_own_key(std::span<const std::byte> key, DigestKind kind) {
  const std::span<const std::byte> bytes = behind_type(key);
  if (key[0] == kRealType && bytes.size() == 8) {
    return !whole_number(real_from_bits(load_le<uint64_t>(bytes.data())));
  }
  std::byte digest[kMaxDigestBytes];
  return key[0] != kTextType || bytes.size() != 2 * digest_bytes(kind) || !from_hex(bytes, digest);
}

// Gives SQLite a value of type 1 to 4. Returns false if the bytes are not the one encoding that
// such a value has.
bool result_typed(sqlite3_context* context, std::byte type, std::span<const std::byte> bytes) {
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  if (type == kIntegerType && is_own_integer(bytes)) {
    sqlite3_result_int64(context, integer_of(bytes));
  } else if (type == kRealType && bytes.size() == 8 &&
             !std::isnan(real_from_bits(load_le<uint64_t>(bytes.data())))) {
    sqlite3_result_double(context, real_from_bits(load_le<uint64_t>(bytes.data())));
  } else if (type == kTextType) {
    result_text_bytes(context, {text, bytes.size()});
  } else if (type == kBlobType) {
    sqlite3_result_blob64(context, text, bytes.size(), SQLITE_TRANSIENT);
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool is_whole_real(const KeyView& key) noexcept {
  return key.type == SQLITE_FLOAT && whole_number(key.real).has_value();
}

std::span<const std::byte> content_digest(Digester& digester, DigestKind kind,
                                          std::span<const std::byte> content) {
  const std::span<const std::byte> digest = digester.compute(kind, content);
  if (digest.empty()) {
    throw SqlError(SQLITE_ERROR,
                   std::string(digest_name(kind)) +
                       " is not available: this build has no OpenSSL, or one without it");
  }
  return digest;
}

void encode_flash_key(const KeyView& key, DigestKind kind, std::vector<std::byte>& out) {
  switch (key.type) {
    case SQLITE_INTEGER:
      return put_integer(key.integer, out);
    case SQLITE_FLOAT:
      return is_whole_real(key) ? put_integer(static_cast<int64_t>(key.real), out)
                                : put_real(key.real, out);
    case SQLITE_TEXT: {
      std::byte digest[kMaxDigestBytes];
      if (static_cast<size_t>(key.size) == 2 * digest_bytes(kind) &&
          from_hex(bytes_of(key), digest)) {
        return encode_flash_address({digest, digest_bytes(kind)}, out);
      }
      return put_bytes(kTextType, bytes_of(key), out);
    }
    default:
      return put_bytes(kBlobType, bytes_of(key), out);
  }
}

void encode_flash_address(std::span<const std::byte> digest, std::vector<std::byte>& out) {
  put_bytes(kDigestType, digest, out);
}

void encode_flash_value(const KeyView& value, bool key_was_real, std::vector<std::byte>& out) {
  switch (value.type) {
    case SQLITE_NULL:
      put_bytes(kNullType, {}, out);
      break;
    case SQLITE_INTEGER:
      put_integer(value.integer, out);
      break;
    case SQLITE_FLOAT:
      put_real(value.real, out);
      break;
    default:
      put_bytes(value.type == SQLITE_TEXT ? kTextType : kBlobType, bytes_of(value), out);
      break;
  }
  if (key_was_real) {
    out[0] |= kKeyWasRealType;
  }
}

bool is_number_key(std::span<const std::byte> key) noexcept {
  return !key.empty() && (key[0] == kIntegerType || key[0] == kRealType);
}

std::optional<std::string_view> text_of_flash_key(std::span<const std::byte> key,
                                                  std::string& buffer) {
  if (key.empty() || (key[0] != kTextType && key[0] != kDigestType)) {
    return std::nullopt;
  }
  const std::span<const std::byte> bytes = behind_type(key);
  if (key[0] == kDigestType) {
    buffer = hex_of(bytes);
    return buffer;
  }
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Status result_flash_key(sqlite3_context* context, std::span<const std::byte> key, bool was_real,
                        DigestKind kind) {
  if (!key.empty() && key[0] == kDigestType && key.size() == 1 + digest_bytes(kind)) {
    const std::string text = hex_of(behind_type(key));
    result_text(context, text);
    return {};
  }
  if (key.empty() || !is_own_key(key, kind) || !result_typed(context, key[0], behind_type(key))) {
    return corrupt("a key that is no key's encoding");
  }
  if (was_real && key[0] == kIntegerType) {
    sqlite3_result_double(context, static_cast<double>(integer_of(behind_type(key))));
  }
  return {};
}

Status result_flash_value(sqlite3_context* context, std::span<const std::byte> value) {
  if (value.empty()) {
    return corrupt("a value that has no type");
  }
  const std::byte type = value[0] & ~kKeyWasRealType;
  if (type == kNullType && value.size() == 1) {
    sqlite3_result_null(context);
  } else if (!result_typed(context, type, behind_type(value))) {
    return corrupt("a value that is no value's encoding");
  }
  return {};
}

bool may_be_whole_real(std::span<const std::byte> key) noexcept {
  return !key.empty() && key[0] == kIntegerType;
}

bool key_was_real(std::span<const std::byte> value) noexcept {
  return !value.empty() && (value[0] & kKeyWasRealType) != std::byte{0};
}

void set_key_was_real(std::vector<std::byte>& value, bool real) noexcept {
  value[0] = (value[0] & ~kKeyWasRealType) | (real ? kKeyWasRealType : kNullType);
}

FlashContent content_of(std::span<const std::byte> value) noexcept {
  if (value.empty()) {
    return {SQLITE_NULL, {}};
  }
  const std::byte type = value[0] & ~kKeyWasRealType;
  const int kind = type == kTextType      ? SQLITE_TEXT
                   : type == kBlobType    ? SQLITE_BLOB
                   : type == kIntegerType ? SQLITE_INTEGER
                   : type == kRealType    ? SQLITE_FLOAT
                                          : SQLITE_NULL;
  return {kind, behind_type(value)};
}

std::string digest_text(Digester& digester, DigestKind kind, std::span<const std::byte> value) {
  const FlashContent content = content_of(value);
  return content.type == SQLITE_TEXT || content.type == SQLITE_BLOB
             ? hex_of(content_digest(digester, kind, content.bytes))
             : std::string();
}

}  // namespace cuckoo
