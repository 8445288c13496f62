#include "ext/filter/image_filter.hpp"

#include <algorithm>

#include "core/filter/legacy_bloom.hpp"

#include "ext/sqlite/error.hpp"
#include "ext/sqlite/statement.hpp"

namespace cuckoo {
namespace {

bool by_rate(const FilterSpec& spec) noexcept {
  return spec.fingerprint_bits == 0 && spec.bits_per_key == 0;
}

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
  (void)image.pieces.take(std::move(pieces));  // one covers all
  return image;
}

segments::Image decode_any(std::span<const std::byte> bytes, const std::string& function) {
  const auto refuse = [&function](const std::string& why) {
    return SqlError(SQLITE_ERROR, function + ": " + why);
  };
  if (looks_like_legacy_file(bytes)) {
    Result<LegacyFile> file = decode_legacy_file(bytes, segments::kImagePageBytes);
    if (!file.ok()) {
      throw refuse(file.error().message);
    }
    return image_of(std::move(file.value()));
  }
  Result<segments::Image> image = segments::decode_image(bytes);
  if (!image.ok()) {
    throw refuse(image.error().message);
  }
  return std::move(image.value());
}

}  // namespace

segments::ImageHeader image_header(const FilterSpec& spec, HashWidth width, uint64_t seed,
                                   const KeyDomain& keys) {
  segments::ImageHeader header;
  header.spec = spec;
  header.spec.rate = by_rate(spec) ? spec.rate : 0;
  header.width = width;
  header.seed = seed;
  header.key_affinity = static_cast<uint8_t>(keys.affinity);
  header.collation = static_cast<uint8_t>(keys.collation);
  header.key_types = keys.types;
  return header;
}

FilterSpec table_spec(FilterSpec spec) noexcept {
  spec.rate = by_rate(spec) ? spec.rate : FilterSpec{}.rate;
  spec.hashes = by_rate(spec) ? 0 : spec.hashes;  // a table's option goes with bits_per_key
  return spec;
}

ImageFilter::ImageFilter(std::span<const std::byte> bytes, const std::string& function)
    : image_(decode_any(bytes, function)), bytes_(bytes.size()) {}

KeyDomain ImageFilter::keys() const noexcept {
  const segments::ImageHeader& header = image_.header;
  return {static_cast<Affinity>(header.key_affinity), static_cast<Collation>(header.collation),
          header.key_types};
}

bool ImageFilter::contains(sqlite3_value* value) const {
  const segments::ImageHeader& header = image_.header;
  const KeyView key = key_of(value, static_cast<Affinity>(header.key_affinity));
  if (!legacy()) {
    std::string buffer;
    const KeyView hashed = collated(key, static_cast<Collation>(header.collation), buffer);
    const uint64_t hash = logged_hash(hash_key(hashed, header.seed), header.width);
    return image_.pieces.probe(hash) == Filter::Answer::kPresent;
  }
  if (key.type != SQLITE_TEXT && key.type != SQLITE_BLOB) {
    return false;
  }
  const HashPair pair = legacy_hash(bytes_of(key), static_cast<uint32_t>(header.seed));
  return pairs_of(image_.pieces.filter_of(0)).probe_pair(pair) == Filter::Answer::kPresent;
}

// --- cache ---------------------------------------------------------------------------------------

ImageCache::ImageCache() noexcept { sqlite3_randomness(sizeof seed_, &seed_); }

std::shared_ptr<const ImageFilter> ImageCache::find(std::span<const std::byte> bytes,
                                                    const std::string& function) {
  const uint64_t hash = XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed_);
  const auto known = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.size == bytes.size() && entry.hash == hash;
  });
  if (known != entries_.end()) {
    std::rotate(entries_.begin(), known, known + 1);
    return entries_.front().image;
  }
  auto image = std::make_shared<const ImageFilter>(bytes, function);
  if (entries_.size() == kImages) {
    entries_.pop_back();
  }
  entries_.insert(entries_.begin(), Entry{bytes.size(), hash, std::move(image)});
  return entries_.front().image;
}

}  // namespace cuckoo
