// CuckooFilter: look-ups, for AVX2 shape by shape, and for any processor and shape.
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

template <uint32_t kRankBits, uint32_t... kLowBits>
CuckooFilter::Probe CuckooFilter::probe_for(uint32_t low_bits,
                                            std::integer_sequence<uint32_t, kLowBits...>) noexcept {
  static constexpr Probe kProbes[] = {probe_avx2<kLowBits, kRankBits>...};
  return kProbes[low_bits];
}

#endif

CuckooFilter::Probe CuckooFilter::choose_probe(const BucketShape& shape) noexcept {
#if CUCKOO_HAS_AVX2_CODE
  if (has_avx2() && shape.low_bits <= kMaxLaneLowBits) {
    constexpr std::make_integer_sequence<uint32_t, kMaxLaneLowBits + 1> kAll;
    switch (shape.rank_bits) {
      case 12:
        return probe_for<12>(shape.low_bits, kAll);
      case 13:
        return probe_for<13>(shape.low_bits, kAll);
      case 14:
        return probe_for<14>(shape.low_bits, kAll);
      case 15:
        return probe_for<15>(shape.low_bits, kAll);
      default:
        break;
    }
  }
#else
  (void)shape;
#endif
  return probe_portable;
}

}  // namespace cuckoo
