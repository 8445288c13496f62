// How full a SlotCache gets, how much memory it takes and how fast it answers. Three tables:
//
//   load         load at the first insert that finds no place, beside the proved limit
//   size         bytes per entry while growing from 1000 to 1 M entries; load at the growths
//   speed        ns per look-up, absent and present, at 1 M entries, and per insert while growing
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "core/base/mix.hpp"
#include "core/flash/slot_cache.hpp"

namespace {

using cuckoo::SlotCache;
using cuckoo::SlotCacheOptions;

constexpr uint64_t kEntries = 1'000'000;

uint32_t nth_hash(uint64_t i) {
  return static_cast<uint32_t>(cuckoo::mix64((i + 1) * 0x9E3779B97F4A7C15));
}

struct Shape {
  unsigned hashes;
  unsigned ways;
};

// Over a million slots, so that no growth by luck counts.
double load_at_first_failure(const Shape& shape, uint64_t seed) {
  SlotCache cache({shape.hashes, shape.ways, seed});
  cache.reserve(kEntries);
  double load = 0;
  for (uint64_t i = 0; cache.expansions() == 0 && cache.stash_size() == 0; ++i) {
    load = cache.load_factor();
    cache.insert(nth_hash(i), static_cast<uint32_t>(i + 1));
  }
  return load;
}

void print_load() {
  std::printf("load at the first insert without a place (5 seeds: least, most)\n");
  std::printf("  %-6s %9s %9s %8s\n", "(h,w)", "least", "most", "limit");
  for (const Shape shape : {Shape{2, 1}, {2, 2}, {2, 4}, {3, 1}, {4, 1}, {4, 2}, {2, 8}}) {
    double least = 1;
    double most = 0;
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      const double load = load_at_first_failure(shape, seed);
      least = std::min(least, load);
      most = std::max(most, load);
    }
    std::printf("  (%u,%u)  %9.4f %9.4f %8.3f\n", shape.hashes, shape.ways, least, most,
                SlotCacheOptions{shape.hashes, shape.ways, 0}.load_limit());
  }
}

void print_size() {
  std::printf("size while growing from 1000 to 1 M entries, (2,4)\n");
  SlotCache cache({2, 4, 1});
  double bytes_per_entry = 0;
  double least_load = 1;
  uint64_t expansions = 0;
  for (uint64_t i = 0; i < kEntries; ++i) {
    cache.insert(nth_hash(i), static_cast<uint32_t>(i + 1));
    if (cache.size() < 1000) {
      expansions = cache.expansions();
      continue;
    }
    bytes_per_entry += static_cast<double>(cache.memory_bytes()) / static_cast<double>(i + 1);
    if (cache.expansions() != expansions) {
      expansions = cache.expansions();
      least_load = std::min(least_load, cache.load_at_last_expansion());
    }
  }
  std::printf("  bytes per entry, average   %8.3f\n",
              bytes_per_entry / static_cast<double>(kEntries - 999));
  std::printf("  load at a growth, least    %8.4f\n", least_load);
  std::printf("  growths                    %8llu\n",
              static_cast<unsigned long long>(cache.expansions()));
  std::printf("  relocations per insert     %8.3f\n",
              static_cast<double>(cache.relocations()) / static_cast<double>(kEntries));
}

// The least of five runs.
template <class Run>
double ns_each(uint64_t count, Run&& run) {
  double least = 1e300;
  for (int turn = 0; turn < 5; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    least = std::min(least, took.count() / static_cast<double>(count));
  }
  return least;
}

void print_speed() {
  std::printf("speed at 1 M entries, ns\n");
  std::printf("  %-6s %9s %9s %9s\n", "(h,w)", "absent", "present", "insert");
  for (const Shape shape : {Shape{2, 1}, {2, 2}, {2, 4}, {3, 1}, {4, 1}, {4, 2}, {2, 8}}) {
    const SlotCacheOptions options{shape.hashes, shape.ways, 1};
    std::vector<uint32_t> hashes(2 * kEntries);
    for (uint64_t i = 0; i < hashes.size(); ++i) {
      hashes[i] = nth_hash(i);
    }
    SlotCache cache(options);
    const double insert = ns_each(kEntries, [&] {
      cache = SlotCache(options);
      for (uint64_t i = 0; i < kEntries; ++i) {
        cache.insert(hashes[i], static_cast<uint32_t>(i + 1));
      }
    });
    uint64_t found = 0;
    const auto look_up = [&](uint64_t first) {
      return ns_each(kEntries, [&, first] {
        for (uint64_t i = first; i < first + kEntries; ++i) {
          found += cache.find(hashes[i], [](uint32_t) { return true; }) ? 1 : 0;
        }
      });
    };
    const double absent = look_up(kEntries);
    const double present = look_up(0);
    if (found < 5 * kEntries || found > 5 * kEntries + 5 * kEntries / 1000) {
      std::printf("  %llu found, expected 5 M\n", static_cast<unsigned long long>(found));
    }
    std::printf("  (%u,%u)  %9.1f %9.1f %9.1f\n", shape.hashes, shape.ways, absent, present,
                insert);
  }
}

}  // namespace

int main() {
  print_load();
  print_size();
  print_speed();
}
