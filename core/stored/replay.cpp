#include "core/stored/replay.hpp"

#include <algorithm>
#include <cassert>

#include "core/filter/bucket.hpp"
#include "core/stored/hash_sort.hpp"

namespace cuckoo {

Status in_row(const char* kind, int64_t id, Status status) {
  if (!status.ok() && status.error().code == ErrorCode::kCorrupt) {
    Error error = status.take_error();
    error.message = std::string(kind) + " row " + std::to_string(id) + ": " + error.message;
    return error;
  }
  return status;
}

Result<LogRow> LogFollower::follow(int64_t id, std::span<const std::byte> bytes) const {
  Result<LogRow> parsed = parse_log_row(bytes, width_);
  if (!parsed.ok()) {
    return in_row("log", id, parsed.take_status());
  }
  if (id != row_ || !leads_to(parsed.value().header)) {
    return in_row("log", row_, corrupt("is missing or does not follow"));
  }
  return parsed;
}

bool LogFollower::leads_to(const LogRowHeader& next) const noexcept {
  return next.chain_before == chain_ && next.position == position_ && next.items_before >= items_ &&
         next.items_before <= most_items_;
}

void LogFollower::pass(const LogRow& row, std::optional<uint64_t> added) noexcept {
  if (!multiset_) {  // items only rise, by at most one an entry
    items_ = row.header.items_before;
    most_items_ = items_ + (row.header.compacted() ? 0 : row.header.entries);
  } else if (added) {
    items_ = most_items_ = row.header.items_before + *added;
  } else {
    most_items_ = UINT64_MAX;  // whoever looks will say which row is wrong
  }
  chain_ = log_chain(row, row.header.entries);
  position_ += row.header.entries;
  ++row_;
}

Status visit_log(FilterStorage& storage, HashWidth width, const LogExtent& extent,
                 const LogRowVisitor& visitor) {
  LogFollower log(width, extent.multiset, extent.first_row, extent.start_chain,
                  extent.start_position, extent.start_items);
  CUCKOO_TRY(storage.read_log(extent.first_row, extent.last_row,
                              [&](int64_t id, std::span<const std::byte> bytes) -> Status {
                                CUCKOO_ASSIGN_OR_RETURN(const LogRow row, log.follow(id, bytes));
                                Result<std::optional<uint64_t>> added = visitor(id, row);
                                if (!added.ok()) {
                                  return in_row("log", id, added.take_status());
                                }
                                log.pass(row, added.value());
                                return storage.poll();
                              }));
  if (log.position() != extent.end_position || log.chain() != extent.end_chain) {
    return corrupt("log that ends at entry " + std::to_string(log.position()) +
                   ", expected entry " + std::to_string(extent.end_position));
  }
  return {};
}

uint64_t Counting::left(uint64_t count, std::span<const uint64_t> entries,
                        uint64_t& dropped) const noexcept {
  for (const uint64_t entry : entries) {
    if ((entry & kRemoveBit) == 0) {
      ++count;
    } else if (count > 0) {
      --count;
    } else {
      ++dropped;
    }
  }
  if (multiset && unique && count > 1) {
    dropped += count - 1;
  }
  return multiset && !unique ? count : std::min<uint64_t>(count, 1);
}

Status LogReplay::read(const LogExtent& extent, LargeVector<uint64_t> behind) {
  first_row_ = first_raw_row_ = extent.first_row;
  start_items_ = extent.start_items;
  multiset_ = extent.multiset;
  raw_.clear();
  raw_items_.reset();
  CUCKOO_TRY(visit_log(
      storage_, width_, extent,
      [&](int64_t id, const LogRow& row) -> Result<std::optional<uint64_t>> {
        if (row.header.compacted()) {
          if (!raw_.empty()) {
            return corrupt("compacted entries behind raw ones");
          }
          first_raw_row_ = id + 1;
          return std::optional<uint64_t>();  // merge() decodes them, and looks at their items
        }
        raw_items_ = raw_items_.value_or(row.header.items_before);
        uint64_t added = 0;
        for (size_t i = 0; i < row.header.entries; ++i) {
          raw_.push_back(raw_entry(row, i, width_));
          added += (raw_.back() & kRemoveBit) == 0 ? 1 : ~uint64_t{0};
        }
        return std::optional(added);
      }));
  assert(std::is_sorted(behind.begin(), behind.end(), [](uint64_t a, uint64_t b) {
    return (a & ~kRemoveBit) < (b & ~kRemoveBit);
  }));
  const uint64_t most = extent.end_position - extent.start_position + behind.size();
  if (raw_.empty()) {
    raw_ = std::move(behind);
  } else {
    const std::span<const uint64_t> parts[] = {raw_, behind};
    raw_ = sorted_by_hash(parts, width_);
    LargeVector<uint64_t>().swap(behind);
  }
  const bool keeps = most_kept_ > 0 && most <= most_kept_;
  all_kept_ = false;
  kept_.clear();
  if (keeps) {
    kept_.reserve(most);
  }
  hashes_ = items_ = entries_ = dropped_ = 0;
  const auto take = [&](uint64_t hash, uint64_t count) -> Status {
    ++hashes_;
    items_ += count;
    entries_ += count <= kMaxCopiesInBuckets ? count : 1;
    if (keeps) {
      keep(hash, count);
    }
    return {};
  };
  CUCKOO_TRY(merge_left(take, dropped_));
  all_kept_ = keeps;
  if (all_kept_) {
    LargeVector<uint64_t>().swap(raw_);
  }
  return {};
}

void LogReplay::keep(uint64_t hash, uint64_t count) {
  if (count == 1) {
    kept_.push_back(hash);
  } else {
    kept_.insert(kept_.end(), {hash | 1, count});
  }
}

Status LogReplay::hand_kept(const CountedHashSink& sink) const {
  constexpr uint64_t kHashesPerPoll = 1024;
  uint64_t handed = 0;
  for (size_t i = 0; i < kept_.size(); ++i) {
    const uint64_t word = kept_[i];
    CUCKOO_TRY((word & 1) == 0 ? sink(word, 1) : sink(word & ~uint64_t{1}, kept_[++i]));
    if (++handed % kHashesPerPoll == 0) {
      CUCKOO_TRY(storage_.poll());
    }
  }
  return {};
}

template <class Sink>
Status LogReplay::merge_left(Sink&& sink, uint64_t& dropped) const {
  const Counting counting{multiset_, unique_};
  const auto left = [&](int64_t count, std::span<const uint64_t> entries) {
    return static_cast<int64_t>(counting.left(static_cast<uint64_t>(count), entries, dropped));
  };
  return merge_with(left, [&](uint64_t hash, int64_t count) -> Status {
    return count == 0 ? Status() : sink(hash, static_cast<uint64_t>(count));
  });
}

Status LogReplay::merge(const CountedHashSink& sink) const {
  uint64_t dropped = 0;  // as read() found
  return all_kept_ ? hand_kept(sink) : merge_left(sink, dropped);
}

Status LogReplay::merge_net(const NetSink& sink) const {
  if (all_kept_) {
    return invalid("entries that were added up already");
  }
  const auto sum = [](int64_t count, std::span<const uint64_t> entries) {
    for (const uint64_t entry : entries) {
      count += (entry & kRemoveBit) == 0 ? 1 : -1;
    }
    return count;
  };
  return merge_with(sum, [&](uint64_t hash, int64_t net) -> Status {
    return sink(hash, multiset_ || net <= 0 ? net : 1);
  });
}

template <class Cancel, class Sink>
Status LogReplay::merge_with(const Cancel& cancel, const Sink& sink) const {
  size_t next = 0;
  const auto take_run = [this, &next](uint64_t hash) {
    const size_t first = next;
    while (next < raw_.size() && (raw_[next] & ~kRemoveBit) == hash) {
      ++next;
    }
    return std::span(raw_).subspan(first, next - first);
  };
  const auto hand_raw_below = [&](uint64_t hash, bool all) -> Status {
    while (next < raw_.size() && (all || (raw_[next] & ~kRemoveBit) < hash)) {
      const uint64_t own = raw_[next] & ~kRemoveBit;
      CUCKOO_TRY(sink(own, cancel(0, take_run(own))));
    }
    return {};
  };
  uint64_t previous = 0;
  uint64_t items = start_items_;
  std::vector<CountedHash> entries;
  const auto hand_row = [&](int64_t id, std::span<const std::byte> bytes) -> Status {
    Result<LogRow> parsed = parse_log_row(bytes, width_);
    if (!parsed.ok()) {
      return in_row("log", id, parsed.take_status());
    }
    if (multiset_ && parsed.value().header.items_before != items) {
      return in_row("log", id, corrupt("is missing or does not follow"));
    }
    CUCKOO_TRY(storage_.poll());
    CUCKOO_TRY(
        in_row("log", id,
               decode_compacted_row(parsed.value(), width_, previous, id == first_row_, entries)));
    for (const auto& [hash, count] : entries) {
      items += count;
      CUCKOO_TRY(hand_raw_below(hash, false));
      CUCKOO_TRY(sink(hash, cancel(static_cast<int64_t>(count), take_run(hash))));
    }
    return {};
  };
  if (first_row_ < first_raw_row_) {
    CUCKOO_TRY(storage_.read_log(first_row_, first_raw_row_ - 1, hand_row));
  }
  if (multiset_ && raw_items_.value_or(items) != items) {
    return in_row("log", first_raw_row_, corrupt("is missing or does not follow"));
  }
  return hand_raw_below(0, true);
}

}  // namespace cuckoo
