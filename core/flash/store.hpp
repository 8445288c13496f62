// An exact map from byte strings to byte strings on a flash device: a log of records, indexed in
// memory by a slot cache, that survives power cuts, collects garbage and levels wear.
//
// How it works
//   Every put and remove appends a record to the *hot* stream, one erase block after another. Each
//   record carries a log sequence number (LSN, 1, 2, 3 …), and says which record it replaces.
//   Collection copies what is live out of a *victim* block to the *cold* stream and frees the
//   victim. From time to time a *checkpoint* writes the index and the block table to blocks of its
//   own, and an *anchor* in one of three blocks, used in turn, points to it. A mount reads the
//   newest anchor and its checkpoint. Then it replays the records after it, the *tail*: it reads
//   their headers and keys, never their values. The bytes: FORMAT.md, "The flash log".
//
// Which file holds what, from the bottom up
//   device        what flash can do, and how it fails
//   policy        what kind of device this one is, and so what the store must do
//   layout        where things are, and how much room they take (Space)
//   record        the bytes of records and block headers
//   checkpoint    the bytes of checkpoints
//   blocks        the table of erase blocks: which is free, which is worth collecting
//   slot_cache    the hash table from keys to positions; index: that, with what a mount found
//   undo_log      what changed since each mark, so that a roll-back can go back to it
//   state         the store's memory, made of those above, and what each record does to it
//   log           appending records to the device, reading them back
//   wear          wear levelling
//   anchors, checkpointer, collector     writing anchors and checkpoints; garbage collection
//   scan          all entries in the order of their LSNs
//   replay, mount the way back from the device to memory
//   store         this: looking up, changing; store_check: everything verified
//
// Invariants
//   I1  the state (index, block table, streams) is a pure function of the newest checkpoint and the
//       records after it: a mount at any moment gives the state that wrote them.
//   I2  nothing is programmed twice, and nothing that the newest checkpoint or its tail needs is
//       erased: the blocks of the tail stay until the next checkpoint, and a victim is erased only
//       after the last of its copies and a mark after them.
//   I3  the newest complete batch that names a key decides about it. An incomplete batch is as if
//       it had never begun.
//   I4  after a power cut nothing is appended after what may be torn. The store does not believe
//       that a block is erased because it reads so. It erases nothing before a new checkpoint holds
//       what was found.
//   I5  an index slot (hash, position) points to a live record of a key with that hash; a key has
//       one head; the live units of a block are those of the slots in it.
//   I6  charged units never exceed usable units; then collection always finds room (layout.hpp).
//   I7  a stream's block holds data up to its offset; reserved blocks are those that a stream names
//       as its next; the newest checkpoint's blocks and the anchor's are used for that.
// check() asserts I1, I5, I6 and I7; I2 … I4 are about what a power cut leaves.
//
// Barriers. A power cut may undo any of the writes since the last sync(), whatever their order was
// (FlashStoreOptions::reordering_device). One rule keeps I1 … I4 there: *the store programs nothing
// that relies on a write which is not synced, except that a record follows the one before it*.
//   B1  before an erase: what made the block free (records, an anchor) is synced. As every block is
//       erased before it is used, the records that may be lost are all in one block of each stream,
//       the last one.
//   B2  a power cut may take a block's header and leave a record in that block. Between two syncs
//       this happens to each block once at most. So a mount skips as many block sequences as there
//       are blocks: no new block gets the sequence that such a record was written for.
//   B3  after a collection: its copies and its end are synced, before a record replaces a copy.
//   B4  before and after an anchor: first its checkpoint is synced, then the anchor, and only then
//       anything is appended that counts on it.
//   B5  a mount syncs before it reads: it counts on what it finds, and a process that was killed
//       may have left that unsynced.
// Within a block a replay reads up to the first record that is not whole. What it passes over is
// later than that one in the order of the log: hot records are in the order of their LSNs, and a
// collection names the LSN before which it comes. So a power cut leaves what some number of changes
// made, all that were synced among them.
//
// Wear. When nothing can be freed any more the device is worn out: kFull, which says so, for
// changes that need a block. Reading goes on. More blocks (grow()) give an atomic device a new
// life. How a block fails depends on the kind of device: policy.hpp.
//
// Errors: kFull, kInvalid (a key too long): nothing changed, but see policy.hpp. kCorrupt, naming a
// record: it can't be what was written. kStorage: the device is gone. What fails half-way poisons
// the store: every change is refused until the next mount.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/poll.hpp"
#include "core/flash/anchors.hpp"
#include "core/flash/blocks.hpp"
#include "core/flash/checkpointer.hpp"
#include "core/flash/collector.hpp"
#include "core/flash/device.hpp"
#include "core/flash/log.hpp"
#include "core/flash/policy.hpp"
#include "core/flash/scan.hpp"
#include "core/flash/state.hpp"

