// Cuckoo filters at 0.1 %, beside the least that such a look-up can cost: the floor hashes the key
// and loads two words at random from memory of the filter's size.
//
// All take turns within one run. Look-ups go one by one, over keys in random order, so that nothing
// can foresee the next answer; the floor over the same keys. Inserts go one by one too, from empty
// to capacity. A turn's ratio is of two times right after each other; printed is the median of all
// turns, and ns a key of the best turn. "portable" is half and half, with code for any processor.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/base/key_hash.hpp"
#include "core/filter/cuckoo_filter.hpp"
#include "tests/bench/core_bench.hpp"

namespace {

using cuckoo::CuckooFilter;
using cuckoo::hash_integer;
using cuckoo::HashWidth;
using cuckoo::kPageBytes;
using cuckoo::multiply_high;
using cuckoo::bench::nth_hash;

constexpr uint64_t kSeed = 0x5EED;
// More than a small filter has keys: a processor learns a sequence of 10,000 answers by heart.
constexpr uint64_t kLookUps = uint64_t{1} << 20;

uint64_t hash_of(int64_t key) noexcept {
  return logged_hash(hash_integer(key, kSeed), HashWidth::k47Bits);
}
int64_t nth_key(uint64_t i) noexcept { return static_cast<int64_t>(nth_hash(i)); }

std::unique_ptr<CuckooFilter> empty_filter(uint64_t keys) {
  auto filter =
      std::make_unique<CuckooFilter>(cuckoo::size_cuckoo(keys, 0.001, kPageBytes).value());
  for (uint64_t i = 0; i < filter->pages().page_count(); ++i) {
    filter->pages().add(i, false);
  }
  return filter;
}

void fill(CuckooFilter& filter, const std::vector<int64_t>& keys) {
  for (const int64_t key : keys) {
    filter.insert(hash_of(key));
  }
}

template <class Work>
double ns_per_key(const std::vector<int64_t>& keys, Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work(keys);
  const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - start;
  return passed.count() / static_cast<double>(keys.size());
}

class Floor {
 public:
  explicit Floor(uint64_t bits) : words_(bits / 64 + 1, 1) {}
  double ns(const std::vector<int64_t>& keys) const {
    return ns_per_key(keys, [&](const std::vector<int64_t>& all) {
      uint64_t sum = 0;
      for (const int64_t key : all) {
        const uint64_t hash = hash_of(key);
        sum += words_[multiply_high(hash, words_.size())] +
               words_[multiply_high(hash * cuckoo::kGoldenStep, words_.size())];
      }
      benchmark::DoNotOptimize(sum);
    });
  }

 private:
  std::vector<uint64_t> words_;
};

double ns_per_look_up(const CuckooFilter& filter, const std::vector<int64_t>& keys) {
  return ns_per_key(keys, [&](const std::vector<int64_t>& all) {
    uint64_t found = 0;
    for (const int64_t key : all) {
      found += filter.contains(hash_of(key)) ? 1 : 0;
    }
    benchmark::DoNotOptimize(found);
  });
}

class Measured {
 public:
  void add(double ns, double floor_ns) {
    best_ = std::min(best_, ns);
    ratios_.push_back(ns / floor_ns);
  }
  double best() const { return best_; }
  double ratio() const {
    std::vector<double> sorted = ratios_;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }

 private:
  double best_ = std::numeric_limits<double>::infinity();
  std::vector<double> ratios_;
};

std::string budget(double at_most) {
  const std::string text = std::to_string(at_most);
  return "ratios: at most " + text.substr(0, text.find('.') + 2);
}

void cuckoo_look_ups(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(0));
  std::vector<int64_t> held(keys);
  for (uint64_t i = 0; i < keys; ++i) {
    held[i] = nth_key(i);
  }
  const std::unique_ptr<CuckooFilter> filter = empty_filter(keys);
  fill(*filter, held);

  // Absent, present, half and half.
  std::array<std::vector<int64_t>, 3> asked;
  std::mt19937_64 random(1);
  for (uint64_t i = 0; i < kLookUps; ++i) {
    const int64_t stranger = nth_key(keys + i);
    const int64_t holder = held[multiply_high(random(), keys)];
    asked[0].push_back(stranger);
    asked[1].push_back(holder);
    asked[2].push_back(random() % 2 == 0 ? stranger : holder);
  }
  const Floor floor(filter->bits());
  const std::unique_ptr<CuckooFilter> portable = empty_filter(keys);
  fill(*portable, held);
  portable->use_portable_code();
  std::array<Measured, asked.size() + 1> look_ups;
  Measured floors;
  for (auto _ : state) {
    for (size_t i = 0; i < look_ups.size(); ++i) {
      const bool last = i == asked.size();
      const std::vector<int64_t>& queries = asked[last ? i - 1 : i];
      const double floor_ns = floor.ns(queries);
      look_ups[i].add(ns_per_look_up(last ? *portable : *filter, queries), floor_ns);
      floors.add(floor_ns, floor_ns);
    }
  }
  state.counters["floor_ns"] = floors.best();
  const char* const names[] = {"absent", "present", "half", "portable"};
  for (size_t i = 0; i < look_ups.size(); ++i) {
    state.counters[std::string(names[i]) + "_ns"] = look_ups[i].best();
    state.counters[std::string(names[i]) + "_ratio"] = look_ups[i].ratio();
  }
  if (state.range(1) != 0) {
    state.SetLabel(budget(static_cast<double>(state.range(1)) / 10));
  }
}

void cuckoo_inserts(benchmark::State& state) {
  const auto count = static_cast<uint64_t>(state.range(0));
  std::vector<int64_t> keys(count);
  for (uint64_t i = 0; i < count; ++i) {
    keys[i] = nth_key(i);
  }
  const Floor floor(empty_filter(count)->bits());
  Measured inserts;
  Measured floors;
  for (auto _ : state) {
    const std::unique_ptr<CuckooFilter> filter = empty_filter(count);
    const double floor_ns = floor.ns(keys);
    inserts.add(ns_per_key(keys, [&](const std::vector<int64_t>& all) { fill(*filter, all); }),
                floor_ns);
    floors.add(floor_ns, floor_ns);
  }
  state.counters["floor_ns"] = floors.best();
  state.counters["insert_ns"] = inserts.best();
  state.counters["insert_ratio"] = inserts.ratio();
  if (state.range(1) != 0) {
    state.SetLabel(budget(static_cast<double>(state.range(1)) / 10));
  }
}

// Arguments: keys, and ten times the budget (0: none).
BENCHMARK(cuckoo_look_ups)
    ->Args({10'000, 24})
    ->Args({1'000'000, 18})
    ->Args({4'000'000, 18})
    ->Args({16'000'000, 0})
    ->Unit(benchmark::kMillisecond)
    ->MinTime(2);
BENCHMARK(cuckoo_inserts)
    ->Args({10'000, 0})
    ->Args({1'000'000, 70})
    ->Args({4'000'000, 100})
    ->Unit(benchmark::kMillisecond)
    ->MinTime(2);

}  // namespace
