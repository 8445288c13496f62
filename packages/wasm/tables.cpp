// What docs/playground/ draws of tables themselves: which segments a filter has, and which slots of
// a flash_kv's index hold what. Both are read, never changed. A table is named as in SQL.
//
// Answers are as packages/wasm/answer.hpp says.
#include <emscripten.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/segments/filter_blocks.hpp"
#include "core/segments/segment_limits.hpp"
#include "ext/filter/live_filter.hpp"
#include "ext/flash/live_flash.hpp"
#include "ext/sqlite/error.hpp"
#include "ext/table/connection.hpp"
#include "packages/wasm/answer.hpp"
#include "sqlite3.h"

namespace cuckoo {
namespace {

// Calls text(table) with the table of that name, and answers what it returns.
template <class Live, class ToText>
const char* answer_of(sqlite3* db, const char* name, const ToText& text) {
  const std::shared_ptr<Connection> connection = Connection::of(db);
  if (connection == nullptr) {
    return refusal(invalid("this connection has no such tables"));
  }
  try {
    const auto table = connection->find<Live>(name);
    const Result<std::string> result = text(*table);
    return result.ok() ? answer(result.value()) : refusal(result.error());
  } catch (const SqlError& error) {
    return refusal(invalid(error.message()));
  } catch (const std::bad_alloc&) {
    return refusal(invalid("out of memory"));
  }
}

std::string field(const char* name, uint64_t value) {
  return std::string(",\"") + name + "\":" + std::to_string(value);
}

std::string segment_text(const segments::Directory::Leaf& leaf) {
  const segments::SegmentHeader& header = leaf.current();
  // The prefix as a number of `depth` bits.
  const uint64_t prefix = leaf.depth == 0 ? 0 : leaf.prefix >> (64 - leaf.depth);
  return "{\"prefix\":" + std::to_string(prefix) + field("depth", leaf.depth) +
         field("number", header.number) + field("capacity", header.capacity) +
         field("items", header.items) + field("overflow", header.overflow_items) +
         field("run_entries", header.run_entries) + field("pending", leaf.pending.size()) +
         field("from", leaf.pending.empty() ? 0 : leaf.first_pending) + "}";
}

// Read from the shadow table, as a connection that opens the filter reads them.
Result<std::string> segments_text(LiveFilter& table) {
  const FilterOptions options = table.filter().options();
  segments::FilterBlocks blocks(options, segments::Blocks(table.store(), options.block_seed()));
  CUCKOO_TRY(blocks.follow(false));
  const segments::Directory& directory = blocks.directory();
  std::vector<size_t> leaves;
  for (size_t leaf = 0; leaf < directory.size(); ++leaf) {
    leaves.push_back(leaf);
  }
  return "{\"segments\":" +
         list(leaves, [&](size_t leaf) { return segment_text(directory.leaf(leaf)); }) +
         field("most_keys", blocks.limits().keys) + field("turn", blocks.turn_entries()) +
         field("pending", directory.pending_entries()) +
         field("position", blocks.log().position()) + "}";
}

std::string index_text(const SlotCache& cache) {
  std::string slots;
  for (uint64_t slot = 0; slot < cache.slots(); ++slot) {
    const SlotCache::Entry entry = cache.at(slot);
    slots += (slots.empty() ? "[" : ",[") + std::to_string(entry.hash) + "," +
             std::to_string(entry.position) + "]";
  }
  return "{\"ways\":" + std::to_string(cache.options().ways) +
         field("hashes", cache.options().hashes) + field("stash", cache.stash_size()) +
         field("moves", cache.relocations()) + field("expansions", cache.expansions()) +
         ",\"load\":" + number(cache.load_factor()) + ",\"slots\":[" + slots + "]}";
}

// Of the block of data to collect next, there may be none, and of each block.
std::string blocks_text(const FlashStore& store) {
  const FlashBlocks& blocks = store.blocks();
  const FlashGeometry& geometry = store.geometry();
  std::vector<uint32_t> numbers(geometry.blocks);
  std::iota(numbers.begin(), numbers.end(), 0U);
  const uint32_t victim =
      blocks.pick_victim(store.streams(), geometry.units_per_block(), store.next_lsn());
  return "{\"victim\":" + (victim == kNoBlock ? "-1" : std::to_string(victim)) +
         field("unit", geometry.program_unit_bytes) +
         field("room", geometry.units_per_block() - kFlashHeaderUnits) + ",\"blocks\":" +
         list(numbers,
              [&](uint32_t number) {
                const FlashBlock block = blocks.at(number);
                const bool open =
                    store.streams().write_to(number) || blocks.in_tail(number, store.streams());
                return "{\"data\":" + std::string(block.kind == FlashBlockKind::kData ? "1" : "0") +
                       field("open", open ? 1 : 0) + field("erases", block.erase_count) +
                       field("live", block.live_units) +
                       field("age", store.next_lsn() - block.newest_lsn + 1) + "}";
              }) +
         "}";
}

Result<std::string> key_text(LiveFlash& table, std::string_view key) {
  constexpr std::byte kText{3};  // docs/FORMAT.md, "The tables of a flash_kv"
  std::vector<std::byte> bytes{kText};
  for (const char letter : key) {
    bytes.push_back(static_cast<std::byte>(letter));
  }
  FlashStore& store = table.flash();
  const HashedKey hashed = store.hashed(bytes);
  std::vector<uint64_t> buckets;
  for (const uint32_t bucket : store.index().own().buckets_of(hashed.hash)) {
    buckets.push_back(bucket);
  }
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<FlashEntry> entry, store.find(hashed));
  return "{\"hash\":" + std::to_string(hashed.hash) + ",\"buckets\":" + list(buckets) +
         field("position", entry ? entry->position : 0) +
         field("sector", entry ? static_cast<uint64_t>(table.sector_of(*entry)) : 0) + "}";
}

}  // namespace

