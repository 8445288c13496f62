#include "ext/live_filter.hpp"

#include <cstring>
#include <string>

#include "ext/connection.hpp"

namespace cuckoo {
namespace {

constexpr int64_t kFormat = 1;  // of the shadow tables

// Codes for which SQLite undoes the whole transaction.
bool undoes_transaction(int code) noexcept {
  switch (code & 0xFF) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
    case SQLITE_INTERRUPT:
      return true;
    default:
      return false;
  }
}

// Ties the record to the options: a changed option is found out.
uint64_t digest_of(const FilterOptions& options) noexcept {
  std::byte bytes[8 * 6];
  uint64_t rate_bits = 0;
  std::memcpy(&rate_bits, &options.rate, sizeof rate_bits);
  store_le(&bytes[0], options.capacity);
  store_le(&bytes[8], options.fingerprint_bits != 0 ? options.fingerprint_bits : rate_bits);
  store_le(&bytes[16], static_cast<uint64_t>(options.growth));
  store_le(&bytes[24], static_cast<uint64_t>(options.width));
  store_le(&bytes[32], options.seed);
  store_le(&bytes[40], static_cast<uint64_t>(options.page_bytes));
  return XXH3_64bits(bytes, sizeof bytes);
}

}  // namespace

LiveFilter::LiveFilter(Connection& connection, const std::string& schema, const std::string& table)
    : connection_(connection), store_(connection.db(), schema, table) {}

void LiveFilter::drop_instance() noexcept {
  if (--instances_ == 0) {
    // Its statements go with the object: one of them may be the caller, re-preparing itself.
    closed_ = true;
    connection_.forget(*this);
  }
}

void LiveFilter::create(FilterOptions options) {
  options.digest = digest_of(options);
  auto filter = std::make_unique<LoggedFilter>(options, store_);
  throw_if(table(), filter->create());
  KeepLastRowid keep(store_.db());
  store_.create_tables();
  store_.write_option("format", kFormat);
  store_.write_option("capacity", static_cast<int64_t>(options.capacity));
  if (options.fingerprint_bits != 0) {
    store_.write_option("fingerprint_bits", static_cast<int64_t>(options.fingerprint_bits));
  } else {
    store_.write_option("fpr", options.rate);
  }
  store_.write_option("growth", std::string(options.growth ? "on" : "off"));
  store_.write_option("seed", static_cast<int64_t>(options.seed));
  store_.write_option("hash_bits", static_cast<int64_t>(options.width));
  store_.write_option("page_bytes", static_cast<int64_t>(options.page_bytes));
  throw_if(table(), filter->flush());
  set_filter(std::move(filter));
  writing_ = current_ = created_ = true;  // in the transaction without an xBegin
}

void LiveFilter::destroy() {
  filter_.reset();
  store_.drop_tables();
}

void LiveFilter::rename(const std::shared_ptr<LiveFilter>& self, const std::string& name) {
  flush();
  const std::string old_table = table();
  store_.rename_tables(name);
  connection_.rename(self, old_table);
}

// --- freshness -----------------------------------------------------------------------------------

uint32_t LiveFilter::data_version() const noexcept {
  uint32_t version = 0;
  sqlite3_file_control(store_.db(), schema().c_str(), SQLITE_FCNTL_DATA_VERSION, &version);
  return version;
}

void LiveFilter::set_filter(std::unique_ptr<LoggedFilter> filter) noexcept {
  filter_ = std::move(filter);
  seed_ = filter_->options().seed;
  hash_mask_ = logged_hash(~uint64_t{0}, filter_->options().width);
}

