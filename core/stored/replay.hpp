// A filter's log read back: which hashes are left, and how often each.
//
// A log is compacted rows (ascending hashes with counts, from the last rebuild), then raw rows
// (adds and removes in the order they happened). The raw entries are kept in memory, sorted by
// hash. So is what is left of all, unless it is too much: then every merge streams the compacted
// rows again.
//
// Invariants
//   I1  read() believes nothing: row ids, positions, chain values and checksums must all follow.
//   I2  merge() hands hashes over in ascending order, each once, with a count above zero.
//   I3  entries of one hash cancel in log order with a floor at zero: a remove that no add precedes
//       is of a key that was never added, and is dropped. In the log of a set each hash counts
//       once.
//   I4  what is kept is what a merge of the rows would hand over.
// Memory: 8 bytes a raw entry, until all is kept; as much again while they are sorted. 8 bytes a
// hash that is kept, 16 if it has copies.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "core/base/large_memory.hpp"
#include "core/base/result.hpp"
#include "core/stored/log.hpp"
#include "core/stored/storage.hpp"

namespace cuckoo {

// Where a log, or a part of it, starts and ends.
struct LogExtent {
  int64_t first_row = 0;
  int64_t last_row = -1;  // rows behind it are not read
  uint64_t start_chain = 0;
  uint64_t start_position = 0;
  uint64_t start_items = 0;
  uint64_t end_chain = 0;
  uint64_t end_position = 0;
  bool multiset = true;  // else items only rise, by at most one an entry
};

// Adds the row's name to a kCorrupt status.
Status in_row(const char* kind, int64_t id, Status status);

// Where a log stands behind a row: each row is checked against the one before it (I1).
class LogFollower {
 public:
  LogFollower(HashWidth width, bool multiset, int64_t row, uint64_t chain, uint64_t position,
              uint64_t items) noexcept
      : width_(width),
        multiset_(multiset),
        row_(row),
        chain_(chain),
        position_(position),
        items_(items),
        most_items_(items) {}

  // The next row, with that id. The bytes stay the caller's.
  Result<LogRow> follow(int64_t id, std::span<const std::byte> bytes) const;
  bool leads_to(const LogRowHeader& next) const noexcept;
  // … is behind us. How many items it adds (modulo 2^64), or nothing if that is looked at another
  // time.
  void pass(const LogRow& row, std::optional<uint64_t> added) noexcept;

  int64_t row() const noexcept { return row_; }  // the next one
  uint64_t chain() const noexcept { return chain_; }
  uint64_t position() const noexcept { return position_; }

 private:
  HashWidth width_;
  bool multiset_;
  int64_t row_;
  uint64_t chain_;
  uint64_t position_;
  uint64_t items_;
  uint64_t most_items_;
};

// Visits the rows of the extent in order. The visitor returns how many items a row adds, as
// LogFollower::pass() takes it.
using LogRowVisitor = std::function<Result<std::optional<uint64_t>>(int64_t id, const LogRow& row)>;
Status visit_log(FilterStorage& storage, HashWidth width, const LogExtent& extent,
                 const LogRowVisitor& visitor);

// What counts of a log's entries.
struct Counting {
  bool multiset = true;
  bool unique = false;  // a hash that is left counts once, however often it was added

  // I3. What raw entries of one hash leave of so many copies. `dropped` grows by removes of what
  // isn't there, and by copies that don't count.
  uint64_t left(uint64_t count, std::span<const uint64_t> entries,
                uint64_t& dropped) const noexcept;
};

class LogReplay {
 public:
  static constexpr uint64_t kMostKept = uint64_t{1} << 23;

  // `unique`: a hash that is left counts once, however often it was added. What is left of a log of
  // up to `most_kept` entries is kept; 0: never.
  LogReplay(FilterStorage& storage, HashWidth width, bool unique = false,
            uint64_t most_kept = kMostKept)
      : storage_(storage), width_(width), unique_(unique), most_kept_(most_kept) {}

  // `behind`: entries that follow the extent's, in memory only, sorted_by_hash().
  Status read(const LogExtent& extent, LargeVector<uint64_t> behind = {});
  Status merge(const CountedHashSink& sink) const;
  // Without I3: the sum of a hash's entries, which may be below zero, or zero. Of a replay that
  // keeps nothing.
  using NetSink = std::function<Status(uint64_t hash, int64_t net)>;
  Status merge_net(const NetSink& sink) const;

  uint64_t hashes() const noexcept { return hashes_; }
  uint64_t items() const noexcept { return items_; }
  // Entries of a filter that holds them, where each item takes a slot: a hash with more copies than
  // kMaxCopiesInBuckets is one, in the overflow table.
  uint64_t entries() const noexcept { return entries_; }
  // Removes of what was never added, and copies that don't count: without any, what is left is what
  // the entries add up to.
  uint64_t dropped() const noexcept { return dropped_; }

 private:
  template <class Sink>
  Status merge_left(Sink&& sink, uint64_t& dropped) const;
  void keep(uint64_t hash, uint64_t count);
  Status hand_kept(const CountedHashSink& sink) const;
  // cancel(compacted count, run of raw entries): what is left of a hash.
  template <class Cancel, class Sink>
  Status merge_with(const Cancel& cancel, const Sink& sink) const;

  FilterStorage& storage_;
  HashWidth width_;
  bool unique_;
  uint64_t most_kept_;
  bool multiset_ = true;
  int64_t first_row_ = 0;
  int64_t first_raw_row_ = 0;
  uint64_t start_items_ = 0;
  std::optional<uint64_t> raw_items_;  // before the first raw row, if there is one
  LargeVector<uint64_t> raw_;
  // What is left, if all of it is here: a hash with a count of 1 is a word; of another count, the
  // word has bit 0 set and the count is the next one.
  LargeVector<uint64_t> kept_;
  bool all_kept_ = false;
  uint64_t hashes_ = 0;
  uint64_t items_ = 0;
  uint64_t entries_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace cuckoo
