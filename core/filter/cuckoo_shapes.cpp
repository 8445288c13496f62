// CuckooFilter: its two hottest paths, for AVX2 shape by shape, and for any processor and shape: a
// look-up, and an insert that finds room and nothing unusual.
#include <array>
#include <utility>

#include "core/filter/bucket_pair.hpp"
#include "core/filter/cuckoo_filter.hpp"

namespace cuckoo {

inline Filter::Answer CuckooFilter::probe_pages(const Place& place) const noexcept {
  const PagePlace at1 = page_place(place.bucket1);
  const PagePlace at2 = page_place(place.bucket2);
  const std::byte* const page1 = pages_.find(at1.page);
  const std::byte* const page2 = pages_.find(at2.page);
  if (page1 == nullptr || page2 == nullptr) [[unlikely]] {
    return Answer::kNotLoaded;
  }
  return static_cast<Answer>(bucket_bits_.hold(address(page1, at1.fraction),
                                               address(page2, at2.fraction), place.fingerprint));
}

// What is rare is left to a function of its own, and at once: then no call comes behind which
// anything is needed again, and no register is saved for it. To save them took a sixth of the time.
Filter::Answer CuckooFilter::probe_portable(const CuckooFilter& filter, uint64_t hash) noexcept {
  if (!filter.overflow_.empty()) [[unlikely]] {
    return probe_overflow(filter, hash);
  }
  return filter.probe_pages(filter.locate(hash));
}

Filter::Answer CuckooFilter::probe_overflow(const CuckooFilter& filter, uint64_t hash) noexcept {
  const Place place = filter.locate(hash);
  const Answer answer = filter.probe_pages(place);
  if (answer != Answer::kAbsent) {
    return answer;
  }
  return static_cast<Answer>(filter.overflow_.count(filter.cell(place)) != 0);
}

#if CUCKOO_HAS_AVX2_CODE

namespace {

// Which bucket an insert takes, by the empty slots of both: 0 the first, 1 the second, the same as
// in insert_at(). kNone when neither has any, or what is empty does not stand before what is not:
// an unsorted bucket.
constexpr uint8_t kNone = 2;
constexpr std::array<uint8_t, 256> make_choices() {
  std::array<uint8_t, 256> choices{};
  choices.fill(kNone);
  for (unsigned empty1 = 0; empty1 <= kBucketSlots; ++empty1) {
    for (unsigned empty2 = 0; empty2 <= kBucketSlots; ++empty2) {
      const unsigned slots = ((1U << empty1) - 1) | ((1U << empty2) - 1) << kBucketSlots;
      if (empty1 + empty2 != 0) {
        choices[slots] = empty1 != 0 && empty1 >= empty2 ? 0 : 1;
      }
    }
  }
  return choices;
}
constexpr std::array<uint8_t, 256> kChoices = make_choices();

}  // namespace

template <uint32_t kLowBits, uint32_t kRankBits>
CUCKOO_AVX2 Filter::Answer CuckooFilter::probe_avx2(const CuckooFilter& filter,
                                                    uint64_t hash) noexcept {
  using Pair = BucketPair<kLowBits, kRankBits>;
  const std::byte* const* const pages = filter.pages_.list();
  if (pages == nullptr || !filter.overflow_.empty()) [[unlikely]] {
    return probe_portable(filter, hash);
  }
  const Place place = filter.locate(hash);
  const PagePlace at1 = filter.page_place(place.bucket1);
  const PagePlace at2 = filter.page_place(place.bucket2);
  const std::byte* const page1 = pages[at1.page];
  const std::byte* const page2 = pages[at2.page];
  if (page1 == nullptr || page2 == nullptr) [[unlikely]] {
    return Answer::kNotLoaded;
  }
  const Pair buckets(filter.address<Pair::kWholeBytes>(page1, at1.fraction),
                     filter.address<Pair::kWholeBytes>(page2, at2.fraction),
                     filter.bucket_bits_.ranks());
  return static_cast<Answer>(buckets.hold(place.fingerprint));
}

// All that is unusual is left to the other function, which begins anew.
template <uint32_t kLowBits, uint32_t kRankBits>
CUCKOO_AVX2 bool CuckooFilter::insert_avx2(CuckooFilter& filter, uint64_t hash) {
  using Pair = BucketPair<kLowBits, kRankBits>;
  const std::byte* const* const pages = filter.pages_.list();
  if (pages == nullptr || !filter.overflow_.empty()) [[unlikely]] {
    return insert_portable(filter, hash);
  }
  const Place place = filter.locate(hash);
  const PagePlace places[] = {filter.page_place(place.bucket1), filter.page_place(place.bucket2)};
  const BucketBits::Address at[] = {
      filter.address<Pair::kWholeBytes>(pages[places[0].page], places[0].fraction),
      filter.address<Pair::kWholeBytes>(pages[places[1].page], places[1].fraction)};
  const Pair buckets(at[0], at[1], filter.bucket_bits_.ranks());
  const uint8_t choice = kChoices[buckets.empty_slots()];
  if (choice == kNone || !filter.pages_.is_dirty(places[choice].page)) {
    return insert_portable(filter, hash);
  }
  const typename Pair::Grown grown = buckets.with(choice, place.fingerprint);
  if (!grown.sorted()) [[unlikely]] {
    return insert_portable(filter, hash);
  }
  Pair::write(at[choice], grown.encode());
  ++filter.occupied_;
  return buckets.hold(place.fingerprint);
}

template <uint32_t kLowBits, uint32_t kRankBits>
constexpr CuckooFilter::Code CuckooFilter::avx2_code() noexcept {
  if constexpr (fits_one_word(BucketPair<kLowBits, kRankBits>::kBits)) {
    return {probe_avx2<kLowBits, kRankBits>, insert_avx2<kLowBits, kRankBits>};
  } else {
    return {probe_avx2<kLowBits, kRankBits>, insert_portable};
  }
}

template <uint32_t kRankBits, uint32_t... kLowBits>
CuckooFilter::Code CuckooFilter::code_for(uint32_t low_bits,
                                          std::integer_sequence<uint32_t, kLowBits...>) noexcept {
  static constexpr Code kCodes[] = {avx2_code<kLowBits, kRankBits>()...};
  return kCodes[low_bits];
}

#endif

CuckooFilter::Code CuckooFilter::portable_code() noexcept {
  return {probe_portable, insert_portable};
}

CuckooFilter::Code CuckooFilter::choose_code(const BucketShape& shape) noexcept {
#if CUCKOO_HAS_AVX2_CODE
  if (has_avx2() && shape.low_bits <= kMaxLaneLowBits) {
    constexpr std::make_integer_sequence<uint32_t, kMaxLaneLowBits + 1> kAll;
    switch (shape.rank_bits) {
      case 12:
        return code_for<12>(shape.low_bits, kAll);
      case 13:
        return code_for<13>(shape.low_bits, kAll);
      case 14:
        return code_for<14>(shape.low_bits, kAll);
      case 15:
        return code_for<15>(shape.low_bits, kAll);
      default:
        break;
    }
  }
#else
  (void)shape;
#endif
  return portable_code();
}

}  // namespace cuckoo
