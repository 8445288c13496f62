// The device of a FlashStore: an interface of four verbs, and a device in memory and one in a file.
//
// A device is a row of erase blocks, and a block is a row of program units. An erase makes a whole
// block FF; a program writes whole units that are FF. To put a store on anything else, on a flash
// chip for example, derive a class from FlashDevice.
//
// A device must keep these rules
//   D1  read() gives the bytes that were programmed, and FF where none were since the last erase.
//   D2  all that was done before a sync() that succeeded stays, whatever happens later.
//   D3  a power cut may undo later programs and erases, each byte on its own. Such a byte has the
//       value that it had at the last sync(), or any value that it was given since. Afterwards the
//       byte stays so.
//   D4  an operation that fails answers with an Error. kFlashFailure says that this block is worn
//       out: the store retires the block and goes on in another one. Every other code says that the
//       device is gone: then the store refuses all changes until it is opened again.
// A device may rely on these rules
//   D5  addresses and lengths are on the device; a program is of whole units in one block.
//   D6  a unit is programmed once at most between two erases of its block, and in ascending order.
//   D7  the four verbs are called by the thread that called the store, and never two at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <cuckoo/result.hpp>

namespace cuckoo {
inline namespace v1 {

// The numbers of a device; by default 64 MiB.
struct FlashGeometry {
  uint32_t sector_size_bytes = 4096;   // 512 … 65536, a power of two
  uint32_t sectors_per_block = 16;     // 1 … 1024
  uint32_t program_unit_bytes = 16;    // 16, 32 or 64
  uint32_t blocks = 1024;              // 18 or more; 2^32 units on the device at most
  uint32_t endurance_erases = 100000;  // 1 … 10^9: how long a block lasts, if it wears out

  uint32_t block_bytes() const noexcept { return sector_size_bytes * sectors_per_block; }
  uint64_t size_bytes() const noexcept { return uint64_t{blocks} * block_bytes(); }

  // Returns kInvalid if a member is out of its range; the text names both.
  Status check() const;

  friend bool operator==(const FlashGeometry&, const FlashGeometry&) = default;
};

class FlashDevice {
 public:
  FlashDevice() = default;
  FlashDevice(const FlashDevice&) = delete;
  FlashDevice& operator=(const FlashDevice&) = delete;
  virtual ~FlashDevice() = default;

  // The store asks once, when it is opened.
  virtual FlashGeometry geometry() const noexcept = 0;
  virtual Status read(uint64_t address, std::span<std::byte> out) = 0;
  virtual Status program(uint64_t address, std::span<const std::byte> units) = 0;
  virtual Status erase(uint32_t block) = 0;
  virtual Status sync() = 0;
};

// A device in memory, for tests and caches. A block takes memory from its first program on.
//
// Only one thread may use it at a time. An operation that returns an Error changes nothing. Its
// contents end with the object.
class MemoryDevice final : public FlashDevice {
 public:
  // Makes a blank device. kInvalid: the geometry is out of its range. O(blocks).
  static Result<std::unique_ptr<MemoryDevice>> create(const FlashGeometry& geometry = {});

  FlashGeometry geometry() const noexcept override { return geometry_; }
  // O(bytes). They return kInvalid for a call that D5 excludes.
  Status read(uint64_t address, std::span<std::byte> out) override;
  Status program(uint64_t address, std::span<const std::byte> units) override;
  Status erase(uint32_t block) override;
  Status sync() override { return {}; }

 private:
  explicit MemoryDevice(const FlashGeometry& geometry);

  FlashGeometry geometry_;
  std::vector<std::vector<std::byte>> blocks_;  // an empty one is FF
};

// A device in a file. Only one object has it open to write, in all processes (WebAssembly has no
// locks). Others may open it to read at any time.
//
// create() takes all the room that the device needs. So a full disk stops only create(), and later
// no change and no open(). There are two exceptions. A copy of the file may have holes instead (cp
// makes them). And some file systems (btrfs, ZFS, APFS) write each change to another place. Then a
// full disk may stop a change or open(): the store returns kStorage with the operating system's
// code. When it is opened again, with some room, it has all that was synced.
// sync() is fdatasync(), or FlushFileBuffers() on Windows. It relies on the disk to keep the bytes
// that the disk says it has written. The file's bytes: docs/FORMAT.md, "A flash device in a file".
//
// Only one thread may use it at a time.
class FileDevice final : public FlashDevice {
 public:
  // Makes a blank device. kInvalid: the path exists, and is not a file that an earlier create()
  // left unfinished, which has only zeros. kStorage, with the system's code: for example, the disk
  // has no room. Then no file stays, except that one that was there becomes empty. `path` is UTF-8,
  // on Windows too. O(1) where the file system can take room without writing, otherwise O(size).
  static Result<std::unique_ptr<FileDevice>> create(const std::string& path,
                                                    const FlashGeometry& geometry = {});
  // Opens a device. kStorage, with the system's code: there is no such file, or another process has
  // it open to write. kCorrupt: the file is none that create() made, or is too short. O(1).
  static Result<std::unique_ptr<FileDevice>> open(const std::string& path);
  // Does the same without a lock, and without a permission to write. program() and erase() of the
  // device return kStorage, and sync() does nothing. Others may write the file meanwhile.
  static Result<std::unique_ptr<FileDevice>> open_to_read(const std::string& path);

  ~FileDevice() override;
  FlashGeometry geometry() const noexcept override;
  // O(bytes). They return kInvalid for a call that D5 excludes.
  Status read(uint64_t address, std::span<std::byte> out) override;
  Status program(uint64_t address, std::span<const std::byte> units) override;
  Status erase(uint32_t block) override;
  Status sync() override;

 private:
  class Impl;
  explicit FileDevice(std::unique_ptr<Impl> impl) noexcept;

  std::unique_ptr<Impl> impl_;
};

}  // namespace v1
}  // namespace cuckoo