namespace cuckoo {

// Where the newest version of a key is.
struct FlashEntry {
  uint64_t lsn = 0;
  uint32_t position = 0;  // of its head, in program units
  uint64_t value_bytes = 0;
  std::byte first_byte{};  // of the value; 0: it is empty
};

class FlashStore {
 public:
  FlashStore(FlashDevice& device, const FlashStoreOptions& options);
  FlashStore(const FlashStore&) = delete;
  FlashStore& operator=(const FlashStore&) = delete;

  // Makes an empty store on the device and mounts it. A bare device may hold anything; an atomic
  // one must be erased. After a power cut inside, format again.
  Status format();
  Status mount();
  // atomic_device only: applies what another store on the same device appended, up to `state`
  // (its state()). False: it did more than append. Then, and after an error, mount() again.
  Result<bool> follow(uint64_t state);

  // A hash of all that was done since format(); two stores of the same device with equal values
  // have equal contents and append at the same place.
  uint64_t state() const noexcept { return state_.now.digest; }
  // A change failed half-way: only mount() helps.
  bool poisoned() const noexcept { return state_.poisoned(); }

  // --- reading. O(1 + pieces) record reads.
  // The key with its hash, for callers that use it more than once. A view of `key`.
  HashedKey hashed(std::span<const std::byte> key) const noexcept {
    return {key, state_.index.hash_of(key)};
  }
  // Starts to read what the next call for this key reads first.
  void prefetch(const HashedKey& key) const noexcept { state_.index.prefetch(key.hash); }
  // nullopt: the key is not there.
  Result<std::optional<FlashEntry>> find(const HashedKey& key);
  Result<std::optional<FlashEntry>> find(std::span<const std::byte> key) {
    return find(hashed(key));
  }
  // `value` is replaced by the value. False: the key is not there.
  Result<bool> get(const HashedKey& key, std::vector<std::byte>& value);
  Result<bool> get(std::span<const std::byte> key, std::vector<std::byte>& value) {
    return get(hashed(key), value);
  }
  // The key and the value of an entry that find() or entries() gave. False: it is no longer the
  // newest version of its key (removed, replaced; a collection that moved it is no matter, the
  // entry's position is brought up to date).
  Result<bool> read(FlashEntry& entry, uint32_t hash, std::vector<std::byte>& key,
                    std::vector<std::byte>* value);
  // All entries in LSN order, with the hash that read() needs. Reads every head's header.
  struct Listed {
    FlashEntry entry;
    uint32_t hash = 0;
  };
  Result<std::vector<Listed>> entries();
  // The same entries one by one with their keys, until state() changes. False: there are no more.
  Result<bool> next(FlashScan& scan) {
    CUCKOO_TRY(load_index());
    return scan.next({state_, log_});
  }
  // All of the index into memory: before index() is asked for its figures or for all entries.
  Status load_index() { return state_.index.load_all(); }
  static FlashEntry entry_at(const FlashScan& scan) noexcept;
  // The value of the entry that the scan is at.
  Status value_at(const FlashScan& scan, std::vector<std::byte>& value);
  uint64_t size() const noexcept { return state_.now.heads; }

  // --- changing
  struct Change {
    HashedKey key;
    std::optional<std::span<const std::byte>> value;  // none: remove
  };
  // Inserts or replaces.
  Status put(std::span<const std::byte> key, std::span<const std::byte> value);
  // False: it is there already.
  Result<bool> insert(const HashedKey& key, std::span<const std::byte> value);
  Result<bool> insert(std::span<const std::byte> key, std::span<const std::byte> value) {
    return insert(hashed(key), value);
  }
  // False: it was not there.
  Result<bool> remove(std::span<const std::byte> key);
  // All of them or, after a power cut, none. Later ones see earlier ones. Removing a key that is
  // not there does nothing.
  Status write(std::span<const Change> batch);
  // Removes everything at the price of a checkpoint.
  Status clear();
  // Collects every block with something dead in it; a checkpoint before and after.
  Status collect();
  // All changes so far stay (R5 in device.hpp). A failure poisons.
  Status sync();
  bool checkpoint_due() const noexcept;
  Status checkpoint();
  // The device has more blocks than before; its geometry() says so already.
  void grow() { state_.grow(); }

  // --- roll-back in memory (undo_log.hpp); the caller restores the device's bytes. From the first
  // mark on, changes are noted: 12 bytes each.
  // Returns the mark's number: 0, 1, 2 …
  size_t mark(int savepoint = 0) { return state_.mark(savepoint); }
  // Takes everything since that mark back; the mark stays.
  void undo_to(size_t number) noexcept { state_.undo_to(number); }
  // Forgets that mark and those after it.
  void release(size_t number) noexcept { state_.undo.release(number); }
  size_t marks() const noexcept { return state_.undo.marks(); }
  // The marks themselves, and where the device notes its own changes.
  FlashUndoLog& undo_log() noexcept { return state_.undo; }
  const FlashUndoLog& undo_log() const noexcept { return state_.undo; }

