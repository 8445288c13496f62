// A row, record or page must be stored exactly as our encoder would write it. If bytes without a
// meaning differ, it is corrupt, even if its checksum is right. This holds for each kind of table.
#include <functional>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/base/page_row.hpp"
#include "core/flash/record.hpp"
#include "tests/support/blobs.hpp"

namespace cuckoo::test::table_own_encoding_test {
namespace {

using Bytes = std::vector<std::byte>;

class OwnEncoding : public ::testing::Test {
 protected:
  // Expects that a new connection refuses the statement and says what is wrong.
  void expect_corrupt(const std::string& sql, const std::vector<std::string>& parts) {
    QuickDatabase other(folder_.file("db"));
    other.refuses(sql, SQLITE_CORRUPT_VTAB, parts);
  }

  TemporaryFolder folder_;
  QuickDatabase db_{folder_.file("db")};
};

TEST_F(OwnEncoding, bits_without_a_meaning_in_a_rings_record_are_corrupt) {
  db_.run("CREATE VIRTUAL TABLE ring USING hash_ring(); INSERT INTO ring(node) VALUES ('a')");
  const Bytes record = blob_of(db_, "(SELECT value FROM ring_config WHERE key = 'record')");
  for (size_t bit = 0; bit < 32; ++bit) {
    Bytes other = record;
    other[40 + bit / 8] |= std::byte{1} << (bit % 8);
    store_le(&other[44], crc32c(std::span(other).first(44)));
    db_.run("UPDATE ring_config SET value = {} WHERE key = 'record'", literal_of(other));
    expect_corrupt("SELECT node FROM ring WHERE key = 1", {"ring: corrupt: ", "record"});
  }
}

TEST_F(OwnEncoding, slots_in_another_row_than_their_own_are_corrupt) {
  db_.run(
      "CREATE VIRTUAL TABLE ring USING hash_ring(algorithm = slots);"
      "INSERT INTO ring(node) VALUES ('a'), ('b')");
  Bytes first = blob_of(db_, "(SELECT page FROM ring_pages WHERE id = 0)");
  Bytes second = blob_of(db_, "(SELECT page FROM ring_pages WHERE id = 1)");
  first.resize(first.size() - kPageCrcBytes);
  second.resize(second.size() - kPageCrcBytes);
  first.insert(first.end(), second.begin(), second.begin() + 2);
  second.erase(second.begin(), second.begin() + 2);
  db_.run("UPDATE ring_pages SET page = {} WHERE id = 0", literal_of(encode_page_row(first, 0, 0)));
  db_.run("UPDATE ring_pages SET page = {} WHERE id = 1",
          literal_of(encode_page_row(second, 1, 0)));
  expect_corrupt("SELECT node FROM ring WHERE key = 1",
                 {"ring: corrupt: row 0 of \"ring_pages\" has other slots"});
}

TEST_F(OwnEncoding, a_row_that_is_no_option_is_corrupt) {
  const std::pair<const char*, const char*> tables[] = {
      {"cuckoo_filter(k)", "SELECT 1 FROM t WHERE k = 1"},
      {"bloom_filter(k)", "SELECT 1 FROM t WHERE k = 1"},
      {"flash_kv()", "SELECT 1 FROM t WHERE key = 1"},
      {"hash_ring()", "SELECT node FROM t WHERE key = 1"},
      {"hash_ring(algorithm = ketama)", "SELECT node FROM t WHERE key = 1"}};
  for (const auto& [declaration, use] : tables) {
    db_.run(std::string("CREATE VIRTUAL TABLE t USING ") + declaration);
    for (const char* row : {"'oddity', 5", "'ways2', 'x'", "'', NULL", "'oddity', x'05'",
                            "x'666f726d6174', 3", "'source', 'x(y)'", "'source_crc', 5"}) {
      db_.run("INSERT INTO t_config VALUES ({})", row);
      expect_corrupt(use, {"t: corrupt: \"t_config\" has a row ", "which is no option of it"});
      db_.run("DELETE FROM t_config WHERE (key, value) IS ({})", row);
    }
    QuickDatabase other(folder_.file("db"));
    other.run(use);
    db_.run("DROP TABLE t");
  }
}

// --- flash_kv: its device, which a test changes as nothing else would, with right checksums

class OwnFlashEncoding : public OwnEncoding {
 protected:
  static constexpr size_t kUnit = 64;
  static constexpr size_t kSector = 512;  // also an erase block

