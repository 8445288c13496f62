// Says whether memory may be trusted. A failure in the middle of writing leaves storage
// half-written, and only a roll-back repairs that.
#pragma once

#include <utility>

#include "core/base/result.hpp"

namespace cuckoo {

class Poison {
 public:
  bool poisoned() const noexcept { return poisoned_; }
  void poison() noexcept { poisoned_ = true; }
  void lift() noexcept { poisoned_ = false; }

  // Returns kStorage while poisoned.
  Status error() const {
    if (!poisoned_) {
      return {};
    }
    return Error{ErrorCode::kStorage, "an earlier write failed in this transaction; roll it back",
                 0};
  }

  // Runs a function that writes to storage. If it fails or throws, this is poisoned afterwards.
  template <class Body>
  Status writing(Body&& body) {
    poisoned_ = true;
    CUCKOO_TRY(std::forward<Body>(body)());
    poisoned_ = false;
    return {};
  }

  // Runs a function that changes memory, and may write. If it fails or throws, this is poisoned
  // afterwards. An earlier poison stays.
  template <class Body>
  Status changing(Body&& body) {
    struct UnlessDone {
      Poison& poison;
      bool done = false;
      ~UnlessDone() { poison.poisoned_ = poison.poisoned_ || !done; }
    } unless{*this};
    CUCKOO_TRY(std::forward<Body>(body)());
    unless.done = true;
    return {};
  }

 private:
  bool poisoned_ = false;
};

}  // namespace cuckoo
