// filter_union(): one image that has the keys of all images of a group.
//
// As long as every image has its hashes, they are collected, and the filter is made of them at the
// end. So capacities and rates may differ. From the first image without hashes on, cells are
// united. Then all images must have the same pieces, each of one geometry. Hashes that were
// collected go into such pieces.
//
// Invariants
//   I1  by hashes, the result is that of cuckoo_build() or bloom_build() with 'hashes' of all keys
//       together. It depends on the images alone, not on their order. Its rate is the strictest,
//       its capacity the largest, or the one that the hashes need if that is more. In a multiset
//       counts add up; in a set each hash is one item.
//   I2  whether the images can be united does not depend on their order, with one exception: the
//       estimate of how many keys are in the cells of a set.
//   I3  an image's hashes are compared with its cells before they are used.
//   I4  a union that can't succeed, whatever images follow, is refused when that is known: before
//       cells are united or a filter is filled.
// Memory: 8 bytes a hash. Equal hashes are put together when the list has doubled. Of each image,
// only the header and the prefixes and sizes of its pieces are kept.
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

// All throw SqlError that begins with `function`. After that, the object can only be destroyed.
class ImageUnion {
 public:
  // The result has at most `limit` bytes.
  ImageUnion(std::string function, uint64_t limit, Poll poll);

  void add(std::span<const std::byte> bytes);  // adds an image
  std::vector<std::byte> encode();             // called once, after at least one image

 private:
  using Cut = segments::HashCollection::Cut;
  // An image's header, and its pieces.
  struct Layout {
    segments::MessageHeader header;
    std::vector<Cut> cuts;
  };

  SqlError refuse(const std::string& why) const;
  void expect_one_seed(const segments::MessageHeader& theirs) const;
  static bool same_cells(const Layout& a, const Layout& b) noexcept;
  void expect_one_layout(const Layout& a, const Layout& b) const;
  SqlError full(uint64_t items) const;
  void expect_room() const;
  uint64_t sum_of_items(uint64_t a, uint64_t b) const;

  void note_keys(const KeyDomain& keys);
  KeyDomain united_keys() const;

  void plan_for(const segments::MessageHeader& theirs);
  void note_layout(Layout theirs);
  void check_plan(uint64_t hash_count) const;
  void add_hashes(const segments::MessageHeader& theirs, std::span<const std::byte> bytes);
  std::vector<Cut> collect(std::span<const std::byte> bytes);
  void add_cells(std::span<const std::byte> bytes);
  void go_by_cells();
  void unite_cells(const segments::MessageHeader& theirs,
                   const std::vector<segments::Piece>& pieces);
  void count_united() noexcept;
  std::vector<std::byte> encode_hashes();
  std::vector<std::byte> encode_cells();

  std::string function_;
  uint64_t limit_;
  Poll poll_;
  std::vector<KeyDomain> keys_;  // one for each affinity and collation
  // The layouts of the first image, and of the first that differs. When cells are united, layout_
  // is that of the union.
  std::optional<Layout> layout_;
  std::optional<Layout> other_layout_;

  // These are for a union by hashes.
  FilterSpec spec_;
  uint64_t capacity_ = 0;
  uint64_t items_ = 0;    // in all images of a multiset
  std::string conflict_;  // why images of one geometry, made for different sizes, have no union
  segments::HashCollection hashes_{HashWidth::k63Bits};
  uint64_t compact_at_;  // at so many words of hashes

  std::vector<segments::Piece> cells_;  // not empty: cells are united
};

}  // namespace cuckoo
