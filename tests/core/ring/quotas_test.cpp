#include "core/ring/quotas.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace cuckoo {
namespace ring_quotas_test {
namespace {

// The definition: one slot after the other.
std::vector<uint32_t> dealt_one_by_one(const std::vector<double>& weights) {
  std::vector<uint32_t> quotas(weights.size(), 1);
  for (uint32_t given = static_cast<uint32_t>(weights.size()); given < kRingSlots; ++given) {
    size_t best = 0;
    for (size_t i = 1; i < weights.size(); ++i) {
      if (weights[i] / (quotas[i] + 0.5) > weights[best] / (quotas[best] + 0.5)) {
        best = i;
      }
    }
    ++quotas[best];
  }
  return quotas;
}

std::vector<double> random_weights(std::mt19937_64& random, size_t count) {
  std::vector<double> weights;
  for (size_t i = 0; i < count; ++i) {
    switch (random() % 4) {
      case 0:
        weights.push_back(1);
        break;
      case 1:
        weights.push_back(static_cast<double>(1 + random() % 5));
        break;
      case 2:
        weights.push_back(std::exp(std::uniform_real_distribution<>(-10, 10)(random)));
        break;
      default:
        weights.push_back(1e-15);
        break;
    }
  }
  return weights;
}

TEST(SlotQuotas, I3_are_those_of_dealing_one_by_one) {
  std::mt19937_64 random(1);
  for (const size_t count : {1, 2, 3, 5, 8, 13, 40, 100}) {
    const std::vector<double> weights = random_weights(random, count);
    EXPECT_EQ(slot_quotas(weights), dealt_one_by_one(weights)) << count << " nodes";
    EXPECT_EQ(slot_quotas(std::vector<double>(count, 2.5)),
              dealt_one_by_one(std::vector<double>(count, 2.5)));
  }
}

TEST(SlotQuotas, I1_add_up_and_leave_nobody_out) {
  std::mt19937_64 random(2);
  for (const size_t count : {1, 2, 1000, 30000, 65535, 65536}) {
    std::vector<double> weights = random_weights(random, count);
    weights[count / 2] = 1e15;
    const std::vector<uint32_t> quotas = slot_quotas(weights);
    EXPECT_EQ(std::accumulate(quotas.begin(), quotas.end(), uint64_t{0}), kRingSlots);
    EXPECT_GE(*std::min_element(quotas.begin(), quotas.end()), 1U);
  }
}

TEST(SlotQuotas, I4_of_equal_weights_peak_as_promised) {
  for (size_t count = 3; count <= 1000; ++count) {
    const std::vector<uint32_t> quotas = slot_quotas(std::vector<double>(count, 1));
    const double mean = 65536.0 / static_cast<double>(count);
    const double peak = *std::max_element(quotas.begin(), quotas.end());
    ASSERT_LE(peak / mean, 1 + static_cast<double>(count) / 65536 + 0.001) << count << " nodes";
  }
}

// In a divisor method, a change moves nothing between the nodes that it does not touch.
TEST(SlotQuotas, I2_change_of_one_weight_moves_all_others_the_same_way) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 640; ++round) {
    std::vector<double> weights = random_weights(random, 2 + random() % 60);
    const std::vector<uint32_t> before = slot_quotas(weights);
    const size_t changed = random() % weights.size();
    const double old = weights[changed];
    weights[changed] = random_weights(random, 1)[0];
    const std::vector<uint32_t> after = slot_quotas(weights);
    for (size_t i = 0; i < weights.size(); ++i) {
      if (i != changed && weights[changed] > old) {
        ASSERT_LE(after[i], before[i]) << "round " << round;
      } else if (i != changed) {
        ASSERT_GE(after[i], before[i]) << "round " << round;
      }
    }
  }
}

}  // namespace
}  // namespace ring_quotas_test
}  // namespace cuckoo
