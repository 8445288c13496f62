// Makes the blocks of a filter name those that are there, as somebody could who writes blocks on
// purpose. So what reads a block is tested, and not only the sums that would refuse it.
#pragma once

#include <map>
#include <vector>

#include "core/filter/cell_layout.hpp"
#include "core/segments/block_sums.hpp"
#include "core/segments/directory.hpp"
#include "core/segments/segment.hpp"

namespace cuckoo::test {

// Writes the sums of the segment's blocks, and returns its header with them. A header without a
// geometry stays as it is.
inline segments::SegmentHeader sealed(const segments::Blocks& blocks, const FilterOptions& options,
                                      segments::SegmentHeader header) {
  using namespace segments;
  if (!check_geometry(options, header).ok()) {
    return header;
  }
  const uint64_t pages =
      cell_layout(options.spec.kind, header.geometry()).value().page_count(options.page_bytes);
  BlockSums sums(pages);
  const int64_t first = segment_block(header.number, 0);
  (void)blocks.read(first, first + kFirstOverflowPart - 1,
                    [&](int64_t id, std::span<const std::byte> content) {
                      const auto part = static_cast<uint64_t>(id - first);
                      if (id - first >= kFirstRunPart) {
                        sums.add_run(content);
                      } else if (part < pages) {
                        sums.set_page(part, content);
                      }
                      return Status();
                    });
  (void)blocks.erase(first + kFirstSumsPart, first + kEndPart - 1);
  (void)sums.write(blocks, header.number, options.page_bytes, BlockSums(pages));
  header.pages = static_cast<uint32_t>(sums.pages());
  header.sums_hash = sums.hash();
  return header;
}

// Does so for all segments, and for the pages of the directory.
inline void seal(segments::BlockStorage& storage, const FilterOptions& options) {
  using namespace segments;
  const Blocks blocks(storage, options.block_seed());
  std::map<int64_t, std::vector<std::byte>> pages;
  Root root;
  const Status read = blocks.read_one(kRootBlock, [&](int64_t, std::span<const std::byte> content) {
    Result<Root> decoded = decode_root(content);
    root = decoded.ok() ? decoded.value() : root;
    return decoded.take_status();
  });
  (void)blocks.read(kFirstDirectoryBlock, kFirstDirectoryBlock + kMaxDirectoryPages - 1,
                    [&](int64_t id, std::span<const std::byte> content) {
                      pages[id].assign(content.begin(), content.end());
                      return Status();
                    });
  root.pages_hash = 0;
  for (auto& [id, content] : pages) {
    for (size_t at = 0; at + kSegmentHeaderBytes <= content.size(); at += kSegmentHeaderBytes) {
      const auto bytes = std::span(content).subspan(at, kSegmentHeaderBytes);
      if (const Result<SegmentHeader> header = decode_segment_header(bytes); header.ok()) {
        encode_segment_header(sealed(blocks, options, header.value()), bytes);
      }
    }
    (void)blocks.write(id, content, true);
    root.pages_hash +=
        Directory::hash_of_page(static_cast<uint64_t>(id - kFirstDirectoryBlock), content);
  }
  if (read.ok()) {
    (void)blocks.write(kRootBlock, encode_root(root), true);
  }
}

}  // namespace cuckoo::test
