// The steps of a ModelScript on filters with unique = on, and those that take one filter into
// another.
//
// Nobody can foretell which new keys a filter skips because they look present, so the model judges
// a statement by what it says it did. A key that must be there has to be refused or skipped,
// always.
#include <algorithm>

#include "tests/ext/table/model_script.hpp"

namespace cuckoo::test {
namespace {

using End = Expected::End;

// Below this rate a filter may have been made with hashes of 63 bits. Such a filter takes no hashes
// of 47 bits.
constexpr double kRateOfLongHashes = 0.0003;

// What a statement says that it did, and how many items there are afterwards.
struct Told {
  uint64_t changes = 0;
  uint64_t items = 0;
};

bool is_constraint(const Outcome& outcome) { return (outcome.code & 0xFF) == SQLITE_CONSTRAINT; }
bool says(const Outcome& outcome, const char* text) {
  return outcome.message.find(text) != std::string::npos;
}

Told told_by(Database& db, const std::string& table) {
  const auto changes = static_cast<uint64_t>(sqlite3_changes(db.handle()));
  return {changes, static_cast<uint64_t>(db.number("SELECT count(*) FROM " + table))};
}

Expected undone(End end, const State& before, const char* message, bool rolls_back = false) {
  return {end, before, rolls_back, message};
}

// Judges one INSERT of rows into a filter with unique = on.
class InsertJudge {
 public:
  InsertJudge(const State& before, size_t filter, bool through_app, const std::vector<NewRow>& rows,
              Policy policy)
      : before_(before),
        filter_(filter),
        through_app_(through_app),
        rows_(rows),
        policy_(policy),
        must_stop_(first_stop()) {}

  // True if what the statement did before it ended stays.
  bool left_something(const Outcome& outcome) const {
    return outcome.code == SQLITE_OK ||
           (is_constraint(outcome) &&
            (says(outcome, "stop") ? raised() == Raise::kFail : policy_ == Policy::kFail));
  }

  Expected judge(const Outcome& outcome, const Told& told) {
    if (outcome.code == SQLITE_OK) {
      return must_stop_ < rows_.size() ? wrong("the statement had to fail")
                                       : after(rows_.size(), rows_.size(), End::kDone, told);
    }
    if (says(outcome, "full: ")) {
      return may_be_full() ? undone(End::kFull, before_, "full: ") : wrong("it can't be full");
    }
    if (says(outcome, "UNIQUE") && skips()) {
      return wrong("what is there is skipped");
    }
    if (says(outcome, "UNIQUE") && must_stop_ == rows_.size()) {
      looked_present = 1;
      new_keys = rows_.size();
    }
    const bool at_stop = must_stop_ < rows_.size();
    if (says(outcome, "NULL") && (!at_stop || rows_[must_stop_].key != kNull)) {
      return wrong("the NULL is not the first thing to fail");
    }
    if (says(outcome, "stop")) {
      if (!at_stop || !raises(rows_[must_stop_])) {
        return wrong("the trigger's RAISE is not the first thing to fail");
      }
      return left_something(outcome)
                 ? after(must_stop_ + 1, must_stop_ + 1, End::kConstraint, told)
                 : undone(End::kConstraint, before_, "stop", raised() == Raise::kRollback);
    }
    if (!left_something(outcome)) {
      return undone(End::kConstraint, before_, says(outcome, "NULL") ? "NULL" : "UNIQUE",
                    policy_ == Policy::kRollback);
    }
    const uint64_t done = told.changes - (through_app_ ? 1 : 0);  // the failing row stays in app
    if (done > must_stop_ || done >= rows_.size()) {
      return wrong("more rows went in than the model lets");
    }
    return after(done, done + (through_app_ ? 1 : 0), End::kConstraint, told);
  }

  std::string mistake;          // not empty: what is wrong
  uint64_t new_keys = 0;        // that were probed, as far as is known
  uint64_t looked_present = 0;  // of these

 private:
  const FilterState& state() const { return before_.filters[filter_]; }
  bool skips() const { return policy_ == Policy::kIgnore || policy_ == Policy::kReplace; }
  static bool raises(const NewRow& row) {
    return row.raise != Raise::kNothing && row.raise != Raise::kIgnore;
  }
  Raise raised() const {
    return must_stop_ < rows_.size() ? rows_[must_stop_].raise : Raise::kNothing;
  }

