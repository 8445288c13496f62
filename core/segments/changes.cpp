#include "core/segments/changes.hpp"

#include <algorithm>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/segments/log_row.hpp"
#include "core/segments/message_header.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {
namespace {

constexpr size_t kOccurrencesAt = 4;  // of a count

Status decode_entries(std::span<const std::byte> entries, std::span<const std::byte> counts,
                      FilterChanges& changes) {
  const HashWidth width = changes.from.width;
  const bool multiset = is_multiset(changes.from.kind);
  if (!multiset && !counts.empty()) {
    return corrupt("changes of a set with a hash that is not added once");
  }
  const size_t entry_bytes = log_entry_bytes(width);
  changes.entries.reserve(entries.size() / entry_bytes);
  for (size_t at = 0; at < entries.size(); at += entry_bytes) {
    uint64_t copies = 1;
    if (!counts.empty() && load_le<uint32_t>(counts.data()) == changes.entries.size()) {
      copies = load_le<uint32_t>(&counts[kOccurrencesAt]);
      counts = counts.subspan(kCountOfEntryBytes);
      if (copies < 2 || copies > kMostCopies) {
        return corrupt("changes with an entry of " + std::to_string(copies) +
                       " occurrences, expected 2 to 2^31");
      }
    }
    const uint64_t entry = load_log_entry(&entries[at], width);
    if (!multiset && (entry & kRemoveBit) != 0) {
      return corrupt("changes of a set with a hash that is not added once");
    }
    changes.entries.append(entry, copies);
  }
  return counts.empty() ? Status() : corrupt("changes with counts that do not ascend");
}

// Keeps I2. Entries that are not those of the log must at least be no more than these.
Status check_entries(const FilterChanges& changes) {
  const uint64_t positions = changes.to.position - changes.from.position;
  uint64_t chain = changes.from.chain;
  Copies copies(changes.entries.more());
  uint64_t last = 0;
  bool ascend = true;
  for (size_t i = 0; i < changes.entries.size(); ++i) {
    const uint64_t entry = changes.entries[i];
    chain = chain_with_entry(chain, entry, copies.of(i));
    ascend = ascend && entry >= last && (entry & kRemoveBit) == 0;
    last = entry;
  }
  const bool fits = changes.whole
                        ? ascend && changes.entries.size() <= positions
                        : changes.entries.size() == positions && chain == changes.to.chain;
  return changes.from.position <= changes.to.position && fits
             ? Status()
             : corrupt("changes that do not lead from their first mark to their second one");
}

}  // namespace

MessageHeader header_of(const FilterChanges& changes) {
  MessageHeader header;
  header.spec = changes.spec;
  header.spec.kind = changes.to.kind;
  header.spec.rate = changes.spec.has_own_size() ? 0 : changes.spec.rate;
  header.width = changes.to.width;
  header.seed = changes.to.seed;
  header.capacity = changes.capacity;
  header.items = changes.items;
  header.unique = changes.unique;
  header.keys = changes.keys;
  header.key_types = changes.key_types;
  header.mark = changes.to;
  header.from = changes.from;
  header.whole = changes.whole;
  header.entries = changes.entries.size();
  header.counts = changes.entries.more().size();
  return header;
}

FilterChanges changes_of(const MessageHeader& header) {
  FilterChanges changes;
  changes.from = header.from.value_or(FilterMark());
  changes.to = header.mark.value_or(FilterMark());
  changes.unique = header.unique;
  changes.whole = header.whole;
  changes.items = header.items;
  changes.keys = header.keys;
  changes.key_types = header.key_types;
  changes.spec = header.spec;
  changes.capacity = header.capacity;
  return changes;
}

std::vector<std::byte> encode_entries(const EntryList& entries, HashWidth width) {
  std::vector<std::byte> bytes;
  put_log_entries(entries.entries(), width, bytes);
  for (const MoreCopies& one : entries.more()) {
    std::byte count[kCountOfEntryBytes];
    store_le(&count[0], static_cast<uint32_t>(one.at));
    store_le(&count[kOccurrencesAt], static_cast<uint32_t>(1 + one.more));
    bytes.insert(bytes.end(), std::begin(count), std::end(count));
  }
  return bytes;
}

Result<std::vector<std::byte>> encode_changes(const FilterChanges& changes, uint64_t limit) {
  return encode_image(header_of(changes), changes.pieces, limit,
                      encode_entries(changes.entries, changes.from.width));
}

Result<FilterChanges> decode_changes(const MessageBytes& bytes, uint32_t page_bytes,
                                     const Poll& poll) {
  CUCKOO_ASSIGN_OR_RETURN(const MessageHeader header, decode_changes_header(bytes));
  CUCKOO_ASSIGN_OR_RETURN(const std::vector<std::byte> list, read_entries(header, bytes, poll));
  FilterChanges changes = changes_of(header);
  const size_t counts_at = header.entries * log_entry_bytes(header.width);
  CUCKOO_TRY(decode_entries(std::span(list).first(counts_at), std::span(list).subspan(counts_at),
                            changes));
  CUCKOO_TRY(check_entries(changes));
  if (header.pieces > 0) {
    changes.pieces = [bytes, page_bytes, poll](const PieceSink& sink) {
      return read_changed_pieces(bytes, page_bytes, sink, poll);
    };
  }
  return changes;
}

}  // namespace cuckoo::segments
