#include "core/stored/key_form.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cuckoo::stored_key_form_test {
namespace {

std::string refusal(const KeyForm& form, uint64_t types = 0) {
  const Status status = check_keys(form, types);
  if (status.ok()) {
    return "";
  }
  EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
  return status.error().message;
}

TEST(KeyForm, has_its_columns_in_the_lowest_bits_first) {
  const KeyForm form = {3, 0x421, 0b10'01'00};
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(form.affinity(i), 1U << i) << i;
    EXPECT_EQ(form.collation(i), i) << i;
  }
}

TEST(KeyForm, of_one_to_eight_columns_is_accepted) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({1, 4, 2}, 0xFF), "");
  EXPECT_EQ(refusal({2, 0x44, 0b1010}, 0xFFFF), "");
  EXPECT_EQ(refusal({8, 0x44444444, 0b10'10'10'10'10'10'10'10}, ~uint64_t{0}), "");
  EXPECT_EQ(refusal({0, 0, 0}), "keys of 0 columns, expected 1 to 8");
  EXPECT_EQ(refusal({9, 0, 0}), "keys of 9 columns, expected 1 to 8");
}

TEST(KeyForm, out_of_range_is_refused_in_every_column) {
  for (unsigned i = 0; i < KeyForm::kMaxColumns; ++i) {
    EXPECT_EQ(refusal({8, uint32_t{5} << 4 * i, 0}), "keys of affinity 5, expected 0 to 4") << i;
    EXPECT_EQ(refusal({8, 0, static_cast<uint16_t>(3 << 2 * i)}),
              "keys of collation 3, expected 0 to 2")
        << i;
  }
}

TEST(KeyForm, of_a_column_that_is_not_there_is_refused) {
  const std::string text = " columns, with an affinity, a collation or types of a further one";
  for (uint8_t columns = 1; columns < KeyForm::kMaxColumns; ++columns) {
    const std::string expected = "keys of " + std::to_string(columns) + text;
    EXPECT_EQ(refusal({columns, uint32_t{1} << 4 * columns, 0}), expected);
    EXPECT_EQ(refusal({columns, 0, static_cast<uint16_t>(1 << 2 * columns)}), expected);
    EXPECT_EQ(refusal({columns, 0, 0}, uint64_t{1} << 8 * columns), expected);
  }
}

}  // namespace
}  // namespace cuckoo::stored_key_form_test
