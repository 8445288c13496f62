// A filter's storage with changes that are only in memory: a write goes there, a read finds it
// there, and everything else in the storage below. It shows what would be stored, before it is.
//
// Invariants
//   I1  the storage below is read only.
//   I2  a read gives what it would give if every write and erase had been made below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/stored/storage.hpp"

namespace cuckoo {

class OverlayStorage final : public FilterStorage {
 public:
  explicit OverlayStorage(FilterStorage& below) noexcept : below_(below) {}

  Status read_pages(int64_t first, int64_t last, const RowVisitor& visitor) override;
  Status write_page(int64_t id, std::span<const std::byte> row, bool stored) override;
  Status erase_pages(int64_t first, int64_t last) override;

  Status read_log(int64_t first, int64_t last, const RowVisitor& visitor) override;
  Status write_log(int64_t id, std::span<const std::byte> row, bool stored) override;
  Status erase_log(int64_t first, int64_t last) override;

  Status read_items(uint64_t epoch, const ItemVisitor& visitor) override;
  Status write_item(uint64_t epoch, uint64_t key, uint64_t value) override;
  Status erase_item(uint64_t epoch, uint64_t key) override;
  Status erase_items(uint64_t epoch) override;
  Result<uint64_t> count_items() override;

  Status write_record(std::span<const std::byte> record) override;
  Status read_older(uint64_t slot, std::vector<std::byte>& record) override;
  Status write_older(uint64_t slot, std::span<const std::byte> record) override;
  Status read_places(std::vector<std::byte>& places) override;
  Status write_places(std::span<const std::byte> places) override;
  Status read_progress(std::vector<std::byte>& progress) override;
  Status write_progress(std::span<const std::byte> progress) override;

  Status poll() override { return below_.poll(); }

  // The last one that was written; empty before.
  std::span<const std::byte> record() const noexcept { return record_; }

 private:
  using Bytes = std::vector<std::byte>;

  // What differs from one table below.
  template <class Key, class Value>
  struct Changes {
    std::map<Key, Value> written;
    std::vector<std::pair<Key, Key>> erased;  // ranges; of what is below alone

    void erase(Key first, Key last);
    // Adds to what `read_below` hands to its visitor what was written, and leaves out the rest.
    template <class Visitor, class ReadBelow>
    Status read(Key first, Key last, const Visitor& visitor, const ReadBelow& read_below) const;
  };
  using Rows = Changes<int64_t, Bytes>;
  using Items = Changes<uint64_t, uint64_t>;

  FilterStorage& below_;
  Rows pages_;
  Rows log_;
  std::map<uint64_t, Items> items_;  // by epoch
  Bytes record_;
  std::map<uint64_t, Bytes> older_;  // by slot
  std::optional<Bytes> places_;
  std::optional<Bytes> progress_;
};

}  // namespace cuckoo
