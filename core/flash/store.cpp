#include "core/flash/store.hpp"

#include <algorithm>
#include <string>
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
      healer_(state_, log_, checkpointer_),
      collector_(state_, log_, checkpointer_, healer_) {}

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

// A damaged record may be that of the key, unless another record is.
Result<std::optional<FlashEntry>> FlashStore::look_up(const HashedKey& key, Damaged damaged,
                                                      FlashLoadedRecord* head) {
  std::optional<FlashEntry> found;
  CUCKOO_ASSIGN_OR_RETURN(const FlashIndex::Fetched& fetched, state_.index.fetch(key.hash));
  FlashLoadedRecord record;
  Status failed;
  uint32_t damage = 0;
  state_.index.find(fetched, [&](uint32_t position) {
    ++state_.now.stats.record_reads;
    if (Status loaded = log_.load(position, record); !loaded.ok()) {
      failed = std::move(loaded);
      damage = position;
      return failed.error().code != ErrorCode::kCorrupt;
    }
    if (!record.header.is_entry() || !equal_bytes(record.key, key.bytes)) {
      ++state_.now.stats.false_reads;
      return false;
    }
    found = {record.header.lsn, position, record.header.total_value_bytes, first_of(record)};
    return true;
  });
  if (!found && !failed.ok()) {
    if (damaged == Damaged::kRefuse || failed.error().code != ErrorCode::kCorrupt) {
      return failed;
    }
    found = FlashEntry{.position = damage};
  }
  if (head != nullptr) {
    *head = record;
  }
  return found;
}

Result<std::optional<FlashEntry>> FlashStore::find(const HashedKey& key) {
  return look_up(key, Damaged::kRefuse);
}

Result<std::optional<FlashEntry>> FlashStore::find_damaged_too(const HashedKey& key) {
  return look_up(key, Damaged::kGive);
}

namespace {

Error lacks_part(uint64_t lsn, uint32_t offset) {
  return corrupt("the part at byte " + std::to_string(offset) + " of the value with seq " +
                 std::to_string(lsn) + " is missing");
}

}  // namespace

// Returns the part's position.
Result<uint32_t> FlashStore::load_part(uint64_t lsn, uint32_t offset, FlashLoadedRecord& part) {
  const uint32_t hash = state_.index.part_hash(lsn, offset);
  CUCKOO_ASSIGN_OR_RETURN(const FlashIndex::Fetched& fetched, state_.index.fetch(hash));
  uint32_t found = 0;
  Status failed;
  state_.index.find(fetched, [&](uint32_t position) {
    ++state_.now.stats.record_reads;
    if (Status loaded = log_.load(position, part); !loaded.ok()) {
      failed = std::move(loaded);
      return failed.error().code != ErrorCode::kCorrupt;
    }
    found = part.header.is_part_of(lsn, offset) ? position : 0;
    state_.now.stats.false_reads += found != 0 ? 0 : 1;
    return found != 0;
  });
  if (found == 0) {
    return failed.ok() ? lacks_part(lsn, offset) : failed.take_error();
  }
  return found;
}

// A part usually follows the head, or the part before it, in the log. Then the index is not asked:
// the head is that of a complete batch, and no other part has this LSN and this offset.
Status FlashStore::read_value(const FlashEntry& entry, const FlashLoadedRecord& head,
                              std::vector<std::byte>& value) {
  value.clear();
  value.reserve(std::min<uint64_t>(entry.value_bytes, geometry().size_bytes()));
  value.assign(head.value.begin(), head.value.end());
  if (value.size() == entry.value_bytes) {
    return {};
  }
  const uint32_t unit_bytes = state_.layout.unit_bytes();
  const FlashPieces cut = state_.layout.pieces();
  uint32_t next = log_.position_after(entry.position, head.header.units(unit_bytes));
  uint32_t told = next;   // the device knows that the parts from here on
  uint32_t ready = next;  // to here are read
  while (value.size() < entry.value_bytes) {
    const auto offset = static_cast<uint32_t>(value.size());
    const uint64_t rest = entry.value_bytes - offset;
    if (next < told || next >= ready) {
      told = next;
      CUCKOO_ASSIGN_OR_RETURN(ready, log_.will_load(next, (rest / cut.part_bytes() + 1) *
                                                              cut.part_units(cut.part_bytes())));
    }
    FlashLoadedRecord part;
    CUCKOO_ASSIGN_OR_RETURN(const bool follows,
                            log_.load_part(next, entry.lsn, offset, rest, part));
    if (follows) {
      ++state_.now.stats.record_reads;
    } else {
      CUCKOO_ASSIGN_OR_RETURN(next, load_part(entry.lsn, offset, part));
    }
    next = log_.position_after(next, part.header.units(unit_bytes));
    if (part.value.empty() || part.value.size() > rest) {
      return corrupt("a part of the value with seq " + std::to_string(entry.lsn) +
                     " has a wrong length");
    }
    value.insert(value.end(), part.value.begin(), part.value.end());
  }
  return {};
}

