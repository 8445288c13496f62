// One image that holds what all images of a group hold: filter_union().
//
// By hashes, as long as every image has them: they are collected, and the filter is made of them at
// the end. So capacities and rates may differ. By cells from the first image without hashes on:
// that takes the same pieces in all, each of one geometry, and hashes that were collected go into
// such pieces.
//
// Invariants
//   I1  by hashes, the result is that of cuckoo_build() or bloom_build() with 'hashes' of all keys
//       together: it depends on the images alone, not on their order. Its rate is the strictest,
//       its capacity the largest, or what the hashes need if that is more. In a multiset counts
//       add up; in a set each hash is one item.
//   I2  whether the images go together does not depend on their order, but for the estimate of how
//       many keys a set's cells stand for.
//   I3  an image's hashes are compared with its cells before anything is made of them.
//   I4  what can't succeed, whatever images follow, is refused when that is known: before cells are
//       united or a filter is filled.
// Memory: 8 bytes a hash; repeated ones are put together when the list has doubled. Nothing of an
// image that was added is kept, but for its header and how it was cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/segments/hash_collection.hpp"
#include "core/segments/image.hpp"
#include "ext/filter/image_filter.hpp"
#include "ext/sqlite/error.hpp"

namespace cuckoo {

// Throws SqlError that begins with `function`. After that, destruction alone is left.
class ImageUnion {
 public:
  // The result has at most `limit` bytes.
  ImageUnion(std::string function, uint64_t limit, Poll poll);

  void add(std::span<const std::byte> bytes);  // of an image
  std::vector<std::byte> encode();             // once, of one image or more

 private:
  using Cut = segments::HashCollection::Cut;
  // What an image was made for, and its pieces.
  struct Layout {
    segments::ImageHeader header;
    std::vector<Cut> cuts;
  };

  SqlError refuse(const std::string& why) const;
  void expect_one_seed(const segments::ImageHeader& theirs) const;
  static bool same_cells(const Layout& a, const Layout& b) noexcept;
  void expect_one_layout(const Layout& a, const Layout& b) const;
  SqlError full(uint64_t items) const;
  void expect_room() const;
  uint64_t sum_of_items(uint64_t a, uint64_t b) const;

  void note_keys(const KeyDomain& keys);
  KeyDomain united_keys() const;

  void plan_for(const segments::ImageHeader& theirs);
  void note_layout(Layout theirs);
  void check_plan(uint64_t hash_count) const;
  void add_hashes(const segments::ImageHeader& theirs, std::span<const std::byte> bytes);
  std::vector<Cut> collect(std::span<const std::byte> bytes);
  void add_cells(std::span<const std::byte> bytes);
  void go_by_cells();
  void unite_cells(const segments::ImageHeader& theirs, const std::vector<segments::Piece>& pieces);
  void count_united() noexcept;
  std::vector<std::byte> encode_hashes();
  std::vector<std::byte> encode_cells();

  std::string function_;
  uint64_t limit_;
  Poll poll_;
  std::vector<KeyDomain> keys_;  // one for each affinity and collation
  // Of the first image, and of the first one of another layout. By cells: of what is united.
  std::optional<Layout> layout_;
  std::optional<Layout> other_layout_;

  // By hashes.
  FilterSpec spec_;
  uint64_t capacity_ = 0;
  uint64_t items_ = 0;    // of all images of a multiset
  std::string conflict_;  // images of one geometry for which different sizes were asked
  segments::HashCollection hashes_{HashWidth::k63Bits};
  uint64_t compact_at_;  // words of hashes

  std::vector<segments::Piece> cells_;  // not empty: by cells
};

}  // namespace cuckoo
