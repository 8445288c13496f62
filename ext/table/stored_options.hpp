// The options in %_config, read with their types and ranges checked. An error names the row that is
// not valid.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>

#include "ext/table/shadow_store.hpp"

namespace cuckoo {

class StoredOptions {
 public:
  explicit StoredOptions(ShadowStore& store);

  bool has(const char* key) const { return rows_.contains(key); }
  // All throw SqlError (SQLITE_CORRUPT_VTAB).
  int64_t whole(const char* key, int64_t least, int64_t most) const;
  double number(const char* key, double least, double most) const;
  bool on(const char* key) const;
  const std::string& text(const char* key) const;
  void expect(bool valid, const char* key) const;
  // Throws if there is a row that was not read here, and is not one of those read elsewhere,
  // because no option of this table has its key.
  void expect_no_more(std::initializer_list<const char*> elsewhere = {}) const;
  // Reads the row `format`, which must be in this range.
  uint32_t format(uint32_t oldest, uint32_t newest) const;

 private:
  const ShadowStore::OptionValue& find(const char* key, int type) const;

  ShadowStore& store_;
  std::string table_;
  std::map<std::string, ShadowStore::OptionValue> rows_;
  mutable std::set<std::string> read_;
};

}  // namespace cuckoo
