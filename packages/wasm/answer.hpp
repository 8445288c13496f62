// How the functions that docs/playground/ calls answer: JSON in a buffer that the next call reuses;
// {"error": …} when something was refused.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"

namespace cuckoo {

inline const char* answer(std::string text) {
  static std::string kept;
  kept = std::move(text);
  return kept.c_str();
}

inline std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
    }
    result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return result + '"';
}

inline const char* refusal(const Error& error) {
  return answer("{\"error\":" + quoted(error.message) + "}");
}

inline const char* outcome(const Status& status) {
  return status.ok() ? answer("{}") : refusal(status.error());
}

inline std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

template <class Values, class ToText>
std::string list(const Values& values, const ToText& to_text) {
  std::string result = "[";
  for (const auto& value : values) {
    result += (result.size() > 1 ? "," : "") + to_text(value);
  }
  return result + "]";
}

inline std::string list(const std::vector<uint64_t>& values) {
  return list(values, [](uint64_t value) { return std::to_string(value); });
}

}  // namespace cuckoo
