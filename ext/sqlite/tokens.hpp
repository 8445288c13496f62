// The words of SQL, as SQLite's tokenizer cuts them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cuckoo {

// Without the space at both ends.
std::string_view trim(std::string_view text);

// What closes a name or text that begins so; 0: none does.
char closing_quote(char open);

// A name off the front of `text`, out of its quotes.
std::string take_name(std::string_view& text);

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
  std::string_view text;  // as it stands there, quotes and all
};
// Takes the first off `sql`; nothing when only space is left.
std::optional<SqlToken> take_token(std::string_view& sql);

// How many arguments stand in the parentheses of a statement CREATE VIRTUAL TABLE …, empty ones
// too, which SQLite does not hand over; 0 where there is nothing between them.
size_t count_arguments(std::string_view statement) noexcept;

}  // namespace cuckoo
