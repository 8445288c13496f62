#include "core/stored/image.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/filter/cell_layout.hpp"
#include "core/stored/image_header.hpp"

namespace cuckoo {
namespace {

constexpr size_t kRowLengthBytes = 4;
constexpr uint64_t kHashChain = 0;  // chain value before the first row of hashes

// ---- encoding

Error as_invalid(Status status) { return invalid(status.take_error().message); }

void append_cells(const Filter& filter, const CellLayout& layout, std::vector<std::byte>& image) {
  std::vector<std::byte> page(kImagePageBytes + PageSet::kSlackBytes);
  const uint64_t pages = layout.page_count(kImagePageBytes);
  for (uint64_t index = 0; index < pages; ++index) {
    std::fill(page.begin(), page.end(), std::byte{0});
    gather_page(filter, layout, index, kImagePageBytes, page.data());
    image.insert(image.end(), page.data(),
                 page.data() + layout.content_bytes(index, kImagePageBytes));
  }
}

void append_overflow(const OverflowTable& overflow, std::vector<std::byte>& image) {
  for (const auto& [cell, count] : overflow.counts()) {
    const size_t at = image.size();
    image.resize(at + kOverflowEntryBytes);
    store_le(&image[at], cell);
    store_le(&image[at + 8], count);
  }
}

// What a list of hashes must be, on the way in and on the way out.
class HashListCheck {
 public:
  explicit HashListCheck(const ImageHeader& header) noexcept : header_(header) {}

  Status add(uint64_t hash, uint64_t count) {
    if (logged_hash(hash, header_.width) != hash) {
      return corrupt("hash with more than " + std::to_string(static_cast<int>(header_.width)) +
                     " bits");
    }
    if (entries_ > 0 && hash <= last_) {
      return corrupt("hashes that do not ascend");
    }
    if (!is_multiset(header_.spec.kind)) {
      if (count != 1) {
        return corrupt("hash that is there " + grouped(count) + " times, expected once in a set");
      }
    } else if (count == 0 || count > header_.items - items_) {  // items_ is at most header_.items
      return corrupt("hash that is there " + grouped(count) + " times, expected 1 to " +
                     grouped(header_.items - items_) + ", as many as there are items left");
    } else {
      items_ += count;
    }
    last_ = hash;
    ++entries_;
    return {};
  }
  uint64_t entries() const noexcept { return entries_; }
  uint64_t items() const noexcept { return items_; }
  Status finish() const {
    if (entries_ != header_.hash_count) {
      return corrupt("image with " + grouped(entries_) + " hashes, expected " +
                     grouped(header_.hash_count));
    }
    if (is_multiset(header_.spec.kind) && items_ != header_.items) {
      return corrupt("image with hashes of " + grouped(items_) + " items, expected " +
                     grouped(header_.items));
    }
    return {};
  }

