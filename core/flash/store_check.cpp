// FlashStore::check(): every invariant, by reading the whole device.
#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>

#include "core/flash/checkpoint.hpp"
#include "core/flash/store.hpp"

namespace cuckoo {

std::string FlashStore::difference_to(const FlashStore& other) const {
  const auto differ = [](const char* what, uint64_t a, uint64_t b) {
    return std::string(what)
        .append(" ")
        .append(std::to_string(a))
        .append(" and ")
        .append(std::to_string(b));
  };
  const State& a = s_;
  const State& b = other.s_;
  for (const auto& [what, one, two] :
       {std::tuple("next seq", a.next_lsn, b.next_lsn), std::tuple("entries", a.heads, b.heads),
        std::tuple("charged units", a.charged_units, b.charged_units),
        std::tuple("checkpoint", a.checkpoint_id, b.checkpoint_id),
        std::tuple("bytes of the tail", a.tail_read_bytes, b.tail_read_bytes),
        std::tuple("state", a.state, b.state)}) {
    if (one != two) {
      return differ(what, one, two);
    }
  }
  if (a.checkpoint_blocks != b.checkpoint_blocks) {
    return "blocks of the checkpoint";
  }
  if (s_.streams != other.s_.streams) {
    return "streams";
  }
  for (uint32_t block = 0; block < std::max(blocks_.touched(), other.blocks_.touched()); ++block) {
    if (blocks_.at(block) != other.blocks_.at(block)) {
      return "erase block " + std::to_string(block);
    }
  }
  std::vector<uint64_t> slots[2];
  for (const FlashStore* store : {this, &other}) {
    store->index_.for_each([&](uint32_t hash, uint32_t position) {
      slots[store == this ? 0 : 1].push_back(uint64_t{hash} << 32 | position);
    });
  }
  std::ranges::sort(slots[0]);
  std::ranges::sort(slots[1]);
  return slots[0] == slots[1] ? "" : "index";
}

Status FlashStore::check(const std::function<Status()>& poll) {
  if (!mounted_ || poisoned_) {
    return invalid("the store is not mounted");
  }
  CUCKOO_TRY(index_.check());
  CUCKOO_TRY(blocks_.check());
  CUCKOO_TRY(check_uses());
  struct Slot {
    uint32_t position, hash;
  };
  std::vector<Slot> slots;
  slots.reserve(index_.size());
  index_.for_each([&](uint32_t hash, uint32_t position) { slots.push_back({position, hash}); });
  std::ranges::sort(slots, {}, &Slot::position);

  std::vector<uint32_t> live(blocks_.touched());
  uint64_t heads = 0;
  uint64_t charged = 0;
  uint64_t part_bytes = 0;
  uint64_t part_bytes_expected = 0;
  std::unordered_multimap<uint32_t, std::vector<std::byte>> keys;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (i % 256 == 0) {
      CUCKOO_TRY(poll());
    }
    const auto [position, hash] = slots[i];
    const auto wrong = [&, at = position](const std::string& what) {
      return corrupt("the record at unit " + std::to_string(at) + " " + what);
    };
    const auto [block, offset] = locate(position);
    if (block >= blocks_.touched() || blocks_.at(block).kind != FlashBlockKind::kData ||
        offset < kFlashHeaderUnits || offset >= blocks_.at(block).used_units) {
      return wrong("lies where no record can be (I5)");
    }
    Record record;
    CUCKOO_TRY(load(position, record));
    const FlashRecordHeader header = record.header;
    live[block] += header.units(unit_bytes());
    if (header.lsn >= s_.next_lsn) {
      return wrong("has seq " + std::to_string(header.lsn) + ", the next is " +
                   std::to_string(s_.next_lsn));
    }
    if (header.type == FlashRecordType::kPart) {
      if (hash != index_.part_hash(header.lsn, header.offset())) {
        return wrong("has another hash than its slot (I5)");
      }
      part_bytes += header.value_bytes;
      continue;
    }
    if (!header.is_entry() || hash != index_.hash_of(record.key)) {
      return wrong("has another hash than its slot (I5)");
    }
    const auto [first, last] = keys.equal_range(hash);
    for (auto other = first; other != last; ++other) {
      if (std::ranges::equal(other->second, record.key)) {
        return wrong("is the second head of its key (I5)");
      }
    }
    keys.emplace(hash, std::vector<std::byte>(record.key.begin(), record.key.end()));
    ++heads;
    const Result<uint64_t> charge_of_it = charge(header.key_bytes, header.total_value_bytes);
    if (!charge_of_it.ok()) {
      return wrong("has impossible lengths");
    }
    charged += charge_of_it.value();
    std::vector<std::byte> value;
    part_bytes_expected += header.total_value_bytes - header.value_bytes;
    CUCKOO_TRY(read_value({header.lsn, position, header.total_value_bytes}, record, value));
  }
  if (heads != s_.heads || charged != s_.charged_units || part_bytes != part_bytes_expected) {
    return corrupt("counted " + std::to_string(heads) + " entries charged " +
                   std::to_string(charged) + " units, noted are " + std::to_string(s_.heads) +
                   " and " + std::to_string(s_.charged_units));
  }
  for (uint32_t block = 0; block < blocks_.touched(); ++block) {
    if (live[block] != blocks_.at(block).live_units) {
      return corrupt("erase block " + std::to_string(block) + " has " +
                     std::to_string(live[block]) + " live units, noted are " +
                     std::to_string(blocks_.at(block).live_units) + " (I5)");
    }
  }
  if (charged > usable_units() && blocks_.bad_count() == 0) {
    return corrupt("more is charged than is usable (I6)");
  }
  CUCKOO_TRY(poll());
  CUCKOO_TRY(check_mount());
  return poll();
}

// I1, where a mount writes nothing.
Status FlashStore::check_mount() const {
  if (!options_.atomic_device) {
    return {};
  }
  FlashStore mounted(device_, options_);
  CUCKOO_TRY(mounted.mount());
  const std::string difference = difference_to(mounted);
  return difference.empty() ? Status()
                            : corrupt("a mount gives another state: " + difference + " (I1)");
}

// I7
Status FlashStore::check_uses() const {
  const auto wrong = [](uint32_t block, const char* what) {
    return corrupt("erase block " + std::to_string(block) + " is not " + what + " (I7)");
  };
  for (const FlashStream* stream : {&s_.streams.hot, &s_.streams.cold}) {
    const FlashBlock state = blocks_.at(stream->block);
    if (stream->block != kNoBlock &&
        (state.kind != FlashBlockKind::kData || state.used_units != stream->offset)) {
      return wrong(stream->block, "one of data that ends where its stream does");
    }
    if (stream->next != kNoBlock && blocks_.at(stream->next).kind != FlashBlockKind::kReserved) {
      return wrong(stream->next, "reserved, but a stream names it as its next");
    }
  }
  for (uint32_t block = 0; block < blocks_.touched(); ++block) {
    if (blocks_.at(block).kind == FlashBlockKind::kReserved && block != s_.streams.hot.next &&
        block != s_.streams.cold.next) {
      return wrong(block, "a stream's next, but reserved");
    }
  }
  for (const uint32_t block : s_.checkpoint_blocks) {
    if (blocks_.at(block).kind != FlashBlockKind::kCheckpoint) {
      return wrong(block, "one of the checkpoint");
    }
  }
  const uint32_t anchor = s_.streams.anchor.block;
  if (anchor != kNoBlock && blocks_.at(anchor).kind != FlashBlockKind::kAnchor) {
    return wrong(anchor, "one of anchors");
  }
  return {};
}

}  // namespace cuckoo
