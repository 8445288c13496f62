// Holds the filter of a table, or a sliding window of N generations. The newest generation takes
// the adds, and a probe asks all.
//
// Invariants
//   I1  a key added to one of the generations still held is present.
//   I2  the rates of N generations add up to the rate asked: each is made for 1 - (1 - ε)^(1/N).
//   I3  nothing is removed from a window, because a remove could take a colliding entry of a key in
//       another generation. An older generation never changes; entries that were pending when it
//       became old are pending still.
//   I4  rotation r has slot r mod N, whose ids begin at slot · 2^56 (core/segments/blocks.hpp).
//       When a slot is used again its blocks are erased before.
//       With unique = on an insert_new() adds a hash that no generation has.
//   I5  if the blocks of two windows are equal, so are the older generations, because the block has
//       a hash of all that ever happened to them. So a connection that follows need not look at
//       them. The log of a generation begins with that hash, so that a mark of the newest one names
//       all (core/segments/window_mark.hpp).
//   I6  the block has a hash of the logs of the older generations, which never change. The newest
//       one's root has a hash of the block, and the roots of the others have 0 there. So neither
//       the block nor the end of a log can be one of an earlier time.
//
// A copy of a window has the rotations of its origin. A list of generations brings it there
// (core/segments/window_message.hpp). Marks, images and changes are in filter_window_changes.cpp.
//
// With N = 1 there is slot 0 alone, and nothing else is stored. With more, block -1 says which
// rotation is the newest, and how many are held:
//   0   4  magic "CKW4"         8   8  rotation         24  8  hash of the past (I5)
//   4   4  version 4           16   8  generations held  32  8  hash of the older logs (I6)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/segments/block_storage.hpp"
#include "core/segments/filter_file.hpp"
#include "core/segments/window_mark.hpp"
#include "core/segments/window_message.hpp"
#include "core/stored/poison.hpp"

namespace cuckoo::segments {

class FilterWindow {
 public:
  FilterWindow(const FilterOptions& options, BlockStorage& storage);

  const FilterOptions& options() const noexcept { return newest_->options(); }

  // These do what FilterFile's do, for all generations.
  Status create();
  Status refresh();
  void forget() noexcept;
  bool usable() const noexcept { return poison_.current() && newest_->usable(); }
  bool poisoned() const noexcept;
  bool pending() const noexcept;
  Status flush();
  Status finish_load();
  void committed() noexcept;

  using Answer = FilterFile::Answer;
  Status load(uint64_t hash);
  [[gnu::always_inline]] Answer probe(uint64_t hash) {
    const Answer answer = newest_->probe(hash);
    if (older_.empty()) [[likely]] {
      return answer;
    }
    return answer == Answer::kAbsent ? probe_older(hash) : answer;
  }
  Result<bool> load_and_probe(uint64_t hash);
  Result<uint64_t> count(uint64_t hash);

  // Inserts the hash into the newest generation unless it seems present in one of them. Then it
  // returns false and changes nothing: the hash is forgotten with the generation that has it.
  Result<bool> insert_new(uint64_t hash);
  // Makes an empty window in the place of one that can't be read. flush() erases all blocks first.
  Status create_anew();
  // Begins a new generation, and forgets the oldest one if there are N. First writes all that is
  // pending; the rotation itself is pending afterwards. Returns kInvalid if N is 1.
  Status rotate();
  // Rotates until the newest generation has that number, which is its rotation. Nothing happens if
  // it has it. If N numbers or more are between, all is forgotten, and one generation is held.
  // Returns kInvalid, without a change, if N is 1 or the number is lower.
  Status rotate_to(uint64_t number);
  Status clear();
  // Checks all that storage would hold after a flush(), as a connection that opens it would find
  // it. Writes nothing, and changes nothing here. `amid_parts`: parts of a message are stored, too
  // (core/segments/staged_message.hpp); otherwise their blocks are an error.
  Status check(bool amid_parts = false) const;
  bool keeps_hashes() const noexcept;  // every generation does
  // Returns the hashes of each generation, as FilterFile::hash_reader() does.
  Result<std::vector<HashReader>> hash_readers();
  // Returns whether it would keep hashes, and contents came without.
  bool lacks_hashes() const noexcept { return options().growth && !keeps_hashes(); }
  // Returns the newest generation, to change it. Its import() is only for N = 1.
  FilterFile& newest() noexcept { return *newest_; }
  const FilterFile& newest() const noexcept { return *newest_; }

