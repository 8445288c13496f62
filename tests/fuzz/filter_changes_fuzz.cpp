// decode_changes, decode_mark, decode_places, decode_part: what is accepted says the same when it
// is written again. What a part says that its message begins with is examined, too.
#include "core/segments/changes.hpp"
#include "core/segments/image.hpp"
#include "core/segments/message_part.hpp"

#include <algorithm>

#include "tests/fuzz/fuzz_input.hpp"

namespace cuckoo::segments {
namespace {

using test::Bytes;
using test::put_crc;

// Where they are in changes (FORMAT.md, "Changes").
constexpr size_t kFromAt = 48;
constexpr size_t kToAt = kFromAt + kMarkBytes;
constexpr size_t kStreamAt = kToAt + kMarkBytes;
// … and in the places of marks.
constexpr size_t kFirstPlaceAt = 8;
constexpr size_t kPlaceBytes = kMarkBytes + 16;

void examine_changes(std::span<const std::byte> bytes) {
  const Result<FilterChanges> changes = decode_changes(bytes, kImagePageBytes);
  REQUIRE(!changes.ok() || looks_like_changes(bytes));
  if (!changes.ok()) {
    REQUIRE(!changes.error().message.empty());
    return;
  }
  uint64_t last = 0;
  for (const auto& [hash, net] : changes.value().hashes) {
    REQUIRE(hash > last || &hash == &changes.value().hashes.front().first);
    REQUIRE(net != 0);
    REQUIRE(logged_hash(hash, changes.value().from.width) == hash);
    last = hash;
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
  REQUIRE(same.value().hashes == changes.value().hashes);
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
  const Result<FilterChanges> header = decode_changes_header(part.value().slice, cut.total_bytes);
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

void examine_places(std::span<const std::byte> bytes) {
  if (const Result<MarkedPlaces> places = decode_places(bytes); places.ok()) {
    const Bytes again = encode_places(places.value());
    REQUIRE(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
    REQUIRE(places.value().find(places.value().places.back().mark) != nullptr);
  }
}

}  // namespace
}  // namespace cuckoo::segments

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cuckoo::segments;
  const std::span<const std::byte> input = cuckoo::test::as_input(data, size);
  examine_changes(input);
  examine_mark(input);
  examine_places(input);
  examine_part(input);
  if (size < 4) {
    return 0;
  }
  Bytes bytes(input.begin(), input.end());
  put_crc(bytes);
  examine_mark(bytes);
  Bytes places(input.begin(), input.end());
  for (size_t at = kFirstPlaceAt; at + kPlaceBytes <= places.size(); at += kPlaceBytes) {
    put_crc(std::span(places).subspan(at, kMarkBytes));
  }
  examine_places(places);
  if (size >= kStreamAt + 4) {
    put_crc(std::span(bytes).subspan(kFromAt, kMarkBytes));
    put_crc(std::span(bytes).subspan(kToAt, kMarkBytes));
    put_crc(bytes);
  }
  examine_changes(bytes);
  put_crc(bytes);
  examine_part(bytes);
  return 0;
}
