#include "ext/flash/number_texts.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "ext/flash/value.hpp"

namespace cuckoo {
namespace {

constexpr double kMost = 1e308;  // a larger number is listed as this

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Returns whether the text is what SQLite writes for an integer. SQLite writes no other number in
// this form. So the index finds a key that equals the integer by these bytes. A text with more
// digits may be too large for an integer.
bool is_plain_integer(std::string_view text) noexcept {
  constexpr size_t kMostDigits = 18;
  const bool negative = text.starts_with('-');
  text.remove_prefix(negative ? 1 : 0);
  return !text.empty() && text.size() <= kMostDigits && (text != "0" || !negative) &&
         (text[0] != '0' || text.size() == 1) && std::all_of(text.begin(), text.end(), is_digit);
}

// Returns approximately the number that a text means. Versions of SQLite differ in the last digit.
double about(std::string_view text) noexcept {
  constexpr int kMostDigits = 30;
  constexpr int kMostExponent = 100000;
  size_t at = 0;
  const auto next = [&] { return at < text.size() ? text[at] : '\0'; };
  while (is_space(next())) {
    ++at;
  }
  const auto sign = [&] {
    const bool negative = next() == '-';
    at += negative || next() == '+' ? 1 : 0;
    return negative;
  };
  const bool negative = sign();
  double number = 0;
  int digits = 0;
  int64_t exponent = 0;
  bool fraction = false;
  for (; is_digit(next()) || (next() == '.' && !fraction); ++at) {
    if (next() == '.') {
      fraction = true;
      continue;
    }
    const bool counts = digits < kMostDigits;
    number = counts ? 10 * number + (next() - '0') : number;
    digits += counts && number > 0 ? 1 : 0;
    exponent += (counts ? 0 : 1) - (fraction ? 1 : 0);
  }
  if (next() == 'e' || next() == 'E') {
    ++at;
    const bool down = sign();
    int64_t power = 0;
    for (; is_digit(next()); ++at) {
      power = std::min<int64_t>(10 * power + (next() - '0'), kMostExponent);
    }
    exponent += down ? -power : power;
  }
  number = number == 0 ? 0 : std::pow(10.0, std::log10(number) + static_cast<double>(exponent));
  return std::min(number, kMost) * (negative ? -1 : 1);
}

}  // namespace

uint64_t note_of(std::span<const std::byte> key) {
  if (is_number_key(key)) {
    return kHeldNumber;
  }
  std::string buffer;
  const std::optional<std::string_view> text = text_of_flash_key(key, buffer);
  if (!text || text->empty()) {
    return 0;
  }
  const auto in_number = [](char c) {
    return is_digit(c) || is_space(c) || c == '.' || c == '+' || c == '-' || c == 'e' || c == 'E';
  };
  // For newer versions of SQLite, a NUL ends the number.
  const std::string_view number = text->substr(0, text->find('\0'));
  if (!std::all_of(number.begin(), number.end(), in_number) ||
      !std::any_of(number.begin(), number.end(), is_digit)) {
    return 0;
  }
  return is_plain_integer(*text) ? kHeldPlainInteger : kHeldNumberText;
}

Status NumberTexts::follow(FlashStore& store) {
  if (state_ == store.state()) {
    return {};
  }
  state_.reset();
  rows_.clear();
  FlashScan scan;
  std::string buffer;
  while (true) {
    CUCKOO_ASSIGN_OR_RETURN(const bool more, store.next(scan));
    if (!more) {
      break;
    }
    const std::span<const std::byte> key = scan.record().key;
    if (note_of(key) == kHeldNumberText) {
      rows_.push_back({about(*text_of_flash_key(key, buffer)),
                       {FlashStore::entry_at(scan), store.hashed(key).hash}});
    }
  }
  std::sort(rows_.begin(), rows_.end(),
            [](const Row& a, const Row& b) { return a.number < b.number; });
  state_ = store.state();
  return {};
}

std::span<const NumberTexts::Row> NumberTexts::equal_range(double number) const noexcept {
  number = std::clamp(number, -kMost, kMost);
  const double about = std::abs(number) * 1e-9 + 1e-300;
  const auto begin =
      std::lower_bound(rows_.begin(), rows_.end(), number - about,
                       [](const Row& row, double least) { return row.number < least; });
  const auto end = std::upper_bound(begin, rows_.end(), number + about,
                                    [](double most, const Row& row) { return most < row.number; });
  return {rows_.data() + (begin - rows_.begin()), static_cast<size_t>(end - begin)};
}

}  // namespace cuckoo
