// Random scripts of export, import, merge, union and changes between three tables, two connections
// and transactions, beside bags of keys. Whatever goes through an image, no key is lost, and what
// is refused changes nothing. A union by hashes is the same image in any order.
#include <array>

#include "tests/support/sql_samples.hpp"
#include "tests/support/sql_script.hpp"

namespace cuckoo::test::filter_image_model_test {
namespace {

constexpr size_t kTables = 3;

struct Contents {
  KeyBag keys;        // how often at least
  int64_t items = 0;  // of a multiset
  std::string kind;
};
using State = std::array<Contents, kTables>;

struct StoredImage {
  std::string literal;
  Contents contents;
  bool hashes = false;
};

class ImageScript : public Script {
 public:
  explicit ImageScript(uint64_t seed) : Script(seed) {
    constexpr const char* kSizes[] = {"capacity = 20", "capacity = 300", "capacity = 1000",
                                      "capacity = 300, fpr = 0.01", "capacity = 300, fpr = 1e-5"};
    for (auto& one : connections_) {
      one = std::make_unique<QuickDatabase>(folder_.file("f.db"));
    }
    attempt(std::string("PRAGMA page_size = ") + pick({"512", "4096"}));
    attempt(std::string("PRAGMA journal_mode = ") + pick({"WAL", "DELETE"}));
    const std::string kind = pick(kFilterKinds);
    const std::string size = pick(kSizes);
    for (size_t i = 0; i < kTables; ++i) {
      now_[i].kind = one_in(4) ? pick(kFilterKinds) : kind;
      const std::string window = one_in(8) ? ", generations = 2" : "";
      attempt("CREATE VIRTUAL TABLE " + name(i) + " USING " + now_[i].kind +
              (one_in(3) ? pick(kSizes) : size) + ", growth = " + (one_in(3) ? "off" : "on") +
              ", seed = " + (one_in(6) ? "2" : "1") + window + ")");
      now_[i].kind += window;
    }
  }

  void run() {
    for (uint64_t steps = 30 + random(50); steps > 0; --steps) {
      if (!saved_.open()) {
        actor_ = random(2);
      }
      step();
      compare(*connections_[actor_], now_);
      if (!saved_.open()) {
        compare(*connections_[1 - actor_], now_);
      }
    }
    if (saved_.open()) {
      must("COMMIT");
    }
    QuickDatabase later(folder_.file("f.db"));
    compare(later, now_);
    for (size_t i = 0; i < kTables; ++i) {
      later.run("INSERT INTO " + name(i) + "(" + name(i) + ") VALUES ('check')");
    }
    require(later.text("PRAGMA integrity_check") == "ok", "integrity_check");
  }

 private:
  static std::string name(size_t table) { return std::string(1, static_cast<char>('a' + table)); }
  // Returns true if the statement ran. A statement may fail only with a text that is known here.
  bool attempt(const std::string& sql) {
    const Outcome outcome = connections_[actor_]->attempt(sql);
    note("/* " + std::to_string(actor_) + " */ " + sql + ";" +
         (outcome.code == SQLITE_OK ? "" : "  -- " + outcome.message));
    bool known = outcome.code == SQLITE_OK;
    for (const char* part :
         {"full: ", "hashes", "seed", "geometry", "window", "growth", "make a table like the image",
          "make a table like that", "knows 47 bits", "another filter", "can't DELETE", "savepoint",
          "the images differ in", "an image has hashes of 47 bits"}) {
      known = known ||
              (outcome.code == SQLITE_ERROR && outcome.message.find(part) != std::string::npos);
    }
    require(known,
            sql.substr(0, 300) + "\ncode " + std::to_string(outcome.code) + ": " + outcome.message);
    return outcome.code == SQLITE_OK;
  }
  void must(const std::string& sql) { require(attempt(sql), "fails: " + sql); }

  void compare(Database& db, const State& state) {
    for (size_t i = 0; i < kTables; ++i) {
      const Contents& contents = state[i];
      const auto size = static_cast<int64_t>(contents.keys.size());
      const std::string who = "table " + name(i) + ": ";
      const int64_t found = db.number("SELECT count(*) FROM " + json_of(contents.keys) + " JOIN " +
                                      name(i) + " AS x ON x.key = value");
      require(found == size, who + std::to_string(found) + " of " + std::to_string(size) + " keys");
      const int64_t items = db.number("SELECT count(*) FROM " + name(i));
      const bool exact = counts_copies(contents.kind);  // else an estimate where cells were united
      require(exact ? items == contents.items : items <= size + size / 10 + 5,
              who + std::to_string(items) + " items, expected " +
                  std::to_string(exact ? contents.items : size));
    }
  }

  void insert(size_t table) {
    const auto first = static_cast<int64_t>(random(5000));
    const auto last = first + static_cast<int64_t>(random(one_in(3) ? 500 : 20));
    if (attempt("INSERT INTO " + name(table) + " " + numbers(first, last))) {
      for (int64_t key = first; key <= last; ++key) {
        ++now_[table].keys[key];
        ++now_[table].items;
      }
    }
  }

