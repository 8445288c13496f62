#include "ext/sqlite/options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <locale>
#include <sstream>

#include "ext/sqlite/error.hpp"
#include "ext/sqlite/statement.hpp"

namespace cuckoo {
namespace {

constexpr size_t kLongestShown = 100;  // bytes of a user's text in an error

// Returns the position of the `=` outside quotes, or npos.
size_t find_equals(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '=') {
      return at;
    }
    if (const char close = closing_quote(text[at]); close != 0) {
      at = std::min(text.find(close, at + 1), text.size());
    }
  }
  return std::string_view::npos;
}

// Returns whether the word would be a constraint or a collation, which the column can't have.
bool is_constraint_word(const std::string& word) {
  constexpr std::string_view kWords[] = {"as",         "autoincrement", "check",   "collate",
                                         "constraint", "default",       "foreign", "generated",
                                         "hidden",     "not",           "null",    "on",
                                         "primary",    "references",    "unique"};
  return std::find(std::begin(kWords), std::end(kWords), lower(word)) != std::end(kWords);
}

ColumnSpec parse_column(const std::string& table, std::string_view argument, ColumnRules rules) {
  std::string_view rest = argument;
  ColumnSpec column;
  column.name = take_name(rest);
  rest = trim(rest);
  column.type = std::string(rest);
  while (!rest.empty()) {
    if (rest[0] == '(') {  // VARCHAR(20)
      const size_t close = rest.find(')');
      rest = trim(rest.substr(std::min(close, rest.size() - 1) + 1));
      continue;
    }
    const size_t type_bytes = column.type.size() - rest.size();
    const std::string word = take_name(rest);
    if (rules == ColumnRules::kTypeAndCollation && equal_names(word, "collate")) {
      column.type = std::string(trim(column.type.substr(0, type_bytes)));
      column.collation = take_name(rest);
      rest = trim(rest);
      if (column.collation.empty() || !rest.empty()) {
        throw SqlError(SQLITE_ERROR, table + ": column " + column.name +
                                         ": COLLATE takes the name of a collation, and nothing"
                                         " follows it");
      }
      return column;
    }
    if (is_constraint_word(word) || word.empty()) {
      throw SqlError(
          SQLITE_ERROR,
          sql_text("%s: column %s takes a name and a type only, not \"%s\"", table.c_str(),
                   printable(column.name).c_str(), printable(word).c_str()));
    }
    rest = trim(rest);
  }
  if (column.name.empty()) {
    throw SqlError(SQLITE_ERROR, table + ": a column without a name");
  }
  return column;
}

std::string names_of(std::span<const OptionSpec> specs) {
  std::string names;
  for (const OptionSpec& spec : specs) {
    names += names.empty() ? "" : ", ";
    names += spec.name;
  }
  return names;
}

const OptionSpec* find_spec(std::span<const OptionSpec> specs, std::string_view name) {
  const auto found = std::find_if(specs.begin(), specs.end(),
                                  [name](const OptionSpec& one) { return one.name == name; });
  return found == specs.end() ? nullptr : &*found;
}

// Returns the names of the modules that have such an option: "cuckoo_filter, bloom_filter".
std::string modules_with(std::span<const ModuleOptions> modules, std::string_view option) {
  std::string names;
  for (const ModuleOptions& one : modules) {
    if (find_spec(one.specs, option) != nullptr) {
      names += names.empty() ? "" : ", ";
      names += one.module;
    }
  }
  return names;
}

// Refuses what would make a column of an option: `unique` where unique = on was meant, and
// 'capacity=100'. With a type or in double quotes it is a column.
void refuse_option_as_column(const std::string& table, std::span<const OptionSpec> specs,
                             std::string_view argument) {
  const bool quoted = closing_quote(argument[0]) != 0;
  std::string_view rest = argument;
  const std::string name = take_name(rest);
  if ((quoted && argument[0] != '\'') || !trim(rest).empty()) {
    return;
  }
  if (quoted && name.find('=') != std::string::npos) {
    throw SqlError(SQLITE_ERROR, table + ": an option is not written in quotes: write " +
                                     printable(name) + ", without them");
  }
  if (const OptionSpec* const spec = find_spec(specs, lower(name)); spec != nullptr) {
    const std::string option(spec->name);
    const bool one_word = !spec->words.empty() && spec->words.find(' ') == std::string_view::npos;
    std::string value(spec->kind == OptionKind::kWord && one_word ? spec->words : "…");
    value = spec->kind == OptionKind::kSwitch ? "on" : value;
    throw SqlError(SQLITE_ERROR,
                   table + ": " + option + " is an option: write " + option + " = " + value +
                       " (a column of that name has a type or double quotes: \"" + option + "\")");
  }
}

// Refuses 1,000,000 and 0,01, and shows all of it as `found`. Without quotes they are several
// arguments, and `text` is the one after the first comma.
void refuse_comma(const std::string& table, std::string_view text, const std::string& found) {
  if (!text.empty() && text.find_first_not_of("0123456789.,") == std::string_view::npos) {
    throw SqlError(SQLITE_ERROR, table + ": a number has no commas; found " + printable(found) +
                                     "; write 1000000, 1e6 or 0.01");
  }
}

