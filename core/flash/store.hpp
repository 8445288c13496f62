// An exact map from byte strings to byte strings on a flash device: a log of records, indexed in
// memory by a slot cache, that survives power cuts, collects garbage and levels wear.
//
// How it works
//   Every put and remove appends a record to the *hot* stream, one erase block after another. Each
//   record carries a log sequence number (LSN, 1, 2, 3 …), and says which record it replaces.
//   Collection copies what is live out of a *victim* block to the *cold* stream and frees the
//   victim. From time to time a *checkpoint* writes the index and the block table to blocks of its
//   own, and an *anchor* in one of three blocks, used in turn, points to it. A mount reads the
//   newest anchor, its checkpoint, and replays the records behind it, the *tail*: it reads their
//   headers and keys, never their values. FORMAT.md has the bytes.
//
// Invariants
//   I1  the state (index, block table, streams) is a pure function of the newest checkpoint and the
//       records behind it: a mount at any moment gives the state that wrote them.
//   I2  nothing is programmed twice, and nothing that the newest checkpoint or its tail needs is
//       erased: the blocks of the tail stay until the next checkpoint, and a victim is erased only
//       after the last of its copies and a mark behind them.
//   I3  the newest complete batch that names a key decides about it. An incomplete batch is as if
//       it had never begun.
//   I4  after a power cut nothing is appended behind what may be torn, nothing that reads as erased
//       is believed to be, and nothing is erased before a new checkpoint holds what was found.
//   I5  an index slot (hash, position) points to a live record of a key with that hash; a key has
//       one head; the live units of a block are those of the slots in it.
//   I6  charged units never exceed usable units; then collection always finds room (see Space).
//   I7  a stream's block holds data up to its offset; reserved blocks are those that a stream names
//       as its next; the newest checkpoint's blocks and the anchor's are used for that.
//
// Space
//   A record longer than piece_units() is stored in pieces of that size, so a block wastes less
//   than one piece at its end. Usable are, of the blocks that are neither bad nor reserved,
//   units per block less headers, less one piece, less a share of two checkpoints. A key is charged
//   the units of its pieces and one unit each for its place in the checkpoints. "full" means that
//   the charges would exceed what is usable; or that a change of more than in_flight_units(), about
//   an erase block, has no room beside the version that it replaces: both are there until the
//   change is complete. A remove needs no charge.
//
// Collection: one block a put at most while few blocks are free; more only when otherwise no room
// would be left. The victim has the best (dead units · age) / (live units), age by LSN (Rosenblum
// and Ousterhout 1992, section 3.5). Free blocks are used least-worn first; when the least worn
// block with data is `wear gap` erases behind, it is collected (static wear levelling).
//
// Wear: where blocks may fail, an erase is verified before anybody counts on the block. On an
// atomic device that wears out a block is erased when it becomes free, not when it is taken: what
// is free is good, so nothing fails half-way, and a replay, which asks the same rule, retires the
// same blocks (I1). The three blocks of the anchors don't wear out: a mount must find them. A
// collection and a checkpoint begin only with room for both; when nothing can be freed any more the
// device is worn out: kFull, which says so, for changes that need a block; reading goes on, and
// more blocks (grow()) give it a new life.
//
// Errors: kFull, kInvalid (a key too long): nothing changed. kCorrupt: a record that cannot be what
// was written; naming it. kStorage: the device is gone; the store is poisoned until the next mount.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/flash/blocks.hpp"
#include "core/flash/device.hpp"
#include "core/flash/index.hpp"
#include "core/flash/record.hpp"

namespace cuckoo {

struct FlashStoreOptions {
  unsigned hashes = 2;  // of the slot cache
  unsigned ways = 4;
  uint64_t seed = 0;  // of all hashes
  // The device is changed atomically by somebody else (a database transaction): after a mount
  // nothing is torn, what was never written reads as erased, and a mount writes nothing.
  bool atomic_device = false;
  // Checkpoints when a mount would have to read more than 2.5 bytes a record and 48 sectors behind
  // the last one. Off: the caller asks checkpoint_due(), for example at each commit.
  bool automatic_checkpoints = true;
  // atomic_device only: blocks fail as FlashDevice::erase_fails() says (see Wear).
  bool wears_out = false;
};

// Since the device was formatted, except for `…reads`: since the mount.
struct FlashStoreStats {
  uint64_t user_bytes = 0;  // of keys and values given to put(), of keys given to remove()
  uint64_t programmed_bytes = 0;
  uint64_t erases = 0;
  uint64_t collections = 0;
  uint64_t checkpoints = 0;
  uint64_t record_reads = 0;  // records read to answer get() and find()
  uint64_t false_reads = 0;   // … whose hash matched and whose key did not
};

// Where the newest version of a key is.
struct FlashEntry {
  uint64_t lsn = 0;
  uint32_t position = 0;  // of its head, in program units
  uint64_t value_bytes = 0;
};

class FlashStore {
 public:
  FlashStore(FlashDevice& device, const FlashStoreOptions& options);
  FlashStore(const FlashStore&) = delete;
  FlashStore& operator=(const FlashStore&) = delete;

