#include "ext/table/shadow_store.hpp"

#include "core/base/page_size.hpp"
#include "ext/sqlite/options.hpp"

namespace cuckoo {
namespace {

constexpr char kSelectRecord[] = R"(SELECT value FROM "%w"."%w_config" WHERE key = 'record')";
constexpr char kUpdateRecord[] =
    "INSERT INTO \"%w\".\"%w_config\" VALUES ('record', ?1)"
    " ON CONFLICT (key) DO UPDATE SET value = excluded.value";

}  // namespace

uint32_t database_page_bytes_for(sqlite3* db, const std::string& schema) {
  Statement select(db, sql_text(R"(PRAGMA "%w".page_size)", schema.c_str()));
  return select.step() ? static_cast<uint32_t>(select.integer(0)) : kDatabasePageBytes;
}

uint32_t page_bytes_for(sqlite3* db, const std::string& schema) {
  int64_t usable = database_page_bytes_for(db, schema);
  int reserved = -1;
  if (sqlite3_file_control(db, schema.c_str(), SQLITE_FCNTL_RESERVE_BYTES, &reserved) ==
          SQLITE_OK &&
      reserved > 0) {
    usable -= reserved;
  }
  return page_bytes_in(usable);
}

uint64_t cache_bytes_for(sqlite3* db, const std::string& schema) {
  Statement size(db, sql_text(R"(PRAGMA "%w".cache_size)", schema.c_str()));
  const int64_t pages = size.step() ? size.integer(0) : 0;
  if (pages < 0) {
    return static_cast<uint64_t>(-pages) << 10;  // KB
  }
  return static_cast<uint64_t>(pages) * database_page_bytes_for(db, schema);
}

ShadowStore::ShadowStore(sqlite3* db, std::span<const ShadowTable> tables, std::string schema,
                         std::string table)
    : db_(db), tables_(tables), schema_(std::move(schema)), table_(std::move(table)), poller_(db) {}

Statement& ShadowStore::ready(Statement& statement, const char* sql) {
  if (!statement) {
    statement = Statement(db_, sql_text(sql, schema_.c_str(), table_.c_str()));
  }
  return statement;
}

void ShadowStore::finalize() noexcept {
  select_record_ = {};
  update_record_ = {};
  pages_.finalize();
  poller_.finalize();
}

// --- tables --------------------------------------------------------------------------------------

void ShadowStore::create_tables() { create_shadow_tables(db_, schema_, table_, tables_); }

void ShadowStore::drop_tables() {
  finalize();
  drop_shadow_tables(db_, schema_, table_, tables_);
}

void ShadowStore::rename_tables(const std::string& name) {
  finalize();
  rename_shadow_tables(db_, schema_, table_, name, tables_);
  table_ = name;
}

// --- config --------------------------------------------------------------------------------------

Statement ShadowStore::upsert_option() const {
  return Statement(db_, sql_text("INSERT INTO \"%w\".\"%w_config\" VALUES (?1, ?2)"
                                 " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                                 schema_.c_str(), table_.c_str()));
}

void ShadowStore::erase_option(const std::string& key) {
  Statement(db_, sql_text(R"(DELETE FROM "%w"."%w_config" WHERE key = ?1)", schema_.c_str(),
                          table_.c_str()))
      .bind(1, key)
      .run();
}

std::string ShadowStore::no_option(const std::string& key) const {
  return table_ + ": corrupt: \"" + table_ + "_config\" has a row " + printable(key) +
         ", which is no option of it";
}

std::map<std::string, ShadowStore::OptionValue> ShadowStore::read_options() {
  Statement select(db_, sql_text("SELECT key, value FROM \"%w\".\"%w_config\""
                                 " WHERE key < 'record' OR (key >= 'recore' AND key < 'top:')"
                                 " OR key >= 'top;'",
                                 schema_.c_str(), table_.c_str()));
  std::map<std::string, OptionValue> options;
  while (select.step()) {
    if (select.type(0) != SQLITE_TEXT) {
      throw SqlError(SQLITE_CORRUPT_VTAB, no_option(select.text(0)));
    }
    OptionValue value;
    value.type = select.type(1);
    value.integer = select.integer(1);
    value.real = select.real(1);
    value.text = select.text(1);
    options.emplace(select.text(0), std::move(value));
  }
  return options;
}

ShadowStore::HeldRecord::HeldRecord(ShadowStore& store) : store_(store) {
  Statement& select = store.ready(store.select_record_, kSelectRecord);
  try {
    const bool found = select.step();
    if (!found || select.type(0) != SQLITE_BLOB) {
      throw SqlError(SQLITE_CORRUPT_VTAB, store.table_ + ": corrupt: \"" + store.table_ +
                                              "_config\" has no record" +
                                              (found ? " that is a BLOB" : ""));
    }
  } catch (...) {
    select.reset();
    throw;
  }
}

// --- rows ----------------------------------------------------------------------------------------

void ShadowStore::give_back_cache() noexcept {
  constexpr uint64_t kLeastBytes = uint64_t{128} << 10;  // bytes between two size checks
  if (cached_bytes_ - asked_bytes_ < kLeastBytes) {
    return;
  }
  asked_bytes_ = cached_bytes_;
  try {
    if (cached_bytes_ >= cache_bytes_for(db_, schema_) / 8) {
      sqlite3_db_release_memory(db_);
      cached_bytes_ = asked_bytes_ = 0;
    }
  } catch (...) {  // the cache stays as it is
  }
}

Status ShadowStore::write_record(std::span<const std::byte> record) {
  return storage_status([&]() -> Status {
    ready(update_record_, kUpdateRecord).bind(1, record).run();
    return {};
  });
}

}  // namespace cuckoo
