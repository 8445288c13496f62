#include "core/flash/store.hpp"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/flash/mount.hpp"
#include "core/flash/replay.hpp"

namespace cuckoo::core {

FlashStore::FlashStore(FlashDevice& device, const FlashStoreOptions& options)
    : device_(device),
      options_(options),
      state_(device, options),
      log_(device, state_),
      anchors_(state_, log_),
      checkpointer_(state_, log_, anchors_),
      collector_(state_, log_, checkpointer_) {}

// --- memory and device ---------------------------------------------------------------------------

void FlashStore::reset() {
  state_.reset();
  mounted_ = worn_out_ = false;
  mount_read_bytes_ = 0;
}

Status FlashStore::format() {
  CUCKOO_TRY(check_geometry(device_.geometry()));
  reset();
  CUCKOO_TRY(FlashMount(state_, log_, anchors_, checkpointer_).format());
  mounted_ = true;
  return {};
}

Status FlashStore::mount() {
  CUCKOO_TRY(check_geometry(device_.geometry()));
  reset();
  const uint64_t read_before = log_.read_bytes();
  FlashMount mount(state_, log_, anchors_, checkpointer_);
  Status mounted = mount.mount();
  mount_read_bytes_ = log_.read_bytes() - read_before;
  if (mounted.ok()) {
    state_.index.share();
  }
  mounted_ = mounted.ok();
  worn_out_ = mount.worn_out();
  state_.set_poisoned(!mounted.ok());
  return mounted;
}

Result<bool> FlashStore::follow(uint64_t state) {
  if (!mounted_ || state_.poisoned() || !state_.policy.mount_only_reads() || marks() != 0) {
    return false;
  }
  mounted_ = false;
  const FlashState::Replaying replaying(state_);
  Status replayed = FlashReplay(state_, log_, {}, {}).run();
  if (!replayed.ok() && replayed.error().code == ErrorCode::kStorage) {
    return replayed;
  }
  mounted_ = replayed.ok() && state_.now.digest == state;
  return mounted_;
}

Status FlashStore::writable() const {
  if (worn_out_) {
    return state_.full("no block can be freed");
  }
  return state_.poisoned()
             ? Status(Error{ErrorCode::kStorage, "a change failed half-way; mount again"})
             : Status();
}

bool FlashStore::checkpoint_due() const noexcept { return checkpointer_.due(); }

Status FlashStore::checkpoint() {
  CUCKOO_TRY(writable());
  return checkpointer_.checkpoint();
}

Status FlashStore::sync() { return state_.poisoned() ? writable() : state_.fail(log_.sync()); }

Status FlashStore::collect() {
  CUCKOO_TRY(writable());
  return collector_.collect_all();
}

Status FlashStore::clear() {
  CUCKOO_TRY(writable());
  return checkpointer_.clear();
}

// --- reading -------------------------------------------------------------------------------------

namespace {

std::byte first_of(const FlashLoadedRecord& head) noexcept {
  return head.value.empty() ? std::byte{} : head.value.front();
}

}  // namespace

Result<std::optional<FlashEntry>> FlashStore::look_up(const HashedKey& key,
                                                      FlashLoadedRecord* head) {
  std::optional<FlashEntry> found;
  CUCKOO_TRY(state_.index.fetch(key.hash));
  FlashLoadedRecord record;
  Status status;
  state_.index.find(key.hash, [&](uint32_t position) {
    ++state_.now.stats.record_reads;
    status = log_.load(position, record);
    if (!status.ok()) {
      return true;
    }
    if (!record.header.is_entry() || !equal_bytes(record.key, key.bytes)) {
      ++state_.now.stats.false_reads;
      return false;
    }
    found = {record.header.lsn, position, record.header.total_value_bytes, first_of(record)};
    return true;
  });
  if (!status.ok()) {
    return status;
  }
  if (head != nullptr) {
    *head = record;
  }
  return found;
}

Result<std::optional<FlashEntry>> FlashStore::find(const HashedKey& key) { return look_up(key); }

Result<uint32_t> FlashStore::find_part(uint64_t lsn, uint32_t offset, FlashLoadedRecord* part) {
  const uint32_t hash = state_.index.part_hash(lsn, offset);
  CUCKOO_TRY(state_.index.fetch(hash));
  uint32_t found = 0;
  FlashLoadedRecord record;
  Status status;
  state_.index.find(hash, [&](uint32_t position) {
    ++state_.now.stats.record_reads;
    status = log_.load(position, record);
    if (!status.ok()) {
      return true;
    }
    if (record.header.type != FlashRecordType::kPart || record.header.lsn != lsn ||
        record.header.offset() != offset) {
      ++state_.now.stats.false_reads;
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
  if (part != nullptr) {
    *part = record;
  }
  return found;
}

Status FlashStore::read_value(const FlashEntry& entry, const FlashLoadedRecord& head,
                              std::vector<std::byte>& value) {
  value.clear();
  value.reserve(std::min<uint64_t>(entry.value_bytes, geometry().size_bytes()));
  value.assign(head.value.begin(), head.value.end());
  while (value.size() < entry.value_bytes) {
    FlashLoadedRecord part;
    CUCKOO_TRY(find_part(entry.lsn, static_cast<uint32_t>(value.size()), &part).take_status());
    if (part.value.empty() || part.value.size() > entry.value_bytes - value.size()) {
      return corrupt("a part of the value with seq " + std::to_string(entry.lsn) +
                     " has a wrong length");
    }
    value.insert(value.end(), part.value.begin(), part.value.end());
  }
  return {};
}

Result<bool> FlashStore::get(const HashedKey& key, std::vector<std::byte>& value) {
  FlashLoadedRecord head;
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<FlashEntry> found, look_up(key, &head));
  if (!found) {
    return false;
  }
  CUCKOO_TRY(read_value(*found, head, value));
  return true;
}

Result<bool> FlashStore::read(FlashEntry& entry, uint32_t hash, std::vector<std::byte>& key,
                              std::vector<std::byte>* value) {
  CUCKOO_TRY(state_.index.fetch(hash));
  bool found = false;
  FlashLoadedRecord record;
  Status status;
  state_.index.find(hash, [&](uint32_t position) {
    status = log_.load(position, record);
    if (!status.ok()) {
      return true;
    }
    found = record.header.is_entry() && record.header.lsn == entry.lsn;
    if (found) {
      entry.position = position;
    }
    return found;
  });
  CUCKOO_TRY(std::move(status));
  if (!found) {
    return false;
  }
  key.assign(record.key.begin(), record.key.end());
  entry.value_bytes = record.header.total_value_bytes;
  entry.first_byte = first_of(record);
  if (value != nullptr) {
    CUCKOO_TRY(read_value(entry, record, *value));
  }
  return true;
}

Result<std::vector<FlashStore::Listed>> FlashStore::entries() {
  CUCKOO_TRY(state_.index.load_all());
  std::vector<Listed> all;
  all.reserve(state_.now.heads);
  for (const auto& [position, hash] : state_.index.by_position()) {
    FlashLogRecord head;
    CUCKOO_ASSIGN_OR_RETURN(const bool there, log_.read_head(position, head));
    if (!there || head.hash != hash) {
      return corrupt("no record at unit " + std::to_string(position));
    }
    if (head.header.is_entry()) {
      all.push_back({{head.header.lsn, position, head.header.total_value_bytes, {}}, hash});
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Listed& a, const Listed& b) { return a.entry.lsn < b.entry.lsn; });
  return all;
}

FlashEntry FlashStore::entry_at(const FlashScan& scan) noexcept {
  const FlashLoadedRecord& head = scan.record();
  return {head.header.lsn, scan.position(), head.header.total_value_bytes, first_of(head)};
}

Status FlashStore::value_at(const FlashScan& scan, std::vector<std::byte>& value) {
  return read_value(entry_at(scan), scan.record(), value);
}

// --- changing ------------------------------------------------------------------------------------

Status FlashStore::put(std::span<const std::byte> key, std::span<const std::byte> value) {
  const Change change{hashed(key), value};
  return write({&change, 1});
}

Result<bool> FlashStore::insert(const HashedKey& key, std::span<const std::byte> value) {
  if (state_.poisoned()) {
    return writable().error();
  }
  const Change change{key, value};
  CUCKOO_ASSIGN_OR_RETURN(const Need need, need_of({&change, 1}, IfPresent::kRefuse));
  if (need.first.old) {
    return false;
  }
  CUCKOO_TRY(carry_out({&change, 1}, need));
  return true;
}

Result<bool> FlashStore::remove(std::span<const std::byte> key) {
  const uint64_t before = size();
  const Change change{hashed(key), std::nullopt};
  CUCKOO_TRY(write({&change, 1}));
  return size() < before;
}

// Also returns kFull if there is no room for the batch. A key that the batch names several times is
// charged each time.
Result<FlashStore::Need> FlashStore::need_of(std::span<const Change> batch, IfPresent if_present) {
  const FlashPieces cut = state_.layout.pieces();
  Need need;
  uint64_t added = 0;
  uint64_t replaced = 0;
  std::unordered_set<uint32_t> seen;  // hashes of the keys, when there are several
  for (const Change& change : batch) {
    const size_t key_bytes = change.key.bytes.size();
    const uint64_t value_bytes = change.value ? change.value->size() : 0;
    Found one;
    CUCKOO_ASSIGN_OR_RETURN(one.charged, charge(key_bytes, value_bytes));
    CUCKOO_ASSIGN_OR_RETURN(one.old, look_up(change.key));
    if (one.old) {
      const uint64_t old_bytes = one.old->value_bytes;
      const uint64_t old_parts = cut.parts(key_bytes, old_bytes);
      need.units += cut.drop_units(old_parts);
      need.records += static_cast<uint32_t>(cut.drops(old_parts));
      CUCKOO_ASSIGN_OR_RETURN(one.charged_before, charge(key_bytes, old_bytes));
      if (batch.size() == 1 || seen.insert(change.key.hash).second) {
        replaced += one.charged_before;
      }
    }
    if (&change == batch.data()) {
      need.first = one;
      if (one.old && if_present == IfPresent::kRefuse) {
        return need;
      }
    }
    need.units += one.charged + 1;  // at least those of a tombstone, too
    need.records += static_cast<uint32_t>(cut.parts(key_bytes, value_bytes)) + 1;
    added += change.value ? one.charged : 0;
  }
  const uint64_t charged = state_.now.charged_units - std::min(state_.now.charged_units, replaced);
  if (added > 0) {
    CUCKOO_TRY(expect_room(charged, added, need.units));
  }
  return need;
}

// Returns kFull unless `charged` + `added` units fit, and the `appended` units fit beside the units
// that they replace.
Status FlashStore::expect_room(uint64_t charged, uint64_t added, uint64_t appended) const {
  const auto fits = [&](uint64_t usable) {
    return charged + added <= usable &&
           state_.now.charged_units + appended <= usable + in_flight_units();
  };
  const uint64_t usable = usable_units();
  if (fits(usable)) {
    return {};
  }
  const auto bytes = [this](uint64_t units) {
    return std::to_string(units * state_.layout.unit_bytes());
  };
  const auto taken = [&](uint64_t units) {
    return ": " + bytes(units) + " of " + bytes(usable) + " usable bytes are taken";
  };
  std::string text = charged + added > usable
                         ? bytes(added) + " bytes more don't fit" + taken(charged)
                         : bytes(appended) + " bytes don't fit beside what they replace" +
                               taken(state_.now.charged_units);
  return fits(state_.layout.usable_units(0)) ? state_.full(text)
                                             : Error{ErrorCode::kFull, std::move(text)};
}

Status FlashStore::write(std::span<const Change> batch) {
  if (state_.poisoned()) {
    return writable();
  }
  CUCKOO_ASSIGN_OR_RETURN(const Need need, need_of(batch));
  if (batch.size() == 1 && !batch[0].value && !need.first.old) {
    return {};  // a key that is not there
  }
  return carry_out(batch, need);
}

Status FlashStore::carry_out(std::span<const Change> batch, const Need& need) {
  CUCKOO_TRY(writable());
  const uint64_t collections = state_.now.stats.collections;
  CUCKOO_TRY(collector_.make_room(need.units, need.records));
  // The entry that the first change replaces is known, unless a collection may have moved it.
  Found one = need.first;
  bool known = state_.now.stats.collections == collections;
  state_.hold_releases();
  for (size_t i = 0; i < batch.size(); ++i) {
    if (!known) {
      Result<std::optional<FlashEntry>> old = look_up(batch[i].key);
      CUCKOO_TRY(state_.fail(old.take_status()));
      one = {.old = old.value()};
    }
    known = false;
    CUCKOO_TRY(state_.fail(write_one(batch[i], one, i + 1 == batch.size())));
  }
  CUCKOO_TRY(state_.fail(state_.release_held()));
  if (options_.automatic_checkpoints && checkpoint_due()) {
    CUCKOO_TRY(checkpoint());
  }
  return {};
}

Status FlashStore::append_drops(size_t key_bytes, const FlashEntry& old, uint64_t lsn) {
  const FlashPieces cut = state_.layout.pieces();
  uint32_t offset = cut.first_bytes(key_bytes, old.value_bytes);
  std::vector<std::byte> body;
  while (offset < old.value_bytes) {
    body.assign(kFlashDropHeaderBytes, std::byte{0});
    store_le48(&body[0], old.lsn);
    store_le(&body[6], offset);
    for (uint32_t i = 0; i < cut.positions_per_drop() && offset < old.value_bytes; ++i) {
      CUCKOO_ASSIGN_OR_RETURN(const uint32_t part, find_part(old.lsn, offset));
      body.resize(body.size() + 4);
      store_le(&body[body.size() - 4], part);
      offset += cut.part_bytes();
    }
    FlashLogRecord drop;
    drop.header = FlashRecordHeader::drop(lsn, static_cast<uint32_t>(old.value_bytes),
                                          static_cast<uint32_t>(body.size()));
    CUCKOO_TRY(log_.append_hot(drop.header, {}, body).take_status());
    drop.drop = body;
    CUCKOO_TRY(state_.apply(drop));
  }
  return {};
}

Status FlashStore::append_parts(const Change& change, uint64_t lsn, uint32_t first, bool last) {
  const uint32_t part_bytes = state_.layout.pieces().part_bytes();
  const std::span<const std::byte> value = *change.value;
  for (size_t offset = first; offset < value.size(); offset += part_bytes) {
    const std::span<const std::byte> part =
        value.subspan(offset, std::min<size_t>(part_bytes, value.size() - offset));
    FlashLogRecord record;
    record.header = FlashRecordHeader::part(lsn, static_cast<uint32_t>(offset),
                                            static_cast<uint32_t>(part.size()));
    record.header.last_of_batch = last && offset + part.size() == value.size();
    CUCKOO_ASSIGN_OR_RETURN(record.position, log_.append_hot(record.header, {}, part));
    record.hash = state_.index.part_hash(lsn, static_cast<uint32_t>(offset));
    CUCKOO_TRY(state_.apply(record));
  }
  return {};
}

// Appends the drops first, then the record that replaces or removes, then the parts. The drops name
// the old parts by their positions. The new parts are the only ones of their LSN.
Status FlashStore::write_one(const Change& change, const Found& found, bool last) {
  const std::optional<FlashEntry>& old = found.old;
  const std::span<const std::byte> key = change.key.bytes;
  if (!old && !change.value && !last) {
    return {};
  }
  const FlashPieces cut = state_.layout.pieces();
  const uint64_t lsn = state_.now.next_lsn;
  FlashLogRecord record;
  record.header.lsn = lsn;
  record.header.key_bytes = static_cast<uint16_t>(key.size());
  record.header.type = FlashRecordType::kTombstone;
  record.hash = change.key.hash;
  record.charged = found.charged;
  record.charged_before = found.charged_before;
  if (old) {
    CUCKOO_TRY(append_drops(key.size(), *old, lsn));
    record.header.set_replaced(old->position, static_cast<uint32_t>(old->value_bytes));
  }
  std::span<const std::byte> value;
  bool has_parts = false;
  if (change.value) {
    const uint32_t first = cut.first_bytes(key.size(), change.value->size());
    value = change.value->first(first);
    has_parts = first < change.value->size();
    record.header.type = has_parts ? FlashRecordType::kHead : FlashRecordType::kPut;
  }
  record.header.value_bytes = static_cast<uint32_t>(value.size());
  record.header.total_value_bytes = static_cast<uint32_t>(change.value ? change.value->size() : 0);
  record.header.last_of_batch = last && !has_parts;
  CUCKOO_ASSIGN_OR_RETURN(record.position, log_.append_hot(record.header, key, value));
  CUCKOO_TRY(state_.apply(record));
  if (has_parts) {
    CUCKOO_TRY(append_parts(change, lsn, record.header.value_bytes, last));
  }
  state_.now.stats.user_bytes += key.size() + (change.value ? change.value->size() : 0);
  return {};
}

}  // namespace cuckoo::core
