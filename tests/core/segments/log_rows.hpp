// Rows of a log, as a test writes them.
#pragma once

#include <vector>

#include "core/segments/log_row.hpp"
#include "tests/support/core_samples.hpp"

namespace cuckoo::test {

inline segments::LogRowWriter row_of(const segments::LogHeader& header,
                                     const std::vector<uint64_t>& entries, HashWidth width,
                                     const std::vector<MoreCopies>& more = {}) {
  segments::LogRowWriter row(width);
  row.start(header.position, header.chain);
  row.set_numbers(header.items, header.directory_version);
  row.append(entries, 0, more);
  return row;
}

inline Bytes encoded_row(const segments::LogHeader& header, const std::vector<uint64_t>& entries,
                         HashWidth width, const std::vector<MoreCopies>& more = {}) {
  return row_of(header, entries, width, more).encode();
}

inline uint64_t chain_over(uint64_t chain, const std::vector<uint64_t>& entries, HashWidth width,
                           const std::vector<MoreCopies>& more = {}) {
  return row_of({chain, 0, 0, 0}, entries, width, more).row().chain_after();
}

}  // namespace cuckoo::test
