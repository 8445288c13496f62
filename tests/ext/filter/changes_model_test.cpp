// An origin and its copies, each in a database of its own. One copy has hashes, one is plain, one
// can't grow, and one is the origin of a further copy. All are filters, or all are sliding windows.
// The origin gets random changes, rotations, roll-backs, growth, rebuilds, resizes, clears and
// imports. Backups of the origin change on their own. Copies are written to and rotated, too.
// Messages come late, twice, never or from such a backup. An answer that is applied at once is
// never refused, and makes the copy hold exactly what the sender held, in each generation. Only
// changes that are late may be refused, and change nothing then.
#include <deque>

#include "tests/support/sql_samples.hpp"
#include "tests/support/sql_script.hpp"

namespace cuckoo::test::filter_changes_model_test {
namespace {

using Generations = std::deque<KeyBag>;  // newest first; a filter is a window of one

// A message to the holder of the mark `from`.
struct Message {
  std::string bytes;  // as a BLOB of SQL
  std::string from, to;
  bool is_image = false;
  std::vector<std::string> parts;  // the same in parts, if there are several
  Generations held;                // by the sender then
  uint64_t most = 0;
};

// A table f in a database, and what it must hold.
struct Member {
  std::unique_ptr<Database> db;
  Generations held = {{}};
  uint64_t most = 1;   // generations
  bool shaped = true;  // false: its cells are others than its origin's, so it may be too full

  std::string mark() const { return mark_of(*db, "f"); }
  void command(const std::string& name) const {
    db->run("INSERT INTO f(f) VALUES ('" + name + "')");
  }
  Outcome attempt(const std::string& command, const std::string& value) const {
    return db->attempt("INSERT INTO f(f, key) VALUES ('" + command + "', " + value + ")");
  }
  void rotate() {
    command("rotate");
    held.emplace_front();
    held.resize(std::min<size_t>(held.size(), most));
  }
};

class ChangesScript : public Script {
 public:
  ChangesScript(uint64_t seed, bool windows)
      : Script(seed),
        windows_(windows),
        kind_(pick(kFilterKinds)),
        multiset_(counts_copies(kind_)),
        unique_(!windows && one_in(4)),
        grows_(!windows || !one_in(4)) {
    // The rate is low, because nothing would tell a false positive from a key that came back.
    origin_ = make(std::string(!grows_    ? "growth = off, capacity = 2000"
                               : windows_ ? "capacity = 300"
                                          : "capacity = 1500") +
                   ", fpr = 1e-8, seed = 9");
    change(origin_, 100 + random(700));
    for (uint64_t rotations = windows_ ? random(7) : 0; rotations > 0; --rotations) {
      origin_.rotate();
      change(origin_, 100);
    }
    for (const char* options : {"", "", "growth = off, ", ""}) {
      copies_.push_back(make(std::string(options) + "fpr = 0.01, seed = 3"));
      ship(origin_, copies_.back(), copies_.size() == 1 || copies_.size() == kRelay + 1);
    }
    further_ = make("seed = 4");
    ship(copies_[kRelay], further_, one_in(2));
  }

  void run() {
    for (int step = 0; step < (windows_ ? 50 : 60) && !testing::Test::HasFailure(); ++step) {
      if (one_in(2)) {
        transaction(origin_);
      }
      change_as_a_whole();
      Member& to = pick(copies_);
      if (one_in(2)) {
        send(backup_.db != nullptr && one_in(6) ? backup_ : origin_, to);
      }
      if (!messages_.empty() && one_in(2)) {
        deliver(pick(messages_), to);
      }
      if (one_in(5)) {
        send(copies_[kRelay], further_);
        deliver(messages_.back(), further_);
      }
    }
    look_at(origin_);
    for (Member& copy : copies_) {
      follow(origin_, copy);
      EXPECT_EQ(copy.held, origin_.held);
    }
    follow(copies_[kRelay], further_);
    EXPECT_EQ(further_.mark(), origin_.mark());
  }

 private:
  static constexpr int64_t kKeys = 700;
  static constexpr size_t kFixed = 2;
  static constexpr size_t kRelay = 3;

  Member make(const std::string& options) {
    Member member;
    member.most = windows_ ? 2 + random(4) : 1;
    member.db = std::make_unique<Database>();
    // A cuckoo or counting filter with unique = on takes an image by its hashes alone.
    const bool takes_all = multiset_ && options.starts_with("growth");
    member.db->run("CREATE VIRTUAL TABLE f USING " + kind_ +
                   (windows_ ? "generations = " + std::to_string(member.most) + ", " : "") +
                   (unique_ && !takes_all ? "unique = on, " : "") + options + ")");
    return member;
  }

