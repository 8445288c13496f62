// The shadow tables of one filter: core's storage.
//
//   <table>_config, <table>_pages          as all tables have them
//   <table>_log(id INTEGER PRIMARY KEY, entries)
//   <table>_items(key PRIMARY KEY, value)  overflow entries
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/stored/storage.hpp"
#include "ext/table/shadow_store.hpp"

namespace cuckoo {

inline constexpr ShadowTable kLogTable = {"log", "(id INTEGER PRIMARY KEY, entries)"};
inline constexpr std::array kFilterTables = {kConfigTable, kPagesTable, kLogTable, kItemsTable};

class FilterStore final : public ShadowStore, public FilterStorage {
 public:
  using RowVisitor = FilterStorage::RowVisitor;

  FilterStore(sqlite3* db, const std::string& schema, const std::string& table)
      : ShadowStore(db, kFilterTables, schema, table) {}

  // Overflow entries of several generations: their keys tell them apart (FORMAT.md, "seen_items:
  // overflow").
  void set_several_generations(bool several) noexcept { several_generations_ = several; }

  Status read_pages(int64_t first, int64_t last, const RowVisitor& visitor) override {
    Status status = ShadowStore::read_pages(first, last, visitor);
    give_back_cache();
    return status;
  }
  Status write_page(int64_t id, std::span<const std::byte> row, bool stored) override {
    return ShadowStore::write_page(id, row, stored);
  }
  Status erase_pages(int64_t first, int64_t last) override {
    return ShadowStore::erase_pages(first, last);
  }
  Status read_log(int64_t first, int64_t last, const RowVisitor& visitor) override;
  Status write_log(int64_t id, std::span<const std::byte> row, bool stored) override;
  Status erase_log(int64_t first, int64_t last) override;
  Status read_items(uint64_t epoch, const ItemVisitor& visitor) override;
  Status write_item(uint64_t epoch, uint64_t key, uint64_t value) override;
  Status erase_item(uint64_t epoch, uint64_t key) override;
  Status erase_items(uint64_t epoch) override;
  Result<uint64_t> count_items() override;
  Status write_record(std::span<const std::byte> record) override {
    return ShadowStore::write_record(record);
  }
  Status read_older(uint64_t slot, std::vector<std::byte>& record) override;
  Status write_older(uint64_t slot, std::span<const std::byte> record) override;
  Status read_places(std::vector<std::byte>& places) override;
  Status write_places(std::span<const std::byte> places) override;
  Status read_progress(std::vector<std::byte>& progress) override;
  Status write_progress(std::span<const std::byte> progress) override;
  Status poll() override { return ShadowStore::poll(); }

 protected:
  void finalize() noexcept override;

 private:
  Status read_state(const std::string& key, std::vector<std::byte>& state);
  Status write_state(const std::string& key, std::span<const std::byte> state);
  Statement& bind_item(Statement& statement, int index, uint64_t epoch, uint64_t key) const;

  bool several_generations_ = false;
  Statement select_log_, insert_log_, update_log_, delete_log_;
  Statement select_items_, replace_item_, delete_item_, delete_items_;
};

}  // namespace cuckoo
