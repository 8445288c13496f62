// Random scripts of export, import, merge and changes between three tables, two connections and
// transactions, beside bags of keys: whatever goes through an image, no key is lost, and what is
// refused changes nothing.
//
// tests/model_seeds.hpp has the variables that choose scripts.
#include <array>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>

#include "tests/model_seeds.hpp"
#include "tests/support/database.hpp"

namespace cuckoo::test {
namespace {

constexpr uint64_t kDefaultScripts = 120;
constexpr size_t kTables = 3;

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Contents {
  std::map<int64_t, int64_t> keys;  // and how often at least
  int64_t items = 0;                // of a multiset
  std::string kind;
};
using State = std::array<Contents, kTables>;

struct StoredImage {
  std::string literal;
  Contents contents;
};

bool is_set(const std::string& kind) {
  return kind.starts_with("bloom") && kind.find("counting") == std::string::npos;
}

class ImageScript {
 public:
  explicit ImageScript(uint64_t seed) : random_(seed) {
    constexpr const char* kKinds[] = {"cuckoo_filter(", "bloom_filter(",
                                      "bloom_filter(layout = blocked, ",
                                      "bloom_filter(counting = on, "};
    constexpr const char* kSizes[] = {"capacity = 20", "capacity = 300", "capacity = 1000",
                                      "capacity = 300, fpr = 0.01", "capacity = 300, fpr = 1e-5"};
    for (auto& one : connections_) {
      one = std::make_unique<QuickDatabase>(folder_.file("f.db"));
    }
    run(std::string("PRAGMA page_size = ") + (one_in(2) ? "512" : "4096"));
    run(std::string("PRAGMA journal_mode = ") + (one_in(2) ? "WAL" : "DELETE"));
    const std::string kind = kKinds[random(4)];
    const std::string size = kSizes[random(5)];
    for (size_t i = 0; i < kTables; ++i) {
      now_[i].kind = one_in(4) ? kKinds[random(4)] : kind;
      const std::string window = one_in(8) ? ", generations = 2" : "";
      run("CREATE VIRTUAL TABLE " + name(i) + " USING " + now_[i].kind +
          (one_in(3) ? kSizes[random(5)] : size) + ", growth = " + (one_in(3) ? "off" : "on") +
          ", seed = " + (one_in(6) ? "2" : "1") + window + ")");
      now_[i].kind += window;
    }
    committed_ = now_;
  }

  void run_all() {
    for (uint64_t steps = 30 + random(50); steps > 0; --steps) {
      if (!open_) {
        actor_ = random(2);
      }
      step();
      committed_ = open_ ? committed_ : now_;
      compare(*connections_[actor_], now_);
      if (!open_) {
        compare(*connections_[1 - actor_], committed_);
      }
    }
    if (open_) {
      must("COMMIT");
      committed_ = now_;
    }
    QuickDatabase later(folder_.file("f.db"));
    compare(later, committed_);
    for (size_t i = 0; i < kTables; ++i) {
      later.run("INSERT INTO " + name(i) + "(" + name(i) + ") VALUES ('check')");
    }
    require(later.text("PRAGMA integrity_check") == "ok", "integrity_check");
  }

  std::string text() const {
    std::string all;
    for (const std::string& line : log_) {
      all += (line.size() > 400 ? line.substr(0, 400) + " …" : line) + '\n';
    }
    return all;
  }

 private:
  uint64_t random(uint64_t limit) { return random_() % limit; }
  bool one_in(uint64_t n) { return random(n) == 0; }
  static std::string name(size_t table) { return std::string(1, static_cast<char>('a' + table)); }
  void require(bool condition, const std::string& what) const {
    if (!condition) {
      throw Failure(what);
    }
  }

  // True: it ran. Only what may be refused is refused, and with a text.
  bool run(const std::string& sql) {
    const Outcome outcome = connections_[actor_]->attempt(sql);
    log_.push_back("/* " + std::to_string(actor_) + " */ " + sql + ";" +
                   (outcome.code == SQLITE_OK ? "" : "  -- " + outcome.message));
    bool known = outcome.code == SQLITE_OK;
    for (const char* part :
         {"full: ", "hashes", "seed", "geometry", "window", "growth", "make a table like the image",
          "knows 47 bits", "another filter", "can't DELETE", "savepoint"}) {
      known = known ||
              (outcome.code == SQLITE_ERROR && outcome.message.find(part) != std::string::npos);
    }
    require(known,
            sql.substr(0, 300) + "\ncode " + std::to_string(outcome.code) + ": " + outcome.message);
    return outcome.code == SQLITE_OK;
  }
  void must(const std::string& sql) { require(run(sql), "fails: " + log_.back()); }

  static std::string list(const Contents& contents) {
    std::string all;
    for (const auto& [key, count] : contents.keys) {
      all += (all.empty() ? "" : ",") + std::to_string(key);
    }
    return "json_each('[" + all + "]')";
  }