  OwnFlashEncoding() {
    db_.run(
        "CREATE VIRTUAL TABLE kv USING flash_kv(size = '64KB', sector_size = 512,"
        " erase_block = 1, program_unit = 64, seed = 1)");
    db_.run("INSERT INTO kv VALUES (300, 'a value of thirty bytes or so'), (2.5, 7)");
    db_.run("INSERT INTO kv(kv) VALUES ('collect')");  // a checkpoint: the log is not replayed
    page_bytes_ =
        static_cast<size_t>(db_.number("SELECT value FROM kv_config WHERE key = 'page_bytes'"));
    device_.assign(size_t{64} << 10, std::byte{0xFF});
    for (const Row& row : db_.rows("SELECT id FROM kv_pages WHERE id >= 0")) {
      const Bytes page = blob_of(db_, "(SELECT page FROM kv_pages WHERE id = " + row[0] + ")");
      const size_t at = std::stoul(row[0]) * page_bytes_;
      for (size_t i = 0; i < page_bytes_ && at + i < device_.size(); ++i) {
        device_[at + i] = ~page[i];
      }
    }
    pristine_ = device_;
  }

  // Writes the device to the rows of its pages, and their parity.
  void store() {
    Bytes parity(page_bytes_);
    for (size_t at = 0; at < device_.size(); at += page_bytes_) {
      Bytes page(page_bytes_);
      for (size_t i = 0; i < page_bytes_; ++i) {
        page[i] = at + i < device_.size() ? ~device_[at + i] : std::byte{0};
        parity[i] ^= page[i];
      }
      store(page, static_cast<int64_t>(at / page_bytes_));
    }
    store(parity, -1);
  }
  void store(const Bytes& page, int64_t id) {
    db_.run("UPDATE kv_pages SET page = {} WHERE id = {}", literal_of(encode_page_row(page, id, 1)),
            id);
  }
  void expect_refused(const std::string& sql, const std::vector<std::string>& parts) {
    store();
    expect_corrupt(sql, parts);
    device_ = pristine_;
    store();
    QuickDatabase other(folder_.file("db"));
    other.run(sql);
  }
  static constexpr char kCheck[] = "INSERT INTO kv(kv) VALUES ('check')";

  // Blocks with something in them.
  std::vector<size_t> blocks() const {
    std::vector<size_t> used;
    for (size_t block = 0; block < device_.size() / kSector; ++block) {
      if (device_[block * kSector + kUnit] != std::byte{0xFF}) {
        used.push_back(block);
      }
    }
    return used;
  }
  void seal_header(std::byte* unit, size_t block) {
    std::byte salt[4];
    store_le(salt, static_cast<uint32_t>(block));
    store_le(unit + 12, crc32c(std::span(unit, 12), crc32c(salt)));
  }
  // Where a record begins, and its header.
  struct Place {
    size_t at = 0;
    uint64_t sequence = 0;
    uint32_t offset = 0;
    FlashRecordHeader header;
  };
  Place find(FlashRecordType type, std::string_view key) {
    for (const size_t block : blocks()) {
      const uint64_t sequence = load_le<uint64_t>(&device_[block * kSector + kUnit]) >> 8;
      for (uint32_t offset = kFlashHeaderUnits; offset < kSector / kUnit;) {
        const size_t at = block * kSector + offset * kUnit;
        const auto bytes = std::span<const std::byte>(device_).subspan(at, kUnit);
        const auto header = decode_flash_record_header(bytes, sequence, offset);
        if (!header) {
          break;
        }
        if (header->type == type &&
            (key.empty() || equal_bytes(key_in(*header, bytes), std::as_bytes(std::span(key))))) {
          return {at, sequence, offset, *header};
        }
        offset += header->units(kUnit);
      }
    }
    ADD_FAILURE() << "no such record";
    return {};
  }
  void seal(const Place& place) {
    std::byte salt[12];
    store_le(salt, place.sequence);
    store_le(salt + 8, place.offset);
    const auto record =
        std::span(device_).subspan(place.at, place.header.units(kUnit) * size_t{kUnit});
    const auto crc = [&](size_t bytes) { return crc32c(record.first(bytes), crc32c(salt)); };
    const size_t head = place.header.head_bytes() - 4;
    store_le(&record[head], crc(head));
    store_le(&record[record.size() - 4], crc(record.size() - 4));
  }

