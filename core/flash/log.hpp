// The log on the device: opening blocks, appending records, reading them back.
//
// Invariants
//   I1  after append() returned a position, the record is on the device, and the state knows it.
//   I2  a block whose program failed gets no further record; it is retired when it becomes free.
//   I3  load(), load_part() and read_head() give a record whose CRC holds, or an error.
//   I4  an erase comes after a sync of the records that made the block free: B1 in policy.hpp.
// Errors: kStorage: the device is gone. kFlashFailure: this block is worn out. kFull: no block is
// free. kCorrupt: no record where one must be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/flash/device.hpp"
#include "core/flash/record.hpp"
#include "core/flash/state.hpp"

namespace cuckoo::core {

// A whole record in memory: the views are valid until the next load().
struct FlashLoadedRecord {
  FlashRecordHeader header;
  std::span<const std::byte> key, value;
};

class FlashLog {
 public:
  FlashLog(FlashDevice& device, FlashState& state) noexcept : device_(device), state_(state) {}
  FlashLog(const FlashLog&) = delete;
  FlashLog& operator=(const FlashLog&) = delete;

  // --- reading
  Status read(uint64_t address, std::span<std::byte> out);
  uint64_t read_bytes() const noexcept { return read_bytes_; }  // by read(), not by load()
  // Loads and verifies the whole record at a position that the index knows.
  Status load(uint32_t position, FlashLoadedRecord& record);
  // Loads and verifies the record at a position if it is that part of a value. `bytes`: the value's
  // from there on. False: it is not, or it can't be read.
  Result<bool> load_part(uint32_t position, uint64_t lsn, uint32_t offset, uint64_t bytes,
                         FlashLoadedRecord& part);
  // Returns where the log probably goes on after a record of `units` units.
  uint32_t position_after(uint32_t position, uint32_t units) const noexcept;
  // Tells the device that the records of so many units from there on are about to be read, or of
  // fewer. Returns the position up to which it did.
  Result<uint32_t> will_load(uint32_t position, uint64_t units);
  // Reads and verifies a record without its value, but a drop with it. False: there is none.
  Result<bool> read_head(uint32_t position, FlashLogRecord& record);
  // Does the same in a block with that sequence. `image`: the block's bytes if they were read
  // already, or empty.
  Result<bool> scan(uint32_t position, uint64_t sequence, std::span<const std::byte> image,
                    FlashLogRecord& record);

  // --- writing
  Status program(uint64_t address, std::span<const std::byte> bytes);
  Status erase(uint32_t block);
  // Makes the device do all programs and erases so far before any later one.
  Status sync();
  // Erases the block, unless nothing was programmed since it was, and writes its erase header.
  Status prepare(uint32_t block);
  // Prepares it and writes its open header.
  Status open_block(uint32_t block, FlashPurpose purpose, FlashBlockKind kind, uint32_t next);
  // Returns the record's position. The stream goes on in another block when it must.
  Result<uint32_t> append_hot(const FlashRecordHeader& header, std::span<const std::byte> key,
                              std::span<const std::byte> value);
  Result<uint32_t> append_cold(const FlashRecordHeader& header, std::span<const std::byte> key,
                               std::span<const std::byte> value);
  // Appends a copy to the cold stream. `header` becomes that of the copy.
  Result<uint32_t> append_copy(uint32_t from, FlashRecordHeader& header,
                               std::span<const std::byte> key, std::span<const std::byte> value);

 private:
  bool goes_on_behind(uint32_t block) const noexcept;
  template <class Expected>
  Status verify(uint64_t address, size_t bytes, Expected expected, const char* otherwise);
  Status open_next(FlashStream& stream, FlashPurpose purpose);
  Result<uint32_t> append(FlashStream& stream, FlashPurpose purpose,
                          const FlashRecordHeader& header, std::span<const std::byte> key,
                          std::span<const std::byte> value);

  FlashDevice& device_;
  FlashState& state_;
  uint64_t read_bytes_ = 0;
  bool appended_ = false;          // a record, since the last sync: so a block may have become free
  std::vector<std::byte> loaded_;  // of load()
  std::vector<std::byte> encoded_;   // of append()
  std::vector<std::byte> verified_;  // of verify()
};

}  // namespace cuckoo::core
