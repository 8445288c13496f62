#include "core/segments/log.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {
namespace {

int64_t block_of(uint64_t row) noexcept { return kFirstLogBlock + static_cast<int64_t>(row); }

void pass(Log::LastRow& last) noexcept {
  last.row.start(last.row.end(), last.row.chain());
  last.stored = false;
  ++last.number;
}

// The library compares bytes of this type one by one.
bool equal_bytes(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

// Returns whether a row begins with all of another one, which may be its older state.
bool begins_with(const LogRow& row, const LogRow& older) noexcept {
  if (row.header.chain != older.header.chain || row.header.position != older.header.position ||
      row.size() < older.size()) {
    return false;
  }
  const LogRow begin = row.first(older.size());
  return equal_bytes(begin.entries, older.entries) && equal_bytes(begin.counts, older.counts);
}

}  // namespace

void Log::start(uint64_t row, uint64_t position, uint64_t chain) noexcept {
  end_.number = row;
  end_.stored = false;
  end_.row.start(position, chain);
  fresh_ = {};  // a load's may be large
}

// --- appending -----------------------------------------------------------------------------------

// Cuts the fresh entries into rows, and visits the rows. The first is the last stored row, with as
// many fresh entries as it takes. Returns the last one.
template <class Visit>
Result<Log::LastRow> Log::visit_last_rows(Visit&& visit) const {
  LastRow last = end_;
  for (size_t at = 0;;) {
    const size_t taken = std::min(row_capacity_ - last.row.size(), fresh_.size() - at);
    last.row.append(fresh_.entries().subspan(at, taken), at, fresh_.more());
    at += taken;
    CUCKOO_TRY(visit(last));
    if (last.row.size() < row_capacity_) {  // I3
      return last;
    }
    pass(last);
  }
}

uint64_t Log::chain() const noexcept {
  uint64_t chain = end_.row.chain();
  Copies copies(fresh_.more());
  for (size_t i = 0; i < fresh_.size(); ++i) {
    chain = chain_with_entry(chain, fresh_.entries()[i], copies.of(i));
  }
  return chain;
}

// Each row gets the number of items at the end, because only the newest row's number counts.
Result<Log::LastRow> Log::write_to(const Blocks& blocks, uint64_t first, uint64_t items,
                                   uint64_t directory_version) const {
  return visit_last_rows([&](LastRow& last) -> Status {
    if (last.number < first) {
      return {};
    }
    last.row.set_numbers(items, directory_version);
    CUCKOO_TRY(blocks.write(block_of(last.number), last.row.encode(), last.stored));
    last.stored = true;
    return {};
  });
}

void Log::note_written(LastRow&& written) noexcept {
  end_ = std::move(written);
  fresh_.clear();
}

// --- reading -------------------------------------------------------------------------------------

// Takes the row after the last one, or the last one itself with more entries.
Status Log::take_row(int64_t id, const LogRow& row, const Sink& sink) {
  if (id != block_of(end_.number)) {
    if (id != block_of(end_.number + 1) || end_.row.size() != row_capacity_) {
      return corrupt("does not follow a full row");
    }
    pass(end_);
  }
  if (row.header.chain != end_.row.header().chain ||
      row.header.position != end_.row.header().position) {
    return corrupt("does not follow the row before it");
  }
  if (row.size() > row_capacity_) {
    return corrupt("of more entries than a row has");
  }
  const size_t known = end_.row.size();
  for (LogCursor at(row, known); at.next();) {
    if (!multiset_ && (at.copies() != 1 || (at.entry() & kRemoveBit) != 0)) {
      return corrupt("removes a hash from a set, or counts it");
    }
    sink(row.header.position + at.index(), at.entry(), at.copies());
  }
  end_.row.append(row, known);
  end_.stored = true;
  return {};
}

Status Log::expect_end() const {
  return end_.row.size() < row_capacity_
             ? Status()
             : in_block(block_of(end_.number) + 1, corrupt("is missing"));
}

Result<bool> Log::follow(const Blocks& blocks, LogHeader& newest, const Sink& sink) {
  bool first = true;
  bool same_history = true;
  const int64_t from = block_of(end_.number);
  CUCKOO_TRY(blocks.read(
      from, kLastLogBlock, [&](int64_t id, std::span<const std::byte> content) -> Status {
        CUCKOO_ASSIGN_OR_RETURN(const LogRow row, parse_log_row(content, end_.row.width()));
        if (first) {
          first = false;
          same_history = id == from && begins_with(row, end_.row.row());
        }
        return same_history ? take_row(id, row, sink) : Status();
      }));
  if (first || !same_history) {
    return false;
  }
  CUCKOO_TRY(expect_end());
  newest = end_.row.header();
  return true;
}

Status Log::read(const Blocks& blocks, uint64_t row, uint64_t position, LogHeader& newest,
                 const Sink& sink) {
  bool first = true;
  const int64_t from = block_of(row);
  CUCKOO_TRY(blocks.read(
      from, kLastLogBlock, [&](int64_t id, std::span<const std::byte> content) -> Status {
        CUCKOO_ASSIGN_OR_RETURN(const LogRow parsed, parse_log_row(content, end_.row.width()));
        if (first) {
          first = false;
          if (id != from || parsed.header.position != position) {
            return corrupt("is not where the log begins");
          }
          start(row, position, parsed.header.chain);
        }
        if (end_.row.end() - position > kMostEntries) {
          return corrupt("of a log of more entries than one ever has");
        }
        CUCKOO_TRY(take_row(id, parsed, sink));
        return blocks.poll();
      }));
  if (first) {
    return in_block(from, corrupt("is missing"));
  }
  CUCKOO_TRY(expect_end());
  newest = end_.row.header();
  return {};
}

// All rows except the last one are full, so a position says in which row it is.
Result<bool> Log::entries_behind(const Blocks& blocks, uint64_t first_row, uint64_t first_position,
                                 const LogPlace& place, EntryList& found) const {
  if (place.position < first_position || place.position > position()) {
    return false;
  }
  uint64_t next = first_row + (place.position - first_position) / row_capacity_;
  auto known = static_cast<size_t>((place.position - first_position) % row_capacity_);
  bool there = false;  // the place
  uint64_t chain = 0;  // before the row `next`, once that is
  // Takes the row `next`. The first one must have the place.
  const auto take = [&](const LogRow& row) {
    there = there || row.first(std::min(known, row.size())).chain_after() == place.chain;
    if (!there) {
      return;
    }
    for (LogCursor at(row, known); at.next();) {
      found.append(at.entry(), at.copies());
    }
    known = 0;
    chain = row.chain_after();
    ++next;
  };
  const auto take_stored = [&](int64_t id, std::span<const std::byte> content) -> Status {
    CUCKOO_ASSIGN_OR_RETURN(const LogRow row, parse_log_row(content, end_.row.width()));
    if (id != block_of(next) || row.size() != row_capacity_ ||
        row.header.position != first_position + (next - first_row) * row_capacity_ ||
        (there && row.header.chain != chain)) {
      return corrupt("is not a full row that follows the row before it");
    }
    take(row);
    return blocks.poll();
  };
  if (next < end_.number) {
    CUCKOO_TRY(blocks.read_one(block_of(next), take_stored));
    if (!there) {
      return false;
    }
    CUCKOO_TRY(next < end_.number
                   ? blocks.read(block_of(next), block_of(end_.number) - 1, take_stored)
                   : Status());
    if (next != end_.number || chain != end_.row.header().chain) {
      return in_block(block_of(next), corrupt("is missing"));
    }
  }
  CUCKOO_TRY(visit_last_rows([&](const LastRow& row) {
               if (row.number == next) {
                 take(row.row.row());
               }
               return Status();
             }).take_status());
  return there;
}

}  // namespace cuckoo::segments
