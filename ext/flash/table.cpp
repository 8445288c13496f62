#include "ext/flash/table.hpp"

#include <algorithm>

#include "core/base/bytes.hpp"
#include "ext/sqlite/function.hpp"
#include "ext/sqlite/statement.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {
namespace {

constexpr double kProbeCost = 40;        // behind a look-up by rowid, before one by a text
constexpr double kCostOfScannedRow = 8;  // its header is read from the log
constexpr double kCostOfPassedRow = 4;   // the same, but nothing is done with it

}  // namespace

// --- creating and connecting -------------------------------------------------------------------

FlashTable::FlashTable(const ModuleArguments& arguments)
    : StoredTable(arguments),
      connection_(arguments.connection),
      db_(arguments.db),
      declared_name_(arguments.table()),
      options_(arguments.table(), flash_option_specs(),
               std::span(arguments.texts + 3, static_cast<size_t>(arguments.count - 3)),
               !arguments.creating),
      columns_(declared_name_, options_.columns(), arguments.creating) {}

void FlashTable::create() {
  live_->create(
      chosen_flash_options(declared_name_, options_, page_bytes_for(db_, live_->schema())));
}

void FlashTable::rename(const std::string& name) {
  columns_.refuse_table_name(name);
  live_->rename(name);
}

// --- planning ----------------------------------------------------------------------------------

// The plan, and its argument; kScanPlan: there is none.
int FlashTable::plan_look_up(sqlite3_index_info* info) const {
  int by_seq = -1;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    const bool equal =
        constraint.op == SQLITE_INDEX_CONSTRAINT_EQ || constraint.op == SQLITE_INDEX_CONSTRAINT_IS;
    if (!equal || constraint.usable == 0) {
      continue;
    }
    // With another collation SQLite compares: all rows are given to it.
    if (constraint.iColumn == kKeyColumn &&
        sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") == 0) {
      info->aConstraintUsage[i].argvIndex = 1;
      info->aConstraintUsage[i].omit = has_number_keys() ? 1 : 0;  // I1, I2
      // One value of a list after the other, SQLite would compare each of them as if it had no
      // affinity. Of the whole list it asks the condition itself.
      return !has_number_keys() && sqlite3_vtab_in(info, i, 1) != 0 ? kListPlan : kProbePlan;
    }
    if (columns_.is_seq(constraint.iColumn)) {
      by_seq = i;
    }
  }
  if (by_seq < 0) {
    return kScanPlan;
  }
  info->aConstraintUsage[by_seq].argvIndex = 1;  // SQLite compares once more, by its own rules
  return kSeqPlan;
}

// Does `key = …` find one row at most, and no other row that SQLite would have to pass over? Else
// SQLite must not be told so: an UPDATE would stop at the first row, and a LEFT JOIN whose columns
// nobody asks for would be left out.
bool FlashTable::is_unique() {
  if (has_number_keys()) {
    return true;
  }
  try {
    live_->follow();
  } catch (const SqlError& error) {
    // The first use of the table tells of it; of a changed schema SQLite learns when the statement
    // runs. But these have undone the transaction, so SQLite must hear of them now.
    const int code = error.code() & 0xFF;
    if (code == SQLITE_IOERR || code == SQLITE_NOMEM || code == SQLITE_INTERRUPT) {
      throw;
    }
    return false;
  }
  return !is_ambiguous(live_->flash().stats().notes);
}

bool FlashTable::best_index(sqlite3_index_info* info) {
  const auto uses = [info](int column) { return (info->colUsed >> column & 1) != 0; };
  const int plan = plan_look_up(info);
  const uint64_t count = live_->ready() ? live_->flash().size() : 1000000;
  const auto rows = static_cast<double>(std::max<uint64_t>(count, 10));
  if (plan == kScanPlan) {
    info->estimatedRows = static_cast<sqlite3_int64>(rows);
    info->estimatedCost = kCostOfScannedRow * rows;
  } else {
    info->estimatedRows = 1;
    info->estimatedCost = plan == kSeqPlan ? kProbeCost + kCostOfPassedRow * rows : kProbeCost;
  }
  const bool unique = plan == kSeqPlan || (plan == kProbePlan && is_unique());
  info->idxFlags = unique ? SQLITE_INDEX_SCAN_UNIQUE : 0;
  if (plan != kScanPlan) {
    describe_plan(info, (plan == kSeqPlan ? "seq" : columns_.key_name()) + "=?");
  }
  const bool by_order = info->nOrderBy == 1 && columns_.is_seq(info->aOrderBy[0].iColumn) &&
                        info->aOrderBy[0].desc == 0;
  info->orderByConsumed = unique || by_order ? 1 : 0;
  bool needs_place = uses(kSectorColumn) || uses(kSeqColumn);
  for (int column = kCommandColumn + 1; column < columns_.end(); ++column) {
    needs_place = needs_place || uses(column);
  }
  info->idxNum = plan | (unique ? kUnique : 0) | (uses(kKeyColumn) ? kNeedsKey : 0) |
                 (uses(kValueColumn) || uses(kDigestColumn) ? kNeedsValue : 0) |
                 (needs_place ? kNeedsPlace : 0);
  return true;
}

