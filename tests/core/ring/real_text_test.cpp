#include "core/ring/real_text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

namespace cuckoo {
namespace ring_real_text_test {
namespace {

std::string text_of(double real) {
  RealText room;
  return std::string(real_text(real, room));
}

// SQLite 3.54's printf('%!.15g', …) of each. tests/ext/ring/library_test.cpp compares more of them.
TEST(RealText, is_sqlites) {
  const std::pair<double, const char*> kTexts[] = {
      {0.5, "0.5"},
      {42, "42.0"},
      {-2.5, "-2.5"},
      {-0.0, "0.0"},
      {0.1, "0.1"},
      {1.0 / 3, "0.333333333333333"},
      {2.0 / 3, "0.666666666666667"},
      {123456.789, "123456.789"},
      {0.0001, "0.0001"},
      {0.00001, "1.0e-05"},
      {0.0001234, "0.0001234"},
      {0.000099999999999999999, "0.0001"},
      {999999999999999, "999999999999999.0"},
      {999999999999999.5, "1.0e+15"},
      {1e15, "1.0e+15"},
      {1e20, "1.0e+20"},
      {1e22, "1.0e+22"},
      {1e100, "1.0e+100"},
      {-1.5e300, "-1.5e+300"},
      {1234567890123456.5, "1.23456789012346e+15"},
      {5e-324, "4.94065645841247e-324"},
      {1.7976931348623157e308, "1.79769313486232e+308"},
      {std::numeric_limits<double>::infinity(), "Inf"},
      {-std::numeric_limits<double>::infinity(), "-Inf"},
      {std::nan(""), "NaN"},
      // a half goes away from 0
      {1812412194404.125, "1812412194404.13"},
      {-292412377032120.5, "-292412377032121.0"},
      {356445619435766.5, "356445619435767.0"},
      {18562979319798.75, "18562979319798.8"},
  };
  for (const auto& [real, text] : kTexts) {
    EXPECT_EQ(text_of(real), text);
  }
}

// The C library rounds a half to the even digit, so the test leaves halves out. It may write
// another text, but the number is the same.
TEST(RealText, has_the_15_digits_of_the_c_library) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    const double real =
        std::exp(std::normal_distribution<double>(0, 200)(random)) * (i % 2 == 0 ? 1 : -1);
    if (std::isinf(real) || real == 0) {
      continue;
    }
    char text[64];
    std::snprintf(text, sizeof text, "%.16g", real);
    if (std::string(text).find('5') != std::string::npos && std::strtod(text, nullptr) == real) {
      continue;  // it may be a half
    }
    std::snprintf(text, sizeof text, "%.15g", real);
    const std::string ours = text_of(real);
    EXPECT_EQ(std::strtod(ours.c_str(), nullptr), std::strtod(text, nullptr))
        << ours << " " << text;
    EXPECT_EQ(ours.find('e') != std::string::npos,
              std::string(text).find('e') != std::string::npos);
  }
}

}  // namespace
}  // namespace ring_real_text_test
}  // namespace cuckoo
