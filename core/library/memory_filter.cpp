#include "core/library/memory_filter.hpp"

#include <algorithm>
#include <atomic>
#include <string>

#include "core/base/mix.hpp"
#include "core/base/salt.hpp"
#include "core/segments/image.hpp"
#include "core/segments/window_message.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo {

using segments::Contents;
using segments::FilterFile;
using segments::MessageHeader;
using segments::PieceSink;

namespace {

// Returns a seed that can't be foreseen, and that no other filter of the process has.
uint64_t random_seed() {
  static std::atomic<uint64_t> made{0};
  return mix64(process_salt() + kGoldenStep * ++made);
}

constexpr uint64_t kMostImageBytes = uint64_t{1} << 40;  // more than a filter in memory has

const char* kind_text(FilterKind kind) noexcept {
  switch (kind) {
    case FilterKind::kCuckoo:
      return "a cuckoo filter";
    case FilterKind::kBloom:
    case FilterKind::kBlockedBloom:
      return "a Bloom filter";
    case FilterKind::kCountingBloom:
      return "a counting Bloom filter";
    case FilterKind::kLegacyBloom:
      return "a Bloom filter of murmur2 hashes";
  }
  return "a filter";
}

// Refuses keys of several columns or with a collation, because a Key can't ask for them.
Status expect_plain_keys(const MessageHeader& header) {
  if (header.keys.columns > 1) {
    return invalid("an image of keys of " + std::to_string(header.keys.columns) +
                   " columns, expected keys of one");
  }
  if (header.keys.collations != 0) {
    return invalid(
        "an image of keys with a collation, expected BINARY, which hashes a text as it is");
  }
  return {};
}

}  // namespace

// --- making --------------------------------------------------------------------------------------

MemoryFilter::MemoryFilter(const FilterOptions& options)
    : state_(state_of(options.spec.kind)),
      logged_bits_(logged_hash(~uint64_t{0}, options.width)),
      seed_(options.seed),
      none_(std::make_unique<NoBlocks>()),
      file_(std::make_unique<FilterFile>(options, *none_, FilterFile::NeverFlushed{})) {}

Result<std::unique_ptr<MemoryFilter>> MemoryFilter::make(const FilterOptions& options) {
  CUCKOO_TRY(options.check());
  std::unique_ptr<MemoryFilter> made(new MemoryFilter(options));
  CUCKOO_TRY(made->file_->create());
  made->note_segments();
  return made;
}

Result<std::unique_ptr<MemoryFilter>> MemoryFilter::make_for(FilterKind kind, uint64_t keys,
                                                             double rate,
                                                             std::optional<uint64_t> seed,
                                                             bool grows) {
  FilterOptions options;
  options.spec.kind = kind;
  options.spec.rate = rate;
  options.capacity = keys;
  options.growth = grows;
  options.width = hash_width_for(rate, keys);
  options.seed = seed.value_or(random_seed());
  Result<std::unique_ptr<MemoryFilter>> made = make(options);
  if (made.ok()) {
    return made;
  }
  Error error = made.take_status().take_error();  // it names the options as SQL does
  for (const auto& [name, own] :
       {std::pair<std::string, std::string>("capacity", "expected_keys"), {"fpr", "rate"}}) {
    if (const size_t at = error.message.find(name); at != std::string::npos) {
      error.message.replace(at, name.size(), own);
    }
  }
  return error;
}

Result<std::unique_ptr<MemoryFilter>> MemoryFilter::of_image(std::span<const std::byte> image,
                                                             std::span<const FilterKind> kinds) {
  if (segments::looks_like_window_message(image)) {
    return invalid("an image of a sliding window, expected that of one filter");
  }
  CUCKOO_ASSIGN_OR_RETURN(const MessageHeader header, segments::decode_image_header(image));
  if (std::find(kinds.begin(), kinds.end(), header.spec.kind) == kinds.end()) {
    return invalid(std::string("an image of ") + kind_text(header.spec.kind) + ", expected " +
                   kind_text(kinds.front()));
  }
  CUCKOO_TRY(expect_plain_keys(header));
  FilterOptions options;
  options.spec = segments::created_spec(header.spec);
  options.capacity = header.capacity;
  options.growth = header.with_hashes;
  options.width = header.width;
  options.seed = header.seed;
  CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<MemoryFilter> made, make(options));
  Contents contents;
  contents.take(header);
  contents.mark.reset();  // a filter in memory has no log, so it names no contents
  contents.pieces = [&](const PieceSink& sink) {
    return segments::read_image(image, header.with_hashes, options.page_bytes, sink);
  };
  CUCKOO_TRY(made->file_->import(options, contents));
  made->note_segments();
  made->items_ = made->file_->items();
  return made;
}