// `words` has one space between each two.
bool is_one_of(std::string_view word, std::string_view words) {
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) {
      return true;
    }
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

// Returns what an option of on and off is, or nullopt. The words are those of PRAGMA.
std::optional<bool> switch_of(const std::string& word) {
  if (is_one_of(word, "on yes true 1")) {
    return true;
  }
  return is_one_of(word, "off no false 0") ? std::optional(false) : std::nullopt;
}

std::optional<int64_t> parse_integer(std::string_view text) {
  const bool hex = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  if (hex) {
    uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
    return error == std::errc() && end == text.data() + text.size()
               ? std::optional(static_cast<int64_t>(value))
               : std::nullopt;
  }
  if (!text.empty() && text[0] == '+') {
    text.remove_prefix(1);
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

// Returns how many bytes the UTF-8 character at the start of `text` has. Returns 0 if there is no
// character, or an ASCII control character, which may move the cursor.
size_t character_bytes(std::string_view text) {
  const auto byte = [text](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) {
    return lead >= 0x20 && lead != 0x7F ? 1 : 0;
  }
  const size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  const unsigned least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;  // else it is overlong,
  const unsigned most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;   // or no character
  if (lead < 0xC2 || lead > 0xF4 || byte(1) < least || byte(1) > most) {
    return 0;
  }
  for (size_t i = 2; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) {
      return 0;
    }
  }
  return size;
}

}  // namespace

std::optional<SourceText> parse_source(std::string_view text) {
  SourceText source;
  source.table = take_name(text);
  text = trim(text);
  if (source.table.empty() || !text.starts_with('(')) {
    return std::nullopt;
  }
  text.remove_prefix(1);
  const char* begin = text.data();  // of a key
  int depth = 1;
  while (const std::optional<SqlToken> token = take_token(text)) {
    depth += token->text == "(" ? 1 : 0;
    depth -= token->text == ")" ? 1 : 0;
    if (depth == 0 || (depth == 1 && token->text == ",")) {
      const std::string_view key = trim({begin, static_cast<size_t>(token->text.data() - begin)});
      if (key.empty()) {
        return std::nullopt;
      }
      source.keys.emplace_back(key);
      begin = text.data();
    }
    if (depth == 0) {
      return trim(text).empty() ? std::optional(source) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') {
      c = static_cast<char>(c - 'A' + 'a');
    }
  }
  return result;
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const size_t size = character_bytes(text);
    if (shown.size() + std::max(size, size_t{1}) > kLongestShown) {
      return shown + "…";
    }
    shown += size == 0 ? std::string_view("?") : text.substr(0, size);
    text.remove_prefix(std::max(size, size_t{1}));
  }
  return shown;
}

