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
  LargeVector<uint64_t>().swap(fresh_);  // a load's may be large
  LargeVector<size_t>().swap(fresh_counts_);
}

// --- appending -----------------------------------------------------------------------------------

namespace {

// Makes room, so that the next `more` calls of push_back() need no memory.
template <class List>
void make_room(List& list, size_t more) {
  if (list.capacity() - list.size() < more) {
    list.reserve(2 * list.size() + more);
  }
}

}  // namespace

// Returns the number of the last count in the row of the next entry, or 0 if that row has none.
uint16_t Log::last_count_of_row() const noexcept {
  const size_t known = end_.entries.size();
  const size_t next = known + fresh_.size();
  const size_t first = next - next % row_capacity_;
  if (!fresh_counts_.empty() && known + fresh_counts_.back() >= first) {
    return static_cast<uint16_t>(known + fresh_counts_.back() - first);
  }
  return first == 0 ? end_.header.last_count : uint16_t{0};
}

void Log::append_count(uint64_t copies) {
  const uint64_t word = count_word(copies, last_count_of_row());
  fresh_counts_.push_back(fresh_.size());
  fresh_.push_back(word);
}

// Keeps I5. If it throws, nothing has changed.
void Log::append(uint64_t entry, uint64_t copies) {
  if (copies == 1) {
    append(entry);
    return;
  }
  make_room(fresh_, 3);
  make_room(fresh_counts_, 2);
  if ((end_.entries.size() + fresh_.size()) % row_capacity_ == row_capacity_ - 1) {
    append_count(0);
  }
  append(entry);
  append_count(copies);
}

// Turns a full row into the empty one after it.
void Log::pass(Row& row) const {
  row.header.chain = chain_over(row.header.chain, row.entries, width_, row.header.last_count);
  row.header.position += row.entries.size();
  row.header.last_count = 0;
  row.entries.clear();
  row.stored = false;
  ++row.number;
}

// Cuts the fresh entries into rows, and visits the rows. The first is the last stored row, with as
// many fresh entries as it takes. In the end `row` is the last row.
template <class Visit>
Status Log::visit_fresh_rows(Row& row, Visit&& visit) const {
  row = end_;
  auto count = fresh_counts_.begin();
  for (size_t at = 0;;) {
    const size_t taken = std::min(row_capacity_ - row.entries.size(), fresh_.size() - at);
    const auto from = fresh_.begin() + static_cast<std::ptrdiff_t>(at);
    for (; count != fresh_counts_.end() && *count < at + taken; ++count) {
      row.header.last_count = static_cast<uint16_t>(row.entries.size() + *count - at);
    }
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
  return chain_over(row.header.chain, row.entries, width_, row.header.last_count);
}

void Log::restart() {
  const uint64_t chain = this->chain();
  start(end_.number + 1, position(), chain);
}

void Log::stir(uint64_t with) {
  const uint64_t chain = chain_with(this->chain(), with);
  start(end_.number + 1, position(), chain);
}

// Each row gets the number of items at the end, because only the newest row's number counts.
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
  fresh_counts_.clear();
}

// --- reading -------------------------------------------------------------------------------------

namespace {

Error lone_count() { return corrupt("has a count that no entry precedes"); }

// Returns whether no place lies before the word of that number, because that word is a count of the
// entry before it (I5).
template <class CountAt>
bool no_place(std::span<const uint16_t> counts, size_t number, CountAt&& count_at) {
  return std::binary_search(counts.begin(), counts.end(), number) &&
         copies_of(count_at(number)) != 0;
}

}  // namespace

// Calls visit(number, entry, copies) for a row's entries. `counts` has the numbers of the row's
// counts.
template <class WordAt, class CountAt, class Visit>
Status Log::visit_entries(std::span<const uint16_t> counts, size_t from, size_t end,
                          WordAt&& word_at, CountAt&& count_at, Visit&& visit) const {
  auto count = std::lower_bound(counts.begin(), counts.end(), from);
  for (size_t i = from; i < end; ++i) {
    if (count != counts.end() && *count == i) {
      ++count;
      if (copies_of(count_at(i)) != 0 || i + 1 != row_capacity_) {
        return lone_count();
      }
      continue;
    }
    uint64_t copies = 1;
    if (count != counts.end() && *count == i + 1 && copies_of(count_at(i + 1)) != 0) {
      copies = copies_of(count_at(i + 1));
      ++count;
    }
    CUCKOO_TRY(visit(i, word_at(i), copies));
    i += copies == 1 ? 0 : 1;
  }
  return {};
}

