// LiveFilter's marks: what changed since one of them, and a copy that follows.
#include <string>

#include "core/segments/changes.hpp"
#include "ext/filter/live_filter.hpp"

namespace cuckoo {

std::optional<segments::FilterMark> LiveFilter::mark() {
  Result<std::optional<segments::FilterMark>> mark = filter_->newest().mark();
  throw_if(table(), mark.take_status());
  return mark.value();
}

std::vector<std::byte> LiveFilter::changes_since(std::span<const std::byte> mark) {
  const Result<segments::FilterMark> from = segments::decode_mark(mark);
  if (!from.ok()) {
    throw SqlError(SQLITE_ERROR, "filter_changes: " + from.error().message +
                                     "; a mark is what filter_mark() gives, bound as a BLOB");
  }
  Result<segments::FilterChanges> changes = filter_->newest().changes_since(from.value());
  throw_if(table(), changes.take_status());
  const KeyDomain keys = key_domain();
  changes.value().key_affinity = static_cast<uint8_t>(keys.affinity);
  changes.value().collation = static_cast<uint8_t>(keys.collation);
  changes.value().key_types = keys.types;
  return segments::encode_changes(changes.value());
}

void LiveFilter::apply(std::span<const std::byte> bytes) {
  follow();
  Result<segments::FilterChanges> decoded = segments::decode_changes(bytes);
  if (!decoded.ok()) {
    throw SqlError(SQLITE_ERROR, table() + ": apply: " + decoded.error().message);
  }
  const segments::FilterChanges& changes = decoded.value();
  const KeyDomain keys = {static_cast<Affinity>(changes.key_affinity),
                          static_cast<Collation>(changes.collation), changes.key_types};
  if (const std::string why = obstacle(keys, key_domain()); !why.empty()) {
    throw SqlError(SQLITE_ERROR, table() + ": apply: the changes" + why);
  }
  change_by([&]() -> Status { return filter_->newest().apply(changes).take_status(); });
}

}  // namespace cuckoo
