#include "ext/filter/store.hpp"

namespace cuckoo {

constinit const std::array<ShadowTable, 2> kFilterTables = {kConfigTable, kDataTable};
namespace {

constexpr char kSelectHeld[] = R"(SELECT 1 FROM "%w"."%w_config" WHERE key = 'format')";

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
  select_held_ = {};
  blocks_.finalize();
  ShadowStore::finalize();
}

Status FilterStore::read(int64_t first, int64_t last, const Visitor& visitor) {
  Status status = blocks_.read(first, last, visitor);
  give_back_cache();
  return status;
}

}  // namespace cuckoo
