// A flash device in memory that fails the way flash fails. What a store survives here, it survives.
//
// Fault model
//   Rules      R1 … R4 of core/flash/device.hpp. A call that breaks one is the caller's defect: it
//              answers kInvalid, changes nothing and is kept in violations(). Two calls that a chip
//              would not refuse count as broken rules too: programming a block whose last erase was
//              not answered by ok(), and a program of no units at all.
//   Step       what power cuts are counted in: the programming of one unit, also inside a longer
//              program, or one erase; a failing one too. Reads are no steps: they change nothing.
//   Power cut  the step is torn (CutMode) and answers kStorage, and so does every operation after
//              it until power_on(). D is the set of bits the step was to change: by a program from
//              1 to 0, by an erase from 0 to 1.
//                kNothing   none of D changed: the step was not begun
//                kPrefix    the bits of D before a random bit changed
//                kSubset    a random subset of D changed
//                kComplete  all of D changed, and the power goes right after
//                kMarginal  all of D reads as changed now, but fades: at the power_on() after the
//                           next one, or at fade(), it gets weak
//                kWeak      a random subset of D is weak; the rest has changed, or none of it has
//              A weak bit reads either way, at random at each read, until its block is erased.
//              After kNothing and kComplete the block is as it was and as it should be; after every
//              other torn erase, one that reads as all FF too, it must be erased again.
//   Wear       a block is worn out when its erases reach its endurance. From then on, by choice
//              (WearFailure): programs or erases or reads of it answer kFlashFailure, or programs
//              or erases of it answer ok() and change nothing. A failing program leaves its unit,
//              a failing erase its block, with none, a prefix, a subset or all of D changed.
//              An erase that changes nothing makes a marginal one before it last: a store sees an
//              erased block both times, and could not tell.
//   Bad blocks programs and erases answer kFlashFailure and change nothing; the content is random.
//   Flips      flip_reads(): transient, one random bit in some of the reads. flip_stored(): a
//              stored bit changes sides until its block is erased.
// Not modelled: reads or programs that disturb other units, data that fades with age.
//
// Layout
//   State::blocks[i] -> Block, shared between copies of a State until one of them changes it: a
//   snapshot costs a pointer per block, and a block that was never touched no memory.
//
// Invariants
//   I1  a unit at or above Block::next_unit was not programmed since the last erase.
//   I2  the same calls after the same seed give the same answers: no clock, one random stream,
//       which is a part of the State.
#pragma once

#include <array>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "core/flash/device.hpp"

namespace cuckoo {

enum class CutMode { kNothing, kPrefix, kSubset, kComplete, kMarginal, kWeak };
inline constexpr std::array kCutModes{CutMode::kNothing,  CutMode::kPrefix,   CutMode::kSubset,
                                      CutMode::kComplete, CutMode::kMarginal, CutMode::kWeak};
const char* name_of(CutMode mode) noexcept;
inline void PrintTo(CutMode mode, std::ostream* out) { *out << name_of(mode); }

enum class WearFailure { kProgramError, kEraseError, kReadError, kSilentProgram, kSilentErase };
inline constexpr std::array kWearFailures{WearFailure::kProgramError, WearFailure::kEraseError,
                                          WearFailure::kReadError, WearFailure::kSilentProgram,
                                          WearFailure::kSilentErase};
const char* name_of(WearFailure failure) noexcept;
inline void PrintTo(WearFailure failure, std::ostream* out) { *out << name_of(failure); }

class FlashSimulator final : public FlashDevice {
 public:
  struct Counters {
    uint64_t read_calls = 0;
    uint64_t read_bytes = 0;
    uint64_t program_calls = 0;
    uint64_t programmed_units = 0;  // begun, also those that failed
    uint64_t programmed_bytes = 0;
    uint64_t erases = 0;  // begun, also those that failed
  };

 private:
  struct Block {
    std::vector<std::byte> bytes;
    std::vector<std::byte> weak;  // a bit each; empty: none is
    uint32_t next_unit = 0;       // the first that may still be programmed
    uint32_t erases = 0;
    uint32_t endurance = 0;
    bool bad = false;
    bool half_erased = false;  // the last erase was not answered by ok()
  };
  struct Fading {
    uint32_t block;
    uint64_t offset;  // in the block
    std::vector<std::byte> mask;
    unsigned power_ons;  // until it is weak
  };

