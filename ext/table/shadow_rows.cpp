#include "ext/table/shadow_rows.hpp"

#include "ext/table/shadow_store.hpp"

namespace cuckoo {

Statement& ShadowRows::prepare(Action action) {
  const std::string rows =
      sql_text(R"("%w"."%w_%w")", store_.schema().c_str(), store_.table().c_str(), suffix_);
  const std::string column = column_;
  const std::string sql[kActions] = {
      "SELECT id, " + column + " FROM " + rows + " WHERE id = ?1 AND id <= ?2",
      "SELECT id, " + column + " FROM " + rows + " WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
      "INSERT INTO " + rows + " VALUES (?1, ?2)",
      "UPDATE " + rows + " SET " + column + " = ?2 WHERE id = ?1",
      "DELETE FROM " + rows + " WHERE id BETWEEN ?1 AND ?2",
  };
  return statements_[action] = Statement(store_.db(), sql[action]);
}

Status ShadowRows::read(int64_t first, int64_t last, const Visitor& visitor) {
  return storage_status([&]() -> Status {
    Statement& select = ready(first == last ? kSelectOne : kSelect);
    Statement::Reset resetting{select};
    select.bind(1, first).bind(2, last);
    while (select.step()) {
      const int64_t id = select.integer(0);
      const std::span<const std::byte> bytes =
          select.type(1) == SQLITE_BLOB ? select.bytes(1) : std::span<const std::byte>();
      store_.note_cached(bytes.size());
      CUCKOO_TRY(visitor(id, bytes));
    }
    return {};
  });
}

Status ShadowRows::write(int64_t id, std::span<const std::byte> row, bool stored) {
  return storage_status([&]() -> Status {
    Statement& write = ready(stored ? kUpdate : kInsert);
    try {
      write.bind(1, id).bind(2, row).run();
    } catch (const SqlError& error) {
      if (stored || (error.code() & 0xFF) != SQLITE_CONSTRAINT) {
        throw;
      }
      return corrupt(name_of(id) + " is there, where none is expected");
    }
    if (stored && sqlite3_changes(store_.db()) != 1) {
      return corrupt(name_of(id) + " is gone");
    }
    return {};
  });
}

Status ShadowRows::erase(int64_t first, int64_t last) {
  return storage_status([&]() -> Status {
    ready(kDelete).bind(1, first).bind(2, last).run();
    return {};
  });
}

}  // namespace cuckoo
