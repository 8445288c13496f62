// The arguments of CREATE VIRTUAL TABLE … USING module(column [TYPE], option = value, …).
//
// One constexpr array of OptionSpec per table drives the parser, the error texts and a test that
// compares the tables in docs/ with it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ext/sqlite/module.hpp"
#include "ext/sqlite/tokens.hpp"

namespace cuckoo {

enum class OptionKind {
  kWhole,   // whole number: 1000000, 1e6, 1_000_000
  kNumber,  // also with a fraction
  kSwitch,  // on, off; yes, no; true, false; 1, 0
  kSeed,    // any 64-bit integer, or one of `words`: the integer 0 and that text
  kName,    // a table's name
  kWord,    // one of `words`
  kSource,  // table(key, …), names quoted as in SQL or not
  kSize,    // bytes, a whole number: 65536, 64KB, 16MB, 2GB
};

struct OptionSpec {
  std::string_view name;
  OptionKind kind;
  double least = 0;  // kWhole, kNumber, kSize
  double most = 0;
  std::string_view range;  // as shown to users
  std::string_view words;  // kWord, kSeed: with a space between each two
};

// Returns the spec of that name. Throws SQLITE_INTERNAL if `specs` has none.
const OptionSpec& spec_named(std::span<const OptionSpec> specs, std::string_view name);

// table(key, …). Each key is a column's name or an expression, exactly as it was written.
struct SourceText {
  std::string table;
  std::vector<std::string> keys;
};

struct ColumnSpec {
  std::string name;
  std::string type;            // as written; empty: none
  std::string collation = {};  // its name; empty: none was given
};

// The options of one module. Those of others are named in errors, because they are often given to
// the wrong one.
struct ModuleOptions {
  std::string_view module;
  std::string_view kind;  // a bare option of a module of one's own kind is no column
  std::span<const OptionSpec> specs;
};

// Says what may follow a column's name.
enum class ColumnRules { kType, kTypeAndCollation };

class Options {
 public:
  // Parses the arguments of a table of one of these modules. Throws SqlError at CREATE. Later it
  // skips an argument that is not valid, because a table uses the options that it stored.
  Options(const ModuleArguments& given, std::span<const ModuleOptions> modules,
          ColumnRules rules = ColumnRules::kType);

  const std::vector<ColumnSpec>& columns() const noexcept { return columns_; }
  bool has(std::string_view name) const { return values_.contains(std::string(name)); }
  std::optional<uint64_t> whole(std::string_view name) const;
  std::optional<double> number(std::string_view name) const;
  std::optional<bool> on(std::string_view name) const;
  std::optional<int64_t> seed(std::string_view name) const;
  std::optional<std::string> text(std::string_view name) const;

 private:
  struct Value {
    std::string text;
    double number = 0;
    int64_t integer = 0;
    bool on = false;
  };
  const Value* find(std::string_view name) const;
  void parse_option(const std::string& table, std::string_view argument, size_t equals);
  void add_option(const std::string& table, const std::string& name, const std::string& text);

  std::span<const ModuleOptions> modules_;
  ModuleOptions own_;  // of the table's module
  std::vector<ColumnSpec> columns_;
  std::map<std::string, Value, std::less<>> values_;
};

// Parses "table(key, …)". Returns nothing for any other text.
std::optional<SourceText> parse_source(std::string_view text);

// Parses a number as options and commands take it. Returns nothing for any other text.
std::optional<double> parse_number(std::string_view text);
// Parses a size in bytes, too: a number, then perhaps KB, MB, GB or TB (of 1024).
std::optional<double> parse_size(std::string_view text);

std::string lower(std::string_view text);
// Returns a user's text as errors show it: some hundred bytes at most, valid UTF-8 on one line.
std::string printable(std::string_view text);
inline bool equal_names(std::string_view a, std::string_view b) { return lower(a) == lower(b); }

}  // namespace cuckoo
