#include "ext/ring/live_ring.hpp"

#include <algorithm>

#include "ext/sqlite/function.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {

LiveRing::LiveRing(Connection& connection, const std::string& schema, const std::string& table)
    : LiveTable(connection, store_), store_(connection.db(), schema, table) {}

void LiveRing::create(const RingOptions& options) {
  const KeepLastRowid keep(store_.db());
  store_.create(options);
  phase_ = Phase::kBegun;  // SQLite calls no xBegin for the transaction of a CREATE
}

RingRecord LiveRing::stored_record(const ShadowStore::HeldRecord& held) const {
  const std::optional<RingRecord> record = RingRecord::decode(held.bytes());
  if (!record) {
    throw_if(table(), corrupt("checksum of the record"));
  }
  return *record;
}

// By I1, compares the record each time while this connection has a write transaction in the schema.
void LiveRing::follow() {
  expect_own_name();
  carry_out_rollback();
  const DataVersion version = data_version();
  if (current() && version.is_same(seen_version_) && !written_amid()) {
    return;
  }
  read_config([this] {
    const ShadowStore::HeldRecord held(store_);
    const std::span<const std::byte> bytes = held.bytes();
    if (ring_ != nullptr && std::equal(bytes.begin(), bytes.end(), seen_.begin(), seen_.end())) {
      return;
    }
    const std::shared_ptr<HashRing> before = std::move(ring_);
    ++version_;
    record_ = stored_record(held);
    std::shared_ptr<HashRing> loaded = store_.load(record_);
    if (before != nullptr) {
      loaded->take_points(*before);
    }
    ring_ = std::move(loaded);
    seen_ = record_.encode();
  });
  const bool writes = sqlite3_txn_state(store_.db(), schema().c_str()) == SQLITE_TXN_WRITE;
  seen_version_ = writes ? DataVersion() : version;
  stale_ = false;
}

void LiveRing::prepare() {
  follow();
  build();
}

void LiveRing::build() {
  throw_if(table(), ring_->build([this] { return store_.poll(); }));
}

// Calls `change` with the ring in memory, which returns a Status, and then `write`, which stores
// the change. `name` is the name of a node that will be written.
template <class Change, class Write>
void LiveRing::change(std::string_view name, Change&& change, Write&& write) {
  follow();
  const Changing changing(*this);
  const bool slots = ring_->options().algorithm == RingAlgorithm::kSlots;
  expect_changeable(slots ? SlotOwners::kRowSlots * sizeof(uint16_t) : 0);
  expect_room_for(static_cast<uint32_t>(name.size()));
  store_.expect_storable(std::string(name));
  ++version_;
  try {
    throw_if(table(), change(*ring_));
  } catch (const std::bad_alloc&) {
    ring_.reset();
    throw;
  }
  try {
    write();
    store_.write_slots(*ring_);
    ++record_.changes;
    record_.nodes = static_cast<uint32_t>(ring_->node_count());
    record_.options_digest = digest_of(ring_->options());
    record_.node_digest = ring_->node_digest();
    record_.slot_digest = ring_->slots().digest();
    store_.write_record(record_);
    seen_ = record_.encode();
    seen_version_ = {};
  } catch (const SqlError& error) {  // I3
    ring_.reset();
    throw SqlError(undoing_code(error.code()), table() + ": " + error.message());
  } catch (...) {
    ring_.reset();
    throw;
  }
}

uint32_t LiveRing::insert(const std::string& name, double weight) {
  uint32_t id = 0;
  change(
      name,
      [&](HashRing& ring) {
        Result<uint32_t> inserted = ring.insert(name, weight);
        id = inserted.ok() ? inserted.value() : 0;
        return inserted.take_status();
      },
      [&] { store_.write_node(*ring_->find(id)); });
  return id;
}

void LiveRing::update(uint32_t id, const std::string& name, double weight) {
  std::string old_name;
  change(
      name,
      [&](HashRing& ring) {
        old_name = ring.find(id)->name;
        return ring.update(id, name, weight);
      },
      [&] {
        if (old_name != name) {
          store_.erase_node(old_name);
        }
        store_.write_node(*ring_->find(id));
      });
}

void LiveRing::remove(uint32_t id) {
  std::string name;
  change(
      "",
      [&](HashRing& ring) {
        name = ring.find(id)->name;
        ring.remove(id);
        return Status();
      },
      [&] { store_.erase_node(name); });
}

void LiveRing::clear() {
  change(
      "",
      [](HashRing& ring) {
        ring.clear();
        return Status();
      },
      [this] { store_.erase_all(); });
}

void LiveRing::import(const RingImage& image) {
  follow();
  Result<std::shared_ptr<HashRing>> made =
      ring_of(image, ring_.get(), [this] { return store_.poll(); });
  if (!made.ok()) {
    const Error& error = made.error();
    throw_if(table(), error.code == ErrorCode::kInterrupted
                          ? Status(error)
                          : Status(invalid("import: " + error.message)));
  }
  std::string longest;
  for (const RingNode& node : image.nodes) {
    store_.expect_storable(node.name);
    longest = node.name.size() > longest.size() ? node.name : longest;
  }
  if (!image.slots.empty()) {
    expect_room_for(SlotOwners::kRowSlots * sizeof(uint16_t));
  }
  change(
      longest,
      [&](HashRing&) {
        ring_ = std::move(made.value());
        return Status();
      },
      [this] {
        store_.erase_all();
        store_.write_options(ring_->options());
        for (uint32_t id = 1; id <= ring_->last_id(); ++id) {
          if (const RingNode* const node = ring_->find(id); node != nullptr) {
            store_.write_node(*node);
          }
        }
      });
}

std::string LiveRing::mark() {
  prepare();
  return mark_text(ring_mark(*ring_, key_type_));
}

std::vector<std::byte> LiveRing::export_image() {
  prepare();
  const uint64_t bytes = ring_image_bytes(*ring_);
  const uint64_t most = length_limit(store_.db());
  if (bytes > most) {
    throw SqlError(SQLITE_TOOBIG, table() + ": its image has " + std::to_string(bytes) +
                                      " bytes, and a BLOB at most " + std::to_string(most));
  }
  return encode_ring_image(*ring_, key_type_);
}

// Checks the stored ring. Leaves the ring in memory to statements that read it now.
void LiveRing::check_stored() {
  follow();
  read_config([this] {
    const ShadowStore::HeldRecord held(store_);
    const std::shared_ptr<HashRing> ring = store_.load(stored_record(held));
    throw_if(table(), ring->build([this] { return store_.poll(); }));
    if (const std::string problem = ring->check(); !problem.empty()) {
      throw_if(table(), corrupt(problem));
    }
  });
}

}  // namespace cuckoo
