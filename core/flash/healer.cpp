#include "core/flash/healer.hpp"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace cuckoo::core {

Status FlashHealer::heal(uint32_t suspect) {
  Survey survey;
  if (suspect != kNoBlock) {
    survey.damaged.insert(suspect);
  }
  CUCKOO_TRY(look(survey));
  if (survey.damaged.empty()) {
    return {};
  }
  CUCKOO_TRY(expect_room(survey));
  return state_.fail(give_up(survey));
}

// Returns whether all that was programmed in a block of data can be read, and its header is right.
Result<bool> FlashHealer::is_readable(uint32_t block) {
  const FlashLayout& layout = state_.layout;
  const FlashBlock state = state_.blocks.at(block);
  std::vector<std::byte> bytes(layout.bytes_of(std::max(state.used_units, kFlashHeaderUnits)));
  if (Status read = log_.read(layout.block_address(block), bytes); !read.ok()) {
    return read.error().code == ErrorCode::kCorrupt ? Result<bool>(false) : std::move(read);
  }
  const std::optional<FlashOpenHeader> opened =
      decode_open_header(block, std::span(bytes).subspan(layout.unit_bytes()));
  return opened && opened->sequence == state.sequence;
}

Status FlashHealer::look(Survey& survey) {
  const FlashLayout& layout = state_.layout;
  survey.live.resize(state_.blocks.touched());
  for (uint32_t block = 0; block < state_.blocks.touched(); ++block) {
    if (state_.blocks.kind(block) == FlashBlockKind::kData) {
      CUCKOO_ASSIGN_OR_RETURN(const bool readable, is_readable(block));
      if (!readable) {
        survey.damaged.insert(block);
      }
    }
  }
  std::unordered_set<uint64_t> heads;  // LSNs of values that have parts
  std::vector<Part> parts;
  CUCKOO_ASSIGN_OR_RETURN(const FlashIndexEntries entries, state_.index.by_position());
  for (const auto& [position, hash] : entries) {
    if (state_.is_lost(position)) {
      continue;
    }
    const uint32_t block = layout.locate(position).block;
    FlashLoadedRecord record;
    Status loaded = log_.load(position, record);
    if (!loaded.ok()) {
      loaded = log_.load(position, record);  // a read may fail once
    }
    if (!loaded.ok() && loaded.error().code == ErrorCode::kCorrupt) {
      survey.damaged.insert(block);
      continue;
    }
    CUCKOO_TRY(std::move(loaded));
    const FlashRecordHeader& header = record.header;
    const uint32_t units = header.units(layout.unit_bytes());
    survey.live[block] += units;
    if (header.type == FlashRecordType::kPart) {
      parts.push_back({position, hash, units, header.lsn});
      continue;
    }
    CUCKOO_ASSIGN_OR_RETURN(const uint64_t charged,
                            layout.charge(header.key_bytes, header.total_value_bytes));
    survey.charged += charged;
    if (header.type == FlashRecordType::kHead) {
      heads.insert(header.lsn);
    }
  }
  for (const Part& part : parts) {
    if (!heads.contains(part.lsn)) {
      survey.live[layout.locate(part.position).block] -= part.units;
      survey.orphans.push_back(part);
    }
  }
  return {};
}

Status FlashHealer::expect_room(const Survey& survey) const {
  uint64_t units = 0;
  for (const uint32_t block : survey.damaged) {
    units += survey.live[block];
  }
  const uint64_t needed = units / state_.layout.filled_units() + 2 + checkpointer_.blocks_needed();
  return state_.blocks.free_count() >= needed
             ? Status()
             : state_.full("no block can be freed to move what is sound in a damaged one");
}

Status FlashHealer::give_up(Survey& survey) {
  for (FlashStream* const stream : {&state_.now.streams.hot, &state_.now.streams.cold}) {
    if (survey.damaged.contains(stream->block)) {  // nothing may be moved there
      *stream = {kNoBlock, 0, stream->next};
    }
  }
  for (const Part& part : survey.orphans) {
    CUCKOO_ASSIGN_OR_RETURN(const FlashIndex::Fetched& fetched, state_.index.fetch(part.hash));
    state_.index.remove(fetched, part.position);
  }
  CUCKOO_TRY(move_sound(survey));
  survey.live.resize(state_.blocks.touched());
  for (uint32_t block = 0; block < state_.blocks.touched(); ++block) {
    const uint32_t noted = state_.blocks.live_units(block);
    const uint32_t live = survey.live[block];
    if (noted > live) {
      state_.blocks.remove_live(block, noted - live);
    } else if (live > noted) {
      state_.blocks.add_live(block, live - noted);
    }
  }
  state_.now.charged_units = survey.charged;
  for (const uint32_t block : survey.damaged) {
    CUCKOO_TRY(state_.give_up(block));
  }
  return checkpointer_.checkpoint();
}

// Copies what can be read in the damaged blocks to the cold stream.
Status FlashHealer::move_sound(Survey& survey) {
  const FlashLayout& layout = state_.layout;
  CUCKOO_ASSIGN_OR_RETURN(const FlashIndexEntries entries, state_.index.by_position());
  for (const auto& [from, hash] : entries) {
    const uint32_t block = layout.locate(from).block;
    FlashLoadedRecord record;
    if (!survey.damaged.contains(block) || !log_.load(from, record).ok()) {
      continue;
    }
    FlashRecordHeader header = record.header;
    CUCKOO_ASSIGN_OR_RETURN(const uint32_t to,
                            log_.append_copy(from, header, record.key, record.value));
    CUCKOO_ASSIGN_OR_RETURN(const FlashIndex::Fetched& fetched, state_.index.fetch(hash));
    state_.index.replace(fetched, from, to);
    const uint32_t units = header.units(layout.unit_bytes());
    const uint32_t target = layout.locate(to).block;
    survey.live.resize(std::max<size_t>(survey.live.size(), target + 1));
    survey.live[target] += units;
    survey.live[block] -= units;
  }
  return {};
}

}  // namespace cuckoo::core
