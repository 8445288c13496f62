// Texts of UTF-16 databases as bytes, without loss.
//
// SQLite loses something when it converts between the encodings. Half a surrogate pair becomes
// another character, and in the middle of a text it swallows the character after it. U+FFFE and
// U+FFFF change on the way back. An ordinary table of a UTF-16 database keeps them. So a text that
// is kept as bytes is converted here, to UTF-8 in which a lone surrogate has the three bytes of its
// number (WTF-8), and back. In a UTF-8 database SQLite has converted the text before we see it.
// Then these functions give the same bytes as an ordinary table.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "ext/sqlite/api.hpp"

namespace cuckoo {

std::string utf8_of(std::u16string_view text);
// Converts what utf8_of() gave back. Other bytes give an unspecified text.
std::u16string utf16_of(std::string_view text);
// Returns whether SQLite's conversion to UTF-16 would change the text.
bool is_beyond_conversion(std::string_view text) noexcept;

// Returns the bytes of a value as text: a view of the value or of `buffer`.
std::string_view text_bytes(sqlite3_value* value, std::string& buffer);
// Binds the text to a parameter, as an ordinary table would give it. Copies it. Returns SQLite's
// code.
int bind_text_bytes(sqlite3_stmt* statement, int parameter, std::string_view text);
// Gives SQLite the text as the result of a function or a column, as an ordinary table would.
void result_text_bytes(sqlite3_context* context, std::string_view text);

}  // namespace cuckoo
