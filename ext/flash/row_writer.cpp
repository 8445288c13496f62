#include "ext/flash/row_writer.hpp"

#include "core/base/bytes.hpp"
#include "ext/flash/number_texts.hpp"
#include "ext/flash/value.hpp"
#include "ext/sqlite/error.hpp"
#include "ext/sqlite/function.hpp"

namespace cuckoo {

// --- columns ------------------------------------------------------------------------------------

void FlashRowWriter::encode_value(sqlite3_value* value, bool key_was_real) {
  encode_flash_value(key_of(value, columns_.value_affinity(), text_), key_was_real, value_bytes_);
}

void FlashRowWriter::encode_key(const KeyView& key) {
  encode_flash_key(key, live_.options().digest, key_bytes_);
  const size_t most = live_.flash().max_key_bytes();
  if (key_bytes_.size() > most) {  // both count the byte of the key's type
    throw SqlError(SQLITE_ERROR, name() + ": key of " + std::to_string(key_bytes_.size() - 1) +
                                     " bytes; expected at most " + std::to_string(most - 1));
  }
}

// Gives a row without a key its address: the digest of its value.
void FlashRowWriter::encode_address() {
  if (columns_.key_affinity() != Affinity::kNone && columns_.key_affinity() != Affinity::kText) {
    throw SqlError(SQLITE_CONSTRAINT_NOTNULL,
                   "NOT NULL constraint failed: " + name() + "." + columns_.key_name() +
                       ": only a TEXT or untyped key can be its value's digest");
  }
  const FlashContent content = content_of(value_bytes_);
  if (content.type != SQLITE_TEXT && content.type != SQLITE_BLOB) {
    throw SqlError(SQLITE_MISMATCH, name() + ": a row without a key takes the " +
                                        digest_name(live_.options().digest) +
                                        " of its value, which must be TEXT or a BLOB");
  }
  encode_flash_address(content_digest(digester(), live_.options().digest, content.bytes),
                       key_bytes_);
}

// Throws if the address has another value already.
void FlashRowWriter::expect_same_content() {
  Result<bool> found = live_.flash().get(key_bytes_, stored_value_);
  live_.expect(found.take_status());
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

void FlashRowWriter::refuse_computed(int column) const {
  throw SqlError(SQLITE_ERROR, name() + ": column " + columns_.computed_name(column) +
                                   " is computed and can't be written");
}

void FlashRowWriter::expect_none_computed(sqlite3_value** columns) const {
  for (int column = FlashColumns::kSectorColumn; column < columns_.end(); ++column) {
    if (column != FlashColumns::kCommandColumn && !is_null(columns[column])) {
      refuse_computed(column);
    }
  }
}

// Throws if an UPDATE sets a computed column to another value. UPDATE … FROM passes every column,
// also those that it does not set. It passes a row once for each joined row, always with the seq
// from before the statement.
void FlashRowWriter::expect_unchanged(sqlite3_value** columns) {
  for (int column = FlashColumns::kSectorColumn; column < columns_.end(); ++column) {
    sqlite3_value* const value = columns[column];
    if (column == FlashColumns::kCommandColumn || sqlite3_value_nochange(value) != 0) {
      continue;
    }
    Result<std::optional<FlashEntry>> found = live_.flash().find(old_key_);
    live_.expect(found.take_status());
    if (!found.value() || found.value()->lsn >= scan_lsn_) {
      return;
    }
    if (column == FlashColumns::kDigestColumn) {
      Result<bool> read = live_.flash().get(old_key_, stored_value_);
      live_.expect(read.take_status());
      const std::string digest =
          digest_text(digester(), live_.options().digest, stored_value_);  // "" means NULL
      if (sqlite3_value_type(value) != (digest.empty() ? SQLITE_NULL : SQLITE_TEXT) ||
          text_argument(value) != digest) {
        refuse_computed(column);
      }
      continue;
    }
    const int64_t number = columns_.is_seq(column) ? static_cast<int64_t>(found.value()->lsn)
                                                   : live_.sector_of(*found.value());
    if (sqlite3_value_type(value) != SQLITE_INTEGER || sqlite3_value_int64(value) != number) {
      refuse_computed(column);
    }
  }
}

// --- rows ---------------------------------------------------------------------------------------

void FlashRowWriter::refuse_duplicate() const {
  throw SqlError(SQLITE_CONSTRAINT_PRIMARYKEY,
                 "UNIQUE constraint failed: " + name() + "." + columns_.key_name());
}

void FlashRowWriter::insert(sqlite3_value** columns) {
  sqlite3_value* const value = columns[FlashColumns::kValueColumn];
  const KeyView view =
      key_of(columns[FlashColumns::kKeyColumn], columns_.key_affinity(), key_text_);
  const bool addressed = view.type == SQLITE_NULL;
  HashedKey key;
  if (addressed) {
    encode_value(value, false);
    encode_address();
    key = live_.flash().hashed(key_bytes_);
  } else {
    encode_key(view);
    key = live_.flash().hashed(key_bytes_);
    live_.flash().prefetch(key);
    encode_value(value, is_whole_real(view));
  }
  if (on_conflict() == SQLITE_REPLACE) {
    if (addressed) {
      Result<std::optional<FlashEntry>> found = live_.flash().find(key);
      live_.expect(found.take_status());
      if (found.value()) {
        expect_same_content();
      }
    }
    const FlashStore::Change change{key, value_bytes_};
    live_.write({&change, 1});
  } else if (!live_.insert(key, value_bytes_)) {
    if (addressed) {
      expect_same_content();
    }
    refuse_duplicate();
  }
  note_key();
}

// Notes the kind of the key, after it was written.
void FlashRowWriter::note_key() {
  if (!columns_.has_number_keys()) {
    live_.flash().note(note_of(key_bytes_));
  }
}

// Returns false if there is no such row, so that there is nothing to change.
bool FlashRowWriter::take_old_key(sqlite3_value* value) {
  const KeyView key = key_of(value, columns_.key_affinity(), key_text_);
  if (key.type == SQLITE_NULL) {
    return false;
  }
  encode_flash_key(key, live_.options().digest, old_key_bytes_);
  old_key_ = live_.flash().hashed(old_key_bytes_);
  return true;
}

void FlashRowWriter::remove(sqlite3_value* key) {
  if (!take_old_key(key)) {
    return;
  }
  const FlashStore::Change change{old_key_, std::nullopt};
  live_.write({&change, 1});
}

void FlashRowWriter::update(sqlite3_value* key, sqlite3_value** columns) {
  if (take_old_key(key)) {
    expect_unchanged(columns);
    change(columns[FlashColumns::kKeyColumn], columns[FlashColumns::kValueColumn]);
  }
}

// Updates the row with the key old_key_.
void FlashRowWriter::change(sqlite3_value* key_value, sqlite3_value* value) {
  const bool keeps_key = sqlite3_value_nochange(key_value) != 0;
  const bool keeps_value = sqlite3_value_nochange(value) != 0;
  bool real = false;
  if (keeps_value || (keeps_key && columns_.shows_reals(old_key_bytes_))) {
    Result<bool> found = live_.flash().get(old_key_, stored_value_);
    const bool damaged = !found.ok() && found.error().code == ErrorCode::kCorrupt;
    if (!damaged || keeps_value) {  // else the new value needs nothing of the old one
      live_.expect(found.take_status());
      real = found.value() && key_was_real(stored_value_);
      if (!found.value() || (keeps_key && keeps_value)) {
        return;
      }
    }
  }
  key_bytes_ = old_key_bytes_;
  if (!keeps_key) {
    const KeyView key = key_of(key_value, columns_.key_affinity(), key_text_);
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
  const bool same_key = key_bytes_ == old_key_bytes_;
  const FlashStore::Change put{same_key ? old_key_ : live_.flash().hashed(key_bytes_),
                               value_bytes_};
  if (same_key) {
    live_.write({&put, 1});
    return;
  }
  Result<std::optional<FlashEntry>> other = live_.flash().find_damaged_too(put.key);
  live_.expect(other.take_status());
  if (other.value() && on_conflict() != SQLITE_REPLACE) {
    refuse_duplicate();
  }
  const FlashStore::Change changes[] = {{old_key_, std::nullopt}, put};
  live_.write(changes);
  note_key();
}

}  // namespace cuckoo
