#include "core/segments/directory.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/filter/sizing.hpp"
#include "core/segments/front.hpp"
#include "core/segments/mark.hpp"

namespace cuckoo::segments {
namespace {

constexpr uint32_t kRootMagic = 0x34464B43;  // "CKF4"
constexpr uint32_t kRootVersion = 4;
constexpr uint64_t Root::*kFields[] = {
    &Root::options_digest,   &Root::directory_version, &Root::next_number,
    &Root::first_depth,      &Root::capacity,          &Root::leaves,
    &Root::folded_to,        &Root::pages_hash,        &Root::window_hash,
    &Root::first_row,        &Root::first_position,    &Root::pending_row,
    &Root::pending_position, &Root::key_types,         &Root::hashless};
constexpr size_t kRootBytes = 8 + 8 * std::size(kFields);

constexpr unsigned kSpareDepth = 6;  // I1
// No log gets so far, because an entry takes a nanosecond at least.
constexpr uint64_t kMostRows = static_cast<uint64_t>(kLastLogBlock - kFirstLogBlock) / 2;
constexpr uint64_t kMostPosition = 2 * kMostMarkedPosition;
constexpr uint64_t kMostLeaves = uint64_t{1} << 26;

// The ids of directory pages suffice for so many leaves.
uint64_t most_leaves(uint32_t page_bytes) noexcept {
  return std::min(kMostLeaves, static_cast<uint64_t>(kMaxDirectoryPages) *
                                   Directory::leaves_per_page(page_bytes));
}

}  // namespace

unsigned most_depth(uint64_t leaves) noexcept {
  const auto needed = static_cast<unsigned>(std::bit_width(leaves - 1));
  return std::min(needed + kSpareDepth, kMaxDepth);
}

std::vector<std::byte> encode_root(const Root& root) {
  std::vector<std::byte> content(kRootBytes);
  put_front(kRootMagic, kRootVersion, content);
  size_t at = 8;
  for (const auto field : kFields) {
    store_le(&content[at], root.*field);
    at += 8;
  }
  return content;
}

uint64_t hash_of(const Root& root) {
  const std::vector<std::byte> content = encode_root(root);
  return XXH3_64bits(content.data(), content.size());
}

Result<Root> decode_root(std::span<const std::byte> content) {
  if (content.size() != kRootBytes || !has_front(content, kRootMagic, kRootVersion)) {
    return corrupt("not a root of format 4");
  }
  Root root;
  size_t at = 8;
  for (const auto field : kFields) {
    root.*field = load_le<uint64_t>(&content[at]);
    at += 8;
  }
  if (root.next_number == 0 || root.next_number > kMaxSegmentNumber + 1 ||
      root.first_depth > kMostFirstDepth || root.leaves < uint64_t{1} << root.first_depth ||
      root.leaves > kMostLeaves || root.capacity == 0 || root.capacity > kMaxCapacity ||
      root.pending_row > kMostRows || root.pending_position > kMostPosition ||
      root.first_row > root.pending_row || root.first_position > root.pending_position ||
      root.folded_to > kMostPosition || root.hashless > 1) {
    return corrupt("a number out of range");
  }
  return root;
}

// --- the trie ------------------------------------------------------------------------------------

// Checks S1: each leaf takes its entries of the table, no entry is taken twice, and none is left.
Status Directory::fill(const std::vector<Leaf>& leaves, std::vector<uint32_t>& table,
                       unsigned& depth) {
  depth = 0;
  for (const Leaf& leaf : leaves) {
    depth = std::max(depth, leaf.depth);
  }
  if (depth > most_depth(leaves.size())) {
    return corrupt("the directory: " + std::to_string(leaves.size()) + " segments, one of them " +
                   std::to_string(depth) + " bits deep");
  }
  constexpr uint32_t kNone = ~uint32_t{0};
  table.assign(size_t{1} << depth, kNone);
  for (size_t i = 0; i < leaves.size(); ++i) {
    const size_t first = depth == 0 ? 0 : leaves[i].prefix >> (64 - depth);
    const size_t count = size_t{1} << (depth - leaves[i].depth);
    for (size_t at = first; at < first + count; ++at) {
      if (table[at] != kNone) {
        return corrupt("the directory: two segments of one prefix");
      }
      table[at] = static_cast<uint32_t>(i);
    }
  }
  return std::find(table.begin(), table.end(), kNone) == table.end()
             ? Status()
             : corrupt("the directory: a prefix without a segment");
}

void Directory::start(unsigned depth) {
  const size_t count = size_t{1} << depth;
  std::vector<Leaf> leaves(count);
  std::vector<uint32_t> table(count);
  for (size_t i = 0; i < count; ++i) {
    leaves[i].prefix = depth == 0 ? 0 : uint64_t{i} << (64 - depth);
    leaves[i].depth = depth;
    table[i] = static_cast<uint32_t>(i);
  }
  set_leaves(std::move(leaves), std::move(table), depth);
}

// Afterwards no entry is pending, and no page counts as stored.
void Directory::set_leaves(std::vector<Leaf>&& leaves, std::vector<uint32_t>&& table,
                           unsigned depth) noexcept {
  leaves_ = std::move(leaves);
  table_ = std::move(table);
  depth_ = depth;
  page_hashes_.clear();
  first_ = last_ = Leaf::kNone;
  pending_ = 0;
}

Status Directory::assign(std::vector<Leaf> leaves) {
  if (leaves.size() > most_leaves(options_->page_bytes)) {
    return corrupt("the directory: " + std::to_string(leaves.size()) + " segments, expected " +
                   std::to_string(most_leaves(options_->page_bytes)) + " or fewer");
  }
  std::vector<uint32_t> table;
  unsigned depth = 0;
  CUCKOO_TRY(fill(leaves, table, depth));
  set_leaves(std::move(leaves), std::move(table), depth);
  return {};
}

// --- pending entries -----------------------------------------------------------------------------

void Directory::link(size_t index, uint64_t position) noexcept {
  Leaf& leaf = leaves_[index];
  leaf.first_pending = position;
  leaf.before = last_;
  leaf.behind = Leaf::kNone;
  (last_ == Leaf::kNone ? first_ : leaves_[last_].behind) = static_cast<uint32_t>(index);
  last_ = static_cast<uint32_t>(index);
}

void Directory::note_folded(size_t index) noexcept {
  Leaf& leaf = leaves_[index];
  if (leaf.pending.empty()) {
    return;
  }
  (leaf.before == Leaf::kNone ? first_ : leaves_[leaf.before].behind) = leaf.behind;
  (leaf.behind == Leaf::kNone ? last_ : leaves_[leaf.behind].before) = leaf.before;
  pending_ -= leaf.pending.size();
  leaf.pending = {};
  leaf.counted = 0;
}

void Directory::drop_shares() noexcept {
  for (Leaf& leaf : leaves_) {
    if (leaf.header->number == 0) {
      leaf.segment.reset();
    }
  }
}

std::vector<EntryList> Directory::take_pending() {
  std::vector<EntryList> lists(leaves_.size());
  for (size_t i = 0; i < leaves_.size(); ++i) {
    std::swap(lists[i], leaves_[i].pending);
    leaves_[i].counted = 0;
  }
  first_ = last_ = Leaf::kNone;
  pending_ = 0;
  return lists;
}

Status Directory::check() const {
  uint64_t entries = 0;
  size_t linked = 0;
  uint32_t before = Leaf::kNone;
  for (uint32_t i = first_; i != Leaf::kNone && linked <= leaves_.size(); i = leaves_[i].behind) {
    const Leaf& leaf = leaves_[i];
    if (leaf.pending.empty() || leaf.before != before ||
        (before != Leaf::kNone && leaf.first_pending < leaves_[before].first_pending)) {
      return corrupt("the directory: a leaf in the wrong place of the linked ones (I5)");
    }
    entries += leaf.pending.size();
    before = i;
    ++linked;
  }
  const auto with_entries = std::count_if(leaves_.begin(), leaves_.end(),
                                          [](const Leaf& leaf) { return !leaf.pending.empty(); });
  return entries == pending_ && before == last_ && linked == static_cast<size_t>(with_entries)
             ? Status()
             : corrupt("the directory: " + std::to_string(pending_) +
                       " pending entries, expected those of all its lists (I5)");
}

uint64_t Directory::folded_to() const noexcept {
  uint64_t most = 0;
  for (const Leaf& leaf : leaves_) {
    most = std::max(most, leaf.header->folded_to);
  }
  return most;
}

unsigned Directory::most_bits(size_t index) const noexcept {
  const uint64_t room = most_leaves(options_->page_bytes) - leaves_.size();
  const unsigned most = most_depth(leaves_.size());
  const unsigned bits = most > leaves_[index].depth ? most - leaves_[index].depth : 0;
  return std::min(bits, static_cast<unsigned>(std::bit_width(room + 1)) - 1);
}

std::vector<size_t> Directory::split(size_t index, unsigned bits) {
  const uint64_t prefix = leaves_[index].prefix;
  const unsigned depth = leaves_[index].depth + bits;
  const size_t pieces = size_t{1} << bits;
  std::vector<size_t> indexes{index};
  note_folded(index);
  leaves_[index].segment.reset();
  leaves_[index].header = SegmentHeader{};
  leaves_[index].depth = depth;
  for (size_t piece = 1; piece < pieces; ++piece) {
    indexes.push_back(leaves_.size());
    Leaf leaf;
    leaf.prefix = prefix | uint64_t{piece} << (64 - depth);
    leaf.depth = depth;
    leaves_.push_back(std::move(leaf));
  }
  if (depth > depth_) {
    const unsigned more = depth - depth_;
    std::vector<uint32_t> table(size_t{1} << depth);
    for (size_t at = 0; at < table.size(); ++at) {
      table[at] = table_[at >> more];
    }
    table_ = std::move(table);
    depth_ = depth;
  }
  const size_t each = size_t{1} << (depth_ - depth);
  size_t at = depth_ == 0 ? 0 : prefix >> (64 - depth_);
  for (const size_t piece : indexes) {
    for (size_t i = 0; i < each; ++i) {
      table_[at++] = static_cast<uint32_t>(piece);
    }
  }
  return indexes;
}

// --- stored --------------------------------------------------------------------------------------

std::vector<std::byte> Directory::encode_page(uint64_t page, const WrittenLeaves& fresh) const {
  const uint64_t per_page = leaves_per_page(options_->page_bytes);
  std::vector<std::byte> content;
  content.reserve(per_page * kSegmentHeaderBytes);
  const uint64_t first = page * per_page;
  auto next =
      std::lower_bound(fresh.begin(), fresh.end(), first,
                       [](const auto& segment, uint64_t index) { return segment.first < index; });
  for (uint64_t index = first; index < first + per_page && index < leaves_.size(); ++index) {
    const bool is_new = next != fresh.end() && next->first == index;
    const SegmentHeader& header = is_new ? (next++)->second.header : *leaves_[index].header;
    if (header.number != 0) {
      const size_t at = (index - first) * kSegmentHeaderBytes;
      content.resize(at + kSegmentHeaderBytes);
      encode_segment_header(header, std::span(content).subspan(at));
    }
  }
  return content;
}

uint64_t Directory::hash_of_page(uint64_t page, std::span<const std::byte> content) noexcept {
  return std::max<uint64_t>(XXH3_64bits_withSeed(content.data(), content.size(), page), 1);
}

void Directory::note_stored(uint64_t page, uint64_t hash) {
  if (page >= page_hashes_.size()) {
    page_hashes_.resize(page + 1);
  }
  page_hashes_[page] = hash;
}

uint64_t Directory::pages_hash() const noexcept {
  return std::accumulate(page_hashes_.begin(), page_hashes_.end(), uint64_t{0});
}

uint64_t Directory::stored_pages() const noexcept {
  return page_hashes_.size() -
         static_cast<uint64_t>(std::count(page_hashes_.begin(), page_hashes_.end(), uint64_t{0}));
}

// Pages come in ascending order.
Status Directory::take_page(uint64_t page, std::span<const std::byte> content, const Root& root,
                            std::vector<Leaf>& leaves) const {
  const uint64_t per_page = leaves_per_page(options_->page_bytes);
  const uint64_t headers = content.size() / kSegmentHeaderBytes;
  if (headers == 0 || headers > per_page || content.size() % kSegmentHeaderBytes != 0 ||
      all_zero(content.last(kSegmentHeaderBytes))) {
    return corrupt("of " + std::to_string(content.size()) + " bytes, or without its last header");
  }
  for (uint64_t i = 0; i < headers; ++i) {
    const auto bytes = content.subspan(i * kSegmentHeaderBytes, kSegmentHeaderBytes);
    const uint64_t index = page * per_page + i;
    if (all_zero(bytes)) {
      continue;  // one of the first, or read_leaves() finds that it is missing
    }
    CUCKOO_ASSIGN_OR_RETURN(const SegmentHeader header, decode_segment_header(bytes));
    if (index >= root.leaves || index > leaves.size()) {
      return corrupt("a segment in slot " + std::to_string(index) + ", where none is expected");
    }
    if (header.number >= root.next_number) {
      return corrupt("a segment that has a number of the future");
    }
    if (index == leaves.size()) {
      leaves.emplace_back();
    }
    leaves[index].prefix = header.prefix;
    leaves[index].depth = header.depth;
    leaves[index].header = header;
  }
  return {};
}

Status Directory::read_leaves(const Blocks& blocks, const Root& root, std::vector<Leaf>& leaves,
                              std::vector<uint64_t>& hashes) const {
  leaves.resize(size_t{1} << root.first_depth);
  for (size_t i = 0; i < leaves.size(); ++i) {
    leaves[i].prefix = root.first_depth == 0 ? 0 : uint64_t{i} << (64 - root.first_depth);
    leaves[i].depth = static_cast<unsigned>(root.first_depth);
  }
  uint64_t sum = 0;
  CUCKOO_TRY(blocks.read(kFirstDirectoryBlock, kFirstDirectoryBlock + kMaxDirectoryPages - 1,
                         [&](int64_t id, std::span<const std::byte> content) -> Status {
                           const auto page = static_cast<uint64_t>(id - kFirstDirectoryBlock);
                           CUCKOO_TRY(take_page(page, content, root, leaves));
                           hashes.resize(page + 1);
                           hashes[page] = hash_of_page(page, content);
                           sum += hashes[page];
                           return blocks.poll();
                         }));
  if (sum != root.pages_hash) {
    return corrupt("the directory: pages that are not those of the root");
  }
  return leaves.size() == root.leaves
             ? Status()
             : corrupt("the directory: " + std::to_string(leaves.size()) + " segments, expected " +
                       std::to_string(root.leaves));
}

Result<bool> Directory::read(const Blocks& blocks, const Root& root, Known known) {
  std::vector<Leaf> leaves;
  std::vector<uint64_t> hashes;
  CUCKOO_TRY(read_leaves(blocks, root, leaves, hashes));
  std::vector<uint32_t> table;
  unsigned depth = 0;
  CUCKOO_TRY(fill(leaves, table, depth));
  const auto same_place = [&](size_t i) {
    return leaves_[i].prefix == leaves[i].prefix && leaves_[i].depth == leaves[i].depth;
  };
  const auto stays = [&](size_t i) {
    const Leaf& old = leaves_[i];
    return same_place(i) && *old.header == *leaves[i].header &&
           (old.header->number != 0 ||
            (!old.pending.empty() && old.first_pending >= root.folded_to));
  };
  const auto never_used = [&](size_t i) {
    return same_place(i) && leaves_[i].header->number == 0 && leaves_[i].pending.empty() &&
           leaves[i].header->number == 0;
  };
  std::vector<size_t> pending;  // the leaves that have entries still
  bool complete = root.folded_to >= known.folded_to;
  const size_t both = std::min(leaves.size(), leaves_.size());
  for (size_t i = 0; i < leaves.size(); ++i) {
    const SegmentHeader& header = *leaves[i].header;
    if (i < both && stays(i)) {
      if (!leaves_[i].pending.empty()) {
        pending.push_back(i);
      }
    } else if (!(i < both && never_used(i))) {
      complete =
          complete && (header.number == 0 ? root.folded_to : header.folded_to) >= known.position;
    }
  }
  // Nothing fails from here on.
  for (size_t i = 0; i < both; ++i) {
    if (stays(i)) {
      leaves[i] = std::move(leaves_[i]);
    }
  }
  set_leaves(std::move(leaves), std::move(table), depth);
  page_hashes_ = std::move(hashes);
  std::sort(pending.begin(), pending.end(), [this](size_t a, size_t b) {
    return leaves_[a].first_pending < leaves_[b].first_pending;
  });
  for (const size_t i : pending) {
    link(i, leaves_[i].first_pending);
    pending_ += leaves_[i].pending.size();
  }
  return complete;
}

}  // namespace cuckoo::segments
