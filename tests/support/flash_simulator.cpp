#include "tests/support/flash_simulator.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "core/base/mix.hpp"
#include "core/flash/record.hpp"

namespace cuckoo {
namespace {

constexpr std::byte kErased{0xFF};

Error power_is_cut() { return {ErrorCode::kStorage, "power is cut"}; }

Error flash_failure(const char* what, uint32_t block) {
  return {ErrorCode::kFlashFailure, std::string(what) + " of block " + std::to_string(block)};
}

// The bits a program clears, a byte at a time.
std::vector<std::byte> bits_to_clear(std::span<const std::byte> stored,
                                     std::span<const std::byte> programmed) {
  std::vector<std::byte> bits(stored.size());
  for (size_t i = 0; i < bits.size(); ++i) {
    bits[i] = stored[i] & ~programmed[i];
  }
  return bits;
}

std::vector<std::byte> bits_to_set(std::span<const std::byte> stored) {
  std::vector<std::byte> bits(stored.size());
  std::transform(stored.begin(), stored.end(), bits.begin(), [](std::byte b) { return ~b; });
  return bits;
}

}  // namespace

const char* name_of(CutMode mode) noexcept {
  constexpr std::array kNames{"nothing", "prefix", "subset", "complete", "marginal", "weak"};
  static_assert(kNames.size() == kCutModes.size());
  return kNames[static_cast<size_t>(mode)];
}

const char* name_of(WearFailure failure) noexcept {
  constexpr std::array kNames{"program_error", "erase_error", "read_error", "silent_program",
                              "silent_erase"};
  static_assert(kNames.size() == kWearFailures.size());
  return kNames[static_cast<size_t>(failure)];
}

FlashSimulator::FlashSimulator(const FlashGeometry& geometry, uint64_t seed) : geometry_(geometry) {
  auto blank = std::make_shared<Block>();
  blank->bytes.assign(geometry.block_bytes(), kErased);
  blank->endurance = geometry.endurance_erases;
  state_.blocks.assign(geometry.blocks, blank);
  state_.random = seed;
}

// ---- the device

Status FlashSimulator::read(uint64_t address, std::span<std::byte> out) {
  if (!state_.powered) {
    return power_is_cut();
  }
  const uint64_t size = geometry_.size_bytes();
  if (address > size || out.size() > size - address) {
    return violation("read of " + std::to_string(out.size()) + " bytes at " +
                     std::to_string(address) + ", expected at most " + std::to_string(size));
  }
  ++state_.counters.read_calls;
  state_.counters.read_bytes += out.size();
  const uint32_t block_bytes = geometry_.block_bytes();
  for (size_t done = 0; done < out.size();) {
    const auto number = static_cast<uint32_t>((address + done) / block_bytes);
    const uint64_t offset = (address + done) % block_bytes;
    const size_t length = std::min<size_t>(out.size() - done, block_bytes - offset);
    const Block& block = *state_.blocks[number];
    if (fails(block, WearFailure::kReadError)) {
      return flash_failure("read", number);
    }
    std::memcpy(out.data() + done, block.bytes.data() + offset, length);
    if (!block.weak.empty()) {
      for (size_t i = 0; i < length; ++i) {
        if (const std::byte weak = block.weak[offset + i]; weak != std::byte{0}) {
          out[done + i] ^= weak & static_cast<std::byte>(random());
        }
      }
    }
    done += length;
  }
  flip_one(out);
  return {};
}

Status FlashSimulator::program(uint64_t address, std::span<const std::byte> units) {
  if (!state_.powered) {
    return power_is_cut();
  }
  CUCKOO_TRY(check_program(address, units.size()));
  ++state_.counters.program_calls;
  const uint32_t unit_bytes = geometry_.program_unit_bytes;
  const auto block = static_cast<uint32_t>(address / geometry_.block_bytes());
  auto unit = static_cast<uint32_t>(address % geometry_.block_bytes() / unit_bytes);
  for (size_t at = 0; at < units.size(); at += unit_bytes, ++unit) {
    CUCKOO_TRY(program_unit(block, unit, units.subspan(at, unit_bytes)));
  }
  return {};
}

Status FlashSimulator::check_program(uint64_t address, size_t size) {
  const uint32_t unit_bytes = geometry_.program_unit_bytes;
  const auto refused = [&](const std::string& why) {
    return violation("program of " + std::to_string(size) + " bytes at " + std::to_string(address) +
                     why);
  };
  if (address % unit_bytes != 0 || size % unit_bytes != 0 || size == 0) {
    return refused(", expected whole units of " + std::to_string(unit_bytes) + " bytes");
  }
  const uint64_t offset = address % geometry_.block_bytes();
  if (address >= geometry_.size_bytes() || size > geometry_.block_bytes() - offset) {
    return refused(", expected all of it in one block of the device");
  }
  const Block& block = *state_.blocks[address / geometry_.block_bytes()];
  if (block.bad) {
    return {};  // it will fail
  }
  if (block.half_erased) {
    return refused(", in a block whose last erase was cut off or failed");
  }
  if (offset / unit_bytes < block.next_unit) {
    return refused(", unit " + std::to_string(offset / unit_bytes) + " of its block, expected " +
                   std::to_string(block.next_unit) + " or later");
  }
  return {};
}

Status FlashSimulator::program_unit(uint32_t block, uint32_t unit,
                                    std::span<const std::byte> bytes) {
  ++state_.counters.programmed_units;
  state_.counters.programmed_bytes += bytes.size();
  const bool cut = begin_step();
  Block& edited = edit(block);
  const uint64_t offset = uint64_t{unit} * bytes.size();
  std::byte* const stored = edited.bytes.data() + offset;
  const bool silent = edited.bad || fails(edited, WearFailure::kSilentProgram);
  if (cut) {
    if (state_.cut_mode != CutMode::kNothing && !silent) {
      edited.next_unit = unit + 1;
      change(block, offset, bits_to_clear({stored, bytes.size()}, bytes), state_.cut_mode);
    }
    return power_is_cut();
  }
  edited.next_unit = unit + 1;
  if (edited.bad) {
    return flash_failure("program", block);
  }
  if (fails(edited, WearFailure::kProgramError)) {
    change(block, offset, bits_to_clear({stored, bytes.size()}, bytes), failing_mode());
    return flash_failure("program", block);
  }
  if (!silent) {
    std::transform(stored, stored + bytes.size(), bytes.begin(), stored, std::bit_and<>());
  }
  return {};
}

Status FlashSimulator::erase(uint32_t block) {
  if (!state_.powered) {
    return power_is_cut();
  }
  if (block >= geometry_.blocks) {
    return violation("erase of block " + std::to_string(block) + ", expected less than " +
                     std::to_string(geometry_.blocks));
  }
  ++state_.counters.erases;
  const bool cut = begin_step();
  if (cut && state_.cut_mode == CutMode::kNothing) {
    return power_is_cut();
  }
  Block& edited = edit(block);
  const bool failing = fails(edited, WearFailure::kEraseError);
  const bool silent = fails(edited, WearFailure::kSilentErase);
  ++edited.erases;
  if (edited.bad) {
    return cut ? power_is_cut() : flash_failure("erase", block);
  }
  const CutMode mode = cut ? state_.cut_mode : failing ? failing_mode() : CutMode::kComplete;
  if (!silent) {
    clear_block(block, mode);
  } else if (is_erased(edited.bytes)) {
    forget_fading(block);
  }
  edited.half_erased = failing || (cut && mode != CutMode::kComplete);
  edited.next_unit = 0;
  if (cut) {
    return power_is_cut();
  }
  return failing ? Status(flash_failure("erase", block)) : Status();
}

void FlashSimulator::forget_fading(uint32_t block) {
  std::erase_if(state_.fading, [&](const Fading& fading) { return fading.block == block; });
}

void FlashSimulator::clear_block(uint32_t block, CutMode mode) {
  Block& edited = edit(block);
  if (mode == CutMode::kComplete || mode == CutMode::kMarginal) {  // all FF when read
    edited.weak.clear();
    forget_fading(block);
  }
  if (mode == CutMode::kComplete) {
    std::fill(edited.bytes.begin(), edited.bytes.end(), kErased);
  } else {
    change(block, 0, bits_to_set(edited.bytes), mode);
  }
}

// ---- faults

void FlashSimulator::set_endurance(uint32_t block, uint32_t erases) {
  edit(block).endurance = erases;
}

void FlashSimulator::set_endurance(uint32_t erases) {
  for (uint32_t block = 0; block < geometry_.blocks; ++block) {
    set_endurance(block, erases);
  }
}

void FlashSimulator::set_bad(uint32_t block) {
  Block& edited = edit(block);
  edited.bad = true;
  std::generate(edited.bytes.begin(), edited.bytes.end(),
                [this] { return static_cast<std::byte>(random()); });
}

void FlashSimulator::flip_reads(uint64_t first, uint64_t every, uint64_t count) noexcept {
  state_.reads_to_flip = first;
  state_.flip_every = every;
  state_.flips_left = count;
}

void FlashSimulator::flip_stored(uint64_t address, unsigned bit) {
  const uint32_t block_bytes = geometry_.block_bytes();
  edit(static_cast<uint32_t>(address / block_bytes)).bytes[address % block_bytes] ^= std::byte{1}
                                                                                     << bit;
}

void FlashSimulator::cut_after(uint64_t n, CutMode mode, uint64_t seed) noexcept {
  state_.steps_to_cut = n;
  state_.cut_mode = mode;
  state_.cut_seed = seed;
}

void FlashSimulator::power_on() {
  state_.powered = true;
  state_.steps_to_cut = 0;
  for (Fading& fading : state_.fading) {
    if (--fading.power_ons == 0) {
      make_weak(edit(fading.block), fading.offset, fading.mask);
    }
  }
  std::erase_if(state_.fading, [](const Fading& fading) { return fading.power_ons == 0; });
}

void FlashSimulator::fade() {
  for (const Fading& fading : state_.fading) {
    make_weak(edit(fading.block), fading.offset, fading.mask);
  }
  state_.fading.clear();
}

void FlashSimulator::plant(uint64_t address, std::span<const std::byte> bytes) {
  const uint32_t block_bytes = geometry_.block_bytes();
  const uint32_t unit_bytes = geometry_.program_unit_bytes;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto number = static_cast<uint32_t>((address + i) / block_bytes);
    const auto offset = static_cast<uint32_t>((address + i) % block_bytes);
    if (bytes[i] == state_.blocks[number]->bytes[offset]) {
      continue;
    }
    Block& block = edit(number);
    block.bytes[offset] = bytes[i];
    if (bytes[i] != kErased) {
      block.next_unit = std::max(block.next_unit, offset / unit_bytes + 1);
    }
  }
}

