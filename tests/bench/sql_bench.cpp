// The budgets of the extension, measured through SQL: one table of what is measured, the budget and
// whether it is met. Every time is compared with another one of the same run.
//
//   bench_sql [--quick | --large] [group …]
//     --quick   some seconds, sizes too small to judge anything: does it still run?
//     --large   also 50 M and 100 M keys: needs several GB of memory and about ten minutes
//     group     join tail growth cold bulk commit bits rate disk bloom_join guard build bloom_bits
//               flash ring everyday changes pauses;
//               all when none is named
//
// The exit code is 1 when a budget is missed, 2 when something went wrong.
#include "tests/bench/sql_bench.hpp"

#include <cstdio>
#include <cstring>

namespace {

using cuckoo::bench::Report;
using cuckoo::bench::Scale;
using cuckoo::bench::Settings;

struct Group {
  const char* name;
  void (*run)(const Settings&, Report&);
};

constexpr Group kGroups[] = {
    {"join", cuckoo::bench::bench_join},
    {"tail", cuckoo::bench::bench_tail},
    {"copies", cuckoo::bench::bench_copies},
    {"growth", cuckoo::bench::bench_growth},
    {"cold", cuckoo::bench::bench_cold},
    {"bulk", cuckoo::bench::bench_bulk},
    {"commit", cuckoo::bench::bench_commit},
    {"bits", cuckoo::bench::bench_bits},
    {"rate", cuckoo::bench::bench_rate},
    {"disk", cuckoo::bench::bench_disk},
    {"bloom_join", cuckoo::bench::bench_bloom_join},
    {"guard", cuckoo::bench::bench_guard},
    {"build", cuckoo::bench::bench_build},
    {"bloom_bits", cuckoo::bench::bench_bloom_bits},
    {"flash", cuckoo::bench::bench_flash},
    {"ring", cuckoo::bench::bench_ring},
    {"everyday", cuckoo::bench::bench_everyday},
    {"changes", cuckoo::bench::bench_changes},
    {"pauses", cuckoo::bench::bench_pauses},
};

int usage(const char* program) {
  std::fprintf(stderr, "usage: %s [--quick | --large] [group ...]\ngroups:", program);
  for (const Group& group : kGroups) {
    std::fprintf(stderr, " %s", group.name);
  }
  std::fprintf(stderr, "\n");
  return 2;
}

const Group* find_group(const char* name) {
  for (const Group& group : kGroups) {
    if (std::strcmp(group.name, name) == 0) {
      return &group;
    }
  }
  return nullptr;
}

}  // namespace

int main(int count, char** arguments) {
  Settings settings;
  std::vector<const Group*> chosen;
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "--quick") == 0) {
      settings.scale = Scale::kQuick;
    } else if (std::strcmp(arguments[i], "--large") == 0) {
      settings.scale = Scale::kLarge;
    } else if (const Group* group = find_group(arguments[i])) {
      chosen.push_back(group);
    } else {
      return usage(arguments[0]);
    }
  }
  if (chosen.empty()) {
    for (const Group& group : kGroups) {
      chosen.push_back(&group);
    }
  }
  std::printf(
      "SQLite %s. Times are processor time of this process, medians of alternated runs,\n"
      "unless said otherwise.\n",
      sqlite3_libversion());
  Report report(!settings.quick());
  for (const Group* group : chosen) {
    group->run(settings, report);
  }
  return report.finish() == 0 ? 0 : 1;
}
