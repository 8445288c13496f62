// parse_log_row: a row that is accepted has the same bytes when it is written again. The first byte
// of an input chooses the width of the hashes.
#include "core/segments/log_row.hpp"

#include <algorithm>

#include "core/stored/log_entry.hpp"
#include "tests/fuzz/fuzz_input.hpp"

namespace cuckoo::test {
namespace {

void examine(std::span<const std::byte> bytes, HashWidth width) {
  const Result<segments::LogRow> row = segments::parse_log_row(bytes, width);
  if (!row.ok()) {
    REQUIRE(!row.error().message.empty());
    return;
  }
  std::vector<uint64_t> entries;
  uint16_t last_count = 0;
  auto count = row.value().counts.begin();
  for (size_t i = 0; i < row.value().header.entries; ++i) {
    REQUIRE(row.value().chain_after(i, width) ==
            segments::chain_over(row.value().header.chain, entries, width, last_count));
    if (count != row.value().counts.end() && *count == i) {
      last_count = *count++;
      entries.push_back(row.value().count_word(i, width));
      continue;
    }
    const uint64_t entry = row.value().entry(i, width);
    REQUIRE(logged_hash(entry & ~kRemoveBit, width) == (entry & ~kRemoveBit));
    entries.push_back(entry);
  }
  REQUIRE(count == row.value().counts.end() && last_count == row.value().header.last_count);
  REQUIRE(segments::counts_among(entries, last_count) == row.value().counts);
  const Bytes again = segments::encode_log_row(row.value().header, entries, width);
  REQUIRE(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
}

}  // namespace
}  // namespace cuckoo::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cuckoo::test;
  if (size > 0) {
    const auto width = (data[0] & 1) != 0 ? cuckoo::HashWidth::k63Bits : cuckoo::HashWidth::k47Bits;
    examine(as_input(data, size).subspan(1), width);
  }
  return 0;
}
