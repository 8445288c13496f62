// Buffers of which equal ones are one: what several connections of a process loaded and none of
// them has changed since is in memory once.
//
// A buffer is its maker's own, who may write to it, until it is given to share_buffer(). If an
// equal one is shared already, that one is taken in its place. To change a shared buffer, ask for
// one of your own: the same memory if nobody else holds it, and a copy if somebody does.
//
// Layout
//   header    next buffer in the list, hash, holders, bytes, where the allocation begins
//   content   at the start of a cache line
// All shared buffers of the process stand in one hash table: lists through their headers, so that
// sharing needs no memory. (A module that was loaded twice in a process has two tables.)
//
// Invariants
//   I1  no two buffers in the table are equal: their bytes are compared, no hash is believed.
//   I2  a buffer in the table is never written. Its holders are the share_buffer() calls that
//       returned it less the own_buffer() and release_buffer() calls that gave it back.
//   I3  with its last holder a buffer leaves the table; an empty table has no memory.
//   I4  a failure to get memory loses nothing: only make_buffer() and own_buffer() throw
//       (std::bad_alloc), before they change anything.
//
// Threads: any function in any thread. The table has a lock, which is held for one comparison at
// most, or while the table grows. Reading a buffer that one holds takes none.
// Exit: nothing of the table is destroyed, so buffers may be released after static destructors ran.
// Fork: a child has its own copy of all of it. Only a thread that forks while another one is in
// these functions leaves its child a lock that nobody opens, as it does with those of SQLite's
// allocator: such a child must not use SQLite before exec, and if it only exits, nothing is asked.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuckoo {

// What a buffer takes beside its content.
inline constexpr size_t kBufferOverhead = 88;
inline constexpr size_t kMaxBufferBytes = size_t{1} << 31;

// All zero. 0 < bytes <= kMaxBufferBytes.
std::byte* make_buffer(size_t bytes);
void free_buffer(std::byte* own) noexcept;  // null is none

// The caller holds what is returned instead of what it had.
const std::byte* share_buffer(std::byte* own) noexcept;
std::byte* own_buffer(const std::byte* shared);
void release_buffer(const std::byte* shared) noexcept;

struct SharedBuffers {
  size_t buffers = 0;    // in the table
  uint64_t holders = 0;  // of all of them
};
SharedBuffers shared_buffers() noexcept;

}  // namespace cuckoo
