#include "core/stored/hash_sort.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

namespace cuckoo {
namespace {

// Sorts by two digits of the leading bits, and then the hashes that agree in both. The first digit
// has as many values as there are pages whose addresses a processor remembers. The counters of the
// second digit fit its nearest cache.
constexpr unsigned kFirstBits = HashParts::kFirstBits;
constexpr unsigned kMostSecondBits = 12;
constexpr size_t kFew = 32;

class Order {
 public:
  explicit Order(HashWidth width) noexcept : lowest_(64 - static_cast<unsigned>(width)) {}
  bool operator()(uint64_t a, uint64_t b) const noexcept { return a >> lowest_ < b >> lowest_; }

 private:
  unsigned lowest_;  // bit of a hash
};

// Moves each entry to the others with the same digit, in order. starts[d] becomes the end of digit
// d. Returns how many entries have the most frequent digit.
size_t scatter(std::span<const std::span<const uint64_t>> parts, uint64_t* to, unsigned shift,
               std::span<size_t> starts) {
  const uint64_t mask = starts.size() - 1;
  std::fill(starts.begin(), starts.end(), 0);
  for (const std::span<const uint64_t> part : parts) {
    for (const uint64_t entry : part) {
      ++starts[(entry >> shift) & mask];
    }
  }
  size_t sum = 0;
  size_t most = 0;
  for (size_t& start : starts) {
    most = std::max(most, start);
    sum += std::exchange(start, sum);
  }
  for (const std::span<const uint64_t> part : parts) {
    for (const uint64_t entry : part) {
      to[starts[(entry >> shift) & mask]++] = entry;
    }
  }
  return most;
}

// Is fast if each entry is near its place.
void insertion_sort(std::span<uint64_t> entries, const Order& order) {
  for (size_t i = 1; i < entries.size(); ++i) {
    const uint64_t entry = entries[i];
    size_t at = i;
    for (; at > 0 && order(entry, entries[at - 1]); --at) {
      entries[at] = entries[at - 1];
    }
    entries[at] = entry;
  }
}

// Sorts entries that have their first bits in common, mostly a digit, by the next digit and the
// bits after it.
class RunSorter {
 public:
  explicit RunSorter(const Order& order, unsigned common_bits = kFirstBits)
      : order_(order), common_bits_(common_bits), ends_(size_t{1} << kMostSecondBits) {}

  // Sorts in place.
  void sort(std::span<uint64_t> entries) {
    copy_.assign(entries.begin(), entries.end());
    const std::span<const uint64_t> copy(copy_);
    sort(std::span(&copy, 1), entries);
  }
  // Sorts the entries of `from`, in that order, into `entries`.
  void sort(std::span<const std::span<const uint64_t>> from, std::span<uint64_t> entries) {
    const unsigned bits =
        std::clamp<unsigned>(std::bit_width(entries.size() / 2), 1, kMostSecondBits);
    const std::span<size_t> run_ends = std::span(ends_).first(size_t{1} << bits);
    const size_t longest = scatter(from, entries.data(), 64 - common_bits_ - bits, run_ends);
    if (longest <= kFew) {
      insertion_sort(entries, order_);  // all at once: no entry leaves its run
      return;
    }
    size_t begin = 0;
    for (const size_t end : run_ends) {
      const std::span<uint64_t> run = entries.subspan(begin, end - begin);
      if (run.size() <= kFew) {
        insertion_sort(run, order_);
      } else if (!std::is_sorted(run.begin(), run.end(), order_)) {  // not copies of one hash
        std::stable_sort(run.begin(), run.end(), order_);
      }
      begin = end;
    }
  }

 private:
  Order order_;
  unsigned common_bits_;
  std::vector<size_t> ends_;
  std::vector<uint64_t> copy_;
};

}  // namespace

// Sorts by the first digit, into runs that fit the cache, and then run by run.
Result<LargeVector<uint64_t>> sorted_by_hash(std::span<const std::span<const uint64_t>> parts,
                                             HashWidth width, const Poll& poll) {
  const Order order(width);
  size_t count = 0;
  for (const std::span<const uint64_t> part : parts) {
    count += part.size();
  }
  LargeVector<uint64_t> sorted(count);
  if (count < size_t{1} << kFirstBits) {
    size_t at = 0;
    for (const std::span<const uint64_t> part : parts) {
      std::copy(part.begin(), part.end(), sorted.data() + at);
      at += part.size();
    }
    std::stable_sort(sorted.begin(), sorted.end(), order);
    return sorted;
  }
  std::vector<size_t> run_ends(size_t{1} << kFirstBits);
  scatter(parts, sorted.data(), 64 - kFirstBits, run_ends);
  RunSorter sorter(order);
  size_t begin = 0;
  for (const size_t end : run_ends) {
    CUCKOO_TRY(check_interrupt(poll));
    sorter.sort(std::span(sorted).subspan(begin, end - begin));
    begin = end;
  }
  return sorted;
}

LargeVector<uint64_t> sorted_by_hash(std::span<const std::span<const uint64_t>> parts,
                                     HashWidth width) {
  return sorted_by_hash(parts, width, nullptr).value();
}

Result<LargeVector<uint64_t>> sorted_by_hash(std::span<const uint64_t> entries, HashWidth width,
                                             unsigned depth, const Poll& poll) {
  constexpr size_t kMostInOneRun = size_t{1} << (kMostSecondBits + 4);
  if (entries.size() > kMostInOneRun) {
    return sorted_by_hash(std::span(&entries, 1), width, poll);
  }
  LargeVector<uint64_t> sorted(entries.size());
  RunSorter(Order(width), depth).sort(std::span(&entries, 1), sorted);
  return sorted;
}

size_t HashParts::size() const noexcept {
  size_t size = 0;
  for (const Part& part : parts_) {
    size += part.hashes.size();
  }
  return size;
}

void HashParts::add(std::span<const uint64_t> hashes, size_t most) {
  const bool joins = !parts_.empty() && parts_.back().hashes.size() + hashes.size() <= most;
  const std::span<const uint64_t> both[] = {
      joins ? std::span<const uint64_t>(parts_.back().hashes) : std::span<const uint64_t>(),
      hashes};
  Part part;
  part.hashes.resize(both[0].size() + hashes.size());
  part.begins.resize(kDigits + 1);
  scatter(both, part.hashes.data(), 64 - kFirstBits, std::span(part.begins).subspan(1));
  if (joins) {
    parts_.back() = std::move(part);
  } else {
    parts_.push_back(std::move(part));
  }
}

Status HashParts::sort(HashWidth width, const Poll& poll) {
  RunSorter sorter{Order(width)};
  std::vector<uint64_t> sorted;
  std::vector<std::span<const uint64_t>> pieces(parts_.size());
  for (size_t digit = 0; digit < kDigits; ++digit) {
    CUCKOO_TRY(check_interrupt(poll));
    size_t count = 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
      pieces[i] = parts_[i].of(digit);
      count += pieces[i].size();
    }
    sorted.resize(count);
    sorter.sort(pieces, sorted);
    const uint64_t* next = sorted.data();
    for (Part& part : parts_) {
      uint64_t* const to = part.hashes.data();
      std::copy(next, next + part.of(digit).size(), to + part.begins[digit]);
      next += part.of(digit).size();
    }
  }
  return {};
}

void HashParts::narrow(HashWidth width) noexcept {
  for (Part& part : parts_) {
    for (uint64_t& hash : part.hashes) {
      hash = logged_hash(hash, width);
    }
  }
}

}  // namespace cuckoo
