// Reads the entries of a store that can't be mounted, because its checkpoint or the log after it is
// damaged. It trusts only the headers of the blocks and the records themselves. It writes nothing.
//
// For each key it gives the newest version that it can read. That need not be the key's last one.
// For example, a key has the versions 1 and 2, and version 2 is damaged: it gives version 1. And if
// the record of a removal is damaged, or was collected, it gives a key that was removed. A store
// that can be mounted knows better: use a scan of FlashScan::Of::kSound there.
//
// Invariants
//   I1  what it gives was verified as a whole, and each key comes once.
//   I2  it takes memory for the keys, and for one value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/flash/log.hpp"
#include "core/flash/state.hpp"

namespace cuckoo::core {

class FlashSalvage {
 public:
  FlashSalvage(FlashDevice& device, const FlashStoreOptions& options)
      : state_(device, options), log_(device, state_) {}

  // Reads all blocks. Comes first. kInterrupted and kStorage are errors, anything else is damage.
  Status begin();
  // Goes on to the next entry, by ascending LSN. Returns false if there is none.
  Result<bool> next();
  // Of the entry that it is at; valid until next().
  std::span<const std::byte> key() const noexcept { return key_; }
  const std::vector<std::byte>& value() const noexcept { return value_; }
  uint32_t position() const noexcept { return position_; }

 private:
  struct Version {
    uint64_t lsn = 0;
    uint32_t position = 0;
    bool removed = false;
  };
  Status read_block(uint32_t block);
  Result<uint32_t> take(uint32_t position);
  Result<bool> read_value(const FlashLoadedRecord& head);

  FlashState state_;  // only its layout and the sequences of its blocks count
  FlashLog log_;
  std::map<std::string, Version> newest_;                    // by key
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> parts_;  // (LSN, offset) -> position
  std::vector<std::pair<uint64_t, uint32_t>> entries_;       // (LSN, position), ascending
  size_t next_ = 0;
  std::vector<std::byte> key_, value_;
  uint32_t position_ = 0;
};

}  // namespace cuckoo::core
