// parse_log_row, raw_entry and read_compacted_row: a row that is accepted says the same when it is
// written again. The first byte of an input chooses the width of the hashes.
#include "core/base/page_size.hpp"
#include "core/stored/log.hpp"
#include "tests/fuzz/fuzz_input.hpp"

namespace cuckoo::test {
namespace {

void examine_raw(const LogRow& row, std::span<const std::byte> bytes, HashWidth width) {
  for (size_t i = 0; i < row.header.entries; ++i) {
    const uint64_t entry = raw_entry(row, i, width);
    REQUIRE(width == HashWidth::k63Bits ||
            logged_hash(entry & ~kRemoveBit, width) == (entry & ~kRemoveBit));
  }
  RawRowBuilder builder(width, bytes.size());
  builder.resume(row);
  REQUIRE(builder.chain() == log_chain(row, row.header.entries));
  const Bytes again = builder.encode();
  REQUIRE(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
}

// False when the row is refused.
bool read(const LogRow& row, HashWidth width, CountedHashes& hashes) {
  const uint64_t before = load_le<uint64_t>(row.payload.data());
  uint64_t last = before;
  const bool first = before == 0;
  const Status status =
      read_compacted_row(row, width, last, first, [&](uint64_t hash, uint64_t count) -> Status {
        REQUIRE(count >= 1);
        REQUIRE(hash > (hashes.empty() ? before : hashes.back().first) ||
                (first && hashes.empty() && hash == 0));
        hashes.emplace_back(hash, count);
        return {};
      });
  REQUIRE(!status.ok() || hashes.size() == row.header.entries);
  REQUIRE(!status.ok() || last == hashes.back().first);
  return status.ok();
}

void examine_compacted(const LogRow& row, HashWidth width) {
  CountedHashes hashes;
  if (!read(row, width, hashes)) {
    return;
  }
  for (const auto& [hash, count] : hashes) {
    if (logged_hash(hash, width) != hash) {
      return;  // from the hash before the first, which only the row before can tell
    }
  }
  CountedHashes again;
  uint64_t last = 0;
  bool first = true;
  CompactedRowWriter writer(
      width, kPageRowBytes, hashes.size(), row.header.chain_before,
      [&](std::span<const std::byte> bytes) -> Status {
        const Result<LogRow> parsed = parse_log_row(bytes, width);
        REQUIRE(parsed.ok());
        REQUIRE(read_compacted_row(parsed.value(), width, last, first,
                                   [&](uint64_t hash, uint64_t count) -> Status {
                                     again.emplace_back(hash, count);
                                     return {};
                                   })
                    .ok());
        first = false;
        return {};
      });
  for (const auto& [hash, count] : hashes) {
    REQUIRE(writer.add(hash, count).ok());
  }
  REQUIRE(writer.finish().ok());
  REQUIRE(again == hashes);
  REQUIRE(writer.position() == hashes.size());
}

void examine(std::span<const std::byte> bytes, HashWidth width) {
  const Result<LogRow> row = parse_log_row(bytes, width);
  if (!row.ok()) {
    REQUIRE(!row.error().message.empty());
  } else if (row.value().header.compacted()) {
    examine_compacted(row.value(), width);
  } else {
    examine_raw(row.value(), bytes, width);
  }
}

}  // namespace
}  // namespace cuckoo::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cuckoo::test;
  if (size == 0) {
    return 0;
  }
  const auto width = (data[0] & 1) != 0 ? cuckoo::HashWidth::k63Bits : cuckoo::HashWidth::k47Bits;
  const std::span<const std::byte> input = as_input(data, size).subspan(1);
  examine(input, width);
  if (input.size() >= 4) {
    Bytes bytes(input.begin(), input.end());
    put_crc(bytes);
    examine(bytes, width);
  }
  return 0;
}
