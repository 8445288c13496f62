#include "ext/flash_table.hpp"

#include <algorithm>

#include "ext/connection.hpp"
#include "ext/function.hpp"
#include "ext/statement.hpp"

namespace cuckoo {
namespace {

// Exactly, as SQLite compares them.
bool equal_numbers(int64_t integer, double real) noexcept {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  return real >= -kTwoTo63 && real < kTwoTo63 && static_cast<int64_t>(real) == integer &&
         static_cast<double>(integer) == real;
}

enum Column : int {
  kKeyColumn = 0,
  kValueColumn = 1,
  kSectorColumn = 2,
  kSeqColumn = 3,
  kDigestColumn = 4,
  kCommandColumn = 5,
};

constexpr const char* kComputedColumns[] = {"sector", "seq", "digest"};

constexpr double kProbeCost = 40;        // behind a look-up by rowid, before one by a text
constexpr double kCostOfScannedRow = 8;  // its header is read from the log

bool is_null(sqlite3_value* value) noexcept { return sqlite3_value_type(value) == SQLITE_NULL; }

}  // namespace

// --- creating and connecting -------------------------------------------------------------------

FlashTable::FlashTable(const ModuleArguments& arguments)
    : connection_(arguments.connection),
      db_(arguments.db),
      declared_name_(arguments.table()),
      options_(arguments.table(), flash_option_specs(),
               std::span(arguments.texts + 3, static_cast<size_t>(arguments.count - 3)),
               !arguments.creating) {
  const std::vector<ColumnSpec>& columns = options_.columns();
  key_ = columns.empty() ? ColumnSpec{"key", ""} : columns[0];
  value_ = columns.size() < 2 ? ColumnSpec{"value", ""} : columns[1];
  key_affinity_ = affinity_of(key_.type);
  value_affinity_ = affinity_of(value_.type);
  if (arguments.creating) {
    if (columns.size() > 2) {
      throw SqlError(SQLITE_ERROR, declared_name_ +
                                       ": two columns, key and value, expected; there is also " +
                                       printable(columns[2].name));
    }
    if (equal_names(key_.name, value_.name)) {
      throw SqlError(SQLITE_ERROR,
                     declared_name_ + ": two columns are called " + printable(key_.name));
    }
    for (const char* name : kComputedColumns) {
      if (equal_names(key_.name, name) || equal_names(value_.name, name)) {
        throw SqlError(SQLITE_ERROR, declared_name_ + ": a column may not be called " + name +
                                         ", which is a computed one");
      }
    }
    refuse_own_column(declared_name_);
  }
  live_ = connection_.attach<LiveFlash>(arguments.schema(), arguments.table(), arguments.creating);
  live_->add_instance();
}

FlashTable::~FlashTable() { live_->drop_instance(); }

// The hidden command column is called like the table.
void FlashTable::refuse_own_column(const std::string& table) const {
  bool taken = equal_names(table, key_.name) || equal_names(table, value_.name);
  for (const char* name : kComputedColumns) {
    taken = taken || equal_names(table, name);
  }
  if (taken) {
    throw SqlError(SQLITE_ERROR, "a flash_kv may not be called like one of its columns: " + table);
  }
}

std::string FlashTable::declaration() const {
  return sql_text(
      R"(CREATE TABLE x("%w" %s PRIMARY KEY, "%w" %s, sector HIDDEN, seq HIDDEN, digest HIDDEN,)"
      R"( "%w" HIDDEN) WITHOUT ROWID)",
      key_.name.c_str(), key_.type.c_str(), value_.name.c_str(), value_.type.c_str(),
      declared_name_.c_str());
}

void FlashTable::create() {
  live_->create(
      chosen_flash_options(declared_name_, options_, page_bytes_for(db_, live_->schema())));
}

void FlashTable::rename(const std::string& name) {
  refuse_own_column(name);
  live_->rename(live_, name);
}

std::string FlashTable::integrity() {
  try {
    live_->check();
    return {};
  } catch (const SqlError& error) {
    if ((error.code() & 0xFF) == SQLITE_CORRUPT) {
      return error.message();
    }
    throw;
  }
}

// --- planning ----------------------------------------------------------------------------------

bool FlashTable::best_index(sqlite3_index_info* info) {
  const auto uses = [info](int column) { return (info->colUsed >> column & 1) != 0; };
  int plan = kScanPlan;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    const bool equal =
        constraint.op == SQLITE_INDEX_CONSTRAINT_EQ || constraint.op == SQLITE_INDEX_CONSTRAINT_IS;
    // With another collation SQLite compares: all rows are given to it.
    if (constraint.iColumn == kKeyColumn && equal && constraint.usable != 0 &&
        sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") == 0) {
      plan = kProbePlan;
      info->aConstraintUsage[i].argvIndex = 1;
      info->aConstraintUsage[i].omit = 1;
      break;
    }
  }
  info->estimatedCost = kProbeCost;
  info->estimatedRows = 1;
  if (plan == kProbePlan) {
    info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
  } else {
    const uint64_t rows = live_->ready() ? live_->flash().size() : 1000000;
    info->estimatedRows = static_cast<sqlite3_int64>(std::max<uint64_t>(rows, 10));
    info->estimatedCost = kCostOfScannedRow * static_cast<double>(info->estimatedRows);
  }
  info->orderByConsumed =
      plan == kProbePlan || (info->nOrderBy == 1 && info->aOrderBy[0].iColumn == kSeqColumn &&
                             info->aOrderBy[0].desc == 0)
          ? 1
          : 0;
  info->idxNum = plan | (uses(kKeyColumn) ? kNeedsKey : 0) |
                 (uses(kValueColumn) || uses(kDigestColumn) ? kNeedsValue : 0) |
                 (uses(kSectorColumn) || uses(kSeqColumn) ? kNeedsPlace : 0);
  return true;
}

