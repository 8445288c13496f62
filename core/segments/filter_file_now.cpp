// FilterFile: changes of a filter that is never flushed. They go into cells and runs at once. There
// is no log, and nothing is pending, so a look-up asks the cells alone.
#include "core/segments/filter_file.hpp"

#include <algorithm>

namespace cuckoo::segments {

// add() has the same rules.
Status FilterFile::insert_now(uint64_t hash) {
  CUCKOO_TRY(poison_.error());
  const size_t index = blocks_.directory().leaf_of(hash);
  CUCKOO_ASSIGN_OR_RETURN(Segment * segment, turns_.segment_to_change(index));
  const bool counts = options_.multiset();
  const bool keeps = keeps_hashes();
  if (items() >= most_items() && (counts || segment->probe(hash) != Answer::kPresent)) {
    return full_error();
  }
  if (!keeps && !traits_of(options_.spec.kind).slot_per_item) {
    const bool seems_present = segment->probe(hash) == Answer::kPresent;
    if (seems_present && !counts) {
      return {};
    }
    if (!seems_present) {
      CUCKOO_TRY(make_room(hash));
    }
  }
  const bool present = segment->insert_now(hash, keeps);
  blocks_.add_items(counts || !present ? 1 : 0);
  return keeps ? turns_.tidy(index, *segment) : Status();
}

Status FilterFile::insert_copies_now(uint64_t hash, uint64_t copies) {
  constexpr uint64_t kFew = 8;  // which take less time one by one than a fold does
  if (copies == 0 || copies > kFew || !options_.counts_copies()) {
    CUCKOO_TRY(insert_copies(hash, copies));
    return fold_all();
  }
  CUCKOO_TRY(poison_.error());
  if (const uint64_t most = most_items(); copies > most - std::min(most, items())) {
    return full_error(copies);
  }
  for (; copies > 0; --copies) {
    CUCKOO_TRY(insert_now(hash));
  }
  return {};
}

Result<bool> FilterFile::insert_new_now(uint64_t hash) {
  CUCKOO_TRY(poison_.error());
  if (probe(hash) == Answer::kPresent) {
    return false;
  }
  CUCKOO_TRY(insert_now(hash));
  return true;
}

Result<bool> FilterFile::remove_now(uint64_t hash) {
  CUCKOO_TRY(poison_.error());
  const size_t index = blocks_.directory().leaf_of(hash);
  Segment* const segment = blocks_.directory().leaf(index).segment.get();
  if (segment == nullptr || items() == 0 || !segment->remove_now(hash, keeps_hashes())) {
    return false;
  }
  blocks_.add_items(-1);
  CUCKOO_TRY(keeps_hashes() ? turns_.tidy(index, *segment) : Status());
  return true;
}

Status FilterFile::fold_all() {
  CUCKOO_TRY(poison_.error());
  CUCKOO_TRY(turns_.fold_all());
  turns_.begin();
  blocks_.log().restart();
  return {};
}

}  // namespace cuckoo::segments
