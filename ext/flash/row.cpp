#include "ext/flash/row.hpp"

#include <optional>
#include <string>

#include "ext/flash/value.hpp"
#include "ext/sqlite/function.hpp"

namespace cuckoo {

bool FlashRow::find(const KeyView& key, bool with_value) {
  encode_flash_key(key, live_.options().digest, key_);
  has_key_ = true;
  if (with_value) {
    Result<bool> found = live_.flash().get(key_, value_);
    live_.expect(found.take_status());
    has_value_ = found.value();
    return has_value_;
  }
  Result<std::optional<FlashEntry>> found = live_.flash().find(key_);
  live_.expect(found.take_status());
  entry_ = found.value().value_or(FlashEntry{});
  has_place_ = found.value().has_value();
  return has_place_;
}

bool FlashRow::read(FlashStore::Listed& listed, bool with_value) {
  Result<bool> found =
      live_.flash().read(listed.entry, listed.hash, key_, with_value ? &value_ : nullptr);
  live_.expect(found.take_status());
  entry_ = listed.entry;
  has_key_ = has_place_ = found.value();
  has_value_ = found.value() && with_value;
  return found.value();
}

bool FlashRow::load_value() {
  Result<bool> found = live_.flash().get(key_, value_);
  live_.expect(found.take_status());
  has_value_ = found.value();
  return has_value_;
}

bool FlashRow::load_place() {
  Result<std::optional<FlashEntry>> found = live_.flash().find(key_);
  live_.expect(found.take_status());
  entry_ = found.value().value_or(FlashEntry{});
  has_place_ = found.value().has_value();
  return has_place_;
}

bool FlashRow::key_was_given_as_real() {
  if (has_value_) {
    return key_was_real(value_);
  }
  return has_place() && key_was_real({&entry_.first_byte, 1});
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