// --- reading -----------------------------------------------------------------------------------

FlashTable::Cursor::Cursor(FlashTable& table) : table_(table), live_(table.live()) {
  live_.follow();
}

void FlashTable::Cursor::filter(int plan, const char*, int, sqlite3_value** values) {
  if (!live_.ready()) [[unlikely]] {
    live_.follow();  // a roll-back came between
  }
  plan_ = plan;
  row_ = rows_ = 0;
  has_key_ = has_value_ = has_place_ = false;
  if ((plan & kPlanMask) == kProbePlan) {
    probe(values[0]);
    return;
  }
  listed_ = false;
  rows_ = live_.flash().size();
  first_unseen_lsn_ = live_.flash().next_lsn();
  if ((plan & (kNeedsValue | kNeedsPlace)) != 0) {
    list();
    find_row();
  }
}

void FlashTable::Cursor::probe(sqlite3_value* value) {
  const KeyView key = key_of(value, table_.key_affinity());
  if (key.type == SQLITE_NULL ||
      (key.type == SQLITE_FLOAT && sqlite3_value_numeric_type(value) == SQLITE_INTEGER &&
       !equal_numbers(sqlite3_value_int64(value), key.real))) {
    return;  // equal to no key, though it would be stored as one
  }
  encode_flash_key(key, live_.options().digest, key_);
  has_key_ = true;
  bool found = false;
  if ((plan_ & (kNeedsValue | kNeedsPlace)) == kNeedsValue) {
    Result<bool> result = live_.flash().get(key_, value_);
    live_.expect(result.take_status());
    found = has_value_ = result.value();
  } else {
    Result<std::optional<FlashEntry>> result = live_.flash().find(key_);
    live_.expect(result.take_status());
    found = has_place_ = result.value().has_value();
    entry_ = result.value().value_or(FlashEntry{});
  }
  rows_ = found ? 1 : 0;
}

void FlashTable::Cursor::list() {
  Result<std::vector<FlashStore::Listed>> listed = live_.flash().entries();
  live_.expect(listed.take_status());
  all_ = std::move(listed.value());
  std::erase_if(
      all_, [this](const FlashStore::Listed& one) { return one.entry.lsn >= first_unseen_lsn_; });
  rows_ = all_.size();
  listed_ = true;
}