bool FlashSimulator::worn_out(uint32_t block) const {
  return state_.blocks[block]->erases >= state_.blocks[block]->endurance;
}

// ---- how it is done

uint64_t FlashSimulator::random() noexcept {
  state_.random += 0x9E3779B97F4A7C15;
  return mix64(state_.random);
}

FlashSimulator::Block& FlashSimulator::edit(uint32_t block) {
  std::shared_ptr<Block>& owned = state_.blocks[block];
  if (owned.use_count() > 1) {
    owned = std::make_shared<Block>(*owned);
  }
  return *owned;
}

Error FlashSimulator::violation(std::string text) {
  violations_.push_back(text);
  return invalid(std::move(text));
}

bool FlashSimulator::fails(const Block& block, WearFailure failure) const noexcept {
  return block.erases >= block.endurance && state_.wear_failure == failure;
}

// Whether this step is the one that is torn. Counts it down.
bool FlashSimulator::begin_step() noexcept {
  if (state_.steps_to_cut == 0 || --state_.steps_to_cut > 0) {
    return false;
  }
  state_.powered = false;
  state_.random = state_.cut_seed;
  return true;
}

// What of `bits` changes sides in the block, and what of it gets weak.
void FlashSimulator::change(uint32_t block, uint64_t offset, std::span<const std::byte> bits,
                            CutMode mode) {
  std::vector<std::byte> changed(bits.size());
  switch (mode) {
    case CutMode::kNothing:
      return;
    case CutMode::kPrefix:
      changed = prefix(bits);
      break;
    case CutMode::kSubset:
      changed = subset(bits);
      break;
    case CutMode::kMarginal:
      state_.fading.push_back({block, offset, {bits.begin(), bits.end()}, 2});
      [[fallthrough]];
    case CutMode::kComplete:
      changed.assign(bits.begin(), bits.end());
      break;
    case CutMode::kWeak:
      make_weak(edit(block), offset, subset(bits));
      if (random() % 2 == 0) {
        changed.assign(bits.begin(), bits.end());
      }
      break;
  }
  std::byte* const at = edit(block).bytes.data() + offset;
  for (size_t i = 0; i < changed.size(); ++i) {
    at[i] ^= changed[i];
  }
}

