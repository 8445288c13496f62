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
  if (!known_) {
    standing_.reset();
    if (some_came_) {
      standing_ = value_or_throw(store_.table(), staged(options).standing());
    }
    known_ = true;
  }
  return standing_;
}

void AwaitedParts::expect_none(const FilterOptions& options) {
  if (!some_came_ || in_use_ || !standing(options)) {
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
  some_came_ = true;
  known_ = false;
  return staged(options).add(part);
}

void AwaitedParts::use(const FilterOptions& options, const MessagePart& last,
                       const std::function<void(const segments::MessageBytes& message)>& use) {
  struct InUse {
    bool& flag;
    ~InUse() { flag = false; }
  } in_use{in_use_};
  in_use_ = true;
  use(staged(options).message(last));
}

Status AwaitedParts::erase(const FilterOptions& options) {
  known_ = false;
  CUCKOO_TRY(staged(options).erase());
  standing_.reset();
  known_ = true;
  return {};
}

}  // namespace cuckoo
