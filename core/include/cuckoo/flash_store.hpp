// An exact map from byte strings to byte strings on a flash device or in a file: what was synced
// survives kill -9 and power cuts. It collects its garbage and levels the wear of the device.
//
//   auto opened = cuckoo::FlashStore::open_file("cart.flash", {.create = true});
//   if (!opened.ok()) { … opened.error().message … }
//   cuckoo::FlashStore store = std::move(opened.value());
//   cuckoo::Status put = store.put("apple", "3");
//
// Guarantees
//   G1  after a power cut or kill -9 the store holds what the first n changes made, for some n: all
//       that came before the last sync() are among them. A change, also a batch, is there as a
//       whole or not at all. After kill -9 alone nothing is lost that was answered by ok(): a file
//       has it.
//   G2  nothing read from the device is trusted: damage is an Error of kCorrupt, not a wrong value.
//       Damage to the last block that was written may look like a power cut, and ends the log
//       there.
//   G3  no function throws anything but std::bad_alloc, or what the functions given to it throw.
//   G4  an object that holds no store (made by the default constructor, moved from, released)
//       answers every call, with kInvalid or with zeros.
//
// Errors. kInvalid (a key or a value too long) and kFull (no room): nothing has changed. After
// every other Error of a change, and after an exception in one, the store is in an unknown state:
// it answers each later call with kStorage, which says so, until it is opened again:
// open(release()). What is there then is told by G1. An Error of a read changes nothing.
//
// Threads. One thread at a time may use an object, for reading too: a look-up uses buffers of the
// object. const functions may be called by many threads while none calls another one.
//
// Complexity. E entries, B erase blocks, V bytes of a value. Look-ups read one record and one more
// for each eighth of a block of the value. Puts append as much, and collections make that a small
// multiple of it: stats() counts the bytes. Memory: 5 to 10 bytes an entry and 60 a block. Keys
// are found by a hash whose seed each store draws when it is made, so strangers can't choose keys
// that slow it down.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <cuckoo/flash_device.hpp>
#include <cuckoo/result.hpp>