Status MemoryFilter::usable() const {
  if (broken()) {
    return corrupt(
        "memory ran out, or something was damaged, in the middle of an earlier change: what the"
        " filter held is lost");
  }
  return {};
}

// --- asking --------------------------------------------------------------------------------------

uint64_t MemoryFilter::count(uint64_t hash) const {
  if (broken()) {
    return 1;
  }
  const Result<uint64_t> found = file_->count(logged(hash));
  return found.ok() ? found.value() : 1;
}

Result<uint64_t> MemoryFilter::overlap(const MemoryFilter& other) const {
  CUCKOO_TRY(usable());
  CUCKOO_TRY(other.usable());
  if (other.options().seed != options().seed) {
    return invalid("a filter of another seed; make both with one seed");
  }
  if (!keeps_hashes() || !other.keeps_hashes()) {
    return invalid("a filter that keeps no hashes; make both to grow, and save them with hashes");
  }
  CUCKOO_ASSIGN_OR_RETURN(const segments::HashReader mine, file_->hash_reader());
  CUCKOO_ASSIGN_OR_RETURN(const segments::HashReader theirs, other.file_->hash_reader());
  return segments::overlap({mine}, {theirs}, std::min(options().width, other.options().width));
}

Result<std::vector<std::byte>> MemoryFilter::to_bytes(bool with_hashes) const {
  CUCKOO_TRY(usable());
  CUCKOO_ASSIGN_OR_RETURN(const Contents contents, file_->contents(with_hashes));
  const FilterOptions& options = file_->options();
  MessageHeader header = segments::image_header(options.spec, options.width, options.seed,
                                                options.key_form(), contents.key_types);
  header.capacity = contents.capacity;
  header.items = contents.items;
  header.with_hashes = with_hashes;
  return segments::encode_image(header, contents.pieces, kMostImageBytes);
}

void MemoryFilter::contains_all(std::span<const uint64_t> hashes, std::vector<bool>& found) const {
  for (size_t i = 0; i < hashes.size(); ++i) {
    if (i + kAhead < hashes.size()) {
      prefetch(hashes[i + kAhead]);
    }
    found.push_back(contains(hashes[i]));
  }
}

bool MemoryFilter::otherwise_contains(uint64_t hash) const noexcept {
  const Slot& slot = slots_[slot_of(hash)];
  if (broken() || slot.filter == nullptr) [[unlikely]] {
    return broken();
  }
  return static_cast<const cuckoo::BloomFilter*>(slot.filter)->probe(rest_of(hash, slot)) ==
         Filter::Answer::kPresent;
}

// --- changing ------------------------------------------------------------------------------------

MemoryFilter::Slot MemoryFilter::slot_now(size_t index) const {
  const segments::Directory::Leaf& leaf = file_->leaf_of(uint64_t{index} << slot_shift_ << 1);
  Slot slot;
  slot.depth = leaf.depth;
  if (leaf.segment != nullptr) {
    slot.filter = &leaf.segment->filter();
    if (slot.filter->kind() == FilterKind::kCuckoo) {
      slot.probe = static_cast<const cuckoo::CuckooFilter*>(slot.filter)->probe_code();
    }
  }
  return slot;
}

// Updates slots_ (I2).
void MemoryFilter::note_segments() {
  const unsigned depth = file_->directory_depth();
  slots_.resize(size_t{1} << depth);
  slot_shift_ = 63 - depth;
  for (size_t i = 0; i < slots_.size(); ++i) {
    slots_[i] = slot_now(i);
  }
  noted_ = file_->next_number();
}

// Updates slots_ if at most the segment of that hash was made anew, as one or several.
void MemoryFilter::note_segments_of(uint64_t hash) {
  if (noted_ == file_->next_number()) {
    return;
  }
  const unsigned depth = 63 - slot_shift_;
  if (depth != file_->directory_depth()) {
    note_segments();
    return;
  }
  const unsigned bits = depth - slots_[slot_of(hash)].depth;  // by which it was split at most
  const size_t first = slot_of(hash) >> bits << bits;
  for (size_t i = first; i < first + (size_t{1} << bits); ++i) {
    slots_[i] = slot_now(i);
  }
  noted_ = file_->next_number();
}

