#include "core/filter/bloom_filter.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "core/base/large_memory.hpp"
#include "core/filter/bloom_block.hpp"

namespace cuckoo::core {
namespace {

// The most copies of a counter after filters were united. Adds one by one never get there.
constexpr uint64_t kMaxCopies = uint64_t{1} << 62;

// Removes repeated cells from the list. Returns how many are left.
size_t without_repetitions(uint64_t* cells, size_t count) noexcept {
  size_t distinct = 0;
  for (size_t i = 0; i < count; ++i) {
    if (std::find(cells, cells + distinct, cells[i]) == cells + distinct) {
      cells[distinct++] = cells[i];
    }
  }
  return distinct;
}

std::string bits_behind(uint64_t index) {
  return "page " + std::to_string(index) + " has bits after its last cell, expected zeros";
}

}  // namespace

BloomFilter::BloomFilter(const BloomGeometry& geometry)
    : Filter(geometry.kind, geometry.page_count(), geometry.page_bytes),
      geometry_(geometry),
      cells_(geometry.cells()),
      cells_per_page_(geometry.cells_per_page()),
      page_reciprocal_(~uint64_t{0} / cells_per_page_ + 1),
      avx2_(has_avx2()) {
  assert(cells_ <= kMaxBloomCells);
  for (uint32_t i = 0; geometry.blocked() && i <= geometry.hashes; ++i) {
    segments_[i] = geometry.first_block(i);
  }
  block_probe_ = choose_block_probe();
}

// ---- cells

size_t BloomFilter::next_cells(uint64_t step, uint32_t left, uint64_t* cells) const noexcept {
  for (uint32_t i = 0; i < left; i += 2) {
    const uint64_t draw = mix64(step += kGoldenStep);
    cells[i] = multiply_high(draw, cells_);
    if (i + 1 < left) {
      cells[i + 1] = multiply_high(std::rotl(draw, 32), cells_);
    }
  }
  return left;
}

size_t BloomFilter::pair_cells(const HashPair& pair, uint64_t* cells) const noexcept {
  uint64_t sum = pair.h1;
  for (uint32_t i = 0; i < geometry_.hashes; ++i) {
    cells[i] = sum % cells_;
    sum += pair.h2;
  }
  return geometry_.hashes;
}

size_t BloomFilter::cells_of(uint64_t hash, uint64_t* cells) const noexcept {
  assert(!traits().pairs);
  if (!geometry_.blocked()) {
    return without_repetitions(cells, next_cells(hash, geometry_.hashes, cells));
  }
  BlockWalk walk{hash, hash};
  size_t count = 0;
  for (uint32_t i = 0; i < geometry_.hashes; ++i) {
    const BlockPlace place = next_block(i, walk);
    for (uint32_t lane = 0; lane < kBlockLanes; ++lane) {
      cells[count++] = place.block * kBlockBits + lane * 64 + ((place.mask >> (6 * lane)) & 63);
    }
  }
  return count;
}

size_t BloomFilter::pages_of(uint64_t hash, uint64_t* pages) const noexcept {
  assert(!traits().pairs);
  BlockWalk walk{hash, hash};
  if (!geometry_.blocked()) {
    next_cells(hash, geometry_.hashes, pages);
  }
  for (uint32_t i = 0; i < geometry_.hashes; ++i) {
    pages[i] = page_of(geometry_.blocked() ? next_block(i, walk).block * kBlockBits : pages[i]);
  }
  return geometry_.hashes;
}

size_t BloomFilter::pages_of_pair(const HashPair& pair, uint64_t* pages) const noexcept {
  const size_t count = pair_cells(pair, pages);
  std::transform(pages, pages + count, pages, [&](uint64_t cell) { return page_of(cell); });
  return count;
}

// ---- one hash

BloomFilter::Answer BloomFilter::probe_slowly(const uint64_t* cells, size_t count) const noexcept {
  for (size_t i = 0; i < count; ++i) {
    if (pages_.find(page_of(cells[i])) == nullptr) {
      return Answer::kNotLoaded;
    }
    if ((geometry_.counting() ? at<true>(cells[i]).value() : at<false>(cells[i]).value()) == 0) {
      return Answer::kAbsent;
    }
  }
  return Answer::kPresent;
}

BloomFilter::Answer BloomFilter::probe_pair(const HashPair& pair) const noexcept {
  uint64_t cells[kMaxPlaces];
  return probe_slowly(cells, pair_cells(pair, cells));
}

void BloomFilter::prefetch(uint64_t hash) const noexcept {
  constexpr uint32_t kMostPlaces = 4;  // an absent key seldom needs more
  const uint32_t count = std::min(geometry_.hashes, kMostPlaces);
  if (geometry_.blocked()) {
    BlockWalk walk{hash, hash};
    for (uint32_t i = 0; i < count; ++i) {
      __builtin_prefetch(find_block(next_block(i, walk).block));
    }
    return;
  }
  uint64_t cells[kMostPlaces];
  next_cells(hash, count, cells);
  for (uint32_t i = 0; i < count; ++i) {
    __builtin_prefetch(at<false>(cells[i]).byte);
  }
}

uint64_t BloomFilter::count(uint64_t hash) const noexcept {
  if (!geometry_.counting()) {
    return probe(hash) == Answer::kPresent ? 1 : 0;
  }
  uint64_t cells[kMaxPlaces];
  const size_t cell_count = cells_of(hash, cells);
  uint64_t least = ~uint64_t{0};
  for (size_t i = 0; i < cell_count && least != 0; ++i) {
    least = std::min(least, copies(cells[i]));
  }
  return least;
}

bool BloomFilter::insert_bits(const uint64_t* cells, size_t count) {
  std::for_each(cells, cells + count, [&](uint64_t cell) { touch(cell); });
  unsigned added = 0;
  for (size_t i = 0; i < count; ++i) {
    const Bit bit = touched<false>(cells[i]);
    added += 1 - bit.value();
    bit.set(1);
  }
  occupied_ += added;
  return added == 0;
}

bool BloomFilter::insert_pair(const HashPair& pair) {
  uint64_t cells[kMaxPlaces];
  return insert_bits(cells, pair_cells(pair, cells));
}

bool BloomFilter::insert(uint64_t hash) {
  if (geometry_.blocked()) {
    return insert_batch({&hash, 1}) != 0;
  }
  if (geometry_.counting()) {
    return insert_copies(hash, 1);
  }
  uint64_t cells[kMaxPlaces];
  return insert_bits(cells, next_cells(hash, geometry_.hashes, cells));
}

// ---- batches

uint64_t BloomFilter::do_insert_batch(std::span<const uint64_t> hashes, uint64_t&) {
  assert(!traits().pairs);
  if (geometry_.blocked()) {
    return avx2_ ? insert_blocks_avx2(hashes) : insert_blocks(hashes);
  }
  return geometry_.counting() ? insert_batch_copies(hashes) : insert_batch_bits(hashes);
}

uint64_t BloomFilter::insert_batch_bits(std::span<const uint64_t> hashes) {
  Bit bits[kBatchCells];
  const uint32_t k = geometry_.hashes;
  uint64_t present = 0;
  while (!hashes.empty()) {
    const size_t count = std::min<size_t>(kBatchCells / k, hashes.size());
    Bit* end = bits;
    for (const uint64_t hash : hashes.first(count)) {
      uint64_t cells[kMaxPlaces];
      next_cells(hash, k, cells);
      for (uint32_t i = 0; i < k; ++i) {
        touch(cells[i]);
        *end = touched<false>(cells[i]);
        __builtin_prefetch(end->byte, 1);
        ++end;
      }
    }
    for (const Bit* bit = bits; bit != end;) {
      unsigned added = 0;
      for (const Bit* const next = bit + k; bit != next; ++bit) {
        added += 1 - bit->value();
        bit->set(1);
      }
      present += added == 0 ? 1 : 0;
      occupied_ += added;
    }
    hashes = hashes.subspan(count);
  }
  return present;
}

// A set ignores the count. A counter gets all of it at once, because one hash may come a million
// times.
//
// Many bits are set in an array first, which becomes pages at the end. Then no page must be found
// for each bit, and the old bit is not read. That takes half the time.
class BloomFilter::Builder final : public FilterBuilder {
 public:
  Builder(BloomFilter& filter, uint64_t expected) : filter_(filter) {
    if (worth_an_array(expected)) {
      array_.resize((filter.cells_ + 7) / 8);
    }
  }
  size_t memory_bytes() const noexcept override { return array_.capacity(); }