  // Makes an empty store on a device, whatever it held; on an atomic one that is erased. Then it is
  // mounted. After a power cut inside, format again.
  Status format();
  Status mount();
  // atomic_device only: applies what another store on the same device appended, up to `state`
  // (its state()). False: it did more than append; mount() again. Reads nothing else.
  Result<bool> follow(uint64_t state);

  // A hash of all that was done since format(); two stores of the same device with equal values
  // have equal contents and append at the same place.
  uint64_t state() const noexcept { return s_.state; }
  // A device operation failed half-way: only mount() helps.
  bool poisoned() const noexcept { return poisoned_; }

  // --- reading. O(1 + pieces) record reads.
  // nullopt: the key is not there.
  Result<std::optional<FlashEntry>> find(std::span<const std::byte> key);
  // `value` is replaced by the value. False: the key is not there.
  Result<bool> get(std::span<const std::byte> key, std::vector<std::byte>& value);
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
  uint64_t size() const noexcept { return s_.heads; }

  // --- changing
  struct Change {
    std::span<const std::byte> key;
    std::optional<std::span<const std::byte>> value;  // none: remove
  };
  // Inserts or replaces.
  Status put(std::span<const std::byte> key, std::span<const std::byte> value);
  // False: it was not there.
  Result<bool> remove(std::span<const std::byte> key);
  // All of them or, after a power cut, none. Later ones see earlier ones. Removing a key that is
  // not there does nothing.
  Status write(std::span<const Change> batch);
  // Removes everything at the price of a checkpoint.
  Status clear();
  // Collects every block with something dead in it; a checkpoint before and after.
  Status collect();
  bool checkpoint_due() const noexcept;
  Status checkpoint();
  // The device has more blocks than before; its geometry() says so already.
  Status grow();

  // --- roll-back in memory; the caller restores the device's bytes. Marks nest; the newest last.
  // From the first mark on, changes are noted: 16 bytes each.
  size_t mark();                         // returns its number: 0, 1, 2 …
  void undo_to(size_t number) noexcept;  // everything since that mark; the mark stays
  void release(size_t number) noexcept;  // forgets that mark and those after it
  uint64_t state_at(size_t number) const noexcept { return marks_[number].state.state; }
  size_t marks() const noexcept { return marks_.size(); }

  // --- figures
  const FlashGeometry& geometry() const noexcept { return geometry_; }
  const FlashStoreStats& stats() const noexcept { return s_.stats; }
  void set_stats(const FlashStoreStats& stats) noexcept { s_.stats = stats; }
  const SlotCache& index() const noexcept { return index_.slots(); }
  const FlashBlocks& blocks() const noexcept { return blocks_; }
  const FlashStreams& streams() const noexcept { return s_.streams; }
  uint64_t next_lsn() const noexcept { return s_.next_lsn; }
  uint64_t charged_units() const noexcept { return s_.charged_units; }
  uint64_t usable_units() const noexcept;
  // What is charged and what a change appends may exceed usable_units() by this (see Space).
  uint64_t in_flight_units() const noexcept { return filled_units(); }
  // What a put of these lengths is charged; kInvalid when the key or the value is too long.
  Result<uint64_t> charge(size_t key_bytes, uint64_t value_bytes) const;
  size_t max_key_bytes() const noexcept;
  FlashBlocks::Wear wear() const { return blocks_.wear(!options_.wears_out); }  // of what wears out
  uint64_t last_mount_read_bytes() const noexcept { return mount_read_bytes_; }

  // Are memory's index, block table and streams those of `other`? Says what differs.
  std::string difference_to(const FlashStore& other) const;
  // Reads the whole device and verifies every invariant (I1 on an atomic device only: elsewhere a
  // mount writes). O(records). `poll` is asked now and then; its failure ends the check.
  Status check(const std::function<Status()>& poll);

 private:
  friend class FlashStoreTestPeer;

