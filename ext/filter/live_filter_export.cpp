// LiveFilter's images: what goes out by export.
#include <string>
#include <utility>

#include "core/filter/legacy_bloom.hpp"
#include "core/segments/image.hpp"
#include "ext/filter/image_filter.hpp"
#include "ext/filter/live_filter.hpp"
#include "ext/sqlite/function.hpp"

namespace cuckoo {

using segments::Contents;
using segments::FilterFile;
using segments::Piece;

Contents LiveFilter::exported_contents(bool with_hashes) {
  Result<Contents> contents = filter_->newest().contents(with_hashes);
  throw_if(table(), contents.take_status());
  return std::move(contents.value());
}

segments::ImageHeader LiveFilter::header_of(const Contents& contents) const {
  const FilterOptions& options = filter_->options();
  segments::ImageHeader header =
      image_header(options.spec, options.width, options.seed, key_domain());
  header.mark = contents.mark;
  header.capacity = contents.capacity;
  header.items = contents.items;
  header.with_hashes = contents.with_hashes;
  header.hash_count = contents.hash_count;
  return header;
}

std::vector<std::byte> LiveFilter::export_image(bool with_hashes) {
  if (!filter_->single()) {
    return export_window(with_hashes, length_limit(store_.db()));
  }
  const Contents contents = exported_contents(with_hashes);
  Result<std::vector<std::byte>> image =
      segments::encode_image(header_of(contents), contents.pieces, length_limit(store_.db()));
  throw_if(table(), image.take_status());
  return std::move(image.value());
}

std::vector<std::byte> LiveFilter::export_legacy_file() {
  if (!legacy_) {
    throw SqlError(SQLITE_ERROR, table() +
                                     ": only a bloom_filter with hash = murmur2 has a legacy"
                                     " file, this is " +
                                     describe(filter_->options().spec.kind));
  }
  FilterFile& newest = filter_->newest();
  GeometryWords words;
  words.size = newest.bits();
  throw_if(table(), check_legacy_file_bytes(words, length_limit(store_.db())));
  LegacyFile file;
  file.seed = static_cast<uint32_t>(seed_);
  file.rate = filter_->target_rate();
  file.capacity = newest.capacity();
  file.items = newest.items();
  throw_if(table(), newest.for_each_piece(false, [&](Piece&& piece) -> Status {
    file.filter = std::move(piece.filter);  // it has one
    return {};
  }));
  Result<std::vector<std::byte>> bytes = encode_legacy_file(file);
  throw_if(table(), bytes.take_status());
  return std::move(bytes.value());
}

}  // namespace cuckoo