  void compare(Database& db, const State& state) {
    for (size_t i = 0; i < kTables; ++i) {
      const Contents& contents = state[i];
      const auto size = static_cast<int64_t>(contents.keys.size());
      const std::string who = "table " + name(i) + ": ";
      const int64_t found = db.number("SELECT count(*) FROM " + list(contents) + " JOIN " +
                                      name(i) + " AS x ON x.key = value");
      require(found == size, who + std::to_string(found) + " of " + std::to_string(size) + " keys");
      const int64_t items = db.number("SELECT count(*) FROM " + name(i));
      if (is_set(contents.kind)) {
        // An estimate where cells were united.
        require(items <= size + size / 10 + 5,
                who + std::to_string(items) + " items, expected " + std::to_string(size));
      } else {
        require(items == contents.items,
                who + std::to_string(items) + " items, expected " + std::to_string(contents.items));
      }
    }
  }

  void insert(size_t table) {
    const auto first = static_cast<int64_t>(random(5000));
    const auto last = first + static_cast<int64_t>(random(one_in(3) ? 500 : 20));
    if (run("INSERT INTO " + name(table) + " WITH RECURSIVE n(i) AS (VALUES (" +
            std::to_string(first) + ") UNION ALL SELECT i + 1 FROM n WHERE i < " +
            std::to_string(last) + ") SELECT i FROM n")) {
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
    if (run("DELETE FROM " + name(table) + " WHERE key = " + std::to_string(key->first))) {
      --contents.items;
      if (--key->second == 0) {
        contents.keys.erase(key);
      }
    }
  }

  void add_all(Contents& to, const Contents& from) const {
    const bool from_set = is_set(from.kind);
    for (const auto& [key, count] : from.keys) {
      to.keys[key] += from_set ? 1 : count;
      to.items += from_set ? 0 : count;
    }
  }

  void merge(size_t table, const Contents& from, const std::string& what) {
    const std::string sql =
        "INSERT INTO " + name(table) + "(" + name(table) + ", key) VALUES ('merge', " + what + ")";
    if (!run(sql)) {
      return;
    }
    add_all(now_[table], from);
    if (is_set(from.kind)) {  // how many of its hashes are different only the table knows
      now_[table].items = connections_[actor_]->number("SELECT count(*) FROM " + name(table));
    }
  }

  void import(size_t table, const StoredImage& image) {
    if (run("INSERT INTO " + name(table) + "(" + name(table) + ", key) VALUES ('import', " +
            image.literal + ")")) {
      const std::string kind = now_[table].kind;
      now_[table] = image.contents;
      now_[table].kind = kind;
    }
  }

  void store_image(size_t table) {
    const std::string call =
        "filter_export('" + name(table) + "'" + (one_in(2) ? ", 'hashes')" : ")");
    if (!run("SELECT length(" + call + ")")) {
      return;
    }
    images_.push_back({connections_[actor_]->text("SELECT quote(" + call + ")"), now_[table]});
    const StoredImage& image = images_.back();
    require(connections_[actor_]->number("SELECT count(*) FROM " + list(image.contents) +
                                         " WHERE NOT filter_contains(" + image.literal +
                                         ", value)") == 0,
            "keys are not in the image of " + name(table));
  }

  void transaction() {
    if (!open_) {
      must("BEGIN");
      open_ = true;
      marks_.clear();
      return;
    }
    switch (random(6)) {
      case 0:
        must("COMMIT");
        open_ = false;
        return;
      case 1:
        must("ROLLBACK");
        now_ = committed_;
        open_ = false;
        return;
      case 2:
      case 3:
        if (!marks_.empty()) {
          const size_t mark = random(marks_.size());
          must("ROLLBACK TO s" + std::to_string(mark));
          now_ = marks_[mark];
          marks_.resize(mark + 1);
        }
        return;
      default:
        must("SAVEPOINT s" + std::to_string(marks_.size()));
        marks_.push_back(now_);
    }
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
          import(table, images_[random(images_.size())]);
        }
        return;
      case 8:
        if (!images_.empty()) {
          const StoredImage& image = images_[random(images_.size())];
          merge(table, image.contents, image.literal);
        }
        return;
      case 9:
        return merge(table, Contents(now_[other]), "'" + name(other) + "'");
      case 10:
        if (one_in(2)) {
          run(command + ") VALUES ('rebuild')");
        } else {
          run(command + ", key) VALUES ('resize', " + std::to_string(1 + random(2000)) + ")");
        }
        return;
      case 11:
        must(command + ") VALUES ('check')");
        return;
      case 12:
        if (one_in(3)) {
          must(command + ") VALUES ('clear')");
          now_[table].keys.clear();
          now_[table].items = 0;
        }
        return;
      default:
        return transaction();
    }
  }

  std::mt19937_64 random_;
  TemporaryFolder folder_;
  std::array<std::unique_ptr<QuickDatabase>, 2> connections_;
  size_t actor_ = 0;
  bool open_ = false;
  State now_;
  State committed_;
  std::vector<State> marks_;
  std::vector<StoredImage> images_;
  std::vector<std::string> log_;
};

TEST(ImageModel, random_scripts_lose_no_key) {
  const ModelSeeds seeds(kDefaultScripts);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    std::unique_ptr<ImageScript> script;
    const std::string replay =
        "\n\nCUCKOO_SEED=" + std::to_string(seed) + " replays this script:\n";
    try {
      script = std::make_unique<ImageScript>(seed);
      script->run_all();
    } catch (const Failure& failure) {
      FAIL() << failure.what() << replay << (script != nullptr ? script->text() : "");
    }
    ASSERT_FALSE(HasFailure()) << replay << script->text();
  }
}

}  // namespace
}  // namespace cuckoo::test
