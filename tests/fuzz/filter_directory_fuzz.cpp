// decode_root, decode_segment_header, Directory::read: what is accepted has the same bytes when it
// is written again, and the prefixes of a directory's segments partition the hash space. An input
// is a root, then pages of the directory; or a segment's header.
#include "core/segments/directory.hpp"

#include <algorithm>

#include "tests/fuzz/fuzz_blocks.hpp"

namespace cuckoo::test {
namespace {

using segments::Directory;
using segments::kSegmentHeaderBytes;
using segments::Root;
using segments::SegmentHeader;

constexpr size_t kRootBytes = 136;
constexpr size_t kHeadersPerPage = 4;
constexpr uint64_t kMostFirstDepth = 8;  // more leaves than that take more memory than a target has

void examine_header(std::span<const std::byte> bytes) {
  const Result<SegmentHeader> header = segments::decode_segment_header(bytes);
  if (!header.ok()) {
    REQUIRE(!header.error().message.empty());
    return;
  }
  Bytes again(kSegmentHeaderBytes);
  segments::encode_segment_header(header.value(), again);
  REQUIRE(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
}

void examine_directory(const FilterOptions& options, const FuzzBlocks& blocks,
                       const Directory& directory) {
  uint64_t covered = 0;  // of the hash space, in units of 2^(64 - kMaxDepth)
  for (size_t i = 0; i < directory.size(); ++i) {
    const Directory::Leaf& leaf = directory.leaf(i);
    covered += uint64_t{1} << (segments::kMaxDepth - leaf.depth);
    const uint64_t last = leaf.depth == 0 ? ~uint64_t{0} : leaf.prefix | ~uint64_t{0} >> leaf.depth;
    REQUIRE(directory.leaf_of(leaf.prefix) == i && directory.leaf_of(last) == i);
    REQUIRE(leaf.header->number == 0 || leaf.header->prefix == leaf.prefix);
    (void)directory.most_bits(i);
  }
  REQUIRE(covered == uint64_t{1} << segments::kMaxDepth);
  for (const auto& [id, row] : blocks.rows) {
    const auto page = static_cast<uint64_t>(id - segments::kFirstDirectoryBlock);
    REQUIRE(directory.page_hash(page) == Directory::hash_of_page(page, blocks.content(id)));
    const Bytes again = directory.encode_page(page, {});
    const std::span<const std::byte> content = blocks.content(id);
    REQUIRE(std::equal(again.begin(), again.end(), content.begin(), content.end()));
  }
  REQUIRE(directory.page_hash(blocks.rows.size() + options.page_bytes) == 0);
}

void examine(std::span<const std::byte> input, bool repaired) {
  const std::span<const std::byte> content = input.first(std::min(input.size(), kRootBytes));
  Result<Root> decoded = segments::decode_root(content);
  if (!decoded.ok()) {
    REQUIRE(!decoded.error().message.empty());
    return;
  }
  Root& root = decoded.value();
  const Bytes again = segments::encode_root(root);
  REQUIRE(std::equal(again.begin(), again.end(), content.begin(), content.end()));
  if (root.first_depth > kMostFirstDepth) {
    return;
  }
  FilterOptions options;
  options.page_bytes = kHeadersPerPage * kSegmentHeaderBytes;
  FuzzBlocks blocks;
  std::span<const std::byte> rest = input.subspan(content.size());
  uint64_t sum = 0;
  uint64_t leaves = 0;
  for (uint64_t page = 0; rest.size() >= kSegmentHeaderBytes; ++page) {
    const std::span<const std::byte> one =
        rest.first(std::min<size_t>(rest.size(), options.page_bytes));
    rest = rest.subspan(one.size());
    size_t headers = one.size() / kSegmentHeaderBytes;  // the page is cut after the last one
    while (headers > 0 &&
           all_zero(one.subspan((headers - 1) * kSegmentHeaderBytes, kSegmentHeaderBytes))) {
      --headers;
    }
    if (headers == 0) {
      continue;
    }
    blocks.put(segments::kFirstDirectoryBlock + static_cast<int64_t>(page),
               one.first(headers * kSegmentHeaderBytes), options.seed);
    sum += Directory::hash_of_page(page, one.first(headers * kSegmentHeaderBytes));
    leaves = page * kHeadersPerPage + headers;
  }
  if (repaired) {
    root.pages_hash = sum;
    root.leaves = std::max(leaves, uint64_t{1} << root.first_depth);
  }
  Directory directory(options);
  const Status read =
      directory.read(segments::Blocks(blocks, options.seed), root, {}).take_status();
  if (!read.ok()) {
    REQUIRE(read.error().code == ErrorCode::kCorrupt && !read.error().message.empty());
    return;
  }
  REQUIRE(directory.size() == root.leaves);
  examine_directory(options, blocks, directory);
}

}  // namespace
}  // namespace cuckoo::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cuckoo::test;
  const std::span<const std::byte> input = as_input(data, size);
  if (size == cuckoo::segments::kSegmentHeaderBytes) {
    examine_header(input);
  }
  examine(input, false);
  examine(input, true);
  return 0;
}