 private:
  const ImageHeader& header_;
  uint64_t last_ = 0;
  uint64_t entries_ = 0;
  uint64_t items_ = 0;
};

// A set's items don't follow from its entries; they stand in every row.
std::optional<uint64_t> set_items(const ImageHeader& header) noexcept {
  return is_multiset(header.spec.kind) ? std::nullopt : std::optional(header.items);
}

// Appends the rows while they and a CRC fit the limit, and counts their bytes to the end.
Status append_hashes(const ImageHeader& header, const HashSource& hashes, uint64_t limit,
                     uint64_t& hash_bytes, std::vector<std::byte>& image) {
  const size_t start = image.size();
  hash_bytes = 0;
  CompactedRowWriter writer(
      header.width, kImageRowBytes, header.hash_count, kHashChain,
      [&](std::span<const std::byte> row) -> Status {
        hash_bytes += kRowLengthBytes + row.size();
        if (start + hash_bytes + kImageCrcBytes <= limit) {
          const size_t at = image.size();
          image.resize(at + kRowLengthBytes);
          store_le(&image[at], static_cast<uint32_t>(row.size()));
          image.insert(image.end(), row.begin(), row.end());
        }
        return {};
      },
      set_items(header));
  HashListCheck check(header);
  CUCKOO_TRY(hashes([&](uint64_t hash, uint64_t count) -> Status {
    if (Status status = check.add(hash, count); !status.ok()) {
      return as_invalid(std::move(status));
    }
    return writer.add(hash, count);
  }));
  CUCKOO_TRY(writer.finish());
  if (Status status = check.finish(); !status.ok()) {
    return as_invalid(std::move(status));
  }
  return {};
}

Error too_long(uint64_t bytes, uint64_t limit, const std::string& way_out) {
  return invalid("image of " + grouped(bytes) + " bytes, at most " + grouped(limit) +
                 " are possible; " + way_out);
}

Error too_long_with_hashes(uint64_t bytes, uint64_t limit, uint64_t bare_bytes) {
  return too_long(bytes, limit, "without its hashes it has " + grouped(bare_bytes));
}

Status check_bare_bytes(uint64_t bytes, uint64_t limit) {
  if (bytes > limit) {
    return too_long(bytes, limit, "a smaller capacity or a higher rate makes it shorter");
  }
  return {};
}

// ---- decoding

// parse_image_header() and the checksum.
Result<ImageSections> parse_image(std::span<const std::byte> bytes) {
  CUCKOO_ASSIGN_OR_RETURN(ImageSections sections, parse_image_header(bytes));
  const size_t crc_at = bytes.size() - kImageCrcBytes;
  if (crc32c(bytes.first(crc_at)) != load_le<uint32_t>(&bytes[crc_at])) {
    return corrupt("image with a wrong checksum");
  }
  return sections;
}

Status read_cells(std::span<const std::byte> cells, const CellLayout& layout, Filter& filter) {
  const uint64_t pages = layout.page_count(kImagePageBytes);
  for (uint64_t index = 0; index < pages; ++index) {
    const size_t content = layout.content_bytes(index, kImagePageBytes);
    const std::span<const std::byte> page = cells.first(content);
    CUCKOO_TRY(filter.validate_page(index, page));
    if (!all_zero(page)) {
      std::copy(page.begin(), page.end(), filter.pages().add(index, false));
      filter.pages().mark_dirty(index);
    }
    cells = cells.subspan(content);
  }
  filter.pages().complete();
  return {};
}

Status read_overflow(std::span<const std::byte> bytes, OverflowTable& overflow) {
  uint64_t last = 0;
  overflow.make_room(bytes.size() / kOverflowEntryBytes);
  for (size_t at = 0; at < bytes.size(); at += kOverflowEntryBytes) {
    const auto cell = load_le<uint64_t>(&bytes[at]);
    const auto count = load_le<uint64_t>(&bytes[at + 8]);
    const auto wrong = [at](const std::string& what) {
      return corrupt("overflow entry " + std::to_string(at / kOverflowEntryBytes) + what);
    };
    if (at > 0 && cell <= last) {
      return wrong(" is of cell " + std::to_string(cell) + ", expected more than " +
                   std::to_string(last));
    }
    if (count == 0 || count > kMaxImageItems - overflow.items()) {
      return wrong(" has count " + grouped(count) + ", expected 1 to " +
                   grouped(kMaxImageItems - overflow.items()));
    }
    overflow.add(cell, count);
    last = cell;
  }
  return {};
}

Status check_items(const ImageHeader& header, const Filter& filter) {
  if (const auto held = filter.counted_items(); held.value_or(header.items) != header.items) {
    return corrupt("image of " + grouped(header.items) + " items, expected " + grouped(*held) +
                   ", as its buckets and overflow entries hold");
  }
  // Keys that wait in a log beside the filter count too, up to its capacity.
  if (const uint64_t most = std::max(filter.most_items(), header.capacity); header.items > most) {
    return corrupt("image of " + grouped(header.items) + " items, expected at most " +
                   grouped(most) + " in " + grouped(filter.bits()) + " bits");
  }
  return {};
}

// One row of hashes, taken from the front of `bytes`, which follows the entries and items so far.
Result<LogRow> take_row(std::span<const std::byte>& bytes, HashWidth width) {
  if (bytes.size() < kRowLengthBytes) {
    return corrupt(grouped(bytes.size()) + " bytes behind the last row of hashes");
  }
  const uint64_t length = load_le<uint32_t>(bytes.data());
  const uint64_t most = std::min<uint64_t>(bytes.size() - kRowLengthBytes, kImageRowBytes);
  if (length > most) {
    return corrupt("row of hashes of " + grouped(length) + " bytes, expected at most " +
                   grouped(most));
  }
  Result<LogRow> row = parse_log_row(bytes.subspan(kRowLengthBytes, length), width);
  bytes = bytes.subspan(kRowLengthBytes + length);
  if (row.ok() && !row.value().header.compacted()) {
    return corrupt("row of hashes that is not a compacted one");
  }
  return row;
}

}  // namespace

static uint64_t cell_bytes(FilterKind kind, const GeometryWords& words) {
  const Result<CellLayout> layout = cell_layout(kind, words);
  return layout.ok() ? layout.value().total_bytes(kImagePageBytes) : 0;
}

uint64_t bare_image_bytes(const Filter& filter) {
  return least_image_bytes(kOldestImageVersion) + cell_bytes(filter.kind(), filter.words());
}

uint64_t table_image_bytes(FilterKind kind, const GeometryWords& words) {
  return least_image_bytes(kImageVersion) + cell_bytes(kind, words);
}

// An entry has two flags and, with fewer than 2^b hashes of w bits, w - b - 1 bits of a hash.
uint64_t least_hash_bytes(HashWidth width, uint64_t count) noexcept {
  const auto bits = static_cast<uint64_t>(width);
  return count / 8 * (bits + 1 - std::min<uint64_t>(std::bit_width(count), bits));
}

Status check_image_bytes(const Filter& filter, uint64_t limit, uint64_t hash_bytes) {
  const uint64_t bare_bytes = bare_image_bytes(filter);
  CUCKOO_TRY(check_bare_bytes(bare_bytes, limit));
  if (hash_bytes > limit - bare_bytes) {
    return too_long_with_hashes(bare_bytes + hash_bytes, limit, bare_bytes);
  }
  return {};
}

Result<std::vector<std::byte>> encode_image(const ImageHeader& header, const Filter& filter,
                                            const HashSource* hashes, uint64_t limit) {
  ImageSections sections;
  sections.header = header;
  CUCKOO_ASSIGN_OR_RETURN(sections.layout, cell_layout(filter));
  sections.header.geometry = filter.words();
  sections.header.occupied = filter.occupied();
  sections.header.with_hashes = hashes != nullptr;
  sections.header.hash_count = hashes != nullptr ? header.hash_count : 0;
  if (header.spec.has_own_size()) {
    sections.header.spec.rate = 0;
  }
  if (header.spec.kind != filter.kind()) {
    return invalid("image of kind " + std::to_string(static_cast<int>(header.spec.kind)) +
                   ", expected " + std::to_string(static_cast<int>(filter.kind())));
  }
  if (filter.overflow().items() > kMaxImageItems) {
    return invalid("image with " + grouped(filter.overflow().items()) +
                   " items of overflow entries, expected at most 2^62");
  }
  Status fits = check_image_header(sections.header, sections.layout);
  if (fits.ok()) {
    fits = check_items(sections.header, filter);
  }
  if (!fits.ok()) {
    return as_invalid(std::move(fits));
  }
  sections.cell_bytes = sections.layout.total_bytes(kImagePageBytes);
  sections.overflow_count = filter.overflow().cells();
  const uint64_t bare_bytes = least_image_bytes(header.version) + sections.cell_bytes +
                              kOverflowEntryBytes * sections.overflow_count;
  CUCKOO_TRY(check_bare_bytes(bare_bytes, limit));
  std::vector<std::byte> image;
  image.reserve(bare_bytes);
  image.resize(sections.header_bytes());
  append_cells(filter, sections.layout, image);
  append_overflow(filter.overflow(), image);
  if (hashes != nullptr) {
    CUCKOO_TRY(append_hashes(sections.header, *hashes, limit, sections.hash_bytes, image));
  }
  sections.length = bare_bytes + sections.hash_bytes;
  if (sections.length > limit) {
    return too_long_with_hashes(sections.length, limit, bare_bytes);
  }
  put_image_header(sections, image.data());
  const uint32_t crc = crc32c(image);
  image.resize(image.size() + kImageCrcBytes);
  store_le(&image[image.size() - kImageCrcBytes], crc);
  return image;
}

Result<Image> decode_image(std::span<const std::byte> bytes) {
  CUCKOO_ASSIGN_OR_RETURN(const ImageSections& sections, parse_image(bytes));
  const ImageHeader& header = sections.header;
  // The cells are all there, so the filter is no larger than they are.
  CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<Filter> made,
                          make_filter(header.spec.kind, header.geometry, kImagePageBytes));
  Filter& filter = *made;
  if (Result<CellLayout> layout = cell_layout(filter); !layout.ok()) {
    return layout.take_status();
  }
  const size_t cells_at = sections.header_bytes();
  CUCKOO_TRY(read_cells(bytes.subspan(cells_at, sections.cell_bytes), sections.layout, filter));
  CUCKOO_TRY(read_overflow(
      bytes.subspan(cells_at + sections.cell_bytes, kOverflowEntryBytes * sections.overflow_count),
      filter.overflow()));
  filter.set_occupied(header.occupied);
  CUCKOO_TRY(check_items(header, filter));
  CUCKOO_TRY(filter.check());
  return Image{header, std::move(made)};
}