  // --- figures
  const FlashGeometry& geometry() const noexcept { return state_.layout.geometry(); }
  const FlashStoreStats& stats() const noexcept { return state_.now.stats; }
  void set_stats(const FlashStoreStats& stats) noexcept { state_.now.stats = stats; }
  // Sets bits in stats().notes, which undo_to() takes back. The caller stores them with the rest of
  // the figures; the device does not.
  void note(uint64_t bits) noexcept { state_.now.stats.notes |= bits; }
  const FlashIndex& index() const noexcept { return state_.index; }
  const FlashBlocks& blocks() const noexcept { return state_.blocks; }
  const FlashStreams& streams() const noexcept { return state_.now.streams; }
  uint64_t next_lsn() const noexcept { return state_.now.next_lsn; }
  uint64_t charged_units() const noexcept { return state_.now.charged_units; }
  uint64_t usable_units() const noexcept {
    return state_.layout.usable_units(state_.blocks.bad_count());
  }
  // What is charged and what a change appends may exceed usable_units() by this (layout.hpp).
  uint64_t in_flight_units() const noexcept { return state_.layout.filled_units(); }
  // What a put of these lengths is charged; kInvalid when the key or the value is too long.
  Result<uint64_t> charge(size_t key_bytes, uint64_t value_bytes) const {
    return state_.layout.charge(key_bytes, value_bytes);
  }
  size_t max_key_bytes() const noexcept { return state_.layout.max_key_bytes(); }
  // Of what wears out.
  FlashBlocks::Wear wear() const { return state_.blocks.wear(!state_.policy.wears_out()); }
  uint64_t last_mount_read_bytes() const noexcept { return mount_read_bytes_; }

  // Are memory's index, block table and streams those of `other`? Says what differs.
  std::string difference_to(FlashStore& other) { return state_.difference_to(other.state_); }
  // Reads the whole device and verifies every invariant (I1 on an atomic device only: elsewhere a
  // mount writes). O(records). `poll` is asked now and then.
  Status check(const Poll& poll);

 private:
  friend class FlashStoreTestPeer;

  enum class IfPresent : uint8_t { kReplace, kRefuse };
  // What a change finds, and what it is charged in units; 0: not computed yet.
  struct Found {
    std::optional<FlashEntry> old;  // the entry that it replaces or removes
    uint64_t charged = 0;
    uint64_t charged_before = 0;  // for `old`
  };
  // What a batch appends at most.
  struct Need {
    uint64_t units = 0;
    uint32_t records = 0;
    Found first;  // by the first change
  };
  struct Tally;

  void reset();
  Status writable() const;

  // reading. `head` and `part` become the record that was found, until the next one is loaded.
  Result<std::optional<FlashEntry>> look_up(const HashedKey& key,
                                            FlashLoadedRecord* head = nullptr);
  Result<uint32_t> find_part(uint64_t lsn, uint32_t offset, FlashLoadedRecord* part = nullptr);
  Status read_value(const FlashEntry& entry, const FlashLoadedRecord& head,
                    std::vector<std::byte>& value);

  // changing
  // With kRefuse it ends with a first key that is there.
  Result<Need> need_of(std::span<const Change> batch, IfPresent if_present = IfPresent::kReplace);
  Status carry_out(std::span<const Change> batch, const Need& need);
  Status expect_room(uint64_t charged, uint64_t added, uint64_t appended) const;
  Status write_one(const Change& change, const Found& found, bool last);
  Status append_drops(size_t key_bytes, const FlashEntry& old, uint64_t lsn);
  Status append_parts(const Change& change, uint64_t lsn, uint32_t first, bool last);

  // checking (core/flash/store_check.cpp)
  Status check_bytes(const Poll& poll);
  Status check_block_bytes(uint32_t block, std::vector<std::byte>& bytes);
  Status check_records(const Poll& poll);
  Status check_record(uint32_t position, uint32_t hash, Tally& tally);
  Status check_tally(const Tally& tally) const;
  Status check_mount();

  FlashDevice& device_;
  const FlashStoreOptions options_;
  FlashState state_;
  FlashLog log_;
  FlashAnchors anchors_;
  FlashCheckpointer checkpointer_;
  FlashCollector collector_;
  bool mounted_ = false;
  bool worn_out_ = false;  // so few blocks are left that even a mount could not write: reading only
  uint64_t mount_read_bytes_ = 0;
};

}  // namespace cuckoo
