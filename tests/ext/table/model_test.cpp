// Random scripts of SQL over filters of every kind, beside a model of what every connection must
// see. One suite serves all kinds: each has a bag like a std::multiset as its model. A Bloom filter
// that does not count is asked for presence alone. A sliding window has several bags.
// tests/ext/filter/unique_model_test.cpp has filters with unique = on.
//
// A script does inserts, removals and updates of all kinds, duplicates, failing statements,
// transactions, nested savepoints, roll-backs, COMMITs that fail, renames, DROPs and CREATEs,
// commands, VACUUM, restored backups and reopened files, on one to three connections in turn, in
// WAL or DELETE journal mode. After each step each connection is asked for some keys, at the end
// for all. See model_file.hpp, model_state.hpp and model_script.hpp.
#include "tests/ext/table/model_script.hpp"

namespace cuckoo::test::table_model_test {
namespace {

void expect_rates(const FalsePositivesByRate& all) {
  for (const auto& [rate, sum] : all) {
    const double expected = rate * static_cast<double>(sum.probes);
    const double clusters = rate < 1e-5 ? 12 : 30;  // one key of a script is asked for often
    EXPECT_LE(static_cast<double>(sum.found), 3 * expected + clusters)
        << sum.found << " false positives of " << sum.probes << " probes at " << rate;
  }
}

class Model : public testing::TestWithParam<SuiteMember> {};

INSTANTIATE_TEST_SUITE_P(
    , Model,
    testing::Values(SuiteMember{"cuckoo", Kind::kCuckoo}, SuiteMember{"standard", Kind::kStandard},
                    SuiteMember{"blocked", Kind::kBlocked},
                    SuiteMember{"counting", Kind::kCounting}, SuiteMember{"legacy", Kind::kLegacy},
                    SuiteMember{"any", std::nullopt}, SuiteMember{"windows", std::nullopt, true}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_P(Model, random_scripts_see_what_a_multiset_would_hold) {
  FalsePositivesByRate false_positives;
  for_each_seed(150, [&](uint64_t seed) {
    ModelScript script(seed, GetParam());
    run_script(script);
    for (const auto& [rate, sum] : script.false_positives()) {
      false_positives[rate].probes += sum.probes;
      false_positives[rate].found += sum.found;
    }
  });
  expect_rates(false_positives);
}

}  // namespace
}  // namespace cuckoo::test::table_model_test
