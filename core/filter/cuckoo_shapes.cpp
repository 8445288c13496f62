// CuckooFilter: its hottest paths for AVX2, shape by shape: a look-up, an insert, and the search
// for room. This file also has a look-up for any processor and shape; cuckoo_insert.cpp has such an
// insert.
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "core/filter/bucket_pair.hpp"
#include "core/filter/cuckoo_filter.hpp"

namespace cuckoo::core {

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

// Rare cases go to a function of their own, as the first step. Then the function needs no value
// after a call, so it saves no registers. Saving them took a sixth of the time.
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

// The table says which bucket an insert takes, by the empty slots of both: 0 the first, 1 the
// second, as in insert_at(). It says kFull if neither has an empty slot, and kUnsorted if an empty
// slot comes after a full one.
constexpr uint8_t kFull = 2;
constexpr uint8_t kUnsorted = 3;
constexpr std::array<uint8_t, 256> make_choices() {
  std::array<uint8_t, 256> choices{};
  choices.fill(kUnsorted);
  choices[0] = kFull;
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
class CuckooFilter::Avx2 {
 public:
  static constexpr Code code() noexcept {
    if constexpr (fits_one_word(Pair::kBits)) {
      return {probe, insert};
    } else {
      return {probe, insert_portable};
    }
  }

 private:
  using Pair = BucketPair<kLowBits, kRankBits>;

  static Answer probe(const CuckooFilter& filter, uint64_t hash) noexcept;
  static bool insert(CuckooFilter& filter, uint64_t hash);
  static bool insert_where_full(CuckooFilter& filter, const Place& place, bool present);
  static bool relocate(CuckooFilter& filter, const Place& place);
  static void move_along(CuckooFilter& filter, uint32_t free_end);

  // Returns the address of a bucket whose page is in memory, in a filter whose pages have a list.
  static BucketBits::Address address_of(const CuckooFilter& filter, uint64_t bucket) noexcept {
    const PagePlace at = filter.page_place(bucket);
    return filter.address<Pair::kWholeBytes>(filter.pages_.list()[at.page], at.fraction);
  }
  CUCKOO_AVX2 static Pair read(const CuckooFilter& filter, const BucketBits::Address& at1,
                               const BucketBits::Address& at2) noexcept {
    return {at1, at2, filter.bucket_bits_.ranks()};
  }
};

template <uint32_t kLowBits, uint32_t kRankBits>
CUCKOO_AVX2 Filter::Answer CuckooFilter::Avx2<kLowBits, kRankBits>::probe(
    const CuckooFilter& filter, uint64_t hash) noexcept {
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
  const Pair buckets = read(filter, filter.address<Pair::kWholeBytes>(page1, at1.fraction),
                            filter.address<Pair::kWholeBytes>(page2, at2.fraction));
  return static_cast<Answer>(buckets.hold(place.fingerprint));
}

// Leaves all unusual cases to another function, which begins anew.
template <uint32_t kLowBits, uint32_t kRankBits>
CUCKOO_AVX2 bool CuckooFilter::Avx2<kLowBits, kRankBits>::insert(CuckooFilter& filter,
                                                                 uint64_t hash) {
  const std::byte* const* const pages = filter.pages_.list();
  if (pages == nullptr || !filter.overflow_.empty()) [[unlikely]] {
    return insert_portable(filter, hash);
  }
  const Place place = filter.locate(hash);
  const PagePlace places[] = {filter.page_place(place.bucket1), filter.page_place(place.bucket2)};
  const BucketBits::Address at[] = {
      filter.address<Pair::kWholeBytes>(pages[places[0].page], places[0].fraction),
      filter.address<Pair::kWholeBytes>(pages[places[1].page], places[1].fraction)};
  const Pair buckets = read(filter, at[0], at[1]);
  const uint8_t choice = kChoices[buckets.empty_slots()];
  if (choice == kFull) {
    return insert_where_full(filter, place, buckets.hold(place.fingerprint));
  }
  if (choice == kUnsorted || !filter.pages_.is_open(places[choice].page)) {
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
bool CuckooFilter::Avx2<kLowBits, kRankBits>::insert_where_full(CuckooFilter& filter,
                                                                const Place& place, bool present) {
  if (relocate(filter, place)) {
    ++filter.occupied_;
  } else {
    filter.overflow_.add(filter.cell(place));
  }
  return present;
}

// Finds the same path as CuckooFilter::relocate(). But it takes two nodes at a time, and looks at
// all eight buckets to which their entries lead before there is a branch.
template <uint32_t kLowBits, uint32_t kRankBits>
CUCKOO_AVX2 bool CuckooFilter::Avx2<kLowBits, kRankBits>::relocate(CuckooFilter& filter,
                                                                   const Place& place) {
  filter.start_search(place);
  std::vector<Node>& nodes = filter.nodes_;
  const uint64_t limit = filter.search_limit();
  for (uint32_t next = 0; next < nodes.size() && nodes.size() < limit;) {
    const Beginning from = filter.beginning();
    const bool two = next + 1 < nodes.size() && nodes.size() + kBucketSlots < limit;
    const uint64_t buckets[] = {nodes[next].bucket, nodes[two ? next + 1 : next].bucket};
    const auto values =
        read(filter, address_of(filter, buckets[0]), address_of(filter, buckets[1])).values();
    uint64_t others[values.size()];
    uint32_t room = 0;
    for (unsigned entry = 0; entry < values.size(); ++entry) {
      others[entry] = filter.alternate(buckets[entry / kBucketSlots], values[entry]);
    }
    for (unsigned entry = 0; entry < values.size(); entry += 2) {
      const Pair pair =
          read(filter, address_of(filter, others[entry]), address_of(filter, others[entry + 1]));
      room |= pair.have_room() << entry;
    }
    const unsigned entries = two ? 2 * kBucketSlots : kBucketSlots;  // the others come twice
    if (room != 0) {  // in the first such bucket, which no node is in: those are full
      const auto entry = static_cast<unsigned>(std::countr_zero(room));
      nodes.push_back({others[entry], values[entry], next + entry / kBucketSlots});
      move_along(filter, static_cast<uint32_t>(nodes.size() - 1));
      return true;
    }
    for (unsigned entry = 0; entry < entries; ++entry) {
      const uint32_t parent = next + entry / kBucketSlots;
      const bool copy = entry % kBucketSlots != 0 && values[entry] == values[entry - 1];
      if (!copy && filter.leads_on(from, nodes[parent], others[entry])) {
        nodes.push_back({others[entry], values[entry], parent});
      }
    }
    next += two ? 2 : 1;
  }
  return false;
}

// Does the same as CuckooFilter::move_along(), two nodes at a time.
template <uint32_t kLowBits, uint32_t kRankBits>
CUCKOO_AVX2 void CuckooFilter::Avx2<kLowBits, kRankBits>::move_along(CuckooFilter& filter,
                                                                     uint32_t free_end) {
  const std::vector<Node>& nodes = filter.nodes_;
  for (uint32_t at = free_end; at != kNoParent; at = nodes[at].parent) {
    filter.pages_.mark_dirty(filter.page_of(nodes[at].bucket));
  }
  uint64_t leaves = 0;
  for (uint32_t next = free_end; next != kNoParent;) {
    const uint32_t parent = nodes[next].parent;
    const Node* const moved[] = {&nodes[next], &nodes[parent == kNoParent ? next : parent]};
    const BucketBits::Address at[] = {address_of(filter, moved[0]->bucket),
                                      address_of(filter, moved[1]->bucket)};
    const Pair pair = read(filter, at[0], at[1]);
    const uint8_t count = parent == kNoParent ? 1 : 2;
    for (uint8_t which = 0; which < count; ++which) {
      const typename Pair::Grown grown = pair.with(which, moved[which]->value, leaves);
      if (grown.sorted()) [[likely]] {
        Pair::write(at[which], grown.encode());
      } else {
        const uint64_t bucket = moved[which]->bucket;
        filter.replace(bucket, filter.read(bucket), leaves, moved[which]->value);
      }
      leaves = moved[which]->value;
    }
    next = parent == kNoParent ? kNoParent : nodes[parent].parent;
  }
}

template <uint32_t kRankBits, uint32_t... kLowBits>
CuckooFilter::Code CuckooFilter::code_for(uint32_t low_bits,
                                          std::integer_sequence<uint32_t, kLowBits...>) noexcept {
  static constexpr Code kCodes[] = {Avx2<kLowBits, kRankBits>::code()...};
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

}  // namespace cuckoo::core
