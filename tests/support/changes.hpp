// What tests do to changes of a filter.
#pragma once

#include "core/segments/changes.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::test {

// Makes the second mark the one that the entries lead to.
inline void lead_to_mark(segments::FilterChanges& changes) {
  changes.to.position = changes.from.position + changes.entries.size();
  changes.to.chain = changes.from.chain;
  Copies copies(changes.entries.more());
  for (size_t i = 0; i < changes.entries.size(); ++i) {
    changes.to.chain = chain_with_entry(changes.to.chain, changes.entries[i], copies.of(i));
  }
}

}  // namespace cuckoo::test
