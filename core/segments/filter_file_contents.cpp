// FilterFile: what is in it, handed out one segment at a time.
#include <memory>
#include <utility>

#include "core/segments/filter_file.hpp"

namespace cuckoo::segments {

// Ascending by prefix. One that is not in memory is opened for the visit alone.
Status FilterFile::visit_segments(Visited which, const SegmentVisitor& visit) {
  uint64_t prefix = 0;
  do {
    const Directory::Leaf& leaf = directory_.leaf(directory_.leaf_of(prefix));
    prefix = leaf.depth == 0 ? 0 : prefix + (uint64_t{1} << (64 - leaf.depth));
    if (which == Visited::kFilled && leaf.untouched()) {
      continue;
    }
    std::unique_ptr<Segment> made;
    if (leaf.segment == nullptr) {
      CUCKOO_ASSIGN_OR_RETURN(made, opened(leaf));
    }
    CUCKOO_TRY(visit(made != nullptr ? *made : *leaf.segment));
    CUCKOO_TRY(blocks_.poll());
  } while (prefix != 0);
  return {};
}

Status FilterFile::expect_hashes() const {
  if (!keeps_hashes()) {
    return invalid(options_.growth ? "its contents came without hashes"
                                   : "keeps no hashes, as growth is off");
  }
  return {};
}

Status FilterFile::for_each_piece(bool with_hashes, const PieceSink& sink) {
  CUCKOO_TRY(poison_.error());
  CUCKOO_TRY(with_hashes ? expect_hashes() : Status());
  return visit_segments(Visited::kAll, [&](Segment& segment) -> Status {
    CUCKOO_ASSIGN_OR_RETURN(Piece piece,
                            segment.piece(blocks_, with_hashes, keeps_hashes(), limits_.keys));
    return sink(std::move(piece));
  });
}

// With hashes a segment holds what these are, which may be less than was counted (S7). So they are
// counted first, where the header does not say it.
Result<Contents> FilterFile::contents(bool with_hashes) {
  CUCKOO_TRY(poison_.error());
  Contents contents;
  contents.capacity = made_for();
  contents.items = items();
  contents.with_hashes = with_hashes;
  contents.key_types = root_.key_types;
  CUCKOO_ASSIGN_OR_RETURN(contents.mark, mark());
  if (with_hashes) {
    CUCKOO_TRY(expect_hashes());
    uint64_t items = 0;
    CUCKOO_TRY(visit_segments(Visited::kFilled, [&](Segment& segment) -> Status {
      CUCKOO_ASSIGN_OR_RETURN(const Segment::HashCount count, segment.count_hashes(blocks_));
      contents.hash_count += count.hashes;
      items += count.items;
      return {};
    }));
    contents.items = options_.multiset() ? items : this->items();
  }
  contents.pieces = [this, with_hashes](const PieceSink& sink) {
    return for_each_piece(with_hashes, sink);
  };
  return contents;
}

Status FilterFile::for_each_hash(const CountedHashSink& sink) {
  CUCKOO_TRY(poison_.error());
  CUCKOO_TRY(expect_hashes());
  return visit_segments(Visited::kFilled, [&](Segment& segment) -> Status {
    CUCKOO_ASSIGN_OR_RETURN(const std::vector<NetHash> entries, segment.merged(blocks_));
    for (const auto& [hash, net] : entries) {
      CUCKOO_TRY(sink(hash, static_cast<uint64_t>(net)));
    }
    return {};
  });
}

}  // namespace cuckoo::segments
