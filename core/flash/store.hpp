// An exact map from byte strings to byte strings on a flash device: a log of records, indexed in
// memory by a slot cache, that survives power cuts, collects garbage and levels wear.
//
// How it works
//   Every put and remove appends a record to the *hot* stream, one erase block after another. Each
//   record carries a log sequence number (LSN, 1, 2, 3 …), and says which record it replaces.
//   Collection copies the live records of a *victim* block to the *cold* stream and frees the
//   victim. From time to time a *checkpoint* writes the index and the block table to blocks of its
//   own, and an *anchor* in one of three blocks, used in turn, points to it. A mount reads the
//   newest anchor and its checkpoint. Then it replays the records after it, the *tail*: it reads
//   their headers and keys, never their values. The bytes: FORMAT.md, "The flash log".
//
// The files, from the bottom up
//   device        what flash can do, and how it fails
//   policy        which kind of device this is, and so what the store must do; the barriers
//   layout        where things are, and how much room they take (Space)
//   record        the bytes of records and block headers
//   checkpoint    the bytes of checkpoints
//   blocks        the table of erase blocks: which is free, which is worth collecting
//   slot_cache    a hash table from keys to positions
//   stored_index, loaded_index    the index of a checkpoint, on the device and in memory
//   index         that, and the changes since
//   undo_log      the changes since each mark, so that a roll-back can go back to it
//   state         the store's memory, made of those above, and the effect of each record on it
//   log           appending records to the device, reading them back
//   wear          wear levelling
//   anchors, checkpointer, collector     writing anchors and checkpoints; garbage collection
//   healer        giving up blocks with damaged records
//   scan          all entries in the order of their LSNs
//   replay, mount the way back from the device to memory
//   store         this file: look-ups; store_changes: changes; store_check: verifies everything
//
// Invariants
//   I1  the state (index, block table, streams) is a pure function of the newest checkpoint and the
//       records after it: a mount at any moment gives the state that wrote them.
//   I2  nothing is programmed twice, and nothing that the newest checkpoint or its tail needs is
//       erased: the blocks of the tail stay until the next checkpoint, and a victim is erased only
//       after the last of its copies and a mark after them.
//   I3  the newest complete batch that names a key decides about it. An incomplete batch is as if
//       it had never begun.
//   I4  after a power cut nothing is appended after a record that may be torn. The store does not
//       believe that a block is erased because it reads so. It erases nothing before a new
//       checkpoint holds all that the mount found.
//   I5  an index slot (hash, position) points to a live record of a key with that hash; a key has
//       one head; the live units of a block are those of the slots in it. Slots in bad blocks are
//       of lost entries (S4 of state.hpp): check() reports them as damage.
//   I6  charged units never exceed usable units; then collection always finds room (layout.hpp).
//   I7  a stream's block holds data up to its offset; reserved blocks are those that a stream names
//       as its next; the blocks of the newest checkpoint and of the anchors are marked with these
//       kinds.
// check() asserts I1, I5, I6 and I7. I2 … I4 say what a power cut may leave, and what a mount does
// then. policy.hpp has the barriers B1 … B5, which keep I1 … I4 on a device that reorders writes.
//
// Wear. When no block can be freed any more, the device is worn out. Then a change that needs a
// block fails with kFull, whose text says so. Reading goes on. More blocks (grow()) give an atomic
// device a new life. How a block fails depends on the kind of device: policy.hpp.
//
// Damage. kCorrupt names a record that can't be read. A look-up of its key, and the end of a scan,
// are errors; other keys are read. A change of its key replaces it (healer.hpp). Another key whose
// hash of 32 bits is the same would be taken for it.
//
// Errors: after kFull and kInvalid (a key too long) nothing changed, except that on a bare device a
// kFull in the middle of a change poisons the store (policy.hpp, wear). kStorage: the device is
// gone. A change that fails half-way poisons the store: it refuses every change until the next
// mount.
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
#include "core/flash/healer.hpp"
#include "core/flash/log.hpp"
#include "core/flash/policy.hpp"
#include "core/flash/scan.hpp"
#include "core/flash/state.hpp"

namespace cuckoo::core {

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
  // atomic_device only: applies the records that another store on the same device appended, up to
  // `state` (its state()). False: it did more than append. Then, and after an error, mount() again.
  Result<bool> follow(uint64_t state);

