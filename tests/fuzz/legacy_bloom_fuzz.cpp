// decode_legacy_file: a file that is accepted has the same bytes when it is written again, except
// for its reserved words and a count above what its bits allow, and the same answers from pages of
// another size.
#include "core/filter/legacy_bloom.hpp"

#include <algorithm>

#include "tests/fuzz/fuzz_input.hpp"

namespace cuckoo::test {
namespace {

constexpr size_t kHeaderBytes = 64;
constexpr size_t kCountAt = 8;
constexpr size_t kBitsAt = 24;
constexpr size_t kReservedAt = 32;
constexpr size_t kSizeAt = 60;  // reserved words and the unused CRC end here

void examine(std::span<const std::byte> bytes) {
  const Result<LegacyFile> file = decode_legacy_file(bytes, kPageBytes);
  const Result<LegacyFile> other = decode_legacy_file(bytes, 448);
  REQUIRE(file.ok() == other.ok());
  if (!file.ok()) {
    REQUIRE(!file.error().message.empty());
    return;
  }
  REQUIRE(looks_like_legacy_file(bytes));
  const auto& filter = static_cast<const BloomFilter&>(*file.value().filter);
  const auto& small_pages = static_cast<const BloomFilter&>(*other.value().filter);
  REQUIRE(filter.check().ok());
  REQUIRE(small_pages.check().ok());
  for (uint64_t i = 0; i < 16; ++i) {
    const HashPair pair = legacy_hash(bytes.first(4 * i), file.value().seed);
    REQUIRE(filter.probe_pair(pair) != Filter::Answer::kNotLoaded);
    REQUIRE(filter.probe_pair(pair) == small_pages.probe_pair(pair));
  }
  Bytes expected(bytes.begin(), bytes.end());
  std::fill(&expected[kReservedAt], &expected[kSizeAt], std::byte{0});
  REQUIRE(file.value().items == other.value().items);
  REQUIRE(file.value().items <= load_le<uint32_t>(&expected[kCountAt]));
  store_le(&expected[kCountAt], static_cast<uint32_t>(file.value().items));
  for (const LegacyFile* from : {&file.value(), &other.value()}) {
    const Result<Bytes> again = encode_legacy_file(*from);
    REQUIRE(again.ok());
    REQUIRE(again.value() == expected);
  }
}

}  // namespace
}  // namespace cuckoo::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cuckoo::test;
  const std::span<const std::byte> input = as_input(data, size);
  examine(input);
  if (size >= kHeaderBytes + 8) {  // with the sizes put right
    Bytes bytes(input.begin(), input.end());
    bytes.resize(size - size % 8);
    const auto content = static_cast<uint32_t>(bytes.size() - kHeaderBytes);
    cuckoo::store_le(&bytes[kBitsAt], 8 * content);
    cuckoo::store_le(&bytes[kSizeAt], content);
    examine(bytes);
  }
  return 0;
}
