// The bytes on the device: the example of docs/FORMAT.md, and a device of this format's first
// version in tests/golden/.

#include "tests/core/flash/harness.hpp"
#include "tests/support/sample_bytes.hpp"

namespace cuckoo {
namespace flash_format_test {
namespace {

using test::documented_bytes;
using test::read_bytes;
using test::source_path;
using test::write_bytes;

// What a block holds up to the last byte that is not erased, in whole units.
Bytes written(const FlashSimulator& device, uint32_t block) {
  const std::span<const std::byte> stored = device.stored(block);
  size_t end = stored.size();
  while (end > 0 && is_erased(stored.subspan(end - 16, 16))) {
    end -= 16;
  }
  return {stored.begin(), stored.begin() + static_cast<ptrdiff_t>(end)};
}

std::string hex(std::span<const std::byte> bytes) {
  std::ostringstream out;
  for (size_t i = 0; i < bytes.size(); ++i) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    const auto value = static_cast<uint8_t>(bytes[i]);
    out << kDigits[value >> 4] << kDigits[value & 15] << (i % 16 == 15 ? '\n' : ' ');
  }
  return out.str();
}

TEST(FlashFormatExample, has_the_bytes_of_the_document) {
  FlashSimulator device(small_geometry(512, 1, 16, 16));
  FlashStore store(device, {.seed = 1});
  ASSERT_STATUS(store.format());
  ASSERT_STATUS(store.put(bytes_of("ann"), bytes_of("blue")));
  ASSERT_STATUS(store.put(bytes_of("ann"), bytes_of("red")));
  ASSERT_TRUE(store.remove(bytes_of("ann")).value());
  EXPECT_EQ(hex(documented_bytes("flash-anchor")), hex(written(device, 0)));
  EXPECT_EQ(hex(documented_bytes("flash-checkpoint")), hex(written(device, 3)));
  EXPECT_EQ(hex(documented_bytes("flash-hot")), hex(written(device, 4)));
}

// --- a stored device

constexpr uint64_t kGoldenSeed = 7;
constexpr int kGoldenOperations = 1500;

FlashGeometry golden_geometry() { return small_geometry(1024, 1, 32, 16); }

template <class Perform>
void golden_workload(Perform perform_one) {
  std::mt19937_64 random(kGoldenSeed);
  for (int i = 0; i < kGoldenOperations; ++i) {
    perform_one(random_operation(random, 30, 700));
  }
}

std::filesystem::path golden_path(bool atomic) {
  return source_path("tests/golden") / (atomic ? "flash_atomic-2.image" : "flash-2.image");
}

TEST(FlashFormatGolden, devices_of_this_format_s_first_version_are_mounted) {
  FlashModel model;
  golden_workload([&](const FlashOperation& operation) { perform(model, operation); });
  ASSERT_GT(model.size(), 8U);
  for (const bool atomic : {false, true}) {
    SCOPED_TRACE(atomic);
    const auto image = read_bytes(golden_path(atomic));
    ASSERT_TRUE(image.has_value());
    FlashSimulator device(golden_geometry());
    ASSERT_EQ(image->size(), device.geometry().size_bytes());
    device.plant(0, *image);
    FlashStore store(device, {.seed = kGoldenSeed, .atomic_device = atomic});
    ASSERT_STATUS(store.mount());
    EXPECT_EQ(difference(store, model), "");
    EXPECT_STATUS(store.check(no_poll));
    EXPECT_GT(store.stats().collections, 0U);
    EXPECT_STATUS(store.put(bytes_of("more"), bytes_of("of it")));
  }
}

// Writes the files that the test above reads. To be run when a format is added, with
// --gtest_also_run_disabled_tests; files that exist are kept.
TEST(FlashFormatGolden, DISABLED_write_files) {
  for (const bool atomic : {false, true}) {
    FlashSimulator device(golden_geometry());
    FlashStore store(device, {.seed = kGoldenSeed, .atomic_device = atomic});
    ASSERT_STATUS(store.format());
    golden_workload(
        [&](const FlashOperation& operation) { EXPECT_TRUE(perform(store, operation).ok()); });
    Bytes image(device.geometry().size_bytes());
    ASSERT_STATUS(device.read(0, image));
    if (!std::filesystem::exists(golden_path(atomic))) {
      write_bytes(golden_path(atomic), image);
    }
  }
}

}  // namespace
}  // namespace flash_format_test
}  // namespace cuckoo
