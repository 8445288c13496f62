#include <cuckoo/filter.hpp>

#include <utility>

#include "core/library/key_code.hpp"
#include "core/library/memory_filter.hpp"

namespace cuckoo {
inline namespace v1 {

MembershipFilter::MembershipFilter() noexcept = default;
MembershipFilter::MembershipFilter(std::unique_ptr<MemoryFilter>&& filter) noexcept
    : filter_(std::move(filter)) {}
MembershipFilter::MembershipFilter(MembershipFilter&&) noexcept = default;
MembershipFilter& MembershipFilter::operator=(MembershipFilter&&) noexcept = default;
MembershipFilter::~MembershipFilter() = default;

Result<MemoryFilter*> MembershipFilter::held() {
  if (filter_ == nullptr) {
    return invalid("a filter that was moved from, or that no make() made");
  }
  return filter_.get();
}

// --- asking --------------------------------------------------------------------------------------

bool MembershipFilter::contains(const Key& key) const noexcept {
  return filter_ != nullptr && filter_->contains(KeyCode::hash(key, filter_->seed()));
}

void MembershipFilter::contains_hashes(std::span<const uint64_t> hashes,
                                       std::vector<bool>& found) const {
  if (filter_ == nullptr) {
    found.resize(found.size() + hashes.size());
    return;
  }
  filter_->contains_all(hashes, found);
}

uint64_t MembershipFilter::size() const noexcept {
  return filter_ != nullptr ? filter_->items() : 0;
}
uint64_t MembershipFilter::capacity() const { return filter_ != nullptr ? filter_->capacity() : 0; }
bool MembershipFilter::grows() const noexcept {
  return filter_ != nullptr && filter_->keeps_hashes();
}
double MembershipFilter::rate() const noexcept {
  return filter_ != nullptr ? filter_->target_rate() : 0;
}
double MembershipFilter::rate_now() const { return filter_ != nullptr ? filter_->rate_now() : 0; }
double MembershipFilter::load_factor() const {
  return filter_ != nullptr ? filter_->load_factor() : 0;
}
size_t MembershipFilter::memory_bytes() const {
  return sizeof *this + (filter_ != nullptr ? filter_->memory_bytes() : 0);
}
uint64_t MembershipFilter::seed() const noexcept {
  return filter_ != nullptr ? filter_->seed() : 0;
}

Result<uint64_t> MembershipFilter::overlap(const MembershipFilter& other) const {
  if (filter_ == nullptr || other.filter_ == nullptr) {
    return invalid("overlap of a filter that was moved from, or that no make() made");
  }
  return filter_->overlap(*other.filter_);
}

Result<std::vector<std::byte>> MembershipFilter::to_bytes(SavedHashes hashes) const {
  if (filter_ == nullptr) {
    return invalid("a filter that was moved from, or that no make() made");
  }
  return filter_->to_bytes(hashes == SavedHashes::kYes && filter_->keeps_hashes());
}

// --- changing ------------------------------------------------------------------------------------

Status MembershipFilter::add(const Key& key) {
  CUCKOO_ASSIGN_OR_RETURN(MemoryFilter* const filter, held());
  CUCKOO_TRY(filter->insert(KeyCode::hash(key, filter->seed())));
  filter->note_key_types(key.types());
  return {};
}

Status MembershipFilter::add_hashes(std::span<const uint64_t> hashes, uint64_t types) {
  CUCKOO_ASSIGN_OR_RETURN(MemoryFilter* const filter, held());
  filter->note_key_types(types);  // first, because a filter that gets full has a part of them
  return filter->insert_all(hashes);
}

Result<bool> MembershipFilter::add_new(const Key& key) {
  CUCKOO_ASSIGN_OR_RETURN(MemoryFilter* const filter, held());
  CUCKOO_ASSIGN_OR_RETURN(const bool added, filter->insert_new(KeyCode::hash(key, filter->seed())));
  if (added) {
    filter->note_key_types(key.types());
  }
  return added;
}

Status MembershipFilter::clear() {
  CUCKOO_ASSIGN_OR_RETURN(MemoryFilter* const filter, held());
  return filter->clear();
}

Status MembershipFilter::merge_from(const MembershipFilter& other) {
  CUCKOO_ASSIGN_OR_RETURN(MemoryFilter* const filter, held());
  if (other.filter_ == nullptr) {
    return invalid("merge of a filter that was moved from, or that no make() made");
  }
  return filter->merge(*other.filter_);
}

}  // namespace v1
}  // namespace cuckoo
