// A message is a filter as one BLOB. An image has all of it: for filter_export() and import, for
// aggregates, for probes without a table. Changes (core/segments/changes.hpp) have what came since
// a mark. A message does not depend on the machine's byte order, nor on the page size of the table
// that it came from.
//
// Layout (little-endian; FORMAT.md, "Images and changes")
//   message  = header entries piece … CRC  CRC-32C of the header, and of the CRCs of the others
//   header   = magic, version, flags, length, fields of 8 bytes. A new option adds one more
//              field at the end.
//   entries  = of changes: what came since, CRC-32C of these
//   piece    = piece header, cells, overflow, hashes, CRC-32C of these; ascending by prefix
//   cells    = the content of the filter's pages, as if it had pages of kImagePageBytes; no bytes
//              if no cell is occupied
//   overflow = (cell, count) …            16 bytes each, ascending cells
//   hashes   = (length, run block) …      only if they were asked for
//
// Invariants
//   I1  one filter has one image: images of equal headers and pieces have equal bytes, whatever the
//       page size, and decode then encode gives the bytes back.
//   I2  nothing is believed: magic, version, length and every number are checked before use; pages,
//       overflow entries, counters and hashes of a piece before the piece is handed out.
//   I3  no allocation is larger than the length of the BLOB justifies: a small factor of it.
//   I4  a piece of an image is written and read alone: no step takes memory for all of them.
//
// Errors: kInvalid if contents can't be encoded, kCorrupt if bytes are no image. The text names
// what was found, and what was expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/key_hash.hpp"
#include "core/base/page_size.hpp"
#include "core/base/poll.hpp"
#include "core/base/result.hpp"
#include "core/filter/factory.hpp"
#include "core/filter/filter.hpp"
#include "core/segments/contents.hpp"
#include "core/segments/mark.hpp"
#include "core/segments/message_bytes.hpp"
#include "core/stored/filter_options.hpp"
#include "core/stored/key_form.hpp"

namespace cuckoo::segments {

inline constexpr uint32_t kImagePageBytes = kPageBytes;
inline constexpr uint64_t kMaxImageItems = uint64_t{1} << 62;

struct MessageHeader : ContentsHeader {
  FilterSpec spec;  // as asked for; the rate is 0 if another option replaces it
  HashWidth width = HashWidth::k47Bits;
  uint64_t seed = 0;
  uint64_t pieces = 0;
  KeyForm keys;  // with key_types, the key domain
  // Of changes alone (core/segments/changes.hpp). Their pieces have gaps.
  std::optional<FilterMark> from;
  bool whole = false;
  uint64_t entries = 0;
  uint64_t counts = 0;

  // Returns how many bytes are between the header and the first piece.
  uint64_t entry_bytes() const noexcept;
};

// Returns the header that an image of these options has.
MessageHeader image_header(const FilterSpec& spec, HashWidth width, uint64_t seed,
                           const KeyForm& keys, uint64_t key_types) noexcept;
// Returns the spec of an image's header as CREATE has it.
FilterSpec created_spec(FilterSpec spec) noexcept;

struct PieceHeader;  // core/segments/message_header.hpp

// Checks the prefixes of ascending pieces.
class PrefixWalk {
 public:
  explicit PrefixWalk(bool gaps = false) noexcept : gaps_(gaps) {}

  bool complete() const noexcept { return complete_; }  // no other piece can come
  // Passes a piece of that prefix and depth. Returns kCorrupt if none can begin there: each begins
  // where the one before it ends or, if gaps are allowed, after that.
  Status pass(uint64_t prefix, unsigned depth);

 private:
  bool gaps_;
  uint64_t next_ = 0;
  bool complete_ = false;
};

// The header and the checksum around the pieces of an image. They are known when all pieces were
// written.
struct MessageFrame {
  std::vector<std::byte> header;
  std::vector<std::byte> crc;
  uint64_t bytes = 0;  // of the whole image

  friend bool operator==(const MessageFrame&, const MessageFrame&) = default;
};

// Writes an image, a piece at a time, ascending by prefix. All pieces that are added have hashes,
// or none has.
class MessageWriter {
 public:
  // The writer counts the header's `pieces` and `hash_count`, and of the image of a multiset its
  // `items`, too. The message gets at most `limit` bytes. `entries`: those of changes, as bytes.
  MessageWriter(const MessageHeader& header, uint64_t limit,
                std::span<const std::byte> entries = {});
  // Returns a writer whose pieces are taken away one after another. The frame comes in the end.
  static MessageWriter of_pieces(const MessageHeader& header, uint64_t limit,
                                 std::span<const std::byte> entries = {});
  // Checks the header, and that there is room for it. The first add() does so, too.
  Status begin() const;
  // Adds a piece. Returns kInvalid if no image can have it, or if the image gets too long. Pages
  // that are not in memory are zero. If the header has no hashes, those of the piece are left out.
  Status add(const Piece& piece);
  // True if the prefixes cover all that they must.
  bool complete() const noexcept { return header_.from.has_value() || prefixes_.complete(); }
  std::vector<std::byte> finish();
  // of_pieces(): returns the bytes of the pieces that were added since the last call.
  std::vector<std::byte> take_pieces();
  MessageFrame frame();

