// The shadow tables of one table: the part that several kinds have in common.
//
//   <table>_config(key PRIMARY KEY, value)      all kinds: options, one a row. flash_kv and
//                                               hash_ring: 'record', the state (a BLOB)
//   <table>_pages(id INTEGER PRIMARY KEY, page) flash_kv and hash_ring
// Each kind adds tables and statements of its own.
//
// Nothing read from them is trusted. This class checks types, its callers check contents.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "ext/sqlite/poller.hpp"
#include "ext/sqlite/statement.hpp"
#include "ext/table/shadow_rows.hpp"
#include "ext/table/shadow_tables.hpp"

namespace cuckoo {

inline constexpr ShadowTable kConfigTable = {"config", "(key PRIMARY KEY, value) WITHOUT ROWID"};
inline constexpr ShadowTable kPagesTable = {"pages", "(id INTEGER PRIMARY KEY, page)"};
inline constexpr ShadowTable kItemsTable = {"items", "(key PRIMARY KEY, value) WITHOUT ROWID"};

// Returns the largest multiple of 64 bytes that, with a checksum after it, fits one database page
// as a row.
uint32_t page_bytes_for(sqlite3* db, const std::string& schema);
// Returns the size of the database page itself.
uint32_t database_page_bytes_for(sqlite3* db, const std::string& schema);
// Returns how much of that schema SQLite's own page cache may hold (PRAGMA cache_size).
uint64_t cache_bytes_for(sqlite3* db, const std::string& schema);

class ShadowStore {
 public:
  ShadowStore(sqlite3* db, std::span<const ShadowTable> tables, std::string schema,
              std::string table);
  virtual ~ShadowStore() = default;
  ShadowStore(const ShadowStore&) = delete;
  ShadowStore& operator=(const ShadowStore&) = delete;

  sqlite3* db() const noexcept { return db_; }
  const std::string& schema() const noexcept { return schema_; }
  const std::string& table() const noexcept { return table_; }

  // All throw SqlError.
  void create_tables();
  void drop_tables();
  void rename_tables(const std::string& name);
  // The value is an int64_t, a double or a std::string. The row may exist.
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
  // Without the rows that are no options (TopKeys). Throws SQLITE_CORRUPT_VTAB if a key is no text.
  std::map<std::string, OptionValue> read_options();
  // Returns the error text for a row with a key that no option has.
  std::string no_option(const std::string& key) const;

  // Holds the record's row. As long as it lives, a read transaction is open, and all reads come
  // from one commit. Only one may live at a time.
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

  ShadowRows& pages() noexcept { return pages_; }
  Status write_record(std::span<const std::byte> record);

  // Counts bytes that were read and that SQLite's cache need not keep: they will be in our memory,
  // or are not needed again.
  void note_cached(uint64_t bytes) noexcept { cached_bytes_ += bytes; }
  // Empties SQLite's page cache, except pages in use, once the counted bytes fill an eighth of what
  // it may hold. Otherwise every connection would keep in its cache what the process has once. A
  // larger cache keeps everything.
  void give_back_cache() noexcept;

  Status poll() { return poller_(); }  // for long work: fails if the application wants it to stop

 protected:
  // Prepares a statement at its first use. Its two %w are schema and table.
  Statement& ready(Statement& statement, const char* sql);
  // Finalizes all statements, before the connection closes or names change.
  virtual void finalize() noexcept;

  Statement upsert_option() const;

 private:
  sqlite3* db_;
  std::span<const ShadowTable> tables_;
  std::string schema_;
  std::string table_;
  Statement select_record_, update_record_;
  ShadowRows pages_{*this, "pages", "page", "page"};
  Poller poller_;
  uint64_t cached_bytes_ = 0;  // counted by note_cached() since the cache was emptied
  uint64_t asked_bytes_ = 0;   // the same when give_back_cache() last asked for the cache's size
};

}  // namespace cuckoo