// --- changing ----------------------------------------------------------------------------------

void FlashTable::refuse_duplicate() const {
  throw SqlError(SQLITE_CONSTRAINT_PRIMARYKEY,
                 "UNIQUE constraint failed: " + name() + "." + columns_.key_name());
}

// Empty: a value without a digest.
std::string FlashTable::digest_text(std::span<const std::byte> value) {
  const FlashContent content = content_of(value);
  return content.type == SQLITE_TEXT || content.type == SQLITE_BLOB
             ? hex_of(content_digest(connection_.kept<Digester>(), live_->options().digest,
                                     content.bytes))
             : std::string();
}

void FlashTable::encode_value(sqlite3_value* value, bool key_was_real) {
  encode_flash_value(flash_view_of(value, columns_.value_affinity(), text_), key_was_real,
                     value_bytes_);
}

void FlashTable::encode_key(const KeyView& key) {
  encode_flash_key(key, live_->options().digest, key_bytes_);
  const size_t most = live_->flash().max_key_bytes();
  if (key_bytes_.size() > most) {  // the byte of its type is one of these
    throw SqlError(SQLITE_ERROR, name() + ": key of " + std::to_string(key_bytes_.size() - 1) +
                                     " bytes; expected at most " + std::to_string(most - 1));
  }
}

// A row without a key: the digest of its value.
void FlashTable::encode_address() {
  if (columns_.key_affinity() != Affinity::kNone && columns_.key_affinity() != Affinity::kText) {
    throw SqlError(SQLITE_CONSTRAINT_NOTNULL,
                   "NOT NULL constraint failed: " + name() + "." + columns_.key_name() +
                       ": only a TEXT or untyped key can be its value's digest");
  }
  const FlashContent content = content_of(value_bytes_);
  if (content.type != SQLITE_TEXT && content.type != SQLITE_BLOB) {
    throw SqlError(SQLITE_MISMATCH, name() + ": a row without a key takes the " +
                                        digest_name(live_->options().digest) +
                                        " of its value, which must be TEXT or a BLOB");
  }
  encode_flash_address(
      content_digest(connection_.kept<Digester>(), live_->options().digest, content.bytes),
      key_bytes_);
}

// Two values of one address.
void FlashTable::expect_same_content() {
  Result<bool> found = live_->flash().get(key_bytes_, stored_value_);
  live_->expect(found.take_status());
  if (stored_value_ == value_bytes_) {
    return;
  }
  const std::string address = hex_of(std::span<const std::byte>(key_bytes_).subspan(1));
  const FlashContent old = content_of(stored_value_);
  const FlashContent given = content_of(value_bytes_);
  if (old.type != given.type && equal_bytes(old.bytes, given.bytes)) {
    const bool text = old.type == SQLITE_TEXT;
    throw SqlError(SQLITE_ERROR, name() + ": " + address + " has the same bytes already, as " +
                                     (text ? "TEXT; expected TEXT, not a BLOB"
                                           : "a BLOB; expected a BLOB, not TEXT"));
  }
  throw SqlError(SQLITE_ERROR,
                 name() + ": " + address + " is the address of another value already");
}

void FlashTable::insert(sqlite3_value* key_value, sqlite3_value* value) {
  const KeyView view = flash_view_of(key_value, columns_.key_affinity(), key_text_);
  const bool addressed = view.type == SQLITE_NULL;
  HashedKey key;
  if (addressed) {
    encode_value(value, false);
    encode_address();
    key = live_->flash().hashed(key_bytes_);
  } else {
    encode_key(view);
    key = live_->flash().hashed(key_bytes_);
    live_->flash().prefetch(key);
    encode_value(value, is_whole_real(view));
  }
  if (sqlite3_vtab_on_conflict(db_) == SQLITE_REPLACE) {
    if (addressed) {
      Result<std::optional<FlashEntry>> found = live_->flash().find(key);
      live_->expect(found.take_status());
      if (found.value()) {
        expect_same_content();
      }
    }
    const FlashStore::Change change{key, value_bytes_};
    live_->write({&change, 1});
  } else if (!live_->insert(key, value_bytes_)) {
    if (addressed) {
      expect_same_content();
    }
    refuse_duplicate();
  }
  note_key();
}

