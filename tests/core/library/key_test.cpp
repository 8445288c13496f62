#include <cuckoo/key.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/key_hash.hpp"

namespace url {

class Url {
 public:
  explicit Url(std::string text) : text_(std::move(text)) {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

cuckoo::Key cuckoo_key(const Url& url) { return url.text(); }

}  // namespace url

namespace cuckoo::library_key_test {
namespace {

constexpr uint64_t kSeed = 7;

uint64_t hash_of(Key key) { return key.hash(kSeed); }

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(Key, I1_equal_keys_of_any_type_hash_equally) {
  EXPECT_EQ(hash_of(42), hash_of(uint8_t{42}));
  EXPECT_EQ(hash_of(42), hash_of(42ULL));
  EXPECT_EQ(hash_of(-1), hash_of(int8_t{-1}));
  EXPECT_EQ(hash_of("apple"), hash_of(std::string("apple")));
  EXPECT_EQ(hash_of("apple"), hash_of(std::string_view("apple pie").substr(0, 5)));
  EXPECT_EQ(hash_of(0.5), hash_of(0.5F));
}

TEST(Key, I2_keys_of_two_kinds_are_two_keys) {
  EXPECT_NE(hash_of(1), hash_of("1"));
  EXPECT_NE(hash_of("1"), hash_of(bytes_of("1")));
  EXPECT_NE(hash_of(1), hash_of(1.5));
  EXPECT_EQ(hash_of(1), hash_of(1.0));
  EXPECT_EQ(hash_of(0), hash_of(-0.0));
}

TEST(Key, I3_they_are_the_keys_of_sql) {
  EXPECT_EQ(hash_of(42), hash_integer(42, kSeed));
  EXPECT_EQ(hash_of(0.5), hash_real(0.5, kSeed));
  EXPECT_EQ(hash_of("apple"), hash_bytes(KeyKind::kText, bytes_of("apple"), kSeed));
  EXPECT_EQ(hash_of(bytes_of("apple")), hash_bytes(KeyKind::kBlob, bytes_of("apple"), kSeed));
  EXPECT_EQ(hash_of(UINT64_MAX), hash_integer(-1, kSeed));
}

TEST(Key, is_made_of_any_sequence_of_bytes) {
  const std::vector<std::byte> vector{std::byte{1}, std::byte{2}};
  const std::array<std::byte, 2> array{std::byte{1}, std::byte{2}};
  const std::span<const std::byte, 2> fixed(array);
  EXPECT_EQ(hash_of(vector), hash_of(std::span<const std::byte>(vector)));
  EXPECT_EQ(hash_of(array), hash_of(vector));
  EXPECT_EQ(hash_of(fixed), hash_of(vector));
}

TEST(Key, depends_on_the_seed) { EXPECT_NE(Key("apple").hash(1), Key("apple").hash(2)); }

TEST(Key, an_empty_text_has_no_address) {
  EXPECT_EQ(hash_of(static_cast<const char*>(nullptr)), hash_of(""));
  EXPECT_EQ(hash_of(std::string_view()), hash_of(""));
  EXPECT_EQ(hash_of(std::span<const std::byte>()), hash_of(bytes_of("")));
}

TEST(Key, is_made_of_a_type_that_says_what_it_is) {
  EXPECT_EQ(hash_of(url::Url("https://a.example/")), hash_of("https://a.example/"));
}

TEST(Key, is_not_made_of_what_is_a_mistake) {
  EXPECT_FALSE((std::is_constructible_v<Key, char>));
  EXPECT_FALSE((std::is_constructible_v<Key, bool>));
  EXPECT_FALSE((std::is_constructible_v<Key, char32_t>));
  EXPECT_FALSE((std::is_constructible_v<Key, std::nullptr_t>));
  EXPECT_FALSE((std::is_constructible_v<Key, int*>));
}

TEST(Key, has_the_value_that_it_was_made_of) {
  EXPECT_EQ(std::get<int64_t>(Key(uint8_t{42}).value()), 42);
  EXPECT_EQ(std::get<double>(Key(1.0).value()), 1.0);
  EXPECT_EQ(std::get<std::string_view>(Key("apple").value()), "apple");
  EXPECT_EQ(std::get<std::string_view>(Key(url::Url("a")).value()), "a");
  EXPECT_EQ(std::get<std::span<const std::byte>>(Key(bytes_of("pear")).value()).size(), 4U);
}

}  // namespace
}  // namespace cuckoo::library_key_test
