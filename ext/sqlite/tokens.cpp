#include "ext/sqlite/tokens.hpp"

#include <algorithm>

#include "ext/sqlite/statement.hpp"

namespace cuckoo {
namespace {

constexpr std::string_view kSpace = " \t\r\n\f\v";

// Returns the position after the quoted name or text, comment or single character that begins at
// `at`.
size_t skip_token(std::string_view sql, size_t at) noexcept {
  const auto behind = [&](std::string_view end, size_t from) {
    const size_t found = sql.find(end, from);
    return found == std::string_view::npos ? sql.size() : found + end.size();
  };
  if (const char close = closing_quote(sql[at]); close != 0) {
    return behind({&close, 1}, at + 1);  // a doubled quote begins another one
  }
  if (sql.substr(at, 2) == "--") {
    return behind("\n", at);
  }
  return sql.substr(at, 2) == "/*" ? behind("*/", at + 2) : at + 1;
}

}  // namespace

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

char closing_quote(char open) {
  switch (open) {
    case '"':
    case '\'':
    case '`':
      return open;
    case '[':
      return ']';
    default:
      return 0;
  }
}

std::string take_name(std::string_view& text) {
  text = trim(text);
  if (text.empty()) {
    return {};
  }
  const char close = closing_quote(text[0]);
  if (close == 0) {
    const size_t end = std::min(text.find_first_of(" \t\r\n\f\v=()"), text.size());
    std::string word(text.substr(0, end));
    text.remove_prefix(end);
    return word;
  }
  std::string word;
  size_t at = 1;
  for (; at < text.size(); ++at) {
    if (text[at] != close) {
      word += text[at];
    } else if (close != ']' && at + 1 < text.size() && text[at + 1] == close) {
      word += text[at++];
    } else {
      break;
    }
  }
  text.remove_prefix(std::min(at + 1, text.size()));
  return word;
}

std::string sql_name(const std::string& name) {
  std::string_view rest = name;
  const std::optional<SqlToken> token = take_token(rest);
  const bool word = token && token->kind == SqlToken::Kind::kWord && token->text == name &&
                    !name.starts_with('$');  // a variable
  const bool keyword = sqlite3_keyword_check(name.c_str(), static_cast<int>(name.size())) != 0 &&
                       sqlite3_stricmp(name.c_str(), "key") != 0;
  return word && !keyword ? name : sql_text(R"("%w")", name.c_str());
}

std::optional<SqlToken> take_token(std::string_view& sql) {
  sql = trim(sql);
  if (sql.empty()) {
    return std::nullopt;
  }
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (static_cast<unsigned char>(c) & 0x80) != 0;
  };
  const char first = sql[0];
  SqlToken token{SqlToken::Kind::kOther, {}};
  size_t size = skip_token(sql, 0);
  if (is_word(first)) {
    const bool number = first >= '0' && first <= '9';
    token.kind = number ? SqlToken::Kind::kNumber : SqlToken::Kind::kWord;
    size = 1;
    while (size < sql.size() && (is_word(sql[size]) || (number && sql[size] == '.'))) {
      ++size;
    }
  } else if (first == '\'') {
    token.kind = SqlToken::Kind::kText;
  } else if (closing_quote(first) != 0) {
    token.kind = SqlToken::Kind::kName;
  } else if (size > 1) {
    token.kind = SqlToken::Kind::kComment;
  }
  // A doubled quote is part of the name or text.
  while (first == closing_quote(first) && size < sql.size() && sql[size] == first) {
    size = skip_token(sql, size);
  }
  token.text = sql.substr(0, size);
  sql.remove_prefix(size);
  return token;
}

size_t count_arguments(std::string_view statement) noexcept {
  size_t depth = 0;
  size_t commas = 0;
  bool any = false;
  for (size_t at = 0; at < statement.size();) {
    const char c = statement[at];
    const size_t next = skip_token(statement, at);
    const bool comment = next - at >= 2 && (c == '-' || c == '/');
    if (depth == 1 && c == ')') {
      break;
    }
    any = any || (depth > 0 && !comment && kSpace.find(c) == std::string_view::npos);
    commas += depth == 1 && c == ',' ? 1 : 0;
    depth += c == '(' ? 1 : 0;
    depth -= c == ')' && depth > 0 ? 1 : 0;
    at = next;
  }
  return any ? commas + 1 : 0;
}

}  // namespace cuckoo
