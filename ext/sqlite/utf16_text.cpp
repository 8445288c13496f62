#include "ext/sqlite/utf16_text.hpp"

#include <algorithm>
#include <new>

#include "ext/sqlite/statement.hpp"

namespace cuckoo {
namespace {

constexpr char16_t kByteOrderMark = 0xFEFF;
constexpr char16_t kSwappedByteOrderMark = 0xFFFE;

bool is_high(char32_t c) noexcept { return c >= 0xD800 && c < 0xDC00; }
bool is_low(char32_t c) noexcept { return c >= 0xDC00 && c < 0xE000; }

bool is_utf16_database(sqlite3* db) {
  Statement encoding(db, "PRAGMA encoding");
  return encoding.step() && encoding.text(0) != "UTF-8";
}

void append_utf8(std::string& out, char32_t c) {
  const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | c >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace

std::string utf8_of(std::u16string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char32_t c = text[i];
    if (is_high(c) && i + 1 < text.size() && is_low(text[i + 1])) {
      c = 0x10000 + ((c - 0xD800) << 10) + (text[++i] - 0xDC00U);
    }
    append_utf8(out, c);
  }
  return out;
}

std::u16string utf16_of(std::string_view text) {
  std::u16string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const size_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    char32_t c = first;
    if (length > 1) {
      c = first & (0x7F >> length);
      for (size_t j = 1; j < length && i + j < text.size(); ++j) {
        c = c << 6 | (static_cast<unsigned char>(text[i + j]) & 0x3F);
      }
    }
    if (c < 0x10000) {
      out += static_cast<char16_t>(c);
    } else {
      c -= 0x10000;
      out += static_cast<char16_t>(0xD800 | (c >> 10 & 0x3FF));
      out += static_cast<char16_t>(0xDC00 | (c & 0x3FF));
    }
    i += std::min(length, text.size() - i);
  }
  return out;
}

// Looks for a surrogate, from ED A0 to ED BF, and for U+FFFE and U+FFFF: EF BF BE, EF BF BF.
bool is_beyond_conversion(std::string_view text) noexcept {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  for (size_t i = 0; (i = text.find('\xED', i)) < text.size() && i + 2 < text.size(); ++i) {
    if (byte(i + 1) >= 0xA0) {
      return true;
    }
  }
  for (size_t i = 0; (i = text.find("\xEF\xBF", i)) < text.size() && i + 2 < text.size(); ++i) {
    if (byte(i + 2) >= 0xBE) {
      return true;
    }
  }
  return false;
}

std::string_view text_bytes(sqlite3_value* value, std::string& buffer) {
  if (sqlite3_value_encoding(value) == SQLITE_UTF8) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
    if (text == nullptr) {
      throw std::bad_alloc();
    }
    return {text, static_cast<size_t>(sqlite3_value_bytes(value))};
  }
  const auto* wide = static_cast<const char16_t*>(sqlite3_value_text16(value));
  if (wide == nullptr) {
    throw std::bad_alloc();
  }
  buffer = utf8_of({wide, static_cast<size_t>(sqlite3_value_bytes16(value)) / sizeof *wide});
  return buffer;
}

// Calls `give` with the text's bytes and their encoding.
template <class Give>
static int give_text(sqlite3* db, std::string_view text, Give&& give) {
  if (!is_beyond_conversion(text) || !is_utf16_database(db)) [[likely]] {
    return give(text.data(), text.size(), static_cast<unsigned char>(SQLITE_UTF8));
  }
  std::u16string wide = utf16_of(text);
  // SQLite takes U+FEFF at the start, in either byte order, for a byte order mark and removes it.
  if (wide.front() == kByteOrderMark || wide.front() == kSwappedByteOrderMark) {
    wide.insert(wide.begin(), kByteOrderMark);
  }
  return give(reinterpret_cast<const char*>(wide.data()), wide.size() * sizeof wide[0],
              static_cast<unsigned char>(SQLITE_UTF16));
}

int bind_text_bytes(sqlite3_stmt* statement, int parameter, std::string_view text) {
  return give_text(sqlite3_db_handle(statement), text,
                   [&](const char* bytes, size_t size, unsigned char encoding) {
                     return sqlite3_bind_text64(statement, parameter, bytes, size, SQLITE_TRANSIENT,
                                                encoding);
                   });
}

void result_text_bytes(sqlite3_context* context, std::string_view text) {
  give_text(sqlite3_context_db_handle(context), text,
            [&](const char* bytes, size_t size, unsigned char encoding) {
              sqlite3_result_text64(context, bytes, size, SQLITE_TRANSIENT, encoding);
              return SQLITE_OK;
            });
}

}  // namespace cuckoo