namespace cuckoo {
inline namespace v1 {

// A key or a value as a parameter: a text, or bytes. It refers to them, and is nothing to be kept.
class FlashBytes {
 public:
  template <class Bytes>
  requires std::convertible_to<const Bytes&, std::span<const std::byte>> FlashBytes(
      const Bytes& bytes)
  noexcept : bytes_(bytes) {}
  template <class Text>
  requires(std::convertible_to<const Text&, std::string_view> && !std::is_pointer_v<Text>)
      FlashBytes(const Text& text)
  noexcept : bytes_(bytes_of(text)) {}
  FlashBytes(const char* text) noexcept  // up to its first zero; a null pointer is empty
      : bytes_(bytes_of(text != nullptr ? text : "")) {}
  FlashBytes(std::nullptr_t) = delete;

  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

 private:
  static std::span<const std::byte> bytes_of(std::string_view text) noexcept {
    return std::as_bytes(std::span(text.data(), text.size()));
  }

  std::span<const std::byte> bytes_;
};

// Changes that FlashStore::write() makes all together. It has copies of their bytes.
class FlashBatch {
 public:
  // O(bytes). A later change of a key replaces an earlier one.
  void put(FlashBytes key, FlashBytes value);
  void remove(FlashBytes key);
  void clear() noexcept;
  size_t size() const noexcept { return changes_.size(); }
  bool empty() const noexcept { return changes_.empty(); }

 private:
  friend class FlashStore;
  struct Change {
    size_t key_bytes;
    std::optional<size_t> value_bytes;  // none: remove
  };
  std::vector<Change> changes_;
  std::vector<std::byte> bytes_;  // of keys and values, one after the other
};

struct FlashOptions {
  // Make the file when there is none, and a store on a device that is blank. Otherwise these are
  // errors.
  bool create = false;
  // Of a file that open_file() makes. One that is there has its own.
  FlashGeometry geometry{};
};

struct FlashStats {
  uint64_t entries = 0;
  // Room: entries are charged what they take, and usable is what all of them may be charged.
  uint64_t used_bytes = 0;
  uint64_t usable_bytes = 0;
  double fill = 0;  // used by usable
  uint32_t blocks = 0;
  uint32_t free_blocks = 0;
  uint32_t bad_blocks = 0;  // worn out
  // Since the store was made; after a power cut, a little less.
  uint64_t user_bytes = 0;        // of keys and values put, of keys removed
  uint64_t programmed_bytes = 0;  // by user_bytes: write amplification
  uint64_t erases = 0;
  uint64_t collections = 0;
  uint64_t checkpoints = 0;
  // Erases of a block, of those that are not bad.
  uint32_t least_erases = 0;
  uint32_t most_erases = 0;
  double mean_erases = 0;
  double deviation_erases = 0;
  uint64_t memory_bytes = 0;  // of the index and the block table
};

class FlashStore {
 public:
  // Holds no store (G4).
  FlashStore() noexcept;
  FlashStore(FlashStore&& other) noexcept;
  FlashStore& operator=(FlashStore&& other) noexcept;
  FlashStore(const FlashStore&) = delete;
  FlashStore& operator=(const FlashStore&) = delete;
  // Does not sync: what a power cut takes from then on is told by G1.
  ~FlashStore();

  // The store on a device. Without one there: kInvalid; options.create makes one, if the device is
  // blank. On an error the device is lost, the file is not. O(E + B) memory and time, and it
  // writes: a checkpoint when there were changes since the last one.
  static Result<FlashStore> open(std::unique_ptr<FlashDevice> device,
                                 const FlashOptions& options = {});
  // … in a FileDevice.
  static Result<FlashStore> open_file(const std::string& path, const FlashOptions& options = {});

  bool holds_store() const noexcept { return impl_ != nullptr; }
  // Gives the device back; this object holds no store afterwards. Null when it held none. No sync.
  std::unique_ptr<FlashDevice> release() noexcept;

  // --- reading. O(V) on average.
  Result<bool> contains(FlashBytes key);
  // nullopt: the key is not there.
  Result<std::optional<std::vector<std::byte>>> get(FlashBytes key);
  // The same into a buffer, which is replaced. False: the key is not there, and so says the empty
  // buffer. Without allocating when the buffer is large enough.
  Result<bool> get(FlashBytes key, std::vector<std::byte>& value);
  Result<bool> get(FlashBytes key, std::string& value);
  // Calls `visit` with each entry, the one first whose last change is the oldest, until it gives
  // false. Inside, the store may be read, and refuses changes with kInvalid. What `visit` is given
  // is valid until it returns. O(E log E), and O(V) each.
  Status for_each(const std::function<bool(FlashBytes key, FlashBytes value)>& visit);

  // --- changing. O(V) on average; a collection or a checkpoint, O(E), comes now and then.
  // Inserts or replaces.
  Status put(FlashBytes key, FlashBytes value);
  // False: the key is there already, and keeps its value.
  Result<bool> insert(FlashBytes key, FlashBytes value);
  // False: the key was not there.
  Result<bool> remove(FlashBytes key);
  // All of them or none (G1). A batch of no changes does nothing.
  Status write(const FlashBatch& batch);
  // Removes all entries. O(E).
  Status clear();
  // Frees all that is dead, and shortens the next open(). O(E + bytes that are live).
  Status collect();
  // All changes so far survive a power cut.
  Status sync();

  // --- verifying and figures
  // Reads all entries and verifies every invariant: kCorrupt, saying what is wrong. O(E + bytes).
  Status check();
  uint64_t size() const noexcept;  // entries. O(1)
  FlashStats stats() const;        // O(B)
  FlashGeometry geometry() const noexcept;
  size_t max_key_bytes() const noexcept;  // O(1); a value has less than 2^31 bytes

 private:
  class Impl;
  explicit FlashStore(std::shared_ptr<Impl> impl) noexcept;

  // Shared with a for_each() that runs meanwhile.
  std::shared_ptr<Impl> impl_;
};

}  // namespace v1
}  // namespace cuckoo
