// A consistent hash: it says which node owns a key, and a change of the nodes moves few keys.
//
//   auto made = cuckoo::HashRing::make();
//   if (!made.ok()) { … made.error().message … }
//   cuckoo::HashRing& ring = made.value();
//   (void)ring.add_all({{"cache-1"}, {"cache-2"}, {"cache-3", 2}});
//   ring.owner("user:42");        // "cache-3", say
//   ring.replicas("user:42", 2);  // the owner and the next node
//
// Algorithms
//   kRing    max(1, round(vnodes · weight)) points a node on a ring of 2^64 positions
//   kKetama  the points of memcached's clients, bit for bit as the dialect and the key hash say
//   kSlots   65,536 slots, dealt by the weights, so that shares are even to 1/65536. Owners depend
//            on the order of the changes: hand such a ring on as bytes
//
// Owners. With kRing and kKetama they follow only from the nodes, their weights and the options, on
// every machine. A node that comes or grows only takes keys, one that goes or shrinks only gives
// its own. This is not so with kKetama and unequal weights, nor at some numbers of nodes. Keys are
// those of SQL: a ring that came from a table whose key has no type, or the type TEXT, gives the
// same owners as the table. If a real with a fraction is hashed as a text, by kKetama or text_keys,
// that text has 15 digits, the last one rounded to the nearest. A table whose key has the type TEXT
// turns a real into the text that its version of SQLite makes, which may have 17 digits.
//
// Bytes. to_bytes() gives the image that hash_ring_export() gives in SQL. from_bytes() takes an
// image of either, on any machine.
//
// Errors
//   kInvalid  an argument; nothing changed
//   kFull     no room: 65,536 nodes; kRing: 2^24 points; nothing changed
//   kCorrupt  from_bytes(): the bytes are no image, or damaged; check(): a defect
// The functions throw only std::bad_alloc, unless options.md5 throws something else. If add(),
// set_weight(), rename(), remove() or clear() throws, the ring is lost, as if it were moved from.
// If that matters, change a copy. If another function throws, nothing changed. A ring that was
// moved from, or made by no make(), has no nodes and takes none: kInvalid.
//
// Threads. Many threads may call const functions at once while none calls another function. If a
// ring must change while it is asked, change a copy, and publish it as a
// std::shared_ptr<const HashRing>.
//
// References. Names that owner() and replicas() return are valid until the ring changes, is
// assigned to or ends. A move leaves them valid, with the ring that was moved to.
//
// Complexity, with N nodes, p points of the node that is named and P points of all nodes. With
// kRing P is vnodes · the sum of the weights, with kKetama at most 160 · N, with kSlots 65,536
// slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cuckoo/key.hpp>
#include <cuckoo/result.hpp>
#include <cuckoo/ring_algorithm.hpp>

namespace cuckoo {
class MemoryRing;
}