  // All of the state but the index and the block table: copied for a mark.
  struct State {
    uint64_t state = 0;
    FlashStreams streams;
    uint64_t next_lsn = 1;
    uint64_t heads = 0;
    uint64_t charged_units = 0;
    uint64_t tail_read_bytes = 0;  // that a mount would read behind the checkpoint
    uint64_t checkpoint_id = 0;
    std::vector<uint32_t> checkpoint_blocks;
    FlashStoreStats stats;
  };
  struct Mark {
    size_t index_place = 0;
    size_t block_changes = 0;
    uint32_t epoch = 0;
    State state;
  };
  struct Location {
    uint32_t block, offset;
  };
  // A record in memory: the view is valid until the next read.
  struct Record {
    FlashRecordHeader header;
    std::span<const std::byte> key, value;
  };
  // A record of the tail.
  struct Scanned {
    uint32_t position = 0;
    FlashRecordHeader header;
    uint32_t hash = 0;             // of a record that the index knows
    uint32_t crc = 0;              // of its head
    std::vector<std::byte> drop;   // a drop's value
    std::vector<std::byte> whole;  // of the last record of a stream that may be torn
  };
  struct TailStream {
    FlashPurpose purpose = FlashPurpose::kHot;
    FlashStream* stream = nullptr;
    std::vector<std::pair<uint64_t, uint32_t>> blocks;  // not atomic: opened since (see Headers)
    size_t next_block = 0;
    std::vector<Scanned> records;  // of the current block, or of the next one:
    size_t next_record = 0;
    uint32_t opens = kNoBlock;  // it is opened when its first record is consumed
    uint32_t opens_erase_count = 0;
    FlashOpenHeader opens_header;
  };
  struct Anchor {
    uint64_t id = 0;
    uint32_t last_block = kNoBlock;
    uint32_t block = kNoBlock;  // where the mark stands
    uint32_t offset = 0;        // of the unit behind it
    uint64_t sequence = 0;      // of the block
  };
  // What a mount found in the block headers; of an atomic device, in those of the anchors only.
  struct Headers {
    std::vector<std::pair<uint64_t, uint32_t>> hot, cold;  // (sequence, block), ascending
    std::vector<uint32_t> anchor_blocks;
    std::vector<Anchor> anchors;  // newest first
    uint64_t max_sequence = 0;
  };

  Status check_uses() const;
  Status check_mount() const;

  // geometry
  uint32_t unit_bytes() const noexcept { return geometry().program_unit_bytes; }
  uint32_t units_per_block() const noexcept { return geometry().units_per_block(); }
  uint32_t piece_units() const noexcept;
  FlashPieces pieces() const noexcept { return {piece_units(), unit_bytes()}; }
  Location locate(uint32_t position) const noexcept {
    return {position / units_per_block(), position % units_per_block()};
  }
  uint64_t address(uint32_t position) const noexcept { return uint64_t{position} * unit_bytes(); }

  // liveness
  Status kill(uint32_t position, uint32_t units);
  Status free_block(uint32_t block);
  Status release_if_dead(uint32_t block);
  void fold(uint64_t value) noexcept;
  void fold_record(const FlashRecordHeader& header, uint32_t position, uint32_t crc) noexcept;
  void count_tail_read(const FlashRecordHeader& header) noexcept;

  // the log (core/flash/store_log.cpp)
  Status fail(Status status) noexcept;
  Status writable() const;
  Status program(uint64_t address, std::span<const std::byte> bytes);
  template <class Expected>
  Status read_back(uint64_t address, size_t bytes, Expected expected, const char* otherwise);
  Status prepare(uint32_t block);
  Status open(FlashStream& stream, FlashPurpose purpose);
  Status open_block(uint32_t block, FlashPurpose purpose, FlashBlockKind kind, uint32_t next);
  Result<uint32_t> append(FlashStream& stream, FlashPurpose purpose, FlashRecordHeader header,
                          std::span<const std::byte> key, std::span<const std::byte> value);
  Result<uint32_t> append_copy(uint32_t from, FlashRecordHeader& header,
                               std::span<const std::byte> key, std::span<const std::byte> value);
  Status load(uint32_t position, Record& record);
  Result<bool> load_head(uint32_t position, Scanned& record);

  // collection (core/flash/store_collect.cpp)
  static constexpr uint32_t kAnchorBlocks = 3;
  Status ensure_room(uint64_t units, uint32_t records);
  Status collect_block(uint32_t victim);
  Status level_wear(uint64_t units, uint64_t wanted);
  uint32_t wear_gap() const noexcept;
  uint32_t checkpoint_blocks_needed(uint64_t entries) const noexcept;
  uint32_t required_free() const noexcept;
  bool may_collect() const noexcept;
  bool checkpoint_fits(uint64_t entries) const noexcept;
  uint64_t usable_units(uint32_t bad_blocks) const noexcept;
  Error worn_out_error(const std::string& why) const;
  uint32_t reserved_blocks() const noexcept;
  uint32_t filled_units() const noexcept;