// Passes over rows that were removed or replaced since the scan began.
void FlashTable::Cursor::find_row() {
  while (row_ < rows_ && !load_row((plan_ & kNeedsValue) != 0)) {
    ++row_;
  }
}

bool FlashTable::Cursor::load_row(bool with_value) {
  FlashStore::Listed& listed = all_[row_];
  Result<bool> found =
      live_.flash().read(listed.entry, listed.hash, key_, with_value ? &value_ : nullptr);
  live_.expect(found.take_status());
  entry_ = listed.entry;
  has_key_ = has_place_ = found.value();
  has_value_ = found.value() && with_value;
  return found.value();
}

void FlashTable::Cursor::next() {
  ++row_;
  if ((plan_ & kPlanMask) == kProbePlan) {
    return;
  }
  has_key_ = has_value_ = has_place_ = false;
  if (listed_) {
    if (!live_.ready()) [[unlikely]] {
      live_.follow();
    }
    find_row();
  }
}

// False: the row is gone since.
bool FlashTable::Cursor::load_value() {
  if (!has_value_ && has_key_) {
    Result<bool> found = live_.flash().get(key_, value_);
    live_.expect(found.take_status());
    has_value_ = found.value();
  }
  return has_value_;
}

void FlashTable::Cursor::find_place() {
  if (!has_place_ && has_key_) {
    Result<std::optional<FlashEntry>> found = live_.flash().find(key_);
    live_.expect(found.take_status());
    entry_ = found.value().value_or(FlashEntry{});
    has_place_ = found.value().has_value();
  }
}

void FlashTable::Cursor::result_key(sqlite3_context* context) {
  const bool was_real = table_.key_affinity() == Affinity::kReal ||
                        (table_.shows_reals(key_) && load_value() && key_was_real(value_));
  live_.expect(result_flash_key(context, key_, was_real));
}

