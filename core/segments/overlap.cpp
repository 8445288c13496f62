#include "core/segments/overlap.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace cuckoo::segments {
namespace {

// Walks through the different hashes of a filter.
class HashCursor {
 public:
  HashCursor(const HashReader& reader, HashWidth width, bool first) noexcept
      : read_(reader), width_(width), first_(first) {}

  bool of_first() const noexcept { return first_; }
  std::optional<uint64_t> hash() const noexcept { return hash_; }  // nothing: there is no other
  Status next(const Poll& poll) {
    const std::optional<uint64_t> before = hash_;
    do {
      while (at_ == hashes_.size()) {
        if (ended_) {
          hash_.reset();
          return {};
        }
        CUCKOO_TRY(check_interrupt(poll));
        hashes_.clear();
        at_ = 0;
        CUCKOO_ASSIGN_OR_RETURN(from_, read_(from_, hashes_));
        ended_ = from_ == 0;
      }
      hash_ = logged_hash(hashes_[at_++], width_);
    } while (hash_ == before);
    return {};
  }

 private:
  const HashReader& read_;
  HashWidth width_;
  bool first_;  // it is of the first group
  std::vector<uint64_t> hashes_;
  size_t at_ = 0;
  uint64_t from_ = 0;
  bool ended_ = false;
  std::optional<uint64_t> hash_;
};

// Returns the least hash; nothing if a group has no other hash.
std::optional<uint64_t> least_hash(const std::vector<HashCursor>& cursors) noexcept {
  std::optional<uint64_t> least;
  bool left[2] = {false, false};
  for (const HashCursor& cursor : cursors) {
    if (const std::optional<uint64_t> hash = cursor.hash(); hash) {
      left[cursor.of_first() ? 0 : 1] = true;
      least = std::min(least.value_or(*hash), *hash);
    }
  }
  return left[0] && left[1] ? least : std::nullopt;
}

}  // namespace

Result<uint64_t> overlap(const std::vector<HashReader>& a, const std::vector<HashReader>& b,
                         HashWidth width, const Poll& poll) {
  std::vector<HashCursor> cursors;
  cursors.reserve(a.size() + b.size());
  for (const HashReader& reader : a) {
    cursors.emplace_back(reader, width, true);
  }
  for (const HashReader& reader : b) {
    cursors.emplace_back(reader, width, false);
  }
  for (HashCursor& cursor : cursors) {
    CUCKOO_TRY(cursor.next(poll));
  }
  uint64_t shared = 0;
  while (const std::optional<uint64_t> least = least_hash(cursors)) {
    bool found[2] = {false, false};
    for (HashCursor& cursor : cursors) {
      if (cursor.hash() == least) {
        found[cursor.of_first() ? 0 : 1] = true;
        CUCKOO_TRY(cursor.next(poll));
      }
    }
    shared += found[0] && found[1] ? 1 : 0;
  }
  return shared;
}

HashReader reader_of(std::vector<uint64_t> hashes) {
  return [hashes = std::move(hashes)](uint64_t,
                                      std::vector<uint64_t>& to) mutable -> Result<uint64_t> {
    to.swap(hashes);
    return uint64_t{0};
  };
}

}  // namespace cuckoo::segments
