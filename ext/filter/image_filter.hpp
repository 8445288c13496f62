// A filter that is a value, decoded for look-ups: an image (core/segments/image.hpp), the image of
// a sliding window (core/segments/window_message.hpp) or a legacy file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/segments/image.hpp"
#include "core/segments/window_message.hpp"
#include "ext/filter/key_domain.hpp"
#include "ext/filter/tuple_key.hpp"

namespace cuckoo {

inline constexpr char kHintBindAsBlob[] = "; bind an image as a BLOB, not as TEXT";

class ImageFilter {
 public:
  // Throws SqlError that begins with `function`.
  ImageFilter(std::span<const std::byte> bytes, const std::string& function);

  // These are of the only filter, or of a window's newest generation.
  const segments::MessageHeader& header() const noexcept { return images_.front().header; }
  const segments::PieceSet& pieces() const noexcept { return images_.front().pieces; }
  std::vector<segments::Piece> take_pieces() noexcept {
    return std::move(images_.front().pieces.pieces());
  }
  size_t bytes() const noexcept { return bytes_; }
  const std::optional<std::vector<std::byte>>& mark() const noexcept { return mark_; }

  // These are of all generations.
  uint64_t generations() const noexcept { return generations_; }
  std::optional<uint64_t> rotation() const noexcept { return rotation_; }  // of a window
  std::vector<uint64_t> generation_items() const;                          // newest first
  double target_rate() const noexcept;
  double rate_now() const noexcept;
  size_t memory_bytes() const noexcept {
    return sum([](const segments::Image& image) { return image.pieces.memory_bytes(); });
  }
  uint64_t hash_count() const noexcept {
    return sum([](const segments::Image& image) { return image.header.hash_count; });
  }
  uint64_t segments() const noexcept {
    return sum([](const segments::Image& image) { return image.header.pieces; });
  }
  KeyDomain keys() const noexcept;

  // Takes a value for each key column, none of which is NULL. Makes a key of several in `tuple`.
  bool contains(sqlite3_value** values, TupleKey& tuple) const;

 private:
  bool legacy() const noexcept { return traits_of(header().spec.kind).pairs; }
  void decode(std::span<const std::byte> bytes, const std::string& function);
  bool may_contain(uint64_t hash) const noexcept;
  template <class Figure>
  uint64_t sum(Figure&& figure) const noexcept {
    uint64_t sum = 0;
    for (const segments::Image& image : images_) {
      sum += figure(image);
    }
    return sum;
  }

  std::vector<segments::Image> images_;  // newest first
  uint64_t generations_ = 1;
  std::optional<uint64_t> rotation_;
  std::optional<std::vector<std::byte>> mark_;
  size_t bytes_;
};

// The images that were decoded last: 4, or up to 4096 if they have 16 MB together. They serve a
// statement whose image is no constant, but the same in many rows: (SELECT image FROM t), or a join
// of images and keys. An image is found by a hash of all its bytes, with a secret seed.
class ImageCache {
 public:
  ImageCache() noexcept;
  std::shared_ptr<const ImageFilter> find(std::span<const std::byte> bytes,
                                          const std::string& function);

 private:
  struct Entry {
    size_t size = 0;
    uint64_t hash = 0;
    std::shared_ptr<const ImageFilter> image;
  };
  using Entries = std::list<Entry>;

  void drop(Entries::iterator entry) noexcept;

  uint64_t seed_ = 0;
  Entries entries_;  // the last used one first
  std::unordered_map<uint64_t, Entries::iterator> by_hash_;
  size_t bytes_ = 0;  // of all images
};

// Returns the header of an image with these options.
inline segments::MessageHeader image_header(const FilterSpec& spec, HashWidth width, uint64_t seed,
                                            const KeyDomain& keys) noexcept {
  return segments::image_header(spec, width, seed, keys.form, keys.types);
}

}  // namespace cuckoo
