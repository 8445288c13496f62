// Texts of UTF-16 databases as bytes, without loss.
//
// SQLite converts between the encodings, but not everything: half a surrogate pair becomes
// something else (in the middle of a text it swallows the character behind it), and so do U+FFFE
// and U+FFFF on the way back. An ordinary table of a UTF-16 database keeps them. So a text that is
// to be kept as bytes is converted here: UTF-8, in which a lone surrogate is the three bytes that
// its number has (WTF-8), and back. In a UTF-8 database SQLite has converted before anybody asks,
// and what is here gives what an ordinary table gives: the bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "ext/sqlite/api.hpp"

namespace cuckoo {

std::string utf8_of(std::u16string_view text);
// Of what utf8_of() gave; other bytes: any text.
std::u16string utf16_of(std::string_view text);
// Would SQLite's conversion to UTF-16 change it?
bool is_beyond_conversion(std::string_view text) noexcept;

// The bytes of a value as text; a view of the value or of `buffer`.
std::string_view text_bytes(sqlite3_value* value, std::string& buffer);
// As a function's or a column's result: what an ordinary table of this database would give.
void result_text_bytes(sqlite3_context* context, std::string_view text);

}  // namespace cuckoo