  // changes
  struct Found {
    FlashEntry entry;
    uint32_t hash = 0;
    uint64_t key_bytes = 0;
  };
  Result<std::optional<Found>> look_up(std::span<const std::byte> key, uint32_t hash);
  Status read_value(const FlashEntry& entry, const Record& head, std::vector<std::byte>& value);
  Result<uint32_t> find_part(uint64_t lsn, uint32_t offset, Record* record);
  Status write_one(const Change& change, const std::optional<Found>& old, bool last);
  Status append_drops(const Found& old, uint64_t lsn);
  Status append_parts(const Change& change, uint64_t lsn, uint32_t first, bool last);
  Status apply(const Scanned& record);
  Status apply_drop(const Scanned& record);
  // What a batch appends at most.
  struct Plan {
    uint64_t units = 0;
    uint32_t records = 0;
    std::optional<Found> first;  // what the first change replaces
  };
  Result<Plan> plan(std::span<const Change> batch);
  Status expect_room(uint64_t charged, uint64_t added, uint64_t appended) const;

  // checkpoints and anchors (core/flash/store_checkpoint.cpp)
  Status write_checkpoint();
  Result<uint32_t> open_checkpoint_block();
  Result<std::vector<uint32_t>> program_checkpoint(std::vector<uint32_t> blocks);
  Status write_anchor(uint32_t last_block);
  Status rotate_anchor();
  uint32_t oldest_anchor_block() const;
  bool anchors_are_behind() const;
  Status wear_anchor_block(uint32_t block);
  std::vector<uint32_t> anchor_blocks() const;
  Status sweep();

  // mount (core/flash/store_mount.cpp)
  void reset();
  Status mount_now();
  Status read_headers(Headers& headers);
  Status scan_anchors(uint32_t block, uint64_t sequence, Headers& headers);
  Status load_checkpoint(uint64_t id, uint32_t last_block);
  Result<bool> tail_has_begun(const Headers& headers);
  Status recover(Headers& headers, bool tail_has_begun);
  Status free_other_anchor_blocks(const Headers& headers);
  Status reassert_newest();
  Status count_read(uint64_t address, std::span<std::byte> out);

  // the tail (core/flash/store_replay.cpp)
  Status replay(const Headers* headers);
  Status scan_block(TailStream& tail, uint32_t block, uint32_t offset, uint64_t sequence);
  Result<bool> scan_block_once(TailStream& tail, uint32_t block, uint32_t offset,
                               uint64_t sequence);
  Status expect_end(const TailStream& tail, uint32_t block, uint32_t offset, uint64_t sequence);
  Result<bool> scan_record(uint32_t position, uint64_t sequence, std::span<const std::byte> image,
                           Scanned& record);
  Result<bool> next_block(TailStream& tail);
  Result<const Scanned*> peek(TailStream& tail);
  Status consume(TailStream& tail);
  Status take_last_copy(TailStream& tail, Scanned& record);
  Status replay_batch(TailStream& hot);
  Status replay_collection(TailStream& cold, bool& applied);
  Status apply_collection(std::span<const Scanned> copies, uint32_t victim);
  Status release_pending();

  FlashDevice& device_;
  FlashGeometry geometry_;
  FlashStoreOptions options_;
  FlashBlocks blocks_;
  FlashIndex index_;
  State s_;
  bool mounted_ = false;
  bool poisoned_ = false;
  bool worn_out_ = false;  // so few blocks are left that even a mount could not write: reading only
  uint64_t mount_read_bytes_ = 0;

  // Blocks stay until the batch or collection that left nothing live in them is complete. After a
  // power cut those of the newest one stay until a checkpoint holds what was found (I4).
  bool hold_releases_ = false;
  std::vector<uint32_t> pending_;
  bool recovering_ = false;
  bool replaying_ = false;  // what is applied was done before: the device is not changed
  Scanned newest_;          // the last record of the newest batch, if it is newest
  std::vector<uint32_t> applied_blocks_;  // cold blocks of the tail with applied collections

  std::vector<Mark> marks_;
  std::vector<std::byte> record_bytes_;  // of load()
  std::vector<std::byte> encoded_;       // of append()
  std::vector<std::byte> verified_;
};

}  // namespace cuckoo
