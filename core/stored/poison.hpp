// Whether what is in memory may be trusted: a failure in the middle of writing leaves storage
// half-written, and only a roll-back makes that good.
#pragma once

#include <utility>

#include "core/base/result.hpp"

namespace cuckoo {

class Poison {
 public:
  bool poisoned() const noexcept { return poisoned_; }
  void poison() noexcept { poisoned_ = true; }
  void lift() noexcept { poisoned_ = false; }

  // kStorage while poisoned.
  Status error() const {
    if (!poisoned_) {
      return {};
    }
    return Error{ErrorCode::kStorage, "an earlier write failed in this transaction; roll it back",
                 0};
  }

  // Runs what writes to storage; poisoned unless it ends, and ends well.
  template <class Body>
  Status writing(Body&& body) {
    poisoned_ = true;
    CUCKOO_TRY(std::forward<Body>(body)());
    poisoned_ = false;
    return {};
  }

  // … what changes memory, and may write: poisoned if it fails.
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
