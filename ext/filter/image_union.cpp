#include "ext/filter/image_union.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/stored/filter_options.hpp"

#include "ext/filter/options.hpp"
#include "ext/sqlite/error.hpp"
#include "ext/sqlite/statement.hpp"

namespace cuckoo {
namespace {

constexpr uint64_t kFewWords = uint64_t{1} << 20;  // of hashes: 8 MB

std::string number(double value) { return sql_text("%.9g", value); }

// "fpr 0.001", "fingerprint_bits 12", "bits_per_key 10, hashes 7"
std::string size_text(const FilterSpec& spec) {
  if (spec.fingerprint_bits != 0) {
    return "fingerprint_bits " + std::to_string(spec.fingerprint_bits);
  }
  if (spec.bits_per_key != 0) {
    return "bits_per_key " + number(spec.bits_per_key) +
           (spec.hashes != 0 ? ", hashes " + std::to_string(spec.hashes) : "");
  }
  return "fpr " + number(spec.rate);
}

bool one_own_size(const FilterSpec& a, const FilterSpec& b) noexcept {
  return a.fingerprint_bits == b.fingerprint_bits && a.bits_per_key == b.bits_per_key &&
         a.hashes == b.hashes;
}

}  // namespace

ImageUnion::ImageUnion(std::string function, uint64_t limit, Poll poll)
    : function_(std::move(function)),
      limit_(limit),
      poll_(std::move(poll)),
      compact_at_(kFewWords) {}

SqlError ImageUnion::refuse(const std::string& why) const {
  return {SQLITE_ERROR, function_ + ": " + why};
}

// --- what goes together --------------------------------------------------------------------------

void ImageUnion::expect_one_seed(const ImageHeader& theirs) const {
  const FilterKind mine = header_->spec.kind;
  if (mine != theirs.spec.kind) {
    throw refuse("the images differ in kind: " + describe(mine) + ", " +
                 describe(theirs.spec.kind) + "; unite images of one kind only");
  }
  if (header_->seed != theirs.seed) {
    throw refuse("the images differ in seed; build both with one seed");
  }
}

// Without hashes only cells of one geometry can be united.
void ImageUnion::expect_one_shape(const ImageHeader& mine, const ImageHeader& theirs) const {
  if (mine.width == theirs.width && mine.geometry == theirs.geometry) {
    return;
  }
  const bool could_have_hashes = !traits_of(mine.spec.kind).pairs;
  const auto differ = [&](const std::string& what, const std::string& way_out) {
    return refuse("the images differ in " + what + "; " + way_out +
                  (could_have_hashes ? ", or keep the hashes of all" : ""));
  };
  const auto numbers = [](double a, double b) {
    return " (" + number(a) + " and " + number(b) + ")";
  };
  if (mine.spec.rate != theirs.spec.rate) {
    throw differ("fpr" + numbers(mine.spec.rate, theirs.spec.rate),
                 "build both with the same fpr, and pass capacity");
  }
  if (!one_own_size(mine.spec, theirs.spec)) {
    throw differ("the bits that a key takes", "build both with the same options");
  }
  if (mine.geometry == theirs.geometry) {
    throw differ("the bits of their hashes" +
                     numbers(static_cast<double>(mine.width), static_cast<double>(theirs.width)),
                 "make both without seed_of");
  }
  throw differ("geometry, made for capacities" + numbers(static_cast<double>(mine.capacity),
                                                         static_cast<double>(theirs.capacity)),
               "build both with the same fpr and pass capacity");
}

void ImageUnion::expect_room(uint64_t items, const Filter& filter) const {
  if (filter.overfull(items, header_->capacity)) {
    throw SqlError(SQLITE_ERROR, "full: " + function_ + ": " + std::to_string(items) +
                                     " items, more than the images' capacity of " +
                                     std::to_string(header_->capacity) +
                                     "; build them with one capacity that holds all of them");
  }
}

void ImageUnion::note_keys(const KeyDomain& keys) {
  for (KeyDomain& known : keys_) {
    if (known.affinity == keys.affinity && known.collation == keys.collation) {
      known.types |= keys.types;
      return;
    }
  }
  keys_.push_back(keys);
}

// That domain of the images in which all keys are found by whoever found them before: rather one
// with a type, and with a collation that has more spellings for a key. Known only when all are
// there: a later image may take both of two that don't go together.
KeyDomain ImageUnion::united_keys() const {
  const auto rank = [](const KeyDomain& keys) {
    return std::tuple(keys.affinity == Affinity::kNone, keys.collation == Collation::kBinary,
                      keys.affinity, keys.collation);
  };
  std::vector<KeyDomain> ranked = keys_;
  std::sort(ranked.begin(), ranked.end(),
            [&](const KeyDomain& a, const KeyDomain& b) { return rank(a) < rank(b); });
  std::string first_why;
  for (const KeyDomain& candidate : ranked) {
    KeyDomain united = candidate;
    std::string why;
    for (const KeyDomain& keys : ranked) {
      united.types |= keys.types;
      why = why.empty() ? obstacle(keys, candidate) : why;
    }
    if (why.empty()) {
      return united;
    }
    first_why = first_why.empty() ? why : first_why;
  }
  throw refuse("an image" + first_why);
}

// --- all images ----------------------------------------------------------------------------------

void ImageUnion::add(std::span<const std::byte> bytes) {
  ImageFilter image(bytes, function_);
  const ImageHeader& theirs = image.header();
  const bool first = !header_;
  if (first) {
    header_ = theirs;
    spec_ = table_spec(theirs.spec);
    hashes_ = HashCollection(theirs.width);
  }
  expect_one_seed(theirs);
  note_keys(image.keys());
  if (cells_ == nullptr && theirs.with_hashes) {
    plan_for(theirs);
    collect(image, bytes);
    return;
  }
  expect_one_shape(*header_, theirs);
  if (first) {
    cells_ = image.take_filter();
    return;
  }
  if (other_shape_) {
    expect_one_shape(*other_shape_, theirs);
  }
  unite_cells(image);
}

std::vector<std::byte> ImageUnion::encode() {
  return cells_ != nullptr ? encode_cells() : encode_hashes();
}

// --- by hashes -----------------------------------------------------------------------------------

// Takes the image's parameters into those of the result.
void ImageUnion::plan_for(const ImageHeader& theirs) {
  if (!other_shape_ && (theirs.width != header_->width || theirs.geometry != header_->geometry)) {
    other_shape_ = theirs;
  }
  const FilterSpec spec = table_spec(theirs.spec);
  if (!one_own_size(spec, spec_)) {
    conflict_ = "the images differ in their size (" + size_text(spec_) + ", and " +
                size_text(spec) + "); build all with the same options";
  }
  if (!conflict_.empty() && other_shape_) {
    throw refuse(conflict_);
  }
  if (is_multiset(spec.kind)) {
    items_ = sum_of_items(items_, theirs.items);
  }
  const bool harder =
      spec.rate < spec_.rate || theirs.capacity > capacity_ || theirs.width < hashes_.width();
  spec_.rate = std::min(spec_.rate, spec.rate);
  capacity_ = std::max(capacity_, theirs.capacity);
  if (theirs.width < hashes_.width()) {
    hashes_.narrow(theirs.width);
  }
  if (harder) {
    check_plan(0);
  }
}

uint64_t ImageUnion::sum_of_items(uint64_t a, uint64_t b) const {
  if (b > kMaxImageItems - a) {
    throw refuse("the images have more than 2^62 items together");
  }
  return a + b;
}

// Can there be an image of spec_ and capacity_, with at least so many hashes?
void ImageUnion::check_plan(uint64_t hash_count) const {
  FilterOptions options;
  options.spec = spec_;
  options.width = hashes_.width();
  if (options.width == HashWidth::k47Bits && capacity_ > options.most_items_by_hashes()) {
    throw refuse("an image has hashes of 47 bits, and " + size_text(spec_) +
                 " with a capacity of " + std::to_string(capacity_) +
                 " needs 63; build all images with that, or unite the others only");
  }
  const Result<std::unique_ptr<Filter>> filter = make_filter(spec_, capacity_, kImagePageBytes);
  if (!filter.ok()) {
    throw refuse(filter.error().message);
  }
  throw_if(function_,
           check_image_bytes(*filter.value(), limit_, least_hash_bytes(options.width, hash_count)));
}

// Verifies the hashes and collects them, in one pass.
void ImageUnion::collect(ImageFilter& image, std::span<const std::byte> bytes) {
  FilterContents contents;
  contents.hash_count = image.header().hash_count;
  contents.filter = image.take_filter();
  contents.hashes = polled(
      [&](const CountedHashSink& sink) {
        return read_image_hashes(bytes, [&](uint64_t hash, uint64_t count) {
          hashes_.add(hash, count);
          return sink(hash, count);
        });
      },
      poll_);
  const Status status = verify_hashes(contents);
  if (!status.ok() && status.error().code == ErrorCode::kCorrupt) {
    throw refuse(status.error().message);  // a bad image is the caller's error
  }
  throw_if(function_, status);
  if (hashes_.words() >= compact_at_) {
    throw_if(function_, hashes_.compact(is_multiset(spec_.kind), poll_));
    compact_at_ = std::max(kFewWords, 2 * hashes_.words());
  }
}

std::vector<std::byte> ImageUnion::encode_hashes() {
  if (!conflict_.empty()) {
    throw refuse(conflict_);
  }
  const KeyDomain keys = united_keys();
  Result<HashCounts> counts = hashes_.count(poll_);
  throw_if(function_, counts.take_status());
  capacity_ = std::max(capacity_, counts.value().capacity(spec_.kind));
  check_plan(counts.value().distinct);
  Result<FilterContents> built =
      hashes_.build(spec_, capacity_, HashCollection::Growth::kOn, kImagePageBytes, poll_);
  throw_if(function_, built.take_status());
  const FilterContents& contents = built.value();
  ImageHeader header = image_header(spec_, hashes_.width(), header_->seed, keys);
  header.capacity = contents.capacity;
  header.items = contents.items;
  header.hash_count = contents.hash_count;
  const HashSource hashes = polled(contents.hashes, poll_);
  Result<std::vector<std::byte>> bytes = encode_image(header, *contents.filter, &hashes, limit_);
  throw_if(function_, bytes.take_status());
  return std::move(bytes.value());
}

// --- by cells ------------------------------------------------------------------------------------

// Of the one geometry that all images have so far.
void ImageUnion::go_by_cells() {
  Result<std::unique_ptr<Filter>> made =
      make_filter(header_->spec.kind, header_->geometry, kImagePageBytes);
  throw_if(function_, made.take_status());
  Result<HashCounts> counts = hashes_.count(poll_);
  throw_if(function_, counts.take_status());
  const bool multiset = is_multiset(spec_.kind);
  header_->items = multiset ? items_ : counts.value().distinct;
  Filter& filter = *made.value();
  throw_if(function_, fill(filter, counts.value().capacity(spec_.kind),
                           polled(hashes_.hashes(multiset), poll_)));
  hashes_ = HashCollection(hashes_.width());
  cells_ = std::move(made.value());
}

void ImageUnion::unite_cells(const ImageFilter& image) {
  const ImageHeader& theirs = image.header();
  header_->capacity = std::max({header_->capacity, capacity_, theirs.capacity});
  if (is_multiset(theirs.spec.kind)) {
    const uint64_t items = sum_of_items(cells_ != nullptr ? header_->items : items_, theirs.items);
    if (traits_of(theirs.spec.kind).slot_per_item) {  // before a search for places there aren't
      expect_room(items, image.filter());
    }
  }
  if (cells_ == nullptr) {
    go_by_cells();
  }
  throw_if(function_, cells_->unite(image.filter(), poll_));
  header_->items = cells_->united_items(header_->items, theirs.items, header_->capacity);
  expect_room(header_->items, *cells_);
}

std::vector<std::byte> ImageUnion::encode_cells() {
  ImageHeader header = image_header(header_->spec, header_->width, header_->seed, united_keys());
  header.capacity = header_->capacity;
  header.items = header_->items;
  Result<std::vector<std::byte>> bytes = encode_image(header, *cells_, nullptr, limit_);
  throw_if(function_, bytes.take_status());
  return std::move(bytes.value());
}

}  // namespace cuckoo