namespace cuckoo {
inline namespace v1 {

// Writes the MD5 of the bytes. Returns false if there is no memory; then the caller throws
// std::bad_alloc. Many threads may call it at once. <cuckoo/openssl_md5.hpp> has one.
using Md5 = bool (*)(std::span<const std::byte> bytes, std::span<std::byte, 16> digest);

struct HashRingOptions {
  RingAlgorithm algorithm = RingAlgorithm::kRing;
  uint32_t vnodes = 1000;  // kRing: points per unit of weight, 1 … 100,000
  uint64_t seed = 0;       // kRing, kSlots
  // True: the key 42 is the text "42", as in a table of hash_ring(key TEXT).
  bool text_keys = false;
  KetamaDialect dialect = KetamaDialect::kLibketama;
  KetamaKeyHash key_hash = KetamaKeyHash::kMd5;
  Md5 md5 = nullptr;  // kKetama needs one
};

struct RingNode {
  std::string name;   // without a NUL character
  double weight = 1;  // 1e-15 … 1e15; kRing: vnodes · weight is at most 2^20
};

// A part of all keys that gets another owner.
struct RingMove {
  std::string from;  // empty: there was no node
  std::string to;    // empty: there is none
  double share = 0;  // of all keys
};

class HashRing {
 public:
  // Makes an object that has no nodes and takes none, to be assigned to.
  HashRing() noexcept;
  HashRing(HashRing&&) noexcept;
  HashRing& operator=(HashRing&&) noexcept;
  // Copies the ring. O(P).
  HashRing(const HashRing& other);
  HashRing& operator=(const HashRing& other);
  ~HashRing();

  // Makes a ring without nodes. kInvalid: an option is out of its range, or kKetama lacks an MD5;
  // the text says which. O(1).
  static Result<HashRing> make(const HashRingOptions& options = {});
  // Makes a ring of an image that to_bytes() or hash_ring_export() gave. Verifies all of it:
  // kCorrupt. kInvalid: its keys are changed by a table in another way than by text_keys, or it
  // needs an MD5. O(P).
  static Result<HashRing> from_bytes(std::span<const std::byte> image, Md5 md5 = nullptr);

  // --- keys

  // Returns the node that owns the key; empty if the ring has no nodes. O(1): 2 or 3 loads (kRing),
  // 1 load (kSlots), the key's hash and 2 or 3 loads (kKetama).
  std::string_view owner(const Key& key) const;
  // Returns the owner and the nodes that would own the key next, `count` different ones; all if
  // there are fewer. O(count) while that is far below N.
  std::vector<std::string_view> replicas(const Key& key, size_t count) const;

  // --- nodes

  size_t size() const noexcept;  // O(1)
  bool empty() const noexcept { return size() == 0; }
  bool contains(std::string_view name) const noexcept;  // O(log N)
  // Returns the nodes in the order of their names. O(N).
  std::vector<RingNode> nodes() const;
  // Returns 0 if there is no such node. O(log N).
  double weight(std::string_view name) const noexcept;
  // Returns the exact part of all keys that the node owns. 0 if there is no such node; with kKetama
  // also for a node whose weight is small. O(log N).
  double share(std::string_view name) const noexcept;

  // Each of these takes O(N + p), 0.1 to 0.6 ms for 1,000 vnodes, and never more than to make all
  // points anew: O(P). kSlots: O(P + N log N), half a millisecond.
  //
  // kInvalid: there is a node of that name, or none, or the name or the weight is out of its range.
  Status add(std::string_view name, double weight = 1);
  Status set_weight(std::string_view name, double weight);
  // Gives a node another name. Its points follow from its name, so keys move.
  Status rename(std::string_view name, std::string_view new_name);
  // False: there was no such node.
  Result<bool> remove(std::string_view name);
  Status clear();
  // Adds all of the nodes or, if it fails, none. O(P) for all together, so use it for many nodes.
  // kSlots: the owners are the same as after one add() after the other.
  Status add_all(std::span<const RingNode> nodes);
  Status add_all(std::initializer_list<RingNode> nodes) {
    return add_all(std::span(nodes.begin(), nodes.size()));
  }
  // Makes these the nodes of the ring: adds the missing ones, and removes all others. All or
  // nothing, as add_all().
  Status set_nodes(std::span<const RingNode> nodes);
  Status set_nodes(std::initializer_list<RingNode> nodes) {
    return set_nodes(std::span(nodes.begin(), nodes.size()));
  }

  // --- the ring as a whole

  HashRingOptions options() const noexcept;
  // Returns the moves when `after` takes this ring's place, by names in their order. kInvalid: the
  // rings place keys differently, because their algorithm, seed, key hash or text_keys differs.
  // O(P).
  Result<std::vector<RingMove>> moves_to(const HashRing& after) const;
  // Returns the ring's mark, as hash_ring_mark() in SQL. Two rings have equal marks if every key
  // has the same owners in both, replicas too. Otherwise the marks differ, except by a chance of
  // 2^-64. 0 for a ring that no make() made. O(P).
  uint64_t mark() const noexcept;
  // Returns the mark as SQL shows it: 16 hexadecimal digits.
  std::string mark_text() const;
  // Returns an image of it: the nodes' names and some bytes each; kSlots 131 kB more. O(P), because
  // the image has the mark.
  Result<std::vector<std::byte>> to_bytes() const;
  // Verifies the whole ring. It finds a defect of memory or of this library. O(P).
  Status check() const;

 private:
  explicit HashRing(std::unique_ptr<MemoryRing>&& ring) noexcept;
  template <class Change>
  Status change(std::string_view name, Change&& change);

  std::unique_ptr<MemoryRing> ring_;
};

}  // namespace v1
}  // namespace cuckoo
