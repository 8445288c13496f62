// FlashStore: how it changes its entries.
#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/flash/store.hpp"

namespace cuckoo::core {

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
  Result<Need> need = need_as_found(batch, if_present);
  if (need.ok() || need.error().code != ErrorCode::kCorrupt) {
    return need;
  }
  CUCKOO_TRY(writable());
  CUCKOO_TRY(healer_.heal());
  return need_as_found(batch, if_present);
}

Result<FlashStore::Need> FlashStore::need_as_found(std::span<const Change> batch,
                                                   IfPresent if_present) {
  const FlashPieces cut = state_.layout.pieces();
  Need need;
  uint64_t added = 0;
  uint64_t replaced = 0;
  std::unordered_set<uint32_t> seen;  // hashes of the keys, when there are several
  for (const Change& change : batch) {
    const size_t key_bytes = change.key.bytes.size();
    const uint64_t value_bytes = change.value ? change.value->size() : 0;
    CUCKOO_ASSIGN_OR_RETURN(const uint64_t charged, charge(key_bytes, value_bytes));
    CUCKOO_ASSIGN_OR_RETURN(Found one, seek(change.key));
    one.charged = charged;
    if (one.old && one.old->lsn != 0) {
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
  const uint64_t checkpoints = state_.now.checkpoint_id;
  CUCKOO_TRY(collector_.make_room(need.units, need.records));
  // The entry that the first change replaces is known, unless a collection, or the healer with its
  // checkpoint, may have moved it.
  Found one = need.first;
  bool known =
      state_.now.stats.collections == collections && state_.now.checkpoint_id == checkpoints;
  state_.hold_releases();
  for (size_t i = 0; i < batch.size(); ++i) {
    if (!known) {
      Result<Found> found = seek(batch[i].key);
      CUCKOO_TRY(state_.fail(found.take_status()));
      one = std::move(found.value());
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

Status FlashStore::append_drops(size_t key_bytes, const Found& found, uint64_t lsn) {
  const FlashEntry& old = *found.old;
  const FlashPieces cut = state_.layout.pieces();
  uint32_t offset = cut.first_bytes(key_bytes, old.value_bytes);
  std::vector<std::byte> body;
  for (size_t next = 0; next < found.parts.size();) {
    body.assign(kFlashDropHeaderBytes, std::byte{0});
    store_le48(&body[0], old.lsn);
    store_le(&body[6], offset);
    for (uint32_t i = 0; i < cut.positions_per_drop() && next < found.parts.size(); ++i) {
      body.resize(body.size() + 4);
      store_le(&body[body.size() - 4], found.parts[next++]);
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
    CUCKOO_TRY(append_drops(key.size(), found, lsn));
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
