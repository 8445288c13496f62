#include "core/library/os_file.hpp"

#if defined(__linux__)
#include <sys/stat.h>
#include <sys/vfs.h>
#endif

#include "tests/core/library/flash_samples.hpp"

namespace cuckoo::test::library_os_file_test {
namespace {

using Open = OsFile::Open;

TEST(OsFile, is_read_as_it_was_written) {
  const TemporaryPath path;
  {
    OsFile file = must(OsFile::open(path.text(), Open::kCreate));
    ASSERT_STATUS(file.resize(100));
    ASSERT_STATUS(file.write(96, DeviceBytes(8, std::byte{9})));
    ASSERT_STATUS(file.sync());
  }
  OsFile file = must(OsFile::open(path.text(), Open::kWrite));
  EXPECT_EQ(file.size().value(), 104U);
  DeviceBytes read(10);
  ASSERT_STATUS(file.read(94, read));
  EXPECT_EQ(read[1], std::byte{0});
  EXPECT_EQ(read[2], std::byte{9});
  EXPECT_TRUE(fails(file.read(95, read), ErrorCode::kStorage, ""));  // one too many
}

TEST(OsFile, one_that_is_not_there_is_made_only_when_asked_for) {
  const TemporaryPath path;
  const Result<OsFile> file = OsFile::open(path.text(), Open::kWrite);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, ErrorCode::kStorage);
  EXPECT_NE(file.error().storage_code, 0);
  EXPECT_NE(file.error().message.find(path.text()), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path.text()));
}

TEST(OsFile, a_path_is_not_cut_at_a_nul) {
  const TemporaryPath path;
  EXPECT_TRUE(fails(OsFile::open(path.text() + std::string("\0.new", 5), Open::kCreate),
                    ErrorCode::kStorage, "NUL character"));
  EXPECT_FALSE(std::filesystem::exists(path.text()));
}

#if defined(__linux__)
TEST(OsFile, is_no_pipe) {
  const TemporaryPath path;
  ASSERT_EQ(::mkfifo(path.text().c_str(), 0600), 0);
  for (const Open how : {Open::kRead, Open::kWrite, Open::kCreate}) {
    EXPECT_TRUE(
        fails(OsFile::open(path.text(), how), ErrorCode::kStorage, "it is no regular file"));
  }
}
#endif

TEST(OsFile, is_open_once_only) {
  const TemporaryPath path;
  Result<OsFile> one = OsFile::open(path.text(), Open::kCreate);
  ASSERT_TRUE(one.ok());
  EXPECT_FALSE(OsFile::open(path.text(), Open::kCreate).ok());
  one = OsFile();
  EXPECT_TRUE(OsFile::open(path.text(), Open::kCreate).ok());
}

TEST(OsFile, is_read_while_another_writes_it) {
  const TemporaryPath path;
  EXPECT_FALSE(OsFile::open(path.text(), Open::kRead).ok());
  EXPECT_FALSE(std::filesystem::exists(path.text()));
  OsFile written = must(OsFile::open(path.text(), Open::kCreate));
  OsFile read = must(OsFile::open(path.text(), Open::kRead));
  ASSERT_STATUS(written.write(0, DeviceBytes(8, std::byte{9})));
  DeviceBytes bytes(8);
  EXPECT_STATUS(read.read(0, bytes));
  EXPECT_EQ(bytes[7], std::byte{9});
  EXPECT_FALSE(read.write(0, bytes).ok());
}

TEST(OsFile, takes_room_for_zeros) {
  constexpr uint64_t kBytes = 5'000'001;
  for (const auto take : {&OsFile::reserve, &OsFile::fill}) {
    const TemporaryPath path;
    OsFile file = must(OsFile::open(path.text(), Open::kCreate));
    ASSERT_STATUS((file.*take)(kBytes));
    EXPECT_EQ(file.size().value(), kBytes);
    DeviceBytes bytes(kBytes, std::byte{1});
    EXPECT_STATUS(file.read(0, bytes));
    EXPECT_TRUE(bytes == DeviceBytes(kBytes));
#if defined(__linux__)
    // Other file systems may compress zeros away.
    constexpr unsigned long kExt = 0xEF53, kTmpfs = 0x01021994, kXfs = 0x58465342;
    struct statfs system {};
    ASSERT_EQ(::statfs(path.text().c_str(), &system), 0);
    const auto type = static_cast<unsigned long>(system.f_type);
    struct stat found {};
    ASSERT_EQ(::stat(path.text().c_str(), &found), 0);
    constexpr uint64_t kStatBytes = 512;
    if (type == kExt || type == kTmpfs || type == kXfs) {
      EXPECT_GE(static_cast<uint64_t>(found.st_blocks) * kStatBytes, kBytes);
    }
#endif
  }
}

TEST(OsFile, a_discarded_one_is_as_before) {
  const TemporaryPath path;
  OsFile file = must(OsFile::open(path.text(), Open::kCreate));
  ASSERT_STATUS(file.resize(100));
  file.discard();
  EXPECT_FALSE(std::filesystem::exists(path.text()));
  OsFile(must(OsFile::open(path.text(), Open::kCreate)));
  file = must(OsFile::open(path.text(), Open::kCreate));  // it was there
  ASSERT_STATUS(file.resize(100));
  file.discard();
  EXPECT_EQ(std::filesystem::file_size(path.text()), 0U);
}

TEST(OsFile, can_be_moved) {
  const TemporaryPath path;
  OsFile one = OsFile::open(path.text(), Open::kCreate).value();
  OsFile two = std::move(one);
  EXPECT_STATUS(two.write(0, DeviceBytes(1)));
  EXPECT_FALSE(one.write(0, DeviceBytes(1)).ok());  // NOLINT(bugprone-use-after-move)
}

#if defined(__linux__)
TEST(OsFile, tells_that_the_disk_is_full) {
  Result<OsFile> full = OsFile::open("/dev/full", Open::kWrite);
  if (!full.ok()) {
    GTEST_SKIP() << full.error().message;
  }
  const Status written = full.value().write(0, DeviceBytes(1));
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().storage_code, ENOSPC);
}
#endif

}  // namespace
}  // namespace cuckoo::test::library_os_file_test
