// What the tests of hash rings share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/ring/hash_ring.hpp"
#include "tests/support/core_samples.hpp"

namespace cuckoo::test {

struct RingCase {
  const char* name;
  RingOptions options;

  friend std::ostream& operator<<(std::ostream& out, const RingCase& one) {
    return out << one.name;
  }
};

inline RingOptions ring_options(RingAlgorithm algorithm, uint32_t vnodes = 100, uint64_t seed = 1) {
  RingOptions options;
  options.algorithm = algorithm;
  options.vnodes = vnodes;
  options.seed = seed;
  return options;
}

inline RingOptions ketama_options(KetamaDialect dialect) {
  RingOptions options;
  options.algorithm = RingAlgorithm::kKetama;
  options.dialect = dialect;
  return options;
}

inline const std::vector<RingCase>& ring_cases() {
  static const std::vector<RingCase> cases = {
      {"ring", ring_options(RingAlgorithm::kRing)},
      {"few_points", ring_options(RingAlgorithm::kRing, 3)},
      {"one_point", ring_options(RingAlgorithm::kRing, 1)},
      {"slots", ring_options(RingAlgorithm::kSlots)},
      {"libketama", ketama_options(KetamaDialect::kLibketama)},
      {"libmemcached", ketama_options(KetamaDialect::kLibmemcached)},
      {"spy", ketama_options(KetamaDialect::kSpy)},
  };
  return cases;
}

inline std::shared_ptr<HashRing> empty_ring(const RingOptions& options) {
  return HashRing::make(options).value();
}

inline uint32_t add(HashRing& ring, const std::string& name, double weight = 1) {
  Result<uint32_t> id = ring.insert(name, weight);
  EXPECT_TRUE(id.ok()) << name << ": " << (id.ok() ? "" : id.error().message);
  return id.ok() ? id.value() : 0;
}

inline std::string node_name(int i) { return "10.0.0." + std::to_string(i) + ":11211"; }

// Adds node_name(0) …, with these weights in turn.
inline void add_nodes(HashRing& ring, int count, const std::vector<double>& weights = {1}) {
  for (int i = 0; i < count; ++i) {
    add(ring, node_name(i), weights[static_cast<size_t>(i) % weights.size()]);
  }
}

// What a table stores of a ring: its nodes, and the rows of its slots.
inline std::vector<RingNode> nodes_of(const HashRing& ring) {
  std::vector<RingNode> nodes;
  for (const RingNode* node : ring.nodes_by_name()) {
    nodes.push_back(*node);
  }
  return nodes;
}
inline std::vector<std::vector<std::byte>> rows_of(const HashRing& ring) {
  std::vector<std::vector<std::byte>> rows;
  for (uint32_t row = 0; !ring.slots().empty() && row < SlotOwners::kRows; ++row) {
    rows.push_back(ring.slots().encode_row(row));
  }
  return rows;
}

// The i-th of a sequence of positions spread over the whole ring.
inline uint64_t nth_position(uint64_t i) { return nth_word(0, i); }

// The owners of the first `count` positions, by name: ids differ with the history.
inline std::vector<std::string> owner_names(HashRing& ring, uint64_t count) {
  ring.build();
  std::vector<std::string> names;
  names.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    names.push_back(ring.find(ring.owner(nth_position(i)))->name);
  }
  return names;
}

// The owners of the first `count` positions by id, for many positions.
inline std::vector<uint32_t> owner_ids(HashRing& ring, uint64_t count) {
  ring.build();
  std::vector<uint32_t> ids;
  ids.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    ids.push_back(ring.owner(nth_position(i)));
  }
  return ids;
}

inline void expect_valid(HashRing& ring) { EXPECT_EQ(ring.check(), ""); }

}  // namespace cuckoo::test

namespace cuckoo {

// The tests call them by these names.
using test::add;
using test::add_nodes;
using test::empty_ring;
using test::expect_valid;
using test::ketama_options;
using test::node_name;
using test::nodes_of;
using test::nth_position;
using test::owner_ids;
using test::owner_names;
using test::ring_cases;
using test::ring_options;
using test::RingCase;
using test::rows_of;

}  // namespace cuckoo