  // A window that can't grow may be full.
  void change(Member& to, uint64_t times) {
    for (; times > 0; --times) {
      const auto key = static_cast<int64_t>(random(kKeys));
      KeyBag& keys = to.held.front();
      if (windows_ || !multiset_ || !one_in(3)) {
        const Outcome outcome =
            to.db->attempt("INSERT OR IGNORE INTO f VALUES (" + std::to_string(key) + ")");
        EXPECT_TRUE(outcome.code == SQLITE_OK ||
                    (windows_ && outcome.message.starts_with("full: f")))
            << outcome.message;
        if (outcome.code == SQLITE_OK && !(unique_ && keys.contains(key))) {
          ++keys[key];
        }
      } else if (keys.contains(key)) {
        to.db->run("DELETE FROM f WHERE key = " + std::to_string(key));
        if (--keys[key] == 0) {
          keys.erase(key);
        }
      }
    }
  }
  void change_and_rotate(Member& to, uint64_t most) {
    for (uint64_t steps = windows_ ? random(4) : 1; steps > 0; --steps) {
      change(to, random(most));
      if (windows_ && one_in(4)) {
        to.rotate();
      }
    }
  }

  void transaction(Member& to) {
    const Generations before = to.held;
    const std::string mark = to.mark();
    to.db->run("BEGIN");
    change_and_rotate(to, 60);
    if (one_in(3)) {
      const Generations saved = to.held;
      to.db->run("SAVEPOINT s");
      change_and_rotate(to, 30);
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

  // Rebuilds, resizes or clears the origin, or imports a backup into it. Now and then a copy
  // changes on its own.
  void change_as_a_whole() {
    if (grows_ && one_in(12)) {
      origin_.command("rebuild");
    }
    if (one_in(20)) {  // refused where there are no hashes; changes no contents
      (void)pick(copies_).db->attempt("INSERT INTO f(f) VALUES ('rebuild')");
    }
    if (grows_ && one_in(20)) {
      EXPECT_EQ(origin_.attempt("resize", std::to_string(100 + random(200'000))).code, SQLITE_OK);
    }
    if (one_in(40)) {
      origin_.command("clear");
      origin_.held = {{}};
    }
    if (one_in(30) && backup_.db != nullptr) {
      ship(backup_, origin_, true);  // it is rebuilt later
    }
    if (one_in(15)) {
      fork();
    }
    const size_t own = random(copies_.size());
    if (one_in(20) && windows_ && one_in(2)) {
      copies_[own].rotate();
    } else if (one_in(20) && !(own == kFixed && unique_)) {
      change(copies_[own], 3);  // the fixed one counts what comes twice
    }
  }

  void ship(Member& from, Member& to, bool hashes) {
    const bool all = hashes || (unique_ && multiset_);
    const std::string image = std::string("filter_export('f'") + (all ? ", 'hashes')" : ")");
    const Outcome exported = from.db->attempt("SELECT " + image);
    if (exported.code != SQLITE_OK && all && windows_) {  // a generation came without
      EXPECT_NE(exported.message.find("hashes"), std::string::npos) << exported.message;
      return ship(from, to, false);
    }
    EXPECT_EQ(to.attempt("import", from.db->text("SELECT quote(" + image + ")")).code, SQLITE_OK);
    to.held = from.held;
    to.most = from.most;
    to.shaped = true;
    EXPECT_EQ(to.mark(), from.mark());
  }

  // Makes a backup of the origin's database, and then changes this backup.
  void fork() {
    backup_.db = copy_of(*origin_.db);
    backup_.held = origin_.held;
    backup_.most = origin_.most;
    EXPECT_EQ(backup_.mark(), origin_.mark());
    transaction(backup_);
  }

  // Makes the message that leads from the receiver's mark to what the sender holds. The receiver
  // may get it later.
  void send(Member& from, Member& to) {
    Message message;
    message.from = to.mark();
    message.to = from.mark();
    message.held = from.held;
    message.most = from.most;
    const std::string mark = "x'" + message.from + "'";
    const std::string bytes = from.db->text("SELECT hex(filter_changes('f', " + mark + "))");
    message.bytes = "x'" + bytes + "'";
    if (windows_) {  // "CKIW"; changes have flag 1 in byte 25
      EXPECT_TRUE(bytes.starts_with("434B4957"));
      message.is_image = bytes.substr(size_t{2} * 25, 2) == "00";
    } else {  // "CKMS"; changes have flag 8 in byte 5
      EXPECT_TRUE(bytes.starts_with("434B4D53"));
      message.is_image = (std::stoi(bytes.substr(size_t{2} * 5, 2), nullptr, 16) & 8) == 0;
    }
    const bool unknown = from.db->text("SELECT filter_behind('f', " + mark + ")") == "NULL";
    EXPECT_TRUE(windows_ ? unknown || !message.is_image : message.is_image || !unknown);
    if (!windows_ && one_in(3)) {
      message.parts = parts_of(*from.db, mark);
    }
    messages_.push_back(message);
  }

  // A low limit of lengths makes short parts.
  static std::vector<std::string> parts_of(Database& db, const std::string& mark) {
    const int limit = sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, 4096 + 1024);
    db.run("CREATE TEMP TABLE sent AS SELECT part, piece FROM filter_parts('f', " + mark +
           ", '1MB')");
    sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, limit);
    std::vector<std::string> parts;
    for (const Row& row : db.rows("SELECT quote(piece) FROM temp.sent ORDER BY part")) {
      parts.push_back(row[0]);
    }
    db.run("DROP TABLE temp.sent");
    return parts.size() > 1 ? parts : std::vector<std::string>();
  }

  // Delivers all parts. In between, a part may come and be rolled back, or come out of turn and be
  // refused.
  Outcome deliver_parts(const std::vector<std::string>& parts, Member& to) {
    to.db->run("BEGIN");
    const size_t kept = one_in(2) ? 0 : 1 + random(parts.size() - 1);
    Outcome outcome;
    for (size_t i = 0; i < parts.size() && outcome.code == SQLITE_OK; ++i) {
      if (i == kept && one_in(2)) {
        to.db->run("SAVEPOINT part");
        (void)to.attempt("apply", parts[i]);
        to.db->run("ROLLBACK TO part; RELEASE part");
      }
      if (i > 0 && one_in(4)) {
        EXPECT_NE(to.attempt("apply", parts[0]).code, SQLITE_OK);
        EXPECT_NE(to.db->attempt("INSERT INTO f VALUES (1)").code, SQLITE_OK);
      }
      outcome = to.attempt("apply", parts[i]);
    }
    to.db->run(outcome.code == SQLITE_OK ? "COMMIT" : "ROLLBACK");
    return outcome;
  }

  void deliver(const Message& message, Member& to) {
    const std::string before = to.mark();
    const bool leads = message.is_image || before == message.from || before == message.to;
    if (one_in(4)) {
      to.db->run("BEGIN");
      (void)to.attempt("apply", message.bytes);
      to.db->run("ROLLBACK");
      EXPECT_EQ(to.mark(), before);
    }
    const Outcome outcome = message.parts.empty() ? to.attempt("apply", message.bytes)
                                                  : deliver_parts(message.parts, to);
    if (outcome.code == SQLITE_OK) {
      EXPECT_TRUE(leads);
      // A copy without hashes takes no mark if its segments differ from the sender's.
      to.shaped = to.mark() == message.to;
      EXPECT_TRUE(to.shaped || !message.is_image);
      to.held = message.held;
      to.most = message.most;
    } else {
      EXPECT_FALSE(leads) << outcome.message;
      EXPECT_NE(outcome.message.find("lead from mark"), std::string::npos) << outcome.message;
      EXPECT_EQ(to.mark(), before);
    }
    if (one_in(4)) {
      look_at(to);
    }
  }

  void look_at(const Member& member) {
    const std::vector<Row> counts =
        member.db->rows(with_numbers(0, kKeys - 1) +
                        "SELECT i, ifnull((SELECT count FROM f WHERE key = i), 0)"
                        " FROM n");
    ASSERT_EQ(counts.size(), size_t{kKeys});
    for (int64_t key = 0; key < kKeys; ++key) {
      int64_t expected = 0;
      for (const KeyBag& one : member.held) {
        const auto found = one.find(key);
        expected += found == one.end() ? 0 : multiset_ ? static_cast<int64_t>(found->second) : 1;
      }
      const int64_t count = std::stoll(counts[static_cast<size_t>(key)][1]);
      ASSERT_GE(count, expected) << key;
      ASSERT_TRUE(!member.shaped || count == expected)
          << key << ": " << count << ", expected " << expected;
    }
    std::string items;
    uint64_t all = 0;
    for (const KeyBag& one : member.held) {
      items += (items.empty() ? "" : " ") + std::to_string(items_of(one, multiset_));
      all += items_of(one, multiset_);
    }
    if (windows_ || multiset_) {
      EXPECT_EQ(member.db->number("SELECT count(*) FROM f"), static_cast<int64_t>(all));
    }
    if (windows_) {
      EXPECT_EQ(member.db->text("SELECT generations || ': ' || generation_items"
                                " FROM filter_info('f')"),
                std::to_string(member.most) + ": " + items);
    }
    EXPECT_EQ(member.db->text("SELECT cuckoo_check('f')"), "ok");
  }

  // If the first answer does not give the copy the sender's mark, the second answer is an image.
  void follow(Member& from, Member& to) {
    send(from, to);
    deliver(messages_.back(), to);
    if (to.mark() != from.mark()) {
      send(from, to);
      EXPECT_TRUE(messages_.back().is_image);
      deliver(messages_.back(), to);
    }
    EXPECT_EQ(to.mark(), from.mark());
    look_at(to);
  }

  const bool windows_;
  const std::string kind_;
  const bool multiset_;
  const bool unique_;
  const bool grows_;  // the origin
  Member origin_;
  std::vector<Member> copies_;
  Member further_;
  Member backup_;
  std::vector<Message> messages_;
};

TEST(ChangesModel, copies_hold_what_their_origin_held) { run_scripts<ChangesScript>(40, false); }

TEST(WindowChangesModel, copies_hold_what_their_origin_held) {
  run_scripts<ChangesScript>(25, true);
}

}  // namespace
}  // namespace cuckoo::test::filter_changes_model_test
