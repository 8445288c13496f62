// Stores on a disk without room. The disk is a small file system in memory. A child process mounts
// it, and only that process sees it. If it may not mount, the tests limit the length of files.
#include <cuckoo/flash_store.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "tests/core/library/flash_samples.hpp"

#if defined(__linux__)
#include <sched.h>
#include <sys/mount.h>
#endif

namespace cuckoo::test {
namespace library_flash_full_disk_test {
namespace {

constexpr int kNoDisk = 9;

// Runs `body` in a child. Returns false if the child exits with kNoDisk.
template <class Body>
bool run_in_child(Body body) {
  const pid_t child = ::fork();
  EXPECT_GE(child, 0);
  if (child == 0) {
    body();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int state = 0;
  EXPECT_EQ(::waitpid(child, &state, 0), child);
  EXPECT_TRUE(WIFEXITED(state));
  if (WEXITSTATUS(state) == kNoDisk) {
    return false;
  }
  EXPECT_EQ(WEXITSTATUS(state), 0);
  return true;
}

size_t files_in(const std::string& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder),
                                           std::filesystem::directory_iterator()));
}

// A limit of the length of a file: the room can't be taken, and no file stays.
TEST(FlashFullDisk, a_store_without_room_leaves_no_file) {
  const TemporaryPath folder;
  ASSERT_TRUE(std::filesystem::create_directory(folder.text()));
  const std::string path = folder.text() + "/store";
  const std::string empty = folder.text() + "/empty";
  std::ofstream(empty).close();
  EXPECT_TRUE(run_in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1'000'000, 1'000'000};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    const Result<FlashStore> store = FlashStore::open_file(path, {.create = true});
    EXPECT_TRUE(fails(store, ErrorCode::kStorage, path));
    EXPECT_EQ(store.error().storage_code, EFBIG);
    EXPECT_TRUE(fails(FlashStore::open_file(empty, {.create = true}), ErrorCode::kStorage, empty));
    EXPECT_STATUS(
        FlashStore::open_file(path, {.create = true, .geometry = small_geometry()}).take_status());
  }));
  EXPECT_EQ(std::filesystem::file_size(empty), 0U);
  EXPECT_EQ(files_in(folder.text()), 2U);
  std::filesystem::remove_all(folder.text());
}

#if defined(__linux__)
// ramfs has no way to take room, but to write. It has no limit either.
void mount_or_exit(const char* kind, const std::string& folder, const char* options) {
  if ((::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ||
      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("none", folder.c_str(), kind, 0, options) != 0) {
    _exit(kNoDisk);
  }
}

class FlashFullDiskMounted : public ::testing::Test {
 protected:
  FlashFullDiskMounted() { std::filesystem::create_directory(folder_.text()); }
  std::string file(const char* name) const { return folder_.text() + "/" + name; }

  TemporaryPath folder_;
};

TEST_F(FlashFullDiskMounted, a_full_disk_stops_no_change_and_no_open) {
  const bool had_disk = run_in_child([&] {
    mount_or_exit("tmpfs", folder_.text(), "size=2m");
    const FlashGeometry geometry = small_geometry(512, 4, 400);  // 800 KiB
    FlashStore store =
        must(FlashStore::open_file(file("store"), {.create = true, .geometry = geometry}));
    {
      std::ofstream rest(file("rest"), std::ios::binary);
      while (rest << std::string(4096, 'x') << std::flush) {
      }
    }
    EXPECT_EQ(std::filesystem::space(folder_.text()).available, 0U);
    const Result<FlashStore> other =
        FlashStore::open_file(file("other"), {.create = true, .geometry = geometry});
    EXPECT_TRUE(fails(other, ErrorCode::kStorage, "No space left"));
    EXPECT_EQ(other.error().storage_code, ENOSPC);
    EXPECT_EQ(files_in(folder_.text()), 2U);

    std::mt19937_64 random(1);
    FlashModel model;
    for (int i = 0; i < 3000; ++i) {
      const FlashCall call = random_call(random, 200, 3000);
      const Status done = perform(store, call);
      if (done.ok()) {
        perform(model, call);
      } else {
        EXPECT_EQ(done.error().code, ErrorCode::kFull) << done.error().message;
      }
      if (i % 500 == 0) {
        store = FlashStore();
        store = must(FlashStore::open_file(file("store")));
      }
    }
    EXPECT_EQ(contents_of(store), model);
    for (const auto& [key, value] : model) {
      EXPECT_TRUE(must(store.remove(key)));
    }
    EXPECT_STATUS(store.close());
    store = must(FlashStore::open_file(file("store")));
    EXPECT_EQ(store.size(), 0U);
  });
  std::filesystem::remove(folder_.text());
  if (!had_disk) {
    GTEST_SKIP() << "no file system can be mounted here";
  }
}

TEST_F(FlashFullDiskMounted, a_file_system_that_only_writes_gives_room_too) {
  const bool had_disk = run_in_child([&] {
    mount_or_exit("ramfs", folder_.text(), nullptr);
    FlashStore store =
        must(FlashStore::open_file(file("store"), {.create = true, .geometry = small_geometry()}));
    EXPECT_STATUS(store.put("a", "1"));
    EXPECT_STATUS(store.close());
    store = must(FlashStore::open_file(file("store")));
    EXPECT_EQ(contents_of(store), (FlashModel{{"a", "1"}}));
  });
  std::filesystem::remove(folder_.text());
  if (!had_disk) {
    GTEST_SKIP() << "no file system can be mounted here";
  }
}
#endif

}  // namespace
}  // namespace library_flash_full_disk_test
}  // namespace cuckoo::test
