#include "core/flash/store.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_set>

#include "core/base/mix.hpp"

namespace cuckoo {

FlashStore::FlashStore(FlashDevice& device, const FlashStoreOptions& options)
    : device_(device),
      geometry_(device.geometry()),
      options_(options),
      blocks_(device.geometry().blocks),
      index_(SlotCacheOptions{options.hashes, options.ways, options.seed}) {}

uint32_t FlashStore::piece_units() const noexcept {
  constexpr uint32_t kMinPieceBytes = 128;
  const uint32_t data_units = units_per_block() - kFlashHeaderUnits;
  return std::min(std::max(data_units / 8, kMinPieceBytes / unit_bytes()), data_units);
}

size_t FlashStore::max_key_bytes() const noexcept {
  const size_t room =
      size_t{units_per_block() - kFlashHeaderUnits} * unit_bytes() - kFlashHeadFixedBytes;
  return std::min<size_t>(room, 0xFFFF);
}

Result<uint64_t> FlashStore::charge(size_t key_bytes, uint64_t value_bytes) const {
  constexpr uint64_t kMaxValueBytes = uint64_t{1} << 31;
  if (key_bytes > max_key_bytes()) {
    return invalid("key of " + std::to_string(key_bytes) + " bytes; at most " +
                   std::to_string(max_key_bytes()) + " fit an erase block");
  }
  if (value_bytes >= kMaxValueBytes) {
    return invalid("value of " + std::to_string(value_bytes) + " bytes; expected less than 2^31");
  }
  const FlashPieces cut = pieces();
  const uint64_t parts = cut.parts(key_bytes, value_bytes);
  const uint32_t first = cut.first_units(key_bytes, value_bytes);
  uint64_t units = first + 1;
  if (first > piece_units()) {  // more than a piece may be wasted at a block's end
    units += first - piece_units();
  }
  if (parts > 0) {
    const uint64_t rest = value_bytes - cut.first_bytes(key_bytes, value_bytes);
    const uint64_t last = rest - (parts - 1) * cut.part_bytes();
    units += (parts - 1) * cut.part_units(cut.part_bytes()) + cut.part_units(last) + parts;
    units += cut.drop_units(parts);  // a removal of the value names its parts
  }
  return units;
}

// --- state ---------------------------------------------------------------------------------------

void FlashStore::fold(uint64_t value) noexcept { s_.state = mix64(s_.state ^ value) + value; }

void FlashStore::fold_record(const FlashRecordHeader& header, uint32_t position,
                             uint32_t crc) noexcept {
  fold(header.lsn << 8 | static_cast<uint8_t>(header.type));
  fold(uint64_t{position} << 32 | crc);
}

void FlashStore::count_tail_read(const FlashRecordHeader& header) noexcept {
  s_.tail_read_bytes += header.header_bytes();
  if (!header.is_mark()) {
    s_.tail_read_bytes +=
        header.key_bytes + 4u + (header.type == FlashRecordType::kDrop ? header.value_bytes : 0);
  }
}

// Nothing needs the block any more. See Wear: here its erase may fail, and nowhere else.
Status FlashStore::free_block(uint32_t block) {
  if (!options_.wears_out) {
    blocks_.release(block);
    return {};
  }
  const uint32_t erases = blocks_.at(block).erase_count + 1;
  blocks_.set_erased(block, erases);
  if (!replaying_) {
    CUCKOO_TRY(device_.erase(block));
    ++s_.stats.erases;
  }
  if (device_.erase_fails(block, erases)) {
    blocks_.retire(block);
  } else {
    blocks_.release(block);
  }
  return {};
}

// A block of the tail stays until the next checkpoint (I2).
Status FlashStore::release_if_dead(uint32_t block) {
  const FlashBlock state = blocks_.at(block);
  if (state.kind != FlashBlockKind::kData || state.live_units != 0 ||
      block == s_.streams.hot.block || block == s_.streams.cold.block ||
      blocks_.in_tail(block, s_.streams)) {
    return {};
  }
  if (hold_releases_) {
    pending_.push_back(block);
    return {};
  }
  return free_block(block);
}

Status FlashStore::release_pending() {
  hold_releases_ = false;
  for (const uint32_t block : pending_) {
    CUCKOO_TRY(release_if_dead(block));
  }
  pending_.clear();
  return {};
}

Status FlashStore::kill(uint32_t position, uint32_t units) {
  const uint32_t block = locate(position).block;
  blocks_.remove_live(block, units);
  return release_if_dead(block);
}

size_t FlashStore::mark() {
  marks_.push_back({index_.mark(), blocks_.mark(), blocks_.epoch(), s_});
  return marks_.size() - 1;
}

void FlashStore::undo_to(size_t number) noexcept {
  const Mark& mark = marks_[number];
  try {
    index_.undo_to(mark.index_place);
    blocks_.undo_to(mark.block_changes, mark.epoch);
    const uint64_t record_reads = s_.stats.record_reads;
    const uint64_t false_reads = s_.stats.false_reads;
    s_ = mark.state;
    s_.stats.record_reads = record_reads;
    s_.stats.false_reads = false_reads;
    marks_.resize(number + 1);
  } catch (const std::bad_alloc&) {
    poisoned_ = true;
  }
}

void FlashStore::release(size_t number) noexcept {
  marks_.resize(std::min(number, marks_.size()));
  if (marks_.empty()) {
    index_.forget_marks();
    blocks_.forget_marks();
  }
}

// --- reading -------------------------------------------------------------------------------------

Result<std::optional<FlashStore::Found>> FlashStore::look_up(std::span<const std::byte> key,
                                                             uint32_t hash) {
  std::optional<Found> found;
  Status status;
  index_.find(hash, [&](uint32_t position) {
    ++s_.stats.record_reads;
    Record record;
    status = load(position, record);
    if (!status.ok()) {
      return true;
    }
    if (!record.header.is_entry() || !std::ranges::equal(record.key, key)) {
      ++s_.stats.false_reads;
      return false;
    }
    found = Found{{record.header.lsn, position, record.header.total_value_bytes}, hash, key.size()};
    return true;
  });
  if (!status.ok()) {
    return status;
  }
  return found;
}

Result<std::optional<FlashEntry>> FlashStore::find(std::span<const std::byte> key) {
  Result<std::optional<Found>> found = look_up(key, index_.hash_of(key));
  if (!found.ok()) {
    return found.take_status();
  }
  if (!found.value()) {
    return std::optional<FlashEntry>();
  }
  return std::optional<FlashEntry>(found.value()->entry);
}

Result<uint32_t> FlashStore::find_part(uint64_t lsn, uint32_t offset, Record* record) {
  uint32_t found = 0;
  Status status;
  Record own;
  index_.find(index_.part_hash(lsn, offset), [&](uint32_t position) {
    ++s_.stats.record_reads;
    status = load(position, own);
    if (!status.ok()) {
      return true;
    }
    if (own.header.type != FlashRecordType::kPart || own.header.lsn != lsn ||
        own.header.offset() != offset) {
      ++s_.stats.false_reads;
      return false;
    }
    found = position;
    return true;
  });
  CUCKOO_TRY(std::move(status));
  if (found == 0) {
    return corrupt("the part at byte " + std::to_string(offset) + " of the value with seq " +
                   std::to_string(lsn) + " is missing");
  }
  if (record != nullptr) {
    *record = own;
  }
  return found;
}

Status FlashStore::read_value(const FlashEntry& entry, const Record& head,
                              std::vector<std::byte>& value) {
  value.clear();
  value.reserve(std::min<uint64_t>(entry.value_bytes, geometry().size_bytes()));
  value.assign(head.value.begin(), head.value.end());
  while (value.size() < entry.value_bytes) {
    Record part;
    Result<uint32_t> found = find_part(entry.lsn, static_cast<uint32_t>(value.size()), &part);
    CUCKOO_TRY(found.take_status());
    if (part.value.empty() || part.value.size() > entry.value_bytes - value.size()) {
      return corrupt("a part of the value with seq " + std::to_string(entry.lsn) +
                     " has a wrong length");
    }
    value.insert(value.end(), part.value.begin(), part.value.end());
  }
  return {};
}

Result<bool> FlashStore::get(std::span<const std::byte> key, std::vector<std::byte>& value) {
  Result<std::optional<Found>> found = look_up(key, index_.hash_of(key));
  if (!found.ok()) {
    return found.take_status();
  }
  if (!found.value()) {
    return false;
  }
  // look_up() left the head in memory.
  Record head;
  head.header.value_bytes = 0;
  const FlashEntry entry = found.value()->entry;
  FlashRecordHeader header;
  header.type = pieces().single(key.size(), entry.value_bytes) ? FlashRecordType::kPut
                                                               : FlashRecordType::kHead;
  header.key_bytes = static_cast<uint16_t>(key.size());
  const size_t first = pieces().first_bytes(key.size(), entry.value_bytes);
  head.value = std::span<const std::byte>(record_bytes_).subspan(header.head_bytes(), first);
  CUCKOO_TRY(read_value(entry, head, value));
  return true;
}

Result<bool> FlashStore::read(FlashEntry& entry, uint32_t hash, std::vector<std::byte>& key,
                              std::vector<std::byte>* value) {
  const auto take = [&](const Record& record) -> Status {
    key.assign(record.key.begin(), record.key.end());
    entry.value_bytes = record.header.total_value_bytes;
    return value == nullptr ? Status{} : read_value(entry, record, *value);
  };
  bool found = false;
  Status status;
  index_.find(hash, [&](uint32_t position) {
    Record record;
    status = load(position, record);
    if (!status.ok()) {
      return true;
    }
    if (!record.header.is_entry() || record.header.lsn != entry.lsn) {
      return false;
    }
    entry.position = position;
    status = take(record);
    found = true;
    return true;
  });
  CUCKOO_TRY(std::move(status));
  return found;
}

Result<std::vector<FlashStore::Listed>> FlashStore::entries() {
  // In the order of positions, so that every page of the device is read once.
  std::vector<std::pair<uint32_t, uint32_t>> slots;
  slots.reserve(index_.size());
  index_.for_each([&](uint32_t hash, uint32_t position) { slots.emplace_back(position, hash); });
  std::ranges::sort(slots);
  std::vector<Listed> all;
  all.reserve(s_.heads);
  for (const auto& [position, hash] : slots) {
    Scanned head;
    Result<bool> there = load_head(position, head);
    CUCKOO_TRY(there.take_status());
    if (!there.value() || head.hash != hash) {
      return corrupt("no record at unit " + std::to_string(position));
    }
    if (head.header.is_entry()) {
      all.push_back({{head.header.lsn, position, head.header.total_value_bytes}, hash});
    }
  }
  std::ranges::sort(all, {}, [](const Listed& listed) { return listed.entry.lsn; });
  return all;
}

// --- changing ------------------------------------------------------------------------------------

Status FlashStore::put(std::span<const std::byte> key, std::span<const std::byte> value) {
  const Change change{key, value};
  return write({&change, 1});
}

Result<bool> FlashStore::remove(std::span<const std::byte> key) {
  const uint64_t before = size();
  const Change change{key, std::nullopt};
  CUCKOO_TRY(write({&change, 1}));
  return size() < before;
}

// Also whether the batch's charges leave room. A key named again is charged for each time.
Result<FlashStore::Plan> FlashStore::plan(std::span<const Change> batch) {
  const FlashPieces cut = pieces();
  Plan plan;
  uint64_t added = 0;
  uint64_t replaced = 0;
  std::unordered_set<uint32_t> seen;  // hashes of the keys, when there are several
  for (const Change& change : batch) {
    const uint64_t value_bytes = change.value ? change.value->size() : 0;
    const Result<uint64_t> charged_now = charge(change.key.size(), value_bytes);
    if (!charged_now.ok()) {
      return charged_now.error();
    }
    const uint32_t hash = index_.hash_of(change.key);
    Result<std::optional<Found>> old = look_up(change.key, hash);
    CUCKOO_TRY(old.take_status());
    if (old.value()) {
      const uint64_t old_bytes = old.value()->entry.value_bytes;
      const uint64_t old_parts = cut.parts(change.key.size(), old_bytes);
      plan.units += cut.drop_units(old_parts);
      plan.records += static_cast<uint32_t>(cut.drops(old_parts));
      const Result<uint64_t> charged_before = charge(change.key.size(), old_bytes);
      if (!charged_before.ok()) {
        return charged_before.error();
      }
      if (batch.size() == 1 || seen.insert(hash).second) {
        replaced += charged_before.value();
      }
    }
    if (&change == batch.data()) {
      plan.first = old.value();
    }
    plan.units += charged_now.value() + 1;  // at least those of a tombstone, too
    plan.records += static_cast<uint32_t>(cut.parts(change.key.size(), value_bytes)) + 1;
    added += change.value ? charged_now.value() : 0;
  }
  const uint64_t charged = s_.charged_units - std::min(s_.charged_units, replaced);
  if (added > 0) {
    CUCKOO_TRY(expect_room(charged, added, plan.units));
  }
  return plan;
}

// `charged` units stay, `added` come, and until that is complete `appended` stand beside all.
Status FlashStore::expect_room(uint64_t charged, uint64_t added, uint64_t appended) const {
  const auto fits = [&](uint64_t usable) {
    return charged + added <= usable && s_.charged_units + appended <= usable + in_flight_units();
  };
  const uint64_t usable = usable_units();
  if (fits(usable)) {
    return {};
  }
  const auto bytes = [this](uint64_t units) { return std::to_string(units * unit_bytes()); };
  const auto taken = [&](uint64_t units) {
    return ": " + bytes(units) + " of " + bytes(usable) + " usable bytes are taken";
  };
  std::string text =
      charged + added > usable
          ? bytes(added) + " bytes more don't fit" + taken(charged)
          : bytes(appended) + " bytes don't fit beside what they replace" + taken(s_.charged_units);
  return fits(usable_units(0)) ? worn_out_error(text) : Error{ErrorCode::kFull, std::move(text)};
}

Status FlashStore::write(std::span<const Change> batch) {
  if (poisoned_) {
    return writable();
  }
  Result<Plan> planned = plan(batch);
  CUCKOO_TRY(planned.take_status());
  if (batch.size() == 1 && !batch[0].value && !planned.value().first) {
    return {};  // a key that is not there
  }
  CUCKOO_TRY(writable());
  const uint64_t collections = s_.stats.collections;
  CUCKOO_TRY(ensure_room(planned.value().units, planned.value().records));
  // What the first change replaces is known, unless a collection may have moved it.
  Result<std::optional<Found>> old = planned.value().first;
  bool known = s_.stats.collections == collections;
  hold_releases_ = true;
  for (size_t i = 0; i < batch.size(); ++i) {
    if (!known) {
      old = look_up(batch[i].key, index_.hash_of(batch[i].key));
      CUCKOO_TRY(fail(old.take_status()));
    }
    known = false;
    CUCKOO_TRY(fail(write_one(batch[i], old.value(), i + 1 == batch.size())));
  }
  CUCKOO_TRY(fail(release_pending()));
  if (options_.automatic_checkpoints && checkpoint_due()) {
    CUCKOO_TRY(checkpoint());
  }
  return {};
}

Status FlashStore::append_drops(const Found& old, uint64_t lsn) {
  const FlashPieces cut = pieces();
  uint32_t offset = cut.first_bytes(old.key_bytes, old.entry.value_bytes);
  std::vector<std::byte> body;
  while (offset < old.entry.value_bytes) {
    body.assign(kFlashDropHeaderBytes, std::byte{0});
    store_le(&body[0], static_cast<uint32_t>(old.entry.lsn));
    store_le(&body[4], static_cast<uint16_t>(old.entry.lsn >> 32));
    store_le(&body[6], offset);
    for (uint32_t i = 0; i < cut.positions_per_drop() && offset < old.entry.value_bytes; ++i) {
      Result<uint32_t> part = find_part(old.entry.lsn, offset, nullptr);
      CUCKOO_TRY(part.take_status());
      body.resize(body.size() + 4);
      store_le(&body[body.size() - 4], part.value());
      offset += cut.part_bytes();
    }
    Scanned drop;
    drop.header.type = FlashRecordType::kDrop;
    drop.header.lsn = lsn;
    drop.header.value_bytes = static_cast<uint32_t>(body.size());
    drop.header.previous_value_bytes = static_cast<uint32_t>(old.entry.value_bytes);
    Result<uint32_t> position = append(s_.streams.hot, FlashPurpose::kHot, drop.header, {}, body);
    CUCKOO_TRY(position.take_status());
    drop.drop = body;
    CUCKOO_TRY(apply_drop(drop));
  }
  return {};
}

Status FlashStore::append_parts(const Change& change, uint64_t lsn, uint32_t first, bool last) {
  const uint32_t part_bytes = pieces().part_bytes();
  const std::span<const std::byte> value = *change.value;
  for (size_t offset = first; offset < value.size(); offset += part_bytes) {
    const std::span<const std::byte> part =
        value.subspan(offset, std::min<size_t>(part_bytes, value.size() - offset));
    Scanned record;
    record.header.type = FlashRecordType::kPart;
    record.header.lsn = lsn;
    record.header.value_bytes = static_cast<uint32_t>(part.size());
    record.header.previous_value_bytes = static_cast<uint32_t>(offset);
    record.header.last_of_batch = last && offset + part.size() == value.size();
    Result<uint32_t> position = append(s_.streams.hot, FlashPurpose::kHot, record.header, {}, part);
    CUCKOO_TRY(position.take_status());
    record.position = position.value();
    record.hash = index_.part_hash(lsn, static_cast<uint32_t>(offset));
    CUCKOO_TRY(apply(record));
  }
  return {};
}

// Drops first, then the record that replaces or removes, then the parts: what is dropped is found
// by its position, and the newest parts are the only ones of their LSN.
Status FlashStore::write_one(const Change& change, const std::optional<Found>& old, bool last) {
  if (!old && !change.value && !last) {
    return {};
  }
  const FlashPieces cut = pieces();
  const uint64_t lsn = s_.next_lsn;
  Scanned record;
  record.header.lsn = lsn;
  record.header.key_bytes = static_cast<uint16_t>(change.key.size());
  record.header.type = FlashRecordType::kTombstone;
  record.hash = old ? old->hash : index_.hash_of(change.key);
  if (old) {
    CUCKOO_TRY(append_drops(*old, lsn));
    record.header.previous = old->entry.position;
    record.header.previous_value_bytes = static_cast<uint32_t>(old->entry.value_bytes);
  }
  std::span<const std::byte> value;
  bool has_parts = false;
  if (change.value) {
    const uint32_t first = cut.first_bytes(change.key.size(), change.value->size());
    value = change.value->first(first);
    has_parts = first < change.value->size();
    record.header.type = has_parts ? FlashRecordType::kHead : FlashRecordType::kPut;
  }
  record.header.value_bytes = static_cast<uint32_t>(value.size());
  record.header.total_value_bytes = static_cast<uint32_t>(change.value ? change.value->size() : 0);
  record.header.last_of_batch = last && !has_parts;
  Result<uint32_t> position =
      append(s_.streams.hot, FlashPurpose::kHot, record.header, change.key, value);
  CUCKOO_TRY(position.take_status());
  record.position = position.value();
  CUCKOO_TRY(apply(record));
  if (has_parts) {
    CUCKOO_TRY(append_parts(change, lsn, record.header.value_bytes, last));
  }
  s_.stats.user_bytes += change.key.size() + (change.value ? change.value->size() : 0);
  return {};
}

// --- what a record does to the index, when it is appended and when it is replayed ----------------

Status FlashStore::apply(const Scanned& record) {
  const FlashRecordHeader& header = record.header;
  const FlashPieces cut = pieces();
  if (header.type == FlashRecordType::kDrop) {
    return apply_drop(record);
  }
  s_.next_lsn = std::max(s_.next_lsn, header.lsn + 1);
  const uint32_t block = locate(record.position).block;
  if (header.type == FlashRecordType::kPart) {
    index_.insert(record.hash, record.position);
    blocks_.add_live(block, header.units(unit_bytes()));
    return {};
  }
  if (header.previous != 0) {
    const uint32_t units = cut.first_units(header.key_bytes, header.previous_value_bytes);
    const bool known = header.type == FlashRecordType::kTombstone
                           ? index_.remove(record.hash, header.previous)
                           : index_.replace(record.hash, header.previous, record.position);
    const Result<uint64_t> charged = charge(header.key_bytes, header.previous_value_bytes);
    if (!known || !charged.ok() || charged.value() > s_.charged_units ||
        blocks_.at(locate(header.previous).block).live_units < units) {
      return corrupt("the record at unit " + std::to_string(record.position) +
                     " replaces one that is not there");
    }
    s_.charged_units -= charged.value();
    s_.heads -= header.type == FlashRecordType::kTombstone ? 1 : 0;
    CUCKOO_TRY(kill(header.previous, units));
  } else if (header.type != FlashRecordType::kTombstone) {
    index_.insert(record.hash, record.position);
    ++s_.heads;
  }
  if (header.type != FlashRecordType::kTombstone) {
    blocks_.add_live(block, header.units(unit_bytes()));
    const Result<uint64_t> charged = charge(header.key_bytes, header.total_value_bytes);
    if (!charged.ok()) {
      return charged.error();
    }
    s_.charged_units += charged.value();
  }
  return {};
}

Status FlashStore::apply_drop(const Scanned& record) {
  const FlashPieces cut = pieces();
  const std::span<const std::byte> body = record.drop;
  const Error broken = corrupt("the drop at unit " + std::to_string(record.position) +
                               " names a part that is not there");
  if (body.size() < kFlashDropHeaderBytes || (body.size() - kFlashDropHeaderBytes) % 4 != 0) {
    return broken;
  }
  const uint64_t lsn = load_le<uint32_t>(&body[0]) | uint64_t{load_le<uint16_t>(&body[4])} << 32;
  uint64_t offset = load_le<uint32_t>(&body[6]);
  const uint64_t total = record.header.previous_value_bytes;
  for (size_t at = kFlashDropHeaderBytes; at < body.size(); at += 4) {
    const auto position = load_le<uint32_t>(&body[at]);
    if (offset >= total) {
      return broken;
    }
    const uint32_t units = cut.part_units(std::min<uint64_t>(cut.part_bytes(), total - offset));
    if (!index_.remove(index_.part_hash(lsn, static_cast<uint32_t>(offset)), position) ||
        blocks_.at(locate(position).block).live_units < units) {
      return broken;
    }
    CUCKOO_TRY(kill(position, units));
    offset += cut.part_bytes();
  }
  return {};
}

}  // namespace cuckoo
