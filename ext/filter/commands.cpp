// What INSERT INTO filter(filter, key) VALUES ('command', argument) does.
#include <cmath>

#include "core/filter/sizing.hpp"
#include "ext/filter/filter_messages.hpp"
#include "ext/filter/image_filter.hpp"
#include "ext/filter/intake.hpp"
#include "ext/filter/table.hpp"
#include "ext/sqlite/function.hpp"

namespace cuckoo {

std::span<const Command<FilterTable>> FilterTable::commands() noexcept {
  using Argument = Command<FilterTable>::Argument;
  static constexpr Command<FilterTable> kAll[] = {
      {"apply", Argument::kTaken, &FilterTable::run_apply},
      {"check", Argument::kNone, &FilterTable::run_check},
      {"clear", Argument::kNone, &FilterTable::run_clear},
      {"delete", Argument::kTaken, &FilterTable::run_delete},
      {"import", Argument::kTaken, &FilterTable::run_import},
      {"merge", Argument::kTaken, &FilterTable::run_merge},
      {"rebuild", Argument::kNone, &FilterTable::run_rebuild},
      {"resize", Argument::kTaken, &FilterTable::run_resize},
      {"rotate", Argument::kNone, &FilterTable::run_rotate},
  };
  return kAll;
}

void FilterTable::run_delete(sqlite3_value*) {
  for (size_t i = 0; i < columns(); ++i) {
    if (is_null(command_keys_[i])) {
      throw null_key(i, "'delete' takes a key");
    }
  }
  refuse_removal("DELETE");
  const uint64_t copies = copies_argument(command_count_);
  if (copies > 1 && unique()) {
    throw SqlError(SQLITE_ERROR, name() + ": count is " + std::to_string(copies) +
                                     ", and 'delete' finds each key once where unique = on; leave"
                                     " count out");
  }
  remove(given_key(command_keys_), copies);
}

void FilterTable::run_apply(sqlite3_value* changes) {
  refuse_losing_keys("apply");
  if (sqlite3_value_type(changes) != SQLITE_BLOB) {
    throw SqlError(SQLITE_ERROR, name() + ": apply takes what filter_changes() gave, a BLOB; " +
                                     (is_null(changes) ? "NULL says that the origin gave nothing"
                                                       : "bind it as a BLOB, not as TEXT"));
  }
  FilterMessages(*live_).apply(blob_of(changes));
}

void FilterTable::run_import(sqlite3_value* image) {
  refuse_losing_keys("import");
  if (sqlite3_value_type(image) != SQLITE_BLOB) {
    throw SqlError(
        SQLITE_ERROR,
        name() + ": import takes an image, a BLOB made by filter_export()" + kHintBindAsBlob);
  }
  FilterMessages(*live_).import(blob_of(image));
}

void FilterTable::run_merge(sqlite3_value* other) {
  if (sqlite3_value_type(other) == SQLITE_BLOB) {
    Intake(*live_, "merge").merge(blob_of(other));
  } else if (sqlite3_value_type(other) == SQLITE_TEXT) {
    Intake(*live_, "merge").merge(*connection_.find<LiveFilter>(text_argument(other)));
  } else {
    throw SqlError(SQLITE_ERROR, name() + ": merge takes a filter's name or an image");
  }
}

void FilterTable::run_resize(sqlite3_value* argument) {
  const std::optional<double> capacity = parse_number(text_argument(argument));
  if (!capacity || *capacity < 1 || *capacity > static_cast<double>(kMaxCapacity) ||
      std::floor(*capacity) != *capacity) {
    throw SqlError(SQLITE_ERROR,
                   name() + ": resize takes a capacity, a whole number from 1 to 2^40");
  }
  const auto whole = static_cast<uint64_t>(*capacity);
  if (live_->filter().newest().keeps_hashes()) {
    live_->resize(whole);
  } else {
    rebuild(whole);
  }
}

// From the source, else from the stored hashes.
void FilterTable::rebuild(uint64_t capacity) {
  if (!has_source()) {
    live_->resize(capacity);
    return;
  }
  FilterSource from = source();
  load_from(from, capacity);
  if (triggers_) {
    const bool sound =
        from.triggers() == FilterSource::Triggers::kInPlace && from.newer_trigger().empty();
    from.store_names();
    if (!sound) {
      from.detach_triggers();
      from.create_triggers();
    }
  }
}

// Where triggers keep it in step with its source.
void FilterTable::refuse_losing_keys(const char* command) const {
  if (triggers_) {
    throw SqlError(SQLITE_ERROR, name() + ": " + command +
                                     " would lose keys that its source still has; 'rebuild' loads"
                                     " them anew");
  }
}

}  // namespace cuckoo
