// decode_image_header, decode_image, read_image_hashes. What is accepted is a filter that passes
// its own check, answers, and whose image has the same bytes, from pages of another size too.
#include "core/stored/image.hpp"

#include <algorithm>

#include "core/base/mix.hpp"
#include "core/filter/bucket.hpp"
#include "core/filter/cell_layout.hpp"
#include "tests/fuzz/fuzz_input.hpp"

namespace cuckoo::test {
namespace {

// Fields of the header (FORMAT.md, "Images").
constexpr size_t kLengthAt = 8;
constexpr size_t kKindAt = 16;
constexpr size_t kFlagsAt = 19;
constexpr size_t kSizeAt = 56;
constexpr size_t kItemsAt = 80;
constexpr size_t kOccupiedAt = 88;
constexpr size_t kCellBytesAt = 96;
constexpr size_t kOverflowCountAt = 104;
constexpr size_t kHashBytesAt = 120;

Bytes encode(const ImageHeader& header, const Filter& filter, const CountedHashes& hashes) {
  const HashSource source = [&hashes](const CountedHashSink& sink) -> Status {
    for (const auto& [hash, count] : hashes) {
      CUCKOO_TRY(sink(hash, count));
    }
    return {};
  };
  const Result<Bytes> image =
      encode_image(header, filter, header.with_hashes ? &source : nullptr, UINT64_MAX);
  REQUIRE(image.ok());
  return image.value();
}

// False when there are none, or wrong ones.
bool read_hashes(std::span<const std::byte> bytes, CountedHashes& hashes) {
  return read_image_hashes(bytes,
                           [&](uint64_t hash, uint64_t count) -> Status {
                             REQUIRE(count >= 1);
                             REQUIRE(hashes.empty() || hash > hashes.back().first);
                             hashes.emplace_back(hash, count);
                             return {};
                           })
      .ok();
}

void examine(std::span<const std::byte> bytes) {
  const Result<ImageHeader> header = decode_image_header(bytes);
  REQUIRE(!header.ok() || looks_like_image(bytes));
  CountedHashes hashes;
  const bool hashes_read = read_hashes(bytes, hashes);
  REQUIRE(!hashes_read || (header.ok() && hashes.size() == header.value().hash_count));
  const Result<Image> image = decode_image(bytes);
  if (!image.ok()) {
    REQUIRE(!image.error().message.empty());
    return;
  }
  REQUIRE(header.ok());
  const Filter& filter = *image.value().filter;
  REQUIRE(filter.check().ok());
  if (filter.kind() != FilterKind::kLegacyBloom) {
    for (uint64_t i = 0; i < 16; ++i) {
      REQUIRE(filter.probe(mix64(i)) != Filter::Answer::kNotLoaded);
    }
  }
  if (image.value().header.with_hashes && !hashes_read) {
    return;
  }
  const Bytes again = encode(image.value().header, filter, hashes);
  if (!image.value().header.with_hashes) {  // rows may be cut in other ways
    REQUIRE(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  }
  Result<std::unique_ptr<Filter>> other = make_filter(filter.kind(), filter.words(), 448);
  REQUIRE(other.ok());
  REQUIRE(copy_cells(filter, *other.value()).ok());
  REQUIRE(encode(image.value().header, *other.value(), hashes) == again);
  CountedHashes hashes_again;
  REQUIRE(read_hashes(again, hashes_again) == image.value().header.with_hashes);
  REQUIRE(hashes_again == hashes);
}

void put_length_and_crc(Bytes& bytes) {
  store_le(&bytes[kLengthAt], uint64_t{bytes.size()});
  put_crc(bytes);
}

// Makes the rows of hashes in [at, end) follow each other, with right checksums.
void repair_rows(Bytes& bytes, size_t at, size_t end) {
  uint64_t chain = 0;
  while (at + 4 <= end) {
    const size_t length = load_le<uint32_t>(&bytes[at]);
    at += 4;
    if (length <= kLogRowHeaderBytes + kLogRowCrcBytes || length > end - at) {
      return;
    }
    const std::span<std::byte> row = std::span(bytes).subspan(at, length);
    store_le(row.data(), chain);
    put_crc(row);
    for (const HashWidth width : {HashWidth::k47Bits, HashWidth::k63Bits}) {
      if (const Result<LogRow> parsed = parse_log_row(row, width); parsed.ok()) {
        chain = log_chain(parsed.value(), parsed.value().header.entries);
      }
    }
    at += length;
  }
}

uint64_t bits_at(std::span<const std::byte> bytes, uint64_t bit, uint32_t count) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < count; ++i, ++bit) {
    value |= (static_cast<uint64_t>(bytes[bit / 8]) >> (bit % 8) & 1) << i;
  }
  return value;
}

// Slots in use, set bits or counters above 0 of a filter of one page.
uint64_t count_occupied(FilterKind kind, const GeometryWords& words, const CellLayout& layout,
                        std::span<const std::byte> cells) {
  uint64_t occupied = 0;
  for (uint64_t unit = 0; unit < layout.units; ++unit) {
    const uint64_t bit = unit * layout.unit_bits;
    if (kind == FilterKind::kCuckoo) {
      const auto low_bits = static_cast<uint32_t>(words.detail);
      const uint32_t rank_bits = layout.unit_bits - 4 * low_bits;
      const uint32_t highs = rank_table()[bits_at(cells, bit + 4 * low_bits, rank_bits)];
      for (uint32_t slot = 0; slot < kBucketSlots; ++slot) {
        const uint64_t low = bits_at(cells, bit + slot * low_bits, low_bits);
        occupied += low != 0 || ((highs >> (8 * slot)) & 0xFF) != 0 ? 1 : 0;
      }
      continue;
    }
    const uint32_t step = kind == FilterKind::kCountingBloom ? 4 : 1;
    for (uint32_t at = 0; at < layout.unit_bits; at += step) {
      occupied += bits_at(cells, bit + at, step) != 0 ? 1 : 0;
    }
  }
  return occupied;
}

// Makes an image that only its cells, overflow entries and hashes can break: whatever the header's
// geometry leaves behind the cells becomes overflow entries, and hashes behind those it names.
void repair(Bytes& bytes) {
  const auto kind = static_cast<FilterKind>(bytes[kKindAt]);
  const auto word = [&bytes](size_t at) { return load_le<uint64_t>(&bytes[at]); };
  const GeometryWords words = {word(kSizeAt), word(kSizeAt + 8), word(kSizeAt + 16)};
  const Result<CellLayout> layout = cell_layout(kind, words);
  if (!layout.ok() || layout.value().page_count(kImagePageBytes) != 1) {
    return;
  }
  const size_t header_bytes = image_header_bytes(load_le<uint32_t>(&bytes[4]));
  if (bytes.size() < header_bytes + 4) {
    return;
  }
  const size_t room = bytes.size() - header_bytes - 4;
  const size_t cell_bytes = layout.value().content_bytes(0, kImagePageBytes);
  if (cell_bytes > room) {
    return;
  }
  const bool with_hashes = (bytes[kFlagsAt] & std::byte{1}) != std::byte{0};
  const uint64_t most = (room - cell_bytes) / 16;
  const uint64_t entries = with_hashes ? std::min(word(kOverflowCountAt), most) : most;
  const size_t hashes_at = header_bytes + cell_bytes + 16 * entries;
  if (!with_hashes) {
    bytes.resize(hashes_at + 4);
  }
  store_le(&bytes[kCellBytesAt], uint64_t{cell_bytes});
  store_le(&bytes[kOverflowCountAt], entries);
  store_le(&bytes[kHashBytesAt], uint64_t{bytes.size() - 4 - hashes_at});
  const uint64_t occupied = count_occupied(kind, words, layout.value(),
                                           std::span(bytes).subspan(header_bytes, cell_bytes));
  uint64_t items = occupied;
  for (uint64_t entry = 0; entry < entries; ++entry) {
    items += word(header_bytes + cell_bytes + 16 * entry + 8);
  }
  store_le(&bytes[kOccupiedAt], occupied);
  if (kind == FilterKind::kCuckoo) {
    store_le(&bytes[kItemsAt], items);
  }
  repair_rows(bytes, hashes_at, bytes.size() - 4);
}

}  // namespace
}  // namespace cuckoo::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cuckoo::test;
  const std::span<const std::byte> input = as_input(data, size);
  examine(input);
  if (size >= cuckoo::image_header_bytes(1) + 4) {
    Bytes bytes(input.begin(), input.end());
    put_length_and_crc(bytes);
    examine(bytes);
    repair(bytes);
    put_length_and_crc(bytes);
    examine(bytes);
  }
  return 0;
}