  // Returns a hash of all that was done since format(): of the keys and positions, not of the
  // values. Two stores on the same device with equal hashes append at the same place. If a device
  // can go back, as rows of a table can, its own history must tell its contents apart.
  uint64_t state() const noexcept { return state_.now.digest; }
  // Returns true if a change failed half-way: then only mount() helps.
  bool poisoned() const noexcept { return state_.poisoned(); }

  // --- reading. O(1 + pieces) record reads.
  // The key with its hash, for callers that use it more than once. A view of `key`.
  HashedKey hashed(std::span<const std::byte> key) const noexcept {
    return {key, state_.index.hash_of(key)};
  }
  // Fetches the memory that the next call for this key reads first.
  void prefetch(const HashedKey& key) const noexcept { state_.index.prefetch(key.hash); }
  // nullopt: the key is not there.
  Result<std::optional<FlashEntry>> find(const HashedKey& key);
  Result<std::optional<FlashEntry>> find(std::span<const std::byte> key) {
    return find(hashed(key));
  }
  // Does the same, but gives an entry with the LSN 0 if the key's record is damaged.
  Result<std::optional<FlashEntry>> find_damaged_too(const HashedKey& key);
  // `value` is replaced by the value. False: the key is not there.
  Result<bool> get(const HashedKey& key, std::vector<std::byte>& value);
  Result<bool> get(std::span<const std::byte> key, std::vector<std::byte>& value) {
    return get(hashed(key), value);
  }
  // Reads the key and the value of an entry that find() or entries() gave. Returns false if the
  // entry was removed or replaced. If a collection moved it, updates entry.position.
  Result<bool> read(FlashEntry& entry, uint32_t hash, std::vector<std::byte>& key,
                    std::vector<std::byte>* value);
  // Returns all entries in LSN order, with the hash that read() needs. Reads every head's header.
  // `damage`: becomes the error if some can't be read, and the others are returned; without it that
  // is an error.
  struct Listed {
    FlashEntry entry;
    uint32_t hash = 0;
  };
  Result<std::vector<Listed>> entries(Status* damage = nullptr);
  // Gives the same entries one by one with their keys, until state() changes. Returns false if
  // there are no more, and kCorrupt if some can't be read, after all others.
  Result<bool> next(FlashScan& scan) { return scan.next({state_, log_}); }
  // All entries of the index, as (position, hash), ascending.
  Result<FlashIndex::Entries> positions() { return state_.index.by_position(); }
  // Loads all of the index. Call it before you ask index() for its figures.
  Status load_index() { return state_.index.load_all(); }
  static FlashEntry entry_at(const FlashScan& scan) noexcept;
  // Reads the value of the entry that the scan is at.
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
  // Makes all of these changes or, after a power cut, none. Later ones see earlier ones. Removing a
  // key that is not there does nothing.
  Status write(std::span<const Change> batch);
  // Removes everything at the price of a checkpoint.
  Status clear();
  // Reads everything, gives up blocks with damage (healer.hpp), collects every block with dead
  // units, and writes a checkpoint before and after that.
  Status collect();
  // Makes sure that all changes so far stay (R5 in device.hpp). A failure poisons.
  Status sync();
  bool checkpoint_due() const noexcept;
  Status checkpoint();
  // The device has more blocks than before; its geometry() says so already.
  void grow() { state_.grow(); }

  // --- roll-back in memory (undo_log.hpp); the caller restores the device's bytes. From the first
  // mark on, changes are noted: 12 bytes each.
  // Returns the mark's number: 0, 1, 2 …
  size_t mark(int savepoint = 0) { return state_.mark(savepoint); }
  // Takes back everything since that mark; the mark stays.
  void undo_to(size_t number) noexcept { state_.undo_to(number); }
  // Forgets that mark and those after it.
  void release(size_t number) noexcept { state_.undo.release(number); }
  size_t marks() const noexcept { return state_.undo.marks(); }
  // The marks themselves.
  FlashUndoLog& undo_log() noexcept { return state_.undo; }
  const FlashUndoLog& undo_log() const noexcept { return state_.undo; }