  // The row at which the statement fails at the latest, whatever looks present.
  size_t first_stop() const {
    Bag earlier;
    earlier.resize(state().keys.keys());
    for (size_t i = 0; i < rows_.size(); ++i) {
      const uint64_t key = rows_[i].key;
      if (key == kNull ? policy_ != Policy::kIgnore
                       : !skips() && (state().keys.count(key) > 0 || earlier.count(key) > 0)) {
        return i;
      }
      if (raises(rows_[i])) {
        return i;
      }
      if (key != kNull) {
        earlier.add(key);
      }
    }
    return rows_.size();
  }

  // The keys of the first `rows` rows that are not surely there, each once.
  std::vector<uint64_t> fresh(size_t rows) const {
    std::vector<uint64_t> keys;
    for (size_t i = 0; i < rows; ++i) {
      if (rows_[i].key != kNull && state().keys.count(rows_[i].key) == 0) {
        keys.push_back(rows_[i].key);
      }
    }
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    return keys;
  }

  bool may_be_full() const {
    if (state().growth) {
      return false;
    }
    const uint64_t there = state().kind == Kind::kCuckoo
                               ? state().items()
                               : state().distinct() + state().unsure.distinct();
    return there + fresh(std::min(must_stop_ + 1, rows_.size())).size() > state().capacity;
  }

  Expected wrong(const char* what) {
    mistake = what;
    return {};
  }

  // The state after `rows` rows came to the filter and `app_rows` rows to the app table.
  Expected after(size_t rows, size_t app_rows, End end, const Told& told) {
    Expected result{end, before_, false, ""};
    FilterState& state = result.after.filters[filter_];
    const std::vector<uint64_t> keys = fresh(rows);
    const bool unsure = std::any_of(keys.begin(), keys.end(),
                                    [&](uint64_t key) { return state.unsure.count(key) > 0; });
    const uint64_t said = !through_app_ && policy_ == Policy::kIgnore ? told.changes : kNull;
    uint64_t added = state.multiset() ? told.items - state.items() : said;
    if (!skips() || (added == kNull && state.unsure.size() == 0 &&
                     told.items >= keys.size() + state.distinct())) {
      added = keys.size();
    }
    if (added != kNull && (added > keys.size() || (said != kNull && said != added))) {
      return wrong("another number of keys went in than it says, or can be");
    }
    if (!through_app_ && policy_ == Policy::kReplace && end == End::kDone &&
        told.changes != rows_.size()) {
      return wrong("OR REPLACE counts each row");
    }
    for (const uint64_t key : keys) {
      if (added == keys.size()) {
        state.add(key);
      } else if (added != 0) {
        state.doubt(key);
      }
    }
    if (state.multiset()) {
      state.held = told.items;
      if (state.held != before_.filters[filter_].held + added) {
        return wrong("count(*) tells another number of new keys");
      }
      if (!state.growth && state.kind == Kind::kCuckoo && state.held > state.capacity) {
        return wrong("it holds more than its capacity");
      }
    }
    if (!unsure && added != kNull) {
      new_keys += keys.size();
      looked_present += keys.size() - added;
    }
    for (size_t i = 0; through_app_ && i < app_rows; ++i) {
      if (rows_[i].key != kNull) {
        result.after.app.add(rows_[i].key);
      }
    }
    return result;
  }