 private:
  void insert_copies(uint64_t hash, uint64_t count) override {
    if (filter_.geometry_.counting()) {
      filter_.insert_copies(hash, count);
    } else {
      wait(hash);
    }
  }
  void insert_all(std::span<const uint64_t> hashes) override {
    if (array_.empty()) {
      filter_.insert_batch(hashes);
    } else {
      set_bits(hashes);
    }
  }
  // Returns whether an array saves time: the filter is empty, and many of its bytes are written.
  bool worth_an_array(uint64_t expected) const noexcept {
    constexpr uint64_t kMostBytes = uint64_t{1} << 28;
    const BloomGeometry& geometry = filter_.geometry_;
    return !geometry.blocked() && !geometry.counting() && filter_.occupied_ == 0 &&
           expected >= 1024 && expected * geometry.hashes >= filter_.cells_ / 16 &&
           filter_.cells_ / 8 <= kMostBytes;
  }
  void set_bits(std::span<const uint64_t> hashes) noexcept {
    const uint32_t k = filter_.geometry_.hashes;
    std::byte* const array = array_.data();
    uint64_t cells[kBatchCells];
    while (!hashes.empty()) {
      const size_t count = std::min<size_t>(kBatchCells / k, hashes.size());
      uint64_t* end = cells;
      for (const uint64_t hash : hashes.first(count)) {
        filter_.next_cells(hash, k, end);
        for (const uint64_t* const next = end + k; end != next; ++end) {
          __builtin_prefetch(array + *end / 8, 1);
        }
      }
      for (const uint64_t* cell = cells; cell != end; ++cell) {
        array[*cell / 8] |= std::byte{1} << (*cell % 8);
      }
      hashes = hashes.subspan(count);
    }
  }
  // Copies the array to the pages; a page holds whole bytes of bits. A page without set bits stays
  // as it is.
  void store() override {
    if (array_.empty()) {
      return;
    }
    PageSet& pages = filter_.pages_;
    const size_t page_bytes = filter_.cells_per_page_ / 8;
    for (uint64_t index = 0; index < pages.page_count(); ++index) {
      const size_t first = index * page_bytes;
      const auto content =
          std::span(array_).subspan(first, std::min(page_bytes, array_.size() - first));
      if (!all_zero(content)) {
        pages.mark_dirty(index);
        std::byte* const page = pages.owned(index);
        std::copy(content.begin(), content.end(), page);
        for (size_t at = 0; at < pages.page_bytes(); at += 8) {
          filter_.occupied_ += static_cast<uint64_t>(std::popcount(load_le<uint64_t>(page + at)));
        }
      }
    }
    LargeVector<std::byte>().swap(array_);
  }

