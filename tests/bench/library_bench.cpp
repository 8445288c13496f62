// bench_library: the filters of <cuckoo/...> as a program calls them, beside the floor: hash the
// key, and load two words at random from memory of the filter's size.
//
//   bench_library [keys]    1,000,000 if not told
//
// All take turns in one run, over the same integer keys in random order, one key at a time. Printed
// are ns a key of the best turn, and the median of the turns' ratios to the floor.
#include <cuckoo/bloom_filter.hpp>
#include <cuckoo/cuckoo_filter.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using Keys = std::vector<int64_t>;

constexpr int kTurns = 9;
volatile uint64_t sink;  // what was found, so that it is looked for

template <class Work>
double ns_per_key(const Keys& keys, Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - start;
  return passed.count() / static_cast<double>(keys.size());
}

double floor_ns(const std::vector<uint64_t>& words, const Keys& keys) {
  return ns_per_key(keys, [&] {
    uint64_t sum = 0;
    for (const int64_t key : keys) {
      const uint64_t hash = cuckoo::Key(key).hash(1);
      sum += words[(hash >> 32) % words.size()] + words[(hash & 0xFFFFFFFF) % words.size()];
    }
    sink = sum;
  });
}

struct Best {
  double ns = 1e9;
  std::vector<double> ratios;

  void take(double time, double floor) {
    ns = std::min(ns, time);
    ratios.push_back(time / floor);
  }
  double ratio() {
    std::nth_element(ratios.begin(), ratios.begin() + kTurns / 2, ratios.end());
    return ratios[kTurns / 2];
  }
};

template <class Filter>
void measure(const char* name, const std::function<cuckoo::Result<Filter>()>& make,
             const Keys& present, const Keys& absent, const Keys& half) {
  double add = 1e9;
  double add_all = 1e9;
  Filter filter;
  for (int turn = 0; turn < 3; ++turn) {
    filter = make().value();
    add_all = std::min(add_all, ns_per_key(present, [&] { (void)filter.add_all(present); }));
    filter = make().value();
    add = std::min(add, ns_per_key(present, [&] {
                     for (const int64_t key : present) {
                       (void)filter.add(key);
                     }
                   }));
  }
  const std::vector<uint64_t> words(present.size() * 13 / 64 + 1, 1);
  Best found[3];
  Best each;
  double floor = 1e9;
  for (int turn = 0; turn < kTurns; ++turn) {
    const Keys* const all[] = {&absent, &present, &half};
    for (size_t i = 0; i < 3; ++i) {
      const double at_least = floor_ns(words, *all[i]);
      floor = std::min(floor, at_least);
      found[i].take(ns_per_key(*all[i],
                               [&] {
                                 uint64_t sum = 0;
                                 for (const int64_t key : *all[i]) {
                                   sum += filter.contains(key) ? 1 : 0;
                                 }
                                 sink = sum;
                               }),
                    at_least);
    }
    each.take(ns_per_key(half, [&] { sink = filter.contains_each(half).size(); }), 1);
  }
  uint64_t wrong = 0;
  for (const bool yes : filter.contains_each(absent)) {
    wrong += yes ? 1 : 0;
  }
  const auto count = static_cast<double>(present.size());
  std::printf(
      "%-28s %5.1f  %5.1f %3.1fx  %5.1f %3.1fx  %5.1f %3.1fx  %5.1f  %5.0f  %5.0f  %6.2f"
      "  %.3f %%\n",
      name, floor, found[0].ns, found[0].ratio(), found[1].ns, found[1].ratio(), found[2].ns,
      found[2].ratio(), each.ns, add, add_all,
      8 * static_cast<double>(filter.memory_bytes()) / count,
      100 * static_cast<double>(wrong) / count);
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  if (count == 0) {
    std::fputs("usage: bench_library [keys]\n", stderr);
    return 2;
  }
  std::mt19937_64 random(1);
  Keys present(count);
  Keys absent(count);
  for (uint64_t i = 0; i < count; ++i) {
    present[i] = static_cast<int64_t>(random() >> 1);
    absent[i] = -1 - static_cast<int64_t>(random() >> 1);
  }
  Keys half;
  for (uint64_t i = 0; i < count; ++i) {
    half.push_back(random() % 2 == 0 ? present[i] : absent[i]);
  }
  std::shuffle(present.begin(), present.end(), random);
  std::printf(
      "%llu keys, 0.1 %%; ns a key, and times the floor\n"
      "%-28s %5s  %10s  %10s  %10s  %5s  %5s  %5s  %6s  %s\n",
      static_cast<unsigned long long>(count), "", "floor", "absent", "present", "half", "each",
      "add", "all", "bits", "wrong");
  using cuckoo::BloomFilter;
  using cuckoo::CuckooFilter;
  for (const bool grows : {false, true}) {
    const std::string suffix = grows ? ", grows" : "";
    measure<CuckooFilter>(
        ("CuckooFilter" + suffix).c_str(),
        [&] { return CuckooFilter::make({.expected_keys = count, .seed = 1, .grows = grows}); },
        present, absent, half);
    measure<BloomFilter>(
        ("BloomFilter" + suffix).c_str(),
        [&] { return BloomFilter::make({.expected_keys = count, .seed = 1, .grows = grows}); },
        present, absent, half);
  }
  measure<CuckooFilter>(
      "CuckooFilter, from 1000 keys", [] { return CuckooFilter::make({.seed = 1}); }, present,
      absent, half);
  measure<BloomFilter>(
      "BloomFilter, blocked",
      [&] {
        return BloomFilter::make({.expected_keys = count,
                                  .seed = 1,
                                  .grows = false,
                                  .layout = cuckoo::BloomLayout::kBlocked});
      },
      present, absent, half);
}
