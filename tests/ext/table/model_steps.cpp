// The steps of a ModelScript that change rows.
#include <algorithm>

#include "tests/ext/table/model_script.hpp"

namespace cuckoo::test {
namespace {

constexpr uint64_t kLongestBulk = 2500;

std::vector<NewRow> rows_of(const std::vector<uint64_t>& keys) {
  std::vector<NewRow> rows;
  for (const uint64_t key : keys) {
    rows.push_back({key, Raise::kNothing});
  }
  return rows;
}

// What the removal of `keys` keys must come to. A filter may refuse a removal.
Expected removal(const State& before, const State& after, size_t filter, size_t keys) {
  const FilterState& state = before.filters[filter];
  return state.removes() || keys == 0
             ? done(after)
             : Expected{Expected::End::kError, before, false, state.refusal()};
}

}  // namespace

ModelScript::Keys ModelScript::present_keys(const Bag& bag, uint64_t most) {
  Keys keys;
  for (uint64_t i = 0; i < most && bag.size() > 0; ++i) {
    keys.push_back(bag.next(random(bag.keys())));
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

Policy ModelScript::any_policy() {
  return one_in(3) ? static_cast<Policy>(random(5)) : Policy::kAbort;
}

// A length of any size. If the filter can be full, mostly no more than it still takes.
uint64_t ModelScript::bulk_length(const FilterState& filter) {
  constexpr uint64_t kLengths[] = {3, 30, 200, 600, kLongestBulk};
  const uint64_t length = 1 + random(kLengths[random(5)]);
  if (filter.growth || filter.keys.size() >= filter.capacity || one_in(5)) {
    return length;
  }
  return std::min(length, filter.capacity - filter.keys.size());
}

void ModelScript::change(Connection& connection, const std::string& sql, const Expected& expected,
                         uint64_t changes) {
  if (!file_.write(connection, sql, expected) || expected.end != Expected::End::kDone) {
    return;
  }
  const auto actual = static_cast<uint64_t>(sqlite3_changes(connection.db->handle()));
  require(actual == changes,
          "changes() is " + std::to_string(actual) + ", expected " + std::to_string(changes));
}

// ---- adding

void ModelScript::insert(Connection& connection, size_t filter, Policy policy,
                         const std::string& values, const Keys& keys) {
  const FilterState& state = filter_of(connection, filter);
  const std::string sql =
      std::string("INSERT ") + or_clause(policy) + "INTO " + state.quoted() + " " + values;
  const Expected expected =
      insert_rows(file_.seen(connection), filter, false, rows_of(keys), policy);
  change(connection, sql, expected, expected.after.filters[filter].items() - state.items());
}

void ModelScript::insert_one(Connection& connection) {
  const size_t filter = any_filter(connection);
  const uint64_t key = one_in(12) ? kNull : any_key();
  insert(connection, filter, any_policy(), " VALUES (" + literal_or_null(key) + ")", {key});
}

void ModelScript::insert_values(Connection& connection) {
  const size_t filter = any_filter(connection);
  Keys keys;
  std::string values;
  for (uint64_t i = 2 + random(8); i > 0; --i) {
    keys.push_back(one_in(20) ? kNull : any_key());
    append(values, ", ", "(" + literal_or_null(keys.back()) + ")");
  }
  insert(connection, filter, any_policy(), "(key) VALUES " + values, keys);
}

void ModelScript::insert_bulk(Connection& connection) {
  const size_t filter = any_filter(connection);
  const uint64_t length = bulk_length(filter_of(connection, filter));
  const uint64_t first = any_key();
  const uint64_t null_at = one_in(6) ? first + random(length) : kNull;
  Keys keys;
  for (uint64_t i = first; i < first + length; ++i) {
    keys.push_back(i == null_at ? kNull : i % keys_);
  }
  const std::string every = "k(i % " + std::to_string(keys_) + ")";
  const std::string key =
      null_at == kNull ? every
                       : "CASE WHEN i <> " + std::to_string(null_at) + " THEN " + every + " END";
  insert(connection, filter, any_policy(),
         with_numbers(first, first + length - 1) + "SELECT " + key + " FROM n", keys);
}

void ModelScript::insert_copies(Connection& connection) {
  const size_t filter = any_filter(connection);
  const Keys keys(bulk_length(filter_of(connection, filter)), any_key());
  insert(connection, filter, any_policy(),
         with_numbers(0, keys.size() - 1) + "SELECT " + literal(keys[0]) + " FROM n", keys);
}

// Each row adds as many occurrences as its count says.
void ModelScript::insert_counted(Connection& connection) {
  const size_t filter = any_filter(connection);
  const FilterState& state = filter_of(connection, filter);
  Keys keys;
  std::string values;
  const uint64_t rows = 1 + random(4);
  for (uint64_t i = 0; i < rows; ++i) {
    const uint64_t key = any_key();
    const uint64_t copies = state.multiset() ? 1 + random(one_in(4) ? 300 : 8) : 2;
    keys.insert(keys.end(), copies, key);
    append(values, ", ", "(" + literal(key) + ", " + std::to_string(copies) + ")");
  }
  const std::string sql =
      "INSERT INTO " + state.quoted() + "(key, count) SELECT * FROM (VALUES " + values + ")";
  Expected expected =
      insert_rows(file_.seen(connection), filter, false, rows_of(keys), Policy::kAbort);
  if (!state.multiset()) {
    expected = {Expected::End::kError, file_.seen(connection), false, "count is 2, and "};
  }
  change(connection, sql, expected, rows);
}

void ModelScript::insert_from_app(Connection& connection) {
  const size_t filter = any_filter(connection);
  const Bag& app = file_.seen(connection).app;
  Keys keys;
  for (uint64_t key = 0; key < keys_; ++key) {
    keys.insert(keys.end(), app.count(key), key);
  }
  insert(connection, filter, any_policy(), " SELECT k FROM app WHERE k IS NOT NULL", keys);
}

// ---- removing: only keys that are there, as the filter can't tell a stranger from a collision

void ModelScript::remove_few(Connection& connection) {
  const size_t filter = any_filter(connection);
  State after = file_.seen(connection);
  FilterState& state = after.filters[filter];
  const std::string table = state.quoted();
  Keys keys = present_keys(state.keys, 1 + random(6));
  if (keys.empty()) {
    return;
  }
  std::string sql = "DELETE FROM " + table + " WHERE key IN (" + literals(keys) + ")";
  const uint64_t form = random(4);
  if (form < 2) {
    keys.resize(1);
    sql = form == 0 ? "DELETE FROM " + table + " WHERE key = " + literal(keys[0])
                    : "INSERT INTO " + table + "(" + table + ", key) VALUES ('delete', " +
                          literal(keys[0]) + ")";
  } else if (form == 2) {
    sql = "INSERT INTO " + table + "(" + table + ", key) SELECT 'delete', k(value) FROM " +
          json(keys);
  }
  for (const uint64_t key : keys) {
    state.remove(key);
  }
  change(connection, sql, removal(file_.seen(connection), after, filter, keys.size()), keys.size());
}

// Removes all copies of the keys in a range, or one copy of each.
void ModelScript::remove_bulk(Connection& connection) {
  const size_t filter = any_filter(connection);
  State after = file_.seen(connection);
  FilterState& state = after.filters[filter];
  const std::string table = state.quoted();
  const uint64_t first = any_key();
  const uint64_t end = std::min(keys_, first + 1 + random(kLongestBulk));
  const bool all_copies = one_in(2);
  Keys keys;
  for (uint64_t key = first; key < end; ++key) {
    for (uint64_t copies = state.keys.count(key); copies > 0; --copies) {
      keys.push_back(key);
      state.remove(key);
      if (!all_copies) {
        break;
      }
    }
  }
  std::string sql =
      "INSERT INTO " + table + "(" + table + ", key) SELECT 'delete', k(value) FROM " + json(keys);
  if (!all_copies && one_in(2)) {
    sql = "DELETE FROM " + table + " WHERE key IN (SELECT k(value) FROM " + json(keys) + ")";
  }
  change(connection, sql, removal(file_.seen(connection), after, filter, keys.size()), keys.size());
}

// Removes some copies of one key with the command 'delete'.
void ModelScript::remove_counted(Connection& connection) {
  const size_t filter = any_filter(connection);
  State after = file_.seen(connection);
  FilterState& state = after.filters[filter];
  if (!state.removes() || state.keys.size() == 0) {
    return;
  }
  const uint64_t key = state.keys.next(any_key());
  const uint64_t copies = 1 + random(state.keys.count(key));
  for (uint64_t i = 0; i < copies; ++i) {
    state.remove(key);
  }
  const std::string table = state.quoted();
  const std::string sql = "INSERT INTO " + table + "(" + table +
                          ", key, count) VALUES ('delete', " + literal(key) + ", " +
                          std::to_string(copies) + ")";
  change(connection, sql, done(after), 1);
}

void ModelScript::remove_absent(Connection& connection) {
  const size_t filter = any_filter(connection);
  const std::string table = filter_of(connection, filter).quoted();
  const uint64_t key = one_in(2) ? any_key() : keys_ + random(1000);
  const Answer answer =
      file_.ask(connection, "SELECT count(*) FROM " + table + " WHERE key = " + literal(key));
  if (answer.code != SQLITE_OK || answer.rows.at(0).first != 0) {
    return;
  }
  change(connection, "DELETE FROM " + table + " WHERE key = " + literal(key),
         done(file_.seen(connection)), 0);
  file_.write(
      connection,
      "INSERT INTO " + table + "(" + table + ", key) VALUES ('delete', " + literal(key) + ")",
      removal(file_.seen(connection), file_.seen(connection), filter, 2));
}

void ModelScript::remove_and_fail(Connection& connection) {
  const size_t filter = any_filter(connection);
  const FilterState& state = filter_of(connection, filter);
  const std::string table = state.quoted();
  std::string values;
  const Keys keys = present_keys(state.keys, 5);
  for (const uint64_t key : keys) {
    values += "('delete', " + literal(key) + "), ";
  }
  const char* message = state.removes() || keys.empty() ? "unknown command" : state.refusal();
  file_.write(connection,
              "INSERT INTO " + table + "(" + table + ", key) VALUES " + values +
                  "('nonsense', NULL), ('clear', NULL)",
              {Expected::End::kError, file_.seen(connection), false, message});
}

// ---- updating: a removal and an addition

void ModelScript::update_few(Connection& connection) {
  const size_t filter = any_filter(connection);
  State after = file_.seen(connection);
  FilterState& state = after.filters[filter];
  const Keys keys = present_keys(state.keys, 1 + random(4));
  if (keys.empty()) {
    return;
  }
  const Policy policy = any_policy();
  const bool keeps = policy == Policy::kIgnore || policy == Policy::kFail;  // else no NULL
  const size_t null_at = keeps || !one_in(4) ? keys.size() : random(keys.size());
  std::string cases;
  bool or_full = false;
  for (size_t i = 0; i < keys.size(); ++i) {
    const uint64_t key = i == null_at ? kNull : any_key();
    cases += " WHEN " + literal(keys[i]) + " THEN " + literal_or_null(key);
    if (key != kNull) {
      state.remove(keys[i]);
      state.add(key);
      or_full = or_full || state.may_be_full();
    }
  }
  Expected expected = removal(file_.seen(connection), after, filter, keys.size());
  expected.or_full = or_full;
  if (null_at < keys.size() && state.removes()) {
    expected = {Expected::End::kConstraint, file_.seen(connection), policy == Policy::kRollback,
                "NULL", or_full};
  }
  change(connection,
         std::string("UPDATE ") + or_clause(policy) + filter_of(connection, filter).quoted() +
             " SET key = CASE key" + cases + " END WHERE key IN (" + literals(keys) + ")",
         expected, keys.size());
}

// One copy of each key in a range becomes one and the same key.
void ModelScript::update_bulk(Connection& connection) {
  const size_t filter = any_filter(connection);
  State after = file_.seen(connection);
  FilterState& state = after.filters[filter];
  const uint64_t first = any_key();
  const uint64_t end = std::min(keys_, first + 1 + random(800));
  Keys keys;
  for (uint64_t key = first; key < end; ++key) {
    if (state.keys.count(key) > 0) {
      keys.push_back(key);
    }
  }
  const uint64_t target = any_key();
  const std::string sql = "UPDATE " + state.quoted() + " SET key = " + literal(target) +
                          " WHERE key IN (SELECT k(value) FROM " + json(keys) + ")";
  bool or_full = false;  // row by row: before the last ones leave there may be a key too many
  for (const uint64_t key : keys) {
    state.remove(key);
    state.add(target);
    or_full = or_full || state.may_be_full();
  }
  Expected expected = removal(file_.seen(connection), after, filter, keys.size());
  expected.or_full = or_full;
  file_.write(connection, sql, expected);
}

// ---- through the triggers of an ordinary table, which may raise after their insert

void ModelScript::app_insert(Connection& connection) {
  if (!knows_schema(connection) || !filter_of(connection, 0).exists) {
    return;
  }
  const State& before = file_.seen(connection);
  std::vector<NewRow> rows;
  std::string values;
  for (uint64_t i = 1 + random(5); i > 0; --i) {
    const uint64_t key = one_in(15) ? kNull : any_key();
    rows.push_back({key, one_in(6) ? static_cast<Raise>(random(5)) : Raise::kNothing});
    const std::string mode = std::to_string(static_cast<int>(rows.back().raise));
    append(values, ", ", "(" + literal_or_null(key) + ", " + mode + ")");
  }
  const Policy policy = any_policy();
  const std::string sql = std::string("INSERT ") + or_clause(policy) + "INTO app VALUES " + values;
  file_.write(connection, sql, insert_rows(before, 0, true, rows, policy));
}

void ModelScript::app_insert_bulk(Connection& connection) {
  if (!knows_schema(connection) || !filter_of(connection, 0).exists) {
    return;
  }
  const State& before = file_.seen(connection);
  const uint64_t length = bulk_length(before.filters[0]);
  const uint64_t first = any_key();
  std::vector<NewRow> rows;
  for (uint64_t i = first; i < first + length; ++i) {
    rows.push_back({i % keys_, Raise::kNothing});
  }
  const uint64_t at = random(length);
  rows[at].raise = one_in(2) ? static_cast<Raise>(random(5)) : Raise::kNothing;
  const Policy policy = any_policy();
  const std::string sql = std::string("INSERT ") + or_clause(policy) + "INTO app " +
                          with_numbers(first, first + length - 1) + "SELECT k(i % " +
                          std::to_string(keys_) + "), CASE i WHEN " + std::to_string(first + at) +
                          " THEN " + std::to_string(static_cast<int>(rows[at].raise)) +
                          " ELSE 0 END FROM n";
  file_.write(connection, sql, insert_rows(before, 0, true, rows, policy));
}

// Removes a row whose key the filter still has. Commands and removals may have taken the key.
void ModelScript::app_remove(Connection& connection) {
  if (!knows_schema(connection)) {
    return;
  }
  State after = file_.seen(connection);
  for (const uint64_t key : present_keys(after.app, 1)) {
    if (after.filters[0].exists && after.filters[0].keys.count(key) > 0) {
      after.app.remove(key);
      after.filters[0].remove(key);
      file_.write(connection,
                  "DELETE FROM app WHERE rowid = (SELECT min(rowid) FROM app WHERE k = " +
                      literal(key) + ")",
                  removal(file_.seen(connection), after, 0, 1));
    }
  }
}

void ModelScript::app_update(Connection& connection) {
  if (!knows_schema(connection)) {
    return;
  }
  State after = file_.seen(connection);
  for (const uint64_t key : present_keys(after.app, 1)) {
    if (after.filters[0].exists && after.filters[0].keys.count(key) > 0) {
      const uint64_t other = any_key();
      const std::string sql =
          "UPDATE app SET k = " + literal(other) +
          " WHERE rowid = (SELECT min(rowid) FROM app WHERE k = " + literal(key) + ")";
      after.app.remove(key);
      after.app.add(other);
      after.filters[0].remove(key);
      after.filters[0].add(other);
      Expected expected = removal(file_.seen(connection), after, 0, 1);
      expected.or_full = after.filters[0].may_be_full();
      file_.write(connection, sql, expected);
    }
  }
}

}  // namespace cuckoo::test
