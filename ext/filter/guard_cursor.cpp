// GuardTable::Cursor: the filter's answer, then the rows of a statement on the table.
#include <algorithm>
#include <set>

#include "ext/filter/guard.hpp"
#include "ext/sqlite/function.hpp"

namespace cuckoo {

void GuardTable::Cursor::choose(int number) {
  give_back();
  number_ = -1;
  if (number == kPlanAgain) {
    table_.plan_again();
  }
  table_.refuse_self_insert();
  plan_ = table_.plans_[static_cast<size_t>(number)].get();
  const GuardPlan& plan = plan_->plan;
  asks_integers_ = false;
  if (plan.asks()) {
    live_ = table_.filter();
    live_->follow();
    const GuardTerm& term = plan.terms[static_cast<size_t>(plan.asked[0])];
    const Affinity affinity = table_.key_column(0).affinity;
    asks_integers_ = plan.asked.size() == 1 && !term.list &&
                     (affinity == Affinity::kInteger || affinity == Affinity::kNumeric);
    asked_argument_ = plan.asked[0];
  }
  lists_.resize(plan.lists.size());
  for (size_t i = 0; i < lists_.size(); ++i) {
    lists_[i].term = plan.lists[i];
  }
  number_ = number;
}

void GuardTable::Cursor::give_back() noexcept {
  if (prepared_ != nullptr) {
    statement_.reset();
    running_ = false;
    table_.give_back(*std::exchange(prepared_, nullptr), std::move(statement_));
  }
}

// --- the values ----------------------------------------------------------------------------------

// Returns whether the filter may be asked. If a value of the key is NULL, the filter may not be
// asked: it holds neither the rows with this NULL nor their types. A NULL in a list finds no row.
bool GuardTable::Cursor::asks_with_values(sqlite3_value** values) const {
  const GuardPlan& plan = plan_->plan;
  return plan.asks() && std::none_of(plan.asked.begin(), plan.asked.end(), [&](int asked) {
           const GuardTerm& term = plan.terms[static_cast<size_t>(asked)];
           return !term.list && is_null(values[asked]);
         });
}

Fit GuardTable::Cursor::fit_of(const GuardTerm& term, sqlite3_value* value) const {
  const bool known = keyed_ && term.untyped_key >= 0;
  return fit(term, table_.table_, value,
             known ? live_->key_domain().column(static_cast<size_t>(term.untyped_key)).types
                   : uint8_t{kUnknownKeys});
}

// `asked`: the filter was asked already, and said maybe.
void GuardTable::Cursor::look_up(sqlite3_value** values, bool asked) {
  const GuardPlan& plan = plan_->plan;
  if (plan.asks() && !asked && !live_->ready_for_keys()) {
    live_->follow();  // a roll-back may have come between
  }
  keyed_ = asks_with_values(values);
  uint32_t pushed = 0;
  uint32_t colons = 0;
  for (size_t i = 0; i < plan.terms.size(); ++i) {
    const GuardTerm& term = plan.terms[i];
    if (term.list) {
      continue;
    }
    const Fit fits = fit_of(term, values[i]);
    if (fits == Fit::kNever) {
      return;
    }
    const uint32_t bit = uint32_t{1} << i;
    pushed |= fits == Fit::kLeave ? 0 : bit;
    colons |= fits == Fit::kPushColon ? bit : 0;
  }
  if (!asked && pushes_key(pushed) && !ask(values)) {
    return;
  }
  if (!lists_.empty()) {
    asks_combinations_ = false;
    const bool lists_of_key = !pushes_key(pushed);
    if (!take_lists(values, pushed)) {
      return;
    }
    if (lists_of_key && plan.asked.size() > 1 && pushes_key(pushed)) {
      copy_asked(values);
      asks_combinations_ = true;
      if (!may_have_combination() && !next_combination()) {
        return;
      }
    }
  }
  start(values, pushed, colons);
}

// Returns whether these terms give a value for each column of the key.
bool GuardTable::Cursor::pushes_key(uint32_t pushed) const {
  const GuardPlan& plan = plan_->plan;
  return keyed_ && std::all_of(plan.asked.begin(), plan.asked.end(),
                               [pushed](int term) { return (pushed >> term & 1) != 0; });
}

bool GuardTable::Cursor::pushes_nothing_else(uint32_t pushed) const {
  for (const int term : plan_->plan.asked) {
    pushed &= ~(uint32_t{1} << term);
  }
  return pushed == 0;
}

// --- the filter ----------------------------------------------------------------------------------

bool GuardTable::Cursor::ask(sqlite3_value** values) {
  const GuardPlan& plan = plan_->plan;
  const auto value = [&](size_t i) { return values[plan.asked[i]]; };
  if (plan.asked.size() == 1) {
    return live_->contains(key_of(value(0), live_->key_affinity(), text_));
  }
  const KeyDomain keys(live_->key_form(), 0);
  tuple_.begin(plan.asked.size());
  for (size_t i = 0; i < plan.asked.size(); ++i) {
    tuple_.add(key_of(value(i), keys.column(i).affinity, text_), keys.column(i).collation);
  }
  return live_->contains(tuple_.view());
}

// Copies the key's values that are no lists, because SQLite's values are valid only during xFilter.
void GuardTable::Cursor::copy_asked(sqlite3_value** values) {
  const GuardPlan& plan = plan_->plan;
  const KeyDomain keys(live_->key_form(), 0);
  asked_.resize(plan.asked.size());
  for (size_t i = 0; i < asked_.size(); ++i) {
    const GuardTerm& term = plan.terms[static_cast<size_t>(plan.asked[i])];
    if (!term.list) {
      asked_[i].assign(values[plan.asked[i]], keys.column(i).affinity);
    }
  }
}

// Asks the filter for the current combination.
bool GuardTable::Cursor::may_have_combination() {
  if (!live_->ready_for_keys()) {
    live_->follow();  // a roll-back may have come between
  }
  const GuardPlan& plan = plan_->plan;
  const KeyDomain keys(live_->key_form(), 0);
  tuple_.begin(plan.asked.size());
  for (size_t i = 0; i < plan.asked.size(); ++i) {
    const auto list = std::find_if(lists_.begin(), lists_.end(),
                                   [&](const List& one) { return one.term == plan.asked[i]; });
    tuple_.add(list == lists_.end() ? asked_[i].view() : list->values[list->at].view(),
               keys.column(i).collation);
  }
  return live_->contains(tuple_.view());
}

// --- lists ---------------------------------------------------------------------------------------

// Adds to `pushed` the lists that the statement can take. Returns false if one of the lists has no
// value left. SQLite tests the other lists: all of them if the index does not serve these values,
// all but the one that begins it if they make more combinations than it finds rows.
bool GuardTable::Cursor::take_lists(sqlite3_value** values, uint32_t& pushed) {
  const GuardPlan& plan = plan_->plan;
  bool all = true;
  double combinations = 1;
  for (List& list : lists_) {
    list.taken = take_list(list, values[list.term]);
    if (list.taken && list.values.empty()) {
      return false;
    }
    all = all && list.taken;
    combinations *= list.term == plan.lead ? 1 : static_cast<double>(list.values.size());
    pushed |= list.taken ? uint32_t{1} << list.term : 0;
  }
  const bool leads = (pushed >> plan.lead & 1) != 0;
  for (List& list : lists_) {
    list.taken = leads && (list.term == plan.lead || (all && combinations <= plan.lead_rows));
    pushed &= ~(list.taken ? 0 : uint32_t{1} << list.term);
  }
  return true;
}

// Keeps the values that the table may have, as its column stores them. Returns false if the
// statement can't find all rows that equal one of the values.
bool GuardTable::Cursor::take_list(List& list, sqlite3_value* values) {
  const GuardPlan& plan = plan_->plan;
  const GuardTerm& term = plan.terms[static_cast<size_t>(list.term)];
  const Affinity affinity = term.column == GuardTerm::kRowid
                                ? Affinity::kNone
                                : table_.table_.columns[static_cast<size_t>(term.column)].affinity;
  const auto for_each = [&](const auto& visit) {
    sqlite3_value* value = nullptr;
    int code = sqlite3_vtab_in_first(values, &value);
    while (code == SQLITE_OK && value != nullptr && visit(value)) {
      code = sqlite3_vtab_in_next(values, &value);
    }
    if (code != SQLITE_OK && code != SQLITE_DONE) {
      throw SqlError(code, "");
    }
  };
  list.values.clear();
  list.at = 0;
  bool all = true;
  for_each([&](sqlite3_value* value) {
    const Fit fits = fit_of(term, value);
    all = fits == Fit::kPush || fits == Fit::kNever;
    return all;
  });
  const bool is_key = plan.asked.size() == 1 && plan.asked[0] == list.term;
  if (all) {
    std::set<double> reals;  // a REAL column stores two integers beyond 2^53 as one real
    for_each([&](sqlite3_value* value) {
      const KeyView key = key_of(value, affinity, text_);
      const bool is_new = key.type != SQLITE_FLOAT || reals.insert(key.real).second;
      if (is_new && key.type != SQLITE_NULL && (!is_key || live_->contains(key))) {
        list.values.emplace_back().assign(key);
      }
      return true;
    });
  }
  return all;
}

// Goes to the next combination of values that the table may have. Returns false if there is none.
bool GuardTable::Cursor::next_combination() {
  // SQLite notices an interrupt only while it runs a statement. So the kLookUpOneIn-th combination
  // that the filter lacks is looked up all the same.
  constexpr uint32_t kLookUpOneIn = 4096;
  for (uint32_t i = 1;; ++i) {
    auto list = lists_.rbegin();
    while (list != lists_.rend() && (!list->taken || ++list->at == list->values.size())) {
      (list++)->at = 0;
    }
    if (list == lists_.rend()) {
      return false;
    }
    const bool maybe = !asks_combinations_ || may_have_combination();
    if (maybe || i % kLookUpOneIn == 0) {
      in_vain_ = only_key_ && maybe;
      return true;
    }
  }
}

// --- the statement -------------------------------------------------------------------------------

void GuardTable::Cursor::start(sqlite3_value** values, uint32_t pushed, uint32_t colons) {
  const GuardPlan& plan = plan_->plan;
  const bool lists =
      std::any_of(lists_.begin(), lists_.end(), [](const List& list) { return list.taken; });
  one_row_ = plan.one_row != 0 && (pushed & plan.one_row) == plan.one_row && !lists;
  if (prepared_ == nullptr || pushed_ != pushed) {
    give_back();
    Prepared& prepared = table_.prepared(*plan_, pushed);
    statement_ = table_.take(prepared);
    prepared_ = &prepared;
    pushed_ = pushed;
  }
  running_ = true;
  only_key_ = pushes_key(pushed) && pushes_nothing_else(pushed);
  in_vain_ = only_key_;
  bind(values, pushed, colons);
  step();
}

void GuardTable::Cursor::bind(sqlite3_value** values, uint32_t pushed, uint32_t colons) {
  static const std::string colon = ":";
  const GuardPlan& plan = plan_->plan;
  auto list = lists_.begin();
  int parameter = 0;
  for (size_t i = 0; i < plan.terms.size(); ++i) {
    const GuardTerm& term = plan.terms[i];
    const bool is_pushed = (pushed >> i & 1) != 0 && term.has_value();
    parameter += is_pushed ? 1 : 0;
    if (term.list) {
      (list++)->parameter = parameter;
      continue;
    }
    if (!is_pushed) {
      continue;
    }
    sqlite3_value* const value = values[i];
    if ((colons >> i & 1) != 0) {
      statement_.bind(parameter, colon);
    } else if (sqlite3_value_type(value) == SQLITE_INTEGER) {
      statement_.bind(parameter, static_cast<int64_t>(sqlite3_value_int64(value)));
    } else if (sqlite3_value_type(value) == SQLITE_TEXT) {
      // sqlite3_bind_value() takes U+FEFF at the beginning of a UTF-16 text for a byte order mark.
      statement_.bind_copy(parameter, text_bytes(value, text_));
    } else {
      statement_.bind(parameter, value);
    }
  }
  bind_combination();
}

void GuardTable::Cursor::bind_combination() {
  for (const List& list : lists_) {
    if (!list.taken) {
      continue;
    }
    const KeyView key = list.values[list.at].view();
    switch (key.type) {
      case SQLITE_INTEGER:
        statement_.bind(list.parameter, key.integer);
        break;
      case SQLITE_FLOAT:
        statement_.bind(list.parameter, key.real);
        break;
      case SQLITE_TEXT:
        statement_.bind_copy(list.parameter,
                             std::string_view(key.bytes, static_cast<size_t>(key.size)));
        break;
      default:
        statement_.bind_copy(list.parameter, bytes_of(key));
        break;
    }
  }
}

void GuardTable::Cursor::step() {
  at_end_ = true;
  while (!statement_.step()) {
    if (in_vain_) {
      live_->note_false_positive();
    }
    if (!next_combination()) {
      stop();
      return;
    }
    statement_.restart();
    bind_combination();
  }
  in_vain_ = false;
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

// Gives all values of the primary key as one BLOB: the type of each, the length of a text or BLOB,
// and the bytes. So no two rows have the same BLOB.
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
