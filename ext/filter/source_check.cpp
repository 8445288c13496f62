#include "ext/filter/source_check.hpp"

#include <algorithm>
#include <functional>
#include <span>

#include "core/stored/hash_sort.hpp"

#include "ext/filter/live_filter.hpp"
#include "ext/filter/source.hpp"
#include "ext/filter/tuple_key.hpp"
#include "ext/table/command.hpp"

namespace cuckoo {
namespace {

// The different hashes of an ascending list, one after the other, each with its count.
class EqualHashes {
 public:
  EqualHashes(std::span<const uint64_t> hashes, bool multiset) noexcept
      : next_(hashes.begin()), end_(hashes.end()), multiset_(multiset) {
    advance();
  }

  bool done() const noexcept { return count_ == 0; }
  uint64_t hash() const noexcept { return hash_; }
  uint64_t count() const noexcept { return multiset_ ? count_ : std::min<uint64_t>(count_, 1); }
  void advance() noexcept {
    count_ = 0;
    if (next_ != end_) {
      hash_ = *next_;
    }
    for (; next_ != end_ && *next_ == hash_; ++next_) {
      ++count_;
    }
  }

 private:
  std::span<const uint64_t>::iterator next_, end_;
  bool multiset_;
  uint64_t hash_ = 0;
  uint64_t count_ = 0;
};

using KeySource = std::function<void(const std::function<void(const KeyView& key)>& visit)>;

// The result of comparing the filter with named keys, none of which is NULL. A key may be named
// several times. With hashes, the result is exact, except that the filter may deny a key whose hash
// it has: then a key that only seemed to be there was removed, and this one's cell with it. Without
// hashes, a key that only seems to be present does not count as missing.
struct Comparison {
  uint64_t keys = 0;     // how many were named
  uint64_t missing = 0;  // how many of them the filter lacks
  uint64_t surplus = 0;  // copies in the filter that were not named
};

Comparison compare_hashes(LiveFilter& live, const KeySource& for_each_key) {
  Comparison result;
  LargeVector<uint64_t> named;
  uint64_t denied = 0;
  for_each_key([&](const KeyView& key) {
    named.push_back(live.hash_of(key));
    ++result.keys;
    denied += live.holds(key) ? 0 : 1;
  });
  segments::FilterFile& newest = live.filter().newest();
  named = sorted_by_hash(named, newest.options().width);
  const bool counts_copies = newest.options().counts_copies();
  EqualHashes equals(named, counts_copies);
  const auto miss_below = [&](uint64_t hash) {
    for (; !equals.done() && equals.hash() < hash; equals.advance()) {
      result.missing += equals.count();
    }
  };
  constexpr uint64_t kHashesPerPoll = 1024;
  uint64_t read = 0;
  throw_if(live.table(), newest.for_each_hash([&](uint64_t hash, uint64_t count) -> Status {
    miss_below(hash);
    const bool same = !equals.done() && equals.hash() == hash;
    const uint64_t expected = same ? equals.count() : 0;
    const uint64_t held = counts_copies ? count : 1;
    result.missing += expected - std::min(expected, held);
    result.surplus += held - std::min(expected, held);
    if (same) {
      equals.advance();
    }
    return ++read % kHashesPerPoll == 0 ? live.store().poll() : Status();
  }));
  for (; !equals.done(); equals.advance()) {
    result.missing += equals.count();
  }
  result.missing = std::max(result.missing, denied);
  return result;
}

// Compares by look-ups. They can't tell a key that only looks present from one that is.
Comparison compare_answers(LiveFilter& live, const KeySource& for_each_key) {
  Comparison result;
  for_each_key([&](const KeyView& key) {
    ++result.keys;
    result.missing += live.holds(key) ? 0 : 1;
  });
  const segments::FilterWindow& filter = live.filter();
  const uint64_t held = result.keys - result.missing;
  if (filter.options().counts_copies() && filter.items() > held) {
    result.surplus = filter.items() - held;
  }
  return result;
}

}  // namespace

void check_source(LiveFilter& live, const CheckedSource& source) {
  const FilterSource from(live.store(), live.key_names());
  TupleKey tuple;
  std::string buffer;
  const KeyDomain domain(live.key_form(), 0);
  if (source.triggers && !from.check_triggers()) {
    throw SqlError(SQLITE_LOCKED, live.table() + ": the schema is being changed");
  }
  const KeySource keys = [&](const auto& visit) {
    from.for_each_row([&](std::span<sqlite3_value*> values) {
      visit(values.size() == 1 ? key_of(values.front(), live.key_affinity(), buffer)
                               : tuple.make(domain, values.data()));
    });
  };
  live.follow();
  const Comparison found = live.filter().newest().keeps_hashes() ? compare_hashes(live, keys)
                                                                 : compare_answers(live, keys);
  const bool surplus =
      source.triggers && is_multiset(live.filter().options().spec.kind) && found.surplus != 0;
  if (found.missing == 0 && !surplus) {
    return;
  }
  const FilterSource::Found schema = from.look();
  const std::string name = from.name(schema);
  std::string text = live.table() + ": it ";
  if (found.missing != 0) {
    text += "lacks " + std::to_string(found.missing) + " of the " + std::to_string(found.keys) +
            " values of its source " + name + (surplus ? ", and " : "");
  }
  if (surplus) {
    text +=
        "holds " + std::to_string(found.surplus) + " that its source " + name + " does not have";
  }
  if (const std::string newer = source.triggers ? from.newer_trigger(schema) : ""; !newer.empty()) {
    text += "; trigger " + newer + " is newer than the filter's and runs before them";
  }
  throw SqlError(SQLITE_ERROR, text + "; " + command_text(live.table(), "rebuild") + " mends it");
}

}  // namespace cuckoo
