#include "ext/filter/store.hpp"

namespace cuckoo {
namespace {

constexpr char kSelectLog[] =
    R"(SELECT id, entries FROM "%w"."%w_log" WHERE id BETWEEN ?1 AND ?2 ORDER BY id)";
constexpr char kInsertLog[] = R"(INSERT INTO "%w"."%w_log" VALUES (?1, ?2))";
constexpr char kUpdateLog[] = R"(UPDATE "%w"."%w_log" SET entries = ?2 WHERE id = ?1)";
constexpr char kDeleteLog[] = R"(DELETE FROM "%w"."%w_log" WHERE id BETWEEN ?1 AND ?2)";
constexpr char kSelectItems[] =
    R"(SELECT key, value FROM "%w"."%w_items" WHERE key BETWEEN ?1 AND ?2 ORDER BY key)";
constexpr char kReplaceItem[] = R"(REPLACE INTO "%w"."%w_items" VALUES (?1, ?2))";
constexpr char kDeleteItem[] = R"(DELETE FROM "%w"."%w_items" WHERE key = ?1)";
constexpr char kDeleteItems[] = R"(DELETE FROM "%w"."%w_items" WHERE key BETWEEN ?1 AND ?2)";

}  // namespace

void FilterStore::finalize() noexcept {
  for (Statement* statement : {&select_log_, &insert_log_, &update_log_, &delete_log_,
                               &select_items_, &replace_item_, &delete_item_, &delete_items_}) {
    *statement = Statement();
  }
  ShadowStore::finalize();
}

Status FilterStore::read_log(int64_t first, int64_t last, const RowVisitor& visitor) {
  return read_rows(select_log_, kSelectLog, "log", first, last, visitor);
}

Status FilterStore::write_log(int64_t id, std::span<const std::byte> row, bool stored) {
  return write_row(update_log_, kUpdateLog, insert_log_, kInsertLog, "log", id, row, stored);
}

Status FilterStore::erase_log(int64_t first, int64_t last) {
  return erase_rows(delete_log_, kDeleteLog, first, last);
}

// The cell, or, where there are several epochs, 16 bytes: epoch and cell, the
// highest byte first, so that an epoch's entries stand together.
Statement& FilterStore::bind_item(Statement& statement, int index, uint64_t epoch,
                                  uint64_t key) const {
  if (!several_generations_) {
    return statement.bind(index, static_cast<int64_t>(key));
  }
  std::byte bytes[16];
  for (size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<std::byte>(epoch >> (56 - 8 * i));
    bytes[8 + i] = static_cast<std::byte>(key >> (56 - 8 * i));
  }
  return statement.bind_copy(index, bytes);
}

Status FilterStore::read_items(uint64_t epoch, const ItemVisitor& visitor) {
  return attempt([&]() -> Status {
    Statement& select = ready(select_items_, kSelectItems);
    Statement::Reset resetting{select};
    bind_item(select, 1, epoch, 0);
    bind_item(select, 2, epoch, INT64_MAX);
    while (select.step()) {
      uint64_t key = static_cast<uint64_t>(select.integer(0));
      bool valid = select.type(0) == SQLITE_INTEGER;
      if (several_generations_ && select.type(0) == SQLITE_BLOB && select.bytes(0).size() == 16) {
        valid = true;
        key = 0;
        for (const std::byte byte : select.bytes(0).subspan(8)) {
          key = key << 8 | static_cast<uint64_t>(byte);
        }
      }
      if (!valid || select.type(1) != SQLITE_INTEGER || key > INT64_MAX || select.integer(1) < 0) {
        return corrupt("overflow entry that is not a cell and a whole number");
      }
      CUCKOO_TRY(visitor(key, static_cast<uint64_t>(select.integer(1))));
    }
    return {};
  });
}

Status FilterStore::write_item(uint64_t epoch, uint64_t key, uint64_t value) {
  return attempt([&]() -> Status {
    bind_item(ready(replace_item_, kReplaceItem), 1, epoch, key)
        .bind(2, static_cast<int64_t>(value))
        .run();
    return {};
  });
}

Status FilterStore::erase_item(uint64_t epoch, uint64_t key) {
  return attempt([&]() -> Status {
    bind_item(ready(delete_item_, kDeleteItem), 1, epoch, key).run();
    return {};
  });
}

Status FilterStore::erase_items(uint64_t epoch) {
  return attempt([&]() -> Status {
    Statement& erase = ready(delete_items_, kDeleteItems);
    bind_item(erase, 1, epoch, 0);
    bind_item(erase, 2, epoch, INT64_MAX).run();
    return {};
  });
}

Result<uint64_t> FilterStore::count_items() {
  uint64_t count = 0;
  CUCKOO_TRY(attempt([&]() -> Status {
    Statement select(
        db(), sql_text(R"(SELECT 1 FROM "%w"."%w_items")", schema().c_str(), table().c_str()));
    while (select.step()) {
      ++count;
    }
    return {};
  }));
  return count;
}

// A row of the config that holds state. Empty where there is none.
Status FilterStore::read_state(const std::string& key, std::vector<std::byte>& state) {
  return attempt([&]() -> Status {
    Statement select(db(), sql_text(R"(SELECT value FROM "%w"."%w_config" WHERE key = ?1)",
                                    schema().c_str(), table().c_str()));
    select.bind(1, key);
    state.clear();
    if (!select.step()) {
      return {};
    }
    if (select.type(0) != SQLITE_BLOB || select.bytes(0).empty()) {
      return corrupt("row \"" + key + "\" of the config, which is no BLOB");
    }
    state.assign(select.bytes(0).begin(), select.bytes(0).end());
    return {};
  });
}

Status FilterStore::write_state(const std::string& key, std::span<const std::byte> state) {
  return attempt([&]() -> Status {
    upsert_option().bind(1, key).bind(2, state).run();
    return {};
  });
}

Status FilterStore::read_older(uint64_t slot, std::vector<std::byte>& record) {
  return read_state("record " + std::to_string(slot), record);
}

Status FilterStore::write_older(uint64_t slot, std::span<const std::byte> record) {
  return write_state("record " + std::to_string(slot), record);
}

Status FilterStore::read_places(std::vector<std::byte>& places) {
  return read_state("places", places);
}

Status FilterStore::write_places(std::span<const std::byte> places) {
  return write_state("places", places);
}

Status FilterStore::read_progress(std::vector<std::byte>& progress) {
  return read_state("next_epoch", progress);
}

Status FilterStore::write_progress(std::span<const std::byte> progress) {
  if (!progress.empty()) {
    return write_state("next_epoch", progress);
  }
  return attempt([&]() -> Status {
    erase_option("next_epoch");
    return {};
  });
}

}  // namespace cuckoo
