// A key of a filter or a ring: an integer, a real, a text or a sequence of bytes.
//
// A Key is made when you pass one, as in `filter.add("apple")` or `filter.add(42)`. It only refers
// to the text or the bytes, so do not keep it.
//
// Invariants
//   I1  equal keys of one kind hash equally, on every machine, whatever C++ type they had: int 42
//       and uint8_t 42 are one key, as are "a" and std::string("a").
//   I2  keys of two kinds are different: 1, "1" and the byte '1' are three keys. A real without a
//       fraction is the integer: 1.0 is 1.
//   I3  keys are those of SQL: an INTEGER, a REAL, a TEXT in UTF-8 and a BLOB. So a filter that
//       came from a table finds the keys that were inserted there.
//
// Limits: an unsigned integer above 2^63 - 1 is the negative one of the same 64 bits, because
// SQLite has no others. The compiler refuses integers of more than 64 bits. It also refuses bool
// and characters, because 'a' seldom means 97.
//
// To use a type of your own, say in its namespace what its key is:
//
//   cuckoo::Key cuckoo_key(const Url& url) { return url.text(); }
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include <cuckoo/result.hpp>

namespace cuckoo {
inline namespace v1 {

class Key;
class KeyCode;  // internal to the library

template <class T>
concept IntegerKey = std::integral<T> && sizeof(T) <= sizeof(int64_t) && !std::same_as<T, bool> &&
                     !std::same_as<T, char> && !std::same_as<T, wchar_t> &&
                     !std::same_as<T, char8_t> && !std::same_as<T, char16_t> &&
                     !std::same_as<T, char32_t>;

template <class T>
concept HasKey = std::is_class_v<T> && !std::convertible_to<const T&, std::string_view> &&
                 requires(const T& value) {
  { cuckoo_key(value) } -> std::same_as<Key>;
};

// A std::vector or a std::array of std::byte, and such.
template <class T>
concept ByteSequence = std::convertible_to<const T&, std::span<const std::byte>> &&
                       !std::same_as<T, std::span<const std::byte>> &&
                       !HasKey<T>;

class Key {
 public:
  template <IntegerKey T>
  Key(T integer) noexcept : kind_(Kind::kInteger), integer_(static_cast<int64_t>(integer)) {}
  Key(double real) noexcept : kind_(Kind::kReal), real_(real) {}
  Key(std::string_view text) noexcept
      : kind_(Kind::kText), size_(text.size()), bytes_(text.data()) {}
  Key(const std::string& text) noexcept : Key(std::string_view(text)) {}
  Key(const char* text) noexcept  // up to its first zero; a null pointer is empty
      : Key(std::string_view(text != nullptr ? text : "")) {}
  Key(std::span<const std::byte> bytes) noexcept
      : kind_(Kind::kBytes), size_(bytes.size()), bytes_(bytes.data()) {}
  template <ByteSequence Bytes>
  Key(const Bytes& bytes) noexcept : Key(std::span<const std::byte>(bytes)) {}
  template <HasKey T>
  Key(const T& value) : Key(cuckoo_key(value)) {}
  Key(bool) = delete;
  Key(char) = delete;
  Key(std::nullptr_t) = delete;

  // Returns the kind of the key as a bit, as in an image: 1 an integer, 2 a real, 4 a text, 8
  // bytes. For a text it adds 16 if NOCASE may change it, and 32 if RTRIM does. O(length).
  uint64_t types() const noexcept;
  // Returns all 64 bits of its hash, XXH3 with that seed. O(length).
  uint64_t hash(uint64_t seed) const noexcept;
  // Returns the value that it was made of. A text or bytes are only referred to. O(1).
  using Value = std::variant<int64_t, double, std::string_view, std::span<const std::byte>>;
  Value value() const noexcept;

 private:
  friend KeyCode;
  enum class Kind : uint8_t { kInteger, kReal, kText, kBytes };

  Kind kind_;
  size_t size_ = 0;
  union {
    int64_t integer_;
    double real_;
    const void* bytes_;
  };
};

}  // namespace v1
}  // namespace cuckoo
