#include "core/ring/quotas.hpp"

#include <algorithm>
#include <cmath>
#include <queue>

namespace cuckoo::core {

namespace {

// A slot that a node has or could have next, with its place in the order in which slots are given.
struct Claim {
  double priority;
  uint32_t rank;

  bool before(const Claim& other) const noexcept {
    return priority != other.priority ? priority > other.priority : rank < other.rank;
  }
};

Claim next_claim(std::span<const double> weights, const std::vector<uint32_t>& quotas,
                 uint32_t rank) noexcept {
  return {weights[rank] / (quotas[rank] + 0.5), rank};
}

Claim last_claim(std::span<const double> weights, const std::vector<uint32_t>& quotas,
                 uint32_t rank) noexcept {
  return {weights[rank] / (quotas[rank] - 0.5), rank};
}

struct FirstOnTop {
  bool operator()(const Claim& a, const Claim& b) const noexcept { return b.before(a); }
};
struct LastOnTop {
  bool operator()(const Claim& a, const Claim& b) const noexcept { return a.before(b); }
};
using Waiting = std::priority_queue<Claim, std::vector<Claim>, FirstOnTop>;
using Given = std::priority_queue<Claim, std::vector<Claim>, LastOnTop>;

// Finds the top claims that still hold. Each change of a quota pushes new claims, and the old ones
// no longer hold.
class Dealer {
 public:
  Dealer(std::span<const double> weights, std::vector<uint32_t>& quotas)
      : weights_(weights), quotas_(quotas) {
    for (uint32_t rank = 0; rank < weights.size(); ++rank) {
      push(rank);
    }
  }

  Claim first_waiting() {
    while (waiting_.top().priority != next_claim(weights_, quotas_, waiting_.top().rank).priority) {
      waiting_.pop();
    }
    return waiting_.top();
  }
  bool any_given() {
    while (!given_.empty() &&
           (quotas_[given_.top().rank] < 2 ||
            given_.top().priority != last_claim(weights_, quotas_, given_.top().rank).priority)) {
      given_.pop();
    }
    return !given_.empty();
  }
  Claim last_given() { return given_.top(); }  // call any_given() first

  void give(uint32_t rank) {
    ++quotas_[rank];
    push(rank);
  }
  void take(uint32_t rank) {
    --quotas_[rank];
    push(rank);
  }

 private:
  void push(uint32_t rank) {
    waiting_.push(next_claim(weights_, quotas_, rank));
    if (quotas_[rank] > 1) {  // the first slot is free and stays
      given_.push(last_claim(weights_, quotas_, rank));
    }
  }

  std::span<const double> weights_;
  std::vector<uint32_t>& quotas_;
  Waiting waiting_;
  Given given_;
};

}  // namespace

std::vector<uint32_t> slot_quotas(std::span<const double> weights) {
  double total = 0;
  for (const double weight : weights) {
    total += weight;
  }
  std::vector<uint32_t> quotas(weights.size());
  uint64_t sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double exact = weights[i] / total * kRingSlots;
    quotas[i] = static_cast<uint32_t>(std::clamp(std::round(exact), 1.0, double{kRingSlots}));
    sum += quotas[i];
  }
  Dealer dealer(weights, quotas);
  for (; sum < kRingSlots; ++sum) {
    dealer.give(dealer.first_waiting().rank);
  }
  for (; sum > kRingSlots && dealer.any_given(); --sum) {
    dealer.take(dealer.last_given().rank);
  }
  // The right number of slots is given now. But the first guess was rounded, so a slot that was not
  // given may come before one that was.
  while (dealer.any_given() && dealer.first_waiting().before(dealer.last_given())) {
    const uint32_t to = dealer.first_waiting().rank;
    const uint32_t from = dealer.last_given().rank;
    dealer.give(to);
    dealer.take(from);
  }
  return quotas;
}

}  // namespace cuckoo::core
