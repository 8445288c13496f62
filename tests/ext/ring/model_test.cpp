// hash_ring against a map of nodes and a brute-force owner: random changes, transactions,
// savepoints, roll-backs, failing statements, reopenings, and two connections that write in turn.
#include <cmath>

#include "core/base/key_hash.hpp"
#include "core/ring/hash_ring.hpp"
#include "tests/support/names.hpp"
#include "tests/support/sql_script.hpp"

namespace cuckoo::test {
namespace ring_model_test {
namespace {

using Model = std::map<std::string, double>;  // name -> weight

constexpr uint64_t kSeed = 5;
constexpr int kFewVnodes = 7;
constexpr int kManyVnodes = 150;  // enough points for changes to be merged into them

class RingScript : public Script {
 public:
  RingScript(uint64_t seed, const std::string& algorithm)
      : Script(seed),
        algorithm_(algorithm),
        vnodes_(seed % 2 == 0 ? kManyVnodes : kFewVnodes),
        ketama_(Ketama::make(KetamaDialect::kLibketama, KetamaKeyHash::kMd5).value()) {
    reopen(0);
    const std::string more = algorithm == "ring" ? ", seed = 5, vnodes = " + std::to_string(vnodes_)
                             : algorithm == "slots" ? ", seed = 5"
                                                    : "";
    db().run("CREATE VIRTUAL TABLE ring USING hash_ring(algorithm = " + algorithm + more + ")");
    reopen(1);
  }

  void run() {
    for (int i = 0; i < 300 && !::testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE("step " + std::to_string(i));
      step();
      check();
    }
  }