// After it was written.
void FlashTable::note_key() {
  if (!has_number_keys()) {
    live_->flash().note(note_of(key_bytes_));
  }
}

// False: there is no such row, so there is nothing to change.
bool FlashTable::take_old_key(sqlite3_value* value) {
  const KeyView key = flash_view_of(value, columns_.key_affinity(), key_text_);
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
  const FlashStore::Change change{live_->flash().hashed(old_key_bytes_), std::nullopt};
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
    const KeyView key = flash_view_of(key_value, columns_.key_affinity(), key_text_);
    if (key.type == SQLITE_NULL) {
      throw SqlError(SQLITE_CONSTRAINT_NOTNULL,
                     "NOT NULL constraint failed: " + name() + "." + columns_.key_name());
    }
    real = is_whole_real(key);
    encode_key(key);
  }
  if (keeps_value) {
    set_key_was_real(stored_value_, real);
    value_bytes_ = stored_value_;
  } else {
    encode_value(value, real);
  }
  const FlashStore::Change put{live_->flash().hashed(key_bytes_), value_bytes_};
  if (key_bytes_ == old_key_bytes_) {
    live_->write({&put, 1});
    return;
  }
  Result<std::optional<FlashEntry>> other = live_->flash().find(put.key);
  live_->expect(other.take_status());
  if (other.value() && sqlite3_vtab_on_conflict(db_) != SQLITE_REPLACE) {
    refuse_duplicate();
  }
  const FlashStore::Change changes[] = {{live_->flash().hashed(old_key_bytes_), std::nullopt}, put};
  live_->write(changes);
  note_key();
}

void FlashTable::refuse_computed(int column) const {
  throw SqlError(SQLITE_ERROR, name() + ": column " + columns_.computed_name(column) +
                                   " is computed and can't be written");
}

// UPDATE … FROM hands every column over, also those that it does not set; and a row as often as it
// is joined, with the seq that it had before the statement.
void FlashTable::expect_unchanged(sqlite3_value** columns) {
  for (int column = kSectorColumn; column < columns_.end(); ++column) {
    sqlite3_value* const value = columns[column];
    if (column == kCommandColumn || sqlite3_value_nochange(value) != 0 || is_null(value)) {
      continue;
    }
    Result<std::optional<FlashEntry>> found = live_->flash().find(old_key_bytes_);
    live_->expect(found.take_status());
    if (!found.value() || found.value()->lsn >= scan_lsn_) {
      return;
    }
    const int64_t number = sqlite3_value_int64(value);
    if (columns_.is_seq(column) && number == static_cast<int64_t>(found.value()->lsn)) {
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

void FlashTable::list_scans() {
  while (!unlisted_.empty()) {
    unlisted_.back()->list();
  }
}

void FlashTable::update(int count, sqlite3_value** values, sqlite3_int64& rowid) {
  rowid = sqlite3_last_insert_rowid(db_);
  live_->follow();
  list_scans();
  if (count == 1) {
    remove(values[0]);
    return;
  }
  sqlite3_value** const columns = values + 2;
  const bool inserting = is_null(values[0]);
  if (inserting) {
    for (int column = kSectorColumn; column < columns_.end(); ++column) {
      if (column != kCommandColumn && !is_null(columns[column])) {
        refuse_computed(column);
      }
    }
  }
  if (!is_null(columns[kCommandColumn])) {
    if (!inserting) {
      throw SqlError(SQLITE_ERROR, name() + ": a command is given by INSERT, not by UPDATE");
    }
    if (!is_null(columns[kValueColumn])) {
      throw SqlError(SQLITE_ERROR,
                     name() + ": a command's argument goes in column " + columns_.key_name());
    }
    run_command(*this, commands(), columns[kCommandColumn], columns[kKeyColumn]);
    return;
  }
  if (inserting) {
    insert(columns[kKeyColumn], columns[kValueColumn]);
  } else if (take_old_key(values[0])) {
    expect_unchanged(columns);
    change(columns[kKeyColumn], columns[kValueColumn]);
  }
}

// --- commands ----------------------------------------------------------------------------------

std::span<const Command<FlashTable>> FlashTable::commands() noexcept {
  using Argument = Command<FlashTable>::Argument;
  static constexpr Command<FlashTable> kAll[] = {
      {"check", Argument::kNone, &FlashTable::run_check},
      {"clear", Argument::kNone, &FlashTable::run_clear},
      {"collect", Argument::kNone, &FlashTable::run_collect},
      {"resize", Argument::kTaken, &FlashTable::run_resize},
  };
  return kAll;
}

}  // namespace cuckoo
