// A sliding window and its copies, each in a database of its own: one with hashes, a plain one, one
// that can't grow, and one that is the origin of a further one. Random adds, rotations, roll-backs,
// growth, rebuilds, resizes, clears and imports of the origin, backups of it that go on for
// themselves; writes to the copies and rotations of theirs; messages that come late, twice, never
// or from such a backup. An answer that is applied at once is never refused, and makes the copy
// hold exactly what the sender held, in each generation. Only changes that are late may be refused,
// and change nothing then.
//
// tests/model_seeds.hpp has the variables that choose scripts.
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/model_seeds.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace {

constexpr uint64_t kDefaultScripts = 25;
constexpr int64_t kKeys = 500;
constexpr const char* kImage = "434B4957";  // begins so; changes have flag 1 in byte 25
constexpr size_t kFlagAt = 2 * 25;

using Bag = std::map<int64_t, uint64_t>;  // key -> how often
using Generations = std::deque<Bag>;      // newest first

struct Message {
  std::string bytes;  // as a BLOB of SQL
  std::string from, to;
  bool is_image = false;
  Generations held;  // by the sender then
  uint64_t most = 0;
};

// A table f in a database, and what it must hold.
struct Member {
  std::unique_ptr<Database> db;
  Generations held = {{}};
  uint64_t most = 1;   // generations
  bool shaped = true;  // false: its cells are others than its origin's
  std::string mark() { return db->text("SELECT hex(filter_mark('f'))"); }
};

class WindowChangesScript {
 public:
  explicit WindowChangesScript(uint64_t seed) : random_(seed) {
    constexpr const char* kKinds[] = {"cuckoo_filter(", "bloom_filter(",
                                      "bloom_filter(layout = blocked, ",
                                      "bloom_filter(counting = on, "};
    const uint64_t kind = random(4);
    kind_ = kKinds[kind];
    multiset_ = kind == 0 || kind == 3;
    // The rate is low: a false positive would be told from a key that came back by nothing.
    grows_ = !one_in(4);
    origin_ = make(2 + random(4), std::string(grows_ ? "capacity = 300" : "capacity = 2000") +
                                      (grows_ ? "" : ", growth = off") + ", fpr = 1e-8, seed = 9");
    for (uint64_t rotations = random(7); rotations > 0; --rotations) {
      add(origin_, 100);
      rotate(origin_);
    }
    for (const char* options : {"", "", "growth = off, ", ""}) {
      copies_.push_back(make(2 + random(4), std::string(options) + "fpr = 0.01, seed = 3"));
    }
    for (size_t i = 0; i < copies_.size(); ++i) {
      ship(origin_, copies_[i], i == 0 || i == kRelay);
    }
    further_ = make(2, "seed = 4");
    ship(copies_[kRelay], further_, false);
  }

  void run() {
    for (int step = 0; step < 50 && !testing::Test::HasFailure(); ++step) {
      if (one_in(2)) {
        transaction(origin_);
      }
      change_as_a_whole();
      const size_t to = random(copies_.size());
      if (one_in(2)) {
        send(backup_.db != nullptr && one_in(6) ? backup_ : origin_, copies_[to]);
      }
      if (!messages_.empty() && one_in(2)) {
        deliver(messages_[random(messages_.size())], copies_[to]);
      }
      if (one_in(5)) {
        send(copies_[kRelay], further_);
        deliver(messages_.back(), further_);
      }
    }
    bring_up_to_date();
  }

 private:
  static constexpr size_t kRelay = 3;
  uint64_t random(uint64_t below) { return random_() % below; }
  bool one_in(uint64_t n) { return random(n) == 0; }

  Member make(uint64_t generations, const std::string& options) const {
    Member member;
    member.most = generations;
    member.db = std::make_unique<Database>();
    member.db->run("CREATE VIRTUAL TABLE f USING " + kind_ +
                   "generations = " + std::to_string(generations) + ", " + options + ")");
    return member;
  }

  // A table that can't grow may be full.
  void add(Member& to, uint64_t times) {
    for (; times > 0; --times) {
      const auto key = static_cast<int64_t>(random(kKeys));
      const Outcome outcome = to.db->attempt("INSERT INTO f VALUES (" + std::to_string(key) + ")");
      EXPECT_TRUE(outcome.code == SQLITE_OK || outcome.message.starts_with("full: f"))
          << outcome.message;
      if (outcome.code == SQLITE_OK) {
        ++to.held.front()[key];
      }
    }
  }
  static void rotate(Member& to) {
    to.db->run("INSERT INTO f(f) VALUES ('rotate')");
    to.held.emplace_front();
    to.held.resize(std::min<size_t>(to.held.size(), to.most));
  }

  void transaction(Member& to) {
    const Generations before = to.held;
    const std::string mark = to.mark();
    to.db->run("BEGIN");
    for (uint64_t steps = random(4); steps > 0; --steps) {
      add(to, random(40));
      if (one_in(4)) {
        rotate(to);
      }
    }
    if (one_in(3)) {
      const Generations saved = to.held;
      to.db->run("SAVEPOINT s");
      add(to, random(30));
      if (one_in(2)) {
        rotate(to);
      }
      if (one_in(2)) {
        to.db->run("ROLLBACK TO s");
        to.held = saved;
      }
    }
    if (one_in(4)) {
      to.db->run("ROLLBACK");
      to.held = before;
      EXPECT_EQ(to.mark(), mark);
    } else {
      to.db->run("COMMIT");
    }
  }

  // Growth, compaction, and what no log leads over. A copy goes its own way now and then.
  void change_as_a_whole() {
    if (grows_ && one_in(12)) {
      origin_.db->run("INSERT INTO f(f) VALUES ('rebuild')");
    }
    if (one_in(20)) {  // refused where there are no hashes; changes no contents
      (void)copies_[random(copies_.size())].db->attempt("INSERT INTO f(f) VALUES ('rebuild')");
    }
    if (grows_ && one_in(20)) {
      origin_.db->run("INSERT INTO f(f, key) VALUES ('resize', " +
                      std::to_string(100 + random(100'000)) + ")");
    }
    if (one_in(40)) {
      origin_.db->run("INSERT INTO f(f) VALUES ('clear')");
      origin_.held = {{}};
    }
    if (one_in(30) && backup_.db != nullptr) {
      ship(backup_, origin_, true);  // it is rebuilt later
    }
    if (one_in(15)) {
      fork();
    }
    if (Member& own = copies_[random(copies_.size())]; one_in(20)) {
      if (one_in(2)) {
        rotate(own);
      } else {
        add(own, 3);
      }
    }
  }

  void ship(Member& from, Member& to, bool hashes) {
    const Outcome exported = from.db->attempt(std::string("SELECT hex(filter_export('f'") +
                                              (hashes ? ", 'hashes'))" : "))"));
    if (exported.code != SQLITE_OK) {  // a generation came without
      EXPECT_NE(exported.message.find("hashes"), std::string::npos) << exported.message;
      return ship(from, to, false);
    }
    const std::string image = from.db->text(std::string("SELECT hex(filter_export('f'") +
                                            (hashes ? ", 'hashes'))" : "))"));
    to.db->run("INSERT INTO f(f, key) VALUES ('import', x'" + image + "')");
    to.held = from.held;
    to.most = from.most;
    to.shaped = true;
    EXPECT_EQ(to.mark(), from.mark());
  }

  // A copy of the origin's file, that goes on.
  void fork() {
    Member fork;
    fork.db = std::make_unique<Database>();
    fork.held = origin_.held;
    fork.most = origin_.most;
    sqlite3_backup* const backup =
        sqlite3_backup_init(fork.db->handle(), "main", origin_.db->handle(), "main");
    ASSERT_NE(backup, nullptr);
    EXPECT_EQ(sqlite3_backup_step(backup, -1), SQLITE_DONE);
    EXPECT_EQ(sqlite3_backup_finish(backup), SQLITE_OK);
    EXPECT_EQ(fork.mark(), origin_.mark());
    transaction(fork);
    backup_ = std::move(fork);
  }

  // What leads from the receiver's mark to what the sender holds. It may come later.
  void send(Member& from, Member& to) {
    Message message;
    message.from = to.mark();
    message.to = from.mark();
    message.held = from.held;
    message.most = from.most;
    const std::string bytes =
        from.db->text("SELECT hex(filter_changes('f', x'" + message.from + "'))");
    EXPECT_TRUE(bytes.starts_with(kImage));
    message.is_image = bytes.substr(kFlagAt, 2) == "00";
    EXPECT_EQ(message.is_image,
              from.db->text("SELECT filter_behind('f', x'" + message.from + "')") == "NULL");
    message.bytes = "x'" + bytes + "'";
    messages_.push_back(message);
  }

  void deliver(const Message& message, Member& to) {
    const std::string before = to.mark();
    const Outcome outcome =
        to.db->attempt("INSERT INTO f(f, key) VALUES ('apply', " + message.bytes + ")");
    if (message.is_image || message.from == before || message.to == before) {
      EXPECT_EQ(outcome.code, SQLITE_OK) << outcome.message;
    }
    if (outcome.code == SQLITE_OK) {
      EXPECT_TRUE(message.is_image || before == message.from || before == message.to);
      // A copy without hashes whose segments are others than the sender's takes no mark.
      to.shaped = to.mark() == message.to;
      EXPECT_TRUE(to.shaped || !message.is_image);
      to.held = message.held;
      to.most = message.most;
    } else {
      EXPECT_NE(outcome.message.find("lead from mark"), std::string::npos) << outcome.message;
      EXPECT_EQ(to.mark(), before);
    }
    if (one_in(4)) {
      look_at(to);
    }
  }

  void look_at(Member& member) {
    uint64_t copies = 0;
    for (int64_t key = 0; key < kKeys; ++key) {
      uint64_t expected = 0;
      for (const Bag& one : member.held) {
        const auto found = one.find(key);
        expected += found == one.end() ? 0 : multiset_ ? found->second : 1;
      }
      copies += expected;
      const int64_t count = member.db->number(
          "SELECT ifnull((SELECT count FROM f WHERE key = " + std::to_string(key) + "), 0)");
      ASSERT_GE(count, static_cast<int64_t>(expected)) << key;
      ASSERT_TRUE(!member.shaped || count == static_cast<int64_t>(expected)) << key;
    }
    EXPECT_EQ(member.db->number("SELECT count(*) FROM f"), static_cast<int64_t>(copies));
    EXPECT_EQ(member.db->number("SELECT generations FROM filter_info('f')"),
              static_cast<int64_t>(member.most));
    std::string items;
    for (const Bag& one : member.held) {
      uint64_t sum = 0;
      for (const auto& [key, count] : one) {
        sum += multiset_ ? count : 1;
      }
      items += (items.empty() ? "" : " ") + std::to_string(sum);
    }
    EXPECT_EQ(member.db->text("SELECT generation_items FROM filter_info('f')"), items);
    EXPECT_EQ(member.db->text("SELECT cuckoo_check('f')"), "ok");
  }

  // The second answer is an image then.
  void follow(Member& from, Member& to) {
    send(from, to);
    deliver(messages_.back(), to);
    if (to.mark() != from.mark()) {
      send(from, to);
      EXPECT_TRUE(messages_.back().is_image);
      deliver(messages_.back(), to);
    }
  }

  void bring_up_to_date() {
    look_at(origin_);
    for (Member& copy : copies_) {
      follow(origin_, copy);
      EXPECT_EQ(copy.mark(), origin_.mark());
      EXPECT_EQ(copy.held, origin_.held);
      look_at(copy);
    }
    follow(copies_[kRelay], further_);
    EXPECT_EQ(further_.mark(), origin_.mark());
    look_at(further_);
  }

  std::mt19937_64 random_;
  std::string kind_;
  bool multiset_ = false;
  bool grows_ = true;  // the origin
  Member origin_;
  std::vector<Member> copies_;
  Member further_;
  Member backup_;
  std::vector<Message> messages_;
};

TEST(WindowChangesModel, copies_hold_what_their_origin_held) {
  const ModelSeeds seeds(kDefaultScripts);
  for (uint64_t i = 0; i < seeds.count && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("CUCKOO_SEED=" + std::to_string(seeds.first + i));
    WindowChangesScript(seeds.first + i).run();
  }
}

}  // namespace
}  // namespace cuckoo::test