// Takes the row after the last one, or the last one itself with more entries.
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
  const size_t known = end_.entries.size();
  const auto new_counts = std::lower_bound(row.counts.begin(), row.counts.end(), known);
  if (const std::vector<uint16_t> counts = counts_among(end_.entries, end_.header.last_count);
      !std::equal(counts.begin(), counts.end(), row.counts.begin(), new_counts)) {
    return corrupt("with other counts than it had");
  }
  const auto word_at = [&](size_t i) { return row.entry(i, width_); };
  const auto count_at = [&](size_t i) { return row.count_word(i, width_); };
  CUCKOO_TRY(visit_entries(row.counts, known, row.header.entries, word_at, count_at,
                           [&](size_t i, uint64_t entry, uint64_t copies) -> Status {
                             if (!multiset_ && (copies != 1 || (entry & kRemoveBit) != 0)) {
                               return corrupt("removes a hash from a set, or counts it");
                             }
                             sink(end_.header.position + i, entry, copies);
                             return {};
                           }));
  for (size_t i = known; i < row.header.entries; ++i) {
    end_.entries.push_back(row.entry(i, width_));
  }
  for (auto at = new_counts; at != row.counts.end(); ++at) {
    end_.entries[*at] = count_at(*at);
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
              row.chain_after(known, width_) ==
                  chain_over(end_.header.chain, end_.entries, width_, end_.header.last_count);
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

// Returns the chain value after the first `entries` entries of a row that is kept. Returns none if
// the next entry is a count of the last of them.
Result<std::optional<uint64_t>> Log::chain_in(const Blocks& blocks, uint64_t row,
                                              size_t entries) const {
  std::optional<uint64_t> chain;
  if (row < end_.number) {
    CUCKOO_TRY(blocks.read_one(kFirstLogBlock + static_cast<int64_t>(row),
                               [&](int64_t, std::span<const std::byte> content) -> Status {
                                 CUCKOO_ASSIGN_OR_RETURN(const LogRow parsed,
                                                         segments::parse_log_row(content, width_));
                                 if (parsed.header.entries != row_capacity_) {
                                   return corrupt("is not the last one, and not full");
                                 }
                                 if (no_place(parsed.counts, entries, [&](size_t i) {
                                       return parsed.count_word(i, width_);
                                     })) {
                                   return {};
                                 }
                                 chain = parsed.chain_after(entries, width_);
                                 return {};
                               }));
    return chain;
  }
  Row last;
  (void)visit_fresh_rows(last, [&](const Row& at) {  // it does not fail
    const std::vector<uint16_t> counts = counts_among(at.entries, at.header.last_count);
    if (at.number == row && !no_place(counts, entries, [&](size_t i) { return at.entries[i]; })) {
      const auto next = std::lower_bound(counts.begin(), counts.end(), entries);
      chain = chain_over(at.header.chain, std::span(at.entries).first(entries), width_,
                         next == counts.begin() ? uint16_t{0} : *std::prev(next));
    }
    return Status();
  });
  return chain;
}

// All rows except the last one are full, so a position says in which row it is.
Result<bool> Log::entries_behind(const Blocks& blocks, uint64_t first_row, uint64_t first_position,
                                 const LogPlace& place, LogEntries& found) const {
  if (place.position < first_position || place.position > position()) {
    return false;
  }
  uint64_t next = first_row + (place.position - first_position) / row_capacity_;
  auto known = static_cast<size_t>((place.position - first_position) % row_capacity_);
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<uint64_t> known_chain, chain_in(blocks, next, known));
  if (known_chain != place.chain) {
    return false;
  }
  uint64_t chain = place.chain;
  uint64_t at = place.position - known;
  const auto take = [&found](size_t, uint64_t entry, uint64_t copies) -> Status {
    found.entries.push_back(entry);
    if (copies > 1) {
      found.more.push_back({found.entries.size() - 1, copies - 1});
    }
    return {};
  };
  const auto take_stored = [&](int64_t id, std::span<const std::byte> content) -> Status {
    CUCKOO_ASSIGN_OR_RETURN(const LogRow row, segments::parse_log_row(content, width_));
    if (id != kFirstLogBlock + static_cast<int64_t>(next) || row.header.position != at ||
        row.header.entries != row_capacity_ || row.chain_after(known, width_) != chain) {
      return corrupt("does not follow the row before it");
    }
    CUCKOO_TRY(visit_entries(
        row.counts, known, row_capacity_, [&](size_t i) { return row.entry(i, width_); },
        [&](size_t i) { return row.count_word(i, width_); }, take));
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
  CUCKOO_TRY(visit_fresh_rows(last, [&](const Row& row) -> Status {
    if (row.number < next) {
      return {};
    }
    const auto word_at = [&row](size_t i) { return row.entries[i]; };
    CUCKOO_TRY(visit_entries(counts_among(row.entries, row.header.last_count), known,
                             row.entries.size(), word_at, word_at, take));
    known = 0;
    return {};
  }));
  return true;
}

}  // namespace cuckoo::segments
