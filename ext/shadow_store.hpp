// The shadow tables of one filter, read and written row by row. Implements core's storage.
//
//   <table>_config(key PRIMARY KEY, value)      options, one a row; 'record': the state (a BLOB)
//   <table>_pages(id INTEGER PRIMARY KEY, page)
//   <table>_log(id INTEGER PRIMARY KEY, entries)
//   <table>_items(key PRIMARY KEY, value)
// Each kind of virtual table has those that it needs.
//
// Nothing read from them is trusted: types are checked here, contents by core.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/filter_storage.hpp"
#include "ext/poller.hpp"
#include "ext/shadow_tables.hpp"
#include "ext/statement.hpp"

namespace cuckoo {

inline constexpr ShadowTable kConfigTable = {"config", "(key PRIMARY KEY, value) WITHOUT ROWID"};
inline constexpr ShadowTable kPagesTable = {"pages", "(id INTEGER PRIMARY KEY, page)"};
inline constexpr ShadowTable kLogTable = {"log", "(id INTEGER PRIMARY KEY, entries)"};
inline constexpr ShadowTable kItemsTable = {"items", "(key PRIMARY KEY, value) WITHOUT ROWID"};

inline constexpr std::array kFilterTables = {kConfigTable, kPagesTable, kLogTable, kItemsTable};
inline constexpr std::array kFlashTables = {kConfigTable, kPagesTable};

// The largest multiple of 64 bytes that, with a checksum behind it, fits one database page as a
// row.
uint32_t page_bytes_for(sqlite3* db, const std::string& schema);
// What SQLite's own page cache may take of that schema (PRAGMA cache_size).
uint64_t cache_bytes_for(sqlite3* db, const std::string& schema);

class ShadowStore final : public FilterStorage {
 public:
  ShadowStore(sqlite3* db, std::span<const ShadowTable> tables, std::string schema,
              std::string table);

  sqlite3* db() const noexcept { return db_; }
  const std::string& schema() const noexcept { return schema_; }
  const std::string& table() const noexcept { return table_; }

  // Overflow entries of several generations: their keys tell them apart (FORMAT.md).
  void set_several_generations(bool several) noexcept { several_generations_ = several; }

  // All throw SqlError.
  void create_tables();
  void drop_tables();
  void rename_tables(const std::string& name);
  // Value: int64_t, double or std::string. The row may exist.
  template <class Value>
  void write_option(const std::string& key, const Value& value) {
    upsert_option().bind(1, key).bind(2, value).run();
  }
  void erase_option(const std::string& key);

  struct OptionValue {
    int type = SQLITE_NULL;
    int64_t integer = 0;
    double real = 0;
    std::string text;
  };
  std::map<std::string, OptionValue> read_options();

  // The record's row, held: as long as one of these lives, a read transaction is open and all that
  // is read comes from one commit. One at a time.
  class HeldRecord {
   public:
    explicit HeldRecord(ShadowStore& store);
    ~HeldRecord() { store_.select_record_.reset(); }
    HeldRecord(const HeldRecord&) = delete;
    HeldRecord& operator=(const HeldRecord&) = delete;

    std::span<const std::byte> bytes() const { return store_.select_record_.bytes(0); }

   private:
    ShadowStore& store_;
  };

  void finalize() noexcept;  // all statements: before the connection closes or names change

  Status read_pages(int64_t first, int64_t last, const RowVisitor& visitor) override;
  Status write_page(int64_t id, std::span<const std::byte> row, bool stored) override;
  Status erase_pages(int64_t first, int64_t last) override;
  Status read_log(int64_t first, int64_t last, const RowVisitor& visitor) override;
  Status write_log(int64_t id, std::span<const std::byte> row, bool stored) override;
  Status erase_log(int64_t first, int64_t last) override;
  Status read_items(uint64_t generation, const ItemVisitor& visitor) override;
  Status write_item(uint64_t generation, uint64_t key, uint64_t value) override;
  Status erase_item(uint64_t generation, uint64_t key) override;
  Status erase_items(uint64_t generation) override;
  Result<uint64_t> count_items() override;
  Status write_record(std::span<const std::byte> record) override;
  Status read_older(uint64_t slot, std::vector<std::byte>& record) override;
  Status write_older(uint64_t slot, std::span<const std::byte> record) override;
  Status poll() override { return poller_(); }

 private:
  // A statement prepared at its first use; %w's are schema and table.
  Statement& ready(Statement& statement, const char* sql);
  Status read_rows(Statement& statement, const char* sql, const char* name, int64_t first,
                   int64_t last, const RowVisitor& visitor);
  Status expect_changed(const char* name, int64_t id) const;
  Statement& bind_item(Statement& statement, int index, uint64_t generation, uint64_t key) const;
  template <class Body>
  Status attempt(Body&& body);
  Statement upsert_option() const;

  sqlite3* db_;
  std::span<const ShadowTable> tables_;  // one of the arrays above
  std::string schema_;
  std::string table_;
  bool several_generations_ = false;

  Statement select_record_, update_record_;
  Statement select_page_, select_pages_, insert_page_, update_page_, delete_pages_;
  Statement select_log_, insert_log_, update_log_, delete_log_;
  Statement select_items_, replace_item_, delete_item_, delete_items_;
  Poller poller_;
};

}  // namespace cuckoo
