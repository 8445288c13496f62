#include "core/segments/log.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {

void Log::start(uint64_t row, uint64_t position, uint64_t chain) noexcept {
  end_.number = row;
  end_.stored = false;
  end_.header = {};
  end_.header.chain = chain;
  end_.header.position = position;
  end_.entries.clear();
  fresh_.clear();
}

// The row is full; it becomes the one after it.
void Log::pass(Row& row) const {
  row.header.chain = chain_over(row.header.chain, row.entries, width_);
  row.header.position += row.entries.size();
  row.entries.clear();
  row.stored = false;
  ++row.number;
}

// Cuts the fresh entries into rows: the last stored row with as many as it takes, and those after
// it. `row` is the last one at the end.
template <class Visit>
Status Log::visit_fresh_rows(Row& row, Visit&& visit) const {
  row = end_;
  for (size_t at = 0;;) {
    const size_t taken = std::min(row_capacity_ - row.entries.size(), fresh_.size() - at);
    const auto from = fresh_.begin() + static_cast<std::ptrdiff_t>(at);
    row.entries.insert(row.entries.end(), from, from + static_cast<std::ptrdiff_t>(taken));
    at += taken;
    CUCKOO_TRY(visit(row));
    if (row.entries.size() < row_capacity_) {  // I3
      return {};
    }
    pass(row);
  }
}

uint64_t Log::chain() const {
  Row row;
  (void)visit_fresh_rows(row, [](const Row&) { return Status(); });  // it does not fail
  return chain_over(row.header.chain, row.entries, width_);
}

void Log::restart() {
  const uint64_t chain = this->chain();
  start(end_.number + 1, position(), chain);
}

void Log::stir(uint64_t with) {
  const uint64_t chain = chain_with(this->chain(), with);
  start(end_.number + 1, position(), chain);
}

// All rows but the last one say the items as of the end: only those of the newest row count.
Status Log::write_to(const Blocks& blocks, uint64_t first, uint64_t items,
                     uint64_t directory_version) const {
  Row last;
  return visit_fresh_rows(last, [&](const Row& row) -> Status {
    if (row.number < first) {
      return {};
    }
    LogHeader header = row.header;
    header.items = items;
    header.directory_version = directory_version;
    header.entries = static_cast<uint16_t>(row.entries.size());
    return blocks.write(kFirstLogBlock + static_cast<int64_t>(row.number),
                        encode_log_row(header, row.entries, width_), row.stored);
  });
}

void Log::note_written() {
  Row last;
  (void)visit_fresh_rows(last, [](const Row&) { return Status(); });  // it does not fail
  last.stored = true;
  end_ = std::move(last);
  fresh_.clear();
}

// --- reading -------------------------------------------------------------------------------------

// The row after the last one, or the last one itself with more entries.
Status Log::take_row(int64_t id, const LogRow& row, const Sink& sink) {
  const auto number = static_cast<uint64_t>(id - kFirstLogBlock);
  if (number != end_.number) {
    if (number != end_.number + 1 || end_.entries.size() != row_capacity_) {
      return corrupt("does not follow a full row");
    }
    pass(end_);
  }
  if (row.header.chain != end_.header.chain || row.header.position != end_.header.position) {
    return corrupt("does not follow the row before it");
  }
  if (row.header.entries > row_capacity_) {
    return corrupt("of more entries than a row has");
  }
  for (size_t i = end_.entries.size(); i < row.header.entries; ++i) {
    const uint64_t entry = row.entry(i, width_);
    if (!multiset_ && (entry & kRemoveBit) != 0) {
      return corrupt("removes a hash from a set");
    }
    end_.entries.push_back(entry);
    sink(end_.header.position + i, entry);
  }
  end_.header = row.header;
  end_.stored = true;
  return {};
}

Status Log::expect_end() const {
  return end_.entries.size() < row_capacity_
             ? Status()
             : in_block(kFirstLogBlock + static_cast<int64_t>(end_.number) + 1,
                        corrupt("is missing"));
}

Result<bool> Log::follow(const Blocks& blocks, LogHeader& newest, const Sink& sink) {
  bool first = true;
  bool same_history = true;
  const int64_t from = kFirstLogBlock + static_cast<int64_t>(end_.number);
  const auto known = static_cast<size_t>(end_.entries.size());
  CUCKOO_TRY(blocks.read(
      from, kLastLogBlock, [&](int64_t id, std::span<const std::byte> content) -> Status {
        CUCKOO_ASSIGN_OR_RETURN(const LogRow row, segments::parse_log_row(content, width_));
        if (first) {
          first = false;
          same_history =
              id == from && row.header.chain == end_.header.chain &&
              row.header.position == end_.header.position && row.header.entries >= known &&
              row.chain_after(known, width_) == chain_over(end_.header.chain, end_.entries, width_);
        }
        return same_history ? take_row(id, row, sink) : Status();
      }));
  if (first || !same_history) {
    return false;
  }
  CUCKOO_TRY(expect_end());
  newest = end_.header;
  return true;
}

