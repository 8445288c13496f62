// Power cuts at every step of a random workload on a flash store, and further cuts at the steps of
// what comes after: recovery, and a few changes after it.
//
// How it works
//   The store runs on a CuttingDevice. Before each step (FlashSimulator) that calls back once for
//   each CutMode, with the state that the device would have been left in; the run itself goes on
//   unharmed. So n cuts cost n recoveries, and not n runs up to the cut.
//   A cut's *life*: power on, mount, compare, check(), some actions, then what is marginal fades,
//   another mount, compare. A life runs on a CuttingDevice of its own: that is how cuts nest.
//
// Ids
//   sector x sectors x blocks x unit / seed / step.mode [/ step.mode …], for example
//   1024x4x20x16/7/5123.weak/14.prefix: at step 5123 of the workload with seed 7, then at step 14
//   of the life of that cut. What happens in a life depends on its id only, never on which other
//   cuts are tried: CUCKOO_FLASH_CUT=id replays one. Seeds from kFailingSeeds on are of devices
//   some of whose blocks are bad, or wear out soon.
#pragma once

#include <array>
#include <sstream>

#include "core/base/mix.hpp"
#include "tests/core/flash/harness.hpp"

namespace cuckoo {

// One call of the store.
struct FlashAction {
  enum class Kind { kWrite, kCheckpoint, kCollect, kClear };
  Kind kind = Kind::kWrite;
  std::vector<FlashOperation> changes;  // all or none
};

inline FlashAction random_action(std::mt19937_64& random, unsigned keys, size_t large_bytes) {
  FlashAction action;
  const uint64_t choice = random() % 1000;
  if (choice < 8) {
    action.kind = choice < 1   ? FlashAction::Kind::kClear
                  : choice < 4 ? FlashAction::Kind::kCollect
                               : FlashAction::Kind::kCheckpoint;
    return action;
  }
  const uint64_t changes = choice < 150 ? 2 + random() % 4 : 1;
  for (uint64_t i = 0; i < changes; ++i) {
    action.changes.push_back(random_operation(random, keys, large_bytes));
  }
  return action;
}

inline Status perform(FlashStore& store, const FlashAction& action) {
  switch (action.kind) {
    case FlashAction::Kind::kCheckpoint:
      return store.checkpoint();
    case FlashAction::Kind::kCollect:
      return store.collect();
    case FlashAction::Kind::kClear:
      return store.clear();
    case FlashAction::Kind::kWrite:
      break;
  }
  if (action.changes.size() == 1) {
    return perform(store, action.changes.front());
  }
  std::vector<FlashStore::Change> batch;
  for (const FlashOperation& change : action.changes) {
    FlashStore::Change& one = batch.emplace_back();
    one.key = store.hashed(bytes_of(change.key));
    if (change.value) {
      one.value = bytes_of(*change.value);
    }
  }
  return store.write(batch);
}

inline void perform(FlashModel& model, const FlashAction& action) {
  if (action.kind == FlashAction::Kind::kClear) {
    model.clear();
  }
  for (const FlashOperation& change : action.changes) {
    perform(model, change);
  }
}

inline constexpr uint64_t kFailingSeeds = 1'000'000'000'000;  // more than soaks take

inline void make_failing(FlashSimulator& device, uint64_t seed) {
  std::mt19937_64 random(seed);
  const uint32_t blocks = device.geometry().blocks;
  device.set_wear_failure(kWearFailures[seed % kWearFailures.size()]);
  for (int i = 0; i < 5; ++i) {
    device.set_endurance(static_cast<uint32_t>(random() % blocks),
                         1 + static_cast<uint32_t>(random() % 5));
  }
  device.set_bad(static_cast<uint32_t>(random() % 4));
}

struct FlashCut {
  uint64_t step = 0;
  CutMode mode = CutMode::kNothing;
};

struct FlashCutCase {
  FlashGeometry geometry;
  uint64_t seed = 1;

  std::string id(std::span<const FlashCut> path) const {
    std::ostringstream out;
    out << geometry.sector_size_bytes << 'x' << geometry.sectors_per_block << 'x' << geometry.blocks
        << 'x' << geometry.program_unit_bytes << '/' << seed;
    for (const FlashCut& cut : path) {
      out << '/' << cut.step << '.' << name_of(cut.mode);
    }
    return out.str();
  }