  // --- figures
  const FlashGeometry& geometry() const noexcept { return state_.layout.geometry(); }
  const FlashStoreStats& stats() const noexcept { return state_.now.stats; }
  void set_stats(const FlashStoreStats& stats) noexcept { state_.now.stats = stats; }
  // Sets bits in stats().notes, which undo_to() takes back. The caller stores them with the rest of
  // the figures; the device does not.
  void note(uint64_t bits) noexcept { state_.now.stats.notes |= bits; }
  // Where a device whose pages are rows counts them. format() and mount() forget it.
  FlashPageRows& rows() noexcept { return state_.now.rows; }
  const FlashIndex& index() const noexcept { return state_.index; }
  const FlashBlocks& blocks() const noexcept { return state_.blocks; }
  const FlashStreams& streams() const noexcept { return state_.now.streams; }
  uint64_t next_lsn() const noexcept { return state_.now.next_lsn; }
  uint64_t charged_units() const noexcept { return state_.now.charged_units; }
  uint64_t usable_units() const noexcept {
    return state_.layout.usable_units(state_.blocks.bad_count());
  }
  // Returns by how much the charges and the units of a change may together exceed usable_units()
  // until the change is complete (layout.hpp).
  uint64_t in_flight_units() const noexcept { return state_.layout.filled_units(); }
  // Returns the charge of a put of these lengths; kInvalid if the key or the value is too long.
  Result<uint64_t> charge(size_t key_bytes, uint64_t value_bytes) const {
    return state_.layout.charge(key_bytes, value_bytes);
  }
  size_t max_key_bytes() const noexcept { return state_.layout.max_key_bytes(); }
  // Returns the erase counts of the blocks that may wear out.
  FlashBlocks::Wear wear() const { return state_.blocks.wear(!state_.policy.wears_out()); }
  uint64_t last_mount_read_bytes() const noexcept { return mount_read_bytes_; }

  // Compares the index, the block table and the streams in memory with those of `other`. Returns
  // the first difference, or an empty text.
  std::string difference_to(FlashStore& other) { return state_.difference_to(other.state_); }
  // Reads the whole device and verifies every invariant (I1 on an atomic device only: elsewhere a
  // mount writes). O(records). Asks `poll` now and then.
  Status check(const Poll& poll);

 private:
  friend class FlashStoreTestPeer;

  enum class IfPresent : uint8_t { kReplace, kRefuse };
  // The entry that a change finds, and the charges in units; 0: not computed yet.
  struct Found {
    std::optional<FlashEntry> old;  // the entry that it replaces or removes; LSN 0: it is lost
    std::vector<uint32_t> parts;    // the positions of its value's parts
    uint64_t charged = 0;
    uint64_t charged_before = 0;  // for `old`
  };
  // How much a batch appends at most.
  struct Need {
    uint64_t units = 0;
    uint32_t records = 0;
    Found first;  // by the first change
  };
  struct Tally;

  void reset();
  Status writable() const;

  // reading. `head` and `part` become the record that was found, until the next one is loaded.
  enum class Damaged : bool { kRefuse, kGive };
  Result<std::optional<FlashEntry>> look_up(const HashedKey& key, Damaged damaged,
                                            FlashLoadedRecord* head = nullptr);
  Result<uint32_t> load_part(uint64_t lsn, uint32_t offset, FlashLoadedRecord& part);
  Status read_value(const FlashEntry& entry, const FlashLoadedRecord& head,
                    std::vector<std::byte>& value);

  // changing
  Result<Found> seek(const HashedKey& key);
  Result<uint32_t> place_of_part(uint64_t lsn, uint32_t offset);
  // With kRefuse, ends early if the first key is there.
  Result<Need> need_of(std::span<const Change> batch, IfPresent if_present = IfPresent::kReplace);
  Result<Need> need_as_found(std::span<const Change> batch, IfPresent if_present);
  Status carry_out(std::span<const Change> batch, const Need& need);
  Status expect_room(uint64_t charged, uint64_t added, uint64_t appended) const;
  Status write_one(const Change& change, const Found& found, bool last);
  Status append_drops(size_t key_bytes, const Found& found, uint64_t lsn);
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
  FlashHealer healer_;
  FlashCollector collector_;
  bool mounted_ = false;
  bool worn_out_ = false;  // so few blocks are left that even a mount could not write: reading only
  uint64_t mount_read_bytes_ = 0;
};

}  // namespace cuckoo::core
