// An origin and copies of it, each a FilterFile on a storage of its own: what the tests of marks
// and changes share.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/filter/cell_layout.hpp"
#include "core/segments/filter_file.hpp"
#include "tests/core/segments/stored_file.hpp"

namespace cuckoo::test {

inline Bytes encoded(const segments::FilterChanges& changes) {
  return must(segments::encode_changes(changes, 1 << 30));
}

// Encodes and decodes the changes. The bytes stay as long as they are needed.
inline segments::FilterChanges sent(const segments::FilterChanges& changes,
                                    uint32_t page_bytes = 448) {
  const auto bytes = std::make_shared<const Bytes>(encoded(changes));
  segments::FilterChanges arrived = must(segments::decode_changes(*bytes, page_bytes));
  if (arrived.pieces) {
    arrived.pieces = [bytes, pieces = std::move(arrived.pieces)](const segments::PieceSink& sink) {
      return pieces(sink);
    };
  }
  return arrived;
}

struct Site {
  explicit Site(const FilterOptions& of) : options(of) {
    reopen();
    expect_ok(file->create());
    commit();
  }
  // Opens a backup of another site: its rows.
  explicit Site(const MemoryBlocks::Rows& rows, const FilterOptions& of) : options(of) {
    storage.rows = rows;
    reopen();
    expect_ok(file->refresh());
  }

  segments::FilterFile* operator->() const noexcept { return file.get(); }
  void reopen() { file = std::make_unique<segments::FilterFile>(options, storage); }
  void commit() { expect_ok(test::commit(*file)); }
  void roll_back(const MemoryBlocks::Rows& rows) {
    storage.rows = rows;
    file->forget();
    expect_ok(file->refresh());
  }
  segments::FilterMark mark() const {
    const std::optional<segments::FilterMark> mark = must(file->mark());
    EXPECT_TRUE(mark.has_value());
    return mark.value_or(segments::FilterMark());
  }
  // The changes as they travel: encoded and decoded.
  segments::FilterChanges changes_since(const segments::FilterMark& since) const {
    const std::optional<segments::FilterChanges> changes = must(file->changes_since(since));
    EXPECT_TRUE(changes.has_value()) << "only the image leads there";
    return changes ? sent(*changes) : segments::FilterChanges();
  }
  bool apply(const segments::FilterChanges& changes) const { return must(file->apply(changes)); }
  // Returns why the site does not take the changes. The site stays as it was.
  std::string refusal(const segments::FilterChanges& changes, ErrorCode code) const {
    const segments::FilterMark before = mark();
    const uint64_t items = file->items();
    const Result<bool> applied = file->apply(changes);
    EXPECT_FALSE(applied.ok());
    if (applied.ok()) {
      return "";
    }
    EXPECT_EQ(applied.error().code, code) << applied.error().message;
    EXPECT_TRUE(file->usable());
    EXPECT_EQ(mark(), before);
    EXPECT_EQ(file->items(), items);
    return applied.error().message;
  }
  bool leads_from(const segments::FilterMark& since) const {
    return must(file->changes_since(since)).has_value();
  }
  bool has(uint64_t hash) const { return must(file->load_and_probe(hash)); }
  void expect_good() const { expect_ok(file->check()); }

  FilterOptions options;
  MemoryBlocks storage;
  std::unique_ptr<segments::FilterFile> file;
};

// Commits the keys, in the origin and in the counts.
inline void add_to(Site& origin, Counts& counts, uint64_t first, uint64_t end) {
  expect_ok(add_and_commit(*origin.file, first, end));
  for (uint64_t i = first; i < end; ++i) {
    counts[nth_key(i)] += 1;
  }
}

// Returns what the entries come to, by hash.
inline std::map<uint64_t, int64_t> nets_of(const segments::EntryList& entries) {
  std::map<uint64_t, int64_t> nets;
  Copies copies(entries.more());
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto of = static_cast<int64_t>(copies.of(i));
    nets[entries[i] & ~kRemoveBit] += (entries[i] & kRemoveBit) != 0 ? -of : of;
  }
  return nets;
}

// A copy of what the origin holds, made from the counts, with the origin's mark. It may have other
// options.
inline std::unique_ptr<Site> copy_of(const Site& origin, const Counts& counts,
                                     const FilterOptions& options) {
  const Site made(options);
  for (const auto& [hash, count] : counts) {
    for (uint64_t i = 0; i < count; ++i) {
      expect_ok(made.file->insert(hash));
    }
  }
  segments::Contents contents = must(made->contents(made->keeps_hashes()));
  contents.unique = must(origin->contents(false)).unique;
  contents.mark = origin.mark();
  auto copy = std::make_unique<Site>(options);
  expect_ok(copy->file->import(options, contents));
  copy->commit();
  EXPECT_EQ(copy->mark(), origin.mark());
  return copy;
}

// Imports an image of `from` into the copy. The copy keeps its size of pages, and grows or not as
// before.
inline void take_image(Site& copy, Site& from, bool with_hashes = false) {
  segments::Contents contents = must(from->contents(with_hashes));
  FilterOptions options = copy.options;
  options.spec = from->options().spec;
  options.width = from->options().width;
  options.seed = from->options().seed;
  const segments::PieceSource pieces = contents.pieces;
  contents.pieces = [&](const segments::PieceSink& sink) {
    return pieces([&](segments::Piece&& piece) -> Status {
      CUCKOO_ASSIGN_OR_RETURN(piece.filter,
                              in_pages_of(options.page_bytes, std::move(piece.filter)));
      return sink(std::move(piece));
    });
  };
  expect_ok(copy->import(options, contents));
  copy.options = options;
  copy.commit();
  EXPECT_EQ(copy.mark(), from.mark());
}

// A copy without hashes, whatever it was made for.
inline std::unique_ptr<Site> image_of(Site& origin, const FilterOptions& options) {
  auto copy = std::make_unique<Site>(options);
  take_image(*copy, origin);
  return copy;
}

}  // namespace cuckoo::test

namespace cuckoo::segments {

// The tests call them by these names.
using test::add_to;
using test::copy_of;
using test::encoded;
using test::image_of;
using test::sent;
using test::Site;
using test::take_image;

}  // namespace cuckoo::segments
