// Speed, size and measured false positive rate of the cuckoo filter at 0.1 %, filled to capacity.
//
// bits/key counts the pages' content and their 4 bytes of checksum each. ns are per key.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/checksum.hpp"
#include "core/filter/cuckoo_filter.hpp"
#include "tests/bench/core_bench.hpp"

namespace {

using cuckoo::CuckooFilter;
using cuckoo::CuckooGeometry;
using cuckoo::kPageBytes;
using cuckoo::bench::nth_hash;

constexpr double kRate = 0.001;
constexpr uint64_t kBatch = 1024;

std::unique_ptr<CuckooFilter> empty_filter(uint64_t keys, double rate) {
  const CuckooGeometry geometry = cuckoo::size_cuckoo(keys, rate, kPageBytes).value();
  auto filter = std::make_unique<CuckooFilter>(geometry);
  for (uint64_t i = 0; i < geometry.page_count(); ++i) {
    filter->pages().add(i, false);
  }
  return filter;
}

void fill(CuckooFilter& filter, uint64_t keys) {
  std::vector<uint64_t> hashes(kBatch);
  for (uint64_t i = 0; i < keys; i += hashes.size()) {
    hashes.resize(std::min(kBatch, keys - i));
    for (uint64_t j = 0; j < hashes.size(); ++j) {
      hashes[j] = nth_hash(i + j);
    }
    filter.insert_batch(hashes);
  }
}

// The last full filter is kept: its benchmark runs more than once.
CuckooFilter& full_filter(uint64_t keys, double rate) {
  static std::unique_ptr<CuckooFilter> filter;
  static std::pair<uint64_t, double> made_for;
  if (filter == nullptr || made_for != std::pair(keys, rate)) {
    filter.reset();
    filter = empty_filter(keys, rate);
    fill(*filter, keys);
    made_for = {keys, rate};
  }
  return *filter;
}

void report(benchmark::State& state, const CuckooFilter& filter, uint64_t keys) {
  const CuckooGeometry& geometry = filter.geometry();
  double bytes = 0;
  for (uint64_t i = 0; i < geometry.page_count(); ++i) {
    bytes += geometry.content_bytes(i) + 4;
  }
  state.counters["bits/key"] = 8 * bytes / static_cast<double>(keys);
  state.counters["overflow"] = static_cast<double>(filter.overflow().items());
}

double rate_of(const benchmark::State& state) {
  return state.range(1) == 0 ? kRate : 1.0 / static_cast<double>(state.range(1));
}

// ---- from empty to capacity

void insert(benchmark::State& state, bool batched) {
  const auto keys = static_cast<uint64_t>(state.range(0));
  std::unique_ptr<CuckooFilter> filter;
  for (auto _ : state) {
    state.PauseTiming();
    filter = empty_filter(keys, rate_of(state));
    state.ResumeTiming();
    if (batched) {
      fill(*filter, keys);
    } else {
      for (uint64_t i = 0; i < keys; ++i) {
        filter->insert(nth_hash(i));
      }
    }
  }
  state.counters["ns/key"] = benchmark::Counter(
      static_cast<double>(keys) * 1e-9,
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  report(state, *filter, keys);
}

// ---- asking a full filter

void contains(benchmark::State& state, bool present) {
  const auto keys = static_cast<uint64_t>(state.range(0));
  const CuckooFilter& filter = full_filter(keys, rate_of(state));
  // A walk over the keys in another order than they came in; strangers lie after them.
  uint64_t at = 0;
  uint64_t found = 0;
  for (auto _ : state) {
    at += 0x9E3779B97F4A7C15;
    const uint64_t i = cuckoo::multiply_high(at, keys);
    found += filter.contains(nth_hash(present ? i : keys + i)) ? 1 : 0;
  }
  state.counters["found"] = static_cast<double>(found) / static_cast<double>(state.iterations());
  report(state, filter, keys);
}

void remove_and_insert(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(0));
  CuckooFilter& filter = full_filter(keys, rate_of(state));
  uint64_t at = 0;
  for (auto _ : state) {
    at += 0x9E3779B97F4A7C15;
    const uint64_t hash = nth_hash(cuckoo::multiply_high(at, keys));
    filter.remove(hash);
    filter.insert(hash);
  }
}

// Half of the keys, from a full filter.
void remove(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(0));
  std::unique_ptr<CuckooFilter> filter;
  for (auto _ : state) {
    state.PauseTiming();
    filter = empty_filter(keys, rate_of(state));
    fill(*filter, keys);
    state.ResumeTiming();
    for (uint64_t i = 0; i < keys; i += 2) {
      filter->remove(nth_hash(i));
    }
  }
  state.counters["ns/key"] = benchmark::Counter(
      static_cast<double>((keys + 1) / 2) * 1e-9,
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// Arguments: keys, and 1/rate (0: 0.1 %). Another size or rate fills a new filter.
void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Args({1'000'000, 0})->Args({16'000'000, 0})->Args({128'000'000, 0});
}
void shapes(benchmark::internal::Benchmark* benchmark) {
  for (const int64_t inverse : {4, 33, 100, 10'000, 1'000'000, 1'000'000'000}) {
    benchmark->Args({1'000'000, inverse});
  }
}

BENCHMARK_CAPTURE(insert, single, false)
    ->Apply(shapes)
    ->Args({1'000'000, 0})
    ->Args({16'000'000, 0})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(insert, batch, true)
    ->Args({1'000'000, 0})
    ->Args({16'000'000, 0})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(remove)
    ->Args({1'000'000, 0})
    ->Args({16'000'000, 0})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(contains, positive, true)->Apply(shapes)->Apply(sizes);
BENCHMARK_CAPTURE(contains, negative, false)->Apply(shapes)->Apply(sizes);
BENCHMARK(remove_and_insert)->Args({1'000'000, 0})->Args({16'000'000, 0});

// ---- pages

void page_checksum(benchmark::State& state) {
  const std::vector<std::byte> page(kPageBytes, std::byte{0x5A});
  for (auto _ : state) {
    benchmark::DoNotOptimize(cuckoo::crc32c(page));
  }
}
BENCHMARK(page_checksum);

void page_validate(benchmark::State& state) {
  const CuckooFilter& filter = full_filter(1'000'000, kRate);
  const CuckooGeometry& geometry = filter.geometry();
  for (auto _ : state) {
    benchmark::DoNotOptimize(CuckooFilter::validate_page(
                                 geometry, 1, {filter.pages().find(1), geometry.content_bytes(1)})
                                 .ok());
  }
}
BENCHMARK(page_validate);

// One key inserted again and again: counted in the overflow table.
void insert_same_key(benchmark::State& state) {
  const auto filter = empty_filter(1'000'000, kRate);
  for (auto _ : state) {
    benchmark::DoNotOptimize(filter->insert(42));
  }
}
BENCHMARK(insert_same_key);

}  // namespace
