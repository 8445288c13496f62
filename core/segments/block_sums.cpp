#include "core/segments/block_sums.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <string>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"

namespace cuckoo::segments {
namespace {

Status expect(BlockSums::Sum sum, std::span<const std::byte> content) {
  return sum == BlockSums::of(content)
             ? Status()
             : corrupt("is of another time, or of another filter: not what its segment's sums say");
}

}  // namespace

BlockSums::Sum BlockSums::of(std::span<const std::byte> content) noexcept {
  return std::max<Sum>(crc32c(content), 1);
}

std::vector<std::byte> BlockSums::encoded() const {
  std::vector<std::byte> bytes(stored_bytes());
  std::byte* at = bytes.data();
  if (!bytes.empty()) {
    for (const std::vector<Sum>* sums : {&pages_, &runs_}) {
      for (const Sum sum : *sums) {
        store_le(at, sum);
        at += sizeof sum;
      }
    }
  }
  return bytes;
}

uint64_t BlockSums::hash() const {
  const std::vector<std::byte> bytes = encoded();
  return bytes.empty() ? 0 : XXH3_64bits(bytes.data(), bytes.size());
}

Status BlockSums::read(const Blocks& blocks, uint64_t number, uint64_t runs, uint64_t hash) {
  const Error broken = corrupt("segment " + std::to_string(number) +
                               ": sums of blocks that are not those of its header");
  if (hash == 0) {
    return runs == 0 ? Status() : broken;
  }
  const uint64_t expected = (pages_.size() + runs) * sizeof(Sum);
  std::vector<std::byte> bytes;
  CUCKOO_TRY(blocks.read(segment_block(number, kFirstSumsPart), segment_block(number, kEndPart - 1),
                         [&](int64_t, std::span<const std::byte> content) -> Status {
                           if (bytes.size() + content.size() > expected) {
                             return broken;
                           }
                           bytes.insert(bytes.end(), content.begin(), content.end());
                           return blocks.poll();
                         }));
  if (bytes.size() != expected || XXH3_64bits(bytes.data(), bytes.size()) != hash) {
    return broken;
  }
  runs_.resize(runs);
  const std::byte* at = bytes.data();
  for (std::vector<Sum>* sums : {&pages_, &runs_}) {
    for (Sum& sum : *sums) {
      sum = load_le<Sum>(at);
      at += sizeof sum;
    }
  }
  page_count_ =
      pages_.size() - static_cast<uint64_t>(std::count(pages_.begin(), pages_.end(), Sum{0}));
  return {};
}

Status BlockSums::write(const Blocks& blocks, uint64_t number, size_t page_bytes,
                        const BlockSums& before) const {
  const std::vector<std::byte> now = encoded();
  const std::vector<std::byte> old = before.encoded();
  const auto part = [page_bytes](std::span<const std::byte> bytes, size_t at) {
    return bytes.subspan(std::min(at, bytes.size()))
        .first(std::min(page_bytes, bytes.size() - std::min(at, bytes.size())));
  };
  int64_t id = segment_block(number, kFirstSumsPart);
  size_t at = 0;
  for (; at < now.size(); at += page_bytes, ++id) {
    if (!equal_bytes(part(now, at), part(old, at))) {
      CUCKOO_TRY(blocks.write(id, part(now, at), at < old.size()));
    }
  }
  return at < old.size() ? blocks.erase(id, segment_block(number, kEndPart - 1)) : Status();
}

Status BlockSums::expect_page(uint64_t index, std::span<const std::byte> content) const {
  return expect(pages_[index], content);
}

Status BlockSums::expect_run(uint64_t index, std::span<const std::byte> content) const {
  return index < runs_.size() ? expect(runs_[index], content)
                              : corrupt("is behind the last one of its segment");
}

void BlockSums::set_page(uint64_t index, std::span<const std::byte> content) {
  page_count_ += has_page(index) ? 0 : 1;
  pages_[index] = of(content);
}

}  // namespace cuckoo::segments