  // Returns false if the text is no id.
  bool parse(const std::string& id, std::vector<FlashCut>& path) {
    std::istringstream in(id);
    char x = 0;
    char slash = 0;
    in >> geometry.sector_size_bytes >> x >> geometry.sectors_per_block >> x >> geometry.blocks >>
        x >> geometry.program_unit_bytes >> slash >> seed;
    path.clear();
    for (std::string cut; in && std::getline(in >> slash, cut, '/'); in.unget()) {
      const size_t dot = cut.find('.');
      for (const CutMode mode : kCutModes) {
        if (dot != std::string::npos && cut.substr(dot + 1) == name_of(mode)) {
          path.push_back({std::stoull(cut), mode});
        }
      }
      if (in.eof()) {
        break;
      }
    }
    return !path.empty() && check_geometry(geometry).ok();
  }
};

// Passes everything on to a simulator, and before each step says what cuts would make of it.
class CuttingDevice final : public FlashDevice {
 public:
  // Is this cut of interest? If so, Torn gets the state that the cut leaves.
  using Wanted = std::function<bool(const FlashCut&)>;
  using Torn = std::function<void(const FlashCut&, const FlashSimulator::State&)>;

  CuttingDevice(FlashSimulator& device, Wanted wanted, Torn torn)
      : device_(device),
        scratch_(device.geometry()),
        wanted_(std::move(wanted)),
        torn_(std::move(torn)) {}

  const FlashGeometry& geometry() const noexcept override { return device_.geometry(); }
  Status read(uint64_t address, std::span<std::byte> out) override {
    return device_.read(address, out);
  }
  Status program(uint64_t address, std::span<const std::byte> units) override {
    const uint32_t unit = geometry().program_unit_bytes;
    for (size_t at = 0; at < units.size(); at += unit) {
      cut([&] { return scratch_.program(address + at, units.subspan(at, unit)); });
      CUCKOO_TRY(device_.program(address + at, units.subspan(at, unit)));
    }
    return {};
  }
  Status erase(uint32_t block) override {
    cut([&] { return scratch_.erase(block); });
    return device_.erase(block);
  }
  uint64_t steps() const noexcept { return steps_; }
  const std::vector<std::string>& violations() const noexcept { return scratch_.violations(); }

 private:
  template <class Step>
  void cut(Step step) {
    ++steps_;
    for (const CutMode mode : kCutModes) {
      const FlashCut cut{steps_, mode};
      if (!wanted_(cut)) {
        continue;
      }
      scratch_.restore(device_.snapshot());
      scratch_.cut_after(1, mode, steps_ * kCutModes.size() + static_cast<uint64_t>(mode));
      EXPECT_FALSE(step().ok());
      torn_(cut, scratch_.snapshot());
    }
  }

  FlashSimulator& device_;
  FlashSimulator scratch_;
  uint64_t steps_ = 0;
  Wanted wanted_;
  Torn torn_;
};

class FlashCutExplorer {
 public:
  struct Options {
    FlashCutCase which;
    unsigned keys = 40;
    size_t large_bytes = 3000;
    uint64_t actions = 100;
    // There are cuts in the last `window` actions of each `period`.
    uint64_t window = 1;
    uint64_t period = 1;
    // For each depth, one cut in so many is made. As many cuts nest as there are numbers.
    std::vector<uint64_t> every{1};
    std::vector<FlashCut> only;  // this one, if any
  };

  explicit FlashCutExplorer(Options options) : options_(std::move(options)) {
    for (size_t depth = 0; depth < std::max(options_.every.size(), options_.only.size()); ++depth) {
      devices_.push_back(std::make_unique<FlashSimulator>(options_.which.geometry));
    }
  }

  // Returns an empty text, or what went wrong, with the id.
  const std::string& run() {
    FlashSimulator device(options_.which.geometry, options_.which.seed);
    if (options_.which.seed >= kFailingSeeds) {
      make_failing(device, options_.which.seed);
    }
    FlashModel model;
    FlashModel after;
    bool inside = false;
    CuttingDevice cutting(
        device, [&](const FlashCut& cut) { return inside && wanted(cut); },
        [&](const FlashCut& cut, const FlashSimulator::State& torn) {
          live(cut, torn, model, after);
        });
    FlashStore store(cutting, store_options());
    if (!succeeded(store.format(), "format")) {
      return failure_;
    }
    std::mt19937_64 random(options_.which.seed);
    for (uint64_t i = 0; i < options_.actions && failure_.empty(); ++i) {
      inside = i % options_.period >= options_.period - options_.window;
      const FlashAction action = random_action(random, options_.keys, options_.large_bytes);
      after = model;
      perform(after, action);
      const Status done = perform(store, action);
      if (done.ok()) {
        model = after;
      } else if (refused_for_good(store, done)) {
        FlashStore again(device, store_options());
        if (succeeded(again.mount(), "the mount after it refused")) {
          holds(again, model, model, "after it refused");
        }
        break;
      } else if (done.error().code != ErrorCode::kFull) {
        fail("the workload: " + done.error().message);
      }
      if (!options_.only.empty() && cutting.steps() >= options_.only.front().step) {
        break;
      }
    }
    erases_ = device.counters().erases;
    collections_ = store.stats().collections;
    percent_full_ = 100 * store.charged_units() / store.usable_units();
    expect_no_violation(device, cutting);
    return failure_;
  }