  BloomFilter& filter_;
  LargeVector<std::byte> array_;  // empty: not used
};

std::unique_ptr<FilterBuilder> BloomFilter::builder(uint64_t expected, Digest) {
  return std::make_unique<Builder>(*this, expected);
}

// ---- the whole filter

// Polls once a page, because no entry takes long.
Status BloomFilter::do_unite(const Filter& other_filter, const Poll& poll) {
  if (other_filter.kind() != kind() || other_filter.words() != words() ||
      other_filter.pages().page_bytes() != pages_.page_bytes()) {
    return invalid("the filters have different sizes, hashes or layouts, expected the same");
  }
  const auto& other = static_cast<const BloomFilter&>(other_filter);
  for (const auto& [cell, copies] : other.overflow_.counts()) {
    if (copies > kMaxCopies || overflow_.count(cell) > kMaxCopies) {
      return invalid("cell " + std::to_string(cell) + " counts more than 2^62 copies");
    }
  }
  const PageSet& theirs = other.pages_;
  const uint64_t pages = pages_.page_count();
  for (uint64_t index = theirs.next_backed(0); index < pages;
       index = theirs.next_backed(index + 1)) {
    CUCKOO_TRY(check_interrupt(poll));
    const std::byte* const page = theirs.find(index);
    if (all_zero({page, content_bytes(index)})) {
      continue;
    }
    (void)pages_.writable(index);  // it may be absent
    pages_.mark_dirty(index);
    if (geometry_.counting()) {
      unite_counters(index, other);
    } else {
      unite_bits(index, other);
    }
  }
  return {};
}

// Unites whole words, because both pages are zero after the content.
void BloomFilter::unite_bits(uint64_t index, const BloomFilter& other) {
  std::byte* const page = pages_.owned(index);
  const std::byte* const theirs = other.pages_.find(index);
  for (size_t at = 0; at < pages_.page_bytes(); at += 8) {
    const auto mine = load_le<uint64_t>(page + at);
    const auto both = mine | load_le<uint64_t>(theirs + at);
    occupied_ += static_cast<uint64_t>(std::popcount(mine ^ both));
    store_le(page + at, both);
  }
}

// Bisects, because the logarithm of a C library is not the same everywhere.
uint64_t BloomFilter::united_items(uint64_t a, uint64_t b, uint64_t capacity) const noexcept {
  const uint64_t sum = a + b;
  if (geometry_.counting()) {
    return sum;
  }
  const uint64_t larger = std::max(a, b);
  uint64_t least = larger;
  uint64_t most = sum;
  while (least < most) {
    const uint64_t middle = least + (most - least) / 2;
    if (expected_cells(geometry_, static_cast<double>(middle) + 0.5) <
        static_cast<double>(occupied_)) {
      least = middle + 1;
    } else {
      most = middle;
    }
  }
  const bool certain = overfull(sum, capacity);
  return certain ? least : std::min(least, std::max(larger, capacity));
}

uint64_t BloomFilter::most_items() const noexcept {
  if (geometry_.counting()) {  // each item raised one counter at least
    return kFullCounter * occupied_ + overflow_.items();
  }
  return static_cast<uint64_t>(std::ceil(keys_for_cells(geometry_, cells_)));
}

double BloomFilter::load_factor() const noexcept {
  return static_cast<double>(occupied_) / static_cast<double>(cells_);
}

double BloomFilter::rate_with(double more) const noexcept {
  return geometry_.blocked() || more > 0 ? rate(keys_for_cells(geometry_, occupied_) + more)
                                         : std::pow(load_factor(), geometry_.hashes);
}

Status BloomFilter::validate_page(uint64_t index, std::span<const std::byte> content) const {
  if (index >= pages_.page_count()) {
    return corrupt("page number is " + std::to_string(index) + ", expected less than " +
                   std::to_string(pages_.page_count()));
  }
  if (content.size() != content_bytes(index)) {
    return corrupt("page " + std::to_string(index) + " has " + std::to_string(content.size()) +
                   " bytes, expected " + std::to_string(content_bytes(index)));
  }
  const uint64_t used = geometry_.cells_in_page(index) * geometry_.cell_bits() % 8;
  if (used != 0 && (static_cast<unsigned>(content.back()) >> used) != 0) {
    return corrupt(bits_behind(index));
  }
  return {};
}

Status BloomFilter::check_page(uint64_t index, uint64_t& used, uint64_t& full_counters) const {
  const std::byte* const page = pages_.find(index);
  const size_t content = content_bytes(index);
  CUCKOO_TRY(validate_page(index, {page, content}));
  if (!all_zero({page + content, page + pages_.page_bytes() + PageSet::kSlackBytes})) {
    return corrupt(bits_behind(index));
  }
  for (size_t at = 0; at < pages_.page_bytes(); at += 8) {
    uint64_t word = load_le<uint64_t>(page + at);
    if (geometry_.counting()) {  // counts the counters above 0, and the 15s, by one bit each
      constexpr uint64_t kOnes = 0x1111111111111111;
      const uint64_t all = word & (word >> 1);
      full_counters += static_cast<uint64_t>(std::popcount(all & (all >> 2) & kOnes));
      word |= word >> 1;
      word = (word | (word >> 2)) & kOnes;
    }
    used += static_cast<uint64_t>(std::popcount(word));
  }
  return {};
}

Status BloomFilter::check() const {
  uint64_t used = 0;
  uint64_t full_counters = 0;
  const uint64_t pages = pages_.page_count();
  for (uint64_t index = pages_.next_backed(0); index < pages;
       index = pages_.next_backed(index + 1)) {
    CUCKOO_TRY(check_page(index, used, full_counters));
  }
  if (used != occupied_) {
    return corrupt("pages hold " + std::to_string(used) + " cells in use, expected " +
                   std::to_string(occupied_));
  }
  return check_overflow(full_counters);
}

}  // namespace cuckoo::core
