// Where a filter's pages, log rows, overflow entries and record are kept. core owns the interface;
// ext implements it over the rows of shadow tables, tests in memory.
//
// Rows are named by 64-bit ids. Reads visit rows in ascending order of id; a row that does not
// exist is not visited. A visitor's failure ends the read and is returned. The bytes are valid
// during the visit only. Writes replace the whole row; `stored` says if the row exists already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/base/result.hpp"

namespace cuckoo {

class FilterStorage {
 public:
  using RowVisitor = std::function<Status(int64_t id, std::span<const std::byte> row)>;
  using ItemVisitor = std::function<Status(uint64_t key, uint64_t value)>;

  virtual ~FilterStorage() = default;

  virtual Status read_pages(int64_t first, int64_t last, const RowVisitor& visitor) = 0;
  virtual Status write_page(int64_t id, std::span<const std::byte> row, bool stored) = 0;
  virtual Status erase_pages(int64_t first, int64_t last) = 0;

  virtual Status read_log(int64_t first, int64_t last, const RowVisitor& visitor) = 0;
  virtual Status write_log(int64_t id, std::span<const std::byte> row, bool stored) = 0;
  virtual Status erase_log(int64_t first, int64_t last) = 0;

  // Overflow entries of one epoch.
  virtual Status read_items(uint64_t epoch, const ItemVisitor& visitor) = 0;
  virtual Status write_item(uint64_t epoch, uint64_t key, uint64_t value) = 0;
  virtual Status erase_item(uint64_t epoch, uint64_t key) = 0;
  virtual Status erase_items(uint64_t epoch) = 0;
  // Of all generations, valid or not.
  virtual Result<uint64_t> count_items() = 0;

  // The one record that says what all the others mean.
  virtual Status write_record(std::span<const std::byte> record) = 0;
  // The records of a sliding window's older generations; a slot that was never written reads empty.
  virtual Status read_older(uint64_t slot, std::vector<std::byte>& record) = 0;
  virtual Status write_older(uint64_t slot, std::span<const std::byte> record) = 0;

  // Where marks hold (core/stored/mark.hpp); reads empty when it was never written.
  virtual Status read_places(std::vector<std::byte>& places) = 0;
  virtual Status write_places(std::span<const std::byte> places) = 0;

  // How much of the next epoch stands (core/stored/next_epoch.hpp); empty: nothing does.
  virtual Status read_progress(std::vector<std::byte>& progress) = 0;
  virtual Status write_progress(std::span<const std::byte> progress) = 0;

  // Called every few thousand steps of a long operation; a failure (kInterrupted) stops it.
  virtual Status poll() = 0;
};

}  // namespace cuckoo
