#include "ext/flash/salvage.hpp"

#include "ext/flash/info.hpp"
#include "ext/flash/value.hpp"
#include "ext/sqlite/function.hpp"

namespace cuckoo {
namespace {

constexpr const char* kSalvageName = "flash_kv_salvage";

// The columns in the order of the declaration.
struct SalvageColumn {
  enum : int { kKey, kValue, kSector, kTable };
};

}  // namespace

std::string FlashSalvageTable::declaration() const {
  return "CREATE TABLE x(key, value, sector INTEGER, \"table\" HIDDEN)";
}

bool FlashSalvageTable::best_index(sqlite3_index_info* info) {
  if (!take_arguments(info, SalvageColumn::kTable)) {
    return false;
  }
  info->estimatedCost = 1e6;
  info->estimatedRows = 100000;
  return true;
}

void FlashSalvageTable::Cursor::filter(int plan, const char*, int, sqlite3_value** values) {
  scan_.reset();
  salvage_.reset();
  live_ = nullptr;
  tables_ = {};
  row_ = 0;
  done_ = true;
  if (plan == 0) {
    throw SqlError(SQLITE_ERROR, std::string(kSalvageName) + " takes a flash_kv's name");
  }
  const std::optional<std::string> name = flash_name_argument(values[0], kSalvageName);
  if (!name) {
    return;
  }
  argument_.assign(values[0], Affinity::kNone);
  tables_ = table_.connection().find_or_error<LiveFlash>(*name);
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
  done_ = false;
  next();
}

void FlashSalvageTable::Cursor::next() {
  ++row_;
  done_ = !(scan_ ? next_of_store() : next_of_device());
}

bool FlashSalvageTable::Cursor::next_of_store() {
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

bool FlashSalvageTable::Cursor::next_of_device() {
  Result<bool> more = salvage_->next();
  live_->expect(more.take_status());
  if (more.value()) {
    key_.assign(salvage_->key().begin(), salvage_->key().end());
    value_ = salvage_->value();
    position_ = salvage_->position();
  }
  return more.value();
}

void FlashSalvageTable::Cursor::column(sqlite3_context* context, int column) {
  switch (column) {
    case SalvageColumn::kKey: {
      const bool real = live_->key_affinity() == Affinity::kReal ||
                        (may_be_whole_real(key_) && key_was_real(value_));
      return live_->expect(result_flash_key(context, key_, real, live_->options().digest));
    }
    case SalvageColumn::kValue:
      return live_->expect(result_flash_value(context, value_));
    case SalvageColumn::kSector:
      return sqlite3_result_int64(context, live_->sector_of({.position = position_}));
    default:
      return argument_.result(context);
  }
}

}  // namespace cuckoo