FilterOptions LiveFilter::read_options() {
  const std::map<std::string, ShadowStore::OptionValue> stored = store_.read_options();
  const auto bad = [this](const char* key) {
    return SqlError(SQLITE_CORRUPT_VTAB,
                    table() + ": corrupt: \"" + table() + "_config\" has no valid option " + key);
  };
  const auto whole = [&](const char* key, int64_t least, int64_t most) {
    const auto found = stored.find(key);
    if (found == stored.end() || found->second.type != SQLITE_INTEGER ||
        found->second.integer < least || found->second.integer > most) {
      throw bad(key);
    }
    return found->second.integer;
  };
  const int64_t format = whole("format", 0, INT64_MAX);
  if (format != kFormat) {
    throw SqlError(SQLITE_CORRUPT_VTAB, table() + ": written in format " + std::to_string(format) +
                                            "; this version reads format " +
                                            std::to_string(kFormat));
  }
  FilterOptions options;
  options.capacity = static_cast<uint64_t>(whole("capacity", 1, int64_t{1} << 40));
  if (stored.contains("fingerprint_bits")) {
    options.fingerprint_bits = static_cast<uint32_t>(whole("fingerprint_bits", 4, 32));
  } else {
    const auto rate = stored.find("fpr");
    if (rate == stored.end() || rate->second.type != SQLITE_FLOAT ||
        !(rate->second.real >= kMinRate && rate->second.real <= kMaxRate)) {
      throw bad("fpr");
    }
    options.rate = rate->second.real;
  }
  const auto growth = stored.find("growth");
  if (growth == stored.end() || growth->second.type != SQLITE_TEXT ||
      (growth->second.text != "on" && growth->second.text != "off")) {
    throw bad("growth");
  }
  options.growth = growth->second.text == "on";
  options.seed = static_cast<uint64_t>(whole("seed", INT64_MIN, INT64_MAX));
  const int64_t bits = whole("hash_bits", 47, 63);
  if (bits != 47 && bits != 63) {
    throw bad("hash_bits");
  }
  options.width = static_cast<HashWidth>(bits);
  options.page_bytes = static_cast<uint32_t>(whole("page_bytes", 64, 4032));
  if (options.page_bytes % 64 != 0) {
    throw bad("page_bytes");
  }
  options.digest = digest_of(options);
  return options;
}

void LiveFilter::follow() {
  if (usable() && ((writing_ && current_) || filter_->pending())) {
    return;
  }
  const uint32_t version = data_version();
  if (!usable() || provisional_ || version != seen_version_) {
    reload();
    seen_version_ = version;
    provisional_ =
        !writing_ && sqlite3_txn_state(store_.db(), schema().c_str()) == SQLITE_TXN_WRITE;
  }
  current_ = writing_;
}

// Whatever reading the config runs into names the table.
template <class Body>
void LiveFilter::read_config(Body&& body) {
  try {
    body();
  } catch (const SqlError& error) {
    const int code = error.code() & 0xFF;
    if (error.message().starts_with(table() + ": ") || code == SQLITE_INTERRUPT) {
      throw;
    }
    const bool broken = code == SQLITE_ERROR;  // no such table, no such column
    throw SqlError(broken ? SQLITE_CORRUPT_VTAB : error.code(),
                   table() + (broken ? ": corrupt: " : ": ") + error.message());
  }
}

void LiveFilter::reload() {
  read_config([this] {
    const ShadowStore::HeldRecord held(store_);
    const std::span<const std::byte> record = held.bytes();
    // A table of this name with other options: dropped and made again by another connection.
    const Result<FilterRecord> decoded = decode_record(record);
    if (filter_ == nullptr ||
        (decoded.ok() && decoded.value().options_digest != filter_->options().digest)) {
      set_filter(std::make_unique<LoggedFilter>(read_options(), store_));
    }
    throw_if(table(), filter_->refresh(record));
  });
}

LiveFilter::Reading::Reading(LiveFilter& live) {
  if (!live.writing_ &&
      sqlite3_txn_state(live.store_.db(), live.schema().c_str()) == SQLITE_TXN_NONE) {
    live.read_config([&] { held_.emplace(live.store_); });
  }
  live.follow();
}

// --- reading -------------------------------------------------------------------------------------

void LiveFilter::load(uint64_t hash) { throw_if(table(), filter_->load(hash)); }

bool LiveFilter::load_and_probe(uint64_t hash) {
  load(hash);
  return filter_->contains(hash);
}

uint64_t LiveFilter::count(uint64_t hash) {
  hash &= hash_mask_;
  load(hash);
  return filter_->count(hash);
}