namespace {

// Converts the text as a whole, in any locale. std::from_chars() takes no reals in some C++
// libraries (libc++ before 20).
bool real_of(const std::string& text, double& value) {
#if defined(__cpp_lib_to_chars)
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  return error == std::errc() && end == last;
#else
  if (text.find_first_not_of("0123456789.eE+-") != std::string::npos || text.starts_with('+')) {
    return false;
  }
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  return stream >> value && stream.peek() == std::istringstream::traits_type::eof();
#endif
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&text](size_t at) { return text[at] >= '0' && text[at] <= '9'; };
    if (text[i] == '_') {  // between digits only, as in SQL
      if (i == 0 || i + 1 == text.size() || !digit(i - 1) || !digit(i + 1)) {
        return std::nullopt;
      }
      continue;
    }
    plain += text[i];
  }
  if (!plain.empty() && plain[0] == '+') {
    plain.erase(0, 1);
  }
  double value = 0;
  if (!real_of(plain, value) || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

std::optional<double> parse_size(std::string_view text) {
  double scale = 1;
  const std::string unit = lower(text.substr(text.size() < 2 ? 0 : text.size() - 2));
  for (const auto& [name, bytes] :
       {std::pair("kb", 0x1p10), {"mb", 0x1p20}, {"gb", 0x1p30}, {"tb", 0x1p40}}) {
    scale = unit == name ? bytes : scale;
  }
  const std::optional<double> number =
      parse_number(trim(scale == 1 ? text : text.substr(0, text.size() - 2)));
  if (!number || std::floor(*number * scale) != *number * scale) {
    return std::nullopt;
  }
  return *number * scale;
}

const OptionSpec& spec_named(std::span<const OptionSpec> specs, std::string_view name) {
  const OptionSpec* const spec = find_spec(specs, name);
  if (spec == nullptr) {
    throw SqlError(SQLITE_INTERNAL, "no option is called " + std::string(name));
  }
  return *spec;
}

Options::Options(const ModuleArguments& given, std::span<const ModuleOptions> modules,
                 ColumnRules rules)
    : modules_(modules) {
  const std::string table = given.table();
  const std::span arguments(given.texts + 3, static_cast<size_t>(given.count - 3));
  const bool tolerant = !given.creating;
  for (const ModuleOptions& one : modules_) {
    own_ = equal_names(one.module, given.texts[0]) ? one : own_;
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = trim(arguments[i]);
    if (argument.empty()) {
      if (tolerant) {
        continue;
      }
      throw SqlError(SQLITE_ERROR, table + ": an empty argument");
    }
    const size_t equals = find_equals(argument);
    if (equals == std::string_view::npos) {
      for (const ModuleOptions& one : modules_) {
        if (!tolerant && one.kind == own_.kind) {
          refuse_option_as_column(table, one.specs, argument);
        }
      }
      if (!tolerant && !values_.empty()) {
        throw SqlError(SQLITE_ERROR, table + ": column \"" + printable(argument) +
                                         "\" follows an option; columns come first");
      }
      columns_.push_back(parse_column(table, argument, rules));
      continue;
    }
    if (!tolerant && i + 1 < arguments.size()) {
      const std::string_view next = trim(arguments[i + 1]);
      refuse_comma(table, next, std::string(argument) + "," + std::string(next));
    }
    try {
      parse_option(table, argument, equals);
    } catch (const SqlError&) {
      if (!tolerant) {
        throw;
      }
    }
  }
}

void Options::parse_option(const std::string& table, std::string_view argument, size_t equals) {
  std::string_view left = argument.substr(0, equals);
  std::string_view right = trim(argument.substr(equals + 1));
  const std::string name = lower(take_name(left));
  // "my table"(x) begins with a quote, but is no quoted value.
  const std::string_view unquoted = right;
  const bool quoted = !right.empty() && closing_quote(right[0]) != 0;
  std::string value = quoted ? take_name(right) : std::string(right);
  if (quoted && trim(right).starts_with('(')) {
    value = std::string(unquoted);
    right = {};
  }
  if (!trim(left).empty() || (quoted && !trim(right).empty())) {
    throw SqlError(SQLITE_ERROR, table + ": option \"" + printable(argument) +
                                     "\" has text that does not belong to it");
  }
  add_option(table, name, value);
}

void Options::add_option(const std::string& table, const std::string& name,
                         const std::string& text) {
  const OptionSpec* const spec = find_spec(own_.specs, name);
  if (spec == nullptr) {
    const std::string others = modules_with(modules_, name);
    const std::string what = others.empty()
                                 ? "unknown option \"" + printable(name) + "\"; the options are "
                                 : name + " is an option of " + others + "; the options here are ";
    throw SqlError(SQLITE_ERROR, table + ": " + what + names_of(own_.specs));
  }
  if (values_.contains(name)) {
    throw SqlError(SQLITE_ERROR, table + ": option " + name + " is given twice");
  }
  Value value;
  value.text = text;
  bool good = true;
  switch (spec->kind) {
    case OptionKind::kWhole:
    case OptionKind::kNumber: {
      const std::optional<double> number = parse_number(text);
      value.number = number.value_or(0);
      good = number.has_value() && *number >= spec->least && *number <= spec->most &&
             (spec->kind == OptionKind::kNumber || std::floor(*number) == *number);
      break;
    }
    case OptionKind::kSize: {
      const std::optional<double> size = parse_size(text);
      value.number = size.value_or(0);
      good = size.has_value() && *size >= spec->least && *size <= spec->most;
      break;
    }
    case OptionKind::kSwitch: {
      const std::optional<bool> on = switch_of(lower(text));
      value.on = on.value_or(false);
      good = on.has_value();
      break;
    }
    case OptionKind::kSeed: {
      const std::optional<int64_t> seed = parse_integer(text);
      value.integer = seed.value_or(0);
      value.text = lower(text);
      good = seed.has_value() || is_one_of(value.text, spec->words);
      break;
    }
    case OptionKind::kName:
      good = !text.empty();
      break;
    case OptionKind::kWord:
      value.text = lower(text);
      good = is_one_of(value.text, spec->words);
      break;
    case OptionKind::kSource:
      good = parse_source(text).has_value();
      break;
  }
  if (!good) {
    if (spec->most != 0 && text.find(',') != std::string::npos) {  // it takes a number
      refuse_comma(table, text, name + " = '" + text + "'");
    }
    throw SqlError(SQLITE_ERROR, table + ": option " + name + " is \"" + printable(text) +
                                     "\", expected " + std::string(spec->range));
  }
  values_.emplace(name, std::move(value));
}

const Options::Value* Options::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

std::optional<uint64_t> Options::whole(std::string_view name) const {
  const Value* value = find(name);
  return value == nullptr ? std::nullopt : std::optional(static_cast<uint64_t>(value->number));
}

std::optional<double> Options::number(std::string_view name) const {
  const Value* value = find(name);
  return value == nullptr ? std::nullopt : std::optional(value->number);
}

std::optional<bool> Options::on(std::string_view name) const {
  const Value* value = find(name);
  return value == nullptr ? std::nullopt : std::optional(value->on);
}

std::optional<int64_t> Options::seed(std::string_view name) const {
  const Value* value = find(name);
  return value == nullptr ? std::nullopt : std::optional(value->integer);
}

std::optional<std::string> Options::text(std::string_view name) const {
  const Value* value = find(name);
  return value == nullptr ? std::nullopt : std::optional(value->text);
}

}  // namespace cuckoo
