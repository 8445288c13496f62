#include "ext/filter/store.hpp"

#include <charconv>

#include "ext/sqlite/utf16_text.hpp"

namespace cuckoo {

constinit const std::array<ShadowTable, 2> kFilterTables = {kConfigTable, kDataTable};
namespace {

constexpr char kSelectHeld[] = R"(SELECT 1 FROM "%w"."%w_config" WHERE key = 'format')";

constexpr char kReadTop[] =
    R"(SELECT key, value FROM "%w"."%w_config" WHERE key >= 'top:' AND key < 'top;')";
constexpr char kWriteTop[] =
    "INSERT INTO \"%w\".\"%w_config\" VALUES ('top:' || ?1, ?2)"
    " ON CONFLICT (key) DO UPDATE SET value = excluded.value";
constexpr char kEraseTop[] = R"(DELETE FROM "%w"."%w_config" WHERE key = 'top:' || ?1)";
constexpr char kEraseAllTop[] =
    R"(DELETE FROM "%w"."%w_config" WHERE key >= 'top:' AND key < 'top;')";

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
  write_top_ = {};
  erase_top_ = {};
  blocks_.finalize();
  ShadowStore::finalize();
}

void FilterStore::read_top(const TopVisitor& visit) {
  Statement select(db(), sql_text(kReadTop, schema().c_str(), table().c_str()));
  std::string buffer;
  while (select.step()) {
    const std::string name = select.text(0);
    const char* const number = name.data() + sizeof "top:" - 1;
    const char* const end = name.data() + name.size();
    uint64_t place = UINT64_MAX;
    const auto parsed = std::from_chars(number, end, place);
    const bool valid =
        parsed.ec == std::errc() && parsed.ptr == end &&
        std::to_string(place) == std::string_view(number, static_cast<size_t>(end - number));
    visit(name, valid ? place : UINT64_MAX, key_of(select.value(1), Affinity::kNone, buffer));
  }
}

void FilterStore::write_top(uint64_t place, const KeyView& key) {
  Statement& write = ready(write_top_, kWriteTop);
  write.bind(1, static_cast<int64_t>(place));
  switch (key.type) {
    case SQLITE_INTEGER:
      write.bind(2, key.integer);
      break;
    case SQLITE_FLOAT:
      write.bind(2, key.real);
      break;
    case SQLITE_TEXT:
      write.bind_copy(2, std::string_view(key.bytes, static_cast<size_t>(key.size)));
      break;
    default:
      write.bind_copy(2, bytes_of(key));
      break;
  }
  write.run();
}

void FilterStore::erase_top(uint64_t place) {
  ready(erase_top_, kEraseTop).bind(1, static_cast<int64_t>(place)).run();
}

void FilterStore::erase_top() {
  Statement(db(), sql_text(kEraseAllTop, schema().c_str(), table().c_str())).run();
}

Status FilterStore::read(int64_t first, int64_t last, const Visitor& visitor) {
  Status status = blocks_.read(first, last, visitor);
  give_back_cache();
  return status;
}

}  // namespace cuckoo
