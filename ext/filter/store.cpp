#include "ext/filter/store.hpp"

namespace cuckoo {

constinit const std::array<ShadowTable, 2> kFilterTables = {kConfigTable, kDataTable};
namespace {

constexpr char kSelectHeld[] = R"(SELECT 1 FROM "%w"."%w_config" WHERE key = 'format')";
constexpr char kSelectBlock[] =
    R"(SELECT id, block FROM "%w"."%w_data" WHERE id = ?1 AND id <= ?2)";
constexpr char kSelectBlocks[] =
    R"(SELECT id, block FROM "%w"."%w_data" WHERE id BETWEEN ?1 AND ?2 ORDER BY id)";
constexpr char kInsertBlock[] = R"(INSERT INTO "%w"."%w_data" VALUES (?1, ?2))";
constexpr char kUpdateBlock[] = R"(UPDATE "%w"."%w_data" SET block = ?2 WHERE id = ?1)";
constexpr char kDeleteBlocks[] = R"(DELETE FROM "%w"."%w_data" WHERE id BETWEEN ?1 AND ?2)";

}  // namespace

FilterStore::Held::Held(FilterStore& store) : store_(store) {
  Statement& select = store.ready(store.select_held_, kSelectHeld);
  try {
    if (!select.step()) {
      throw SqlError(SQLITE_CORRUPT_VTAB, store.table() + ": corrupt: \"" + store.table() +
                                              "_config\" has no valid option format");
    }
  } catch (...) {
    select.reset();
    throw;
  }
}

void FilterStore::finalize() noexcept {
  for (Statement* statement : {&select_held_, &select_block_, &select_blocks_, &insert_block_,
                               &update_block_, &delete_blocks_}) {
    *statement = Statement();
  }
  ShadowStore::finalize();
}

Status FilterStore::read(int64_t first, int64_t last, const Visitor& visitor) {
  Statement& select = first == last ? select_block_ : select_blocks_;
  const char* const sql = first == last ? kSelectBlock : kSelectBlocks;
  Status status = read_rows(select, sql, "data", first, last,
                            [&](int64_t id, std::span<const std::byte> block) {
                              note_cached(block.size());
                              return visitor(id, block);
                            });
  give_back_cache();
  return status;
}

Status FilterStore::write(int64_t id, std::span<const std::byte> block, bool stored) {
  return write_row(update_block_, kUpdateBlock, insert_block_, kInsertBlock, "data", id, block,
                   stored);
}

Status FilterStore::erase(int64_t first, int64_t last) {
  return erase_rows(delete_blocks_, kDeleteBlocks, first, last);
}

}  // namespace cuckoo
