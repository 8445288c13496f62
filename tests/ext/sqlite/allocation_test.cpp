// operator new of ext/sqlite/allocation.cpp, on an allocator that aligns to 8 bytes and no more.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tests/support/allocating.hpp"
#include "tests/support/database.hpp"
#include "tests/support/extension_path.hpp"
#include "tests/support/shared_library.hpp"

namespace cuckoo::test::sqlite_allocation_test {
namespace {

TEST(Allocation, types_get_their_alignment) {
  if (std::strlen(allocating_path()) == 0) {
    GTEST_SKIP() << "this build's module has no operator new of its own";
  }
  const SharedLibrary library(allocating_path());
  ASSERT_TRUE(library);
  const auto allocating =
      reinterpret_cast<decltype(&cuckoo_allocating)>(library.find("cuckoo_allocating"));
  ASSERT_NE(allocating, nullptr);
  for (const int alignment : {1, 8, 16, 32, 64}) {
    EXPECT_EQ(allocating(alignment), 1) << alignment;
  }
  EXPECT_EQ(allocating(0), 1);
}

// --- the module ----------------------------------------------------------------------------------

sqlite3_mem_methods real_memory;

// Gives SQLite memory that lies 8 bytes after a multiple of 16. No connection may be open when this
// object is made or destroyed.
class BarelyAlignedMemory {
 public:
  BarelyAlignedMemory() {
    sqlite3_shutdown();
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory);
    sqlite3_mem_methods barely = real_memory;
    barely.xMalloc = give;
    barely.xFree = [](void* memory) { std::free(begin_of(memory)); };
    barely.xRealloc = [](void* memory, int bytes) -> void* {
      void* const moved = give(bytes);
      if (moved != nullptr) {
        std::memcpy(moved, memory, static_cast<size_t>(std::min(bytes, size_of(memory))));
        std::free(begin_of(memory));
      }
      return moved;
    };
    barely.xSize = size_of;
    barely.xRoundup = [](int bytes) { return (bytes + 7) / 8 * 8; };
    EXPECT_EQ(sqlite3_config(SQLITE_CONFIG_MALLOC, &barely), SQLITE_OK);
    EXPECT_EQ(sqlite3_initialize(), SQLITE_OK);
  }
  ~BarelyAlignedMemory() {
    sqlite3_shutdown();
    EXPECT_EQ(sqlite3_config(SQLITE_CONFIG_MALLOC, &real_memory), SQLITE_OK);
    EXPECT_EQ(sqlite3_initialize(), SQLITE_OK);
  }
  BarelyAlignedMemory(const BarelyAlignedMemory&) = delete;
  BarelyAlignedMemory& operator=(const BarelyAlignedMemory&) = delete;

 private:
  static constexpr size_t kBefore = 24;  // malloc() gives multiples of 16

  static char* begin_of(void* memory) { return static_cast<char*>(memory) - kBefore; }
  static int size_of(void* memory) {
    int bytes = 0;
    std::memcpy(&bytes, begin_of(memory), sizeof bytes);
    return bytes;
  }
  static void* give(int bytes) {
    auto* const begin = static_cast<char*>(std::malloc(static_cast<size_t>(bytes) + kBefore));
    if (begin == nullptr) {
      return nullptr;
    }
    std::memcpy(begin, &bytes, sizeof bytes);
    return begin + kBefore;
  }
};

TEST(Allocation, every_table_works_on_memory_that_is_aligned_to_8_bytes) {
  const BarelyAlignedMemory memory;
  Database db;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(
                std::unique_ptr<void, decltype(&sqlite3_free)>(sqlite3_malloc64(100), sqlite3_free)
                    .get()) %
                16,
            8U);
  db.run(
      "CREATE TABLE n AS WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
      " SELECT i FROM n;"
      "CREATE VIRTUAL TABLE c USING cuckoo_filter(k); INSERT INTO c SELECT i FROM n;"
      "CREATE VIRTUAL TABLE b USING bloom_filter(k); INSERT INTO b SELECT i FROM n;"
      "CREATE VIRTUAL TABLE l USING bloom_filter(k, layout = blocked);"
      "INSERT INTO l SELECT i FROM n; DELETE FROM c WHERE k IN (SELECT i FROM n WHERE i % 3 = 0);"
      "CREATE VIRTUAL TABLE f USING flash_kv(k, v); INSERT INTO f SELECT i, i || 'x' FROM n;"
      "DELETE FROM f WHERE k % 2 = 0;"
      "CREATE VIRTUAL TABLE r USING hash_ring; INSERT INTO r(node) VALUES ('a'), ('b'), ('c');"
      "CREATE VIRTUAL TABLE k USING hash_ring(algorithm = ketama); INSERT INTO k(node) SELECT node"
      " FROM r;"
      "CREATE VIRTUAL TABLE s USING hash_ring(algorithm = slots); INSERT INTO s(node) SELECT node"
      " FROM r");
  db.gives("SELECT count(*) FROM n CROSS JOIN c ON c.k = i WHERE i % 3 <> 0", "13334");
  db.gives("SELECT count(*) FROM n CROSS JOIN b ON b.k = i CROSS JOIN l ON l.k = i", "20000");
  db.gives("SELECT count(*) FROM n CROSS JOIN f ON f.k = i AND f.v = i || 'x'", "10000");
  for (const std::string ring : {"r", "k", "s"}) {
    db.gives(sql("SELECT count(*) FROM n CROSS JOIN {} ON key = i", ring), "20000");
  }
  db.gives("INSERT INTO c(c) VALUES ('rebuild'); SELECT length(filter_export('c')) > 1000", "1");
  db.gives("PRAGMA integrity_check", "ok");
}

}  // namespace
}  // namespace cuckoo::test::sqlite_allocation_test
