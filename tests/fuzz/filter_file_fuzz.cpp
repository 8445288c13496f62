// FilterFile: a small stored filter of which blocks were changed, lost or swapped under right
// checksums. Each call ends in kCorrupt or does what it should; what is added is found again.
//
// The first byte of an input chooses the filter. Then four bytes an edit: which block, where in two
// bytes, and the byte to be there.
#include <algorithm>
#include <iterator>
#include <memory>

#include "core/base/mix.hpp"
#include "core/segments/filter_file.hpp"
#include "tests/fuzz/fuzz_blocks.hpp"
#include "tests/support/sealed_blocks.hpp"

namespace cuckoo::test {
namespace {

using segments::FilterFile;

constexpr FilterKind kKinds[] = {FilterKind::kCuckoo, FilterKind::kBloom, FilterKind::kBlockedBloom,
                                 FilterKind::kCountingBloom};
constexpr uint64_t kMostFirstDepth = 6;  // as in filter_directory_fuzz.cpp
constexpr uint16_t kLose = 0xFFFF;
constexpr uint16_t kSwap = 0xFFFE;  // with the block of that number

uint64_t key(uint64_t i) { return logged_hash(mix64(i + 1), HashWidth::k47Bits); }

FilterOptions options_of(uint8_t choice) {
  FilterOptions options;
  options.spec.kind = kKinds[choice % 4];
  options.spec.rate = 0.03;
  options.growth = (choice & 4) != 0;
  options.capacity = (choice & 8) != 0 ? 200 : 800;
  options.page_bytes = 64;
  options.seed = 9;
  options.digest = 7;
  return options;
}

// Small: all is pending. Large: folded, and where it grows of several segments and runs.
FuzzBlocks filter_of(uint8_t choice) {
  FuzzBlocks blocks;
  FilterFile file(options_of(choice), blocks);
  const bool multiset = is_multiset(file.options().spec.kind);
  REQUIRE(file.create().ok());
  const uint64_t count = (choice & 16) != 0 ? 700 : 40;
  for (uint64_t i = 0; i < count; ++i) {
    const Status added = file.insert(key(i));
    REQUIRE(added.ok() || added.error().code == ErrorCode::kFull);
    if (multiset && added.ok() && i % 100 == 7) {
      for (int copy = 0; copy < 20 && file.insert(key(i)).ok(); ++copy) {
      }
      REQUIRE(file.remove(key(i - 3)).ok());
    }
  }
  REQUIRE(file.flush().ok());
  return blocks;
}

void edit(FuzzBlocks& blocks, uint8_t number, uint16_t at, std::byte to, uint64_t seed) {
  const auto nth = [&](size_t n) {
    return std::next(blocks.rows.begin(), static_cast<std::ptrdiff_t>(n % blocks.rows.size()));
  };
  const auto block = nth(number);
  if (at == kLose) {
    if (blocks.rows.size() > 1) {
      blocks.rows.erase(block);
    }
    return;
  }
  const std::span<const std::byte> content = blocks.content(block->first);
  Bytes changed(content.begin(), content.end());
  if (at == kSwap) {
    const auto other = nth(std::to_integer<size_t>(to));
    const std::span<const std::byte> theirs = blocks.content(other->first);
    const Bytes copy(theirs.begin(), theirs.end());
    blocks.put(other->first, changed, seed);
    changed = copy;
  } else if (!changed.empty()) {
    changed[at % changed.size()] = to;
  }
  blocks.put(block->first, changed, seed);
}

bool allowed(const Status& status) {
  REQUIRE(status.ok() || !status.error().message.empty());
  REQUIRE(status.ok() || status.error().code == ErrorCode::kCorrupt ||
          status.error().code == ErrorCode::kFull || status.error().code == ErrorCode::kStorage ||
          status.error().code == ErrorCode::kInvalid);
  return status.ok();
}

void ask(FilterFile& file) {
  for (uint64_t i = 0; i < 40; ++i) {
    (void)allowed(file.load_and_probe(key(i * 41)).take_status());
    (void)allowed(file.count(key(i * 41)).take_status());
  }
  (void)file.rate_now();
  (void)file.stored_bytes();
  for (const bool with_hashes : {false, true}) {
    (void)allowed(file.for_each_piece(with_hashes, [](segments::Piece&& piece) -> Status {
      REQUIRE(piece.filter != nullptr);
      return {};
    }));
  }
  if (Result<std::optional<segments::FilterMark>> mark = file.mark(); mark.ok() && mark.value()) {
    (void)allowed(file.changes_since(*mark.value()).take_status());
  }
}

// The numbers of the keys that were added and stay. What the file holds is not known here, so a
// removed key may be a false positive, whose removal takes from others: such keys go first.
std::vector<uint64_t> change(FilterFile& file) {
  std::vector<uint64_t> added;
  for (uint64_t i = 0; file.multiset() && i < 150; i += 8) {
    (void)allowed(file.remove(key(i)).take_status());
  }
  for (uint64_t i = 100000; i < 100150 && !file.poisoned(); ++i) {
    if (!allowed(file.insert(key(i)))) {
      continue;
    }
    if (!file.multiset() || i % 8 != 0) {
      added.push_back(i);
    } else {
      (void)allowed(file.remove(key(i)).take_status());
    }
  }
  if (file.poisoned()) {
    return {};
  }
  return allowed(file.finish_load()) && allowed(file.flush()) ? added : std::vector<uint64_t>();
}

void examine(FuzzBlocks& blocks, const FilterOptions& options) {
  const auto root = blocks.rows.find(segments::kRootBlock);
  if (root != blocks.rows.end()) {
    const Result<segments::Root> decoded = segments::decode_root(blocks.content(root->first));
    if (decoded.ok() && decoded.value().first_depth > kMostFirstDepth) {
      return;
    }
  }
  FilterFile file(options, blocks);
  if (!allowed(file.refresh())) {
    return;
  }
  (void)allowed(file.check());
  ask(file);
  const std::vector<uint64_t> added = change(file);
  FilterFile opened(options, blocks);
  if (added.empty() || !allowed(opened.refresh())) {
    return;
  }
  for (const uint64_t i : added) {
    const Result<bool> found = opened.load_and_probe(key(i));
    REQUIRE(!found.ok() || found.value());
  }
  if (options.growth && allowed(opened.rebuild(1))) {
    for (const uint64_t i : added) {
      const Result<bool> found = opened.load_and_probe(key(i));
      REQUIRE(!found.ok() || found.value());
    }
  }
}

}  // namespace
}  // namespace cuckoo::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cuckoo::test;
  if (size == 0) {
    return 0;
  }
  const uint8_t choice = data[0] % 32;
  static std::unique_ptr<const FuzzBlocks> samples[32];
  if (samples[choice] == nullptr) {
    samples[choice] = std::make_unique<const FuzzBlocks>(filter_of(choice));
  }
  const cuckoo::FilterOptions options = options_of(choice);
  FuzzBlocks blocks = *samples[choice];
  std::span<const std::byte> edits = as_input(data, size).subspan(1);
  for (; edits.size() >= 4; edits = edits.subspan(4)) {
    edit(blocks, std::to_integer<uint8_t>(edits[0]), cuckoo::load_le<uint16_t>(&edits[1]), edits[3],
         options.seed);
  }
  if (data[0] / 32 % 2 == 0) {  // else as it is found
    seal(blocks, options);
  }
  examine(blocks, options);
  return 0;
}