Result<bool> FlashStore::get(const HashedKey& key, std::vector<std::byte>& value) {
  FlashLoadedRecord head;
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<FlashEntry> found,
                          look_up(key, Damaged::kRefuse, &head));
  if (!found) {
    return false;
  }
  CUCKOO_TRY(read_value(*found, head, value));
  return true;
}

Result<bool> FlashStore::read(FlashEntry& entry, uint32_t hash, std::vector<std::byte>& key,
                              std::vector<std::byte>* value) {
  CUCKOO_ASSIGN_OR_RETURN(const FlashIndex::Fetched& fetched, state_.index.fetch(hash));
  bool found = false;
  FlashLoadedRecord record;
  Status failed;
  state_.index.find(fetched, [&](uint32_t position) {
    if (Status loaded = log_.load(position, record); !loaded.ok()) {
      failed = std::move(loaded);
      return failed.error().code != ErrorCode::kCorrupt;
    }
    found = record.header.is_entry() && record.header.lsn == entry.lsn;
    if (found) {
      entry.position = position;
    }
    return found;
  });
  if (!found) {
    CUCKOO_TRY(std::move(failed));
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

Result<std::vector<FlashStore::Listed>> FlashStore::entries(Status* damage) {
  CUCKOO_ASSIGN_OR_RETURN(const FlashIndex::Entries entries, state_.index.by_position());
  std::vector<Listed> all;
  all.reserve(state_.now.heads);
  Status first;  // damage
  for (const auto& [position, hash] : entries) {
    FlashLogRecord head;
    Result<bool> there = log_.read_head(position, head);
    if (there.ok() && there.value() && head.hash == hash) {
      if (head.header.is_entry()) {
        all.push_back({{head.header.lsn, position, head.header.total_value_bytes, {}}, hash});
      }
    } else if (!there.ok() && there.error().code != ErrorCode::kCorrupt) {
      return there.take_status();
    } else if (first.ok() && !state_.is_lost(position)) {
      first = there.ok() ? Status(corrupt("no record at unit " + std::to_string(position)))
                         : there.take_status();
    }
  }
  if (first.ok() && all.size() < state_.now.heads) {
    first = state_.lost(state_.now.heads - all.size());
  }
  if (damage != nullptr) {
    *damage = std::move(first);
  } else if (!first.ok()) {
    return first;
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

// The entry of that key and the places of its value's parts. kCorrupt if one can't be read and is
// not lost yet. Then the store must heal.
Result<FlashStore::Found> FlashStore::seek(const HashedKey& key) {
  Found found;
  CUCKOO_ASSIGN_OR_RETURN(found.old, look_up(key, Damaged::kGive));
  if (!found.old) {
    return found;
  }
  const FlashEntry& old = *found.old;
  if (old.lsn == 0) {
    return state_.is_lost(old.position)
               ? Result<Found>(std::move(found))
               : corrupt("the record at unit " + std::to_string(old.position) + " is damaged");
  }
  const FlashPieces cut = state_.layout.pieces();
  for (uint32_t offset = cut.first_bytes(key.bytes.size(), old.value_bytes);
       offset < old.value_bytes; offset += cut.part_bytes()) {
    CUCKOO_ASSIGN_OR_RETURN(found.parts.emplace_back(), place_of_part(old.lsn, offset));
  }
  return found;
}

// A part that is lost can be any of its hash.
Result<uint32_t> FlashStore::place_of_part(uint64_t lsn, uint32_t offset) {
  const uint32_t hash = state_.index.part_hash(lsn, offset);
  CUCKOO_ASSIGN_OR_RETURN(const FlashIndex::Fetched& fetched, state_.index.fetch(hash));
  uint32_t found = 0;
  uint32_t lost = 0;
  Status failed;
  state_.index.find(fetched, [&](uint32_t position) {
    if (state_.is_lost(position)) {
      lost = position;
      return false;
    }
    ++state_.now.stats.record_reads;
    FlashLogRecord head;
    const Result<bool> there = log_.read_head(position, head);
    if (!there.ok()) {
      failed = there.error();
      return failed.error().code != ErrorCode::kCorrupt;
    }
    found = there.value() && head.header.is_part_of(lsn, offset) ? position : 0;
    return found != 0;
  });
  if (found == 0) {
    CUCKOO_TRY(std::move(failed));
  }
  return found != 0  ? Result<uint32_t>(found)
         : lost != 0 ? Result<uint32_t>(lost)
                     : lacks_part(lsn, offset);
}

}  // namespace cuckoo::core
