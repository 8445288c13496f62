// Says whether memory may be trusted. A failure in the middle of writing leaves storage
// half-written, and only a roll-back repairs that: forget() comes with it. Each connection has a
// state of its own. If a backup was restored, refresh() notices it while memory is current.
#pragma once

#include <cstdint>
#include <utility>

#include "core/base/result.hpp"

namespace cuckoo {

class Poison {
 public:
  // Returns whether memory is what storage holds, with the changes that are not flushed.
  bool current() const noexcept { return memory_ == Memory::kCurrent; }
  bool poisoned() const noexcept { return memory_ == Memory::kPoisoned; }
  void poison() noexcept { memory_ = Memory::kPoisoned; }
  void forget() noexcept { memory_ = Memory::kUnknown; }
  // Called when all of storage was followed. A poison stays.
  void note_current() noexcept { memory_ = poisoned() ? memory_ : Memory::kCurrent; }

  // Returns kStorage while poisoned.
  Status error() const {
    if (!poisoned()) {
      return {};
    }
    return Error{ErrorCode::kStorage, "an earlier write failed in this transaction; roll it back",
                 0};
  }

  // Runs a function that writes to storage. If it fails or throws, this is poisoned afterwards.
  template <class Body>
  Status writing(Body&& body) {
    const Memory before = std::exchange(memory_, Memory::kPoisoned);
    CUCKOO_TRY(std::forward<Body>(body)());
    memory_ = before;
    return {};
  }

  // Runs a function that changes memory, and may write. If it fails or throws, this is poisoned
  // afterwards. An earlier poison stays.
  template <class Body>
  Status changing(Body&& body) {
    struct UnlessDone {
      Poison& poison;
      bool done = false;
      ~UnlessDone() {
        if (!done) {
          poison.poison();
        }
      }
    } unless{*this};
    CUCKOO_TRY(std::forward<Body>(body)());
    unless.done = true;
    return {};
  }

 private:
  enum class Memory : uint8_t {
    kUnknown,  // it may be wrong: at first, and after a roll-back
    kCurrent,
    kPoisoned,
  };
  Memory memory_ = Memory::kUnknown;
};

}  // namespace cuckoo