  uint64_t cuts(size_t depth) const { return cuts_[depth]; }
  uint64_t cuts() const { return cuts_[0] + cuts_[1] + cuts_[2] + cuts_[3]; }
  uint64_t erases() const { return erases_; }
  uint64_t collections() const { return collections_; }
  uint64_t percent_full() const { return percent_full_; }  // at the end

 private:
  FlashStoreOptions store_options() const { return {.seed = options_.which.seed}; }

  uint64_t hash_of_path() const {
    uint64_t hash = options_.which.seed;
    for (const FlashCut& cut : path_) {
      hash = mix64(hash + cut.step * kCutModes.size() + static_cast<uint64_t>(cut.mode) + 1);
    }
    return hash;
  }

  bool wanted(const FlashCut& cut) const {
    const size_t depth = path_.size();
    if (!failure_.empty()) {
      return false;
    }
    if (!options_.only.empty()) {
      return depth < options_.only.size() && options_.only[depth].step == cut.step &&
             options_.only[depth].mode == cut.mode;
    }
    return depth < options_.every.size() &&
           mix64(hash_of_path() ^
                 mix64(cut.step * kCutModes.size() + static_cast<uint64_t>(cut.mode))) %
                   options_.every[depth] ==
               0;
  }

  void fail(const std::string& what) {
    if (failure_.empty()) {
      failure_ = "CUCKOO_FLASH_CUT=" + options_.which.id(path_) + ": " + what;
    }
  }
  void expect_no_violation(const FlashSimulator& device, const CuttingDevice& cutting) {
    for (const std::string& violation : device.violations()) {
      fail("violation: " + violation);
    }
    for (const std::string& violation : cutting.violations()) {
      fail("violation: " + violation);
    }
  }
  bool succeeded(const Status& status, const char* what) {
    if (!status.ok()) {
      fail(std::string(what) + ": " + status.error().message);
    }
    return status.ok();
  }

  // A block failed in the middle of a change, and there was no room to go on elsewhere: on such a
  // device that poisons the store (policy.hpp, wear). The next mount drops the change.
  bool refused_for_good(const FlashStore& store, const Status& done) const {
    return options_.which.seed >= kFailingSeeds && done.error().code == ErrorCode::kFull &&
           store.poisoned();
  }

  // The store must hold `a` or `b` as a whole. The one that it holds is left in `a`.
  bool holds(FlashStore& store, FlashModel& a, const FlashModel& b, const char* when) {
    const std::string differs = difference(store, a);
    if (!differs.empty()) {
      const std::string differs_too = &a == &b ? differs : difference(store, b);
      if (!differs_too.empty()) {
        fail(std::string(when) + ": " + differs + "; " + differs_too);
        return false;
      }
      a = b;
    }
    return succeeded(store.check(no_poll), when);
  }

  // `before` was committed; what turns it into `after` was in flight.
  void live(const FlashCut& cut, const FlashSimulator::State& torn, const FlashModel& before,
            const FlashModel& after) {
    FlashSimulator& device = *devices_[path_.size()];
    ++cuts_[path_.size()];
    path_.push_back(cut);
    device.restore(torn);
    device.power_on();
    FlashModel now = before;
    FlashModel next = after;
    CuttingDevice cutting(
        device, [this](const FlashCut& inner) { return wanted(inner); },
        [&](const FlashCut& inner, const FlashSimulator::State& state) {
          live(inner, state, now, next);
        });
    live_on(device, cutting, now, next);
    expect_no_violation(device, cutting);
    path_.pop_back();
  }

  void live_on(FlashSimulator& device, CuttingDevice& cutting, FlashModel& now, FlashModel& next) {
    std::mt19937_64 random(hash_of_path());
    {
      FlashStore store(cutting, store_options());
      if (!succeeded(store.mount(), "mount") || !holds(store, now, next, "after the mount")) {
        return;
      }
      if (random() % 4 == 0) {
        device.fade();
      }
      for (uint64_t i = random() % 5; i > 0 && failure_.empty(); --i) {
        const FlashAction action = random_action(random, options_.keys, 300);
        next = now;
        perform(next, action);
        const Status done = perform(store, action);
        if (done.ok()) {
          now = next;
        } else if (refused_for_good(store, done)) {
          break;
        } else if (done.error().code != ErrorCode::kFull) {
          fail("it does not go on: " + done.error().message);
          return;
        }
      }
    }
    device.fade();
    FlashStore again(device, store_options());
    if (succeeded(again.mount(), "the next mount")) {
      holds(again, now, now, "after fading");
    }
  }

  Options options_;
  std::vector<std::unique_ptr<FlashSimulator>> devices_;  // one a depth
  std::vector<FlashCut> path_;
  std::string failure_;
  std::array<uint64_t, 4> cuts_{};
  uint64_t erases_ = 0;
  uint64_t collections_ = 0;
  uint64_t percent_full_ = 0;
};

}  // namespace cuckoo
