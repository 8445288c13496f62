// A real as a text of 15 digits: 0.1 is "0.1", 42.0 is "42.0", 1e20 is "1.0e+20". ketama hashes
// texts, so a real's owner follows from it, in tables and in the library, with every version of
// SQLite.
//
// The digits are those of the exact value, and a half is rounded away from 0. SQLite 3.43 and later
// write the same, printf('%!.15g', real), except for one in 50,000 of very large and very small
// reals, whose digits after the 15th are almost exactly a half. Older versions also write another
// last digit where they are exactly a half, and for one in a hundred of the reals above 1e150.
#pragma once

#include <array>
#include <string_view>

namespace cuckoo::core {

using RealText = std::array<char, 32>;

// The text lies in `room`, or is a constant: "Inf", "-Inf", "NaN".
std::string_view real_text(double real, RealText& room) noexcept;

}  // namespace cuckoo::core
