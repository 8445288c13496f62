// An exact map from byte strings to byte strings on a flash device or in a file. Changes that were
// synced survive kill -9 and power cuts. It collects its garbage and levels the wear of the device.
//
//   auto opened = cuckoo::FlashStore::open_file("cart.flash", {.create = true});
//   if (!opened.ok()) { … opened.error().message … }
//   cuckoo::FlashStore store = std::move(opened.value());
//   cuckoo::Status put = store.put("apple", "3");
//
// Guarantees
//   G1  after a power cut or kill -9 the store has the first n changes, for some n. All changes
//       before the last sync() are among them. A change, also a batch, is there as a whole or not
//       at all. After kill -9 alone no change is lost that returned ok(), because the file has it.
//   G2  nothing read from the device is trusted: damage is an Error of kCorrupt, not a wrong value.
//       It costs the entries whose records are damaged. Others are read, and a damaged one can be
//       put anew or removed. (A key is known by 32 bits of its hash then.) The erase block is given
//       up. If the checkpoint is damaged, or a record that was written after it, open() returns an
//       Error. Then for_each_sound() gives every entry that can be read. If the last records are
//       damaged, the store may take that for a power cut, and end with the record before them.
//   G3  functions throw only std::bad_alloc, and the exceptions of functions that you give to them.
//   G4  an object that holds no store (made by the default constructor, moved from, released)
//       answers every call, with kInvalid or with zeros.
//
// Errors. After kInvalid (a key or a value too long) and kFull (no room) nothing has changed. After
// every other Error of a change, and after an exception in one, the state of the store is unknown.
// Then each later call returns kStorage, whose text says so, until you open the store again:
// open(release()). G1 says which changes it has then. An Error of a read changes nothing.
//
// Threads. While one thread changes an object or looks a key up in it (get(), contains()), no other
// thread may use it, because a look-up uses buffers of the object. Many threads may call const
// functions, such as size(), at once.
//
// Complexity. E entries, B erase blocks, V bytes of a value. A look-up reads one record, and one
// more for each eighth of a block of the value. A put appends as much. With collections it is a
// small multiple of that; stats() counts the bytes. Memory: 5 to 10 bytes an entry and 60 a block.
// Keys are found by a hash whose seed each store draws when it is made, so an attacker can't choose
// keys that slow it down.
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

// A key or a value as a parameter: a text, or bytes. It only refers to them, so do not keep it.
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

// Changes that FlashStore::write() makes together. The batch has copies of their bytes.
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
  // True: makes the file if there is none, and a store on a device that is blank. False: both are
  // errors.
  bool create = false;
  // Opens the store only to read it (R1 … R3 of FlashStore::open()). It has to be there.
  bool only_read = false;
  // The geometry of a file that open_file() makes. A file that exists has its own.
  FlashGeometry geometry{};
};

struct FlashStats {
  uint64_t entries = 0;
  // Room: each entry is charged the bytes that it takes. usable_bytes is the most for all of them.
  uint64_t used_bytes = 0;
  uint64_t usable_bytes = 0;
  double fill = 0;  // used by usable
  uint32_t blocks = 0;
  uint32_t free_blocks = 0;
  uint32_t bad_blocks = 0;  // worn out
  // Sums since the store was made; after a power cut, a little less.
  uint64_t user_bytes = 0;        // of keys and values put, of keys removed
  uint64_t programmed_bytes = 0;  // by user_bytes: write amplification
  uint64_t erases = 0;
  uint64_t collections = 0;
  uint64_t checkpoints = 0;
  // Erases of a block, over all blocks that are not bad.
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
  // Does not sync. G1 says which changes a power cut may take.
  ~FlashStore();

  // Opens the store on a device. kInvalid: there is none. With options.create, makes one if the
  // device is blank. On an error the device is destroyed, but not its file. O(E + B) memory and
  // time. It writes a checkpoint if there were changes since the last one.
  //
  // With options.only_read
  //   R1  it writes nothing to the device, here and later. What it would write to open the store,
  //       it keeps in memory: at most some blocks, and a checkpoint of E entries.
  //   R2  every call under "changing" returns kInvalid, sync() too. close() does nothing but let
  //       the device go. All other calls work.
  //   R3  it is meant for a device that nothing writes meanwhile, but it prevents no writer. If
  //       there is one, an answer may be out of date: a value that the key has or had, "not there",
  //       or kCorrupt, which this function may return, too. Then open the store again.
  static Result<FlashStore> open(std::unique_ptr<FlashDevice> device,
                                 const FlashOptions& options = {});
  // Opens the store in a FileDevice. With options.only_read it needs no permission to write and
  // takes no lock. So there may be many readers, and a writer (R3).
  static Result<FlashStore> open_file(const std::string& path, const FlashOptions& options = {});

  // For a device that open() refuses: visits the entries that can be read, as for_each() does. It
  // writes nothing. For each key it gives the newest version that it can read. That may be an older
  // one than the last, and the key may have been removed. O(bytes) time, O(E) memory.
  static Status for_each_sound(FlashDevice& device,
                               const std::function<bool(FlashBytes key, FlashBytes value)>& visit);

  bool holds_store() const noexcept { return impl_ != nullptr; }
  // Returns the device; this object holds no store afterwards. Null: it held none. Does not sync.
  std::unique_ptr<FlashDevice> release() noexcept;

  // --- reading. O(V) on average.
  Result<bool> contains(FlashBytes key);
  // nullopt: the key is not there.
  Result<std::optional<std::vector<std::byte>>> get(FlashBytes key);
  // Does the same into a buffer, which is replaced. False: the key is not there, and the buffer is
  // empty. Does not allocate if the buffer is large enough.
  Result<bool> get(FlashBytes key, std::vector<std::byte>& value);
  Result<bool> get(FlashBytes key, std::string& value);
  // Calls `visit` with each entry, the one with the oldest last change first, until `visit` returns
  // false. If some entries are damaged, kCorrupt comes after all others. `visit` may read the
  // store, which refuses changes with kInvalid. The arguments of `visit` are valid until it
  // returns. O(E log E), and O(V) each.
  Status for_each(const std::function<bool(FlashBytes key, FlashBytes value)>& visit);
  // Does the same without the values, of which it reads an eighth of a block at most. O(E) memory.
  Status for_each_key(const std::function<bool(FlashBytes key)>& visit);

  // --- changing (R2). O(V) on average; a collection or a checkpoint, O(E), comes now and then.
  // Inserts or replaces.
  Status put(FlashBytes key, FlashBytes value);
  // False: the key is there already, and keeps its value.
  Result<bool> insert(FlashBytes key, FlashBytes value);
  // False: the key was not there.
  Result<bool> remove(FlashBytes key);
  // Makes all of the changes or none (G1). A batch of no changes does nothing.
  Status write(const FlashBatch& batch);
  // Removes all entries. O(E).
  Status clear();
  // Frees all dead bytes, gives up blocks that are damaged, and shortens the next open(). O(bytes).
  Status collect();
  // Makes all changes so far survive a power cut.
  Status sync();
  // Writes a checkpoint, so that the next open() has nothing else to read, and damage costs little.
  // Syncs. (R2: neither, if it was opened only to read.) This object holds no store afterwards,
  // also on an error.
  Status close();

  // --- verifying and figures
  // Reads all entries and verifies every invariant. Returns kCorrupt with a text that names the
  // error.
  // O(E + bytes).
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
