// What docs/playground/ asks beside the npm package's functions: filters and rings of core/ whose
// inside can be drawn.
//
// A filter here is one segment, as in a table, that stays in memory; each call that adds or removes
// folds at its end, so that an insert is seen where it ends up. With the options, seed and keys of
// a table of one segment it has the table's contents.
//
// Answers are as packages/wasm/answer.hpp says. Handles come from …_new(), 0 when it was refused.
// Texts are UTF-8.
#include <emscripten.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/key_hash.hpp"
#include "core/filter/cuckoo_filter.hpp"
#include "core/ring/hash_ring.hpp"
#include "core/segments/decide.hpp"
#include "core/segments/entry_list.hpp"
#include "core/segments/segment.hpp"
#include "core/stored/log_entry.hpp"
#include "packages/wasm/answer.hpp"
#include "sqlite3.h"

namespace cuckoo {
namespace {

// Those that are not empty, until the visitor fails.
template <class Visitor>
Status for_each_line(std::string_view text, const Visitor& visitor) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) {
      CUCKOO_TRY(visitor(text.substr(0, end)));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

// --- filters -------------------------------------------------------------------------------------

// Nothing is ever written: what a segment has not stored it knows itself.
class NoStorage final : public segments::BlockStorage {
 public:
  Status read(int64_t, int64_t, const Visitor&) override { return {}; }
  Status write(int64_t, std::span<const std::byte>, bool) override { return {}; }
  Status erase(int64_t, int64_t) override { return {}; }
  Status poll() override { return {}; }
};

class DrawnFilter {
 public:
  explicit DrawnFilter(const FilterOptions& options)
      : options_(options), blocks_(nothing_, options.seed) {}

  Status create() { return make_segment(options_.capacity); }

  uint64_t hash(std::string_view key) const {
    return logged_hash(hash_bytes(KeyKind::kText, bytes_of(key), options_.seed), options_.width);
  }

  // A new hash, or what looks like one that is there. All of it is in the pages then.
  Status insert(uint64_t hash) {
    list_.append(hash);
    return settle();
  }
  Status insert_lines(std::string_view keys) {
    CUCKOO_TRY(for_each_line(keys, [&](std::string_view key) -> Status {
      list_.append(hash(key));
      return {};
    }));
    return settle();
  }
  Result<bool> remove(uint64_t hash) {
    if (!options_.multiset()) {
      return invalid("a plain Bloom filter can't remove");
    }
    if (!contains(hash)) {
      return false;
    }
    list_.append(hash | kRemoveBit);
    CUCKOO_TRY(settle());
    return true;
  }

  bool contains(uint64_t hash) { return segment_->probe(hash) == Filter::Answer::kPresent; }
  const Filter& base() const noexcept { return segment_->filter(); }
  const segments::SegmentHeader& header() const noexcept { return segment_->header(); }
  double rate() const noexcept { return options_.spec.rate; }
  // Null when it is a Bloom filter.
  const CuckooFilter* cuckoo() const noexcept {
    return base().kind() == FilterKind::kCuckoo ? static_cast<const CuckooFilter*>(&base())
                                                : nullptr;
  }

  using Buckets = std::vector<BucketValues>;
  static Buckets buckets_of(const CuckooFilter& filter) {
    Buckets buckets;
    for (uint64_t bucket = 0; bucket < filter.geometry().buckets; ++bucket) {
      buckets.push_back(filter.read(bucket));
    }
    return buckets;
  }

 private:
  Status make_segment(uint64_t capacity) {
    CUCKOO_ASSIGN_OR_RETURN(segment_,
                            segments::Segment::make(options_, 0, 0, ++segments_made_, capacity));
    return {};
  }
  // Folds the list; where that is too much, it makes a larger segment of all.
  Status settle() {
    const segments::EntryList list = std::exchange(list_, {});
    segment_->apply(list, list.size(), {.stored = false});
    if (!segment_->outgrew()) {
      CUCKOO_ASSIGN_OR_RETURN(
          const std::vector<segments::NetHash> sums,
          segments::sums_of(list, list.size(), options_.width, 0, options_.multiset()));
      return segment_->fold(blocks_, list, sums, ++position_, true);
    }
    CUCKOO_ASSIGN_OR_RETURN(const std::vector<segments::NetHash> entries,
                            segment_->merged(blocks_, list));
    const uint64_t keys =
        segments::needed_for(entries, traits_of(options_.spec.kind).slot_per_item);
    const uint64_t before = header().base_id;
    CUCKOO_TRY(make_segment(segments::remade_capacity(keys, kMaxCapacity)));
    segment_->become(entries, ++position_, before, segments::items_of(entries, options_.multiset()),
                     true);
    return {};
  }

  FilterOptions options_;
  NoStorage nothing_;
  segments::Blocks blocks_;
  std::unique_ptr<segments::Segment> segment_;
  segments::EntryList list_;  // what came since settle()
  uint64_t segments_made_ = 0;
  uint64_t position_ = 0;
};

// How often `value` is among them.
int times(const BucketValues& values, uint64_t value) {
  int count = 0;
  for (const uint64_t one : values) {
    count += one == value ? 1 : 0;
  }
  return count;
}

struct Step {
  uint64_t bucket;
  uint64_t fingerprint;
};

// What an insert moved: the new fingerprint into a bucket, the one that left it into its other
// bucket, and so on.
std::vector<Step> path_of(const CuckooFilter& filter, const CuckooFilter::Place& place,
                          DrawnFilter::Buckets before, const DrawnFilter::Buckets& after) {
  std::vector<Step> path;
  uint64_t moving = place.fingerprint;
  uint64_t candidates[] = {place.bucket1, place.bucket2};
  for (size_t steps = 0; steps < after.size(); ++steps) {
    uint64_t bucket = candidates[0];
    if (times(after[bucket], moving) <= times(before[bucket], moving)) {
      bucket = candidates[1];
    }
    if (times(after[bucket], moving) <= times(before[bucket], moving)) {
      break;
    }
    path.push_back({bucket, moving});
    uint64_t gone = 0;
    for (const uint64_t value : before[bucket]) {
      if (value != 0 && times(before[bucket], value) > times(after[bucket], value)) {
        gone = value;
      }
    }
    before[bucket] = after[bucket];
    if (gone == 0) {
      break;
    }
    moving = gone;
    candidates[0] = candidates[1] = filter.alternate(bucket, gone);
  }
  return path;
}

std::string place_text(const CuckooFilter::Place& place) {
  return "\"buckets\":[" + std::to_string(place.bucket1) + "," + std::to_string(place.bucket2) +
         "],\"fingerprint\":" + std::to_string(place.fingerprint);
}

// The lower one of its two buckets and the fingerprint, of each cell that is counted there.
std::string overflow_text(const CuckooFilter& filter) {
  return list(filter.overflow().counts(), [&](const OverflowTable::CellCount& cell) {
    const uint64_t values = filter.geometry().shape.fingerprints();
    return list(std::vector<uint64_t>{cell.cell / values, cell.cell % values + 1, cell.count});
  });
}

std::string cells_text(const Filter& filter, uint64_t hash) {
  uint64_t cells[Filter::kMaxPlaces];
  const size_t count = filter.cells_of(hash, cells);
  return "\"cells\":" + list(std::vector<uint64_t>(cells, cells + count));
}

// --- rings ---------------------------------------------------------------------------------------

struct DrawnRing {
  std::shared_ptr<HashRing> ring;

  // Where a key is: 0 … 1, once around.
  double turn(std::string_view key) const {
    return std::ldexp(static_cast<double>(position(key)), -64);
  }
  uint32_t owner(std::string_view key) const { return ring->owner(position(key)); }

 private:
  uint64_t position(std::string_view key) const {
    return ring->options().algorithm == RingAlgorithm::kKetama
               ? ring->ketama_position(bytes_of(key))
               : hash_bytes(KeyKind::kText, bytes_of(key), ring->options().seed);
  }
};

int past_deadline(void* deadline) {
  return emscripten_get_now() > *static_cast<double*>(deadline) ? 1 : 0;
}

}  // namespace

extern "C" {

// A statement of the connection ends with "interrupted" after so long.
EMSCRIPTEN_KEEPALIVE void playground_limit(sqlite3* db, double milliseconds) {
  static double deadline = 0;
  deadline = emscripten_get_now() + milliseconds;
  sqlite3_progress_handler(db, 10000, past_deadline, &deadline);
}

// kind: a FilterKind
EMSCRIPTEN_KEEPALIVE DrawnFilter* filter_new(int kind, double capacity, double rate, double seed) {
  FilterOptions options;
  options.spec.kind = static_cast<FilterKind>(kind);
  options.spec.rate = rate;
  options.capacity = static_cast<uint64_t>(capacity);
  options.seed = static_cast<uint64_t>(seed);
  auto filter = std::make_unique<DrawnFilter>(options);
  return filter->create().ok() ? filter.release() : nullptr;
}

EMSCRIPTEN_KEEPALIVE void filter_delete(DrawnFilter* filter) { delete filter; }

// {"path": [[bucket, fingerprint], …], "grew": 0 or 1}; of a Bloom filter "cells" instead of "path"
EMSCRIPTEN_KEEPALIVE const char* filter_insert(DrawnFilter* drawn, const char* key) {
  const uint64_t hash = drawn->hash(key);
  const uint64_t number = drawn->header().number;
  DrawnFilter::Buckets before;
  if (drawn->cuckoo() != nullptr) {
    before = DrawnFilter::buckets_of(*drawn->cuckoo());
  }
  const Status status = drawn->insert(hash);
  if (!status.ok()) {
    return refusal(status.error());
  }
  const bool grew = drawn->header().number != number;
  const CuckooFilter* const cuckoo = drawn->cuckoo();
  std::string text;
  if (cuckoo == nullptr) {
    text = cells_text(drawn->base(), hash);
  } else {
    std::vector<Step> path;
    if (!grew) {
      path = path_of(*cuckoo, cuckoo->locate(hash), std::move(before),
                     DrawnFilter::buckets_of(*cuckoo));
    }
    text = "\"path\":" + list(path, [](const Step& step) {
             return list(std::vector<uint64_t>{step.bucket, step.fingerprint});
           });
  }
  return answer("{" + text + ",\"grew\":" + (grew ? "1}" : "0}"));
}

// Keys in lines.
EMSCRIPTEN_KEEPALIVE const char* filter_insert_lines(DrawnFilter* drawn, const char* keys) {
  return outcome(drawn->insert_lines(keys));
}

EMSCRIPTEN_KEEPALIVE const char* filter_remove(DrawnFilter* drawn, const char* key) {
  const Result<bool> removed = drawn->remove(drawn->hash(key));
  return removed.ok() ? answer(removed.value() ? "{\"removed\":1}" : "{\"removed\":0}")
                      : refusal(removed.error());
}

// {"present": 0 or 1, and what was read: "buckets" and "fingerprint", or "cells"}
EMSCRIPTEN_KEEPALIVE const char* filter_ask(DrawnFilter* drawn, const char* key) {
  const uint64_t hash = drawn->hash(key);
  const CuckooFilter* const cuckoo = drawn->cuckoo();
  const std::string read =
      cuckoo != nullptr ? place_text(cuckoo->locate(hash)) : cells_text(drawn->base(), hash);
  return answer(std::string("{\"present\":") + (drawn->contains(hash) ? "1," : "0,") + read + "}");
}

// {"other": the other bucket of a fingerprint that may stand in this one, "sum": of both buckets,
// modulo their number}. The sum follows from the fingerprint alone.
EMSCRIPTEN_KEEPALIVE const char* filter_other(DrawnFilter* drawn, int bucket, int fingerprint) {
  const CuckooFilter* const cuckoo = drawn->cuckoo();
  if (cuckoo == nullptr) {
    return refusal(invalid("a Bloom filter has no buckets"));
  }
  const auto value = static_cast<uint64_t>(fingerprint);
  return answer(
      "{\"other\":" + std::to_string(cuckoo->alternate(static_cast<uint64_t>(bucket), value)) +
      ",\"sum\":" + std::to_string(cuckoo->alternate(0, value)) + "}");
}

// How many of "stranger 0" … are taken for members.
EMSCRIPTEN_KEEPALIVE int filter_strangers(DrawnFilter* drawn, int count) {
  int found = 0;
  char key[32];
  for (int i = 0; i < count; ++i) {
    std::snprintf(key, sizeof key, "stranger %d", i);
    found += drawn->contains(drawn->hash(key)) ? 1 : 0;
  }
  return found;
}

// The figures of filter_info(), and "buckets": four fingerprints each, 0 an empty slot, with the
// "overflow_cells": [bucket, fingerprint, count], …; or "bits", text of 0 and 1.
EMSCRIPTEN_KEEPALIVE const char* filter_state(DrawnFilter* drawn) {
  const Filter& base = drawn->base();
  std::string text = "{\"items\":" + std::to_string(drawn->header().items) +
                     ",\"capacity\":" + std::to_string(drawn->header().capacity) +
                     ",\"load\":" + number(base.load_factor()) +
                     ",\"rate\":" + number(drawn->rate()) +
                     ",\"rate_now\":" + number(base.rate_now()) +
                     ",\"cells_bits\":" + std::to_string(base.bits()) +
                     ",\"overflow\":" + std::to_string(base.overflow().items());
  if (const CuckooFilter* const cuckoo = drawn->cuckoo()) {
    text +=
        ",\"buckets\":" + list(DrawnFilter::buckets_of(*cuckoo), [](const BucketValues& values) {
          return list(std::vector<uint64_t>(values.begin(), values.end()));
        });
    text += ",\"overflow_cells\":" + overflow_text(*cuckoo);
  } else {
    text += ",\"bits\":\"";
    for (uint64_t cell = 0; cell < base.words().size; ++cell) {
      text += base.copies(cell) != 0 ? '1' : '0';
    }
    text += '"';
  }
  return answer(text + "}");
}

// algorithm: a RingAlgorithm
EMSCRIPTEN_KEEPALIVE DrawnRing* ring_new(int algorithm, int vnodes, double seed) {
  RingOptions options;
  options.algorithm = static_cast<RingAlgorithm>(algorithm);
  options.vnodes = static_cast<uint32_t>(vnodes);
  options.seed = static_cast<uint64_t>(seed);
  Result<std::shared_ptr<HashRing>> ring = HashRing::make(options);
  return ring.ok() ? new DrawnRing{ring.value()} : nullptr;
}

EMSCRIPTEN_KEEPALIVE void ring_delete(DrawnRing* drawn) { delete drawn; }

// A node that is there gets the weight. {"id": …}
EMSCRIPTEN_KEEPALIVE const char* ring_put(DrawnRing* drawn, const char* name, double weight) {
  HashRing& ring = *drawn->ring;
  const RingNode* const node = ring.find(std::string_view(name));
  const Result<uint32_t> id = [&]() -> Result<uint32_t> {
    if (node == nullptr) {
      return ring.insert(name, weight);
    }
    const uint32_t known = node->id;
    CUCKOO_TRY(ring.update(known, name, weight));
    return known;
  }();
  return id.ok() ? answer("{\"id\":" + std::to_string(id.value()) + "}") : refusal(id.error());
}

EMSCRIPTEN_KEEPALIVE void ring_remove(DrawnRing* drawn, const char* name) {
  if (const RingNode* const node = drawn->ring->find(std::string_view(name))) {
    drawn->ring->remove(node->id);
  }
}

// {"points": [[turn, id], …], "arcs": [id of the owner of each of so many equal parts, …]}; slots
// have no points.
EMSCRIPTEN_KEEPALIVE const char* ring_picture(DrawnRing* drawn, int arcs) {
  HashRing& ring = *drawn->ring;
  ring.build();
  std::string points;
  for (PointRing::Walk point(ring.points()); !point.at_end(); point.next()) {
    const double turn = std::ldexp(static_cast<double>(point.position()), -64);
    points +=
        (points.empty() ? "[" : ",[") + number(turn) + "," + std::to_string(point.owner()) + "]";
  }
  std::vector<uint64_t> owners;
  for (int arc = 0; arc < arcs; ++arc) {
    owners.push_back(ring.owner(static_cast<uint64_t>(std::ldexp((arc + 0.5) / arcs, 64))));
  }
  return answer("{\"points\":[" + points + "],\"arcs\":" + list(owners) + "}");
}

// [[turn, id of the owner], …] of keys in lines; id 0 in an empty ring
EMSCRIPTEN_KEEPALIVE const char* ring_keys(DrawnRing* drawn, const char* keys) {
  drawn->ring->build();
  std::string text;
  const Status status = for_each_line(keys, [&](std::string_view key) -> Status {
    text += (text.empty() ? "[" : ",[") + number(drawn->turn(key)) + "," +
            std::to_string(drawn->owner(key)) + "]";
    return {};
  });
  return status.ok() ? answer("[" + text + "]") : refusal(status.error());
}

}  // extern "C"

}  // namespace cuckoo