// Makes a change. The filter is broken() during the change, and stays so if the change throws (I3).
template <class Change>
auto MemoryFilter::changing(Change&& change) {
  using Answer = decltype(change());
  if (broken()) [[unlikely]] {
    return Answer(usable());
  }
  const State state = std::exchange(state_, State::kBroken);
  Answer answer = std::forward<Change>(change)();
  items_ = file_->items();
  state_ = file_->poisoned() ? State::kBroken : state;
  return answer;
}

template <class Change>
auto MemoryFilter::changing_all(Change&& change) {
  return changing([&] {
    auto answer = std::forward<Change>(change)();
    note_segments();
    return answer;
  });
}

template <class Change>
auto MemoryFilter::changing_segment_of(uint64_t hash, Change&& change) {
  return changing([&] {
    auto answer = std::forward<Change>(change)();
    note_segments_of(hash);
    return answer;
  });
}

Status MemoryFilter::insert(uint64_t hash, uint64_t copies) {
  return changing_segment_of(hash, [&]() -> Status {
    CUCKOO_TRY(file_->insert_copies(logged(hash), copies));
    return file_->settle(logged(hash));
  });
}

// A filter without hashes gains nothing by a load. With hashes, a load sorts the hashes of a
// segment only once. So a quarter of the hashes that make a load of a table make a load here.
Status MemoryFilter::insert_all(std::span<const uint64_t> hashes) {
  CUCKOO_TRY(usable());
  CUCKOO_TRY(file_->expect_room(hashes.size()));
  if (!keeps_hashes() || !file_->is_load(4 * hashes.size())) {
    for (size_t i = 0; i < hashes.size(); ++i) {
      if (i + kAhead < hashes.size()) {
        prefetch(hashes[i + kAhead]);
      }
      CUCKOO_TRY(insert(hashes[i]));
    }
    return {};
  }
  return changing_all([&]() -> Status {
    Status status;
    for (const uint64_t hash : hashes) {
      if (status = file_->insert(logged(hash)); !status.ok()) {
        break;
      }
    }
    CUCKOO_TRY(file_->fold_all());
    return status;
  });
}

Result<bool> MemoryFilter::insert_new(uint64_t hash) {
  return changing_segment_of(hash, [&]() -> Result<bool> {
    CUCKOO_ASSIGN_OR_RETURN(const bool added, file_->insert_new(logged(hash)));
    CUCKOO_TRY(file_->settle(logged(hash)));
    return added;
  });
}

Result<bool> MemoryFilter::remove(uint64_t hash) {
  return changing_segment_of(hash, [&]() -> Result<bool> {
    CUCKOO_ASSIGN_OR_RETURN(const bool removed, file_->remove(logged(hash)));
    CUCKOO_TRY(file_->settle(logged(hash)));
    return removed;
  });
}

Status MemoryFilter::clear() {
  return changing_all([&]() -> Status {
    CUCKOO_TRY(file_->clear());
    return file_->fold_all();
  });
}

Status MemoryFilter::merge_hashes(const MemoryFilter& other) {
  CUCKOO_TRY(file_->expect_room(other.items()));
  const bool counts = options().multiset();
  return other.file_->for_each_hash([&](uint64_t hash, uint64_t count) -> Status {
    return for_each_part(counts ? count : 1, [&](uint64_t copies) {
      return file_->insert_copies(logged(hash), copies);
    });
  });
}

Status MemoryFilter::merge(const MemoryFilter& other) {
  CUCKOO_TRY(other.usable());
  if (&other == this) {
    return invalid("merge takes another filter than this one");
  }
  if (other.options().spec.kind != options().spec.kind) {
    return invalid(std::string("a filter of another layout, expected ") +
                   kind_text(options().spec.kind) + " like this one");
  }
  if (other.options().seed != options().seed) {
    return invalid("a filter of another seed; make both with one seed");
  }
  const bool by_hashes = keeps_hashes() && other.keeps_hashes();
  const HashWidth width = options().width;
  const HashWidth other_width = other.options().width;
  if (by_hashes ? other_width < width : other_width != width) {
    return invalid("a filter that knows " + std::to_string(static_cast<int>(other_width)) +
                   " bits of each hash, this one needs " + std::to_string(static_cast<int>(width)) +
                   "; make both for one rate");
  }
  return changing_all([&]() -> Status {
    if (by_hashes) {
      Status status = merge_hashes(other);
      CUCKOO_TRY(file_->fold_all());
      return status;
    }
    CUCKOO_ASSIGN_OR_RETURN(const Contents contents, other.file_->contents(false));
    return file_->unite(contents);
  });
}

}  // namespace cuckoo
