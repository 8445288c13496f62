// FilterFile: pairs of hashes, of a filter of kind kLegacyBloom.
//
// Such a filter is one segment that is never split. It has no log, so an insert changes the pages
// at once. So a commit writes the pages that changed, the segment's header, the root and the last
// row of the log, and reads no other page.
#include <memory>
#include <utility>

#include "core/segments/filter_file.hpp"

namespace cuckoo::segments {

Result<bool> FilterFile::contains_pair(const HashPair& pair) {
  CUCKOO_ASSIGN_OR_RETURN(Segment* const found, blocks_.segment(0));
  if (found->probe_pair(pair) == Answer::kNotLoaded) {
    CUCKOO_TRY(found->load_pair(blocks_.storage(), pair));
  }
  return found->probe_pair(pair) == Answer::kPresent;
}

Status FilterFile::insert_pair(const HashPair& pair) {
  CUCKOO_TRY(poison_error());
  CUCKOO_ASSIGN_OR_RETURN(Segment * found, blocks_.segment(0));
  CUCKOO_TRY(found->load_pair(blocks_.storage(), pair));
  if (found->probe_pair(pair) == Answer::kPresent) {
    return {};
  }
  if (found->filter().full(items(), blocks_.root().capacity)) {
    return full_error();
  }
  if (found->header().number == 0) {  // of the geometry that it has already
    const uint64_t number = blocks_.root().next_number;
    CUCKOO_TRY(blocks_.maker(blocks_.limits(), false).expect_numbers(1));
    CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<Segment> made,
                            Segment::make(options_, 0, 0, number, blocks_.limits().share));
    found = made.get();
    blocks_.put(0, std::move(made));
  }
  return blocks_.poison().changing([&]() -> Status {
    blocks_.note_segment(0);
    found->insert_pair(pair);
    blocks_.add_items(1);
    return {};
  });
}

}  // namespace cuckoo::segments
