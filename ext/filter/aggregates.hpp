// Aggregates: cuckoo_build(key [, fpr [, capacity [, seed [, 'hashes']]]]) and bloom_build(…), an
// image of the keys of a group; filter_union(image), one image of several. NULLs are passed over; a
// group without a row gives NULL.
#pragma once

namespace cuckoo {

class Registration;

// Throws SqlError.
void register_filter_aggregates(Registration& registration);

}  // namespace cuckoo
