#include "core/segments/window_message.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/filter/sizing.hpp"
#include "core/segments/front.hpp"
#include "core/segments/image_header.hpp"

namespace cuckoo::segments {
namespace {

constexpr uint32_t kWindowMessageVersion = 3;
constexpr uint8_t kHasFrom = 1;  // the only flag

constexpr size_t kWindowLengthAt = 8;
constexpr size_t kWindowCapacityAt = 16;
constexpr size_t kWindowSectionsAt = 24;
constexpr size_t kWindowFlagsAt = 25;
constexpr size_t kWindowZeroAt = 26;
constexpr size_t kWindowToAt = 32;
constexpr size_t kWindowFromAt = kWindowToAt + kWindowMarkBytes;
constexpr size_t kWindowHeaderBytes = kWindowFromAt + kWindowMarkBytes;
static_assert(kWindowHeaderBytes == 144);

constexpr size_t kSectionHeaderBytes = 16;
constexpr size_t kWindowLeastBytes = kWindowHeaderBytes + kSectionHeaderBytes + kCrcBytes;

struct Section {
  uint64_t rotation = 0;
  std::span<const std::byte> content;
};

struct Frame {
  std::optional<WindowMark> from;
  WindowMark to;
  uint64_t capacity = 0;
  std::vector<Section> sections;
};

std::string of_rotation(uint64_t rotation, const std::string& message) {
  return message + ", in the generation of rotation " + std::to_string(rotation);
}

Error in_generation(uint64_t rotation, Status status) {
  Error error = status.take_error();
  if (error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kInvalid) {
    error.message = of_rotation(rotation, error.message);
  }
  return error;
}

// --- writing -------------------------------------------------------------------------------------

class Writer {
 public:
  Writer(const WindowMessage& message, uint64_t limit)
      : limit_(limit), from_(message.from.has_value()), bytes_(kWindowHeaderBytes) {
    put_front(kWindowMagic, kWindowMessageVersion, bytes_);
    store_le(&bytes_[kWindowCapacityAt], message.capacity);
    store_le(&bytes_[kWindowFlagsAt], from_ ? kHasFrom : uint8_t{0});
    const std::vector<std::byte> to = encode_window_mark(message.to);
    std::copy(to.begin(), to.end(), &bytes_[kWindowToAt]);
    if (from_) {
      const std::vector<std::byte> from = encode_window_mark(*message.from);
      std::copy(from.begin(), from.end(), &bytes_[kWindowFromAt]);
    }
  }

  // Returns how many bytes a further section may have.
  Result<uint64_t> room() const {
    const uint64_t taken = bytes_.size() + kSectionHeaderBytes + kCrcBytes;
    return taken < limit_ ? Result<uint64_t>(limit_ - taken) : Result<uint64_t>(too_long());
  }
  Error too_long() const {
    return invalid("message of a sliding window of more than " + grouped(limit_) +
                   " bytes, which are possible; smaller generations or a higher rate make it"
                   " shorter");
  }
  void add(uint64_t rotation, std::span<const std::byte> content) {
    std::byte header[kSectionHeaderBytes];
    store_le(&header[0], rotation);
    store_le(&header[8], uint64_t{content.size()});
    bytes_.insert(bytes_.end(), std::begin(header), std::end(header));
    bytes_.insert(bytes_.end(), content.begin(), content.end());
    checked_.insert(checked_.end(), std::begin(header), std::end(header));
    checked_.insert(checked_.end(), content.end() - kCrcBytes, content.end());
    ++sections_;
  }
  std::vector<std::byte> finish() {
    store_le(&bytes_[kWindowLengthAt], uint64_t{bytes_.size() + kCrcBytes});
    store_le(&bytes_[kWindowSectionsAt], static_cast<uint8_t>(sections_));
    const uint32_t crc = crc32c(checked_, crc32c(std::span(bytes_).first(kWindowHeaderBytes)));
    bytes_.resize(bytes_.size() + kCrcBytes);
    store_le(&bytes_[bytes_.size() - kCrcBytes], crc);
    return std::move(bytes_);
  }

