// A real as the text that SQLite makes of it in 15 digits, printf('%!.15g', real): 0.1 is "0.1",
// 42.0 is "42.0", 1e20 is "1.0e+20". ketama hashes texts, so a real's owner follows from it.
//
// The digits are the exact value's, and a half is rounded away from 0. SQLite's own are so from
// 3.43 on, but for one value in some ten millions that lies next to a half; before, also halves
// themselves and reals above 1e100 may end in another digit, one in a hundred of the latter.
#pragma once

#include <array>
#include <string_view>

namespace cuckoo {

using RealText = std::array<char, 32>;

// The text lies in `room`, or is a constant: "Inf", "-Inf", "NaN".
std::string_view real_text(double real, RealText& room) noexcept;

}  // namespace cuckoo
