// The shadow tables of one filter, as core's storage.
//
//   <table>_config(key PRIMARY KEY, value)          as all tables have it: the options; and the
//                                                   keys of TopKeys, 'top:0' and so on
//   <table>_data(id INTEGER PRIMARY KEY, block)     all blocks (core/segments/blocks.hpp)
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "core/segments/block_storage.hpp"
#include "ext/sqlite/value.hpp"
#include "ext/table/shadow_store.hpp"

namespace cuckoo {

inline constexpr ShadowTable kDataTable = {"data", "(id INTEGER PRIMARY KEY, block)"};
extern const std::array<ShadowTable, 2> kFilterTables;

class FilterStore final : public ShadowStore, public segments::BlockStorage {
 public:
  FilterStore(sqlite3* db, const std::string& schema, const std::string& table)
      : ShadowStore(db, kFilterTables, schema, table) {}

  // Holds a row of the config. As long as it lives, a read transaction is open, and all reads come
  // from one commit. Only one may live at a time. Throws SqlError.
  class Held {
   public:
    explicit Held(FilterStore& store);
    ~Held() { store_.select_held_.reset(); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    FilterStore& store_;
  };

  Status read(int64_t first, int64_t last, const Visitor& visitor) override;
  Status write(int64_t id, std::span<const std::byte> block, bool stored) override {
    return blocks_.write(id, block, stored);
  }
  Status erase(int64_t first, int64_t last) override { return blocks_.erase(first, last); }
  Status poll() override { return ShadowStore::poll(); }

  // The keys of TopKeys. All throw SqlError. A row whose name has no number has a place beyond all.
  using TopVisitor =
      std::function<void(const std::string& name, uint64_t place, const KeyView& key)>;
  void read_top(const TopVisitor& visit);
  void write_top(uint64_t place, const KeyView& key);
  void erase_top(uint64_t place);
  void erase_top();  // all

 protected:
  void finalize() noexcept override;

 private:
  Statement select_held_, write_top_, erase_top_;
  ShadowRows blocks_{*this, "data", "block", "data"};
};

}  // namespace cuckoo
