#include "ext/filter/declared_source.hpp"

#include <algorithm>
#include <utility>

#include "core/filter/sizing.hpp"
#include "ext/filter/intake.hpp"
#include "ext/filter/live_filter.hpp"
#include "ext/sqlite/function.hpp"

namespace cuckoo {

// --- creating and connecting ---------------------------------------------------------------------

DeclaredSource::DeclaredSource(LiveFilter& live, KeyColumns& key, const Options& options,
                               bool creating)
    : live_(live),
      key_(key),
      declared_(options.has("source")),
      triggers_(declared_ && options.on("triggers").value_or(false)) {
  live_.set_damage({});
  if (declared_ && creating) {
    resolve(options);
  } else if (declared_) {
    read_stored();
  }
  live_.declare_source(declared_ ? std::optional(CheckedSource{triggers_}) : std::nullopt);
}

FilterSource DeclaredSource::source() const { return {live_.store(), key_.names()}; }

SourceSpec DeclaredSource::parse(const Options& options) const {
  SourceText text = parse_source(*options.text("source")).value();
  if (text.keys.size() != key_.count()) {
    throw SqlError(SQLITE_ERROR, key_.table() + ": its source gives keys of " +
                                     std::to_string(text.keys.size()) +
                                     " column(s), and the key has " + std::to_string(key_.count()) +
                                     "; name as many in front of the options");
  }
  return {std::move(text.table), std::move(text.keys), options.text("where").value_or(""), {}};
}

void DeclaredSource::resolve(const Options& options) {
  chosen_ = parse(options);
  const std::vector<SourceKey> from =
      resolve_source(live_.store().db(), key_.table(), live_.schema(), chosen_);
  for (size_t i = 0; i < key_.count(); ++i) {
    if (from[i].of_column) {
      key_.adopt_source(i, from[i]);
    }
  }
}

// I1, I2
void DeclaredSource::read_stored() {
  try {
    const FilterSource::Stored stored = source().stored();
    suffix_ = stored.suffix;
    for (size_t i = 0; i < std::min(key_.count(), stored.key_types.size()); ++i) {
      const auto collation = stored.form.collation(static_cast<unsigned>(i));
      key_.adopt(i, stored.key_types[i], static_cast<Collation>(collation));
    }
  } catch (const SqlError& error) {
    if ((error.code() & 0xFF) != SQLITE_CORRUPT) {
      throw;
    }
    live_.set_damage(SqlError(SQLITE_CORRUPT_VTAB, error.message()));
  }
}

uint64_t DeclaredSource::capacity() const {
  constexpr uint64_t kLeast = 1000;
  const uint64_t keys = count_source(live_.store().db(), live_.schema(), chosen_);
  return std::clamp(keys + (keys + 3) / 4, kLeast, kMaxCapacity);
}

void DeclaredSource::create() {
  FilterSource from = source();
  suffix_ = triggers_ ? SourceName::new_suffix() : std::string();
  from.store({chosen_, key_.types(), {}, suffix_});
  load(from, 0);
  live_.finish_create();
  if (triggers_) {
    from.create_triggers();
  }
}

// --- later ---------------------------------------------------------------------------------------

void DeclaredSource::drop() {
  if (triggers_) {
    source().drop_triggers();
  }
}

bool DeclaredSource::detach() {
  const bool in_step = triggers_ && source().look().triggers == FilterSource::Triggers::kInPlace;
  if (triggers_) {
    source().detach_triggers();
  }
  return in_step;
}

std::optional<DeclaredSource::TriggerEvent> DeclaredSource::event_of(sqlite3_value* command) {
  if (!triggers_ || sqlite3_value_type(command) != SQLITE_TEXT) {
    return std::nullopt;
  }
  const std::string text = text_argument(command);
  const std::optional<SourceCommand> word = SourceCommand::parse(text);
  if (!word) {
    return std::nullopt;
  }
  if (word->suffix != suffix_) {
    return TriggerEvent::kOfOthers;
  }
  if (std::exchange(may_be_renamed_, false)) {
    store_new_names();
  }
  return word->removes ? TriggerEvent::kDelete : TriggerEvent::kInsert;
}

// A damaged row, or an authorizer that hides the schema, must not keep anybody from writing to the
// source.
void DeclaredSource::store_new_names() {
  try {
    stored_names_.update(live_.store().db(), live_.schema(), true, [this] {
      return !source().store_names();  // what it wrote may be undone: then it is no fact yet
    });
  } catch (const SqlError& error) {
    if (undoes_transaction(error.code())) {
      throw;
    }
  }
}

void DeclaredSource::load(const FilterSource& from, uint64_t capacity) {
  Intake(live_, "rebuild")
      .replace(
          [&](const auto& visit) {
            from.for_each_row(
                [&](std::span<sqlite3_value*> keys) { visit(key_.given(keys.data())); });
          },
          capacity);
}

void DeclaredSource::rebuild(uint64_t capacity) {
  FilterSource from = source();
  load(from, capacity);
  if (triggers_) {
    const FilterSource::Found found = from.look();
    const bool sound = found.triggers == FilterSource::Triggers::kInPlace &&
                       from.newer_trigger(found).empty() && !found.leftovers;
    if (sound) {
      (void)from.store_names();
    } else {
      from.detach_triggers();
      from.create_triggers();
    }
  }
}

void DeclaredSource::refuse_losing_keys(const char* command) const {
  if (triggers_) {
    throw SqlError(SQLITE_ERROR, key_.table() + ": " + command +
                                     " would lose keys that its source still has; 'rebuild' loads"
                                     " them anew");
  }
}

}  // namespace cuckoo
