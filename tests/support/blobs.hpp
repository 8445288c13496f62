// Images on their way between SQL and C++.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/support/database.hpp"

namespace cuckoo::test {

// The BLOB that an expression gives.
inline std::vector<std::byte> blob_of(Database& db, const std::string& sql,
                                      Caller from = Caller::here()) {
  std::vector<std::byte> bytes;
  const std::string hex = db.text({"SELECT hex(" + sql + ")", from});
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

inline std::string literal_of(const std::vector<std::byte>& bytes) {
  std::string text = "x'";
  for (const std::byte byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[static_cast<unsigned>(byte) >> 4];
    text += kDigits[static_cast<unsigned>(byte) & 15];
  }
  return text + "'";
}

}  // namespace cuckoo::test
