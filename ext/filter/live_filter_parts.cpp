// LiveFilter: a copy that follows by messages in parts. The parts are stored as they come, and what
// all of them are together is applied with the last one.
//
// Invariants
//   I1  while some parts came and the last one did not, every other change is refused, and so is
//       COMMIT; what is asked is answered from the contents before the message.
//   I2  a roll-back takes parts back that came since, as they are stored in the same transaction.
#include <string>

#include "core/segments/changes.hpp"
#include "ext/filter/live_filter.hpp"

namespace cuckoo {

using segments::MessagePart;
using segments::StagedMessage;

StagedMessage LiveFilter::staged() noexcept {
  return {segments::Blocks(store_, seed_), filter_->options().page_bytes};
}

const std::optional<StagedMessage::Standing>& LiveFilter::standing() {
  carry_out_rollback();
  if (!standing_known_) {
    standing_.reset();
    if (takes_parts_) {
      Result<std::optional<StagedMessage::Standing>> found = staged().standing();
      throw_if(table(), found.take_status());
      standing_ = found.value();
    }
    standing_known_ = true;
  }
  return standing_;
}

void LiveFilter::refuse_amid_parts() {
  if (!takes_parts_ || applying_last_ || filter_ == nullptr || !standing()) {
    return;
  }
  const uint64_t parts = standing_->cut.parts();
  const uint64_t missing = parts - standing_->came;
  throw SqlError(SQLITE_ERROR, table() + ": apply: " + std::to_string(missing) + " of " +
                                   std::to_string(parts) + " parts " +
                                   (missing == 1 ? "is" : "are") +
                                   " missing; all come in their order, within one transaction, and"
                                   " nothing else changes the filter meanwhile");
}

// Writes to the blocks of parts, and nothing else. A failure in between is one that SQLite undoes.
void LiveFilter::stage(const std::function<Status()>& write) {
  const Changing changing(*this);
  expect_changeable(filter_->options().page_bytes);
  takes_parts_ = true;
  standing_known_ = false;
  const Status status = write();
  changed_ = false;  // insert_hash() asks for parts then
  LiveTable::raise(status, true);
}

// Finds early what would be an error with the last part.
void LiveFilter::check_first_part(const MessagePart& part) {
  if (!filter_->single() || !segments::looks_like_changes(part.slice)) {
    return;
  }
  const Result<segments::FilterChanges> changes =
      segments::decode_changes_header(part.slice, part.cut.total_bytes);
  if (!changes.ok()) {
    throw SqlError(SQLITE_ERROR, table() + ": apply: " + changes.error().message);
  }
  const Status fits = filter_->newest().expect_from(changes.value().from, changes.value().to);
  throw_if(table() + ": apply", fits);
}

void LiveFilter::apply_part(std::span<const std::byte> bytes) {
  const Result<MessagePart> decoded = segments::decode_part(bytes);
  if (!decoded.ok()) {
    throw SqlError(SQLITE_ERROR, table() + ": apply: " + decoded.error().message);
  }
  const MessagePart& part = decoded.value();
  throw_if(table() + ": apply", StagedMessage::expect_next(standing(), part));
  if (part.index + 1 < part.cut.parts()) {
    if (part.index == 0) {
      check_first_part(part);
    }
    stage([&] { return staged().add(part); });
    return;
  }
  if (part.index == 0) {
    apply_message(part.slice);
    return;
  }
  struct Last {
    bool& flag;
    ~Last() { flag = false; }
  } last{applying_last_};
  applying_last_ = true;
  apply_message(staged().message(part));
  stage([&] { return staged().erase(); });
  standing_.reset();
  standing_known_ = true;
}

}  // namespace cuckoo
