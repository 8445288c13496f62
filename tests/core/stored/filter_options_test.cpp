#include "core/stored/filter_options.hpp"

#include <cmath>

#include "core/filter/sizing.hpp"
#include "tests/support/status.hpp"

namespace cuckoo::stored_filter_options_test {
namespace {

TEST(FilterOptions, rates_of_all_generations_add_up) {
  FilterOptions options;
  options.spec.rate = 0.01;
  EXPECT_EQ(options.generation_spec().rate, 0.01);
  for (const uint64_t generations : {2, 7, 64}) {
    options.generations = generations;
    const double one = options.generation_spec().rate;
    EXPECT_NEAR(1 - std::pow(1 - one, static_cast<double>(generations)), 0.01, 1e-12);
  }
}

TEST(FilterOptions, hashes_tell_so_many_items_apart) {
  FilterOptions options;
  options.spec.rate = std::ldexp(1.0, -20);
  EXPECT_EQ(options.most_items_by_hashes(), uint64_t{1} << 26);
  options.width = HashWidth::k63Bits;
  EXPECT_EQ(options.most_items_by_hashes(), kMaxCapacity);
  options.width = HashWidth::k47Bits;
  options.spec.fingerprint_bits = 32;  // a rate of 2^-29
  EXPECT_EQ(options.most_items_by_hashes(), uint64_t{1} << 17);
  options.spec.fingerprint_bits = 0;
  options.spec.bits_per_key = 10;
  EXPECT_EQ(options.most_items_by_hashes(), kMaxCapacity);
}

TEST(FilterOptions, make_an_empty_filter_of_their_kind) {
  FilterOptions options;
  for (const FilterKind kind :
       {FilterKind::kCuckoo, FilterKind::kBloom, FilterKind::kLegacyBloom}) {
    options.spec.kind = kind;
    std::unique_ptr<Filter> made = must(options.make_filter_for(1000));
    EXPECT_EQ(made->kind(), kind);
    EXPECT_EQ(made->occupied(), 0u);
    EXPECT_EQ(made->pages().page_bytes(), options.page_bytes);
  }
  options.spec.rate = 0.9;  // a murmur2 file may have asked for that
  EXPECT_TRUE(options.make_filter_for(1000).ok());
  options.spec.kind = FilterKind::kBloom;
  EXPECT_FALSE(options.make_filter_for(1000).ok());
}

TEST(FilterOptions, that_no_table_may_have_are_refused) {
  const auto refusal = [](void (*change)(FilterOptions&)) {
    FilterOptions options;
    EXPECT_TRUE(options.check().ok());
    change(options);
    const Status status = options.check();
    EXPECT_TRUE(status.ok() || status.error().code == ErrorCode::kInvalid);
    return status.ok() ? std::string("none") : status.error().message;
  };
  using Options = FilterOptions;
  EXPECT_NE(refusal([](Options& o) { o.capacity = 0; }).find("capacity"), std::string::npos);
  EXPECT_NE(refusal([](Options& o) { o.capacity = kMaxCapacity + 1; }), "none");
  EXPECT_NE(refusal([](Options& o) { o.generations = 0; }), "none");
  EXPECT_EQ(refusal([](Options& o) { o.generations = 65; }), "65 generations, expected 1 to 64");
  EXPECT_EQ(refusal([](Options& o) { o.unique = true, o.generations = 2; }), "none");
  EXPECT_NE(refusal([](Options& o) { o.width = static_cast<HashWidth>(48); }), "none");
  EXPECT_EQ(refusal([](Options& o) { o.page_bytes = 65; }), "pages of 65 bytes");
  EXPECT_NE(refusal([](Options& o) { o.spec.rate = 0; }).find("rate"), std::string::npos);

  const auto legacy = [](Options& options) {
    options.spec.kind = FilterKind::kLegacyBloom;
    options.growth = false;
  };
  Options options;
  legacy(options);
  EXPECT_TRUE(options.check().ok());
  options.seed = uint64_t{1} << 32;
  EXPECT_FALSE(options.check().ok());
  options.seed = 0;
  options.growth = true;
  EXPECT_FALSE(options.check().ok());
}

}  // namespace
}  // namespace cuckoo::stored_filter_options_test
