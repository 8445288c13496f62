// LiveFilter::check(): is what is stored sound, and does the filter hold what its source holds?
#include <algorithm>
#include <span>
#include <string>

#include "core/stored/hash_sort.hpp"

#include "ext/filter/live_filter.hpp"
#include "ext/filter/source.hpp"

namespace cuckoo {
namespace {

// The runs of equal hashes in an ascending list, one after the other.
class Runs {
 public:
  Runs(std::span<const uint64_t> hashes, bool multiset) noexcept
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

}  // namespace

// --- what is stored ------------------------------------------------------------------------------

// What is pending is checked as it would be stored.
void LiveFilter::check_stored() {
  follow();
  refuse_amid_parts();  // theirs are blocks that no filter has
  if (source_) {
    (void)FilterSource(store_, {source_->key}).stored();
  }
  const FilterStore::Held held(store_);
  if (stored_options(store_, source_.has_value()).digest != filter_->options().digest) {
    throw_if(table(), corrupt("options that are not those of the filter"));
  }
  throw_if(table(), filter_->check());
}

void LiveFilter::check() {
  check_stored();
  if (source_) {
    check_source();
  }
}

// --- the source ----------------------------------------------------------------------------------

// What may legally be so, but not for long: the source has changed since 'rebuild', a trigger
// missed something.
void LiveFilter::check_source() {
  const FilterSource from(store_, {source_->key});
  if (source_->triggers) {
    from.check_triggers();
  }
  const Comparison found = compare([&](const KeyVisitor& visit) {
    from.for_each_row(
        [&](std::span<sqlite3_value* const> keys) { visit(key_of(keys.front(), key_affinity_)); });
  });
  const bool surplus = source_->triggers && found.surplus != 0;
  if (found.missing == 0 && !surplus) {
    return;
  }
  std::string text = table() + ": it ";
  if (found.missing != 0) {
    text += "lacks " + std::to_string(found.missing) + " of the " + std::to_string(found.keys) +
            " values of its source " + from.name() + (surplus ? ", and " : "");
  }
  if (surplus) {
    text += "holds " + std::to_string(found.surplus) + " that its source " + from.name() +
            " does not have";
  }
  if (const std::string newer = source_->triggers ? from.newer_trigger() : ""; !newer.empty()) {
    text += "; trigger " + newer + " is newer than the filter's and runs before them";
  }
  throw SqlError(SQLITE_ERROR, text + "; INSERT INTO " + table() + "(" + table() +
                                   ") VALUES ('rebuild') mends it");
}

LiveFilter::Comparison LiveFilter::compare(
    const std::function<void(const KeyVisitor& visit)>& for_each_key) {
  follow();
  return filter_->newest().keeps_hashes() ? compare_hashes(for_each_key)
                                          : compare_answers(for_each_key);
}

LiveFilter::Comparison LiveFilter::compare_hashes(
    const std::function<void(const KeyVisitor& visit)>& for_each_key) {
  Comparison result;
  LargeVector<uint64_t> named;
  for_each_key([&](const KeyView& key) {
    named.push_back(hash_of(key) & hash_mask_);
    ++result.keys;
  });
  segments::FilterFile& newest = filter_->newest();
  named = sorted_by_hash(named, newest.options().width);
  const bool counts_copies = newest.options().counts_copies();
  Runs runs(named, counts_copies);
  const auto miss_below = [&](uint64_t hash) {
    for (; !runs.done() && runs.hash() < hash; runs.advance()) {
      result.missing += runs.count();
    }
  };
  constexpr uint64_t kHashesPerPoll = 1024;
  uint64_t read = 0;
  throw_if(table(), newest.for_each_hash([&](uint64_t hash, uint64_t count) -> Status {
    miss_below(hash);
    const bool same = !runs.done() && runs.hash() == hash;
    const uint64_t expected = same ? runs.count() : 0;
    const uint64_t held = counts_copies ? count : 1;
    result.missing += expected - std::min(expected, held);
    result.surplus += held - std::min(expected, held);
    if (same) {
      runs.advance();
    }
    return ++read % kHashesPerPoll == 0 ? store_.poll() : Status();
  }));
  for (; !runs.done(); runs.advance()) {
    result.missing += runs.count();
  }
  return result;
}

// A key that only looks present is not told from one that is.
LiveFilter::Comparison LiveFilter::compare_answers(
    const std::function<void(const KeyVisitor& visit)>& for_each_key) {
  Comparison result;
  const uint64_t probes = probes_;
  const uint64_t positives = positives_;
  for_each_key([&](const KeyView& key) {
    ++result.keys;
    result.missing += contains(key) ? 0 : 1;
  });
  probes_ = probes;
  positives_ = positives;
  const uint64_t held = result.keys - result.missing;
  if (filter_->options().counts_copies() && filter_->items() > held) {
    result.surplus = filter_->items() - held;
  }
  return result;
}

}  // namespace cuckoo
