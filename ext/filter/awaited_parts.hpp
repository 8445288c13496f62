// The parts of a message that came to a filter in this transaction, without the last one. They are
// stored as they come (core/segments/staged_message.hpp); memory knows that some came.
//
// Invariants
//   I1  while some parts came and the last one did not, expect_none() throws. So every other change
//       is refused, and so is COMMIT. Questions are answered from the contents before the message.
//   I2  a roll-back removes parts that came since, because they are stored in the same transaction.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/segments/staged_message.hpp"
#include "core/stored/filter_options.hpp"
#include "ext/filter/store.hpp"

namespace cuckoo {

class AwaitedParts {
 public:
  using Standing = segments::StagedMessage::Standing;

  explicit AwaitedParts(FilterStore& store) noexcept : store_(store) {}

  bool some_came() const noexcept { return state_ != State::kNoneCame; }
  // Returns false if certainly no part is missing.
  bool may_be_missing() const noexcept {
    return some_came() && (state_ != State::kRead || standing_);
  }
  void end_transaction() noexcept { state_ = State::kNoneCame; }
  // Called after a roll-back to a savepoint, which may have removed parts or brought them back.
  void forget() noexcept { state_ = state_ == State::kRead ? State::kSomeCame : state_; }

  // Returns which parts are stored, or nothing if there is none. Throws SqlError.
  const std::optional<Standing>& standing(const FilterOptions& options);
  // Throws SqlError that says how many are missing.
  void expect_none(const FilterOptions& options);

  // Adds a part that is the next one, and not the last one. The caller is in a change.
  Status add(const FilterOptions& options, const segments::MessagePart& part);
  // Calls `use` with the whole message, of which `last` is the last part. It may change the filter.
  void use(const FilterOptions& options, const segments::MessagePart& last,
           const std::function<void(const segments::MessageBytes& message)>& use);
  Status erase(const FilterOptions& options);

 private:
  segments::StagedMessage staged(const FilterOptions& options) noexcept;

  FilterStore& store_;
  // In this transaction. Another connection sees no parts before the last one came, and a backup
  // has none.
  enum class State : uint8_t {
    kNoneCame,
    kSomeCame,  // storage says which are still there; also after a roll-back to a savepoint
    kRead,      // standing_ is the stored one
    kInUse,     // the last one came, and use() runs
  };
  State state_ = State::kNoneCame;
  std::optional<Standing> standing_;
};

}  // namespace cuckoo
