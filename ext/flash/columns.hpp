// The columns of a flash_kv: key and value, which the user names; hidden ones, which are computed;
// and the column that takes commands.
//
// Tools edit a row by the name of a rowid: _rowid_, rowid or oid. So hidden columns have these
// names, and all of them are `seq`. Without them, "rowid" in double quotes would be a text, and
// WHERE "rowid" = 'rowid' would be true for every row. A name that another column or the table has
// is left out.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "ext/flash/value.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/sqlite/value.hpp"

namespace cuckoo {

class FlashColumns {
 public:
  enum Column : int {
    kKeyColumn = 0,
    kValueColumn = 1,
    kSectorColumn = 2,
    kSeqColumn = 3,
    kDigestColumn = 4,
    kCommandColumn = 5,  // after it: seq under the names of rowids
  };

  // `given` has key and value; missing ones get default names. If `creating`, throws SqlError if a
  // flash_kv can't have them.
  FlashColumns(const std::string& table, const std::vector<ColumnSpec>& given, bool creating);

  const std::string& key_name() const noexcept { return key_.name; }
  Affinity key_affinity() const noexcept { return key_affinity_; }
  Affinity value_affinity() const noexcept { return value_affinity_; }
  bool has_number_keys() const noexcept { return key_affinity_ >= Affinity::kNumeric; }
  // Returns whether the key column shows 1.0 as 1.0. If so, the row's value says how the key was
  // given.
  bool shows_reals(std::span<const std::byte> key) const noexcept {
    return key_affinity_ == Affinity::kNone && may_be_whole_real(key);
  }
  int end() const noexcept { return kCommandColumn + 1 + static_cast<int>(rowids_.size()); }
  bool is_seq(int column) const noexcept { return column == kSeqColumn || column > kCommandColumn; }
  const char* computed_name(int column) const noexcept;  // null if the column is not computed
  // Throws SqlError if a table of that name has a column with the same name.
  void refuse_table_name(const std::string& table) const;
  // For sqlite3_declare_vtab().
  std::string declaration(const std::string& command_column) const;

 private:
  void expect_names(const std::string& table) const;

  ColumnSpec key_;
  ColumnSpec value_;
  Affinity key_affinity_;
  Affinity value_affinity_;
  std::vector<const char*> rowids_;  // the hidden columns after the command column
};

}  // namespace cuckoo
