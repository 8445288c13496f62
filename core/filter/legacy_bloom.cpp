#include "core/filter/legacy_bloom.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>
#include <string>

#include "core/base/bytes.hpp"
#include "core/filter/sizing.hpp"

namespace cuckoo::core {
namespace {

constexpr uint32_t kMagic = 0x01464C42;
constexpr size_t kHeaderBytes = 64;
constexpr size_t kSeedAt = 4;
constexpr size_t kCountAt = 8;
constexpr size_t kCapacityAt = 12;
constexpr size_t kRateAt = 16;
constexpr size_t kBitsAt = 24;
constexpr size_t kHashesAt = 28;
constexpr size_t kSizeAt = 60;

// Every multiplication of a MurmurHash64A is by this number.
constexpr uint64_t kFactor = 0xC6A4A7935BD1E995;

uint64_t fold(uint64_t x) noexcept { return x ^ (x >> 47); }

Status check_field(const char* name, uint64_t value, uint64_t least) {
  if (value < least || value > UINT32_MAX) {
    return invalid(std::string("the legacy file's ") + name + " would be " + std::to_string(value) +
                   ", expected " + std::to_string(least) + " to 2^32 - 1");
  }
  return {};
}

}  // namespace

uint64_t murmur_hash_64a(std::span<const std::byte> bytes, uint64_t seed) noexcept {
  uint64_t hash = seed ^ (bytes.size() * kFactor);
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    hash = (hash ^ (fold(load_le<uint64_t>(bytes.data()) * kFactor) * kFactor)) * kFactor;
  }
  if (!bytes.empty()) {
    uint64_t rest = 0;
    for (size_t i = bytes.size(); i-- > 0;) {
      rest = (rest << 8) | static_cast<uint8_t>(bytes[i]);
    }
    hash = (hash ^ rest) * kFactor;
  }
  return fold(fold(hash) * kFactor);
}

HashPair legacy_hash(std::span<const std::byte> bytes, uint32_t seed) noexcept {
  const uint64_t h1 = murmur_hash_64a(bytes, seed);
  return {h1, murmur_hash_64a(bytes, static_cast<uint32_t>((h1 >> 32) ^ h1))};
}

BloomFilter& pairs_of(Filter& filter) noexcept {
  assert(filter.kind() == FilterKind::kLegacyBloom);
  return static_cast<BloomFilter&>(filter);
}

const BloomFilter& pairs_of(const Filter& filter) noexcept {
  assert(filter.kind() == FilterKind::kLegacyBloom);
  return static_cast<const BloomFilter&>(filter);
}

bool is_legacy_rate(double rate) noexcept {
  return rate >= std::numeric_limits<double>::min() && rate < 1;
}

bool looks_like_legacy_file(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= 4 && load_le<uint32_t>(bytes.data()) == kMagic;
}

Result<LegacyFile> decode_legacy_file(std::span<const std::byte> bytes, uint32_t page_bytes) {
  if (!looks_like_legacy_file(bytes)) {
    return corrupt("legacy filter file does not begin with 42 4C 46 01");
  }
  if (bytes.size() < kHeaderBytes) {
    return corrupt("legacy filter file has " + std::to_string(bytes.size()) +
                   " bytes, expected at least 64");
  }
  const auto field = [&](size_t at) { return load_le<uint32_t>(bytes.data() + at); };
  CUCKOO_ASSIGN_OR_RETURN(
      BloomGeometry geometry,
      stored_bloom(FilterKind::kLegacyBloom, {field(kBitsAt), field(kHashesAt), 0}, page_bytes));
  const uint64_t size = geometry.size / 8;
  if (field(kSizeAt) != size || bytes.size() != kHeaderBytes + size) {
    return corrupt("legacy filter file has " + std::to_string(bytes.size()) + " bytes and says " +
                   std::to_string(field(kSizeAt)) + " follow its header, expected " +
                   std::to_string(size) + " for " + std::to_string(size * 8) + " bits");
  }
  LegacyFile file;
  file.seed = field(kSeedAt);
  file.items = field(kCountAt);
  file.capacity = field(kCapacityAt);
  file.rate = real_from_bits(load_le<uint64_t>(bytes.data() + kRateAt));
  if (file.capacity == 0) {
    return corrupt("legacy filter file is for 0 keys, expected at least 1");
  }
  if (!is_legacy_rate(file.rate)) {
    return corrupt("legacy filter file has the rate " + short_text(file.rate) +
                   ", expected 2^-1022 or more and less than 1");
  }
  auto filter = std::make_unique<BloomFilter>(geometry);
  const std::byte* from = bytes.data() + kHeaderBytes;
  uint64_t used = 0;
  for (uint64_t index = 0; index < filter->pages().page_count(); ++index) {
    const size_t content = filter->content_bytes(index);  // a multiple of 8
    const uint64_t used_before = used;
    for (size_t at = 0; at < content; at += 8) {
      used += static_cast<uint64_t>(std::popcount(load_le<uint64_t>(from + at)));
    }
    if (used != used_before) {
      std::copy(from, from + content, filter->pages().add(index, false));
    }
    from += content;
  }
  filter->pages().complete();
  filter->set_occupied(used);
  file.items = std::min(file.items, filter->most_items());
  file.filter = std::move(filter);
  return file;
}

Status check_legacy_file_bytes(const GeometryWords& words, uint64_t limit) {
  if (const uint64_t bytes = kHeaderBytes + words.size / 8; bytes > limit) {
    return invalid("the legacy file would have " + std::to_string(bytes) + " bytes, at most " +
                   std::to_string(limit) + " are possible");
  }
  return {};
}

Result<std::vector<std::byte>> encode_legacy_file(const LegacyFile& file) {
  assert(file.filter != nullptr && file.filter->traits().pairs);
  const Filter& filter = *file.filter;
  CUCKOO_TRY(check_field("n", file.capacity, 1));
  CUCKOO_TRY(check_field("count", file.items, 0));
  const double below_one = std::nextafter(1.0, 0.0);  // a hopeless filter's rate rounds to 1
  const double rate = std::min(file.rate, below_one);
  if (!is_legacy_rate(rate)) {
    return invalid("the legacy file's rate would be " + short_text(rate) +
                   ", expected 2^-1022 or more");
  }
  const GeometryWords words = filter.words();
  std::vector<std::byte> bytes(kHeaderBytes + words.size / 8);
  const auto set_field = [&](size_t at, uint64_t value) {
    store_le(bytes.data() + at, static_cast<uint32_t>(value));
  };
  set_field(0, kMagic);
  set_field(kSeedAt, file.seed);
  set_field(kCountAt, file.items);
  set_field(kCapacityAt, file.capacity);
  store_le(bytes.data() + kRateAt, bits_of(rate));
  set_field(kBitsAt, words.size);
  set_field(kHashesAt, words.shape);
  set_field(kSizeAt, words.size / 8);
  std::byte* to = bytes.data() + kHeaderBytes;
  for (uint64_t index = 0; index < filter.pages().page_count(); ++index) {
    const size_t content = filter.content_bytes(index);
    if (const std::byte* const page = filter.pages().find(index); page != nullptr) {
      std::copy(page, page + content, to);
    }
    to += content;
  }
  return bytes;
}

}  // namespace cuckoo::core