void FlashTable::Cursor::result_digest(sqlite3_context* context) {
  if (const std::string text = table_.digest_text(value_); !text.empty()) {
    sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
}

void FlashTable::Cursor::column(sqlite3_context* context, int column) {
  if (sqlite3_vtab_nochange(context) != 0) {
    return;
  }
  if (!live_.ready()) [[unlikely]] {
    live_.follow();  // a roll-back came between
  }
  if (!has_key_) [[unlikely]] {
    // A count, or so it seemed: DELETE of all rows asks for the keys all the same.
    if (!listed_) {
      list();
    }
    if (row_ < rows_) {
      load_row(false);
    }
  }
  if (!has_key_) {
    return;
  }
  switch (column) {
    case kKeyColumn:
      return result_key(context);
    case kValueColumn:
      if (load_value()) {
        live_.expect(result_flash_value(context, value_));
      }
      return;
    case kSectorColumn:
      if (find_place(); has_place_) {
        sqlite3_result_int64(context, live_.sector_of(entry_));
      }
      return;
    case kSeqColumn:
      if (find_place(); has_place_) {
        sqlite3_result_int64(context, static_cast<sqlite3_int64>(entry_.lsn));
      }
      return;
    case kDigestColumn:
      if (load_value()) {
        result_digest(context);
      }
      return;
    default:
      return;
  }
}

// --- changing ----------------------------------------------------------------------------------

void FlashTable::refuse_duplicate() const {
  throw SqlError(SQLITE_CONSTRAINT_PRIMARYKEY,
                 "UNIQUE constraint failed: " + name() + "." + key_.name);
}

// Empty: a value without a digest.
std::string FlashTable::digest_text(std::span<const std::byte> value) {
  const FlashContent content = content_of(value);
  return content.type == SQLITE_TEXT || content.type == SQLITE_BLOB
             ? hex_of(connection_.digester().compute(live_->options().digest, content.bytes))
             : std::string();
}

void FlashTable::encode_value(sqlite3_value* value, bool key_was_real) {
  encode_flash_value(key_of(value, value_affinity_), key_was_real, value_bytes_);
}

// A row without a key: the digest of its value.
void FlashTable::encode_address() {
  if (key_affinity_ != Affinity::kNone && key_affinity_ != Affinity::kText) {
    throw SqlError(SQLITE_CONSTRAINT_NOTNULL,
                   "NOT NULL constraint failed: " + name() + "." + key_.name +
                       ": only a TEXT or untyped key can be its value's digest");
  }
  const FlashContent content = content_of(value_bytes_);
  if (content.type != SQLITE_TEXT && content.type != SQLITE_BLOB) {
    throw SqlError(SQLITE_MISMATCH, name() + ": a row without a key takes the " +
                                        digest_name(live_->options().digest) +
                                        " of its value, which must be TEXT or a BLOB");
  }
  encode_flash_address(connection_.digester().compute(live_->options().digest, content.bytes),
                       key_bytes_);
}

// Two values of one address.
void FlashTable::expect_same_content() {
  Result<bool> found = live_->flash().get(key_bytes_, stored_value_);
  live_->expect(found.take_status());
  if (stored_value_ != value_bytes_) {
    throw SqlError(SQLITE_ERROR, name() + ": " +
                                     hex_of(std::span<const std::byte>(key_bytes_).subspan(1)) +
                                     " is the address of another value already");
  }
}

void FlashTable::insert(sqlite3_value* key_value, sqlite3_value* value) {
  const KeyView key = key_of(key_value, key_affinity_);
  const bool addressed = key.type == SQLITE_NULL;
  encode_value(value, is_whole_real(key));
  if (addressed) {
    encode_address();
  } else {
    encode_flash_key(key, live_->options().digest, key_bytes_);
  }
  const bool replaces = sqlite3_vtab_on_conflict(db_) == SQLITE_REPLACE;
  if (addressed || !replaces) {
    Result<std::optional<FlashEntry>> found = live_->flash().find(key_bytes_);
    live_->expect(found.take_status());
    if (found.value() && addressed) {
      expect_same_content();
    }
    if (found.value() && !replaces) {
      refuse_duplicate();
    }
  }
  const FlashStore::Change change{key_bytes_, value_bytes_};
  live_->write({&change, 1});
}

// False: there is no such row, so there is nothing to change.
bool FlashTable::take_old_key(sqlite3_value* value) {
  const KeyView key = key_of(value, key_affinity_);
  if (key.type == SQLITE_NULL) {
    return false;
  }
  encode_flash_key(key, live_->options().digest, old_key_bytes_);
  return true;
}

void FlashTable::remove(sqlite3_value* key) {
  if (!take_old_key(key)) {
    return;
  }
  const FlashStore::Change change{old_key_bytes_, std::nullopt};
  live_->write({&change, 1});
}

// UPDATE of the row old_key_bytes_.
void FlashTable::change(sqlite3_value* key_value, sqlite3_value* value) {
  const bool keeps_key = sqlite3_value_nochange(key_value) != 0;
  const bool keeps_value = sqlite3_value_nochange(value) != 0;
  bool real = false;
  if (keeps_value || (keeps_key && shows_reals(old_key_bytes_))) {
    Result<bool> found = live_->flash().get(old_key_bytes_, stored_value_);
    live_->expect(found.take_status());
    real = found.value() && key_was_real(stored_value_);
    if (!found.value() || (keeps_key && keeps_value)) {
      return;
    }
  }
  key_bytes_ = old_key_bytes_;
  if (!keeps_key) {
    const KeyView key = key_of(key_value, key_affinity_);
    if (key.type == SQLITE_NULL) {
      throw SqlError(SQLITE_CONSTRAINT_NOTNULL,
                     "NOT NULL constraint failed: " + name() + "." + key_.name);
    }
    real = is_whole_real(key);
    encode_flash_key(key, live_->options().digest, key_bytes_);
  }
  if (keeps_value) {
    set_key_was_real(stored_value_, real);
    value_bytes_ = stored_value_;
  } else {
    encode_value(value, real);
  }
  const FlashStore::Change changes[] = {{old_key_bytes_, std::nullopt}, {key_bytes_, value_bytes_}};
  if (key_bytes_ == old_key_bytes_) {
    live_->write(std::span(changes).subspan(1));
    return;
  }
  Result<std::optional<FlashEntry>> other = live_->flash().find(key_bytes_);
  live_->expect(other.take_status());
  if (other.value() && sqlite3_vtab_on_conflict(db_) != SQLITE_REPLACE) {
    refuse_duplicate();
  }
  live_->write(changes);
}

void FlashTable::refuse_computed(int column) const {
  throw SqlError(SQLITE_ERROR, name() + ": column " + kComputedColumns[column - kSectorColumn] +
                                   " is computed and can't be written");
}

// UPDATE … FROM hands every column over, also those that it does not set.
void FlashTable::expect_unchanged(sqlite3_value** columns) {
  for (int column = kSectorColumn; column <= kDigestColumn; ++column) {
    sqlite3_value* const value = columns[column];
    if (sqlite3_value_nochange(value) != 0 || is_null(value)) {
      continue;
    }
    Result<std::optional<FlashEntry>> found = live_->flash().find(old_key_bytes_);
    live_->expect(found.take_status());
    if (!found.value()) {
      return;
    }
    const int64_t number = sqlite3_value_int64(value);
    if (column == kSeqColumn && number == static_cast<int64_t>(found.value()->lsn)) {
      continue;
    }
    if (column == kSectorColumn && number == live_->sector_of(*found.value())) {
      continue;
    }
    Result<bool> read = live_->flash().get(old_key_bytes_, stored_value_);
    live_->expect(read.take_status());
    if (column != kDigestColumn || text_argument(value) != digest_text(stored_value_)) {
      refuse_computed(column);
    }
  }
}

void FlashTable::update(int count, sqlite3_value** values, sqlite3_int64& rowid) {
  rowid = sqlite3_last_insert_rowid(db_);
  live_->follow();
  if (count == 1) {
    remove(values[0]);
    return;
  }
  sqlite3_value** const columns = values + 2;
  const bool inserting = is_null(values[0]);
  if (!is_null(columns[kCommandColumn])) {
    if (!inserting) {
      throw SqlError(SQLITE_ERROR, name() + ": a command is given by INSERT, not by UPDATE");
    }
    run_command(columns[kCommandColumn], columns[kKeyColumn], columns[kValueColumn]);
    return;
  }
  if (inserting) {
    for (int column = kSectorColumn; column <= kDigestColumn; ++column) {
      if (!is_null(columns[column])) {
        refuse_computed(column);
      }
    }
    insert(columns[kKeyColumn], columns[kValueColumn]);
  } else if (take_old_key(values[0])) {
    expect_unchanged(columns);
    change(columns[kKeyColumn], columns[kValueColumn]);
  }
}

// --- commands ----------------------------------------------------------------------------------

void FlashTable::run_command(sqlite3_value* command, sqlite3_value* key, sqlite3_value* value) {
  const std::string word = lower(text_argument(command));
  const bool known = word == "check" || word == "clear" || word == "collect" || word == "resize";
  if (!known) {
    throw SqlError(SQLITE_ERROR, name() + ": unknown command \"" +
                                     printable(text_argument(command)) +
                                     "\"; the commands are check, clear, collect, resize");
  }
  if (!is_null(value)) {
    throw SqlError(SQLITE_ERROR, name() + ": a command's argument goes in column " + key_.name);
  }
  if (word == "resize") {
    live_->resize(text_argument(key));
  } else if (!is_null(key)) {
    throw SqlError(SQLITE_ERROR, name() + ": " + word + " takes no argument");
  } else if (word == "clear") {
    live_->clear();
  } else if (word == "collect") {
    live_->collect();
  } else {
    live_->check();
  }
}

}  // namespace cuckoo