void FlashSimulator::make_weak(Block& block, uint64_t offset, std::span<const std::byte> bits) {
  block.weak.resize(block.bytes.size());
  for (size_t i = 0; i < bits.size(); ++i) {
    block.weak[offset + i] |= bits[i];
  }
}

// An eighth, a half or seven eighths of the bits: a record that is almost whole is as hard a case
// as one that has hardly begun.
std::vector<std::byte> FlashSimulator::subset(std::span<const std::byte> bits) {
  const uint64_t density = random_below(3);
  std::vector<std::byte> chosen(bits.size());
  for (size_t i = 0; i < bits.size(); ++i) {
    const uint64_t word = random();
    const uint64_t three = (word >> 8) & (word >> 16) & (word >> 24);
    const uint64_t mask = density == 0 ? three : density == 1 ? word : ~three;
    chosen[i] = bits[i] & static_cast<std::byte>(mask);
  }
  return chosen;
}

std::vector<std::byte> FlashSimulator::prefix(std::span<const std::byte> bits) {
  const uint64_t end = random_below(bits.size() * 8 + 1);
  std::vector<std::byte> chosen(bits.size());
  std::copy_n(bits.begin(), end / 8, chosen.begin());
  if (end % 8 != 0) {
    chosen[end / 8] = bits[end / 8] & static_cast<std::byte>((1u << (end % 8)) - 1);
  }
  return chosen;
}

CutMode FlashSimulator::failing_mode() noexcept {
  constexpr std::array kModes{CutMode::kNothing, CutMode::kPrefix, CutMode::kSubset,
                              CutMode::kComplete};
  return kModes[random_below(kModes.size())];
}

void FlashSimulator::flip_one(std::span<std::byte> out) noexcept {
  if (state_.flips_left == 0 || --state_.reads_to_flip > 0) {
    return;
  }
  --state_.flips_left;
  state_.reads_to_flip = state_.flip_every;
  if (!out.empty()) {
    const uint64_t bit = random_below(out.size() * 8);
    out[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

}  // namespace cuckoo
