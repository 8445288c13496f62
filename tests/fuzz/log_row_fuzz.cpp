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
  segments::LogRowWriter again(width);
  const segments::LogHeader& header = row.value().header;
  again.start(header.position, header.chain);
  again.set_numbers(header.items, header.directory_version);
  size_t entries = 0;
  for (segments::LogCursor at(row.value()); at.next(); ++entries) {
    REQUIRE(at.index() == entries && at.copies() >= 1 && at.copies() <= kMostCopies);
    const uint64_t entry = at.entry();
    REQUIRE(logged_hash(entry & ~kRemoveBit, width) == (entry & ~kRemoveBit));
    REQUIRE(row.value().first(entries).chain_after() == again.chain());
    const std::vector<MoreCopies> more = {{0, at.copies() - 1}};
    again.append({&entry, 1}, 0, at.copies() > 1 ? std::span(more) : std::span<const MoreCopies>());
  }
  REQUIRE(entries == row.value().size());
  const auto encoded = again.encode();
  REQUIRE(std::equal(encoded.begin(), encoded.end(), bytes.begin(), bytes.end()));
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
