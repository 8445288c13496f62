// Sizes and the false positive rate.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tests/bench/sql_bench.hpp"

namespace cuckoo::bench {
namespace {

struct Rate {
  double value;
  const char* name;
};
constexpr Rate kRates[] = {
    {0.25, "25 %"}, {0.03, "3 %"}, {0.01, "1 %"}, {0.001, "0.1 %"}, {0.0001, "0.01 %"}};

// What a four-slot semi-sorted cuckoo filter needs at load 0.97.
double ideal_bits(double rate) { return (std::log2(1 / rate) + 1.96) / 0.97; }

std::string decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string create(const std::string& name, uint64_t capacity, double rate, bool growth,
                   uint64_t seed) {
  return "CREATE VIRTUAL TABLE " + name +
         " USING cuckoo_filter(k INTEGER, capacity = " + whole(capacity) +
         ", fpr = " + decimal(rate) + ", growth = " + (growth ? "on" : "off") +
         ", seed = " + whole(seed) + ")";
}

}  // namespace

void bench_bits(const Settings& settings, Report& report) {
  report.section("growth = off: bits per key in pages, filled to capacity, / the formula");
  std::vector<uint64_t> capacities = {1000, 3001, 10007};
  if (!settings.quick()) {
    capacities.insert(capacities.end(), {1000000, 1050000, 3333333});
  }
  const Connection connection(":memory:");
  connection.run("CREATE TABLE source(k INTEGER)");
  fill(connection, "source", capacities.back(), random_key);
  char line[120];
  std::string heading = "           formula";
  for (const uint64_t capacity : capacities) {
    std::snprintf(line, sizeof line, "%9llu", static_cast<unsigned long long>(capacity));
    heading += line;
  }
  report.note(heading);
  struct Ratio {
    double smallest;
    double worst_other;
  };
  std::vector<Ratio> ratios;
  for (const Rate& rate : kRates) {
    std::snprintf(line, sizeof line, "%8s  %8.2f", rate.name, ideal_bits(rate.value));
    std::string bits_line = line;
    Ratio ratio{0, 0};
    for (const uint64_t capacity : capacities) {
      connection.run(create("f", capacity, rate.value, false, 1));
      connection.run("INSERT INTO f SELECT k FROM source LIMIT " + whole(capacity));
      const auto bytes = static_cast<double>(connection.integer(
          std::string("SELECT sum(length(block)) FROM f_data WHERE ") + kPageRows));
      connection.run("DROP TABLE f");
      const double bits = 8 * bytes / static_cast<double>(capacity);
      std::snprintf(line, sizeof line, "%9.3f", bits);
      bits_line += line;
      double& worst = capacity == capacities.front() ? ratio.smallest : ratio.worst_other;
      worst = std::max(worst, bits / ideal_bits(rate.value));
    }
    report.note(bits_line);
    ratios.push_back(ratio);
  }
  for (size_t i = 0; i < ratios.size(); ++i) {
    const std::string name = kRates[i].name;
    report.at_most(kRates[i].value <= 0.01 ? 1.04 : 1.05,
                   name + ": worst capacity of 3001 and more", ratios[i].worst_other, 4, "x");
    report.at_most(1.12, name + ": capacity 1000", ratios[i].smallest, 4, "x");
  }
}

void bench_rate(const Settings& settings, Report& report) {
  report.section("Measured false positive rate / the asked one, filters full and folded");
  report.note("The budget is 1 plus three standard deviations of the number of false positives.");
  struct Size {
    uint64_t keys;
    uint64_t seeds;
  };
  std::vector<Size> sizes = {{100, 20}, {1000, 20}, {100000, 10}, {1000000, 4}};
  if (settings.quick()) {
    sizes.resize(2);
  }
  const Connection connection(":memory:");
  const uint64_t rows = settings.quick() ? 10000 : 1000000;
  connection.run("CREATE TABLE source(k INTEGER); CREATE TABLE absent(k INTEGER)");
  fill(connection, "source", sizes.back().keys, random_key);
  fill(connection, "absent", rows, [](uint64_t i) { return random_key((uint64_t{1} << 40) + i); });
  for (const Size& size : sizes) {
    for (const Rate& rate : kRates) {
      // Enough false positives for an error of 2 %, as far as patience goes.
      const double wanted = std::clamp(2500 / rate.value, 200000.0, 16e6);
      const auto probes = std::min(rows, static_cast<uint64_t>(wanted) / size.seeds);
      double false_hits = 0;
      for (uint64_t seed = 1; seed <= size.seeds; ++seed) {
        connection.run(create("f", size.keys, rate.value, true, seed));
        connection.run("INSERT INTO f SELECT k FROM source LIMIT " + whole(size.keys));
        connection.run("INSERT INTO f(f) VALUES ('rebuild')");  // folds
        false_hits += static_cast<double>(
            connection.integer("SELECT count(*) FROM (SELECT k FROM absent LIMIT " + whole(probes) +
                               ") CROSS JOIN f USING (k)"));
        connection.run("DROP TABLE f");
      }
      const double expected = rate.value * static_cast<double>(probes * size.seeds);
      report.at_most(1 + 3 * std::sqrt((1 - rate.value) / expected),
                     whole(size.keys) + " keys, " + rate.name + ", " + whole(size.seeds) +
                         " seeds of " + whole(probes) + " probes",
                     false_hits / expected, 4, "x");
    }
  }
}

void bench_bloom_bits(const Settings& settings, Report& report) {
  const uint64_t keys = settings.quick() ? 20000 : 1000000;
  const uint64_t probes = settings.quick() ? 20000 : 4000000;
  report.section("bloom_filter: bits per key and measured rate, " + whole(keys) + " keys");
  struct Layout {
    const char* name;
    const char* options;
    double rate;
    double bits;  // at most
  };
  constexpr double kClassic = 1.4427;  // bits per key and bit of log2(1/rate): 1 / ln 2
  constexpr Layout kLayouts[] = {
      {"standard, 3 %", "", 0.03, kClassic * 5.0589},
      {"standard, 1 %", "", 0.01, kClassic * 6.6439},
      {"standard, 0.1 %", "", 0.001, kClassic * 9.9658},
      {"standard, 0.01 %", "", 0.0001, kClassic * 13.2877},
      {"blocked, 1 %", ", layout = blocked", 0.01, 10.2},
      {"blocked, 0.1 %", ", layout = blocked", 0.001, 15.9},
      {"blocked, 0.01 %", ", layout = blocked", 0.0001, 20.4},
      {"blocked, 10^-6", ", layout = blocked", 0.000001, 30.6},
  };
  const Connection connection(":memory:");
  connection.run("CREATE TABLE source(k INTEGER); CREATE TABLE absent(k INTEGER)");
  fill(connection, "source", keys, random_key);
  fill(connection, "absent", probes,
       [](uint64_t i) { return random_key((uint64_t{1} << 40) + i); });
  for (const Layout& layout : kLayouts) {
    connection.run(
        "CREATE VIRTUAL TABLE f USING bloom_filter(k INTEGER, capacity = " + whole(keys) +
        ", fpr = " + decimal(layout.rate) + layout.options + ", seed = 1)");
    connection.run("INSERT INTO f SELECT k FROM source; INSERT INTO f(f) VALUES ('rebuild')");
    const double bits = std::stod(connection.text("SELECT bits_per_key FROM filter_info('f')"));
    const auto hits = static_cast<double>(
        connection.integer("SELECT count(*) FROM absent CROSS JOIN f USING (k)"));
    connection.run("DROP TABLE f");
    const double expected = layout.rate * static_cast<double>(probes);
    const double noise = 3 * std::sqrt((1 - layout.rate) / expected);
    report.at_most(1.005 * layout.bits, std::string(layout.name) + ": bits per key", bits, 3,
                   "bits");
    report.at_most(1 + noise, std::string(layout.name) + ": measured / asked rate", hits / expected,
                   4, "x");
  }
}

void bench_disk(const Settings& settings, Report& report) {
  const uint64_t keys = settings.quick() ? 20000 : 1000000;
  report.section("Bytes per key on disk, " + whole(keys) + " random keys, 0.1 %");
  const Connection connection(":memory:");
  connection.run("CREATE TABLE numbers(k INTEGER)");
  fill(connection, "numbers", keys, random_key);
  connection.run(
      "CREATE TABLE texts(k TEXT); INSERT INTO texts SELECT printf('%020d', k) FROM numbers");
  const auto bytes_of = [&](const std::string& sql) {
    const int64_t before = connection.bytes_in_use();
    connection.run(sql);
    return static_cast<double>(connection.bytes_in_use() - before) / static_cast<double>(keys);
  };
  const double number_index = bytes_of("CREATE INDEX number_k ON numbers(k)");
  const double text_index = bytes_of("CREATE INDEX text_k ON texts(k)");
  const double off = bytes_of(create("fixed", keys, 0.001, false, 1) +
                              "; INSERT INTO fixed SELECT k FROM numbers");
  const double raw = bytes_of(create("growing", keys, 0.001, true, 1) +
                              "; INSERT INTO growing SELECT k FROM numbers");
  const double compacted = raw + bytes_of("INSERT INTO growing(growing) VALUES ('rebuild')");
  const double grown = bytes_of(
      "CREATE VIRTUAL TABLE grown USING cuckoo_filter(k INTEGER)"
      "; INSERT INTO grown SELECT k FROM numbers");
  const double grown_compacted = grown + bytes_of("INSERT INTO grown(grown) VALUES ('rebuild')");
  report.show("index on integers", number_index, 2, "bytes/key");
  report.show("index on texts of 20 bytes", text_index, 2, "bytes/key");
  report.show("growth = on, capacity given, before compaction", raw, 2, "bytes/key");
  report.at_most(6.5, "growth = on, capacity given, after 'rebuild'", compacted, 2, "bytes/key");
  report.show("growth = on, grown from 1000", grown, 2, "bytes/key");
  report.show("growth = on, grown from 1000, after 'rebuild'", grown_compacted, 2, "bytes/key");
  report.show("growth = off, just after a fold", off, 2, "bytes/key");
  report.at_least(10, "integer index / growth = off", number_index / off, 2, "x");
  report.at_least(18, "text index / growth = off", text_index / off, 2, "x");
}

}  // namespace cuckoo::bench
