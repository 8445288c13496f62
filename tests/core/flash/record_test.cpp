#include "core/flash/record.hpp"

#include "tests/support/core_samples.hpp"

namespace cuckoo {
namespace flash_record_test {
namespace {

constexpr uint64_t kSequence = 0x0102030405;
constexpr uint32_t kOffset = 9;

Bytes bytes(std::initializer_list<int> values) {
  Bytes out;
  for (const int value : values) {
    out.push_back(static_cast<std::byte>(value));
  }
  return out;
}

Bytes text(const char* characters) {
  const auto view =
      std::as_bytes(std::span(characters, std::char_traits<char>::length(characters)));
  return {view.begin(), view.end()};
}

// Appends the CRC-32C of sequence ‖ offset ‖ what is in `to`.
void append_crc(Bytes& to) {
  Bytes salted = bytes({5, 4, 3, 2, 1, 0, 0, 0, 9, 0, 0, 0});
  salted.insert(salted.end(), to.begin(), to.end());
  const uint32_t crc = crc32c(salted);
  for (int shift = 0; shift < 32; shift += 8) {
    to.push_back(static_cast<std::byte>(crc >> shift));
  }
}

Bytes encoded(const FlashRecordHeader& header, const Bytes& key, const Bytes& value,
              uint32_t unit = 16) {
  Bytes out;
  encode_flash_record(header, key, value, unit, kSequence, kOffset, out);
  return out;
}

TEST(FlashRecord, a_put_has_these_bytes) {
  FlashRecordHeader header;
  header.type = FlashRecordType::kPut;
  header.last_of_batch = true;
  header.key_bytes = 3;
  header.value_bytes = header.total_value_bytes = 4;
  header.lsn = 0x112233445566;
  header.set_replaced(0xA1A2A3A4, 0xB1B2B3B4);
  Bytes expected = bytes({0x81, 3,    0,    4,    0,    0,    0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
                          0xA4, 0xA3, 0xA2, 0xA1, 0xB4, 0xB3, 0xB2, 0xB1, 'k',  'e',  'y'});
  append_crc(expected);
  for (const char c : std::string("blue")) {
    expected.push_back(static_cast<std::byte>(c));
  }
  expected.resize(44, std::byte{0xFF});
  append_crc(expected);
  const Bytes out = encoded(header, text("key"), text("blue"));
  EXPECT_EQ(out, expected);
  EXPECT_EQ(header.head_bytes(), 27U);
  EXPECT_EQ(header.content_bytes(), 35U);
  EXPECT_EQ(header.units(16), 3U);
  EXPECT_EQ(header.units(64), 1U);

  const auto decoded = decode_flash_record_header(std::span(out).first(24), kSequence, kOffset);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(*decoded, header);
  EXPECT_TRUE(verify_flash_record(std::span(out).first(27), kSequence, kOffset));
  EXPECT_TRUE(verify_flash_record(out, kSequence, kOffset));
  const auto key = key_in(header, out);
  EXPECT_EQ(Bytes(key.begin(), key.end()), text("key"));
  const auto value = value_in(header, out);
  EXPECT_EQ(Bytes(value.begin(), value.end()), text("blue"));
}

TEST(FlashRecord, a_head_has_the_length_of_the_whole_value) {
  FlashRecordHeader header;
  header.type = FlashRecordType::kHead;
  header.key_bytes = 1;
  header.value_bytes = 2;
  header.total_value_bytes = 0x01020304;
  header.lsn = 7;
  Bytes expected =
      bytes({2, 1, 0, 2, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 3, 2, 1, 'k'});
  append_crc(expected);
  expected.push_back(std::byte{'v'});
  expected.push_back(std::byte{'w'});
  expected.resize(44, std::byte{0xFF});
  append_crc(expected);
  const Bytes out = encoded(header, text("k"), text("vw"));
  EXPECT_EQ(out, expected);
  EXPECT_EQ(*decode_flash_record_header(out, kSequence, kOffset), header);
  EXPECT_FALSE(decode_flash_record_header(std::span(out).first(20), kSequence, kOffset));
}

TEST(FlashRecord, a_mark_is_one_unit) {
  const auto header = FlashRecordHeader::collect(0x010203040506, 0x0A0B0C0D);
  Bytes expected = bytes({8, 0, 6, 5, 4, 3, 2, 1, 0x0D, 0x0C, 0x0B, 0x0A});
  append_crc(expected);
  EXPECT_EQ(encoded(header, {}, {}), expected);
  Bytes out = encoded(header, {}, {}, 32);
  EXPECT_EQ(out.size(), 32U);
  EXPECT_TRUE(is_erased(std::span(out).subspan(16)));
  EXPECT_EQ(*decode_flash_record_header(out, kSequence, kOffset), header);
  EXPECT_FALSE(decode_flash_record_header(std::span(out).first(15), kSequence, kOffset));
  for (size_t bit = 0; bit < 128; ++bit) {
    Bytes flipped = out;
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto decoded = decode_flash_record_header(flipped, kSequence, kOffset);
    EXPECT_TRUE(!decoded || !decoded->is_mark()) << bit;
  }
}

// One word of the header has another name in each type of record that uses it.
TEST(FlashRecord, each_type_says_what_its_words_mean) {
  const auto reread = [](const FlashRecordHeader& header) {
    Bytes out;
    encode_flash_record(header, {}, Bytes(header.value_bytes), 16, kSequence, kOffset, out);
    const auto decoded = decode_flash_record_header(out, kSequence, kOffset);
    EXPECT_EQ(decoded, header);
    return decoded.value_or(FlashRecordHeader());
  };
  FlashRecordHeader tombstone;
  tombstone.type = FlashRecordType::kTombstone;
  tombstone.lsn = 1;
  tombstone.set_replaced(2, 3);
  EXPECT_EQ(reread(tombstone).replaced(), 2U);
  EXPECT_EQ(reread(tombstone).replaced_value_bytes(), 3U);
  FlashRecordHeader copy = tombstone;
  copy.type = FlashRecordType::kPut;
  copy.set_copied_from(4);
  EXPECT_EQ(reread(copy).copied_from(), 4U);
  EXPECT_EQ(reread(copy).replaced_value_bytes(), 0U);
  FlashRecordHeader part = FlashRecordHeader::part(1, 5, 6);
  part.total_value_bytes = 6;  // as a decoder has it: of all but heads, the bytes in the record
  EXPECT_EQ(reread(part).offset(), 5U);
  EXPECT_EQ(reread(part).value_bytes, 6U);
  part.set_copied_from(7);
  EXPECT_EQ(reread(part).offset(), 5U);
  EXPECT_EQ(reread(part).copied_from(), 7U);
  FlashRecordHeader drop = FlashRecordHeader::drop(1, 8, 9);
  drop.total_value_bytes = 9;
  EXPECT_EQ(reread(drop).replaced_value_bytes(), 8U);
  const FlashRecordHeader piece = FlashRecordHeader::checkpoint_piece(10, 11, 12);
  EXPECT_EQ(reread(piece).checkpoint(), 10U);
  EXPECT_EQ(reread(piece).piece(), 11U);
  EXPECT_EQ(reread(piece).block_before(), 12U);
  EXPECT_EQ(reread(FlashRecordHeader::index_piece(13, 14)).checkpoint(), 13U);
  EXPECT_EQ(reread(FlashRecordHeader::index_piece(13, 14)).piece(), 14U);
  EXPECT_EQ(reread(FlashRecordHeader::collect(15, 16)).victim(), 16U);
  EXPECT_EQ(reread(FlashRecordHeader::collected(17, 18)).copies(), 18U);
  EXPECT_EQ(reread(FlashRecordHeader::anchor(19, 20)).checkpoint(), 19U);
  EXPECT_EQ(reread(FlashRecordHeader::anchor(19, 20)).last_block(), 20U);
}

TEST(FlashRecord, every_flipped_bit_and_every_other_place_is_found) {
  FlashRecordHeader header;
  header.type = FlashRecordType::kPut;
  header.key_bytes = 3;
  header.value_bytes = header.total_value_bytes = 4;
  header.lsn = 1;
  const Bytes out = encoded(header, text("key"), text("blue"));
  for (size_t bit = 0; bit < out.size() * 8; ++bit) {
    Bytes flipped = out;
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(verify_flash_record(flipped, kSequence, kOffset)) << bit;
    EXPECT_EQ(verify_flash_record(std::span(flipped).first(27), kSequence, kOffset), bit / 8 >= 27);
  }
  EXPECT_FALSE(verify_flash_record(out, kSequence + 1, kOffset));
  EXPECT_FALSE(verify_flash_record(out, kSequence, kOffset + 1));
}

TEST(FlashRecord, what_is_no_record) {
  const Bytes erased(32, std::byte{0xFF});
  EXPECT_FALSE(decode_flash_record_header(erased, kSequence, kOffset));
  const Bytes zero(32);
  EXPECT_FALSE(decode_flash_record_header(zero, kSequence, kOffset));
  const auto header = FlashRecordHeader::part(1, 0, 1);
  Bytes out = encoded(header, {}, text("x"));
  EXPECT_TRUE(decode_flash_record_header(out, kSequence, kOffset));
  out[1] = std::byte{1};  // a part has no key
  EXPECT_FALSE(decode_flash_record_header(out, kSequence, kOffset));
  out[1] = std::byte{0};
  out[6] = std::byte{0};  // nor is there an LSN 0
  EXPECT_FALSE(decode_flash_record_header(out, kSequence, kOffset));
  for (const int type : {0x00, 0x0B, 0x7F, 0xFF, 0x88}) {
    out[0] = static_cast<std::byte>(type);
    out[6] = std::byte{1};
    EXPECT_FALSE(decode_flash_record_header(out, kSequence, kOffset)) << type;
  }
}

// The pieces of a value cover it, each fits, and a value that fits one record is one.
TEST(FlashRecord, pieces_cover_the_value) {
  for (const uint32_t unit : {16U, 32U, 64U}) {
    for (const uint32_t piece_units : {128 / unit, 512 / unit, 992 / unit}) {
      const FlashPieces cut(piece_units, unit);
      for (const uint64_t key : {0U, 1U, 60U, 127U, 500U}) {
        for (uint64_t value = 0; value < 4000; value += 1 + value / 60) {
          const uint64_t first = cut.first_bytes(key, value);
          const uint64_t parts = cut.parts(key, value);
          ASSERT_EQ(cut.single(key, value), first == value && parts == 0);
          ASSERT_LE(first, value);
          ASSERT_GE(first + parts * cut.part_bytes(), value);
          ASSERT_LT(parts == 0 ? 0 : first + (parts - 1) * cut.part_bytes(), value + (parts == 0));
          ASSERT_LE(cut.part_units(cut.part_bytes()), piece_units);
          if (key + 32 <= cut.piece_bytes && value > 0) {
            ASSERT_LE(cut.first_units(key, value), piece_units);
          }
          FlashRecordHeader header;
          header.type = cut.single(key, value) ? FlashRecordType::kPut : FlashRecordType::kHead;
          header.key_bytes = static_cast<uint16_t>(key);
          header.value_bytes = static_cast<uint32_t>(first);
          ASSERT_EQ(header.units(unit), cut.first_units(key, value));
          ASSERT_LE(cut.drop_units(parts), cut.drops(parts) * piece_units);
        }
      }
    }
  }
}

TEST(FlashRecord, bytes_of_an_erase_header_without_a_meaning_are_no_header) {
  for (const size_t byte : {1, 2, 3, 8, 9, 10, 11}) {
    Bytes unit(16);
    encode_erase_header(7, 5, unit);
    unit[byte] ^= std::byte{0x40};
    Bytes salted(4);
    store_le(salted.data(), uint32_t{7});
    salted.insert(salted.end(), unit.begin(), unit.begin() + 12);
    store_le(&unit[12], crc32c(salted));
    EXPECT_FALSE(decode_erase_header(7, unit)) << byte;
  }
}

TEST(FlashRecord, padding_is_part_of_a_whole_record) {
  FlashRecordHeader header;
  header.type = FlashRecordType::kPut;
  header.key_bytes = 1;
  header.value_bytes = header.total_value_bytes = 2;
  header.lsn = 5;
  const Bytes key(1, std::byte{7});
  const Bytes value(2, std::byte{8});
  Bytes record;
  encode_flash_record(header, key, value, 64, 9, 2, record);
  ASSERT_TRUE(verify_whole_flash_record(header, record, 9, 2));
  Bytes salt(12);
  store_le(salt.data(), uint64_t{9});
  store_le(salt.data() + 8, uint32_t{2});
  for (size_t byte = header.content_bytes() - 4; byte < record.size() - 4; ++byte) {
    Bytes other = record;
    other[byte] ^= std::byte{1};
    store_le(&other[other.size() - 4],
             crc32c(std::span(other).first(other.size() - 4), crc32c(salt)));
    EXPECT_TRUE(verify_flash_record(other, 9, 2));
    EXPECT_FALSE(verify_whole_flash_record(header, other, 9, 2)) << byte;
  }
}

TEST(FlashRecord, block_headers_have_these_bytes) {
  const auto crc_of = [](uint32_t block, Bytes header) {
    Bytes salted(4);
    store_le(salted.data(), block);
    salted.insert(salted.end(), header.begin(), header.end());
    header.resize(16);
    store_le(&header[12], crc32c(salted));
    return header;
  };
  Bytes unit(32);
  encode_erase_header(7, 0x01020304, unit);
  Bytes expected = crc_of(7, bytes({0xE5, 2, 0, 0, 4, 3, 2, 1, 0, 0, 0, 0}));
  expected.resize(32, std::byte{0xFF});
  EXPECT_EQ(unit, expected);
  EXPECT_EQ(decode_erase_header(7, unit), 0x01020304U);
  EXPECT_FALSE(decode_erase_header(8, unit));

  encode_open_header(7, {FlashPurpose::kCold, 0x01020304050607, 0x0A0B0C0D}, unit);
  expected = crc_of(7, bytes({2, 7, 6, 5, 4, 3, 2, 1, 0x0D, 0x0C, 0x0B, 0x0A}));
  expected.resize(32, std::byte{0xFF});
  EXPECT_EQ(unit, expected);
  const auto opened = decode_open_header(7, unit);
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(opened->purpose, FlashPurpose::kCold);
  EXPECT_EQ(opened->sequence, 0x01020304050607U);
  EXPECT_EQ(opened->next, 0x0A0B0C0DU);
  EXPECT_FALSE(decode_open_header(8, unit));
  EXPECT_FALSE(decode_erase_header(7, unit));
  const Bytes erased(32, std::byte{0xFF});
  EXPECT_FALSE(decode_open_header(7, erased));
}

}  // namespace
}  // namespace flash_record_test
}  // namespace cuckoo
