// decode_changes, decode_mark, decode_part: what is accepted says the same when it
// is written again. What a part says that its message begins with is examined, too.
#include "core/segments/changes.hpp"
#include "core/segments/image.hpp"
#include "core/segments/log_row.hpp"
#include "core/segments/message_header.hpp"
#include "core/segments/message_part.hpp"

#include <algorithm>

#include "core/stored/log_entry.hpp"
#include "tests/fuzz/fuzz_input.hpp"

namespace cuckoo::segments {
namespace {

using test::Bytes;
using test::put_crc;

// Where they are in changes (FORMAT.md, "Images and changes").
constexpr size_t kEntriesAt = 40;
constexpr size_t kCountsAt = 48;
constexpr size_t kWidthAt = 64;
constexpr size_t kPositionAt = 152;
constexpr size_t kChainAt = 160;
constexpr size_t kFromPositionAt = 168;
constexpr size_t kFromChainAt = 176;

// Makes the second mark that to which the entries lead, and the checksums of the entries right; if
// there are no pieces, also that of the message.
void lead_to_mark(Bytes& bytes) {
  const auto width = static_cast<HashWidth>(bytes[kWidthAt]);
  const size_t entry_bytes = log_entry_bytes(width);
  const uint64_t entries = load_le<uint64_t>(&bytes[kEntriesAt]);
  const uint64_t counts = load_le<uint64_t>(&bytes[kCountsAt]);
  const uint64_t rest = bytes.size() - kMessageHeaderBytes - 8;
  if (entries > rest || counts > entries || entries * entry_bytes + counts * 8 > rest) {
    return;
  }
  size_t count_at = kMessageHeaderBytes + entries * entry_bytes;
  const size_t end = count_at + counts * 8;
  auto chain = load_le<uint64_t>(&bytes[kFromChainAt]);
  for (uint64_t i = 0; i < entries; ++i) {
    uint64_t copies = 1;
    if (count_at < end && load_le<uint32_t>(&bytes[count_at]) == i) {
      copies = load_le<uint32_t>(&bytes[count_at + 4]);
      count_at += 8;
    }
    chain = chain_with_entry(
        chain, load_log_entry(&bytes[kMessageHeaderBytes + i * entry_bytes], width), copies);
  }
  store_le(&bytes[kChainAt], chain);
  store_le(&bytes[kPositionAt], load_le<uint64_t>(&bytes[kFromPositionAt]) + entries);
  store_le(&bytes[end],
           crc32c(std::span(bytes).subspan(kMessageHeaderBytes, end - kMessageHeaderBytes)));
  const uint32_t crc =
      crc32c(std::span(bytes).subspan(end, 4), crc32c(std::span(bytes).first(kMessageHeaderBytes)));
  if (end + 8 == bytes.size()) {
    store_le(&bytes[end + 4], crc);
  }
}

void examine_changes(std::span<const std::byte> bytes) {
  const Result<FilterChanges> changes = decode_changes(bytes, kImagePageBytes);
  REQUIRE(!changes.ok() || looks_like_changes(bytes));
  if (!changes.ok()) {
    REQUIRE(!changes.error().message.empty());
    return;
  }
  for (const uint64_t entry : changes.value().entries.entries()) {
    REQUIRE(logged_hash(entry & ~kRemoveBit, changes.value().from.width) == (entry & ~kRemoveBit));
  }
  if (changes.value().pieces && !changes.value()
                                     .pieces([](Piece&& piece) -> Status {
                                       REQUIRE(piece.filter != nullptr && piece.hashes.empty());
                                       return {};
                                     })
                                     .ok()) {
    return;
  }
  const Result<Bytes> written = encode_changes(changes.value(), 1 << 20);
  REQUIRE(written.ok());
  const Bytes& again = written.value();
  const Result<FilterChanges> same = decode_changes(again, kImagePageBytes);
  REQUIRE(same.ok());
  const EntryList& entries = changes.value().entries;
  REQUIRE(same.value().entries.size() == entries.size());
  REQUIRE(same.value().entries.begins_with(entries, entries.size()));
  REQUIRE(same.value().from == changes.value().from && same.value().to == changes.value().to);
  REQUIRE(same.value().items == changes.value().items);
  REQUIRE(encode_changes(same.value(), 1 << 20).value() == again);
}

void examine_part(std::span<const std::byte> bytes) {
  const Result<MessagePart> part = decode_part(bytes);
  REQUIRE(!part.ok() || looks_like_part(bytes));
  if (!part.ok()) {
    REQUIRE(!part.error().message.empty());
    return;
  }
  const MessageCut& cut = part.value().cut;
  REQUIRE(part.value().index < cut.parts());
  REQUIRE(part.value().slice.size() == cut.bytes_of(part.value().index));
  const Bytes again = encode_part(part.value());
  REQUIRE(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  const Result<MessageHeader> header =
      decode_changes_header(front_of_message(part.value().slice, cut.total_bytes));
  REQUIRE(header.ok() || !header.error().message.empty());
  // The same whether they are in memory or read a range at a time.
  const std::span<const std::byte> slice = part.value().slice;
  const MessageBytes read(slice.size(), [slice](uint64_t at, size_t length, Bytes& to) -> Status {
    REQUIRE(at <= slice.size() && length <= slice.size() - at);
    const auto some = slice.subspan(static_cast<size_t>(at), length);
    to.insert(to.end(), some.begin(), some.end());
    return {};
  });
  REQUIRE(decode_changes(slice, kImagePageBytes).ok() ==
          decode_changes(read, kImagePageBytes).ok());
  const PieceSink sink = [](Piece&&) { return Status(); };
  REQUIRE(read_image(slice, false, kImagePageBytes, sink).ok() ==
          read_image(read, false, kImagePageBytes, sink).ok());
  examine_changes(slice);
}

void examine_mark(std::span<const std::byte> bytes) {
  if (const Result<FilterMark> mark = decode_mark(bytes); mark.ok()) {
    const Bytes again = encode_mark(mark.value());
    REQUIRE(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  }
}

}  // namespace
}  // namespace cuckoo::segments

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cuckoo::segments;
  const std::span<const std::byte> input = cuckoo::test::as_input(data, size);
  examine_changes(input);
  examine_mark(input);
  examine_part(input);
  if (size < 4) {
    return 0;
  }
  Bytes bytes(input.begin(), input.end());
  put_crc(bytes);
  examine_mark(bytes);
  if (size >= kMessageHeaderBytes + 8) {
    lead_to_mark(bytes);
  }
  examine_changes(bytes);
  put_crc(bytes);
  examine_part(bytes);
  return 0;
}
