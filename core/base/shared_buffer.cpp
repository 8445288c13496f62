#include "core/base/shared_buffer.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <mutex>
#include <new>
#include <random>

#include "core/base/large_memory.hpp"
#include "core/base/lasting.hpp"
#include "core/base/mix.hpp"

namespace cuckoo {
namespace {

// Stands in front of the content.
struct Header {
  Header* next;  // in its list
  uint64_t hash;
  uint64_t holders;  // of a shared one
  uint32_t bytes;
  uint32_t offset;  // of the content in the allocation

  std::byte* content() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};
// operator new gives addresses that are multiples of 8.
constexpr size_t kOverhead = sizeof(Header) + kCacheLineBytes - 8;
static_assert(sizeof(void*) == 8 ? kBufferOverhead == kOverhead : kBufferOverhead >= kOverhead);

Header* header_of(const std::byte* content) noexcept {
  return reinterpret_cast<Header*>(const_cast<std::byte*>(content)) - 1;
}

std::byte* allocate(size_t bytes) {
  assert(bytes > 0 && bytes <= kMaxBufferBytes);
  auto* const memory = static_cast<std::byte*>(::operator new(bytes + kBufferOverhead));
  const auto behind_header = reinterpret_cast<uintptr_t>(memory) + sizeof(Header);
  const size_t skipped = (kCacheLineBytes - behind_header % kCacheLineBytes) % kCacheLineBytes;
  Header* const header = new (memory + skipped) Header{};
  header->bytes = static_cast<uint32_t>(bytes);
  header->offset = static_cast<uint32_t>(skipped + sizeof(Header));
  return header->content();
}

// Returns a seed that is unknown outside of the process, so that an attacker can't choose bytes
// that make a list long.
uint64_t random_seed() noexcept {
  static const uint64_t seed = []() noexcept {
    const auto place = reinterpret_cast<uintptr_t>(&random_seed);
    try {
      std::random_device random;
      return mix64((uint64_t{random()} << 32 | random()) ^ place);
    } catch (...) {
      return mix64(place);
    }
  }();
  return seed;
}

// Holds the shared buffers. The process has one such table, table().
class Table {
 public:
  // If the table has an equal buffer, gives that buffer a further holder, and returns it. Otherwise
  // adds `own`, and returns it.
  Header* add(Header* own) noexcept {
    const std::lock_guard lock(mutex_);
    for (Header* each = list_of(own->hash); each != nullptr; each = each->next) {
      if (equal(*each, *own)) {
        ++each->holders;
        return each;
      }
    }
    if (count_ > mask_) {
      grow();
    }
    Header*& list = list_of(own->hash);
    own->next = list;
    own->holders = 1;
    list = own;
    ++count_;
    return own;
  }

  // Takes the buffer out of the table if the caller is its only holder. Returns whether it did.
  bool take_out(Header* shared) noexcept {
    const std::lock_guard lock(mutex_);
    if (shared->holders != 1) {
      return false;
    }
    remove(shared);
    return true;
  }

  // Takes one holder away. If it was the last, takes the buffer out of the table, and returns true.
  bool release(Header* shared) noexcept {
    const std::lock_guard lock(mutex_);
    if (shared->holders != 1) {
      --shared->holders;
      return false;
    }
    remove(shared);
    return true;
  }

  SharedBuffers figures() noexcept {
    const std::lock_guard lock(mutex_);
    SharedBuffers figures;
    for (size_t i = 0; i <= mask_; ++i) {
      for (const Header* each = lists_[i]; each != nullptr; each = each->next) {
        ++figures.buffers;
        figures.holders += each->holders;
      }
    }
    return figures;
  }

 private:
  static constexpr size_t kFirstLists = 64;

  Header*& list_of(uint64_t hash) noexcept { return lists_[hash & mask_]; }

  static bool equal(Header& a, Header& b) noexcept {
    return a.hash == b.hash && a.bytes == b.bytes &&
           std::memcmp(a.content(), b.content(), a.bytes) == 0;
  }

  void remove(Header* shared) noexcept {
    Header** link = &list_of(shared->hash);
    while (*link != shared) {
      link = &(*link)->next;
    }
    *link = shared->next;
    if (--count_ == 0 && lists_ != first_) {
      delete[] lists_;
      lists_ = first_;
      mask_ = kFirstLists - 1;
    }
  }

  // Doubles the number of lists. Without memory for that, the lists get longer.
  void grow() noexcept {
    const size_t lists = 2 * (mask_ + 1);
    auto* const grown = new (std::nothrow) Header* [lists] {};
    if (grown == nullptr) {
      return;
    }
    for (size_t i = 0; i <= mask_; ++i) {
      while (lists_[i] != nullptr) {
        Header* const moved = lists_[i];
        lists_[i] = moved->next;
        Header*& list = grown[moved->hash & (lists - 1)];
        moved->next = list;
        list = moved;
      }
    }
    if (lists_ != first_) {
      delete[] lists_;
    }
    lists_ = grown;
    mask_ = lists - 1;
  }

  std::mutex mutex_;
  Header* first_[kFirstLists] = {};
  Header** lists_ = first_;
  size_t mask_ = kFirstLists - 1;
  size_t count_ = 0;
};

Table& table() noexcept {
  static Lasting<Table> table;
  return *table;
}

}  // namespace

std::byte* make_buffer(size_t bytes) {
  std::byte* const own = allocate(bytes);
  std::memset(own, 0, bytes);
  return own;
}

void free_buffer(std::byte* own) noexcept {
  if (own != nullptr) {
    ::operator delete(own - header_of(own)->offset);
  }
}

const std::byte* share_buffer(std::byte* own) noexcept {
  Header* const header = header_of(own);
  header->hash = XXH3_64bits_withSeed(own, header->bytes, random_seed());
  Header* const shared = table().add(header);
  if (shared != header) {
    free_buffer(own);
  }
  return shared->content();
}

std::byte* own_buffer(const std::byte* shared) {
  Header* const header = header_of(shared);
  if (table().take_out(header)) {
    return header->content();
  }
  std::byte* const own = allocate(header->bytes);
  std::memcpy(own, shared, header->bytes);
  release_buffer(shared);
  return own;
}

void release_buffer(const std::byte* shared) noexcept {
  Header* const header = header_of(shared);
  if (table().release(header)) {
    free_buffer(header->content());
  }
}

SharedBuffers shared_buffers() noexcept { return table().figures(); }

}  // namespace cuckoo
