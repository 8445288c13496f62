#include "core/ring/real_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace cuckoo::core {
namespace {

constexpr int kDigits = 15;

// The value 0.d1d2d3… · 10^point.
struct Decimal {
  std::array<char, kDigits> digits{};
  int count = 0;  // without zeros at the end; at least 1
  int point = 0;
};

// Returns the digits of a finite real above 0.
Decimal decimal_of(double real) noexcept {
  // More digits than are needed, so that a rest below a half isn't rounded up to a half.
  constexpr int kExact = 30;
  char text[kExact + 24];  // d.ddde-324, with the locale's point, which may have several bytes
  std::snprintf(text, sizeof text, "%.*e", kExact, real);
  Decimal decimal;
  char next = '0';
  const char* c = text;
  for (int count = 0; *c != 'e' && *c != '\0'; ++c) {
    if (*c < '0' || *c > '9') {
      continue;
    }
    if (count < kDigits) {
      decimal.digits[count] = *c;
    } else if (count == kDigits) {
      next = *c;
    }
    ++count;
  }
  decimal.point = static_cast<int>(std::strtol(*c == 'e' ? c + 1 : c, nullptr, 10)) + 1;
  bool carry = next >= '5';
  for (int i = kDigits - 1; i >= 0 && carry; --i) {
    carry = decimal.digits[i] == '9';
    decimal.digits[i] = carry ? '0' : static_cast<char>(decimal.digits[i] + 1);
  }
  if (carry) {
    decimal.digits[0] = '1';
    ++decimal.point;
  }
  decimal.count = kDigits;
  while (decimal.count > 1 && decimal.digits[decimal.count - 1] == '0') {
    --decimal.count;
  }
  return decimal;
}

// Appends to a text.
class DecimalWriter {
 public:
  explicit DecimalWriter(char* to) noexcept : to_(to) {}

  void add(char c) noexcept { *to_++ = c; }
  // Adds the digits from `first` to `end` - 1, and zeros where there are none.
  void add(const Decimal& decimal, int first, int end) noexcept {
    for (int i = first; i < end; ++i) {
      add(i >= 0 && i < decimal.count ? decimal.digits[i] : '0');
    }
  }
  void add_exponent(int exponent) noexcept {
    add('e');
    add(exponent < 0 ? '-' : '+');
    const int size = std::abs(exponent);
    if (size >= 100) {
      add(static_cast<char>('0' + size / 100));
    }
    add(static_cast<char>('0' + size / 10 % 10));
    add(static_cast<char>('0' + size % 10));
  }
  char* end() const noexcept { return to_; }

 private:
  char* to_;
};

}  // namespace

std::string_view real_text(double real, RealText& room) noexcept {
  constexpr int kLowestPoint = -3;  // 0.0001 … 999999999999999.0 are written without an exponent
  if (std::isnan(real)) {
    return "NaN";
  }
  if (std::isinf(real)) {
    return real < 0 ? "-Inf" : "Inf";
  }
  if (real == 0) {
    return "0.0";
  }
  DecimalWriter text(room.data());
  if (real < 0) {
    text.add('-');
  }
  const Decimal decimal = decimal_of(std::abs(real));
  if (decimal.point < kLowestPoint || decimal.point > kDigits) {
    text.add(decimal, 0, 1);
    text.add('.');
    text.add(decimal, 1, std::max(decimal.count, 2));
    text.add_exponent(decimal.point - 1);
  } else if (decimal.point <= 0) {
    text.add('0');
    text.add('.');
    text.add(decimal, decimal.point, decimal.count);
  } else {
    text.add(decimal, 0, decimal.point);
    text.add('.');
    text.add(decimal, decimal.point, std::max(decimal.count, decimal.point + 1));
  }
  return {room.data(), static_cast<size_t>(text.end() - room.data())};
}

}  // namespace cuckoo::core
