// flash_kv_salvage(name): a table-valued function with a row for each row of a flash_kv that is
// sound, whatever is damaged. If the store can be read, these are its rows without the damaged
// ones. If not, they are what its blocks tell (core/flash/salvage.hpp).
#include "core/flash/salvage.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ext/flash/functions.hpp"
#include "ext/flash/live_flash.hpp"
#include "ext/flash/value.hpp"
#include "ext/table/connection.hpp"
#include "ext/table/registration.hpp"
#include "ext/table/table_function.hpp"

namespace cuckoo {
namespace {

constexpr const char* kSalvageName = "flash_kv_salvage";

class FlashSalvageRow {
 public:
  static void plan(sqlite3_index_info& info) noexcept { estimate(info, 1e6, 100000); }
  bool start(Connection& connection, const Arguments& arguments);
  bool find(uint64_t) { return scan_ ? next_of_store() : next_of_device(); }

  void show_key(sqlite3_context* context) const;
  void show_value(sqlite3_context* context) const {
    live_->expect(result_flash_value(context, value_));
  }
  int64_t sector() const noexcept { return live_->sector_of({.position = position_}); }

 private:
  bool next_of_store();
  bool next_of_device();

  Connection::Tables<LiveFlash> tables_;  // of one
  LiveFlash* live_ = nullptr;
  // One of the two.
  std::optional<FlashScan> scan_;
  std::unique_ptr<FlashSalvage> salvage_;
  uint64_t state_ = 0;  // of the store, while it is scanned

  std::vector<std::byte> key_, value_;
  uint32_t position_ = 0;
};

constexpr Column<FlashSalvageRow> kSalvageColumns[] = {
    {"key", [](sqlite3_context* context, FlashSalvageRow& row) { row.show_key(context); }},
    {"value", [](sqlite3_context* context, FlashSalvageRow& row) { row.show_value(context); }},
    {"sector INTEGER", [](FlashSalvageRow& row) { return row.sector(); }},
    {"\"table\" HIDDEN"},
};

bool FlashSalvageRow::start(Connection& connection, const Arguments& arguments) {
  scan_.reset();
  salvage_.reset();
  tables_ = {};
  const std::optional<std::string> name =
      name_argument(arguments[0], kSalvageName, LiveFlash::kKinds);
  if (!name) {
    return false;
  }
  tables_ = connection.find_or_error<LiveFlash>(*name);
  const Connection::Found<LiveFlash>& found = tables_.found[0];
  if (found.live == nullptr) {
    throw SqlError(found.code, found.error);
  }
  live_ = found.live.get();
  try {
    live_->follow();
    live_->expect(live_->flash().load_index());
    scan_.emplace(FlashScan::Of::kSound);
    state_ = live_->flash().state();
  } catch (const SqlError& error) {
    if ((error.code() & 0xFF) != SQLITE_CORRUPT) {
      throw;
    }
    salvage_ = std::make_unique<FlashSalvage>(live_->raw_device(), live_->store_options());
    live_->expect(salvage_->begin());
  }
  return true;
}

bool FlashSalvageRow::next_of_store() {
  FlashStore& flash = live_->flash();
  if (!live_->ready() || flash.state() != state_) {
    throw SqlError(SQLITE_ERROR, std::string(kSalvageName) + ": " + live_->table() +
                                     " changed while it was read");
  }
  while (true) {
    Result<bool> more = flash.next(*scan_);
    live_->expect(more.take_status());
    if (!more.value()) {
      return false;
    }
    key_.assign(scan_->record().key.begin(), scan_->record().key.end());
    position_ = scan_->position();
    const Status read = flash.value_at(*scan_, value_);
    if (read.ok()) {
      return true;
    }
    if (read.error().code != ErrorCode::kCorrupt) {
      live_->expect(read);
    }
  }
}

bool FlashSalvageRow::next_of_device() {
  Result<bool> more = salvage_->next();
  live_->expect(more.take_status());
  if (more.value()) {
    key_.assign(salvage_->key().begin(), salvage_->key().end());
    value_ = salvage_->value();
    position_ = salvage_->position();
  }
  return more.value();
}

void FlashSalvageRow::show_key(sqlite3_context* context) const {
  const bool real =
      live_->key_affinity() == Affinity::kReal || (may_be_whole_real(key_) && key_was_real(value_));
  live_->expect(result_flash_key(context, key_, real, live_->options().digest));
}

}  // namespace

void register_flash_salvage(Registration& registration) {
  registration.module<TableFunction<FlashSalvageRow, kSalvageColumns>>(kSalvageName);
}

}  // namespace cuckoo
