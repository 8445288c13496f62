// Hash rings in core: look-ups, their budgets, and how evenly keys are spread.
//
//   bench_ring [--quick]
//
// Look-ups are timed in turn, A B C, A B C, …, processor time, medians; each asks one million keys
// whose hashes depend on the answers before them in no way. The exit code is 1 when a budget is
// missed.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/key_hash.hpp"
#include "core/ring/hash_ring.hpp"

namespace {

using cuckoo::HashRing;
using cuckoo::RingAlgorithm;
using cuckoo::RingNode;
using cuckoo::RingOptions;

double now_ns() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::shared_ptr<HashRing> ring_of(RingAlgorithm algorithm, uint32_t nodes, uint32_t vnodes) {
  RingOptions options;
  options.algorithm = algorithm;
  options.vnodes = vnodes;
  options.seed = 1;
  std::shared_ptr<HashRing> ring = HashRing::make(options).value();
  for (uint32_t i = 0; i < nodes; ++i) {
    char name[40];
    std::snprintf(name, sizeof name, "10.%u.%u.%u:11211", i >> 16, i >> 8 & 255, i & 255);
    if (!ring->insert(name, 1).ok()) {
      std::abort();
    }
  }
  ring->build();
  return ring;
}

// Sums what it computes, so that nothing is left out.
volatile uint64_t sink = 0;

struct Subject {
  std::string name;
  std::function<uint64_t(int64_t keys)> run;
};

std::vector<double> times_of(const std::vector<Subject>& subjects, int64_t keys, int rounds) {
  std::vector<std::vector<double>> times(subjects.size());
  for (int round = 0; round <= rounds; ++round) {
    for (size_t i = 0; i < subjects.size(); ++i) {
      const double start = now_ns();
      sink = sink + subjects[i].run(keys);
      if (round > 0) {  // the first one warms up
        times[i].push_back((now_ns() - start) / static_cast<double>(keys));
      }
    }
  }
  std::vector<double> medians;
  for (size_t i = 0; i < subjects.size(); ++i) {
    medians.push_back(median(times[i]));
    std::printf("  %-58s %8.2f ns\n", subjects[i].name.c_str(), medians.back());
  }
  return medians;
}

template <class Look>
std::function<uint64_t(int64_t)> each_key(Look look) {
  return [look](int64_t keys) {
    uint64_t sum = 0;
    for (int64_t key = 0; key < keys; ++key) {
      sum += look(key);
    }
    return sum;
  };
}

bool judge(const char* what, double value, double limit, bool at_most) {
  const bool good = at_most ? value <= limit : value >= limit;
  std::printf("  %-58s %8.2f x   %s %.2f  %s\n", what, value, at_most ? "at most" : "at least",
              limit, good ? "met" : "MISSED");
  return good;
}

// `slots`: one hash and one load that misses the cache, from a table far larger than the caches.
bool bench_look_ups(bool quick) {
  const int64_t keys = quick ? 20000 : 1000000;
  const int rounds = quick ? 1 : 9;
  constexpr uint64_t kSeed = 1;
  const auto slots = ring_of(RingAlgorithm::kSlots, 100, 1);
  const auto ring = ring_of(RingAlgorithm::kRing, 100, 1000);
  const auto ketama = ring_of(RingAlgorithm::kKetama, 100, 1);
  std::map<uint64_t, uint32_t> tree;
  for (cuckoo::PointRing::Walk point(ring->points()); !point.at_end(); point.next()) {
    tree.emplace(point.position(), point.owner());
  }
  std::vector<uint32_t> far((quick ? size_t{1} << 22 : size_t{1} << 27) / sizeof(uint32_t), 7);
  const auto hash = [](int64_t key) { return cuckoo::hash_integer(key, kSeed); };
  std::printf("\nLook-ups, one hash included; %lld integer keys, 100 nodes\n",
              static_cast<long long>(keys));
  const std::vector<double> times = times_of(
      {{"one XXH3 hash", each_key(hash)},
       {"one XXH3 hash and a load from 128 MB",
        each_key([&](int64_t key) { return far[cuckoo::multiply_high(hash(key), far.size())]; })},
       {"slots", each_key([&](int64_t key) { return slots->owner(hash(key)); })},
       {"ring, 1000 points a node", each_key([&](int64_t key) { return ring->owner(hash(key)); })},
       {"std::map::upper_bound over the same points", each_key([&](int64_t key) {
          const auto found = tree.upper_bound(hash(key));
          return found == tree.end() ? tree.begin()->second : found->second;
        })},
       {"ketama, 160 points a node", each_key([&](int64_t key) {
          const std::string text = std::to_string(key);
          return ketama->owner(ketama->ketama_position(std::as_bytes(std::span(text))));
        })}},
      keys, rounds);
  if (quick) {
    return true;
  }
  const bool slots_met =
      judge("slots / one hash and a load that misses", times[2] / times[1], 1, true);
  const bool ring_met = judge("std::map::upper_bound / ring", times[4] / times[3], 2, false);
  return slots_met && ring_met;
}

// Of the shares, which are exact, over several rings.
struct Balance {
  double deviation = 0;  // relative standard deviation
  double peak = 0;       // the largest over the mean
};

Balance balance_of(RingAlgorithm algorithm, uint32_t nodes, uint32_t vnodes) {
  const auto ring = ring_of(algorithm, nodes, vnodes);
  Balance balance;
  double squares = 0;
  for (uint32_t id = 1; id <= nodes; ++id) {
    const double relative = ring->share(id).share() * nodes;
    squares += (relative - 1) * (relative - 1);
    balance.peak = std::max(balance.peak, relative);
  }
  balance.deviation = std::sqrt(squares / nodes);
  return balance;
}

void print_balance() {
  std::printf("\nHow evenly keys are spread: N equal weights, V points a node\n");
  std::printf("  %-22s %6s %12s %12s %12s\n", "algorithm", "N", "relative sd", "formula",
              "peak/mean");
  struct Row {
    const char* name;
    RingAlgorithm algorithm;
    uint32_t points;
  };
  constexpr Row kRows[] = {{"ring, V = 160", RingAlgorithm::kRing, 160},
                           {"ring, V = 1000", RingAlgorithm::kRing, 1000},
                           {"ring, V = 10000", RingAlgorithm::kRing, 10000},
                           {"ketama, V = 160", RingAlgorithm::kKetama, 160},
                           {"slots", RingAlgorithm::kSlots, 0}};
  for (const Row& row : kRows) {
    for (const uint32_t nodes : {10U, 100U, 1000U}) {
      const Balance balance = balance_of(row.algorithm, nodes, std::max(row.points, 1U));
      const double n = nodes;
      std::printf("  %-22s %6u %10.3f %% ", row.name, nodes, 100 * balance.deviation);
      if (row.points != 0) {
        std::printf("%10.3f %% %12.4f\n", 100 * std::sqrt((n - 1) / (n * row.points + 1)),
                    balance.peak);
      } else {
        std::printf("%12s %12.4f\n", "quotas", balance.peak);
      }
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  const bool quick = count > 1 && std::strcmp(arguments[1], "--quick") == 0;
  const bool met = bench_look_ups(quick);
  if (!quick) {
    print_balance();
  }
  return met ? 0 : 1;
}