 private:
  uint64_t limit_;
  bool from_;
  uint64_t sections_ = 0;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> checked_;  // that the CRC covers, after the header
};

Result<std::vector<std::byte>> encode_generation_image(const WindowMessage& message,
                                                       const Contents& contents, uint64_t limit) {
  ImageHeader header = message.common;
  header.take(contents);
  return encode_image(header, contents.pieces, limit);
}

}  // namespace

Result<std::vector<std::byte>> encode_window_message(const WindowMessage& message, uint64_t limit) {
  Writer writer(message, limit);
  const auto add = [&](uint64_t rotation, Result<std::vector<std::byte>> content) -> Status {
    if (!content.ok()) {
      return in_generation(rotation, content.take_status());
    }
    writer.add(rotation, content.value());
    return {};
  };
  for (const Generation& one : message.generations) {
    if (one.image) {
      CUCKOO_ASSIGN_OR_RETURN(const uint64_t room, writer.room());
      CUCKOO_TRY(add(one.rotation, encode_generation_image(message, *one.image, room)));
    }
    if (one.changes) {
      CUCKOO_ASSIGN_OR_RETURN(const uint64_t room, writer.room());
      FilterChanges changes = *one.changes;
      changes.keys = message.common.keys;
      CUCKOO_TRY(add(one.rotation, encode_changes(changes, room)));
    }
  }
  return writer.finish();
}

// --- reading: the frame --------------------------------------------------------------------------

namespace {

// The bytes are the first ones of a message of `size` bytes.
Status check_start(std::span<const std::byte> bytes, uint64_t size) {
  if (!looks_like_window_message(bytes)) {
    return corrupt(
        "bytes that are no image and no changes of a sliding window, expected CKIW at"
        " the start");
  }
  if (bytes.size() >= kVersionAt + 4) {
    CUCKOO_TRY(expect_version("message of a sliding window", load_le<uint32_t>(&bytes[kVersionAt]),
                              kWindowMessageVersion));
  }
  if (size < kWindowLeastBytes || bytes.size() < kWindowHeaderBytes) {
    return corrupt("message of a sliding window cut off: " + grouped(size) +
                   " bytes, expected at least " + grouped(kWindowLeastBytes));
  }
  if (const auto length = load_le<uint64_t>(&bytes[kWindowLengthAt]); length != size) {
    return corrupt("message of a sliding window of " + grouped(size) + " bytes, expected " +
                   grouped(length));
  }
  return {};
}

// Returns kCorrupt unless, from the first mark to the second one, the window rotated and nothing
// else happened to the generations before.
Status check_marks(const Frame& frame) {
  const WindowMark& to = frame.to;
  const WindowMark& from = *frame.from;
  const bool one_window =
      from.generations == to.generations && from.newest.kind == to.newest.kind &&
      from.newest.width == to.newest.width && from.newest.seed == to.newest.seed;
  if (!one_window || from.rotation > to.rotation || to.rotation - from.rotation >= to.held ||
      to.held != std::min(to.generations, from.held + (to.rotation - from.rotation))) {
    return corrupt("changes between marks of different sliding windows");
  }
  return {};
}

// Reads the frame without its sections.
Result<Frame> read_header(std::span<const std::byte> bytes, uint64_t size) {
  CUCKOO_TRY(check_start(bytes, size));
  Frame frame;
  CUCKOO_ASSIGN_OR_RETURN(frame.to,
                          decode_window_mark(bytes.subspan(kWindowToAt, kWindowMarkBytes)));
  const auto flags = load_le<uint8_t>(&bytes[kWindowFlagsAt]);
  frame.capacity = load_le<uint64_t>(&bytes[kWindowCapacityAt]);
  const std::span<const std::byte> from = bytes.subspan(kWindowFromAt, kWindowMarkBytes);
  if (flags > kHasFrom || frame.capacity < 1 || frame.capacity > kMaxCapacity ||
      !all_zero(bytes.subspan(kWindowZeroAt, kWindowToAt - kWindowZeroAt)) ||
      (flags == 0 && !all_zero(from))) {
    return corrupt("message of a sliding window with a header that can't be");
  }
  if (flags == kHasFrom) {
    CUCKOO_ASSIGN_OR_RETURN(frame.from, decode_window_mark(from));
    CUCKOO_TRY(check_marks(frame));
  }
  return frame;
}

Result<Frame> read_frame(std::span<const std::byte> bytes) {
  CUCKOO_ASSIGN_OR_RETURN(Frame frame, read_header(bytes, bytes.size()));
  uint32_t crc = crc32c(bytes.first(kWindowHeaderBytes));
  std::span<const std::byte> rest =
      bytes.subspan(kWindowHeaderBytes, bytes.size() - kWindowHeaderBytes - kCrcBytes);
  for (auto left = load_le<uint8_t>(&bytes[kWindowSectionsAt]); left > 0; --left) {
    if (rest.size() < kSectionHeaderBytes) {
      return corrupt("message of a sliding window that lacks sections");
    }
    const auto length = load_le<uint64_t>(&rest[8]);
    if (length < kCrcBytes || length > rest.size() - kSectionHeaderBytes) {
      return corrupt("message of a sliding window with a section of " + grouped(length) +
                     " bytes, expected 4 to " + grouped(rest.size() - kSectionHeaderBytes));
    }
    const auto content = rest.subspan(kSectionHeaderBytes, static_cast<size_t>(length));
    frame.sections.push_back({load_le<uint64_t>(rest.data()), content});
    crc = crc32c(content.last(kCrcBytes), crc32c(rest.first(kSectionHeaderBytes), crc));
    rest = rest.subspan(kSectionHeaderBytes + content.size());
  }
  if (!rest.empty() || crc != load_le<uint32_t>(&bytes[bytes.size() - kCrcBytes])) {
    return corrupt("message of a sliding window with " +
                   (rest.empty() ? std::string("a wrong checksum")
                                 : grouped(rest.size()) + " bytes after its last section"));
  }
  return frame;
}

// --- reading: the sections -----------------------------------------------------------------------

bool same_spec(const FilterSpec& a, const FilterSpec& b) noexcept {
  return a.kind == b.kind && a.fingerprint_bits == b.fingerprint_bits && a.hashes == b.hashes &&
         bits_of(a.rate) == bits_of(b.rate) && bits_of(a.bits_per_key) == bits_of(b.bits_per_key);
}

bool of_one_filter(const FilterMark& a, const FilterMark& b) noexcept {
  return a.kind == b.kind && a.width == b.width && a.seed == b.seed;
}

Error of_another() { return corrupt("a generation of another sliding window"); }

// Collects the parameters that all sections must agree on.
class Agreement {
 public:
  explicit Agreement(const Frame& frame) : to_(frame.to.newest) {
    common_.spec.kind = to_.kind;
    common_.width = to_.width;
    common_.seed = to_.seed;
  }

