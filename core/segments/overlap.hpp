// Counts the keys that filters have in common, by one merge of their hashes.
//
// Memory: the hashes of one segment of each filter, all at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/key_hash.hpp"
#include "core/base/poll.hpp"
#include "core/base/result.hpp"

namespace cuckoo::segments {

// Hands over the hashes of a filter, some at a time. Appends the different hashes from `from` on up
// to the next value that it returns, ascending. The first call has 0. It returns 0 when no other
// hash can come.
using HashReader = std::function<Result<uint64_t>(uint64_t from, std::vector<uint64_t>& hashes)>;

// Returns how many hashes, cut to `width`, are in a filter of `a` and in one of `b`: the
// generations of a sliding window are several filters. O(hashes of both · filters).
Result<uint64_t> overlap(const std::vector<HashReader>& a, const std::vector<HashReader>& b,
                         HashWidth width, const Poll& poll = nullptr);

// Returns the reader of these hashes, which ascend and are different. It hands them over once.
HashReader reader_of(std::vector<uint64_t> hashes);

}  // namespace cuckoo::segments
