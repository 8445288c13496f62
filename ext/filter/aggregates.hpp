// Aggregates: cuckoo_build(key [, fpr [, capacity [, seed [, 'hashes']]]]) and bloom_build() with
// the same arguments make an image of the keys of a group. filter_union(image) makes one image of
// several. They skip NULLs. A group without a row gives NULL.
#pragma once

namespace cuckoo {

class Registration;

// Throws SqlError.
void register_filter_aggregates(Registration& registration);

}  // namespace cuckoo