 private:
  void step() {
    switch (random(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
        if (saved_.open() || one_in(4)) {
          must(saved_.step(*this, model_));
        }
        return;
      case 4:
        current_ = saved_.open() ? current_ : 1 - current_;
        return;
      case 5:
        if (!saved_.open()) {
          reopen(random(2));
        }
        return;
      case 6:
        return fail_statements();
      case 7:
        return image();
      default:
        return change();
    }
  }

  void check() {
    std::string nodes;
    for (const auto& [name, weight] : model_) {
      nodes += name + "=" + std::to_string(weight) + " ";
    }
    const std::string list =
        "SELECT ifnull(group_concat(printf('%s=%f ', node, weight), ''), '')"
        " FROM (SELECT * FROM ring ORDER BY node)";
    ASSERT_EQ(db().text(list), nodes);
    for (int i = 0; i < 5; ++i) {
      const auto key = static_cast<int64_t>(random());
      ASSERT_EQ(db().text("SELECT node FROM ring WHERE key = " + std::to_string(key)), owner(key));
    }
    if (!saved_.open()) {
      ASSERT_EQ(databases_[1 - current_]->text(list), nodes) << "the other connection";
    }
    if (one_in(8)) {
      ASSERT_EQ(db().text("SELECT cuckoo_check('ring')"), "ok");
      db().run("INSERT INTO ring(ring) VALUES ('check')");
    }
  }

  QuickDatabase& db() { return *databases_[current_]; }

  void must(const std::string& sql) {
    note("/* " + std::to_string(current_) + " */ " + sql + ";");
    db().run(sql);
  }
  void reopen(size_t which) {
    note("-- opened");
    databases_[which].reset();
    databases_[which] = std::make_unique<QuickDatabase>(folder_.file("db"));
  }

  void change() {
    const std::string name = "n" + number(12);
    const double weight = static_cast<double>(1 + random(40)) / 8;
    const std::string text = std::to_string(weight);
    if (!model_.contains(name)) {
      must("INSERT INTO ring(node, weight) VALUES ('" + name + "', " + text + ")");
      model_[name] = weight;
      return;
    }
    switch (random(4)) {
      case 0:
        must("DELETE FROM ring WHERE node = '" + name + "'");
        model_.erase(name);
        break;
      case 1:
        must("UPDATE ring SET weight = " + text + " WHERE node = '" + name + "'");
        model_[name] = weight;
        break;
      case 2:
        must("INSERT OR REPLACE INTO ring(node, weight) VALUES ('" + name + "', " + text + ")");
        model_[name] = weight;
        break;
      default: {
        const std::string other = "n" + number(12);
        must("UPDATE OR REPLACE ring SET node = '" + other + "' WHERE node = '" + name + "'");
        const double kept = model_[name];
        model_.erase(name);
        model_[other] = kept;
        break;
      }
    }
  }

  // Keeps an image of the ring, or imports one that was kept. Either connection may have kept it,
  // in this transaction or in an earlier one, even if that was rolled back.
  void image() {
    if (images_.size() < 4 || one_in(2)) {
      Image kept;
      kept.blob = db().text("SELECT quote(hash_ring_export('ring'))");
      kept.mark = db().text("SELECT hash_ring_mark('ring')");
      kept.model = model_;
      images_.push_back(std::move(kept));
      return;
    }
    const Image& kept = pick(images_);
    must("INSERT INTO ring(ring, node) VALUES ('import', " + kept.blob + ")");
    EXPECT_EQ(db().text("SELECT hash_ring_mark('ring')"), kept.mark);
    EXPECT_EQ(db().text("SELECT quote(hash_ring_export('ring'))"), kept.blob);
    model_ = kept.model;
  }

  // Statements that fail in the middle. Nothing of them may stay.
  void fail_statements() {
    db().refuses("INSERT INTO ring(node, weight) VALUES ('new', 1), ('newer', 2), ('bad', -1)",
                 SQLITE_ERROR, {"weight"});
    if (model_.size() > 1) {
      db().refuses("UPDATE ring SET weight = iif(node = (SELECT max(node) FROM ring), 0, 2)",
                   SQLITE_ERROR, {"weight"});
    }
  }

  std::string owner(int64_t key) {
    if (model_.empty()) {
      return "none";
    }
    return algorithm_ == "slots" ? slot_owner(key) : point_owner(key);
  }

  // The owner is the node of the nearest of all points.
  std::string point_owner(int64_t key) {
    const std::string text = std::to_string(key);
    const uint64_t position = algorithm_ == "ring"
                                  ? hash_integer(key, kSeed)
                                  : Ketama::position(ketama_->hash(std::as_bytes(std::span(text))));
    double total = 0;
    for (const auto& [name, weight] : model_) {
      total += weight;
    }
    std::map<uint64_t, std::string> by_distance;
    for (const auto& [name, weight] : model_) {
      if (algorithm_ == "ring") {
        for (int i = 0; i < std::max(1.0, std::round(weight * vnodes_)); ++i) {
          const std::string label = name + "-" + std::to_string(i);
          const uint64_t point =
              XXH3_64bits_withSeed(label.data(), label.size(), kSeed + 4 * 0x9E3779B97F4A7C15);
          by_distance.emplace(point - position, name);
        }
        continue;
      }
      const uint32_t hashes =
          ketama_hashes(KetamaDialect::kLibketama, weight, total, model_.size());
      for (uint32_t k = 0; k < hashes; ++k) {
        const std::string label = name + "-" + std::to_string(k);
        for (const uint32_t part : ketama_->digest(std::as_bytes(std::span(label)))) {
          by_distance.emplace(Ketama::position(part) - position, name);
        }
      }
    }
    return by_distance.begin()->second;
  }

  // The owner that ordinary SQL finds in the stored pages.
  std::string slot_owner(int64_t key) {
    const uint64_t slot = hash_integer(key, kSeed) >> 48;
    const std::string hex = db().text(
        "SELECT hex(substr(page, " + std::to_string(slot % SlotOwners::kRowSlots * 2 + 1) +
        ", 2)) FROM ring_pages WHERE id = " + std::to_string(slot / SlotOwners::kRowSlots));
    const std::string id = "0x" + hex.substr(2, 2) + hex.substr(0, 2) + " + 1";
    return db().text("SELECT node FROM ring WHERE rowid = " + id);
  }

  const std::string algorithm_;
  const int vnodes_;
  struct Image {
    std::string blob;
    std::string mark;
    Model model;
  };
  std::vector<Image> images_;
  std::shared_ptr<Ketama> ketama_;
  TemporaryFolder folder_;
  std::unique_ptr<QuickDatabase> databases_[2];
  size_t current_ = 0;
  Model model_;
  SavedStates<Model> saved_;
};

class HashRingModel : public ::testing::TestWithParam<const char*> {};

TEST_P(HashRingModel, random_scripts) { run_scripts<RingScript>(3, GetParam()); }

INSTANTIATE_TEST_SUITE_P(Algorithms, HashRingModel, ::testing::Values("ring", "ketama", "slots"),
                         kParameterName);

}  // namespace
}  // namespace ring_model_test
}  // namespace cuckoo::test
