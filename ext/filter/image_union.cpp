#include "ext/filter/image_union.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "core/segments/decide.hpp"
#include "core/stored/filter_options.hpp"

#include "ext/filter/options.hpp"
#include "ext/sqlite/error.hpp"
#include "ext/sqlite/statement.hpp"

namespace cuckoo {

using segments::Contents;
using segments::HashCollection;
using segments::HashCounts;
using segments::kImagePageBytes;
using segments::kMaxImageItems;
using segments::MessageHeader;
using segments::Piece;

namespace {

constexpr uint64_t kFewWords = uint64_t{1} << 20;  // 8 MB of hashes

std::string number(double value) { return sql_text("%.9g", value); }

// Returns "fpr 0.001", "fingerprint_bits 12", or "bits_per_key 10, hashes 7".
std::string size_of_spec(const FilterSpec& spec) {
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

HashCollection::Cut cut_of(const Piece& piece) noexcept {
  return {piece.depth, piece.capacity, piece.filter->words()};
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

// --- which images can be united ------------------------------------------------------------------

void ImageUnion::expect_one_seed(const MessageHeader& theirs) const {
  const FilterKind mine = layout_->header.spec.kind;
  if (mine != theirs.spec.kind) {
    throw refuse("the images differ in kind: " + describe(mine) + ", " +
                 describe(theirs.spec.kind) + "; unite images of one kind only");
  }
  if (layout_->header.seed != theirs.seed) {
    throw refuse("the images differ in seed; build both with one seed");
  }
}

bool ImageUnion::same_cells(const Layout& a, const Layout& b) noexcept {
  return std::equal(a.cuts.begin(), a.cuts.end(), b.cuts.begin(), b.cuts.end(),
                    [](const Cut& one, const Cut& other) {
                      return one.depth == other.depth && one.geometry == other.geometry;
                    });
}

// Throws if the geometries differ, because without hashes only cells of one geometry can be united.
void ImageUnion::expect_one_layout(const Layout& a, const Layout& b) const {
  const MessageHeader& mine = a.header;
  const MessageHeader& theirs = b.header;
  const bool one_geometry = same_cells(a, b);
  if (mine.width == theirs.width && one_geometry) {
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
  if (one_geometry) {
    throw differ("the bits of their hashes" +
                     numbers(static_cast<double>(mine.width), static_cast<double>(theirs.width)),
                 "make both without seed_of");
  }
  if (mine.capacity == theirs.capacity && mine.pieces != theirs.pieces) {
    throw differ("the number of their segments" +
                     numbers(static_cast<double>(mine.pieces), static_cast<double>(theirs.pieces)),
                 "make both by an aggregate or in tables with growth = off");
  }
  throw differ("geometry, made for capacities" + numbers(static_cast<double>(mine.capacity),
                                                         static_cast<double>(theirs.capacity)),
               "build both with the same fpr and pass capacity");
}

SqlError ImageUnion::full(uint64_t items) const {
  return {SQLITE_ERROR, "full: " + function_ + ": " + std::to_string(items) +
                            " items, more than the images' capacity of " +
                            std::to_string(layout_->header.capacity) +
                            "; build them with one capacity that holds all of them"};
}

// Throws if the union is overfull. Each of several pieces has more room than its share, because by
// chance one gets more keys than another.
void ImageUnion::expect_room() const {
  const MessageHeader& header = layout_->header;
  const bool several = cells_.size() > 1;
  bool overfull = several ? !is_multiset(header.spec.kind) && header.items > header.capacity
                          : cells_[0].filter->overfull(header.items, header.capacity);
  for (const Piece& piece : cells_) {
    overfull = overfull || (several && !piece.filter->traits().slot_per_item &&
                            piece.filter->overfull(piece.items, piece.capacity));
  }
  if (overfull) {
    throw full(header.items);
  }
}

void ImageUnion::note_keys(const KeyDomain& keys) {
  for (KeyDomain& known : keys_) {
    if (known.form == keys.form) {
      known.types |= keys.types;
      return;
    }
  }
  keys_.push_back(keys);
}

// Returns one of these columns, by which every look-up still finds the keys that it found before.
// Prefers a column with a type, then one whose collation allows more spellings of a key. If no
// column will do, returns nothing, and puts the reason into `why`.
static std::optional<ColumnDomain> united_column(std::vector<ColumnDomain> columns,
                                                 std::string& why) {
  const auto rank = [](const ColumnDomain& column) {
    return std::tuple(column.affinity == Affinity::kNone, column.collation == Collation::kBinary,
                      column.affinity, column.collation);
  };
  std::sort(columns.begin(), columns.end(),
            [&](const ColumnDomain& a, const ColumnDomain& b) { return rank(a) < rank(b); });
  std::string first_why;
  for (const ColumnDomain& candidate : columns) {
    ColumnDomain united = candidate;
    why.clear();
    for (const ColumnDomain& column : columns) {
      united.types |= column.types;
      why = why.empty() ? obstacle(column, candidate) : why;
    }
    if (why.empty()) {
      return united;
    }
    first_why = first_why.empty() ? why : first_why;
  }
  why = first_why;
  return std::nullopt;
}

// Returns the union's keys. They are known only after the last image, because two images that don't
// fit each other may both fit a later one. An image without keys does not count.
KeyDomain ImageUnion::united_keys() const {
  std::vector<KeyDomain> all = keys_;
  std::erase_if(all, [](const KeyDomain& keys) { return keys.types == 0; });
  if (all.empty()) {
    all = keys_;
    std::erase_if(all, [columns = keys_[0].columns()](const KeyDomain& keys) {
      return keys.columns() != columns;
    });
  }
  for (const KeyDomain& keys : all) {
    if (keys.columns() != all[0].columns()) {
      throw refuse("an image" + obstacle(all[0], keys));
    }
  }
  KeyDomain united;
  united.form.columns = all[0].form.columns;
  for (size_t i = 0; i < united.columns(); ++i) {
    std::vector<ColumnDomain> columns;
    columns.reserve(all.size());
    for (const KeyDomain& keys : all) {
      columns.push_back(keys.column(i));
    }
    std::string why;
    const std::optional<ColumnDomain> column = united_column(std::move(columns), why);
    if (!column) {
      throw refuse("an image" + of_column(i, united.columns()) + why);
    }
    united.set(i, *column);
  }
  return united;
}

// --- all images ----------------------------------------------------------------------------------

void ImageUnion::add(std::span<const std::byte> bytes) {
  const Result<MessageHeader> header = segments::decode_image_header(bytes);
  if (segments::looks_like_window_message(bytes)) {
    throw refuse(header.error().message);
  }
  if (cells_.empty()) {
    if (header.ok() && header.value().with_hashes) {
      add_hashes(header.value(), bytes);
      return;
    }
  }
  add_cells(bytes);
}

std::vector<std::byte> ImageUnion::encode() {
  return cells_.empty() ? encode_hashes() : encode_cells();
}

// --- by hashes -----------------------------------------------------------------------------------

// Combines the image's parameters with those of the result.
void ImageUnion::plan_for(const MessageHeader& theirs) {
  const FilterSpec spec = segments::created_spec(theirs.spec);
  if (!one_own_size(spec, spec_)) {
    conflict_ = "the images differ in their size (" + size_of_spec(spec_) + ", and " +
                size_of_spec(spec) + "); build all with the same options";
    if (other_layout_) {
      throw refuse(conflict_);
    }
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

// Throws if there can't be an image of spec_ and capacity_ with at least so many hashes.
void ImageUnion::check_plan(uint64_t hash_count) const {
  FilterOptions options;
  options.spec = spec_;
  options.width = hashes_.width();
  if (options.width == HashWidth::k47Bits && capacity_ > options.most_items_by_hashes()) {
    throw refuse("an image has hashes of 47 bits, and " + size_of_spec(spec_) +
                 " with a capacity of " + std::to_string(capacity_) +
                 " needs 63; build all images with that, or unite the others only");
  }
  throw_if(function_,
           segments::check_image_bytes(spec_, options.width, capacity_, false, hash_count, limit_));
}

void ImageUnion::note_layout(Layout theirs) {
  if (!layout_) {
    layout_ = std::move(theirs);
  } else if (!other_layout_ &&
             (theirs.header.width != layout_->header.width || !same_cells(theirs, *layout_))) {
    other_layout_ = std::move(theirs);
    if (!conflict_.empty()) {
      throw refuse(conflict_);
    }
  }
}

void ImageUnion::add_hashes(const MessageHeader& theirs, std::span<const std::byte> bytes) {
  if (!layout_) {
    spec_ = segments::created_spec(theirs.spec);
    hashes_ = HashCollection(theirs.width);
  } else {
    expect_one_seed(theirs);
  }
  plan_for(theirs);
  std::vector<Cut> cuts = collect(bytes);
  note_keys({theirs.keys, theirs.key_types});
  note_layout({theirs, std::move(cuts)});
  if (hashes_.words() >= compact_at_) {
    throw_if(function_, hashes_.compact(is_multiset(spec_.kind), poll_));
    compact_at_ = std::max(kFewWords, 2 * hashes_.words());
  }
}

// Verifies the hashes and collects them, in one pass. Returns how the image is cut.
std::vector<ImageUnion::Cut> ImageUnion::collect(std::span<const std::byte> bytes) {
  std::vector<Cut> cuts;
  const Status status = segments::read_image(
      bytes, true, kImagePageBytes,
      [&](Piece&& piece) -> Status {
        for (const segments::NetHash& entry : piece.hashes) {
          hashes_.add(entry.hash, static_cast<uint64_t>(entry.net));
        }
        cuts.push_back(cut_of(piece));
        return {};
      },
      poll_);
  if (!status.ok() && status.error().code == ErrorCode::kCorrupt) {
    throw refuse(status.error().message);  // a bad image is the caller's error
  }
  throw_if(function_, status);
  return cuts;
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
  Result<Contents> built =
      hashes_.build(spec_, capacity_, HashCollection::Growth::kOffRoom, kImagePageBytes, poll_);
  throw_if(function_, built.take_status());
  const Contents& contents = built.value();
  MessageHeader header = image_header(spec_, hashes_.width(), layout_->header.seed, keys);
  header.capacity = contents.capacity;
  header.items = contents.items;
  header.with_hashes = true;
  return value_or_throw(function_, segments::encode_image(header, contents.pieces, limit_));
}

// --- by cells ------------------------------------------------------------------------------------

void ImageUnion::add_cells(std::span<const std::byte> bytes) {
  ImageFilter image(bytes, function_);
  Layout theirs{image.header(), {}};
  for (const Piece& piece : image.pieces().pieces()) {
    theirs.cuts.push_back(cut_of(piece));
  }
  const bool first = !layout_;
  if (!first) {
    expect_one_seed(theirs.header);
    expect_one_layout(*layout_, theirs);
    if (other_layout_) {
      expect_one_layout(*other_layout_, theirs);
    }
  }
  note_keys(image.keys());
  std::vector<Piece> pieces = image.take_pieces();
  if (first) {
    layout_ = std::move(theirs);
    cells_ = std::move(pieces);
  } else {
    unite_cells(theirs.header, pieces);
  }
}

// Makes pieces of the collected hashes, cut like the pieces of all images so far.
void ImageUnion::go_by_cells() {
  Result<Contents> made = hashes_.build_like(spec_.kind, layout_->cuts, kImagePageBytes, poll_,
                                             HashCollection::Hashes::kLeftOut);
  throw_if(function_, made.take_status());
  layout_->header.items = is_multiset(spec_.kind) ? items_ : made.value().items;
  throw_if(function_, made.value().pieces([this](Piece&& piece) -> Status {
    cells_.push_back(std::move(piece));
    return {};
  }));
  hashes_ = HashCollection(hashes_.width());
}

void ImageUnion::unite_cells(const MessageHeader& theirs, const std::vector<Piece>& pieces) {
  MessageHeader& header = layout_->header;
  header.capacity = std::max({header.capacity, capacity_, theirs.capacity});
  if (is_multiset(theirs.spec.kind)) {
    const uint64_t items = sum_of_items(cells_.empty() ? items_ : header.items, theirs.items);
    // Checked first, because unite() would search for places that don't exist.
    if (traits_of(theirs.spec.kind).slot_per_item && items > header.capacity) {
      throw full(items);
    }
  }
  if (cells_.empty()) {
    go_by_cells();
  }
  for (size_t i = 0; i < cells_.size(); ++i) {
    Piece& mine = cells_[i];
    const Piece& other = pieces[i];
    throw_if(function_, mine.filter->unite(*other.filter, poll_));
    mine.capacity = std::max(mine.capacity, other.capacity);
    mine.items = mine.filter->united_items(mine.items, other.items, mine.capacity);
  }
  count_united();
  expect_room();
}

// Adds up the items of all pieces. For a set these are estimates. A sum above the capacity by no
// more than the deviations proves nothing. Then the capacity is shown instead of the sum.
void ImageUnion::count_united() noexcept {
  MessageHeader& header = layout_->header;
  header.items = 0;
  for (const Piece& piece : cells_) {
    header.items += piece.items;
  }
  if (!is_multiset(header.spec.kind) && cells_.size() > 1 && header.items > header.capacity &&
      header.items <= segments::with_deviations(header.capacity)) {
    header.items = header.capacity;
  }
}

std::vector<std::byte> ImageUnion::encode_cells() {
  const MessageHeader& united = layout_->header;
  MessageHeader header = image_header(united.spec, united.width, united.seed, united_keys());
  header.capacity = united.capacity;
  header.items = united.items;
  segments::MessageWriter writer(header, limit_);
  for (const Piece& piece : cells_) {
    throw_if(function_, writer.add(piece));
  }
  return writer.finish();
}

}  // namespace cuckoo
