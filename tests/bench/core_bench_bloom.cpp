// Bloom filters, full: look-ups one by one, half of them of keys that are there, in random order.
//
// The layouts take turns within one run, a turn is a look-up for each key. ns are per look-up, of
// the best turn: the others tell what else the machine did. "blocked" is with AVX2 where there is
// it, "portable" the same filter without; faster: standard / blocked.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "core/filter/bloom_block.hpp"
#include "core/filter/bloom_filter.hpp"
#include "tests/bench/core_bench.hpp"

namespace {

using cuckoo::BloomFilter;
using cuckoo::FilterKind;
using cuckoo::kPageBytes;
using cuckoo::bench::nth_hash;

std::unique_ptr<BloomFilter> full_filter(FilterKind kind, uint64_t keys, double rate) {
  auto filter =
      std::make_unique<BloomFilter>(cuckoo::size_bloom(kind, keys, rate, 0, kPageBytes).value());
  for (uint64_t i = 0; i < filter->pages().page_count(); ++i) {
    filter->pages().add(i, false);
  }
  for (uint64_t i = 0; i < keys; ++i) {
    filter->insert(nth_hash(i));
  }
  return filter;
}

// As many as there are keys, every second one a stranger.
std::vector<uint64_t> shuffled_hashes(uint64_t keys) {
  std::vector<uint64_t> hashes(keys);
  for (uint64_t i = 0; i < keys; ++i) {
    hashes[i] = nth_hash(i % 2 == 0 ? i : keys + i);
  }
  std::shuffle(hashes.begin(), hashes.end(), std::mt19937_64(1));
  return hashes;
}

double ns_per_look_up(const BloomFilter& filter, const std::vector<uint64_t>& hashes) {
  const auto start = std::chrono::steady_clock::now();
  uint64_t found = 0;
  for (const uint64_t hash : hashes) {
    found += filter.probe(hash) == BloomFilter::Answer::kPresent ? 1 : 0;
  }
  benchmark::DoNotOptimize(found);
  const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - start;
  return passed.count() / static_cast<double>(hashes.size());
}

void bloom_look_ups(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(0));
  const double rate = 1.0 / static_cast<double>(state.range(1));
  const std::array<std::unique_ptr<BloomFilter>, 3> filters = {
      full_filter(FilterKind::kBloom, keys, rate),
      full_filter(FilterKind::kBlockedBloom, keys, rate),
      full_filter(FilterKind::kBlockedBloom, keys, rate)};
  filters[2]->use_portable_blocks();
  const std::vector<uint64_t> hashes = shuffled_hashes(keys);
  std::array<double, filters.size()> best;
  best.fill(std::numeric_limits<double>::infinity());
  for (auto _ : state) {
    for (size_t i = 0; i < filters.size(); ++i) {
      best[i] = std::min(best[i], ns_per_look_up(*filters[i], hashes));
    }
  }
  state.counters["standard_ns"] = best[0];
  state.counters["blocked_ns"] = best[1];
  state.counters["portable_ns"] = best[2];
  state.counters["faster"] = best[0] / best[1];
  state.SetLabel(cuckoo::has_avx2() ? "faster: aimed at 3" : "no AVX2");
}

// Arguments: keys, and 1/rate.
BENCHMARK(bloom_look_ups)
    ->Args({1'000'000, 100})
    ->Args({1'000'000, 1000})
    ->Args({1'000'000, 10'000})
    ->Unit(benchmark::kMillisecond)
    ->MinTime(2);

}  // namespace
