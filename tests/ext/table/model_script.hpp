// One random script over a ModelFile: what it does follows from its seed alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/ext/table/model_file.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {

// How many keys that are not there were probed, and how many of them were found.
struct FalsePositives {
  uint64_t probes = 0;
  uint64_t found = 0;
};
using FalsePositivesByRate = std::map<double, FalsePositives>;

// Which filters a script makes.
struct SuiteMember {
  const char* name;
  std::optional<Kind> kind;  // nothing: any
  bool window = false;       // sliding windows
  friend std::ostream& operator<<(std::ostream& out, const SuiteMember& member) {
    return out << member.name;
  }
};

class ModelScript : public Script {
 public:
  ModelScript(uint64_t seed, const SuiteMember& member);

  void run();
  const FalsePositivesByRate& false_positives() const { return false_positives_; }

 private:
  using Connection = ModelFile::Connection;
  using Answer = ModelFile::Answer;
  using Keys = std::vector<uint64_t>;

  ModelOptions any_options();
  static State empty_state(uint64_t keys);

  // ---- the steps; model_steps.cpp and model_tables.cpp
  void step(Connection& connection);
  void insert_one(Connection& connection);
  void insert_values(Connection& connection);
  void insert_bulk(Connection& connection);
  void insert_copies(Connection& connection);
  void insert_counted(Connection& connection);
  void insert_from_app(Connection& connection);
  void remove_few(Connection& connection);
  void remove_counted(Connection& connection);
  void remove_bulk(Connection& connection);
  void remove_absent(Connection& connection);
  void remove_and_fail(Connection& connection);
  void update_few(Connection& connection);
  void update_bulk(Connection& connection);
  void app_insert(Connection& connection);
  void app_insert_bulk(Connection& connection);
  void app_remove(Connection& connection);
  void app_update(Connection& connection);
  void merge(Connection& connection);
  void import(Connection& connection);
  void command(Connection& connection);
  void rotate(Connection& connection, size_t filter);
  void rotate_any(Connection& connection);
  void begin(Connection& connection);
  void finish(Connection& connection);
  void savepoint(Connection& connection);
  void release(Connection& connection);
  void rollback_to(Connection& connection);
  void toggle_orphan(Connection& connection);
  void rename(Connection& connection);
  void drop(Connection& connection);
  void other_ddl(Connection& connection);
  void reset_schema(Connection& connection);
  void vacuum(Connection& connection);
  void swap_file(Connection& connection);
  void backup(Connection& connection);
  void reopen(Connection& connection);

  // A filter that exists as the connection sees the file; step() takes care that there is one.
  size_t any_filter(const Connection& connection);
  bool knows_schema(Connection& connection);
  bool create(Connection& connection, size_t filter);
  const FilterState& filter_of(const Connection& connection, size_t filter) const {
    return file_.seen(connection).filters[filter];
  }
  void create_triggers(Connection& connection);
  uint64_t any_key() { return random(keys_); }
  Keys present_keys(const Bag& bag, uint64_t most);  // distinct ones
  Policy any_policy();
  uint64_t bulk_length(const FilterState& filter);
  void insert(Connection& connection, size_t filter, Policy policy, const std::string& values,
              const Keys& keys);
  bool can_follow(const FilterState& target, const FilterState& other) const;
  void note_false_positives(const FilterState& filter, uint64_t probes, uint64_t found);
  // Runs a statement that writes. If it succeeds, changes() must be `changes`.
  void change(Connection& connection, const std::string& sql, const Expected& expected,
              uint64_t changes);

  // ---- looking; model_script.cpp
  void look(Connection& connection);
  void look_at_keys(Connection& connection, size_t filter, const Keys& keys);
  std::string query_of(const std::string& table, const Keys& keys, bool& has_counts);
  void compare(const FilterState& filter, const Keys& keys, const Answer& answer, bool has_counts,
               const std::string& sql) const;
  void look_at_count(Connection& connection, size_t filter);
  void look_at_everything(Connection& connection);
  void probe_absent_keys(Connection& connection, const FilterState& filter);
  void finish_all();

  SuiteMember member_;
  uint64_t keys_;  // numbers 0 … keys_ - 1 are used
  ModelFile file_;
  uint64_t made_ = 0;  // numbers new things
  FalsePositivesByRate false_positives_;
};

inline Expected done(const State& after) { return {Expected::End::kDone, after, false, ""}; }

// "OR IGNORE " and the like.
const char* or_clause(Policy policy);
std::string literal_or_null(uint64_t key);
// The keys' literals as 'a, b, c', and the keys' numbers as a JSON array.
std::string literals(const std::vector<uint64_t>& keys);
std::string json(const std::vector<uint64_t>& keys);

}  // namespace cuckoo::test