 private:
  uint64_t length() const noexcept { return taken_ + bytes_.size(); }
  Status check(const Piece& piece, const PieceHeader& found) const;
  Status add_hashes(const Piece& piece);
  Status expect_room(uint64_t bytes) const;
  void reserve(const Piece& piece, uint64_t bytes);

  MessageHeader header_;
  uint64_t limit_;
  PrefixWalk prefixes_;
  uint64_t items_ = 0;           // of the pieces
  uint64_t bits_ = 0;            // of all pieces' cells
  uint64_t hashless_bytes_ = 0;  // that it would have without hashes
  std::vector<std::byte> crcs_;  // the pieces' own
  bool by_pieces_ = false;
  uint64_t taken_ = 0;  // of_pieces(): bytes that are not in bytes_ any more
  std::vector<std::byte> bytes_;
};
// `pieces` may be null, of changes.
Result<std::vector<std::byte>> encode_image(MessageHeader header, const PieceSource& pieces,
                                            uint64_t limit,
                                            std::span<const std::byte> entries = {});

// Return whether the bytes begin like an image, also that of a sliding window, or like changes; of
// any version.
bool looks_like_image(std::span<const std::byte> bytes) noexcept;
bool looks_like_changes(std::span<const std::byte> bytes) noexcept;
// Decode the header alone: O(1), no checksum. The first one is for an image, the second one for
// changes.
Result<MessageHeader> decode_image_header(const MessageBytes& bytes);
Result<MessageHeader> decode_changes_header(const MessageBytes& bytes);
// Reads and verifies the pieces, one at a time. If hashes are asked for, it also verifies that they
// are those of the cells. The pieces get pages of `page_bytes`.
Status read_image(const MessageBytes& bytes, bool with_hashes, uint32_t page_bytes,
                  const PieceSink& sink, const Poll& poll = nullptr);
// … those of changes, which have no hashes.
Status read_changed_pieces(const MessageBytes& bytes, uint32_t page_bytes, const PieceSink& sink,
                           const Poll& poll = nullptr);
// Reads the header of changes, and returns the bytes of their entries. Checks all headers and the
// checksums of header and entries.
Result<std::vector<std::byte>> read_entries(const MessageHeader& header, const MessageBytes& bytes,
                                            const Poll& poll = nullptr);

// All pieces of an image in memory, without hashes, ready for probes.
class PieceSet {
 public:
  using Answer = Filter::Answer;

  // Takes ascending pieces. Returns kCorrupt unless their prefixes partition the hash space.
  Status take(std::vector<Piece> pieces);

  [[gnu::always_inline]] Answer probe(uint64_t hash) const noexcept {
    if (only_ != nullptr) {  // then no load of memory waits for the hash
      return only_->probe(hash);
    }
    const Place& place = places_[hash >> (64 - depth_)];
    return place.filter->probe(hash << place.depth);
  }
  const Filter& filter_of(uint64_t hash) const noexcept {
    return *places_[hash >> 1 >> (63 - depth_)].filter;
  }
  const std::vector<Piece>& pieces() const noexcept { return pieces_; }
  std::vector<Piece>& pieces() noexcept { return pieces_; }
  // Figures of all pieces together.
  double rate(double keys) const noexcept;  // with that many distinct keys
  double rate_now() const noexcept;
  double load_factor() const noexcept;
  uint64_t bits() const noexcept;
  size_t memory_bytes() const noexcept;

 private:
  struct Place {
    const Filter* filter;
    unsigned depth;
  };

  std::vector<Piece> pieces_;
  std::vector<Place> places_;  // by the first depth_ bits of a hash
  const Filter* only_ = nullptr;
  unsigned depth_ = 0;
};

struct Image {
  MessageHeader header;
  PieceSet pieces;
};
Result<Image> decode_image(std::span<const std::byte> bytes);

// Returns the length of the image, without hashes, of a filter as full as it was made for. O(1).
Result<uint64_t> image_bytes(const FilterOptions& options);
// Returns kInvalid if an image of at least so many bytes can't fit the limit.
Status expect_image_fits(uint64_t bytes, uint64_t limit);
// Returns kInvalid if an image of these parameters, without hashes or with so many of them, can't
// fit the limit. Call it before the work. O(1).
Status check_image_bytes(const FilterSpec& spec, HashWidth width, uint64_t capacity, bool growth,
                         uint64_t hash_count, uint64_t limit);

}  // namespace cuckoo::segments
