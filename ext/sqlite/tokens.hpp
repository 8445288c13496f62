// The words of SQL, as SQLite's tokenizer cuts them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cuckoo {

// Returns the text without the space at both ends.
std::string_view trim(std::string_view text);

// Returns the character that closes a name or text which begins with `open`; 0 if none does.
char closing_quote(char open);

// Takes a name off the front of `text`, and removes its quotes.
std::string take_name(std::string_view& text);

// Returns the name as SQL in a text shows it: in double quotes if it needs them. key needs none.
std::string sql_name(const std::string& name);

// A word of an SQL expression.
struct SqlToken {
  enum class Kind {
    kWord,  // a name without quotes, or a keyword
    kName,  // in "", [] or ``
    kText,  // in ''
    kNumber,
    kComment,
    kOther,  // one character
  };
  Kind kind;
  std::string_view text;  // as written, with its quotes
};
// Takes the first token off `sql`. Returns nothing if only space is left.
std::optional<SqlToken> take_token(std::string_view& sql);

// Returns how many arguments the parentheses of a CREATE VIRTUAL TABLE have. Counts empty ones,
// too, which SQLite does not pass on. Returns 0 if there is nothing between the parentheses.
size_t count_arguments(std::string_view statement) noexcept;

}  // namespace cuckoo
