#include "ext/flash/equal_keys.hpp"

#include "ext/flash/value.hpp"

namespace cuckoo {
namespace {

bool is_whole(const KeyView& number) noexcept {
  return number.type == SQLITE_INTEGER || is_whole_real(number);
}

// Returns a whole number as the text that SQLite writes for an integer: a view of `buffer`.
KeyView integer_text(const KeyView& number, std::string& buffer) {
  buffer = std::to_string(number.type == SQLITE_INTEGER ? number.integer
                                                        : static_cast<int64_t>(number.real));
  return {SQLITE_TEXT, 0, 0, buffer.data(), static_cast<int>(buffer.size())};
}

}  // namespace

std::optional<KeyView> EqualKeys::only(sqlite3_value* value) {
  if (!is_compared_anew(value)) {
    return as_stored(value);
  }
  if (is_ambiguous(notes())) {
    return std::nullopt;
  }
  const KeyView key = key_of(value, Affinity::kNone, given_);
  if (is_infinite_text(key)) {
    return key_of(value, Affinity::kText, text_);
  }
  if ((notes() & kHeldNumber) != 0) {
    return key;
  }
  if ((notes() & kHeldPlainInteger) != 0 && is_whole(key)) {
    return integer_text(key, text_);
  }
  return KeyView();
}

// Returns the value as the key column would store it. Returns NULL for an integer that the column
// would store as another number, because it equals no key.
KeyView EqualKeys::as_stored(sqlite3_value* value) {
  const KeyView key = key_of(value, columns_.key_affinity(), text_);
  if (key.type == SQLITE_FLOAT && sqlite3_value_numeric_type(value) == SQLITE_INTEGER &&
      whole_number(key.real) != sqlite3_value_int64(value)) {
    return {};
  }
  return key;
}

void EqualKeys::add_row(const KeyView& key, std::vector<FlashStore::Listed>& rows) {
  encode_flash_key(key, live_.options().digest, key_bytes_);
  const HashedKey hashed = live_.flash().hashed(key_bytes_);
  Result<std::optional<FlashEntry>> found = live_.flash().find(hashed);
  live_.expect(found.take_status());
  if (found.value()) {
    rows.push_back({*found.value(), hashed.hash});
  }
}

void EqualKeys::add_rows(sqlite3_value* value, std::vector<FlashStore::Listed>& rows) {
  if (!is_compared_anew(value)) {
    if (const KeyView key = as_stored(value); key.type != SQLITE_NULL) {
      add_row(key, rows);
    }
    return;
  }
  const KeyView key = key_of(value, Affinity::kNone, given_);
  if ((notes() & kHeldNumber) != 0) {
    add_row(key, rows);
  }
  if ((notes() & kHeldPlainInteger) != 0 && is_whole(key)) {
    add_row(integer_text(key, text_), rows);
  }
  const bool held_number_text = (notes() & kHeldNumberText) != 0;
  const double number = key.type == SQLITE_INTEGER ? static_cast<double>(key.integer) : key.real;
  if (is_infinite_text(key) || (held_number_text && columns_.key_affinity() == Affinity::kText)) {
    add_row(key_of(value, Affinity::kText, text_), rows);  // as SQLite writes it
  }
  if (!held_number_text) {
    return;
  }
  live_.expect(number_texts_.find(live_.flash(), number,
                                  [&](const FlashStore::Listed& row) { rows.push_back(row); }));
}

}  // namespace cuckoo