 public:
  // Everything but the geometry and the violations. Cheap to copy.
  class State {
    friend class FlashSimulator;
    std::vector<std::shared_ptr<Block>> blocks;
    std::vector<Fading> fading;
    Counters counters;
    uint64_t random = 0;
    WearFailure wear_failure = WearFailure::kProgramError;
    bool powered = true;
    uint64_t steps_to_cut = 0;  // 0: no cut to come
    CutMode cut_mode = CutMode::kNothing;
    uint64_t cut_seed = 0;
    uint64_t reads_to_flip = 0;  // until the next flip
    uint64_t flip_every = 0;
    uint64_t flips_left = 0;
  };

  // A new device: all FF, no erases. The geometry must pass check_geometry().
  explicit FlashSimulator(const FlashGeometry& geometry, uint64_t seed = 0);

  const FlashGeometry& geometry() const noexcept override { return geometry_; }
  Status read(uint64_t address, std::span<std::byte> out) override;
  Status program(uint64_t address, std::span<const std::byte> units) override;
  Status erase(uint32_t block) override;

  // ---- faults to come. Block numbers and addresses must be on the device.
  void set_wear_failure(WearFailure failure) noexcept { state_.wear_failure = failure; }
  void set_endurance(uint32_t block, uint32_t erases);  // 0: worn out now
  void set_endurance(uint32_t erases);                  // of every block
  void set_bad(uint32_t block);
  // The first-th read call from now (1: the next) and then every every-th, count in all.
  void flip_reads(uint64_t first, uint64_t every, uint64_t count) noexcept;
  void flip_stored(uint64_t address, unsigned bit);
  // The n-th step from now is torn, n >= 1. `seed` replaces the random stream at that moment.
  void cut_after(uint64_t n, CutMode mode, uint64_t seed = 0) noexcept;
  void power_on();  // also takes back a cut that has not come
  void fade();      // what is marginal gets weak now
  bool powered() const noexcept { return state_.powered; }

  // Content from elsewhere, by no rule: an old image, a damaged one. Within the device. Units with
  // a bit of it cleared count as programmed, and those before them in the block.
  void plant(uint64_t address, std::span<const std::byte> bytes);

  State snapshot() const { return state_; }
  void restore(const State& state) { state_ = state; }  // of this simulator or of an equal one

  // ---- what happened
  uint64_t steps() const noexcept {
    return state_.counters.programmed_units + state_.counters.erases;
  }
  const Counters& counters() const noexcept { return state_.counters; }
  uint32_t erases(uint32_t block) const { return state_.blocks[block]->erases; }
  bool worn_out(uint32_t block) const;
  // A block as it is stored: not a read, weak bits as they happen to be.
  std::span<const std::byte> stored(uint32_t block) const { return state_.blocks[block]->bytes; }
  // What the caller did against the rules, since the construction; restore() keeps them.
  const std::vector<std::string>& violations() const noexcept { return violations_; }

 private:
  uint64_t random() noexcept;
  uint64_t random_below(uint64_t limit) noexcept { return random() % limit; }
  Block& edit(uint32_t block);
  Error violation(std::string text);
  Status check_program(uint64_t address, size_t size);
  Status program_unit(uint32_t block, uint32_t unit, std::span<const std::byte> bytes);
  bool fails(const Block& block, WearFailure failure) const noexcept;
  bool begin_step() noexcept;
  void clear_block(uint32_t block, CutMode mode);
  void forget_fading(uint32_t block);  // of what is marginal
  void change(uint32_t block, uint64_t offset, std::span<const std::byte> bits, CutMode mode);
  void make_weak(Block& block, uint64_t offset, std::span<const std::byte> bits);
  std::vector<std::byte> subset(std::span<const std::byte> bits);
  std::vector<std::byte> prefix(std::span<const std::byte> bits);
  CutMode failing_mode() noexcept;
  void flip_one(std::span<std::byte> out) noexcept;

  FlashGeometry geometry_;
  State state_;
  std::vector<std::string> violations_;
};

}  // namespace cuckoo
