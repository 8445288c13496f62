#include "ext/filter/commands.hpp"

#include <cmath>

#include "core/filter/sizing.hpp"
#include "ext/filter/filter_messages.hpp"
#include "ext/filter/image_filter.hpp"
#include "ext/filter/intake.hpp"

namespace cuckoo {

std::span<const Command<FilterCommands>> FilterCommands::all() noexcept {
  using Argument = Command<FilterCommands>::Argument;
  static constexpr Command<FilterCommands> kAll[] = {
      {"apply", Argument::kTaken, &FilterCommands::apply},
      {"check", Argument::kNone, &FilterCommands::check},
      {"clear", Argument::kNone, &FilterCommands::clear},
      {"delete", Argument::kTaken, &FilterCommands::remove},
      {"import", Argument::kTaken, &FilterCommands::import},
      {"merge", Argument::kTaken, &FilterCommands::merge},
      {"rebuild", Argument::kNone, &FilterCommands::rebuild},
      {"resize", Argument::kTaken, &FilterCommands::resize},
      {"rotate", Argument::kOptional, &FilterCommands::rotate},
  };
  return kAll;
}

void FilterCommands::run(sqlite3_value* command, sqlite3_value** keys, sqlite3_value* count) {
  keys_ = keys;
  count_ = count;
  if (const std::string word = lower(text_argument(command)); word != "delete") {
    expect_one_argument(word);
  }
  run_command(*this, all(), command, keys[0]);
}

bool FilterCommands::replaces_all(sqlite3_value* command) const {
  const std::string word = lower(text_argument(command));
  return word == "clear" || word == "import" || (word == "rebuild" && source_.declared());
}

void FilterCommands::expect_one_argument(const std::string& command) const {
  for (size_t i = 1; i < key_.count(); ++i) {
    if (!is_null(keys_[i])) {
      throw SqlError(SQLITE_ERROR, name() + ": the argument of '" + printable(command) +
                                       "' goes into the first key column, " + key_.name(0) +
                                       "; leave " + key_.name(i) + " out");
    }
  }
  if (!is_null(count_)) {
    throw SqlError(SQLITE_ERROR, name() + ": of the commands only 'delete' takes a count");
  }
}

void FilterCommands::apply(sqlite3_value* changes) {
  source_.refuse_losing_keys("apply");
  if (sqlite3_value_type(changes) != SQLITE_BLOB) {
    throw SqlError(SQLITE_ERROR, name() + ": apply takes what filter_changes() gave, a BLOB; " +
                                     (is_null(changes) ? "NULL says that the origin gave nothing"
                                                       : "bind it as a BLOB, not as TEXT"));
  }
  FilterMessages(live_).apply(blob_of(changes));
}

void FilterCommands::clear(sqlite3_value*) {
  source_.refuse_losing_keys("clear");
  live_.clear();
}

void FilterCommands::import(sqlite3_value* image) {
  source_.refuse_losing_keys("import");
  if (sqlite3_value_type(image) != SQLITE_BLOB) {
    throw SqlError(
        SQLITE_ERROR,
        name() + ": import takes an image, a BLOB made by filter_export()" + kHintBindAsBlob);
  }
  FilterMessages(live_).import(blob_of(image));
}

void FilterCommands::merge(sqlite3_value* other) {
  if (sqlite3_value_type(other) == SQLITE_BLOB) {
    Intake(live_, "merge").merge(blob_of(other));
  } else if (sqlite3_value_type(other) == SQLITE_TEXT) {
    Intake(live_, "merge").merge(*connection_.find<LiveFilter>(text_argument(other)));
  } else {
    throw SqlError(SQLITE_ERROR, name() + ": merge takes a filter's name or an image");
  }
}

void FilterCommands::resize(sqlite3_value* capacity) {
  const std::optional<double> number = parse_number(text_argument(capacity));
  if (!number || *number < 1 || *number > static_cast<double>(kMaxCapacity) ||
      std::floor(*number) != *number) {
    throw SqlError(SQLITE_ERROR,
                   name() + ": resize takes a capacity, a whole number from 1 to 2^40");
  }
  const auto whole = static_cast<uint64_t>(*number);
  if (live_.filter().newest().keeps_hashes()) {
    live_.resize(whole);
  } else {
    rebuild_for(whole);
  }
}

void FilterCommands::rotate(sqlite3_value* number) {
  if (is_null(number)) {
    live_.rotate(std::nullopt);
    return;
  }
  // A REAL, or a text of a number, is taken if it is whole.
  const int64_t whole = sqlite3_value_int64(number);
  if (sqlite3_value_numeric_type(number) == SQLITE_INTEGER
          ? whole < 0
          : sqlite3_value_type(number) != SQLITE_FLOAT ||
                sqlite3_value_double(number) != static_cast<double>(whole)) {
    throw SqlError(SQLITE_ERROR,
                   name() +
                       ": rotate takes the number of a generation, a whole number from 0 to"
                       " 2^60, or none");
  }
  live_.rotate(static_cast<uint64_t>(whole));
}

// Rebuilds from the source if there is one, otherwise from the stored hashes.
void FilterCommands::rebuild_for(uint64_t capacity) {
  if (source_.declared()) {
    source_.rebuild(capacity);
  } else {
    live_.resize(capacity);
  }
}

}  // namespace cuckoo
