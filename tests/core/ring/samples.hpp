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

inline std::shared_ptr<HashRing> empty_ring(const RingOptions& options) {
  return HashRing::make(options).value();
}

inline uint32_t add(HashRing& ring, const std::string& name, double weight = 1) {
  Result<uint32_t> id = ring.insert(name, weight);
  EXPECT_TRUE(id.ok()) << name << ": " << (id.ok() ? "" : id.error().message);
  return id.ok() ? id.value() : 0;
}

// The i-th of a sequence of positions spread over the whole ring.
inline uint64_t nth_position(uint64_t i) { return nth_word(0, i); }

// The owners of the first `count` of them, by name: ids differ with the history.
inline std::vector<std::string> owner_names(HashRing& ring, uint64_t count) {
  ring.build();
  std::vector<std::string> names;
  names.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    names.push_back(ring.find(ring.owner(nth_position(i)))->name);
  }
  return names;
}

// … by id, for many.
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
