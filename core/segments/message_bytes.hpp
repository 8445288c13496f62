// The bytes of a message (an image, or changes): in memory, or in storage and read a range at a
// time. A reader of messages takes either, and so never needs the whole message in memory.
//
// The memory or storage that has them must stay where it is while this or a copy of it is in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"

namespace cuckoo::segments {

class MessageBytes {
 public:
  // Appends bytes [at, at + length), all of which must exist.
  using Read = std::function<Status(uint64_t at, size_t length, std::vector<std::byte>& to)>;

  MessageBytes(std::span<const std::byte> bytes) : bytes_(bytes), size_(bytes.size()) {}
  MessageBytes(const std::vector<std::byte>& bytes) : MessageBytes(std::span(bytes)) {}
  MessageBytes(uint64_t size, Read read) : size_(size), read_(std::move(read)) {}

  uint64_t size() const noexcept { return size_; }
  // Returns bytes [at, at + length), all of which must exist. If they are not in memory, they are
  // put into `buffer`, and are valid until it changes.
  Result<std::span<const std::byte>> read(uint64_t at, uint64_t length,
                                          std::vector<std::byte>& buffer) const {
    if (read_ == nullptr || length == 0) {
      return length == 0 ? bytes_.first(0)
                         : bytes_.subspan(static_cast<size_t>(at), static_cast<size_t>(length));
    }
    buffer.clear();
    buffer.reserve(static_cast<size_t>(length));
    CUCKOO_TRY(read_(begin_ + at, static_cast<size_t>(length), buffer));
    return std::span<const std::byte>(buffer);
  }
  // Returns the first bytes, or all if there are not so many.
  Result<std::span<const std::byte>> front(uint64_t most, std::vector<std::byte>& buffer) const {
    return read(0, most < size_ ? most : size_, buffer);
  }
  // Returns a view of bytes [at, at + length), all of which must exist.
  MessageBytes range(uint64_t at, uint64_t length) const {
    MessageBytes part = *this;
    part.size_ = length;
    part.begin_ += at;
    if (read_ == nullptr) {
      part.bytes_ = bytes_.subspan(static_cast<size_t>(at), static_cast<size_t>(length));
    }
    return part;
  }

 private:
  std::span<const std::byte> bytes_;
  uint64_t size_;
  uint64_t begin_ = 0;  // where read_() counts from
  Read read_;           // null: all of them are in bytes_
};

// Returns a message of `size` bytes of which only the first ones are known. That is enough to read
// a header. It must not be asked for more.
inline MessageBytes front_of_message(std::span<const std::byte> front, uint64_t size) {
  return {size, [front](uint64_t at, size_t length, std::vector<std::byte>& to) -> Status {
            if (at > front.size() || length > front.size() - at) {
              return invalid("a message of which the first " + std::to_string(front.size()) +
                             " bytes are known");
            }
            const auto some = front.subspan(static_cast<size_t>(at), length);
            to.insert(to.end(), some.begin(), some.end());
            return {};
          }};
}

}  // namespace cuckoo::segments