extern "C" {

// {"segments": [{"prefix", of "depth" bits, "number", "capacity", "items" and "overflow" of what is
// folded, "run_entries", "pending"}, …], "most_keys" of a segment that can be split, "turn": after
// so many entries a segment is folded, "pending" of all, "position" of the log's end}. "from": the
// position in the log of the oldest entry that pends.
EMSCRIPTEN_KEEPALIVE const char* filter_segments(sqlite3* db, const char* name) {
  return answer_of<LiveFilter>(db, name, segments_text);
}

// {"slots": [[hash, position], …], "ways" of them in a bucket, "hashes", "stash", "moves",
// "expansions", "load"}: of a table that was made by this connection, and has no roll-back behind
// it. Position 0: the slot is empty.
EMSCRIPTEN_KEEPALIVE const char* flash_index(sqlite3* db, const char* name) {
  return answer_of<LiveFlash>(db, name, [](LiveFlash& table) -> Result<std::string> {
    return index_text(table.flash().index().own());
  });
}

// {"victim": the block that would be collected now, or -1, "unit": bytes, "room": units of a block
// for records, "blocks": [{"data" is in it, a stream or the tail has it "open", "erases", "live"
// units, "age" of its newest record in log sequence numbers}, …]}
EMSCRIPTEN_KEEPALIVE const char* flash_blocks(sqlite3* db, const char* name) {
  return answer_of<LiveFlash>(
      db, name, [](LiveFlash& table) -> Result<std::string> { return blocks_text(table.flash()); });
}

// {"hash" of a text as a key, its "buckets", "position" and "sector" of its record}; position 0: it
// is not there.
EMSCRIPTEN_KEEPALIVE const char* flash_key(sqlite3* db, const char* name, const char* key) {
  return answer_of<LiveFlash>(db, name, [&](LiveFlash& table) { return key_text(table, key); });
}

}  // extern "C"

}  // namespace cuckoo
