#include "ext/filter/image_filter.hpp"

#include <algorithm>
#include <cmath>

#include "core/filter/legacy_bloom.hpp"

#include "ext/sqlite/error.hpp"
#include "ext/sqlite/statement.hpp"

namespace cuckoo {
namespace {

segments::Image image_of(LegacyFile file) {
  segments::Image image;
  image.header.spec.kind = FilterKind::kLegacyBloom;
  image.header.spec.rate = file.rate;
  image.header.width = HashWidth::k63Bits;
  image.header.seed = file.seed;
  image.header.capacity = file.capacity;
  image.header.items = file.items;
  image.header.pieces = 1;
  image.header.key_types = kUnknownKeys;
  std::vector<segments::Piece> pieces(1);
  pieces[0].capacity = file.capacity;
  pieces[0].items = file.items;
  pieces[0].filter = std::move(file.filter);
  (void)image.pieces.take(std::move(pieces));  // can't fail, because one piece has all hashes
  return image;
}

template <class Value>
Value expect(Result<Value> result, const std::string& function) {
  if (!result.ok()) {
    throw SqlError(SQLITE_ERROR, function + ": " + result.error().message);
  }
  return std::move(result.value());
}

}  // namespace

ImageFilter::ImageFilter(std::span<const std::byte> bytes, const std::string& function)
    : bytes_(bytes.size()) {
  decode(bytes, function);
}

void ImageFilter::decode(std::span<const std::byte> bytes, const std::string& function) {
  if (looks_like_legacy_file(bytes)) {
    images_.push_back(
        image_of(expect(decode_legacy_file(bytes, segments::kImagePageBytes), function)));
  } else if (segments::looks_like_window_message(bytes)) {
    segments::WindowImage window = expect(segments::decode_window_image(bytes), function);
    images_ = std::move(window.generations);
    std::reverse(images_.begin(), images_.end());
    generations_ = window.mark.generations;
    rotation_ = window.mark.rotation;
    mark_ = segments::encode_window_mark(window.mark);
  } else {
    images_.push_back(expect(segments::decode_image(bytes), function));
    mark_ = header().mark ? std::optional(segments::encode_mark(*header().mark)) : std::nullopt;
  }
}

// --- figures -------------------------------------------------------------------------------------

std::vector<uint64_t> ImageFilter::generation_items() const {
  std::vector<uint64_t> items;
  for (const segments::Image& image : images_) {
    items.push_back(image.header.items);
  }
  return items;
}

// Returns the rate at capacity. If a window's rate was asked for, it is already that of all
// generations together. A rate that follows from other options is that of one generation.
double ImageFilter::target_rate() const noexcept {
  const double asked = header().spec.rate;
  const double one = pieces().rate(static_cast<double>(header().capacity));
  return asked != 0 || generations_ == 1
             ? (asked != 0 ? asked : one)
             : -std::expm1(std::log1p(-one) * static_cast<double>(generations_));
}

double ImageFilter::rate_now() const noexcept {
  if (images_.size() == 1) {
    return pieces().rate_now();
  }
  double absent = 0;  // the logarithm of the chance that no generation says "present"
  for (const segments::Image& image : images_) {
    absent += std::log1p(-image.pieces.rate_now());
  }
  return -std::expm1(absent);
}

KeyDomain ImageFilter::keys() const noexcept {
  KeyDomain keys(header().keys, 0);
  for (const segments::Image& image : images_) {
    keys.types |= image.header.key_types;
  }
  return keys;
}

// --- asking --------------------------------------------------------------------------------------

bool ImageFilter::may_contain(uint64_t hash) const noexcept {
  return std::any_of(images_.begin(), images_.end(), [hash](const segments::Image& image) {
    return image.pieces.probe(hash) == Filter::Answer::kPresent;
  });
}

bool ImageFilter::contains(sqlite3_value** values, TupleKey& tuple) const {
  const segments::MessageHeader& header = this->header();
  const KeyDomain keys(header.keys, 0);
  if (keys.columns() > 1) {
    const KeyView key = tuple.make(keys, values);
    return may_contain(logged_hash(hash_key(key, header.seed), header.width));
  }
  const ColumnDomain column = keys.column(0);
  std::string text;
  const KeyView key = key_of(values[0], column.affinity, text);
  if (!legacy()) {
    std::string buffer;
    const KeyView hashed = collated(key, column.collation, buffer);
    return may_contain(logged_hash(hash_key(hashed, header.seed), header.width));
  }
  if (key.type != SQLITE_TEXT && key.type != SQLITE_BLOB) {
    return false;
  }
  const HashPair pair = legacy_hash(bytes_of(key), static_cast<uint32_t>(header.seed));
  return pairs_of(pieces().filter_of(0)).probe_pair(pair) == Filter::Answer::kPresent;
}

// --- cache ---------------------------------------------------------------------------------------

ImageCache::ImageCache() noexcept { sqlite3_randomness(sizeof seed_, &seed_); }

void ImageCache::drop(Entries::iterator entry) noexcept {
  bytes_ -= entry->size;
  by_hash_.erase(entry->hash);
  entries_.erase(entry);
}

std::shared_ptr<const ImageFilter> ImageCache::find(std::span<const std::byte> bytes,
                                                    const std::string& function) {
  constexpr size_t kLeastImages = 4;
  constexpr size_t kMostImages = 4096;
  constexpr size_t kMostBytes = size_t{16} << 20;
  const uint64_t hash = XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed_);
  if (const auto known = by_hash_.find(hash); known != by_hash_.end()) {
    if (known->second->size == bytes.size()) {
      entries_.splice(entries_.begin(), entries_, known->second);
      return entries_.front().image;
    }
    drop(known->second);
  }
  auto image = std::make_shared<const ImageFilter>(bytes, function);
  entries_.push_front({bytes.size(), hash, image});
  bytes_ += bytes.size();
  by_hash_.emplace(hash, entries_.begin());
  while (entries_.size() > kLeastImages && (entries_.size() > kMostImages || bytes_ > kMostBytes)) {
    drop(std::prev(entries_.end()));
  }
  return image;
}

}  // namespace cuckoo