  void remove(size_t table) {
    Contents& contents = now_[table];
    if (contents.keys.empty()) {
      return;
    }
    auto key = contents.keys.lower_bound(static_cast<int64_t>(random(5000)));
    key = key == contents.keys.end() ? contents.keys.begin() : key;
    if (attempt("DELETE FROM " + name(table) + " WHERE key = " + std::to_string(key->first))) {
      --contents.items;
      if (--key->second == 0) {
        contents.keys.erase(key);
      }
    }
  }

  void add_all(Contents& to, const Contents& from) const {
    const bool copies = counts_copies(from.kind);
    for (const auto& [key, count] : from.keys) {
      to.keys[key] += copies ? count : 1;
      to.items += copies ? static_cast<int64_t>(count) : 0;
    }
  }

  void merge(size_t table, const Contents& from, const std::string& what) {
    const std::string sql =
        "INSERT INTO " + name(table) + "(" + name(table) + ", key) VALUES ('merge', " + what + ")";
    if (!attempt(sql)) {
      return;
    }
    add_all(now_[table], from);
    if (!counts_copies(from.kind)) {  // how many of its hashes are different only the table knows
      now_[table].items = connections_[actor_]->number("SELECT count(*) FROM " + name(table));
    }
  }

  void import(size_t table, const StoredImage& image) {
    if (attempt("INSERT INTO " + name(table) + "(" + name(table) + ", key) VALUES ('import', " +
                image.literal + ")")) {
      const std::string kind = now_[table].kind;
      now_[table] = image.contents;
      now_[table].kind = kind;
    }
  }

  void store_image(size_t table) {
    const bool hashes = one_in(2);
    store("filter_export('" + name(table) + "'" + (hashes ? ", 'hashes')" : ")"), now_[table],
          hashes);
  }
  bool store(const std::string& call, const Contents& contents, bool hashes) {
    if (!attempt("SELECT length(" + call + ")")) {
      return false;
    }
    images_.push_back({connections_[actor_]->text("SELECT quote(" + call + ")"), contents, hashes});
    const StoredImage& image = images_.back();
    require(connections_[actor_]->number("SELECT count(*) FROM " + json_of(image.contents.keys) +
                                         " WHERE NOT filter_contains(" + image.literal +
                                         ", value)") == 0,
            "keys are not in the image");
    return true;
  }
  void unite() {
    std::string rows;
    std::string reversed;
    bool hashes = true;
    Contents all;
    for (uint64_t images = 1 + random(4); images > 0; --images) {
      const StoredImage& image = pick(images_);
      const std::string row = "SELECT " + image.literal + " AS b";
      reversed = row + (rows.empty() ? "" : " UNION ALL " + reversed);
      rows += (rows.empty() ? "" : " UNION ALL ") + row;
      hashes = hashes && image.hashes;
      all.kind = image.contents.kind;
      add_all(all, image.contents);
    }
    const std::string others = "(SELECT filter_union(b) FROM (" + reversed + "))";
    const bool united = store("(SELECT filter_union(b) FROM (" + rows + "))", all, hashes);
    require(attempt("SELECT length(" + others + ")") == united,
            "in another order it is refused, or not");
    require(
        !united || !hashes ||
            connections_[actor_]->text("SELECT quote(" + others + ")") == images_.back().literal,
        "the union is another image in another order");
  }

  void step() {
    const size_t table = random(kTables);
    const size_t other = random(kTables);
    const std::string command = "INSERT INTO " + name(table) + "(" + name(table);
    switch (random(16)) {
      case 0:
      case 1:
      case 2:
        return insert(table);
      case 3:
        return remove(table);
      case 4:
      case 5:
        return store_image(table);
      case 6:
      case 7:
        if (!images_.empty()) {
          import(table, pick(images_));
        }
        return;
      case 8:
        if (!images_.empty()) {
          const StoredImage& image = pick(images_);
          merge(table, image.contents, image.literal);
        }
        return;
      case 9:
        return merge(table, Contents(now_[other]), "'" + name(other) + "'");
      case 10:
        if (one_in(2)) {
          attempt(command + ") VALUES ('rebuild')");
        } else {
          attempt(command + ", key) VALUES ('resize', " + std::to_string(1 + random(2000)) + ")");
        }
        return;
      case 11:
        if (!images_.empty() && !one_in(4)) {
          return unite();
        }
        return must(command + ") VALUES ('check')");
      case 12:
        if (one_in(3)) {
          must(command + ") VALUES ('clear')");
          now_[table].keys.clear();
          now_[table].items = 0;
        }
        return;
      default:
        must(saved_.step(*this, now_));
    }
  }

  TemporaryFolder folder_;
  std::array<std::unique_ptr<QuickDatabase>, 2> connections_;
  size_t actor_ = 0;
  State now_;
  SavedStates<State> saved_;
  std::vector<StoredImage> images_;
};

TEST(ImageModel, random_scripts_lose_no_key) { run_scripts<ImageScript>(120); }

}  // namespace
}  // namespace cuckoo::test::filter_image_model_test
