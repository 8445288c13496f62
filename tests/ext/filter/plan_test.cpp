// filter_plan(): what it says of a table is true of that table once it is made and filled.
#include <cmath>

#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_plan_test {
namespace {

constexpr const char* kColumns =
    "SELECT module, options, bits_per_key, hashes, memory_bytes_growth_on, disk_bytes_growth_on,"
    " disk_bytes_growth_off, image_bytes, memory_bytes_growth_off, cell_bytes FROM filter_plan(";

struct Case {
  const char* capacity;
  const char* rate;
  int page_size = 4096;
};
std::ostream& operator<<(std::ostream& out, const Case& one) {
  return out << one.capacity << ' ' << one.rate << ' ' << one.page_size;
}

class FilterPlan : public testing::TestWithParam<Case> {
 protected:
  static void expect_near(double planned, double real, double share, double slack,
                          const std::string& what) {
    EXPECT_NEAR(planned, real, share * real + slack) << what;
  }

  static void fill(Database& db, const std::string& create) {
    db.run("PRAGMA page_size = " + std::to_string(GetParam().page_size));
    db.run(create);
    const auto keys = static_cast<int>(std::llround(std::stod(GetParam().capacity)));
    for (int i = 0; i < 40; ++i) {
      db.run("INSERT INTO f " + numbers(1 + keys / 40 * i, keys / 40 * (i + 1)));
    }
  }

  // The bytes of both tables. The file holds nothing else but the schema's page.
  static int64_t bytes_in_file(Database& db) {
    return GetParam().page_size *
           (db.number("PRAGMA page_count") - db.number("PRAGMA freelist_count") - 1);
  }

