#include "ext/sqlite/value.hpp"

#include <algorithm>
#include <cctype>

#include "core/base/key_hash.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/sqlite/utf16_text.hpp"

namespace cuckoo {
namespace {

void set_text(std::string_view text, KeyView& key) {
  key.type = SQLITE_TEXT;
  key.bytes = text.data();
  key.size = static_cast<int>(text.size());
}

}  // namespace

const char* affinity_word(Affinity affinity) noexcept {
  constexpr const char* kWords[] = {"NONE", "TEXT", "NUMERIC", "INTEGER", "REAL"};
  return kWords[static_cast<size_t>(affinity)];
}

std::string shown_types(std::string_view words) {
  constexpr std::string_view kNone = "NONE";
  std::string text = printable(words);
  for (size_t at = text.find(kNone); at != std::string::npos; at = text.find(kNone)) {
    text.replace(at, kNone.size(), "no type");
  }
  return text;
}

Affinity affinity_of(std::string_view declared_type) {
  std::string upper(declared_type);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  const auto has = [&upper](const char* part) { return upper.find(part) != std::string::npos; };
  if (has("INT")) {
    return Affinity::kInteger;
  }
  if (has("CHAR") || has("CLOB") || has("TEXT")) {
    return Affinity::kText;
  }
  if (upper.empty() || has("BLOB")) {
    return Affinity::kNone;
  }
  if (has("REAL") || has("FLOA") || has("DOUB")) {
    return Affinity::kReal;
  }
  return Affinity::kNumeric;
}

KeyView key_of(sqlite3_value* value, Affinity affinity, std::string& buffer) {
  KeyView key;
  key.type = sqlite3_value_type(value);
  if (key.type == SQLITE_TEXT) {
    set_text(text_bytes(value, buffer), key);
    if (affinity >= Affinity::kNumeric) {
      key.type = sqlite3_value_numeric_type(value);
    }
  }
  switch (key.type) {
    case SQLITE_INTEGER:
      if (affinity == Affinity::kText) {
        set_text(text_bytes(value, buffer), key);
      } else if (affinity == Affinity::kReal) {
        key.type = SQLITE_FLOAT;
        key.real = static_cast<double>(sqlite3_value_int64(value));
      } else {
        key.integer = sqlite3_value_int64(value);
      }
      break;
    case SQLITE_FLOAT:
      if (affinity == Affinity::kText) {
        set_text(text_bytes(value, buffer), key);
        break;
      }
      key.real = sqlite3_value_double(value);
      if ((affinity == Affinity::kNumeric || affinity == Affinity::kInteger) &&
          key.real > -9223372036854775808.0 && key.real < 9223372036854775808.0 &&
          static_cast<double>(static_cast<int64_t>(key.real)) == key.real) {
        key.type = SQLITE_INTEGER;
        key.integer = static_cast<int64_t>(key.real);
      }
      break;
    case SQLITE_BLOB:
      key.bytes = reinterpret_cast<const char*>(blob_of(value).data());
      key.size = sqlite3_value_bytes(value);
      break;
    default:
      break;
  }
  return key;
}

uint64_t hash_key(const KeyView& key, uint64_t seed) noexcept {
  switch (key.type) {
    case SQLITE_INTEGER:
      return hash_integer(key.integer, seed);
    case SQLITE_FLOAT:
      return hash_real(key.real, seed);
    case SQLITE_TEXT:
      return hash_bytes(KeyKind::kText, bytes_of(key), seed);
    default:
      return hash_bytes(KeyKind::kBlob, bytes_of(key), seed);
  }
}

void KeyCopy::assign(const KeyView& key) {
  view_ = key;
  if (key.type == SQLITE_TEXT || key.type == SQLITE_BLOB) {
    buffer_.assign(key.bytes, static_cast<size_t>(key.size));
  }
}

KeyView KeyCopy::view() const noexcept {
  KeyView view = view_;
  view.bytes = buffer_.data();
  return view;
}

void KeyCopy::result(sqlite3_context* context) const {
  switch (view_.type) {
    case SQLITE_INTEGER:
      sqlite3_result_int64(context, view_.integer);
      break;
    case SQLITE_FLOAT:
      sqlite3_result_double(context, view_.real);
      break;
    case SQLITE_TEXT:
      result_text_bytes(context, buffer_);
      break;
    case SQLITE_BLOB:
      sqlite3_result_blob64(context, buffer_.data(), buffer_.size(), SQLITE_TRANSIENT);
      break;
    default:
      sqlite3_result_null(context);
      break;
  }
}

}  // namespace cuckoo
