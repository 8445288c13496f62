// FlashStore::mount() and what a mounted store does, on devices whose bytes somebody else made.
// Nothing is promised of such a device but answers: no crash, no loop, no large allocation; and
// what passes check() mounts again with the same entries.
//
// Input
//   0       kind: bit 0: an atomic device; bit 1: the rest is the device, else edits of a valid
//           one; bit 2: the CRCs stay as they are; bit 3: an atomic one wears out
//   1 …     the bytes of the device (FF after them); or edits, 4 bytes each: address (2), what
//           (1), value (1)
#include <algorithm>

#include "core/flash/store.hpp"
#include "tests/fuzz/fuzz_input.hpp"
#include "tests/support/flash_simulator.hpp"

namespace cuckoo::test {
namespace {

constexpr uint8_t kAtomic = 1;
constexpr uint8_t kWholeDevice = 2;
constexpr uint8_t kKeepCrcs = 4;
constexpr uint8_t kWearsOut = 8;

FlashGeometry geometry() {
  FlashGeometry geometry;
  geometry.sector_size_bytes = 512;
  geometry.sectors_per_block = 1;
  geometry.blocks = 24;
  return geometry;
}

FlashStoreOptions options(uint8_t kind) {
  const bool atomic = (kind & kAtomic) != 0;
  return {.seed = 1, .atomic_device = atomic, .wears_out = atomic && (kind & kWearsOut) != 0};
}

Bytes key_of(uint8_t i) { return {std::byte{'k'}, static_cast<std::byte>(i)}; }

// Some entries, one in several parts, collections, a checkpoint and a tail.
Bytes valid_device(uint8_t kind) {
  FlashSimulator device(geometry());
  FlashStore store(device, options(kind));
  REQUIRE(store.format().ok());
  for (uint32_t i = 0; i < 130; ++i) {
    const Bytes value(i % 13 == 5 ? 250 : i % 40, static_cast<std::byte>(i));
    REQUIRE(store.put(key_of(static_cast<uint8_t>(i * 7 % 11)), value).ok());
    if (i % 9 == 8) {
      REQUIRE(store.remove(key_of(static_cast<uint8_t>(i % 11))).ok());
    }
    if (i == 100) {
      REQUIRE(store.checkpoint().ok());
    }
  }
  Bytes bytes(device.geometry().size_bytes());
  REQUIRE(device.read(0, bytes).ok());
  return bytes;
}

uint32_t crc_of(std::span<const std::byte> bytes, uint64_t salt, size_t salt_bytes,
                uint32_t offset) {
  std::byte salted[12];
  store_le(salted, salt);
  store_le(salted + salt_bytes, offset);
  return crc32c(bytes, crc32c(std::span(salted).first(salt_bytes == 0 ? 4 : 12)));
}

// The CRCs of a block's headers, and of all that could be a record or a mark.
void repair(std::span<std::byte> bytes, uint32_t block) {
  for (const size_t header : {0, 16}) {
    store_le(&bytes[header + 12], crc_of(bytes.subspan(header, 12), 0, 0, block));
  }
  const uint64_t sequence = load_le<uint64_t>(&bytes[16]) >> 8;
  for (size_t at = 32; at < bytes.size();) {
    const auto offset = static_cast<uint32_t>(at / 16);
    const std::span<std::byte> rest = bytes.subspan(at);
    const auto type = static_cast<FlashRecordType>(rest[0] & ~std::byte{kLastOfBatch});
    if (type >= FlashRecordType::kCollect && type <= FlashRecordType::kAnchor) {
      store_le(&rest[12], crc_of(rest.first(12), sequence, 8, offset));
      at += 16;
      continue;
    }
    const auto header =
        decode_flash_record_header(rest.first(std::min<size_t>(24, rest.size())), sequence, offset);
    const size_t size = header ? size_t{header->units(16)} * 16 : 0;
    if (!header || size > rest.size()) {
      at += 16;
      continue;
    }
    const size_t head = header->head_bytes() - 4;
    store_le(&rest[head], crc_of(rest.first(head), sequence, 8, offset));
    store_le(&rest[size - 4], crc_of(rest.first(size - 4), sequence, 8, offset));
    at += size;
  }
}

void edit(Bytes& device, std::span<const std::byte> edits) {
  for (; edits.size() >= 4; edits = edits.subspan(4)) {
    const size_t address = load_le<uint16_t>(edits.data()) % device.size();
    const auto what = static_cast<uint8_t>(edits[2]);
    const std::byte value = edits[3];
    const size_t block = address / 512 * 512;
    switch (what % 6) {
      case 0:
        device[address] = value;
        break;
      case 1:
        device[address] ^= value;
        break;
      case 2:
        device[address] = static_cast<std::byte>(static_cast<uint8_t>(device[address]) +
                                                 static_cast<uint8_t>(value));
        break;
      case 3:  // erase
        std::fill_n(device.begin() + static_cast<ptrdiff_t>(block), 512, std::byte{0xFF});
        break;
      case 4:  // a block in another's place
        std::copy_n(device.begin() + static_cast<ptrdiff_t>(block), 512,
                    device.begin() + static_cast<uint8_t>(value) % 24 * 512);
        break;
      default:  // what follows is moved away
        std::rotate(
            device.begin() + static_cast<ptrdiff_t>(address / 16 * 16),
            device.begin() + static_cast<ptrdiff_t>(std::min(block + 512, address / 16 * 16 + 16)),
            device.begin() + static_cast<ptrdiff_t>(block + 512));
        break;
    }
  }
}

using Contents = std::vector<std::pair<Bytes, Bytes>>;

bool read_all(FlashStore& store, Contents& contents) {
  Result<std::vector<FlashStore::Listed>> listed = store.entries();
  if (!listed.ok()) {
    return false;
  }
  for (FlashStore::Listed& one : listed.value()) {
    auto& [key, value] = contents.emplace_back();
    const Result<bool> read = store.read(one.entry, one.hash, key, &value);
    if (!read.ok() || !read.value()) {
      return false;
    }
  }
  return true;
}

void use(FlashStore& store) {
  for (uint8_t i = 0; i < 12; ++i) {
    Bytes value;
    (void)store.get(key_of(i), value);
    (void)store.put(key_of(i), Bytes(i * 30, std::byte{i}));
    (void)store.remove(key_of(static_cast<uint8_t>(i + 5)));
  }
  (void)store.collect();
  (void)store.clear();
}

void examine(const Bytes& bytes, uint8_t kind) {
  FlashSimulator device(geometry());
  device.plant(0, bytes);
  FlashStore store(device, options(kind));
  const Status mounted = store.mount();
  if (!mounted.ok()) {
    REQUIRE(!mounted.error().message.empty());
    return;
  }
  Contents contents;
  const bool read = read_all(store, contents);
  if (store.check([] { return Status(); }).ok() && !store.poisoned()) {
    REQUIRE(read);
    FlashStore again(device, options(kind));
    if (again.mount().ok()) {
      Contents same;
      REQUIRE(read_all(again, same));
      REQUIRE(same == contents);
    }
    use(again);
    return;
  }
  use(store);
}

}  // namespace
}  // namespace cuckoo::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cuckoo::test;
  if (size == 0) {
    return 0;
  }
  static const Bytes valid[3] = {valid_device(0), valid_device(kAtomic),
                                 valid_device(kAtomic | kWearsOut)};
  const auto kind = data[0];
  const std::span<const std::byte> rest = as_input(data + 1, size - 1);
  const cuckoo::FlashStoreOptions of_kind = options(kind);
  Bytes device = valid[of_kind.wears_out ? 2 : of_kind.atomic_device ? 1 : 0];
  if ((kind & kWholeDevice) != 0) {
    std::fill(device.begin(), device.end(), std::byte{0xFF});
    std::copy_n(rest.begin(), std::min(rest.size(), device.size()), device.begin());
  } else {
    edit(device, rest);
  }
  if ((kind & kKeepCrcs) == 0) {
    for (uint32_t block = 0; block < 24; ++block) {
      const auto at = std::span(device).subspan(size_t{block} * 512, 512);
      if (!cuckoo::is_erased(at)) {
        repair(at, block);
      }
    }
  }
  examine(device, kind);
  return 0;
}