  size_t page_bytes_ = 0;
  Bytes device_, pristine_;
};

TEST_F(OwnFlashEncoding, bytes_without_a_meaning_in_a_blocks_headers_are_corrupt) {
  const std::vector<size_t> used = blocks();
  ASSERT_FALSE(used.empty());
  for (const size_t block : {used.front(), used.back()}) {
    for (const size_t byte : {1, 2, 3, 8, 9, 10, 11}) {
      if (device_[block * kSector] == std::byte{0xFF}) {
        continue;  // an erase header is written where the count can't be known otherwise
      }
      device_[block * kSector + byte] ^= std::byte{4};
      seal_header(&device_[block * kSector], block);
      expect_refused(kCheck, {"kv: corrupt: ", "unit"});
    }
    for (const size_t byte : {16, 40, 63}) {
      device_[block * kSector + kUnit + byte] ^= std::byte{1};
      expect_refused(kCheck, {"kv: corrupt: ", "no header, mark or record as it is written"});
    }
  }
}

TEST_F(OwnFlashEncoding, bytes_after_a_mark_are_corrupt) {
  const Place anchor = find(FlashRecordType::kAnchor, "");
  for (const size_t byte : {16, 63}) {
    device_[anchor.at + byte] ^= std::byte{0x10};
    expect_refused(kCheck, {"no header, mark or record as it is written"});
  }
}

TEST_F(OwnFlashEncoding, padding_of_a_record_is_corrupt_where_it_is_read) {
  const Place put = find(FlashRecordType::kPut, std::string("\1\x2C\1", 3));
  const size_t content = put.header.content_bytes() - 4;
  const size_t end = put.header.units(kUnit) * size_t{kUnit} - 4;
  ASSERT_LT(content, end);
  for (size_t byte = content; byte < end; ++byte) {
    device_[put.at + byte] ^= std::byte{0x20};
    seal(put);
    expect_refused("SELECT * FROM kv WHERE key = 300", {"kv: corrupt: ", "without a meaning"});
  }
  device_[put.at + content] ^= std::byte{0x20};
  seal(put);
  expect_refused("SELECT * FROM kv", {"kv: corrupt: ", "without a meaning"});
  device_[put.at + content] ^= std::byte{0x20};
  seal(put);
  expect_refused(kCheck, {"kv: corrupt: "});
}

TEST_F(OwnFlashEncoding, padding_of_a_checkpoint_is_corrupt) {
  const Place piece = find(FlashRecordType::kCheckpoint, "");
  const size_t content = piece.header.content_bytes() - 4;
  if (content < piece.header.units(kUnit) * size_t{kUnit} - 4) {
    device_[piece.at + content] ^= std::byte{1};
    seal(piece);
    expect_refused("SELECT * FROM kv", {"kv: corrupt: "});
  }
}

// A key's encoder writes 44 in one byte, and a whole number never as a REAL.
TEST_F(OwnFlashEncoding, a_key_in_another_encoding_than_its_own_is_corrupt) {
  const Place put = find(FlashRecordType::kPut, std::string("\1\x2C\1", 3));
  device_[put.at + put.header.header_bytes() + 2] = std::byte{0};
  seal(put);
  expect_refused("SELECT key FROM kv", {"kv: corrupt: a key that is no key's encoding"});

  std::string half(9, '\0');
  half[0] = 2;
  store_le(reinterpret_cast<std::byte*>(half.data()) + 1, bits_of(2.5));
  const Place real = find(FlashRecordType::kPut, half);
  store_le(&device_[real.at + real.header.header_bytes() + 1], bits_of(2.0));
  seal(real);
  expect_refused("SELECT key FROM kv", {"kv: corrupt: a key that is no key's encoding"});
}

TEST_F(OwnFlashEncoding, a_page_of_erased_bytes_has_no_row) {
  const Bytes erased(page_bytes_);
  store(erased, 0);
  expect_corrupt(kCheck, {"kv: corrupt: page row 0 is all erased"});
  store(erased, -1);
  expect_corrupt("SELECT * FROM kv", {"kv: corrupt: page row 0 is all erased"});
}

}  // namespace
}  // namespace cuckoo::test::table_own_encoding_test