  TemporaryFolder folder;
};

INSTANTIATE_TEST_SUITE_P(Sizes, FilterPlan,
                         testing::Values(Case{"1000", "0.001"}, Case{"1000", "1e-6"},
                                         Case{"100000", "0.001"}, Case{"100000", "0.001", 1024},
                                         Case{"100000", "0.001", 65536}, Case{"100000", "1e-6"},
                                         Case{"1e6", "0.001"}, Case{"1e6", "1e-6"}),
                         kParameterName);

TEST_P(FilterPlan, is_true) {
  const Case& asked = GetParam();
  Database planner;
  planner.run("PRAGMA page_size = " + std::to_string(asked.page_size));
  const std::vector<Row> plans =
      planner.rows(std::string(kColumns) + asked.capacity + ", " + asked.rate + ")");
  ASSERT_EQ(plans.size(), 4u);
  const double page = asked.page_size;
  int number = 0;
  for (const Row& plan : plans) {
    const std::string create =
        "CREATE VIRTUAL TABLE f USING " + plan[0] + "(key, " + plan[1] + ", seed = 1";
    for (const bool growth : {true, false}) {
      const std::string what = create + (growth ? ")" : ", growth = off)");
      const std::string path = folder.file(std::to_string(++number) + ".db");
      {
        QuickDatabase writer(path);
        fill(writer, what);
        EXPECT_EQ(writer.number("SELECT capacity FROM filter_info('f')"),
                  std::llround(std::stod(asked.capacity)))
            << what << " grew";
        const double real = static_cast<double>(bytes_in_file(writer));
        // How full the database's pages are follows from the order of what was written.
        expect_near(std::stod(plan[growth ? 5 : 6]), real, growth ? 0.15 : 0.05, 4 * page,
                    "disk of " + what);
      }
      QuickDatabase reader(path);
      const int64_t keys = std::llround(std::stod(asked.capacity));
      EXPECT_EQ(present(reader, 1, std::min<int64_t>(keys, 200'000)),
                std::min<int64_t>(keys, 200'000));
      // The plan gives this figure for a filter that does not grow. One that grows has more
      // segments, with more room for chance.
      const std::string bits = reader.text("SELECT bits_per_key FROM filter_info('f')");
      if (growth) {
        expect_near(std::stod(plan[2]), std::stod(bits), 0.06, 0, what);
      } else {
        EXPECT_EQ(bits, plan[2]) << what;
        EXPECT_NEAR(std::stod(plan[9]), std::stod(bits) * static_cast<double>(keys) / 8, 1) << what;
      }
      EXPECT_EQ(reader.text("SELECT hashes FROM filter_info('f')"), plan[3]) << what;
      const auto memory =
          static_cast<double>(reader.number("SELECT memory_bytes FROM filter_info('f')"));
      const double planned = std::stod(plan[growth ? 4 : 8]);
      EXPECT_LE(memory, planned) << "memory of " << what;
      EXPECT_GE(memory, 0.7 * planned - 20'000) << "memory of " << what;
      // A cuckoo filter may have a few entries of 16 bytes in its overflow table.
      const double image = static_cast<double>(reader.number("SELECT length(filter_export('f'))"));
      EXPECT_NEAR(std::stod(plan[7]), image, 64 + (growth ? 0 : 0.06 * image))
          << "image of " << what;
    }
  }
}

using FilterPlanTable = WithDatabase;

int64_t cell_bytes(Database& db) {
  return db.number("SELECT CAST(bits_per_key * capacity / 8 AS INT) FROM filter_info('f')");
}

TEST_F(FilterPlanTable, has_a_row_for_each_kind_and_layout) {
  EXPECT_EQ(
      db.rows("SELECT module, layout, options, capacity, fpr FROM filter_plan(1e6, '1e-3')"),
      (std::vector<Row>{
          {"cuckoo_filter", "NULL", "capacity = 1000000, fpr = 0.001", "1000000.0", "1e-3"},
          {"bloom_filter", "standard", "capacity = 1000000, fpr = 0.001", "1000000.0", "1e-3"},
          {"bloom_filter", "blocked", "capacity = 1000000, fpr = 0.001, layout = blocked",
           "1000000.0", "1e-3"},
          {"bloom_filter", "counting", "capacity = 1000000, fpr = 0.001, counting = on",
           "1000000.0", "1e-3"}}));
  db.gives(
      "SELECT capacity FROM (SELECT 10 AS n UNION SELECT 20) JOIN"
      " filter_plan(n, 0.1) WHERE module = 'cuckoo_filter'",
      "10,20");
  db.gives("SELECT count(*) FROM sqlite_schema", 0);
  db.gives("SELECT count(*) FROM filter_plan(NULL, 0.1)", 0);
  db.gives("SELECT count(*) FROM filter_plan(10, NULL)", 0);
}

// --- the third of the three -------------------------------------------------------------------

// The cells of a filter that the options make take no more than the plan was given. Those for a
// greater capacity would not fit.
TEST(FilterPlanForBytes, gives_the_greatest_capacity_that_fits) {
  TemporaryFolder folder;
  int number = 0;
  for (const int64_t bytes : {50'000, 600'000}) {
    Database planner;
    const std::string budget = std::to_string(bytes);
    const std::vector<Row> plans = planner.rows(
        "SELECT module, options, capacity, cell_bytes, layout, disk_bytes_growth_off FROM"
        " filter_plan(NULL, 0.001, {})",
        budget);
    ASSERT_EQ(plans.size(), 4u);
    for (const Row& plan : plans) {
      SCOPED_TRACE(plan[0] + ": " + plan[1]);
      const int64_t capacity = std::stoll(plan[2]);
      EXPECT_LE(std::stoll(plan[3]), bytes);
      planner.gives(sql("SELECT cell_bytes > {} FROM filter_plan({}, 0.001) WHERE layout IS {}",
                        budget, capacity + 1, (plan[4] == "NULL" ? "NULL" : "'" + plan[4] + "'")),
                    1);
      const std::string path = folder.file(std::to_string(++number) + ".db");
      {
        QuickDatabase writer(path);
        writer.run("CREATE VIRTUAL TABLE f USING {}(key, {}, seed = 1)", plan[0], plan[1]);
        for (int64_t i = 0; i < 40; ++i) {
          writer.run("INSERT INTO f " + numbers(1 + capacity * i / 40, capacity * (i + 1) / 40));
        }
        EXPECT_EQ(writer.number("SELECT capacity FROM filter_info('f')"), capacity) << "grew";
        const int64_t pages = writer.number("PRAGMA page_count");
        EXPECT_LE(static_cast<double>(4096 * pages), 1.05 * std::stod(plan[5]) + 4096);
      }
      QuickDatabase reader(path);
      EXPECT_EQ(present(reader, 1, capacity), capacity);
      EXPECT_LE(cell_bytes(reader), bytes);
      EXPECT_GE(cell_bytes(reader), bytes - bytes / 20);
    }
  }
}

TEST(FilterPlanForBytes, gives_the_least_rate_that_fits) {
  TemporaryFolder folder;
  int number = 0;
  Database db;
  constexpr std::pair<const char*, int64_t> kBudgets[] = {
      {"110000", 110000}, {"'150KB'", 153600}, {"1e6", 1000000}};
  for (const auto& [budget, bytes] : kBudgets) {
    const std::vector<Row> plans =
        db.rows("SELECT module, options, fpr, cell_bytes, layout FROM filter_plan(50000, NULL, {})",
                budget);
    EXPECT_GE(plans.size(), 3u);
    for (const Row& plan : plans) {
      SCOPED_TRACE(plan[0] + ": " + plan[1]);
      EXPECT_LE(std::stoll(plan[3]), bytes);
      const double rate = std::stod(plan[2]);
      char smaller[32];  // by one in the last of three digits
      std::snprintf(smaller, sizeof smaller, "%.3g",
                    rate - std::pow(10, std::floor(std::log10(rate)) - 2));
      if (rate > 9.325e-10) {
        const std::string layout = plan[4] == "NULL" ? "NULL" : "'" + plan[4] + "'";
        EXPECT_GT(db.number("SELECT cell_bytes FROM filter_plan(50000, {}) WHERE layout IS {}",
                            smaller, layout),
                  bytes);
      }
      const std::string path = folder.file(std::to_string(++number) + ".db");
      {
        QuickDatabase writer(path);
        writer.run("CREATE VIRTUAL TABLE f USING {}(key, {}, seed = 1)", plan[0], plan[1]);
        writer.run("INSERT INTO f " + numbers(1, 49800));
        writer.run("INSERT INTO f " + numbers(49801, 50000));
      }
      Database reader(path);
      EXPECT_EQ(present(reader, 1, 50000), 50000);
      EXPECT_LE(cell_bytes(reader), bytes);
      reader.gives(sql("SELECT fpr = {} FROM filter_info('f')", plan[2]), 1);
    }
  }
}

// --- a number of hashes --------------------------------------------------------------------------

// Any two of n, m and p, and k: the articles' formulas, beside tables that were made.
TEST_F(FilterPlanTable, takes_the_number_of_hashes) {
  for (const int k : {1, 3, 7, 20}) {
    for (const char* arguments : {"20000, 0.05, NULL", "20000, NULL, 50000", "NULL, 0.05, 50000"}) {
      const std::vector<Row> plans = db.rows(
          "SELECT module, options, capacity, fpr, hashes, cell_bytes, layout, bits_per_key"
          " FROM filter_plan({}, {})",
          arguments, k);
      ASSERT_GE(plans.size(), 1U);
      for (const Row& plan : plans) {
        SCOPED_TRACE(plan[1]);
        db.run("CREATE VIRTUAL TABLE f USING {}(key, {})", plan[0], plan[1]);
        EXPECT_EQ(plan[4], std::to_string(k));
        db.gives(sql("SELECT hashes = {} AND capacity = {} FROM filter_info('f')", k, plan[2]), 1);
        const double asked = plan[3] == "NULL" ? 0.05 : std::stod(plan[3]);
        const double fpr = std::stod(db.text("SELECT fpr FROM filter_info('f')"));
        EXPECT_LE(fpr, asked);
        EXPECT_GE(fpr, 0.97 * asked);
        const double bits = std::stod(plan[7]) / (plan[6] == "counting" ? 4 : 1);
        EXPECT_NEAR(std::pow(1 - std::exp(-k / bits), k), asked, 0.03 * asked);
        if (std::string_view(arguments).ends_with("50000")) {
          EXPECT_LE(std::stoll(plan[5]), 50000);
        }
        db.run("DROP TABLE f");
      }
    }
  }
}

// A table made with the pasted options has exactly the rate that was asked for.
TEST_F(FilterPlanTable, options_are_exact) {
  for (const char* rate : {"0.25", "0.1", "1.0/3000", "9.3132257461547851e-10", "0.0007"}) {
    for (const Row& row :
         db.rows("SELECT module, options, layout, hashes FROM filter_plan(777, {})", rate)) {
      SCOPED_TRACE(row[0] + ": " + row[1]);
      db.run("CREATE VIRTUAL TABLE f USING {}({})", row[0], row[1]);
      db.gives(sql("SELECT fpr = {} AND capacity = 777 AND hashes = {} FROM filter_info('f')", rate,
                   row[3]),
               1);
      db.run("DROP TABLE f");
    }
  }
}

TEST_F(FilterPlanTable, takes_no_memory_at_any_capacity) {
  db.gives("SELECT count(*) FROM filter_plan(10, 0.1)", 4);
  const MemoryLimiter limiter(1 << 20);
  db.gives("SELECT count(*) FROM filter_plan(1e10, 1e-6) WHERE image_bytes > 2e10", 4);
  db.gives(
      "SELECT count(*) FROM filter_plan(1 << 40, 1.0 / (1 << 20))"
      " WHERE memory_bytes_growth_on > 2e12",
      4);
}

}  // namespace
}  // namespace cuckoo::test::filter_plan_test