Status read_image_hashes(std::span<const std::byte> bytes, const CountedHashSink& sink) {
  CUCKOO_ASSIGN_OR_RETURN(const ImageSections& sections, parse_image(bytes));
  const ImageHeader& header = sections.header;
  if (!header.with_hashes) {
    return invalid("image without hashes");
  }
  HashListCheck check(header);
  const CountedHashSink checked = [&](uint64_t hash, uint64_t count) -> Status {
    CUCKOO_TRY(check.add(hash, count));
    return sink(hash, count);
  };
  const std::optional<uint64_t> fixed_items = set_items(header);
  std::span<const std::byte> rest =
      bytes.subspan(bytes.size() - kImageCrcBytes - sections.hash_bytes, sections.hash_bytes);
  uint64_t chain = kHashChain;
  uint64_t last_hash = 0;
  for (bool first = true; !rest.empty(); first = false) {
    CUCKOO_ASSIGN_OR_RETURN(const LogRow row, take_row(rest, header.width));
    if (row.header.chain_before != chain || row.header.position != check.entries() ||
        row.header.items_before != fixed_items.value_or(check.items())) {
      return corrupt("row of hashes that does not follow the one before it");
    }
    CUCKOO_TRY(read_compacted_row(row, header.width, last_hash, first, checked));
    chain = log_chain(row, row.header.entries);
  }
  return check.finish();
}

}  // namespace cuckoo
