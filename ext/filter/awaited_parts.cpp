#include "ext/filter/awaited_parts.hpp"

#include <string>

#include "ext/sqlite/error.hpp"

namespace cuckoo {

using segments::MessagePart;
using segments::StagedMessage;

StagedMessage AwaitedParts::staged(const FilterOptions& options) noexcept {
  return {segments::Blocks(store_, options.block_seed()), options.page_bytes};
}

const std::optional<AwaitedParts::Standing>& AwaitedParts::standing(const FilterOptions& options) {
  if (state_ == State::kNoneCame) {
    standing_.reset();
  } else if (state_ != State::kRead) {
    standing_ = value_or_throw(store_.table(), staged(options).standing());
    state_ = state_ == State::kSomeCame ? State::kRead : state_;
  }
  return standing_;
}

void AwaitedParts::expect_none(const FilterOptions& options) {
  if (state_ == State::kInUse || !standing(options)) {
    return;
  }
  const uint64_t parts = standing_->cut.parts();
  const uint64_t missing = parts - standing_->came;
  throw SqlError(SQLITE_ERROR, store_.table() + ": apply: " + std::to_string(missing) + " of " +
                                   std::to_string(parts) + " parts " +
                                   (missing == 1 ? "is" : "are") +
                                   " missing; all come in their order, within one transaction, and"
                                   " nothing else changes the filter meanwhile");
}

Status AwaitedParts::add(const FilterOptions& options, const MessagePart& part) {
  state_ = State::kSomeCame;
  return staged(options).add(part);
}

void AwaitedParts::use(const FilterOptions& options, const MessagePart& last,
                       const std::function<void(const segments::MessageBytes& message)>& use) {
  struct InUse {
    State& state;
    ~InUse() { state = state == State::kInUse ? State::kSomeCame : state; }
  } in_use{state_};
  state_ = State::kInUse;
  use(staged(options).message(last));
}

Status AwaitedParts::erase(const FilterOptions& options) {
  state_ = State::kSomeCame;
  CUCKOO_TRY(staged(options).erase());
  standing_.reset();
  state_ = State::kRead;
  return {};
}

}  // namespace cuckoo
