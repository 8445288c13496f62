#include "core/library/os_file.hpp"

#include "tests/core/library/flash_samples.hpp"

namespace cuckoo::test {
namespace library_os_file_test {
namespace {

TEST(OsFile, is_read_as_it_was_written) {
  const TemporaryPath path;
  {
    OsFile file = must(OsFile::open(path.text(), true));
    ASSERT_STATUS(file.resize(100));
    ASSERT_STATUS(file.write(96, DeviceBytes(8, std::byte{9})));
    ASSERT_STATUS(file.sync());
  }
  OsFile file = must(OsFile::open(path.text(), false));
  EXPECT_EQ(file.size().value(), 104U);
  DeviceBytes read(10);
  ASSERT_STATUS(file.read(94, read));
  EXPECT_EQ(read[1], std::byte{0});
  EXPECT_EQ(read[2], std::byte{9});
  EXPECT_TRUE(fails(file.read(95, read), ErrorCode::kStorage, ""));  // one too many
}

TEST(OsFile, one_that_is_not_there_is_made_only_when_asked_for) {
  const TemporaryPath path;
  const Result<OsFile> file = OsFile::open(path.text(), false);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, ErrorCode::kStorage);
  EXPECT_NE(file.error().storage_code, 0);
  EXPECT_NE(file.error().message.find(path.text()), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path.text()));
}

TEST(OsFile, a_path_is_not_cut_at_a_nul) {
  const TemporaryPath path;
  EXPECT_TRUE(fails(OsFile::open(path.text() + std::string("\0.new", 5), true), ErrorCode::kStorage,
                    "NUL character"));
  EXPECT_FALSE(std::filesystem::exists(path.text()));
}

TEST(OsFile, is_open_once_only) {
  const TemporaryPath path;
  Result<OsFile> one = OsFile::open(path.text(), true);
  ASSERT_TRUE(one.ok());
  EXPECT_FALSE(OsFile::open(path.text(), true).ok());
  one = OsFile();
  EXPECT_TRUE(OsFile::open(path.text(), true).ok());
}

TEST(OsFile, can_be_moved) {
  const TemporaryPath path;
  OsFile one = OsFile::open(path.text(), true).value();
  OsFile two = std::move(one);
  EXPECT_STATUS(two.write(0, DeviceBytes(1)));
  EXPECT_FALSE(one.write(0, DeviceBytes(1)).ok());  // NOLINT(bugprone-use-after-move)
}

#if defined(__linux__)
TEST(OsFile, tells_that_the_disk_is_full) {
  Result<OsFile> full = OsFile::open("/dev/full", false);
  if (!full.ok()) {
    GTEST_SKIP() << full.error().message;
  }
  const Status written = full.value().write(0, DeviceBytes(1));
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().storage_code, ENOSPC);
}
#endif

}  // namespace
}  // namespace library_os_file_test
}  // namespace cuckoo::test
