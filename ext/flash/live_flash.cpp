#include "ext/flash/live_flash.hpp"

#include <algorithm>
#include <utility>

#include "ext/table/connection.hpp"

namespace cuckoo {
namespace {

// If more bytes are dirty, their pages are written in the middle of a statement.
constexpr uint64_t kMaxDirtyBytes = uint64_t{64} << 20;

}  // namespace

FlashStoreOptions LiveFlash::store_options() const {
  FlashStoreOptions chosen;
  chosen.hashes = options_.hashes;
  chosen.ways = options_.ways;
  chosen.seed = options_.seed;
  chosen.atomic_device = true;
  chosen.automatic_checkpoints = false;
  chosen.wears_out = true;
  return chosen;
}

LiveFlash::LiveFlash(Connection& connection, const std::string& schema, const std::string& table)
    : LiveTable(connection, store_), store_(connection.db(), kFlashTables, schema, table) {}

void LiveFlash::close() noexcept {
  mounted_ = broken_ = false;
  flash_.reset();
  pages_.reset();
}

void LiveFlash::open(const FlashOptions& options) {
  close();
  options_ = options;
  pages_ = std::make_unique<FlashPages>(store_, options.geometry, options.page_bytes, options.seed);
  pages_->set_clean_bytes(cache_bytes_for(store_.db(), schema()));
  flash_ = std::make_unique<FlashStore>(*pages_, store_options());
  pages_->count_in(flash_->rows());
}

void LiveFlash::create(const FlashOptions& options) {
  expect_room_for(options.page_bytes);
  open(options);
  KeepLastRowid keep(store_.db());
  store_.create_tables();
  store_flash_options(store_, options, key_affinity_);
  expect(flash_->format());
  mounted_ = true;  // with flushed_blocks_ 0, because nothing was flushed yet
  flush();
  note_created();
  flash_->mark(-1);
}

void LiveFlash::declare_key(Affinity affinity) {
  if (affinity != key_affinity_ && !(mounted_ && pending())) {
    close();  // the stored options are compared again
  }
  key_affinity_ = affinity;
}

// --- errors --------------------------------------------------------------------------------------

void LiveFlash::expect(const Status& status) const {
  if (status.ok()) {
    return;
  }
  if (status.error().code == ErrorCode::kFull) {
    throw SqlError(SQLITE_ERROR, "full: " + table() + ": " + status.error().message);
  }
  raise(status, false);
}

void LiveFlash::expect_whole() const {
  if (broken_) {
    throw SqlError(SQLITE_IOERR, table() + ": a change failed half-way; roll back");
  }
}

void LiveFlash::fail(const Status& status) {
  broken_ = true;
  raise(status, true);
  throw SqlError(SQLITE_INTERNAL, table() + ": a failure without a reason");
}

// --- freshness -----------------------------------------------------------------------------------

void LiveFlash::follow() {
  expect_own_name();
  carry_out_rollback();
  expect_whole();
  if (mounted_ && !recheck_ && has_own_name() && (is_changed() || pending())) {
    return;
  }
  const DataVersion version = data_version();
  if (!mounted_ || recheck_ || !has_own_name() || !version.is_same(seen_version_) ||
      written_amid()) {
    reload();
    seen_version_ = reads_provisionally() ? DataVersion() : version;
    recheck_ = false;
  }
  if (phase_ == Phase::kBegun) {
    if (marks() == 0 && !marks_lost_) {
      flash_->mark(-1);
      if (last_savepoint_ >= 0) {
        flash_->mark(last_savepoint_);
      }
    }
    note_current();
  }
}

FlashStateRecord LiveFlash::stored_record(const ShadowStore::HeldRecord& held) const {
  return value_or_throw(table(), decode_flash_state(held.bytes()));
}

void LiveFlash::reload() {
  read_config([this] {
    const ShadowStore::HeldRecord held(store_);
    const FlashStateRecord record = stored_record(held);
    // Other options mean that another connection dropped the table and made a new one of that name.
    if (flash_ == nullptr || record.options_digest != digest_of(options_)) {
      FlashOptions stored = stored_flash_options(store_, key_affinity_);
      if (record.options_digest != digest_of(stored)) {
        throw SqlError(SQLITE_CORRUPT_VTAB,
                       table() + ": corrupt: options that do not belong to the record");
      }
      stored.geometry.blocks = static_cast<uint32_t>(record.blocks);
      throw_if(table(), check_geometry(stored.geometry));
      open(stored);
      mount(record);
    } else if (!mounted_ || record.state != flash_->state() ||
               record.page_history != pages_->rows().history ||
               record.blocks != pages_->geometry().blocks) {
      mount(record);
    }
  });
}

// Mounts the state that the record names, because memory has another state, or none. If the states
// are equal but the pages' histories differ, the keys may differ, too, because a state has only
// checksums of keys. So the store follows only if the states differ, and otherwise mounts anew.
void LiveFlash::mount(const FlashStateRecord& record) {
  const bool resized = record.blocks != pages_->geometry().blocks;
  marks_lost_ = marks_lost_ || marks() != 0;
  pages_->forget();
  flash_->release(0);
  bool followed = false;
  if (mounted_ && !resized && record.state != flash_->state()) {
    mounted_ = false;
    Result<bool> result = flash_->follow(record.state);
    expect(result.take_status());  // throws, because a failed read may have undone the transaction
    followed = result.value();
  }
  mounted_ = false;
  if (!followed) {
    if (resized) {
      FlashGeometry geometry = pages_->geometry();
      geometry.blocks = static_cast<uint32_t>(record.blocks);
      throw_if(table(), check_geometry(geometry));
      pages_->set_blocks(geometry.blocks);
    }
    expect(flash_->mount());
    pages_->forget();  // pages of the checkpoint are read only once
    store_.give_back_cache();
  }
  expect_state(record);
  flash_->set_stats(record.stats);
  flash_->rows() = {{record.page_rows, record.page_id_sum}, record.page_history};
  set_flushed();
  mounted_ = true;
}

// Throws if the pages are in another state than the record's. A missing page row reads as erased,
// so without this the log would only seem to end earlier.
void LiveFlash::expect_state(const FlashStateRecord& record) const {
  if (flash_->state() != record.state || flash_->size() != record.entries) {
    throw SqlError(SQLITE_CORRUPT_VTAB, table() + ": corrupt: the pages hold " +
                                            std::to_string(flash_->size()) +
                                            " entries in another state than the record's " +
                                            std::to_string(record.entries));
  }
}

// --- changing ------------------------------------------------------------------------------------

template <class Body>
void LiveFlash::change(Body&& body) {
  follow();
  const Changing changing(*this);
  expect_changeable(options_.page_bytes);
  Status status;
  try {
    status = body();
    if (status.ok() && pages_->dirty_bytes() > kMaxDirtyBytes) {
      status = pages_->write_dirty();
      if (!status.ok()) {
        fail(status);
      }
    }
  } catch (const std::bad_alloc&) {
    broken_ = true;
    throw;
  }
  if (!status.ok() && flash_->poisoned()) {
    fail(status);
  }
  expect(status);
}

void LiveFlash::write(std::span<const FlashStore::Change> batch) {
  change([&] { return flash_->write(batch); });
}

bool LiveFlash::insert(const HashedKey& key, std::span<const std::byte> value) {
  bool inserted = false;
  change([&]() -> Status {
    CUCKOO_ASSIGN_OR_RETURN(inserted, flash_->insert(key, value));
    return {};
  });
  return inserted;
}

// Reads all page rows first: one may be gone, or too many, though nothing else needs it.
void LiveFlash::clear() {
  try {
    follow();
    const Status rows = pages_->check_rows();
    throw_if(table(), rows);
    change([&] { return flash_->clear(); });
  } catch (const SqlError& error) {
    if ((error.code() & 0xFF) != SQLITE_CORRUPT) {
      throw;
    }
    format_anew();
  }
}

FlashPages& LiveFlash::raw_device() {
  if (pages_ == nullptr) {
    FlashOptions options;
    read_config([&] { options = stored_flash_options(store_, key_affinity_); });
    uint64_t bytes = options.geometry.size_bytes();
    throw_if(table(),
             store_.pages().read(0, INT64_MAX, [&](int64_t id, std::span<const std::byte>) {
               constexpr int64_t kMost = int64_t{1} << 38;  // pages of the largest device
               bytes = std::max(
                   bytes, (static_cast<uint64_t>(std::min(id, kMost)) + 1) * options.page_bytes);
               return Status();
             }));
    options.geometry.blocks = flash_blocks_for(table(), options.geometry,
                                               static_cast<double>(bytes), "the size of its pages");
    open(options);
  }
  return *pages_;
}

// Makes an empty store in the place of one that can't be read. How worn its blocks were is lost.
// There is nothing in memory to go back to, so a roll-back reads storage again.
void LiveFlash::format_anew() {
  FlashOptions options;
  read_config([&] { options = stored_flash_options(store_, key_affinity_); });
  options.geometry.blocks = raw_device().geometry().blocks;
  const Changing changing(*this);
  expect_changeable(options.page_bytes);
  raise(store_.pages().erase(INT64_MIN, INT64_MAX), true);
  open(options);
  broken_ = true;
  raise(flash_->format(), true);
  broken_ = false;
  mounted_ = marks_lost_ = true;
  flushed_state_ = flushed_blocks_ = 0;
  recheck_ = false;
  note_current();
}

void LiveFlash::collect() {
  change([&]() -> Status {
    CUCKOO_TRY(pages_->mend());
    return flash_->collect();
  });
}

void LiveFlash::resize(const std::string& argument) {
  follow();
  const std::optional<double> bytes = parse_size(argument);
  if (!bytes) {
    throw SqlError(SQLITE_ERROR, table() + ": resize takes a size, like '64MB', not \"" +
                                     printable(argument) + "\"");
  }
  const FlashGeometry& geometry = pages_->geometry();
  const uint32_t blocks = flash_blocks_for(table(), geometry, *bytes, "the new size");
  if (blocks <= geometry.blocks) {
    throw SqlError(SQLITE_ERROR, table() + ": resize only adds sectors: the size is " +
                                     std::to_string(geometry.size_bytes()) + " bytes already");
  }
  change([&]() -> Status {
    pages_->set_blocks(blocks);
    flash_->grow();
    return {};
  });
}

// Checks pending pages, too, because pages_ reads them as if they were stored.
void LiveFlash::check_stored() {
  follow();
  const ShadowStore::HeldRecord held(store_);
  if (!pending()) {
    const FlashStateRecord record = stored_record(held);
    expect_state(record);
    if (record.page_history != pages_->rows().history) {
      throw_if(table(), corrupt("pages of another history than the record's"));
    }
  }
  if (digest_of(stored_flash_options(store_, key_affinity_)) != digest_of(options_)) {
    throw_if(table(), corrupt("options that do not belong to the record"));
  }
  throw_if(table(), pages_->check_rows());
  throw_if(table(), flash_->check([this] { return store_.poll(); }));
}

// --- shadow tables -------------------------------------------------------------------------------

void LiveFlash::set_flushed() noexcept {
  flushed_state_ = flash_->state();
  flushed_blocks_ = pages_->geometry().blocks;
}

FlashStateRecord LiveFlash::record() const {
  FlashStateRecord record;
  record.options_digest = digest_of(options_);
  record.state = flash_->state();
  record.blocks = pages_->geometry().blocks;
  record.entries = flash_->size();
  record.page_rows = pages_->rows().count.pages;
  record.page_id_sum = pages_->rows().count.index_sum;
  record.page_history = pages_->rows().history;
  record.stats = flash_->stats();
  return record;
}

void LiveFlash::write_pending() {
  expect_whole();
  if (!pending()) {
    return;
  }
  broken_ = true;
  raise(pages_->write_dirty(), true);
  raise(store_.write_record(encode_flash_state(record())), true);
  broken_ = false;
  set_flushed();
}

// --- transactions --------------------------------------------------------------------------------

void LiveFlash::finish_changes() {
  expect_whole();
  if (mounted_ && marks() != 0 && flash_->state() != flash_->undo_log().at(0).registers.digest &&
      flash_->checkpoint_due()) {
    change([&] { return flash_->checkpoint(); });
  }
}

void LiveFlash::commit() noexcept {
  if (phase_ >= Phase::kCurrent && mounted_) {
    see_own_version();
  }
  end_marks();
  end_transaction();
}

void LiveFlash::undo_transaction() noexcept {
  if (flash_ != nullptr && (broken_ || marks_lost_)) {
    forget_memory();
  } else if (marks() != 0) {
    undo(0);
  }
  broken_ = false;
  recheck_ = true;
  end_marks();
}

void LiveFlash::undo_to(int savepoint) noexcept {
  if (flash_ != nullptr && (broken_ || marks_lost_)) {
    forget_memory();
    broken_ = false;
  }
  size_t mark = 0;
  while (mark < marks() && savepoint_of(mark) < savepoint) {
    ++mark;
  }
  if (mark < marks()) {
    undo(mark);
  } else if (birth_ != Birth::kEarlier) {
    close();  // the savepoint is older than the CREATE
  } else if (marks() != 0) {
    undo(0);
  }
  recheck_ = true;
}

// Makes a mark for the savepoint, if there is a mark 0. Without mark 0, there is nothing to go back
// to.
void LiveFlash::savepoint_begun(int number) {
  if (marks() != 0) {
    savepoint_released(number);  // ends marks of savepoints whose end SQLite did not announce
    flash_->mark(number);
  }
}

// Ends the marks of these savepoints. By I2, the oldest of them may still serve earlier savepoints.
void LiveFlash::savepoint_released(int number) noexcept {
  size_t first = marks();
  while (first > 1 && savepoint_of(first - 1) >= number) {
    --first;
  }
  if (first == marks() || first == 0) {
    return;
  }
  const bool serves = savepoint_of(first - 1) < number - 1;
  if (serves) {
    flash_->undo_log().set_savepoint(first, number - 1);
    ++first;
  }
  flash_->release(first);
}

void LiveFlash::undo(size_t mark) noexcept {
  const bool resized = flash_->undo_log().at(mark).block_count != pages_->geometry().blocks;
  pages_->undo();
  flash_->undo_to(mark);
  if (resized || flash_->poisoned()) {
    forget_memory();
    return;
  }
  set_flushed();
}

void LiveFlash::end_marks() noexcept {
  if (flash_ != nullptr) {
    flash_->release(0);
    pages_->end_changes();
  }
  marks_lost_ = false;
}

// Drops all memory. The next use mounts the store.
void LiveFlash::forget_memory() noexcept {
  marks_lost_ = marks_lost_ || marks() != 0;
  flash_->release(0);
  pages_->forget();
  mounted_ = false;
}

}  // namespace cuckoo
