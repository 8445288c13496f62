#include "core/flash/loaded_index.hpp"

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

bool same_options(const SlotCacheOptions& a, const SlotCacheOptions& b) noexcept {
  return a.hashes == b.hashes && a.ways == b.ways && a.seed == b.seed;
}

}  // namespace

LoadedIndex::LoadedIndex(const SlotCacheOptions& options, Entries entries)
    : options_(options), size_(entries.size()) {
  view_.list = std::make_shared<const Entries>(std::move(entries));
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

std::shared_ptr<LoadedIndex> LoadedIndex::share(const std::shared_ptr<LoadedIndex>& own) {
  const std::shared_ptr<const Entries> list = own->view().list;
  own->hash_ = hash_bytes(KeyKind::kBlob, std::as_bytes(std::span(*list)), own->options_.seed);
  std::shared_ptr<LoadedIndex> other;
  {
    const std::lock_guard lock(shared_mutex());
    for (LoadedIndex* each = first_shared; each != nullptr && !other; each = each->next_) {
      if (each->hash_ == own->hash_ && each->size_ == own->size_ &&
          same_options(each->options_, own->options_)) {
        other = each->weak_from_this().lock();  // null: it is being destroyed
      }
    }
    if (!other) {
      own->next_ = first_shared;
      own->link_ = &first_shared;
      if (first_shared != nullptr) {
        first_shared->link_ = &own->next_;
      }
      first_shared = own.get();
    }
  }
  // If two indexes differ and have one hash, the second is not shared.
  return other && other->equals(*list) ? other : own;
}

LoadedIndex::View LoadedIndex::view() const {
  const std::lock_guard lock(mutex_);
  return view_;
}

std::shared_ptr<const SlotCache> LoadedIndex::slots() {
  View view = this->view();
  if (view.slots) {
    return view.slots;
  }
  auto filled = std::make_shared<SlotCache>(options_);
  filled->insert_all(*view.list);
  const std::lock_guard lock(mutex_);
  if (!view_.slots) {  // no other thread was faster
    view_.slots = std::move(filled);
    view_.list.reset();
  }
  return view_.slots;
}

bool LoadedIndex::equals(const Entries& list) const {
  const View own = view();
  return own.list ? *own.list == list : own.slots->contains_all(list);
}

}  // namespace cuckoo::core
