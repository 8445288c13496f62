#include "core/flash/stored_index.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "core/base/bytes.hpp"
#include "core/flash/record.hpp"

namespace cuckoo::core {
namespace {

constexpr size_t kLeastEntryBytes = 2;
constexpr size_t kMostVarintBytes = 5;

size_t put_varint(uint32_t value, std::byte* to) noexcept {
  size_t size = 0;
  for (; value >= 128; value >>= 7) {
    to[size++] = static_cast<std::byte>(value | 128);
  }
  to[size++] = static_cast<std::byte>(value);
  return size;
}

// Returns false if the bytes end before the varint does, or if the varint has too many bytes.
bool take_varint(std::span<const std::byte> bytes, size_t& at, uint64_t& value) noexcept {
  value = 0;
  for (unsigned shift = 0; at < bytes.size() && shift < 7 * kMostVarintBytes; shift += 7) {
    const auto next = static_cast<uint8_t>(bytes[at++]);
    value |= static_cast<uint64_t>(next & 127) << shift;
    if (next < 128) {
      return next != 0 || shift == 0;  // no byte too many: there is one encoding
    }
  }
  return false;
}

// Sorts by the digits of a number, the lowest first. Equal entries keep their order.
template <class Number>
void sort_by_digits(FlashIndexEntries& entries, Number number) {
  constexpr unsigned kDigitBits = 11;
  constexpr uint32_t kDigits = uint32_t{1} << kDigitBits;
  FlashIndexEntries sorted(entries.size());
  for (unsigned shift = 0; shift < 32; shift += kDigitBits) {
    std::array<size_t, kDigits + 1> begin{};
    for (const FlashIndexEntry& entry : entries) {
      ++begin[(number(entry) >> shift) % kDigits + 1];
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    for (const FlashIndexEntry& entry : entries) {
      sorted[begin[(number(entry) >> shift) % kDigits]++] = entry;
    }
    entries.swap(sorted);
  }
}

constexpr size_t kWorthDigits = 4096;

}  // namespace

void sort_by_position(FlashIndexEntries& entries) {
  if (entries.size() < kWorthDigits) {
    std::sort(entries.begin(), entries.end());
  } else {
    sort_by_digits(entries, [](const FlashIndexEntry& entry) { return entry.first; });
  }
}

void sort_by_hash(FlashIndexEntries& entries) {
  if (entries.size() < kWorthDigits) {
    std::stable_sort(
        entries.begin(), entries.end(),
        [](const FlashIndexEntry& a, const FlashIndexEntry& b) { return a.second < b.second; });
  } else {
    sort_by_digits(entries, [](const FlashIndexEntry& entry) { return entry.second; });
  }
}

size_t encode_flash_index(std::span<const FlashIndexEntry> entries, size_t most_bytes,
                          std::vector<std::byte>& out) {
  uint32_t before = 0;
  size_t bytes = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto& [position, hash] = entries[i];
    std::byte entry[2 * kMostVarintBytes];
    size_t size = put_varint(hash - before, entry);
    size += put_varint(position, entry + size);
    if (size > most_bytes - bytes) {
      return i;
    }
    out.insert(out.end(), entry, entry + size);
    bytes += size;
    before = hash;
  }
  return entries.size();
}

Result<size_t> decode_flash_index(std::span<const std::byte> bytes, uint64_t count,
                                  const FlashGeometry& geometry, FlashIndexEntries& out) {
  const Error broken = corrupt("the checkpoint's index is broken");
  if (count > bytes.size() / kLeastEntryBytes) {  // nothing is allocated for more
    return broken;
  }
  const uint64_t units = geometry.units();
  out.reserve(out.size() + count);
  size_t at = 0;
  uint64_t hash = 0;
  uint32_t before = 0;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t distance = 0;
    uint64_t position = 0;
    if (!take_varint(bytes, at, distance) || !take_varint(bytes, at, position)) {
      return broken;
    }
    hash += distance;
    if (hash > UINT32_MAX || position >= units || position < kFlashHeaderUnits ||
        (i > 0 && distance == 0 && position <= before)) {
      return broken;
    }
    out.emplace_back(static_cast<uint32_t>(position), static_cast<uint32_t>(hash));
    before = static_cast<uint32_t>(position);
  }
  return at;
}

StoredIndex::StoredIndex(const FlashGeometry& geometry, std::vector<FlashIndexPiece> pieces,
                         FlashIndexEntries rest, Read read)
    : geometry_(geometry),
      pieces_(std::move(pieces)),
      rest_(std::move(rest)),
      read_(std::move(read)),
      size_(rest_.size()) {
  for (const FlashIndexPiece& piece : pieces_) {
    size_ += piece.entries;
  }
}

Status StoredIndex::read(size_t piece) {
  if (piece == number_) {
    return {};
  }
  number_ = kNoPiece;
  CUCKOO_TRY(read_(piece, value_));
  piece_.clear();
  CUCKOO_ASSIGN_OR_RETURN(const size_t bytes,
                          decode_flash_index(value_, pieces_[piece].entries, geometry_, piece_));
  const uint32_t limit = piece + 1 < pieces_.size() ? pieces_[piece + 1].first_hash
                         : rest_.empty()            ? UINT32_MAX
                                                    : rest_.front().second;
  if (bytes != value_.size() || piece_.front().second != pieces_[piece].first_hash ||
      piece_.back().second > limit) {
    return corrupt("piece " + std::to_string(piece) + " of the checkpoint's index is broken");
  }
  number_ = piece;
  return {};
}

Status StoredIndex::find(uint32_t hash, std::vector<uint32_t>& positions) {
  ++searches_;
  const auto add_from = [&](const FlashIndexEntries& entries) {
    const auto first = std::lower_bound(
        entries.begin(), entries.end(), hash,
        [](const FlashIndexEntry& entry, uint32_t least) { return entry.second < least; });
    for (auto each = first; each != entries.end() && each->second == hash; ++each) {
      positions.push_back(each->first);
    }
  };
  // `at` is the first piece that begins with the hash or a later one. The piece before it may hold
  // the hash, too.
  const auto at = std::lower_bound(
      pieces_.begin(), pieces_.end(), hash,
      [](const FlashIndexPiece& piece, uint32_t least) { return piece.first_hash < least; });
  auto piece = static_cast<size_t>(at - pieces_.begin());
  for (piece -= piece > 0 ? 1 : 0; piece < pieces_.size() && pieces_[piece].first_hash <= hash;
       ++piece) {
    CUCKOO_TRY(read(piece));
    add_from(piece_);
  }
  add_from(rest_);
  return {};
}

Result<FlashIndexEntries> StoredIndex::all() {
  FlashIndexEntries entries;
  entries.reserve(size_);
  for (size_t piece = 0; piece < pieces_.size(); ++piece) {
    CUCKOO_TRY(read(piece));
    entries.insert(entries.end(), piece_.begin(), piece_.end());
  }
  entries.insert(entries.end(), rest_.begin(), rest_.end());
  sort_by_position(entries);
  const auto same = [](const FlashIndexEntry& a, const FlashIndexEntry& b) {
    return a.first == b.first;
  };
  const auto twice = std::adjacent_find(entries.begin(), entries.end(), same);
  if (twice != entries.end()) {
    return corrupt("the checkpoint's index names unit " + std::to_string(twice->first) + " twice");
  }
  return entries;
}

size_t StoredIndex::memory_bytes() const noexcept {
  return pieces_.capacity() * sizeof(FlashIndexPiece) +
         (rest_.capacity() + piece_.capacity()) * sizeof(FlashIndexEntry) + value_.capacity();
}

}  // namespace cuckoo::core
