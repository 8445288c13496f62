// Memory in which equal buffers are one. For example, if several connections of a process loaded
// equal pages, and none of them changed one since, each page is in memory once.
//
// A caller that makes a buffer may write to it until it gives it to share_buffer(). If an equal
// buffer is shared already, share_buffer() returns that one instead. To change a shared buffer,
// call own_buffer(). It returns the same memory if there is no other holder, and a copy otherwise.
//
// Layout
//   header    next buffer in the list, hash, holders, bytes, where the allocation begins
//   content   at the start of a cache line
// All shared buffers of the process are in one hash table. Its lists link their headers, so that
// sharing needs no memory. (A module that was loaded twice in a process has two tables.)
//
// Invariants
//   I1  no two buffers in the table are equal: their bytes are compared, not only their hashes.
//   I2  a buffer in the table is never written. The number of its holders is the number of
//       share_buffer() calls that returned it, less the number of own_buffer() and release_buffer()
//       calls that gave it back.
//   I3  a buffer leaves the table with its last holder; an empty table has no memory.
//   I4  a failure to get memory loses nothing, because only make_buffer() and own_buffer() throw
//       (std::bad_alloc), before they change anything.
//
// Threads: any thread may call any function. The table has a lock, which is held for one comparison
// of bytes at most, or while the table grows. A holder reads its buffer without a lock.
// Exit: the table is never destroyed, so buffers may be released after static destructors ran.
// Fork: a child has its own copy of everything. But if a thread forks while another one is in these
// functions, the child has a lock that is never released. The locks of SQLite's allocator have the
// same problem. Such a child must not use SQLite before exec; it may exit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuckoo {

// Bytes that a buffer takes beside its content.
inline constexpr size_t kBufferOverhead = 88;
inline constexpr size_t kMaxBufferBytes = size_t{1} << 31;

// Returns a buffer of zeros. 0 < bytes <= kMaxBufferBytes.
std::byte* make_buffer(size_t bytes);
void free_buffer(std::byte* own) noexcept;  // does nothing for null

// The caller holds the buffer that is returned instead of the one that it gave.
const std::byte* share_buffer(std::byte* own) noexcept;
std::byte* own_buffer(const std::byte* shared);
void release_buffer(const std::byte* shared) noexcept;

struct SharedBuffers {
  size_t buffers = 0;    // in the table
  uint64_t holders = 0;  // of all of them
};
SharedBuffers shared_buffers() noexcept;

}  // namespace cuckoo
