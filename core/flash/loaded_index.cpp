#include "core/flash/loaded_index.hpp"

#include <mutex>
#include <span>

#include "core/base/key_hash.hpp"
#include "core/base/lasting.hpp"

namespace cuckoo::core {
namespace {

// The list of shared indexes. Its lock is not destroyed at the process's end, because a store may
// live longer than static variables do.
constinit LoadedIndex* first_shared = nullptr;
std::mutex& shared_mutex() noexcept {
  static Lasting<std::mutex> mutex;
  return *mutex;
}

}  // namespace

LoadedIndex::LoadedIndex(const SlotCacheOptions& options, const FlashIndexEntries& entries,
                         uint64_t hash)
    : slots_(options), hash_(hash) {
  slots_.insert_all(entries);
}

LoadedIndex::~LoadedIndex() {
  const std::lock_guard lock(shared_mutex());
  if (link_ != nullptr) {
    *link_ = next_;
    if (next_ != nullptr) {
      next_->link_ = link_;
    }
  }
}

std::shared_ptr<const LoadedIndex> LoadedIndex::of(const SlotCacheOptions& options,
                                                   const FlashIndexEntries& entries) {
  const uint64_t hash = hash_bytes(KeyKind::kBlob, std::as_bytes(std::span(entries)), options.seed);
  std::shared_ptr<const LoadedIndex> other;
  {
    const std::lock_guard lock(shared_mutex());
    for (LoadedIndex* each = first_shared; each != nullptr && !other; each = each->next_) {
      if (each->hash_ == hash && each->slots_.size() == entries.size() &&
          each->slots_.options() == options) {
        other = each->weak_from_this().lock();  // null: it is being destroyed
      }
    }
  }
  if (other && other->slots_.contains_all(entries)) {
    return other;
  }
  const auto own = std::make_shared<LoadedIndex>(options, entries, hash);
  if (!other) {
    const std::lock_guard lock(shared_mutex());
    own->next_ = first_shared;
    own->link_ = &first_shared;
    if (first_shared != nullptr) {
      first_shared->link_ = &own->next_;
    }
    first_shared = own.get();
  }
  return own;
}

}  // namespace cuckoo::core
