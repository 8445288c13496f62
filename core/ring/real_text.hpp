// A real as the text that SQLite makes of it in 15 digits, printf('%!.15g', real): 0.1 is "0.1",
// 42.0 is "42.0", 1e20 is "1.0e+20". ketama hashes texts, so a real's owner follows from it.
//
// The digits are the exact value's, and a half is rounded away from 0. SQLite's own are the same
// from 3.43 on, but for one in 50,000 of very large and very small reals, next to a half. Before,
// halves themselves end in another digit, too, and one in a hundred of those above 1e150.
#pragma once

#include <array>
#include <string_view>

namespace cuckoo {

using RealText = std::array<char, 32>;

// The text lies in `room`, or is a constant: "Inf", "-Inf", "NaN".
std::string_view real_text(double real, RealText& room) noexcept;

}  // namespace cuckoo