  Status take(const ImageHeader& header) {
    if (!header.mark || !of_one_filter(*header.mark, to_) ||
        (spec_known_ &&
         (!same_spec(header.spec, common_.spec) || header.with_hashes != common_.with_hashes))) {
      return of_another();
    }
    common_.spec = header.spec;
    common_.with_hashes = header.with_hashes;
    spec_known_ = true;
    return take_keys(header.keys, header.key_types);
  }
  Status take(const FilterChanges& changes) {
    if (!of_one_filter(changes.from, to_) || !of_one_filter(changes.to, to_)) {
      return of_another();
    }
    return take_keys(changes.keys, changes.key_types);
  }
  const ImageHeader& common() const noexcept { return common_; }

 private:
  Status take_keys(const KeyForm& keys, uint64_t types) {
    if (keys_known_ && keys != common_.keys) {
      return of_another();
    }
    common_.keys = keys;
    common_.key_types |= types;
    keys_known_ = true;
    return {};
  }

  FilterMark to_;
  ImageHeader common_;
  bool spec_known_ = false;
  bool keys_known_ = false;
};

// Reads one section into its generation. Changes must begin at `known`, the mark that the
// generation has before them.
struct SectionReader {
  uint32_t page_bytes;
  bool with_hashes;
  bool changes_allowed;
  const Poll& poll;
  Agreement& agreement;

