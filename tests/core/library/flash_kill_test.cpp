// kill -9 at random moments of a process that writes a store in a file. Every change that the
// process was told is done is there afterwards, synced or not, because the system has the file. The
// change that it was making is there as a whole, or not at all.
//
//   CUCKOO_FLASH_KILLS=n   kills n processes instead of the test's share
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "tests/core/library/flash_samples.hpp"
#include "tests/support/share.hpp"

namespace cuckoo::test {
namespace library_flash_kill_test {
namespace {

uint64_t kills() {
  const char* const wanted = std::getenv("CUCKOO_FLASH_KILLS");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : share(100);
}

constexpr uint64_t kKeys = 60;

// Round n is a batch that gives two keys the value n, of a length that n says.
std::string value_of(uint64_t n) {
  return std::to_string(n) + "/" + std::string(n * 7919 % (n % 16 == 0 ? 3000 : 200), 'v');
}
std::string first_key(uint64_t n) { return "a" + std::to_string(n % kKeys); }
std::string second_key(uint64_t n) { return "b" + std::to_string(n * 31 % kKeys); }

// Runs in the child: writes rounds from `next` on, until it is killed. Reports each round that is
// done.
[[noreturn]] void write_rounds(const std::string& path, uint64_t next, int report) {
  auto opened = FlashStore::open_file(path);
  if (!opened.ok()) {
    _exit(1);
  }
  for (;; ++next) {
    FlashBatch batch;
    batch.put(first_key(next), value_of(next));
    batch.put(second_key(next), value_of(next));
    if (!opened.value().write(batch).ok() || (next % 50 == 0 && !opened.value().sync().ok()) ||
        (next % 501 == 0 && !opened.value().collect().ok()) ||
        ::write(report, &next, sizeof next) != static_cast<ssize_t>(sizeof next)) {
      _exit(2);
    }
  }
}

// What the first `rounds` rounds made.
FlashModel model_of(uint64_t rounds) {
  FlashModel model;
  for (uint64_t n = rounds < 5000 ? 1 : rounds - 5000; n <= rounds; ++n) {
    model[first_key(n)] = value_of(n);
    model[second_key(n)] = value_of(n);
  }
  return model;
}

TEST(FlashKill, leaves_what_was_done) {
  const TemporaryPath path;
  FlashOptions options{.create = true, .geometry = small_geometry(1024, 4, 40)};
  ASSERT_TRUE(FlashStore::open_file(path.text(), options).ok());
  std::mt19937_64 random(std::random_device{}());
  uint64_t done = 0;
  for (uint64_t i = kills(); i > 0; --i) {
    int report[2];
    ASSERT_EQ(::pipe(report), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(report[0]);
      write_rounds(path.text(), done + 1, report[1]);
    }
    ::close(report[1]);
    const auto read_report = [&] {
      uint64_t n = 0;
      if (::read(report[0], &n, sizeof n) != static_cast<ssize_t>(sizeof n)) {
        return false;
      }
      EXPECT_EQ(n, done + 1);
      done = n;
      return true;
    };
    // However busy the machine is. The others may be killed while they open.
    for (int reports = i % 2 == 0 ? 0 : 3; reports > 0; --reports) {
      ASSERT_TRUE(read_report());
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % (is_slow() ? 200000 : 30000)));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    while (read_report()) {
    }
    ::close(report[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself: " << status;
    FlashStore opened = must(FlashStore::open_file(path.text()));
    const FlashModel found = contents_of(opened);
    if (found != model_of(done)) {  // the round that was not reported any more
      ++done;
      ASSERT_EQ(found, model_of(done));
    }
  }
  EXPECT_GT(done, kills());
  RecordProperty("rounds", std::to_string(done));
}

}  // namespace
}  // namespace library_flash_kill_test
}  // namespace cuckoo::test