Status Log::read(const Blocks& blocks, uint64_t row, uint64_t position, LogHeader& newest,
                 const Sink& sink) {
  bool first = true;
  const int64_t from = kFirstLogBlock + static_cast<int64_t>(row);
  CUCKOO_TRY(blocks.read(
      from, kLastLogBlock, [&](int64_t id, std::span<const std::byte> content) -> Status {
        CUCKOO_ASSIGN_OR_RETURN(const LogRow parsed, segments::parse_log_row(content, width_));
        if (first) {
          first = false;
          if (id != from || parsed.header.position != position) {
            return corrupt("is not where the log begins");
          }
          start(row, position, parsed.header.chain);
        }
        if (end_.position() - position > kMostEntries) {
          return corrupt("of a log of more entries than one ever has");
        }
        CUCKOO_TRY(take_row(id, parsed, sink));
        return blocks.poll();
      }));
  if (first) {
    return in_block(from, corrupt("is missing"));
  }
  CUCKOO_TRY(expect_end());
  newest = end_.header;
  return {};
}

// The chain value after the first entries of a row that is kept.
Result<uint64_t> Log::chain_in(const Blocks& blocks, uint64_t row, size_t entries) const {
  uint64_t chain = 0;
  if (row < end_.number) {
    CUCKOO_TRY(blocks.read_one(kFirstLogBlock + static_cast<int64_t>(row),
                               [&](int64_t, std::span<const std::byte> content) -> Status {
                                 CUCKOO_ASSIGN_OR_RETURN(const LogRow parsed,
                                                         segments::parse_log_row(content, width_));
                                 if (parsed.header.entries != row_capacity_) {
                                   return corrupt("is not the last one, and not full");
                                 }
                                 chain = parsed.chain_after(entries, width_);
                                 return {};
                               }));
    return chain;
  }
  Row last;
  (void)visit_fresh_rows(last, [&](const Row& at) {  // it does not fail
    if (at.number == row) {
      chain = chain_over(at.header.chain, std::span(at.entries).first(entries), width_);
    }
    return Status();
  });
  return chain;
}

// All rows but the last one are full, so that a position says in which row it is.
Result<bool> Log::entries_behind(const Blocks& blocks, uint64_t first_row, uint64_t first_position,
                                 const LogPlace& place, LargeVector<uint64_t>& entries) const {
  if (place.position < first_position || place.position > position()) {
    return false;
  }
  uint64_t next = first_row + (place.position - first_position) / row_capacity_;
  auto known = static_cast<size_t>((place.position - first_position) % row_capacity_);
  CUCKOO_ASSIGN_OR_RETURN(const uint64_t found, chain_in(blocks, next, known));
  if (found != place.chain) {
    return false;
  }
  uint64_t chain = found;
  uint64_t at = place.position - known;
  const auto take_stored = [&](int64_t id, std::span<const std::byte> content) -> Status {
    CUCKOO_ASSIGN_OR_RETURN(const LogRow row, segments::parse_log_row(content, width_));
    if (id != kFirstLogBlock + static_cast<int64_t>(next) || row.header.position != at ||
        row.header.entries != row_capacity_ || row.chain_after(known, width_) != chain) {
      return corrupt("does not follow the row before it");
    }
    for (size_t i = known; i < row_capacity_; ++i) {
      entries.push_back(row.entry(i, width_));
    }
    chain = row.chain_after(row_capacity_, width_);
    at += row_capacity_;
    known = 0;
    ++next;
    return blocks.poll();
  };
  if (next < end_.number) {
    CUCKOO_TRY(blocks.read(kFirstLogBlock + static_cast<int64_t>(next),
                           kFirstLogBlock + static_cast<int64_t>(end_.number) - 1, take_stored));
    if (next != end_.number || at != end_.header.position || chain != end_.header.chain) {
      return in_block(kFirstLogBlock + static_cast<int64_t>(next), corrupt("is missing"));
    }
  }
  Row last;
  (void)visit_fresh_rows(last, [&](const Row& row) {  // it does not fail
    if (row.number >= next) {
      entries.insert(entries.end(), row.entries.begin() + static_cast<std::ptrdiff_t>(known),
                     row.entries.end());
      known = 0;
    }
    return Status();
  });
  return true;
}

}  // namespace cuckoo::segments
