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
using segments::ImageHeader;
using segments::PieceSink;

namespace {

// One that nobody can foresee, and no other filter of the process has.
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

// A key that a table changed before it hashed it can't be asked for here.
Status expect_plain_keys(const ImageHeader& header) {
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
    : none_(std::make_unique<NoBlocks>()),
      file_(std::make_unique<FilterFile>(options, *none_)),
      width_(options.width) {}

Result<std::unique_ptr<MemoryFilter>> MemoryFilter::make(const FilterOptions& options) {
  CUCKOO_TRY(options.check());
  std::unique_ptr<MemoryFilter> made(new MemoryFilter(options));
  CUCKOO_TRY(made->file_->create());
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
  return make(options);
}

Result<std::unique_ptr<MemoryFilter>> MemoryFilter::of_image(std::span<const std::byte> image,
                                                             std::span<const FilterKind> kinds) {
  if (segments::looks_like_window_message(image)) {
    return invalid("an image of a sliding window, expected that of one filter");
  }
  CUCKOO_ASSIGN_OR_RETURN(const ImageHeader header, segments::decode_image_header(image));
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
  contents.capacity = header.capacity;
  contents.items = header.items;
  contents.with_hashes = header.with_hashes;
  contents.hash_count = header.hash_count;
  contents.key_types = header.key_types;
  contents.pieces = [&](const PieceSink& sink) {
    return segments::read_image(image, header.with_hashes, options.page_bytes, sink);
  };
  CUCKOO_TRY(made->file_->import(options, contents));
  CUCKOO_TRY(made->end_change());
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

Result<std::vector<std::byte>> MemoryFilter::to_bytes(bool with_hashes) const {
  CUCKOO_TRY(usable());
  CUCKOO_ASSIGN_OR_RETURN(const Contents contents, file_->contents(with_hashes));
  const FilterOptions& options = file_->options();
  ImageHeader header = segments::image_header(options.spec, options.width, options.seed,
                                              options.key_form(), contents.key_types);
  header.capacity = contents.capacity;
  header.items = contents.items;
  header.with_hashes = with_hashes;
  return segments::encode_image(header, contents.pieces, kMostImageBytes);
}

// --- changing ------------------------------------------------------------------------------------

// I3.
template <class Change>
auto MemoryFilter::changing(Change&& change) {
  using Answer = decltype(change());
  if (Status status = usable(); !status.ok()) {
    return Answer(std::move(status));
  }
  broken_ = true;
  Answer answer = std::forward<Change>(change)();
  broken_ = false;
  return answer;
}

// A change is a transaction of its own: what is folded when is what a table would fold.
Status MemoryFilter::end_change() {
  CUCKOO_TRY(file_->finish_load());
  file_->committed();
  if (file_->unwritten_entries() > kMostLogged) {
    file_->drop_log();
  }
  items_ = file_->items();
  return {};
}

Status MemoryFilter::insert(uint64_t hash, uint64_t copies) {
  return changing([&]() -> Status {
    CUCKOO_TRY(file_->insert_copies(logged(hash), copies));
    CUCKOO_TRY(end_change());
    return file_->settle(logged(hash));
  });
}

Status MemoryFilter::insert_all(std::span<const uint64_t> hashes) {
  return changing([&]() -> Status {
    CUCKOO_TRY(file_->expect_room(hashes.size()));
    Status status;
    for (const uint64_t hash : hashes) {
      if (status = file_->insert(logged(hash)); !status.ok()) {
        break;
      }
    }
    CUCKOO_TRY(end_change());
    CUCKOO_TRY(file_->settle_all());
    return status;
  });
}

Result<bool> MemoryFilter::insert_new(uint64_t hash) {
  return changing([&]() -> Result<bool> {
    CUCKOO_ASSIGN_OR_RETURN(const bool inserted, file_->insert_new(logged(hash)));
    CUCKOO_TRY(end_change());
    CUCKOO_TRY(file_->settle(logged(hash)));
    return inserted;
  });
}

Result<bool> MemoryFilter::remove(uint64_t hash) {
  return changing([&]() -> Result<bool> {
    CUCKOO_ASSIGN_OR_RETURN(const bool removed, file_->remove(logged(hash)));
    CUCKOO_TRY(end_change());
    CUCKOO_TRY(file_->settle(logged(hash)));
    return removed;
  });
}

Status MemoryFilter::clear() {
  return changing([&]() -> Status {
    CUCKOO_TRY(file_->clear());
    return end_change();
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
  if (by_hashes ? other.width_ < width_ : other.width_ != width_) {
    return invalid("a filter that knows " + std::to_string(static_cast<int>(other.width_)) +
                   " bits of each hash, this one needs " +
                   std::to_string(static_cast<int>(width_)) + "; make both for one rate");
  }
  return changing([&]() -> Status {
    if (by_hashes) {
      Status status = merge_hashes(other);
      CUCKOO_TRY(end_change());
      CUCKOO_TRY(file_->settle_all());
      return status;
    }
    CUCKOO_ASSIGN_OR_RETURN(const Contents contents, other.file_->contents(false));
    CUCKOO_TRY(file_->unite(contents));
    return end_change();
  });
}

}  // namespace cuckoo
