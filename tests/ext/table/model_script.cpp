#include "tests/ext/table/model_script.hpp"

#include <algorithm>

namespace cuckoo::test {
namespace {

constexpr uint64_t kFirstForeignKey = 1'000'000;  // numbers from here on are never inserted

}  // namespace

const char* or_clause(Policy policy) {
  switch (policy) {
    case Policy::kReplace:
      return "OR REPLACE ";
    case Policy::kIgnore:
      return "OR IGNORE ";
    case Policy::kFail:
      return "OR FAIL ";
    case Policy::kRollback:
      return "OR ROLLBACK ";
    default:
      return "";
  }
}

std::string literal_or_null(uint64_t key) { return key == kNull ? "NULL" : literal(key); }

std::string literals(const std::vector<uint64_t>& keys) {
  std::string list;
  for (const uint64_t key : keys) {
    append(list, ", ", literal(key));
  }
  return list;
}

std::string json(const std::vector<uint64_t>& keys) {
  std::string list;
  for (const uint64_t key : keys) {
    append(list, ",", std::to_string(key));
  }
  return "json_each('[" + list + "]')";
}

// ---- a script

ModelOptions ModelScript::any_options() {
  ModelOptions options;
  options.wal = one_in(2);
  options.page_size = pick({512, 512, 1024, 4096});
  options.cache_pages = pick({0, 0, 10});
  options.connections = 1 + random(3);
  return options;
}

State ModelScript::empty_state(uint64_t keys) {
  State state;
  state.filters[0].name = "f";
  state.filters[1].name = "second filter";
  for (FilterState& filter : state.filters) {
    filter.keys.resize(keys);
  }
  state.app.resize(keys);
  return state;
}

ModelScript::ModelScript(uint64_t seed, const SuiteMember& member)
    : Script(seed),
      member_(member),
      keys_(pick<uint64_t>({10, 60, 300, 1500, 4000})),
      file_(*this, any_options(), empty_state(keys_)) {}

void ModelScript::run() {
  Connection& first = file_.connections()[0];
  create(first, 0);
  create_triggers(first);
  const bool lazy = one_in(2);  // who looks seldom has more to catch up with
  for (uint64_t steps = 25 + random(60); steps > 0; --steps) {
    std::vector<Connection>& connections = file_.connections();
    Connection* actor = &pick(connections);
    for (Connection& connection : connections) {
      if (connection.wrote && !one_in(4)) {  // the others could do nothing but read
        actor = &connection;
      }
    }
    step(*actor);
    for (Connection& connection : connections) {
      if (!lazy || one_in(5)) {
        look(connection);
      }
    }
  }
  finish_all();
}

void ModelScript::finish_all() {
  for (Connection& connection : file_.connections()) {
    if (connection.in_transaction && connection.view && connection.view->orphan) {
      toggle_orphan(connection);
    }
    if (connection.in_transaction && !one_in(4)) {
      file_.commit(connection);
    }
    if (connection.in_transaction) {
      file_.rollback(connection);
    }
  }
  for (Connection& connection : file_.connections()) {
    look_at_everything(connection);
  }
  Connection stranger = file_.stranger();
  look_at_everything(stranger);
  for (const FilterState& filter : file_.committed().filters) {
    if (filter.exists) {
      probe_absent_keys(stranger, filter);
    }
  }
  require(stranger.db->text("PRAGMA integrity_check") == "ok", "integrity_check");
}

// ---- looking

// A sample of the keys, on a connection that need not be the one that did something.
void ModelScript::look(Connection& connection) {
  if (connection.in_transaction && !connection.view) {
    return;  // looking would take its snapshot; that is a step of its own
  }
  for (size_t filter = 0; filter < 2; ++filter) {
    const FilterState& state = filter_of(connection, filter);
    if (!state.exists) {
      if (one_in(4)) {
        file_.refused(connection, "SELECT count(*) FROM " + state.quoted(), "no such table");
      }
      continue;
    }
    Keys keys;
    if (one_in(2)) {  // a range, for queries over many
      const uint64_t length = 1 + random(std::min<uint64_t>(keys_, 60));
      const uint64_t start = random(keys_ - length + 1);
      for (uint64_t key = start; key < start + length; ++key) {
        keys.push_back(key);
      }
    } else {
      for (uint64_t i = 1 + random(6); i > 0; --i) {
        keys.push_back(any_key());
      }
      if (state.keys.size() > 0) {
        keys.push_back(state.keys.next(any_key()));
      }
    }
    look_at_keys(connection, filter, keys);
    look_at_count(connection, filter);
    if (one_in(8)) {
      const Answer answer =
          file_.ask(connection, "SELECT cuckoo_check('" + state.name + "') = 'ok', 0");
      require(answer.code == SQLITE_BUSY || answer.rows.at(0).first == 1, "cuckoo_check");
    }
  }
}

// Its rows are (number, count), or the number alone, of every key that the filter has.
std::string ModelScript::query_of(const std::string& table, const Keys& keys, bool& has_counts) {
  const std::string list = json(keys);
  const std::string contains = "filter_contains('" + table.substr(1, table.size() - 2) + "', ";
  const uint64_t form = random(keys.size() > 12 ? 4 : 7);
  has_counts = form == 0 || form == 4 || form == 6;
  switch (form) {
    case 0:
      return "SELECT value, f.count FROM " + list + " JOIN " + table + " f ON f.key = k(value)";
    case 1:
      return "SELECT value FROM " + list + " WHERE EXISTS (SELECT 1 FROM " + table +
             " f WHERE f.key = k(value))";
    case 2:
      return "SELECT value FROM " + list + " LEFT JOIN " + table +
             " f ON f.key = k(value) WHERE f.key IS NOT NULL";
    case 3:
      return "SELECT value FROM " + list + " WHERE " + contains + "k(value))";
    case 6:  // which of them it was is found by the key
      return "SELECT value, c FROM (SELECT key AS k, count AS c FROM " + table + " WHERE key IN (" +
             literals(keys) + ")) JOIN " + list + " ON k = k(value) OR k = CAST(k(value) AS TEXT)";
    default: {
      std::string all;
      for (const uint64_t key : keys) {
        append(all, " UNION ALL ", "SELECT " + std::to_string(key));
        all += form == 4 ? ", count FROM " + table + " WHERE key = " + literal(key)
                         : " WHERE " + contains + literal(key) + ")";
      }
      return all;
    }
  }
}

void ModelScript::look_at_keys(Connection& connection, size_t filter, const Keys& keys) {
  bool has_counts = false;
  const std::string sql = query_of(filter_of(connection, filter).quoted(), keys, has_counts);
  const Answer answer = file_.ask(connection, sql);
  compare(filter_of(connection, filter), keys, answer, has_counts, sql);
}

// Never a false negative, and no count too low.
void ModelScript::compare(const FilterState& filter, const Keys& keys, const Answer& answer,
                          bool has_counts, const std::string& sql) const {
  if (answer.code == SQLITE_BUSY) {
    return;
  }
  require(answer.code == SQLITE_OK,
          sql + "\ncode " + std::to_string(answer.code) + ": " + answer.message);
  std::map<uint64_t, uint64_t> found;
  for (const auto& [key, count] : answer.rows) {
    found[static_cast<uint64_t>(key)] = static_cast<uint64_t>(count);
  }
  for (const uint64_t key : keys) {
    const uint64_t expected = filter.count(key);
    const auto row = found.find(key);
    const std::string what = "key number " + std::to_string(key) + ", " + literal(key) + ", is " +
                             std::to_string(expected) + " times in " + filter.name;
    require(expected == 0 || row != found.end(), what + ", not found\n" + sql);
    require(
        !has_counts || row == found.end() || row->second >= std::max<uint64_t>(expected, 1),
        what + ", counted " + std::to_string(row == found.end() ? 0 : row->second) + "\n" + sql);
  }
}

void ModelScript::look_at_count(Connection& connection, size_t filter) {
  const std::string sql = "SELECT count(*) FROM " + filter_of(connection, filter).quoted();
  const Answer answer = file_.ask(connection, sql);
  if (answer.code == SQLITE_BUSY) {
    return;
  }
  require(answer.code == SQLITE_OK, sql + "\n" + answer.message);
  const FilterState& state = filter_of(connection, filter);
  const auto count = static_cast<uint64_t>(answer.rows.at(0).first);
  const std::string what = sql + " gives " + std::to_string(count) + ", expected ";
  if (state.multiset()) {
    require(count == state.items(), what + std::to_string(state.items()));
    return;
  }
  std::optional<uint64_t>& known = *state.set_items;
  const uint64_t most = state.distinct();
  require(count <= most && count >= most / 2 - std::min<uint64_t>(most / 2, 10),
          what + "about " + std::to_string(most));
  require(!known || count == *known, what + std::to_string(known.value_or(0)));
  known = count;
}

void ModelScript::look_at_everything(Connection& connection) {
  Keys all(keys_);
  for (uint64_t key = 0; key < keys_; ++key) {
    all[key] = key;
  }
  for (size_t filter = 0; filter < 2; ++filter) {
    const FilterState state = filter_of(connection, filter);
    if (!state.exists) {
      continue;
    }
    const std::string table = state.quoted();
    const std::string sql = with_numbers(0, keys_ - 1) + "SELECT i, f.count FROM n JOIN " + table +
                            " f ON f.key = k(i)";
    const Answer answer = file_.ask(connection, sql);
    compare(state, all, answer, true, sql);
    look_at_count(connection, filter);
    file_.write(connection, "INSERT INTO " + table + "(" + table + ") VALUES ('check')",
                {Expected::End::kDone, file_.seen(connection), false, ""});
  }
  const Answer rows = file_.ask(connection, "SELECT count(k) FROM app");
  require(static_cast<uint64_t>(rows.rows.at(0).first) == file_.seen(connection).app.size(),
          "the app table has other rows than the model thinks");
}

void ModelScript::probe_absent_keys(Connection& connection, const FilterState& filter) {
  constexpr uint64_t kProbes = 500;
  const Answer answer = file_.ask(
      connection, with_numbers(kFirstForeignKey, kFirstForeignKey + kProbes - 1) +
                      "SELECT count(f.key) FROM n JOIN " + filter.quoted() + " f ON f.key = k(i)");
  note_false_positives(filter, kProbes, static_cast<uint64_t>(answer.rows.at(0).first));
}

void ModelScript::note_false_positives(const FilterState& filter, uint64_t probes, uint64_t found) {
  if (filter.kind != Kind::kLegacy) {  // plain double hashing does not hold small rates
    FalsePositives& sum = false_positives_[filter.rate];
    sum.probes += probes;
    sum.found += found;
  }
}

}  // namespace cuckoo::test