  Result<FilterMark> read(std::span<const std::byte> content, const FilterMark* known,
                          Generation& to) const {
    if (!looks_like_changes(content)) {
      return read_image(content, to);
    }
    return changes_allowed ? read_changes(content, known, to)
                           : Result<FilterMark>(corrupt("changes in an image"));
  }
  Result<FilterMark> read_image(std::span<const std::byte> content, Generation& to) const {
    CUCKOO_ASSIGN_OR_RETURN(const ImageHeader header, decode_image_header(content));
    CUCKOO_TRY(agreement.take(header));
    if (to.image || to.changes) {
      return corrupt("two images of one generation");
    }
    Contents& contents = to.image.emplace();
    contents.take(header);
    contents.with_hashes = header.with_hashes && with_hashes;
    contents.pieces = [content, with = contents.with_hashes, page_bytes = page_bytes,
                       poll = poll](const PieceSink& sink) {
      return segments::read_image(content, with, page_bytes, sink, poll);
    };
    return *header.mark;
  }
  Result<FilterMark> read_changes(std::span<const std::byte> content, const FilterMark* known,
                                  Generation& to) const {
    CUCKOO_ASSIGN_OR_RETURN(to.changes, decode_changes(content, page_bytes, poll));
    CUCKOO_TRY(agreement.take(*to.changes));
    if (known == nullptr || to.changes->from != *known) {
      return corrupt("changes that do not begin at their generation's mark");
    }
    return to.changes->to;
  }
};

}  // namespace

Status verify(const WindowMessage& message) {
  for (const Generation& one : message.generations) {
    CUCKOO_TRY(one.image ? verify(one.image->pieces) : Status());
    CUCKOO_TRY(one.changes ? verify(one.changes->pieces) : Status());
  }
  return {};
}

Result<WindowMessage> decode_window_message(std::span<const std::byte> bytes, uint32_t page_bytes,
                                            bool with_hashes, const Poll& poll) {
  CUCKOO_ASSIGN_OR_RETURN(const Frame frame, read_frame(bytes));
  WindowMessage message;
  message.from = frame.from;
  message.to = frame.to;
  message.capacity = frame.capacity;
  Agreement agreement(frame);
  const SectionReader reader{page_bytes, with_hashes, frame.from.has_value(), poll, agreement};
  const uint64_t first =
      frame.from ? frame.from->rotation : frame.to.rotation - (frame.to.held - 1);
  std::optional<FilterMark> mark;  // of the generation that is read
  for (const Section& section : frame.sections) {
    const bool goes_on =
        !message.generations.empty() && message.generations.back().rotation == section.rotation;
    if (!goes_on) {
      if (section.rotation != first + message.generations.size() ||
          section.rotation > frame.to.rotation) {
        return corrupt(
            "message of a sliding window with generations that do not follow one"
            " another");
      }
      message.generations.emplace_back().rotation = section.rotation;
      mark = frame.from && section.rotation == first ? std::optional(frame.from->newest)
                                                     : std::nullopt;
    } else if (message.generations.back().changes || (frame.from && section.rotation == first)) {
      return corrupt("message of a sliding window with too many sections of one generation");
    }
    Result<FilterMark> read =
        reader.read(section.content, mark ? &*mark : nullptr, message.generations.back());
    if (!read.ok()) {
      return in_generation(section.rotation, read.take_status());
    }
    mark = read.value();
  }
  if (message.generations.empty() || message.generations.back().rotation != frame.to.rotation ||
      mark != frame.to.newest) {
    return corrupt("message of a sliding window that does not end at its mark");
  }
  message.common = agreement.common();
  return message;
}

Result<WindowMessage> decode_window_header(std::span<const std::byte> front, uint64_t size) {
  CUCKOO_ASSIGN_OR_RETURN(const Frame frame, read_header(front, size));
  WindowMessage message;
  message.from = frame.from;
  message.to = frame.to;
  message.capacity = frame.capacity;
  message.common = Agreement(frame).common();
  return message;
}

bool looks_like_window_message(std::span<const std::byte> bytes) noexcept {
  return has_magic(bytes, kWindowMagic);
}

bool looks_like_window_changes(std::span<const std::byte> bytes) noexcept {
  return looks_like_window_message(bytes) && bytes.size() > kWindowFlagsAt &&
         load_le<uint8_t>(&bytes[kWindowFlagsAt]) == kHasFrom;
}

Result<WindowImage> decode_window_image(std::span<const std::byte> bytes) {
  CUCKOO_ASSIGN_OR_RETURN(const WindowMessage message,
                          decode_window_message(bytes, kImagePageBytes, false));
  if (message.from) {
    return corrupt("changes of a sliding window, expected its image");
  }
  CUCKOO_ASSIGN_OR_RETURN(const Frame frame, read_frame(bytes));
  WindowImage window;
  window.mark = message.to;
  for (const Section& section : frame.sections) {
    Result<Image> image = decode_image(section.content);
    if (!image.ok()) {
      return in_generation(section.rotation, image.take_status());
    }
    window.generations.push_back(std::move(image.value()));
  }
  return window;
}

}  // namespace cuckoo::segments
