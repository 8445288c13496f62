// Messages of small windows, always of the same bytes: for the files in tests/golden and in
// tests/fuzz/corpus.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/core/segments/window_copies.hpp"

namespace cuckoo::test {

// For each kind an image, with hashes where the kind grows, and the changes since then, over a
// rotation.
inline std::vector<std::pair<std::string, Bytes>> window_samples() {
  std::vector<std::pair<std::string, Bytes>> samples;
  for (const FilterCase& one : all_cases()) {
    StoredGenerations origin(generations_of(one, 3, 20, 0.05, 448));
    for (uint64_t turn = 0; turn < 3; ++turn) {
      origin.add_and_commit(100 * turn, 100 * turn + 15);
      origin.rotate();
    }
    origin.commit();
    const segments::WindowMark mark = mark_of(origin.window);
    samples.emplace_back("window_" + name_of(one), image_of(origin.window, one.growth));
    origin.add(400, 410);
    origin.rotate();
    origin.add_and_commit(500, 503);
    samples.emplace_back("window_" + name_of(one) + "_changes",
                         changes_of(origin.window, mark).value_or(Bytes()));
  }
  return samples;
}

}  // namespace cuckoo::test