  // --- marks, images and changes; kInvalid when N is 1
  bool single() const noexcept { return files_.size() == 1; }
  Result<WindowMark> mark();
  // Returns all generations, each as an image. Ask for the pieces before the window changes,
  // because they are read only then. Returns kInvalid if hashes are asked for and a generation
  // keeps none.
  Result<WindowMessage> contents(bool with_hashes);
  // Returns the changes from that mark to now. Their pieces are read as those of contents().
  // Returns nothing if only the whole window brings a copy to now: its older generations were never
  // the same, or the generation that was the newest then is forgotten.
  // `with_hashes`: the images in it have their hashes, if all generations keep them.
  Result<std::optional<WindowMessage>> changes_since(const WindowMark& from,
                                                     bool with_hashes = false);
  // Returns how many adds and rotations came after that mark, or nothing if only contents() helps.
  Result<std::optional<uint64_t>> changes_behind(const WindowMark& from);
  // Replaces the contents, and all options except the size of pages, also those of the generations.
  // A failure changes nothing.
  Status import(const FilterOptions& options, const WindowMessage& image);
  // Brings the window from the first mark of the changes to their second one. Returns false if it
  // has the second one already, and kInvalid, without a change, if it has any other mark. As after
  // FilterFile::apply(), it may have another mark afterwards if it keeps no hashes.
  Result<bool> apply(const WindowMessage& changes);
  // Returns kInvalid unless it could apply changes from one of these marks to the other, as
  // FilterFile::expect_from() does.
  Status expect_from(const std::optional<WindowMark>& from, const WindowMark& to);

  // Returns a number that changes whenever a generation may be another object. Then the pieces of
  // contents() and changes_since() are of no use.
  uint64_t times_arranged() const noexcept { return times_arranged_; }

  uint64_t rotation() const noexcept { return state_.rotation; }  // the newest one's number
  std::vector<uint64_t> generation_items() const;                 // newest first
  uint64_t items() const;
  uint64_t key_types() const noexcept;  // of all generations
  double target_rate() const noexcept;
  double rate_now() const;
  uint64_t log_entries() const noexcept;
  size_t memory_bytes() const;
  uint64_t stored_bytes() const;

 private:
  // The content of the window's block.
  struct State {
    uint64_t rotation = 0;
    uint64_t held = 1;
    uint64_t past = 0;   // I5
    uint64_t older = 0;  // I6
    friend bool operator==(const State&, const State&) = default;
  };
  static std::vector<std::byte> encode(const State& state);
  static uint64_t hash_of(const State& state);
  Result<State> decode(std::span<const std::byte> content) const;

  uint64_t slot_of(uint64_t rotation) const noexcept { return rotation % files_.size(); }
  FilterFile& in_slot(uint64_t slot);
  using Files = std::vector<std::unique_ptr<FilterFile>>;  // by slot
  void arrange(const State& state, Files made);
  void note_changed_state();
  uint64_t hash_of_older() const;
  Answer probe_older(uint64_t hash);
  Status expect_number(uint64_t number) const;
  Status begin(uint64_t number, uint64_t held);
  Status expect_several(const char* what) const;
  Result<uint64_t> past_of(uint64_t rotation);
  Result<bool> may_lead_on(const WindowMark& from);
  WindowMessage message_of(const WindowMark& now) const;
  static Status add_image(FilterFile& file, bool with_hashes, Generation& to);
  Result<Generation> newest_from_its_beginning(bool with_hashes);
  Status apply_all(const WindowMessage& changes);
  Status write_to(BlockStorage& storage) const;
  Status check_strays(bool amid_parts) const;
  template <class Number, class Figure>
  Number sum(Figure&& figure) const;

  BlockStorage& storage_;
  FilterOptions created_;  // new generations are made with these
  Files files_;            // may be null for generations that are not held
  FilterFile* newest_;
  std::vector<FilterFile*> older_;  // newest first
  State state_;
  uint64_t times_arranged_ = 0;
  bool state_changed_ = false;  // it is not flushed
  bool state_stored_ = false;
  std::vector<uint64_t> to_erase_;  // slots; flush() erases them before it writes
  bool erases_all_ = false;         // every block instead
  Poison poison_;  // of the window's own changes, and of which generations storage holds
};

}  // namespace cuckoo::segments
