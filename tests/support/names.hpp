// How tests with parameters are named.
#pragma once

#include <cctype>
#include <ostream>
#include <sstream>
#include <string>
#include <tuple>

namespace cuckoo::test {

template <class Parameter>
void print_parameter(std::ostream& out, const Parameter& parameter) {
  out << std::boolalpha << parameter;
}
template <class... Parts>
void print_parameter(std::ostream& out, const std::tuple<Parts...>& parameter) {
  std::apply([&](const auto&... parts) { ((print_parameter(out, parts), out << ' '), ...); },
             parameter);
}

// By the letters and digits of its parameter: "bloom_filter(counting = on, " gives
// bloom_filter_counting_on. For INSTANTIATE_TEST_SUITE_P(Prefix, Suite, values, kParameterName).
inline constexpr auto kParameterName = [](const auto& info) {
  std::ostringstream text;
  print_parameter(text, info.param);
  std::string name;
  for (const char letter : text.str()) {
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
      name += letter;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  return name.substr(0, name.find_last_not_of('_') + 1);
};

// A table module with options, for tests that do the same with every kind of table.
struct TableKind {
  const char* name;
  const char* module;
  const char* key;  // its column

  friend std::ostream& operator<<(std::ostream& out, const TableKind& kind) {
    return out << kind.name;
  }
};

}  // namespace cuckoo::test