  const State& before_;
  size_t filter_;
  bool through_app_;
  const std::vector<NewRow>& rows_;
  Policy policy_;
  size_t must_stop_;
};

}  // namespace

// True if the filter itself says that it does not have the key.
bool ModelScript::surely_new(Connection& connection, const FilterState& filter, uint64_t key) {
  const Answer answer = file_.ask(
      connection, "SELECT filter_contains('" + filter.name + "', " + literal_or_null(key) + ")");
  return key != kNull && answer.code == SQLITE_OK && answer.rows.at(0).first == 0;
}

void ModelScript::insert_new(Connection& connection, size_t filter, bool through_app,
                             const std::string& sql, const std::vector<NewRow>& rows,
                             Policy policy) {
  const bool must_add =
      rows.size() == 1 && surely_new(connection, filter_of(connection, filter), rows[0].key);
  const State before = file_.seen(connection);
  const FilterState& state = before.filters[filter];
  file_.write(connection, sql, [&](const Outcome& outcome) {
    InsertJudge judge(before, filter, through_app, rows, policy);
    const Told told =
        judge.left_something(outcome) ? told_by(*connection.db, state.quoted()) : Told();
    const Expected expected = judge.judge(outcome, told);
    require(judge.mistake.empty(), sql + "\n" + judge.mistake + "; it says: " + outcome.message +
                                       ", changes() " + std::to_string(told.changes) +
                                       ", count(*) " + std::to_string(told.items));
    require(!must_add || judge.looked_present == 0, sql + "\nthe filter said no, and skips it");
    note_false_positives(state, judge.new_keys, judge.looked_present);
    return expected;
  });
}

// ---- updating: the old key is out when the new one is looked for

void ModelScript::update_new(Connection& connection, size_t filter) {
  const State before = file_.seen(connection);
  const FilterState& state = before.filters[filter];
  const Keys keys = present_keys(state.keys, 1);
  if (keys.empty()) {
    return;
  }
  const Policy policy = any_policy();
  const uint64_t from = keys[0];
  const bool null = policy != Policy::kIgnore && policy != Policy::kFail && one_in(12);
  const uint64_t to = null ? kNull : one_in(8) ? from : any_key();
  const std::string sql = std::string("UPDATE ") + or_clause(policy) + state.quoted() +
                          " SET key = " + literal_or_null(to) + " WHERE key = " + literal(from);
  if (!state.removes() || null) {
    file_.write(connection, sql,
                state.removes()
                    ? undone(End::kConstraint, before, "NULL", policy == Policy::kRollback)
                    : undone(End::kError, before, state.refusal()));
    return;
  }
  // At higher rates, the fold of a long log may make a new key look present.
  const bool must_move = state.rate < 1e-5 && surely_new(connection, state, to);
  State moved = before;
  moved.filters[filter].remove(from);
  State removed = moved;  // what OR REPLACE leaves where the new key is there
  const bool there = moved.filters[filter].keys.count(to) > 0;
  const bool unsure = state.unsure.count(to) > 0;
  if (!there) {
    moved.filters[filter].add(to);
  }
  file_.write(connection, sql, [&](const Outcome& outcome) -> Expected {
    bool refused = is_constraint(outcome);
    if (outcome.code == SQLITE_OK) {
      const Told told = told_by(*connection.db, state.quoted());
      const bool ignored = policy == Policy::kIgnore && told.changes == 0;
      refused = ignored || (policy == Policy::kReplace && told.items == state.items() - 1);
      require(told.changes == 1 || ignored, sql + "\nchanges() is wrong");
      require(refused || told.items == state.items(), sql + "\ncount(*) is wrong");
      require(refused || !there, sql + "\nhad to find the new key");
    }
    require(!refused || !must_move, sql + "\nthe filter said no, and refuses it");
    if (!there && !unsure) {
      note_false_positives(state, 1, refused ? 1 : 0);
    }
    if (says(outcome, "full: ")) {
      require(moved.filters[filter].may_be_full(), sql + "\ncan't be full");
      return undone(End::kFull, before, "full: ");
    }
    if (!refused) {
      return {End::kDone, moved, false, ""};
    }
    if (policy == Policy::kIgnore || policy == Policy::kReplace) {
      return {End::kDone, policy == Policy::kIgnore ? before : removed, false, ""};
    }
    return undone(End::kConstraint, before, "UNIQUE", policy == Policy::kRollback);
  });
}

// If several keys become one, the second meets the first.
void ModelScript::update_all_to_one(Connection& connection, size_t filter, const Keys& keys,
                                    uint64_t target, const std::string& sql) {
  const State before = file_.seen(connection);
  State after = before;
  FilterState& state = after.filters[filter];
  if (!state.removes() && !keys.empty()) {
    file_.write(connection, sql, undone(End::kError, before, state.refusal()));
    return;
  }
  bool must_fail = keys.size() > 1;
  if (keys.size() == 1) {
    state.remove(keys[0]);
    must_fail = state.keys.count(target) > 0;
    if (!must_fail) {
      state.add(target);
    }
  }
  file_.write(connection, sql, [&](const Outcome& outcome) -> Expected {
    if (is_constraint(outcome) && !keys.empty()) {
      return undone(End::kConstraint, before, "UNIQUE");
    }
    if (says(outcome, "full: ") && state.kind == Kind::kCounting && !state.growth) {
      return undone(End::kFull, before, "full: ");
    }
    return must_fail ? undone(End::kConstraint, before, "UNIQUE")
                     : Expected{End::kDone, after, false, ""};
  });
}

void ModelScript::app_update_new(Connection& connection, const std::string& sql, uint64_t from,
                                 uint64_t to) {
  const State before = file_.seen(connection);
  State after = before;
  FilterState& state = after.filters[0];
  if (!state.removes()) {
    file_.write(connection, sql, undone(End::kError, before, state.refusal()));
    return;
  }
  after.app.remove(from);
  after.app.add(to);
  state.remove(from);
  const bool must_fail = state.keys.count(to) > 0;
  if (!must_fail) {
    state.add(to);
  }
  file_.write(connection, sql, [&](const Outcome& outcome) -> Expected {
    if (must_fail || is_constraint(outcome)) {
      return undone(End::kConstraint, before, "UNIQUE");
    }
    if (says(outcome, "full: ") && state.may_be_full()) {
      return undone(End::kFull, before, "full: ");
    }
    return {End::kDone, after, false, ""};
  });
}

// ---- taking in another filter, or one's own image

// True if what is in `other` can go into `target` by its hashes.
bool ModelScript::can_follow(const FilterState& target, const FilterState& other) const {
  constexpr uint64_t kMostItems = 10000;
  const auto keeps_hashes = [](const FilterState& state) {
    return state.exists && state.growth && state.generations == 1 && state.kind != Kind::kLegacy;
  };
  return keeps_hashes(target) && keeps_hashes(other) && target.type == other.type &&
         target.keys.size() + other.keys.size() < kMostItems &&
         (&target == &other || other.unsure.size() == 0);
}

void ModelScript::merge(Connection& connection) {
  const State before = file_.seen(connection);
  const size_t filter = any_filter(connection);
  const FilterState& other = before.filters[one_in(3) ? filter : 1 - filter];
  State after = before;
  FilterState& state = after.filters[filter];
  const bool own = &other == &before.filters[filter];
  if (!can_follow(before.filters[filter], other) || other.seed != state.seed) {
    return;
  }
  uint64_t sure = 0;  // of those that are new
  for (uint64_t key = 0; key < keys_; ++key) {
    if (state.unique && other.count(key) > 0 && state.keys.count(key) == 0) {
      sure += state.unsure.count(key) == 0 ? 1 : 0;
      state.add(key);
    } else if (!state.unique) {
      for (uint64_t copies = other.count(key); copies > 0; --copies) {
        state.add(key);
      }
    }
  }
  const std::string into =
      "INSERT INTO " + state.quoted() + "(" + state.quoted() + ", key) SELECT 'merge', ";
  const std::string sql = into + (own || one_in(2) ? "filter_export('" + other.name + "', 'hashes')"
                                                   : "'" + other.name + "'");
  file_.write(connection, sql, [&](const Outcome& outcome) -> Expected {
    if (state.rate < kRateOfLongHashes && says(outcome, "bits of each hash")) {
      return undone(End::kError, before, "this table needs 63");
    }
    if (outcome.code == SQLITE_OK && state.unique && state.multiset()) {
      const uint64_t items = told_by(*connection.db, state.quoted()).items;
      require(items >= before.filters[filter].held + sure && items <= state.held,
              sql + "\ncount(*) is " + std::to_string(items));
      state.held = items;
    }
    return {End::kDone, after, false, ""};
  });
}

void ModelScript::import(Connection& connection) {
  const State before = file_.seen(connection);
  const size_t filter = any_filter(connection);
  const FilterState& other = before.filters[one_in(3) ? filter : 1 - filter];
  State after = before;
  FilterState& state = after.filters[filter];
  if (!can_follow(before.filters[filter], other) || other.kind != state.kind) {
    return;
  }
  if (&other != &before.filters[filter]) {
    state.clear();
    for (uint64_t key = 0; key < keys_; ++key) {
      const uint64_t copies = other.count(key);
      for (uint64_t i = 0; i < (state.unique ? std::min<uint64_t>(copies, 1) : copies); ++i) {
        state.add(key);
      }
    }
    state.capacity = other.capacity;
    state.rate = other.rate;
    state.seed = other.seed;
  }
  file_.write(connection,
              "INSERT INTO " + state.quoted() + "(" + state.quoted() +
                  ", key) SELECT 'import', filter_export('" + other.name + "', 'hashes')",
              Expected{End::kDone, after, false, ""});
}

}  // namespace cuckoo::test
