#include "core/segments/run.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "core/base/bytes.hpp"

namespace cuckoo::segments {
namespace {

constexpr size_t kRunEntriesAt = 8;
constexpr size_t kRunRiceAt = 10;
constexpr size_t kRunFlagsAt = 11;
constexpr unsigned kBegins = 1;
constexpr unsigned kPlain = 2;
constexpr uint64_t kMostCode = 2 * static_cast<uint64_t>(kMostNet) + 1;
static_assert(kMostCode <= kMaxHashCount);  // put_count() takes no more

// Returns a count other than 1 as a number from 3 on. (2 would be a count of 1.)
uint64_t code_of(int64_t net) noexcept {
  return net > 0 ? 2 * static_cast<uint64_t>(net) : 2 * (0 - static_cast<uint64_t>(net)) + 1;
}

int64_t net_of(uint64_t code) noexcept {
  const auto half = static_cast<int64_t>(code / 2);
  return code % 2 == 0 ? half : -half;
}

// Returns the Rice parameter for so many hashes of a segment: rice_parameter() less the bits of the
// prefix.
unsigned rice_for(HashWidth width, unsigned depth, uint64_t expected) noexcept {
  const unsigned rice = rice_parameter(width, expected);
  return rice > depth ? rice - depth : 0;
}

class RunWriter {
 public:
  RunWriter(std::span<const NetHash> entries, HashWidth width, unsigned depth, uint64_t prefix,
            size_t block_bytes, const RunBlockSink& sink)
      : width_(width),
        rice_(rice_for(width, depth, entries.size())),
        plain_(std::all_of(entries.begin(), entries.end(),
                           [](const NetHash& entry) { return entry.net == 1; })),
        block_bytes_(block_bytes),
        sink_(&sink),
        last_hash_(prefix) {}

  Status add(const NetHash& entry) {
    const uint64_t delta = (entry.hash - last_hash_) >> hash_shift(width_);
    const uint64_t code = entry.net == 1 ? 0 : code_of(entry.net);
    const unsigned groups = code == 0 ? 0 : varint_groups(code - 2);
    const unsigned flags = plain_ ? 0 : 1;
    const size_t need = BitWriter::delta_bits(delta, rice_) + flags + size_t{8} * groups;
    if (block_entries_ > 0 && (stream_.bit_count() + need > (block_bytes_ - kRunHeaderBytes) * 8 ||
                               block_entries_ == UINT16_MAX)) {
      CUCKOO_TRY(close_block());
    }
    if (block_entries_ == 0) {
      open_block();
    }
    stream_.put_delta(delta, rice_, code == 0 ? 0 : 1, flags);
    if (code != 0) {
      stream_.put_count(code);
    }
    last_hash_ = entry.hash;
    ++block_entries_;
    return {};
  }
  Status finish() { return block_entries_ > 0 ? close_block() : Status(); }

 private:
  void open_block() {
    std::byte header[kRunHeaderBytes] = {};
    store_le(&header[0], last_hash_);
    header[kRunRiceAt] = static_cast<std::byte>(rice_);
    header[kRunFlagsAt] = static_cast<std::byte>((begins_ ? kBegins : 0) | (plain_ ? kPlain : 0));
    begins_ = false;
    stream_.start(header);
  }

  Status close_block() {
    std::vector<std::byte> block = stream_.finish();
    store_le(&block[kRunEntriesAt], block_entries_);
    block_entries_ = 0;
    return (*sink_)(block);
  }

