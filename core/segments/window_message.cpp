#include "core/segments/window_message.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/filter/sizing.hpp"
#include "core/segments/front.hpp"
#include "core/segments/message_header.hpp"

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
static_assert(kWindowHeaderBytes == 160);

constexpr size_t kSectionHeaderBytes = 16;
constexpr size_t kWindowLeastBytes = kWindowHeaderBytes + kSectionHeaderBytes + kCrcBytes;

struct Section {
  uint64_t rotation = 0;
  MessageBytes content;
};

struct Frame {
  std::optional<WindowMark> from;
  WindowMark to;
  uint64_t capacity = 0;
  uint64_t sections = 0;
};

}  // namespace

Error in_generation(uint64_t rotation, Status status) {
  Error error = status.take_error();
  if (error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kInvalid) {
    error.message += ", in the generation of rotation " + std::to_string(rotation);
  }
  return error;
}

// --- writing -------------------------------------------------------------------------------------

std::vector<std::byte> encode_window_header(const WindowMessage& message, uint64_t sections,
                                            uint64_t bytes) {
  std::vector<std::byte> header(kWindowHeaderBytes);
  put_front(kWindowMagic, kWindowMessageVersion, header);
  store_le(&header[kWindowLengthAt], kWindowHeaderBytes + bytes + kCrcBytes);
  store_le(&header[kWindowCapacityAt], message.capacity);
  store_le(&header[kWindowSectionsAt], static_cast<uint8_t>(sections));
  store_le(&header[kWindowFlagsAt], message.from ? kHasFrom : uint8_t{0});
  const std::vector<std::byte> to = encode_window_mark(message.to);
  std::copy(to.begin(), to.end(), &header[kWindowToAt]);
  if (message.from) {
    const std::vector<std::byte> from = encode_window_mark(*message.from);
    std::copy(from.begin(), from.end(), &header[kWindowFromAt]);
  }
  return header;
}

std::vector<std::byte> encode_section_header(uint64_t rotation, uint64_t content_bytes) {
  std::vector<std::byte> header(kSectionHeaderBytes);
  store_le(&header[0], rotation);
  store_le(&header[8], content_bytes);
  return header;
}

MessageHeader header_of_image(const WindowMessage& message, const Contents& contents) {
  MessageHeader header = message.common;
  header.take(contents);
  return header;
}

