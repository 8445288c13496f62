// FilterFile: hands out its contents, one segment at a time.
#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "core/segments/filter_file.hpp"

namespace cuckoo::segments {

namespace {

Status expect_hashes(const FilterFile& file) {
  if (!file.keeps_hashes()) {
    return invalid(file.options().growth ? "its contents came without hashes"
                                         : "keeps no hashes, as growth is off");
  }
  return {};
}

}  // namespace

Status FilterFile::for_each_piece(bool with_hashes, const PieceSink& sink,
                                  const FilterBlocks::LeafChoice& choose) {
  CUCKOO_TRY(poison_error());
  CUCKOO_TRY(with_hashes ? expect_hashes(*this) : Status());
  const Segment::Hashes hashes = with_hashes      ? Segment::Hashes::kGiven
                                 : keeps_hashes() ? Segment::Hashes::kLeftOut
                                                  : Segment::Hashes::kNone;
  const auto lists = with_hashes ? FilterBlocks::Lists::kAsTheyAre : FilterBlocks::Lists::kApplied;
  return blocks_.visit_segments(
      lists, choose, [&](const Segment& segment, const EntryList& list) -> Status {
        CUCKOO_ASSIGN_OR_RETURN(
            Piece piece, segment.piece(blocks_.storage(), list, hashes, blocks_.limits().keys));
        return sink(std::move(piece));
      });
}

PieceRange FilterFile::piece_range(bool with_hashes, FilterBlocks::LeafChoice choose) {
  return [this, with_hashes, choose = std::move(choose)](uint64_t prefix, const PieceSink& sink,
                                                         const std::function<bool()>& enough) {
    return for_each_piece(with_hashes, sink, [&](const Directory::Leaf& leaf) {
      return leaf.prefix >= prefix && choose(leaf) && !enough();
    });
  };
}

// With hashes, a piece has exactly the items of its hashes. These items may be fewer than the
// filter counted (S7). So where a segment's header does not say how many hashes it has, they are
// counted first.
Result<Contents> FilterFile::contents(bool with_hashes) {
  CUCKOO_TRY(poison_error());
  Contents contents;
  contents.capacity = made_for();
  contents.items = items();
  contents.with_hashes = with_hashes;
  contents.key_types = blocks_.root().key_types;
  contents.unique = options_.multiset() && !options_.counts_copies();
  CUCKOO_ASSIGN_OR_RETURN(contents.mark, mark());
  if (with_hashes) {
    CUCKOO_TRY(expect_hashes(*this));
    uint64_t items = 0;
    CUCKOO_TRY(blocks_.visit_segments(FilterBlocks::Lists::kAsTheyAre, FilterBlocks::filled,
                                      [&](const Segment& segment, const EntryList& list) -> Status {
                                        CUCKOO_ASSIGN_OR_RETURN(
                                            const Segment::HashCount count,
                                            segment.count_hashes(blocks_.storage(), list));
                                        contents.hash_count += count.hashes;
                                        items += count.items;
                                        return {};
                                      }));
    contents.items = options_.multiset() ? items : this->items();
  }
  contents.pieces = [this, with_hashes](const PieceSink& sink) {
    return for_each_piece(with_hashes, sink);
  };
  contents.range = piece_range(with_hashes);
  return contents;
}

// Visits the entries of each segment, as Segment::merged() has them.
Status FilterFile::for_each_merged(
    const std::function<Status(std::span<const NetHash> entries)>& visit) {
  return blocks_.visit_segments(FilterBlocks::Lists::kAsTheyAre, FilterBlocks::filled,
                                [&](const Segment& segment, const EntryList& list) -> Status {
                                  CUCKOO_ASSIGN_OR_RETURN(const std::vector<NetHash> entries,
                                                          segment.merged(blocks_.storage(), list));
                                  return visit(entries);
                                });
}

Status FilterFile::for_each_hash(const CountedHashSink& sink) {
  CUCKOO_TRY(poison_error());
  CUCKOO_TRY(expect_hashes(*this));
  return for_each_merged([&](std::span<const NetHash> entries) -> Status {
    for (const auto& [hash, net] : entries) {
      CUCKOO_TRY(sink(hash, static_cast<uint64_t>(net)));
    }
    return {};
  });
}

Result<HashReader> FilterFile::hash_reader() {
  CUCKOO_TRY(poison_error());
  CUCKOO_TRY(expect_hashes(*this));
  return HashReader([this](uint64_t from, std::vector<uint64_t>& hashes) -> Result<uint64_t> {
    CUCKOO_TRY(poison_error());
    const size_t index = blocks_.directory().leaf_of(from);
    const Directory::Leaf& leaf = blocks_.directory().leaf(index);
    if (FilterBlocks::filled(leaf)) {
      CUCKOO_TRY(
          blocks_.visit_segment(FilterBlocks::Lists::kAsTheyAre, index,
                                [&](const Segment& segment, const EntryList& list) -> Status {
                                  CUCKOO_ASSIGN_OR_RETURN(const std::vector<NetHash> entries,
                                                          segment.merged(blocks_.storage(), list));
                                  for (const NetHash& entry : entries) {
                                    hashes.push_back(entry.hash);
                                  }
                                  return {};
                                }));
    }
    return last_hash_of(leaf.prefix, leaf.depth) + 1;  // 0 after the last leaf
  });
}

}  // namespace cuckoo::segments
