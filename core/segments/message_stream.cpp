#include "core/segments/message_stream.hpp"

#include <algorithm>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/base/key_hash.hpp"
#include "core/segments/front.hpp"

namespace cuckoo::segments {
namespace {

uint64_t id_of(std::span<const std::byte> front) noexcept {
  constexpr uint64_t kSeed = 0x54504B43;
  return XXH3_64bits_withSeed(front.data(), front.size(), kSeed);
}

Error changed_meanwhile() {
  return invalid("the filter changed while its message was made; ask for it again");
}

}  // namespace

// --- measuring -----------------------------------------------------------------------------------

// Encodes all pieces once, because the headers count their bytes.
Result<MessageStream::Section> MessageStream::measured(const MessageHeader& header,
                                                       std::vector<std::byte> entries,
                                                       const PieceSource& pieces,
                                                       PieceRange range) {
  MessageWriter writer = MessageWriter::of_pieces(header, kMostMessageBytes, entries);
  CUCKOO_TRY(writer.begin());
  CUCKOO_TRY(pieces ? pieces([&](Piece&& piece) -> Status {
    CUCKOO_TRY(writer.add(piece));
    writer.take_pieces();
    return {};
  })
                    : Status());
  if (!writer.complete()) {
    return invalid("image of pieces that leave out a prefix");
  }
  Section section;
  section.header = header;
  section.entries = std::move(entries);
  section.range = std::move(range);
  section.frame = writer.frame();
  return section;
}

Result<MessageStream::Section> MessageStream::measured(const FilterChanges& changes) {
  return measured(header_of(changes), encode_entries(changes.entries, changes.from.width),
                  changes.pieces, changes.range);
}

MessageStream MessageStream::of_section(Section&& section) {
  MessageStream stream;
  stream.bytes_ = section.frame.bytes;
  stream.id_ = id_of(section.frame.header);
  stream.sections_.push_back(std::move(section));
  return stream;
}

Result<MessageStream> MessageStream::of_image(const MessageHeader& header,
                                              const Contents& contents) {
  CUCKOO_ASSIGN_OR_RETURN(Section section, measured(header, {}, contents.pieces, contents.range));
  return of_section(std::move(section));
}

Result<MessageStream> MessageStream::of_changes(const FilterChanges& changes) {
  CUCKOO_ASSIGN_OR_RETURN(Section section, measured(changes));
  return of_section(std::move(section));
}

Result<MessageStream> MessageStream::of_window(WindowMessage message) {
  MessageStream stream;
  const auto add = [&stream](uint64_t rotation, Result<Section> section) -> Status {
    if (!section.ok()) {
      return in_generation(rotation, section.take_status());
    }
    section.value().window_header = encode_section_header(rotation, section.value().frame.bytes);
    stream.bytes_ += section.value().window_header.size() + section.value().frame.bytes;
    stream.sections_.push_back(std::move(section.value()));
    return {};
  };
  for (Generation& one : message.generations) {
    if (one.image) {
      CUCKOO_TRY(add(one.rotation, measured(header_of_image(message, *one.image), {},
                                            one.image->pieces, one.image->range)));
    }
    if (one.changes) {
      one.changes->keys = message.common.keys;
      CUCKOO_TRY(add(one.rotation, measured(*one.changes)));
    }
  }
  stream.window_header_ = encode_window_header(message, stream.sections_.size(), stream.bytes_);
  stream.bytes_ += stream.window_header_.size() + kCrcBytes;
  stream.id_ = id_of(stream.window_header_);
  stream.window_crc_ = crc32c(stream.window_header_);
  stream.ready_ = stream.window_header_;
  return stream;
}

// --- making --------------------------------------------------------------------------------------

// Appends bytes of the section.
void MessageStream::append(std::span<const std::byte> bytes) {
  section_bytes_ += bytes.size();
  ready_.insert(ready_.end(), bytes.begin(), bytes.end());
}

void MessageStream::begin_section() {
  const Section& section = sections_[section_];
  ready_.insert(ready_.end(), section.window_header.begin(), section.window_header.end());
  window_crc_ = crc32c(section.window_header, window_crc_);
  begun_ = true;
  next_prefix_ = section_bytes_ = 0;
  append(section.frame.header);
  writer_ = MessageWriter::of_pieces(section.header, kMostMessageBytes, section.entries);
  if (section.header.from) {
    std::byte crc[kCrcBytes];
    store_le(&crc[0], crc32c(section.entries));
    append(section.entries);
    append(crc);
  }
}

// Writes pieces until `enough` bytes are ready.
Status MessageStream::write_pieces(uint64_t enough) {
  bool last = true;
  CUCKOO_TRY(sections_[section_].range(
      next_prefix_,
      [&](Piece&& piece) -> Status {
        CUCKOO_TRY(writer_->add(piece));
        append(writer_->take_pieces());
        next_prefix_ = piece.depth == 0 ? 0 : piece.prefix + (uint64_t{1} << (64 - piece.depth));
        last = next_prefix_ == 0;
        return {};
      },
      [&] { return ready_.size() >= enough; }));
  if (section_bytes_ > sections_[section_].frame.bytes) {
    return changed_meanwhile();
  }
  return last ? end_section() : Status();
}

// All pieces are made.
Status MessageStream::end_section() {
  const Section& section = sections_[section_];
  append(section.frame.crc);
  if (writer_->frame() != section.frame || section_bytes_ != section.frame.bytes) {
    return changed_meanwhile();
  }
  window_crc_ = crc32c(std::span(ready_).last(kCrcBytes), window_crc_);
  ++section_;
  begun_ = false;
  return {};
}

void MessageStream::end() {
  ended_ = true;
  if (!window_header_.empty()) {
    std::byte crc[kCrcBytes];
    store_le(&crc[0], window_crc_);
    ready_.insert(ready_.end(), std::begin(crc), std::end(crc));
  }
}

// Before the last bytes are handed out, all is made, so that a change is noticed.
Result<std::vector<std::byte>> MessageStream::next(uint64_t length) {
  const bool last = length >= bytes_ - handed_;
  length = std::min(length, bytes_ - handed_);
  while (!ended_ && (last || ready_.size() < length)) {
    if (section_ == sections_.size()) {
      end();
    } else if (!begun_) {
      begin_section();
    } else if (sections_[section_].range) {
      CUCKOO_TRY(write_pieces(last ? ready_.size() + 1 : length));
    } else {
      CUCKOO_TRY(end_section());
    }
  }
  if (ready_.size() < length || (last && ready_.size() != length)) {
    return changed_meanwhile();
  }
  const auto taken = static_cast<ptrdiff_t>(length);
  std::vector<std::byte> rest(ready_.begin() + taken, ready_.end());
  ready_.resize(static_cast<size_t>(length));
  handed_ += length;
  return std::exchange(ready_, std::move(rest));
}

}  // namespace cuckoo::segments