Result<std::vector<std::byte>> encode_window_message(const WindowMessage& message, uint64_t limit) {
  std::vector<std::byte> bytes(kWindowHeaderBytes);
  std::vector<std::byte> checked;  // that the CRC covers, after the header
  uint64_t sections = 0;
  const auto room = [&]() -> Result<uint64_t> {
    const uint64_t taken = bytes.size() + kSectionHeaderBytes + kCrcBytes;
    return taken < limit ? Result<uint64_t>(limit - taken)
                         : Result<uint64_t>(invalid(
                               "message of a sliding window of more than " + grouped(limit) +
                               " bytes, which are possible; smaller generations or a"
                               " higher rate make it shorter"));
  };
  const auto add = [&](uint64_t rotation, Result<std::vector<std::byte>> encoded) -> Status {
    if (!encoded.ok()) {
      return in_generation(rotation, encoded.take_status());
    }
    const std::vector<std::byte>& content = encoded.value();
    const std::vector<std::byte> header = encode_section_header(rotation, content.size());
    for (std::vector<std::byte>* const to : {&bytes, &checked}) {
      to->insert(to->end(), header.begin(), header.end());
    }
    bytes.insert(bytes.end(), content.begin(), content.end());
    checked.insert(checked.end(), content.end() - kCrcBytes, content.end());
    ++sections;
    return {};
  };
  for (const Generation& one : message.generations) {
    if (one.image) {
      CUCKOO_ASSIGN_OR_RETURN(const uint64_t left, room());
      CUCKOO_TRY(add(one.rotation,
                     encode_image(header_of_image(message, *one.image), one.image->pieces, left)));
    }
    if (one.changes) {
      CUCKOO_ASSIGN_OR_RETURN(const uint64_t left, room());
      FilterChanges changes = *one.changes;
      changes.keys = message.common.keys;
      CUCKOO_TRY(add(one.rotation, encode_changes(changes, left)));
    }
  }
  const std::vector<std::byte> header =
      encode_window_header(message, sections, bytes.size() - kWindowHeaderBytes);
  std::copy(header.begin(), header.end(), bytes.begin());
  const uint32_t crc = crc32c(checked, crc32c(header));
  bytes.resize(bytes.size() + kCrcBytes);
  store_le(&bytes[bytes.size() - kCrcBytes], crc);
  return bytes;
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
      from.generations == to.generations && of_one_filter(from.newest, to.newest);
  if (!one_window || from.rotation > to.rotation || to.rotation - from.rotation >= to.held ||
      to.held != std::min(to.generations, from.held + (to.rotation - from.rotation)) ||
      (from.rotation == to.rotation && from.past != to.past)) {
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
  frame.sections = load_le<uint8_t>(&bytes[kWindowSectionsAt]);
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

Result<Frame> read_frame(const MessageBytes& bytes) {
  std::vector<std::byte> buffer;
  CUCKOO_ASSIGN_OR_RETURN(const std::span<const std::byte> front,
                          bytes.front(kWindowHeaderBytes, buffer));
  return read_header(front, bytes.size());
}

// Returns the sections of the message, and checks its checksum.
Result<std::vector<Section>> read_sections(const Frame& frame, const MessageBytes& bytes) {
  std::vector<Section> sections;
  std::vector<std::byte> buffer;
  CUCKOO_ASSIGN_OR_RETURN(std::span<const std::byte> some,
                          bytes.read(0, kWindowHeaderBytes, buffer));
  uint32_t crc = crc32c(some);
  uint64_t at = kWindowHeaderBytes;
  const uint64_t end = bytes.size() - kCrcBytes;
  for (uint64_t left = frame.sections; left > 0; --left) {
    if (end - at < kSectionHeaderBytes) {
      return corrupt("message of a sliding window that lacks sections");
    }
    CUCKOO_ASSIGN_OR_RETURN(some, bytes.read(at, kSectionHeaderBytes, buffer));
    crc = crc32c(some, crc);
    at += kSectionHeaderBytes;
    const auto rotation = load_le<uint64_t>(some.data());
    const auto length = load_le<uint64_t>(&some[8]);
    if (length < kCrcBytes || length > end - at) {
      return corrupt("message of a sliding window with a section of " + grouped(length) +
                     " bytes, expected 4 to " + grouped(end - at));
    }
    sections.push_back({rotation, bytes.range(at, length)});
    at += length;
    CUCKOO_ASSIGN_OR_RETURN(some, bytes.read(at - kCrcBytes, kCrcBytes, buffer));
    crc = crc32c(some, crc);
  }
  CUCKOO_ASSIGN_OR_RETURN(some, bytes.read(end, kCrcBytes, buffer));
  if (at != end || crc != load_le<uint32_t>(some.data())) {
    return corrupt("message of a sliding window with " +
                   (at == end ? std::string("a wrong checksum")
                              : grouped(end - at) + " bytes after its last section"));
  }
  return sections;
}

// --- reading: the sections -----------------------------------------------------------------------

bool same_spec(const FilterSpec& a, const FilterSpec& b) noexcept {
  return a.kind == b.kind && a.fingerprint_bits == b.fingerprint_bits && a.hashes == b.hashes &&
         bits_of(a.rate) == bits_of(b.rate) && bits_of(a.bits_per_key) == bits_of(b.bits_per_key);
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

  Status take(const MessageHeader& header) {
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
  const MessageHeader& common() const noexcept { return common_; }

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
  MessageHeader common_;
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

  Result<FilterMark> read(const MessageBytes& content, const FilterMark* known,
                          Generation& to) const {
    std::vector<std::byte> buffer;
    CUCKOO_ASSIGN_OR_RETURN(const std::span<const std::byte> front,
                            content.front(kMessageHeaderBytes, buffer));
    if (!looks_like_changes(front)) {
      return read_image(content, to);
    }
    return changes_allowed ? read_changes(content, known, to)
                           : Result<FilterMark>(corrupt("changes in an image"));
  }
  Result<FilterMark> read_image(const MessageBytes& content, Generation& to) const {
    CUCKOO_ASSIGN_OR_RETURN(const MessageHeader header, decode_image_header(content));
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
  Result<FilterMark> read_changes(const MessageBytes& content, const FilterMark* known,
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

Result<WindowMessage> decode_window_message(const MessageBytes& bytes, uint32_t page_bytes,
                                            bool with_hashes, const Poll& poll) {
  CUCKOO_ASSIGN_OR_RETURN(const Frame frame, read_frame(bytes));
  CUCKOO_ASSIGN_OR_RETURN(const std::vector<Section> sections, read_sections(frame, bytes));
  WindowMessage message;
  message.from = frame.from;
  message.to = frame.to;
  message.capacity = frame.capacity;
  Agreement agreement(frame);
  const SectionReader reader{page_bytes, with_hashes, frame.from.has_value(), poll, agreement};
  const uint64_t first =
      frame.from ? frame.from->rotation : frame.to.rotation - (frame.to.held - 1);
  std::optional<FilterMark> mark;    // of the generation that is read
  std::optional<FilterMark> before;  // of the one before it
  for (const Section& section : sections) {
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
      before = mark;
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
      mark != frame.to.newest || (before && past_behind(*before) != frame.to.past)) {
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
  CUCKOO_ASSIGN_OR_RETURN(const std::vector<Section> sections, read_sections(frame, bytes));
  WindowImage window;
  window.mark = message.to;
  std::vector<std::byte> buffer;
  for (const Section& section : sections) {
    CUCKOO_ASSIGN_OR_RETURN(const std::span<const std::byte> content,
                            section.content.read(0, section.content.size(), buffer));
    Result<Image> image = decode_image(content);
    if (!image.ok()) {
      return in_generation(section.rotation, image.take_status());
    }
    window.generations.push_back(std::move(image.value()));
  }
  return window;
}

}  // namespace cuckoo::segments
