// decode_record: a record that is accepted has the same bytes when it is written again.
#include "core/stored/record.hpp"

#include <algorithm>

#include "tests/fuzz/fuzz_input.hpp"

namespace cuckoo::test {
namespace {

void examine(std::span<const std::byte> bytes) {
  const Result<FilterRecord> record = decode_record(bytes);
  if (!record.ok()) {
    REQUIRE(!record.error().message.empty());
    return;
  }
  const Bytes again = encode_record(record.value());
  REQUIRE(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
}

}  // namespace
}  // namespace cuckoo::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cuckoo::test;
  const std::span<const std::byte> input = as_input(data, size);
  examine(input);
  if (size >= 4) {
    Bytes bytes(input.begin(), input.end());
    put_crc(bytes);
    examine(bytes);
  }
  return 0;
}
