#include "core/stored/record.hpp"

#include <string>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/base/key_hash.hpp"
#include "core/filter/sizing.hpp"
#include "core/stored/filter_options.hpp"

namespace cuckoo {
namespace {

constexpr uint32_t kMagic = 0x52464B43;  // "CKFR"

// Calls the visitor with every field, in the order of the image.
template <class Record, class Visitor>
void for_each_field(Record& record, Visitor&& visit) {
  visit(record.options_digest);
  visit(record.epoch);
  visit(record.capacity);
  visit(record.geometry.size);
  visit(record.geometry.shape);
  visit(record.geometry.detail);
  visit(record.start_chain);
  visit(record.start_position);
  visit(record.start_items);
  visit(record.first_row);
  visit(record.compacted_entries);
  visit(record.dead);
  visit(record.fold_position);
  visit(record.fold_chain);
  visit(record.fold_items);
  visit(record.fold_row);
  visit(record.end_position);
  visit(record.end_chain);
  visit(record.end_items);
  visit(record.end_row);
  visit(record.base_id);
  visit(record.occupied);
  visit(record.cells_digest);
  visit(record.overflow_cells);
  visit(record.overflow_items);
  visit(record.overflow_digest);
  visit(record.page_rows);
  visit(record.page_id_sum);
  visit(record.hashless);
  visit(record.rotation);
  visit(record.older);
  if (record.version > 1) {
    visit(record.key_types);
  }
}

Status check_numbers(const FilterRecord& record) {
  if (record.capacity == 0 || record.capacity > kMaxCapacity) {
    return corrupt("record with a capacity out of range");
  }
  if (record.epoch > kMaxEpoch || record.end_row >= (uint64_t{1} << 62)) {
    return corrupt("record with an epoch or row id out of range");
  }
  if (record.start_position > record.fold_position || record.fold_position > record.end_position ||
      record.first_row > record.fold_row || record.fold_row > record.end_row) {
    return corrupt("record whose log positions are not in order");
  }
  if (record.overflow_cells > record.overflow_items) {
    return corrupt("record whose item counts do not add up");
  }
  if (record.key_types > UINT8_MAX) {
    return corrupt("record of types of keys that do not exist");
  }
  if (record.hashless > 1 || record.older >= kMaxGenerations || record.older > record.rotation) {
    return corrupt("record whose generations do not add up");
  }
  return {};
}

}  // namespace

uint64_t first_base_id(const FilterRecord& record) noexcept {
  std::byte bytes[8 * 5];
  store_le(&bytes[0], record.epoch);
  store_le(&bytes[8], record.capacity);
  store_le(&bytes[16], record.geometry.size);
  store_le(&bytes[24], record.geometry.shape);
  store_le(&bytes[32], record.geometry.detail);
  return XXH3_64bits_withSeed(bytes, sizeof bytes, record.fold_chain);
}

std::vector<std::byte> encode_record(const FilterRecord& record) {
  std::vector<std::byte> bytes(8);
  store_le(&bytes[0], kMagic);
  store_le(&bytes[4], record.version);
  for_each_field(record, [&bytes](uint64_t field) {
    bytes.resize(bytes.size() + 8);
    store_le(&bytes[bytes.size() - 8], field);
  });
  const uint32_t crc = crc32c(bytes);
  bytes.resize(bytes.size() + 4);
  store_le(&bytes[bytes.size() - 4], crc);
  return bytes;
}

Result<FilterRecord> decode_record(std::span<const std::byte> bytes) {
  if (bytes.size() < 8 || load_le<uint32_t>(bytes.data()) != kMagic) {
    return corrupt("record that is not one of a filter");
  }
  FilterRecord record;
  record.version = load_le<uint32_t>(&bytes[4]);
  if (record.version < kOldestRecordVersion || record.version > kFilterRecordVersion) {
    return corrupt("record of format " + std::to_string(record.version) +
                   ", this version reads formats 1 to " + std::to_string(kFilterRecordVersion));
  }
  size_t fields = 0;
  for_each_field(record, [&fields](uint64_t) { ++fields; });
  const size_t expected = 8 + 8 * fields + 4;
  if (bytes.size() != expected) {
    return corrupt("record of " + std::to_string(bytes.size()) + " bytes, expected " +
                   std::to_string(expected));
  }
  if (crc32c(bytes.first(expected - 4)) != load_le<uint32_t>(&bytes[expected - 4])) {
    return corrupt("record with a wrong checksum");
  }
  size_t at = 8;
  for_each_field(record, [&](uint64_t& field) {
    field = load_le<uint64_t>(&bytes[at]);
    at += 8;
  });
  if (Status status = check_numbers(record); !status.ok()) {
    return status;
  }
  return record;
}

}  // namespace cuckoo