// --- changing ------------------------------------------------------------------------------------

// I4: a failure that left something half done must make SQLite undo the transaction.
void LiveFilter::raise(const Status& status) {
  if (status.ok()) {
    return;
  }
  const SqlError error = sql_error(table(), status.error());
  const bool half_done = !filter_->usable();
  throw SqlError(half_done && !undoes_transaction(error.code()) ? SQLITE_IOERR : error.code(),
                 error.message());
}

// SQLite announces a roll-back to a savepoint only to instances that it has asked to keep one
// before (VTable.iSavepoint in vtab.c), and a table that was made in this transaction was asked for
// none. A nested statement that may fail half-way makes it ask: then what is pending is dropped
// with the CREATE. Without this a CREATE that was rolled back to a savepoint would go on writing.
void LiveFilter::announce() {
  announced_ = true;
  execute(store_.db(), sql_text(R"(INSERT INTO "%w"."%w_config" SELECT 0, 0 WHERE 0)",
                                schema().c_str(), table().c_str()));
}

template <class Body>
void LiveFilter::change(Body&& body) {
  follow();
  struct Changing {
    LiveFilter& live;
    sqlite3_int64 rowid;
    explicit Changing(LiveFilter& one)
        : live(one), rowid(sqlite3_last_insert_rowid(one.store_.db())) {
      live.changing_ = true;
    }
    ~Changing() {
      live.changing_ = false;
      if (sqlite3_last_insert_rowid(live.store_.db()) != rowid) {
        sqlite3_set_last_insert_rowid(live.store_.db(), rowid);
      }
    }
  } changing(*this);
  if (created_ && !announced_) [[unlikely]] {
    announce();
  }
  raise(body());
}

void LiveFilter::insert(uint64_t hash) {
  change([&] { return filter_->insert((hash & hash_mask_)); });
}

bool LiveFilter::remove(uint64_t hash) {
  bool removed = false;
  change([&]() -> Status {
    Result<bool> result = filter_->remove((hash & hash_mask_));
    removed = result.ok() && result.value();
    return result.take_status();
  });
  return removed;
}

void LiveFilter::clear() {
  change([&] { return filter_->clear(); });
}

void LiveFilter::rebuild() { resize(0); }

void LiveFilter::resize(uint64_t capacity) {
  change([&]() -> Status {
    if (!filter_->options().growth) {
      return invalid(
          "growth = off keeps no hashes to rebuild from; make the table with growth = on");
    }
    return filter_->rebuild(capacity != 0 ? capacity : filter_->capacity());
  });
}

void LiveFilter::check() {
  change([&]() -> Status {
    CUCKOO_TRY(filter_->flush());
    if (read_options().digest != filter_->options().digest) {
      return corrupt("options that do not belong to the record");
    }
    return filter_->check();
  });
}

// --- transactions --------------------------------------------------------------------------------

void LiveFilter::flush() {
  if (filter_ != nullptr) {
    KeepLastRowid keep(store_.db());
    raise(filter_->flush());
  }
}

// Must not fail: DROP TABLE begins a transaction too, and a broken table must be droppable.
void LiveFilter::begin() noexcept {
  writing_ = true;
  current_ = false;
}

void LiveFilter::sync() {
  if (filter_ != nullptr) {
    KeepLastRowid keep(store_.db());
    raise(filter_->settle());
    raise(filter_->flush());
  }
}

void LiveFilter::commit() noexcept {
  if (filter_ != nullptr) {
    filter_->committed();
    if (current_) {
      seen_version_ = data_version();  // this commit moved it
    }
  }
  writing_ = current_ = created_ = announced_ = false;
}

void LiveFilter::rollback() noexcept {
  if (filter_ != nullptr) {
    filter_->rolled_back();
  }
  current_ = writing_ = created_ = announced_ = false;
}

void LiveFilter::savepoint() {
  if (!changing_) {
    flush();
  }
}

void LiveFilter::rollback_to() noexcept {
  if (filter_ != nullptr) {
    filter_->forget();
  }
  current_ = false;
}

}  // namespace cuckoo
