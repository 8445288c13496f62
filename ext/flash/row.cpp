#include "ext/flash/row.hpp"

#include <optional>
#include <string>

#include "ext/flash/value.hpp"
#include "ext/sqlite/function.hpp"

namespace cuckoo {
namespace {

// Returns a key as a statement would write it.
std::string shown(const KeyView& key) {
  switch (key.type) {
    case SQLITE_INTEGER:
      return std::to_string(key.integer);
    case SQLITE_FLOAT:
      return std::to_string(key.real);
    case SQLITE_TEXT:
      return "'" + printable(std::string_view(key.bytes, static_cast<size_t>(key.size))) + "'";
    default:
      return "x'" + hex_of(bytes_of(key)) + "'";
  }
}

}  // namespace

bool FlashRow::find(const KeyView& key, bool with_value) {
  encode_flash_key(key, live_.options().digest, key_);
  has_key_ = true;
  damaged_ = false;
  if (with_value) {
    Result<bool> found = live_.flash().get(key_, value_);
    has_value_ = found.ok() && found.value();
    return found.ok() ? has_value_ : find_damaged(key, found.take_status());
  }
  Result<std::optional<FlashEntry>> found = live_.flash().find(key_);
  entry_ = found.ok() ? found.value().value_or(FlashEntry{}) : FlashEntry{};
  has_place_ = found.ok() && found.value().has_value();
  return found.ok() ? has_place_ : find_damaged(key, found.take_status());
}

// Returns true if the status says that the row of key_ is damaged, and throws if it says another
// thing.
bool FlashRow::find_damaged(const KeyView& key, const Status& status) {
  if (status.error().code == ErrorCode::kCorrupt) {
    Result<std::optional<FlashEntry>> found =
        live_.flash().find_damaged_too(live_.flash().hashed(key_));
    live_.expect(found.take_status());
    damaged_ = found.value().has_value();
    shown_ = shown(key);
  }
  if (!damaged_) {
    live_.expect(status);
  }
  return true;
}

Result<bool> FlashRow::read(FlashStore::Listed& listed, bool with_value) {
  Result<bool> found =
      live_.flash().read(listed.entry, listed.hash, key_, with_value ? &value_ : nullptr);
  if (!found.ok()) {
    if (found.error().code != ErrorCode::kCorrupt) {
      live_.expect(found.take_status());
    }
    forget();
    return found;
  }
  entry_ = listed.entry;
  has_key_ = has_place_ = found.value();
  has_value_ = found.value() && with_value;
  return found.value();
}

// Throws the error of a row that can't be read, with its key.
void FlashRow::expect_read(Status status) const {
  if (damaged_ && status.error().code == ErrorCode::kCorrupt) {
    Error error = status.take_error();
    error.message = "the row with the key " + shown_ + " is damaged: " + error.message +
                    "; replace it or DELETE it";
    status = std::move(error);
  }
  live_.expect(status);
}

bool FlashRow::load_value() {
  Result<bool> found = live_.flash().get(key_, value_);
  expect_read(found.take_status());
  has_value_ = found.value();
  return has_value_;
}

bool FlashRow::load_place() {
  Result<std::optional<FlashEntry>> found = live_.flash().find(key_);
  expect_read(found.take_status());
  entry_ = found.value().value_or(FlashEntry{});
  has_place_ = found.value().has_value();
  return has_place_;
}

bool FlashRow::key_was_given_as_real() {
  if (has_value_) {
    return key_was_real(value_);
  }
  return !damaged_ && has_place() && key_was_real({&entry_.first_byte, 1});
}

void FlashRow::result_key(sqlite3_context* context) {
  const bool was_real = columns_.key_affinity() == Affinity::kReal ||
                        (columns_.shows_reals(key_) && key_was_given_as_real());
  live_.expect(result_flash_key(context, key_, was_real, live_.options().digest));
}

void FlashRow::result_digest(sqlite3_context* context) {
  const std::string text =
      digest_text(connection_.kept<Digester>(), live_.options().digest, value_);
  if (!text.empty()) {
    result_text(context, text);
  }
}

void FlashRow::result_value(sqlite3_context* context) {
  live_.expect(result_flash_value(context, value_));
}

}  // namespace cuckoo
