// decode_run_block: what is accepted ascends, stays in its segment, and says the same when it is
// written again. The first two bytes of an input choose width and depth; blocks follow, each after
// its length in two bytes.
#include <algorithm>

#include "core/base/mix.hpp"
#include "core/segments/run.hpp"
#include "core/segments/segment_header.hpp"
#include "tests/fuzz/fuzz_input.hpp"

namespace cuckoo::test {
namespace {

using segments::NetHash;

struct Place {
  HashWidth width;
  unsigned depth;
  uint64_t prefix;

  bool holds(uint64_t hash) const {
    return logged_hash(hash, width) == hash &&
           (depth == 0 || hash >> (64 - depth) == prefix >> (64 - depth));
  }
};

// A hash stands once, or twice if it was removed and then added.
bool follows(const NetHash& before, const NetHash& entry) {
  return entry.hash > before.hash || (entry.hash == before.hash && before.net < 0 && entry.net > 0);
}

// Blocks of one run, from `first` on.
void examine_run(const Place& place, std::span<const NetHash> run) {
  for (size_t i = 0; i < run.size(); ++i) {
    REQUIRE(run[i].net >= -segments::kMostNet && run[i].net <= segments::kMostNet);
    REQUIRE(run[i].net != 0);
    REQUIRE(i == 0 || follows(run[i - 1], run[i]));
    REQUIRE(place.holds(run[i].hash));
  }
  std::vector<NetHash> again;
  uint64_t previous = 0;
  const Status written = segments::write_run(
      run, place.width, place.depth, place.prefix, 200, [&](std::span<const std::byte> block) {
        bool begins = false;
        const bool first = again.empty();
        REQUIRE(segments::decode_run_block(block, place.width, place.depth, place.prefix, previous,
                                           again, begins)
                    .ok());
        REQUIRE(begins == first);
        return Status();
      });
  REQUIRE(written.ok());
  REQUIRE(std::equal(again.begin(), again.end(), run.begin(), run.end()));
}

void examine(std::span<const std::byte> input, const Place& place) {
  std::vector<NetHash> entries;
  uint64_t previous = place.prefix;
  size_t run = 0;      // where the last one begins
  bool known = false;  // that it is one from its first block on
  while (input.size() >= 2) {
    const size_t length = std::min<size_t>(load_le<uint16_t>(input.data()), input.size() - 2);
    const std::span<const std::byte> block = input.subspan(2, length);
    input = input.subspan(2 + length);
    const size_t before = entries.size();
    bool begins = false;
    const Status status = segments::decode_run_block(block, place.width, place.depth, place.prefix,
                                                     previous, entries, begins);
    if (!status.ok()) {
      REQUIRE(status.error().code == ErrorCode::kCorrupt && !status.error().message.empty());
      REQUIRE(entries.size() - before <= 8 * block.size());
      entries.resize(before);
      break;
    }
    REQUIRE(entries.size() > before && entries.size() - before < 8 * block.size());
    REQUIRE(previous == entries.back().hash);
    if (begins) {
      if (known) {
        examine_run(place, std::span(entries).subspan(run, before - run));
      }
      run = before;
      known = true;
    }
  }
  if (known) {
    examine_run(place, std::span(entries).subspan(run));
  }
}

}  // namespace
}  // namespace cuckoo::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cuckoo::test;
  if (size < 2) {
    return 0;
  }
  Place place{};
  place.width = (data[0] & 1) != 0 ? cuckoo::HashWidth::k63Bits : cuckoo::HashWidth::k47Bits;
  place.depth = data[1] % (cuckoo::segments::kMaxDepth + 1);
  place.prefix =
      place.depth == 0 ? 0 : cuckoo::kGoldenStep >> (64 - place.depth) << (64 - place.depth);
  examine(as_input(data, size).subspan(2), place);
  return 0;
}
