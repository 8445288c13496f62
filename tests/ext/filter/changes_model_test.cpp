// An origin and its copies, each in a database of its own: with hashes, plain, one that can't grow,
// and one that is the origin of a further one. Random changes, roll-backs, growth, rebuilds,
// resizes and clears of the origin, backups of it that go on for themselves, writes to the copies;
// messages that come late, twice, never or from such a backup. An answer that is applied at once is
// never refused, and makes the copy hold exactly what the sender held. Only changes that are late
// may be refused, and change nothing then.
//
// tests/model_seeds.hpp has the variables that choose scripts.
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/model_seeds.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace {

constexpr uint64_t kDefaultScripts = 40;
constexpr int64_t kKeys = 700;

using Bag = std::map<int64_t, uint64_t>;  // key -> how often

struct Message {
  std::string changes;  // as a BLOB of SQL
  std::string from, to;
  bool is_image = false;
  std::vector<std::string> parts;  // the same in parts, if there are several
  Bag keys;                        // that the sender held then
};

// A table f in a database, and what it must hold.
struct Member {
  std::unique_ptr<Database> db;
  Bag keys;
  bool shaped = true;  // false: its cells are others than its origin's, so it may be too full
  std::string mark() { return db->text("SELECT hex(filter_mark('f'))"); }
};

class ChangesScript {
 public:
  explicit ChangesScript(uint64_t seed) : random_(seed) {
    constexpr const char* kKinds[] = {"cuckoo_filter(", "bloom_filter(",
                                      "bloom_filter(layout = blocked, ",
                                      "bloom_filter(counting = on, "};
    const uint64_t kind = random(4);
    kind_ = kKinds[kind];
    multiset_ = kind == 0 || kind == 3;
    unique_ = one_in(4);
    // The rate is low: a false positive would be told from a key that came back by nothing.
    origin_ = make(unique_ ? "unique = on, " : "", "capacity = 1500, fpr = 1e-9");
    change(origin_, 200 + random(600));
    for (const char* options : {"", "", "growth = off, ", ""}) {
      copies_.push_back(make(unique_ ? "unique = on, " : "", std::string(options) + "seed = 3"));
    }
    for (size_t i = 0; i < copies_.size(); ++i) {
      ship(origin_, copies_[i], hashes_of(i));
    }
    further_ = make(unique_ ? "unique = on, " : "", "seed = 4");
    ship(copies_[kRelay], further_, true);
  }

  void run() {
    for (int step = 0; step < 60 && !testing::Test::HasFailure(); ++step) {
      if (one_in(2)) {
        transaction(origin_);
      }
      change_as_a_whole();
      if (one_in(15)) {
        fork();
      }
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
  // Growth, compaction, and what no log leads over. A copy goes its own way now and then.
  void change_as_a_whole() {
    if (one_in(12)) {
      origin_.db->run("INSERT INTO f(f) VALUES ('rebuild')");
    }
    if (one_in(20)) {
      origin_.db->run("INSERT INTO f(f, key) VALUES ('resize', " +
                      std::to_string(500 + random(200'000)) + ")");
    }
    if (one_in(40)) {
      origin_.db->run("INSERT INTO f(f) VALUES ('clear')");
      origin_.keys.clear();
    }
    if (const size_t own = random(copies_.size()); one_in(20) && !(own == kFixed && unique_)) {
      change(copies_[own], 3);  // the fixed one counts what comes twice
    }
  }

  static constexpr size_t kFixed = 2;
  static constexpr size_t kRelay = 3;
  static bool hashes_of(size_t copy) { return copy == 0 || copy == kRelay; }
  uint64_t random(uint64_t below) { return random_() % below; }
  bool one_in(uint64_t n) { return random(n) == 0; }

  Member make(const std::string& first, const std::string& rest) const {
    Member member;
    // A cuckoo or counting filter with unique = on takes an image by its hashes alone.
    const bool takes_all = multiset_ && rest.starts_with("growth");
    member.db = std::make_unique<Database>();
    member.db->run("CREATE VIRTUAL TABLE f USING " + kind_ + (takes_all ? "" : first) + rest + ")");
    return member;
  }

  void change(Member& to, uint64_t times) {
    for (; times > 0; --times) {
      const auto key = static_cast<int64_t>(random(kKeys));
      if (!multiset_ || !one_in(3)) {
        const bool skipped = unique_ && to.keys.contains(key);
        to.db->run("INSERT OR IGNORE INTO f VALUES (" + std::to_string(key) + ")");
        to.keys[key] += skipped ? 0 : 1;
      } else if (to.keys.contains(key)) {
        to.db->run("DELETE FROM f WHERE key = " + std::to_string(key));
        if (--to.keys[key] == 0) {
          to.keys.erase(key);
        }
      }
    }
  }

  void transaction(Member& to) {
    const Bag before = to.keys;
    const std::string mark = to.mark();
    to.db->run("BEGIN");
    change(to, random(60));
    if (one_in(3)) {
      const Bag saved = to.keys;
      to.db->run("SAVEPOINT s");
      change(to, random(30));
      if (one_in(2)) {
        to.db->run("ROLLBACK TO s");
        to.keys = saved;
      }
    }
    if (one_in(4)) {
      to.db->run("ROLLBACK");
      to.keys = before;
      EXPECT_EQ(to.mark(), mark);
    } else {
      to.db->run("COMMIT");
    }
  }

  void ship(Member& from, Member& to, bool hashes) {
    const bool all = hashes || (unique_ && multiset_);
    const std::string image =
        from.db->text(std::string("SELECT hex(filter_export('f'") + (all ? ", 'hashes'))" : "))"));
    to.db->run("INSERT INTO f(f, key) VALUES ('import', x'" + image + "')");
    to.keys = from.keys;
    EXPECT_EQ(to.mark(), from.mark());
  }

  // A copy of the origin's file, that goes on.
  void fork() {
    Member fork;
    fork.db = std::make_unique<Database>();
    fork.keys = origin_.keys;
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
    message.keys = from.keys;
    const std::string bytes =
        from.db->text("SELECT hex(filter_changes('f', x'" + message.from + "'))");
    message.changes = "x'" + bytes + "'";
    message.is_image = bytes.starts_with("434B4933");
    if (one_in(3)) {
      message.parts = parts_of(*from.db, message.from);
    }
    messages_.push_back(message);
  }

  // A low limit of lengths makes short parts.
  static std::vector<std::string> parts_of(Database& db, const std::string& mark) {
    const int limit = sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, 4096 + 1024);
    db.run("CREATE TEMP TABLE sent AS SELECT part, piece FROM filter_parts('f', x'" + mark +
           "', '1MB')");
    sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, limit);
    std::vector<std::string> parts;
    for (const Row& row : db.rows("SELECT hex(piece) FROM temp.sent ORDER BY part")) {
      parts.push_back("x'" + row[0] + "'");
    }
    db.run("DROP TABLE temp.sent");
    return parts.size() > 1 ? parts : std::vector<std::string>();
  }

  // All parts, after a while in which some came and were taken back.
  Outcome deliver_parts(const std::vector<std::string>& parts, Member& to) {
    const auto apply = [&to](const std::string& part) {
      return to.db->attempt("INSERT INTO f(f, key) VALUES ('apply', " + part + ")");
    };
    to.db->run("BEGIN");
    const size_t kept = one_in(2) ? 0 : 1 + random(parts.size() - 1);
    Outcome outcome;
    for (size_t i = 0; i < parts.size() && outcome.code == SQLITE_OK; ++i) {
      if (i == kept && one_in(2)) {
        to.db->run("SAVEPOINT part");
        (void)apply(parts[i]);
        to.db->run("ROLLBACK TO part; RELEASE part");
      }
      if (i > 0 && one_in(4)) {
        EXPECT_NE(apply(parts[0]).code, SQLITE_OK);
        EXPECT_NE(to.db->attempt("INSERT INTO f VALUES (1)").code, SQLITE_OK);
      }
      outcome = apply(parts[i]);
    }
    to.db->run(outcome.code == SQLITE_OK ? "COMMIT" : "ROLLBACK");
    return outcome;
  }

  void deliver(const Message& message, Member& to) {
    const std::string before = to.mark();
    const Outcome outcome =
        message.parts.empty()
            ? to.db->attempt("INSERT INTO f(f, key) VALUES ('apply', " + message.changes + ")")
            : deliver_parts(message.parts, to);
    if (message.is_image) {
      EXPECT_EQ(outcome.code, SQLITE_OK) << outcome.message;
    }
    if (outcome.code == SQLITE_OK) {
      EXPECT_TRUE(message.is_image || before == message.from || before == message.to);
      // A copy without hashes whose segments are others than the sender's takes no mark.
      to.shaped = to.mark() == message.to;
      EXPECT_TRUE(to.shaped || !message.is_image);
      to.keys = message.keys;
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
      const auto found = member.keys.find(key);
      const uint64_t expected = found == member.keys.end() ? 0 : multiset_ ? found->second : 1;
      copies += expected;
      const int64_t count = member.db->number(
          "SELECT ifnull((SELECT count FROM f WHERE key = " + std::to_string(key) + "), 0)");
      ASSERT_GE(count, static_cast<int64_t>(expected)) << key;
      ASSERT_TRUE(!member.shaped || count == static_cast<int64_t>(expected)) << key;
    }
    if (multiset_) {
      EXPECT_EQ(member.db->number("SELECT count(*) FROM f"), static_cast<int64_t>(copies));
    }
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
    for (Member& copy : copies_) {
      follow(origin_, copy);
      EXPECT_EQ(copy.mark(), origin_.mark());
      EXPECT_EQ(copy.keys, origin_.keys);
      look_at(copy);
    }
    follow(copies_[kRelay], further_);
    EXPECT_EQ(further_.mark(), origin_.mark());
    look_at(further_);
    look_at(origin_);
  }

  std::mt19937_64 random_;
  std::string kind_;
  bool multiset_ = false;
  bool unique_ = false;
  Member origin_;
  std::vector<Member> copies_;
  Member further_;
  Member backup_;
  std::vector<Message> messages_;
};

TEST(ChangesModel, copies_hold_what_their_origin_held) {
  const ModelSeeds seeds(kDefaultScripts);
  for (uint64_t i = 0; i < seeds.count && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("CUCKOO_SEED=" + std::to_string(seeds.first + i));
    ChangesScript(seeds.first + i).run();
  }
}

}  // namespace
}  // namespace cuckoo::test