  HashWidth width_;
  unsigned rice_;
  bool plain_;
  size_t block_bytes_;
  const RunBlockSink* sink_;
  uint64_t last_hash_;
  bool begins_ = true;
  uint16_t block_entries_ = 0;
  BitWriter stream_;
};

}  // namespace

Status write_run(std::span<const NetHash> entries, HashWidth width, unsigned depth, uint64_t prefix,
                 size_t block_bytes, const RunBlockSink& sink) {
  RunWriter writer(entries, width, depth, prefix, block_bytes, sink);
  for (const NetHash& entry : entries) {
    CUCKOO_TRY(writer.add(entry));
  }
  return writer.finish();
}

Result<RunBlockHead> run_block_head(std::span<const std::byte> block) {
  if (block.size() <= kRunHeaderBytes) {
    return corrupt("run block of " + std::to_string(block.size()) + " bytes");
  }
  const auto flags = std::to_integer<unsigned>(block[kRunFlagsAt]);
  RunBlockHead head;
  head.entries = load_le<uint16_t>(&block[kRunEntriesAt]);
  head.rice = std::to_integer<unsigned>(block[kRunRiceAt]);
  head.begins = (flags & kBegins) != 0;
  head.plain = (flags & kPlain) != 0;
  if (head.entries == 0 || head.rice > 63 || flags > (kBegins | kPlain)) {
    return corrupt("run block with a bad header");
  }
  return head;
}

Status decode_run_block(std::span<const std::byte> block, HashWidth width, unsigned depth,
                        uint64_t prefix, uint64_t& previous, std::vector<NetHash>& entries,
                        bool& begins) {
  CUCKOO_ASSIGN_OR_RETURN(const RunBlockHead head, run_block_head(block));
  begins = head.begins;
  if (begins) {
    previous = prefix;
  }
  if (load_le<uint64_t>(&block[0]) != previous) {
    return corrupt("run block that does not follow the one before it");
  }
  const unsigned shift = hash_shift(width);
  const uint64_t last = last_hash_of(prefix, depth);
  BitReader reader(block.subspan(kRunHeaderBytes));
  for (uint32_t i = 0; i < head.entries; ++i) {
    uint64_t delta = 0;
    uint64_t code = 0;
    if (!reader.take_delta(head.rice, (last - previous) >> shift, delta)) {
      return corrupt("run block with a hash out of range");
    }
    if (!head.plain && reader.take(1) != 0 &&
        (!reader.take_count(code) || code == 2 || code > kMostCode)) {
      return corrupt("run block with a bad count");
    }
    if (reader.overrun()) {
      return corrupt("run block that ends early");
    }
    const int64_t net = code == 0 ? 1 : net_of(code);
    const bool again = delta == 0 && !(begins && i == 0);  // I2
    if (again && (entries.empty() || entries.back().net > 0 || net < 0)) {
      return corrupt("run block with a hash out of range");
    }
    previous += delta << shift;
    entries.push_back({previous, net});
  }
  return reader.at_end() ? Status() : corrupt("run block with bytes after its last entry");
}

Result<std::vector<NetHash>> joined_runs(std::span<const NetHash> older,
                                         std::span<const NetHash> newer, bool multiset) {
  HashSums joined(multiset);
  joined.reserve(older.size() + newer.size());
  auto old = older.begin();
  for (const auto& [hash, net] : newer) {
    for (; old != older.end() && old->hash <= hash; ++old) {
      joined.add(old->hash, old->net);
    }
    joined.add(hash, net);
  }
  for (; old != older.end(); ++old) {
    joined.add(old->hash, old->net);
  }
  return joined.fits() ? Result(joined.take())
                       : corrupt("runs of more items than a segment can hold");
}

// --- sorting -------------------------------------------------------------------------------------

namespace {

constexpr auto kByHash = [](const NetHash& a, const NetHash& b) { return a.hash < b.hash; };

void sort_small_part(std::span<NetHash> part) {
  constexpr size_t kMostInserted = 24;
  if (part.size() > kMostInserted) {
    std::stable_sort(part.begin(), part.end(), kByHash);
    return;
  }
  for (size_t i = 1; i < part.size(); ++i) {
    const NetHash entry = part[i];
    size_t at = i;
    for (; at > 0 && part[at - 1].hash > entry.hash; --at) {
      part[at] = part[at - 1];
    }
    part[at] = entry;
  }
}

}  // namespace

// Deals the entries out to parts by the bits after the prefix. A part gets about 16 entries,
// because hashes are uniform.
void sort_by_hash(std::vector<NetHash>& entries, unsigned depth) {
  constexpr size_t kFew = 256;
  constexpr unsigned kMostBits = 13;
  if (entries.size() < kFew) {
    std::stable_sort(entries.begin(), entries.end(), kByHash);
    return;
  }
  const unsigned bits =
      std::min(kMostBits, static_cast<unsigned>(std::bit_width(entries.size())) - 4);
  const auto part_of = [depth, bits](const NetHash& entry) {
    return static_cast<size_t>((entry.hash << depth) >> (64 - bits));
  };
  std::vector<size_t> starts((size_t{1} << bits) + 1);
  for (const NetHash& entry : entries) {
    ++starts[part_of(entry) + 1];
  }
  for (size_t i = 1; i < starts.size(); ++i) {
    starts[i] += starts[i - 1];
  }
  std::vector<size_t> next(starts.begin(), starts.end() - 1);
  std::vector<NetHash> scattered(entries.size());
  for (const NetHash& entry : entries) {
    scattered[next[part_of(entry)]++] = entry;
  }
  for (size_t part = 0; part + 1 < starts.size(); ++part) {
    sort_small_part(std::span(scattered).subspan(starts[part], starts[part + 1] - starts[part]));
  }
  entries = std::move(scattered);
}

Result<std::vector<NetHash>> sums_of(std::vector<NetHash> entries, unsigned depth, bool multiset) {
  sort_by_hash(entries, depth);
  return joined_runs(entries, {}, multiset);
}

}  // namespace cuckoo::segments
