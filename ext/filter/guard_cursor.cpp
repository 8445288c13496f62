// GuardTable::Cursor: the filter's answer, then the rows of a statement on the table.
#include <cstring>

#include "ext/filter/guard.hpp"
#include "ext/sqlite/function.hpp"

namespace cuckoo {

void GuardTable::Cursor::choose(int number) {
  give_back();
  number_ = -1;
  plan_ = table_.plans_[static_cast<size_t>(number)].get();
  const GuardPlan& plan = plan_->plan;
  asks_integers_ = false;
  if (plan.asked >= 0) {
    live_ = table_.filter();
    live_->follow();
    const GuardTerm& term = plan.terms[static_cast<size_t>(plan.asked)];
    const Affinity affinity = table_.table_.columns[static_cast<size_t>(table_.key_)].affinity;
    asks_integers_ =
        !term.list && (affinity == Affinity::kInteger || affinity == Affinity::kNumeric);
    asked_argument_ = term.argument;
  }
  number_ = number;
}

void GuardTable::Cursor::give_back() noexcept {
  if (prepared_ != nullptr) {
    stop();
    table_.give_back(*std::exchange(prepared_, nullptr), std::move(statement_));
  }
}

// --- the values ----------------------------------------------------------------------------------

uint8_t GuardTable::Cursor::key_types(const GuardTerm& term) const {
  return live_ != nullptr && term.column == table_.key_ ? live_->key_domain().column(0).types
                                                        : uint8_t{kUnknownKeys};
}

bool GuardTable::Cursor::may_have(sqlite3_value* value) {
  return is_null(value) || live_->contains(key_of(value, live_->key_affinity()));
}

// `asked`: the filter was, and it said maybe.
void GuardTable::Cursor::look_up(sqlite3_value** values, bool asked) {
  const GuardPlan& plan = plan_->plan;
  if (plan.asked >= 0 && !asked) {
    live_->follow();  // a roll-back may have come between
  }
  uint32_t pushed = 0;
  uint32_t colons = 0;
  for (size_t i = 0; i < plan.terms.size(); ++i) {
    const GuardTerm& term = plan.terms[i];
    const uint32_t bit = uint32_t{1} << i;
    sqlite3_value* const value = values[term.argument];
    if (term.list) {
      if (take_list(value)) {
        if (list_.empty()) {
          return;
        }
        pushed |= bit;
      }
      continue;
    }
    const Fit fits = fit(term, table_.table_, value, key_types(term));
    if (fits == Fit::kNever) {
      return;
    }
    if (fits == Fit::kLeave) {
      continue;
    }
    pushed |= bit;
    colons |= fits == Fit::kPushColon ? bit : 0;
    if (static_cast<int>(i) == plan.asked && !asked && !may_have(value)) {
      return;
    }
  }
  start(values, pushed, colons);
}

// Keeps those values that the table may have. False: the statement can't find all rows that equal
// one of them.
bool GuardTable::Cursor::take_list(sqlite3_value* list) {
  const GuardPlan& plan = plan_->plan;
  const GuardTerm& term = plan.terms[static_cast<size_t>(plan.list)];
  const auto for_each = [&](const auto& visit) {
    sqlite3_value* value = nullptr;
    int code = sqlite3_vtab_in_first(list, &value);
    while (code == SQLITE_OK && value != nullptr && visit(value)) {
      code = sqlite3_vtab_in_next(list, &value);
    }
    if (code != SQLITE_OK && code != SQLITE_DONE) {
      throw SqlError(code, "");
    }
  };
  list_.clear();
  bool all = true;
  for_each([&](sqlite3_value* value) {
    const Fit fits = fit(term, table_.table_, value, key_types(term));
    all = fits == Fit::kPush || fits == Fit::kNever;
    return all;
  });
  if (all) {
    for_each([&](sqlite3_value* value) {
      if (!is_null(value) && (plan.asked != plan.list || may_have(value))) {
        list_.emplace_back().assign(key_of(value, Affinity::kNone));
      }
      return true;
    });
  }
  return all;
}

// --- the statement -------------------------------------------------------------------------------

void GuardTable::Cursor::start(sqlite3_value** values, uint32_t pushed, uint32_t colons) {
  static const std::string colon = ":";
  const GuardPlan& plan = plan_->plan;
  const bool lists = plan.list >= 0 && (pushed >> plan.list & 1) != 0;
  one_row_ = plan.one_row != 0 && (pushed & plan.one_row) == plan.one_row && !lists;
  if (!one_row_) {
    if (!written_meanwhile_) {
      written_meanwhile_ = table_.is_written_meanwhile();
    }
    pushed |= *written_meanwhile_ ? GuardPlan::kSorted : 0;
  }
  if (prepared_ == nullptr || pushed_ != pushed) {
    give_back();
    Prepared& prepared = table_.prepared(*plan_, pushed);
    statement_ = table_.take(prepared);
    prepared_ = &prepared;
    pushed_ = pushed;
  }
  running_ = true;
  list_parameter_ = 0;
  int parameter = 0;
  for (size_t i = 0; i < plan.terms.size(); ++i) {
    const GuardTerm& term = plan.terms[i];
    if ((pushed >> i & 1) == 0 || !term.has_value()) {
      continue;
    }
    ++parameter;
    sqlite3_value* const value = values[term.argument];
    if (term.list) {
      list_parameter_ = parameter;
    } else if ((colons >> i & 1) != 0) {
      statement_.bind(parameter, colon);
    } else if (sqlite3_value_type(value) == SQLITE_INTEGER) {
      statement_.bind(parameter, static_cast<int64_t>(sqlite3_value_int64(value)));
    } else {
      statement_.bind(parameter, value);
    }
  }
  if (lists) {
    bind_listed();
  }
  step();
}

void GuardTable::Cursor::bind_listed() {
  const KeyView key = list_.back().view();
  switch (key.type) {
    case SQLITE_INTEGER:
      statement_.bind(list_parameter_, key.integer);
      break;
    case SQLITE_FLOAT:
      statement_.bind(list_parameter_, key.real);
      break;
    case SQLITE_TEXT:
      statement_.bind_copy(list_parameter_,
                           std::string_view(key.bytes, static_cast<size_t>(key.size)));
      break;
    default:
      statement_.bind_copy(list_parameter_, bytes_of(key));
      break;
  }
  list_.pop_back();
}

void GuardTable::Cursor::step() {
  at_end_ = true;
  while (!statement_.step()) {
    if (list_parameter_ == 0 || list_.empty()) {
      stop();
      return;
    }
    statement_.restart();
    bind_listed();
  }
  at_end_ = false;
}

// --- the row -------------------------------------------------------------------------------------

void GuardTable::Cursor::column(sqlite3_context* context, int column) {
  if (column == table_.table_.row_key_column()) {
    result_row_key(context);
    return;
  }
  const int place = plan_->plan.places[static_cast<size_t>(column)];
  if (place < 0) {
    throw SqlError(SQLITE_INTERNAL,
                   table_.name_ + ": SQLite reads a column that it did not ask for");
  }
  sqlite3_result_value(context, statement_.value(place));
}

// All values of the primary key: class, length and bytes of each, so two rows never have one key.
void GuardTable::Cursor::result_row_key(sqlite3_context* context) const {
  std::vector<std::byte> key;
  const auto append = [&key](const void* bytes, size_t size) {
    const auto* const first = static_cast<const std::byte*>(bytes);
    key.insert(key.end(), first, first + size);
  };
  for (const int column : table_.table_.primary_key) {
    const int place = plan_->plan.places[static_cast<size_t>(column)];
    const int type = statement_.type(place);
    append(&type, sizeof type);
    if (type == SQLITE_INTEGER) {
      const int64_t integer = statement_.integer(place);
      append(&integer, sizeof integer);
    } else if (type == SQLITE_FLOAT) {
      const double real = statement_.real(place);
      append(&real, sizeof real);
    } else if (type != SQLITE_NULL) {
      const auto bytes = statement_.bytes(place);
      const size_t size = bytes.size();
      append(&size, sizeof size);
      append(bytes.data(), size);
    }
  }
  result_blob(context, key);
}

}  // namespace cuckoo
