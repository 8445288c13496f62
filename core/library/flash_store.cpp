#include <cuckoo/flash_store.hpp>

#include <string>
#include <utility>

#include "core/base/mix.hpp"
#include "core/base/salt.hpp"
#include "core/flash/salvage.hpp"
#include "core/flash/store.hpp"
#include "core/library/log_device.hpp"
#include "core/library/superblock.hpp"

namespace cuckoo {
inline namespace v1 {
namespace {

FlashStoreOptions options_of(uint64_t seed) {
  FlashStoreOptions options;
  options.seed = seed;
  options.reordering_device = true;
  return options;
}

// Lends a device to a LogDevice that only reads, and takes it back.
class LentDevice {
 public:
  LentDevice(FlashDevice& device, const FlashGeometry& geometry)
      : log_(std::unique_ptr<FlashDevice>(&device), geometry, true) {}
  LentDevice(const LentDevice&) = delete;
  LentDevice& operator=(const LentDevice&) = delete;
  ~LentDevice() { (void)log_.release().release(); }

  LogDevice& log() noexcept { return log_; }

 private:
  LogDevice log_;
};

Status check_options(const FlashOptions& options) {
  return options.create && options.only_read
             ? Status(invalid("the options create and only_read together; expected one of them"))
             : Status();
}

Status holds_none() { return invalid("this object holds no store"); }

}  // namespace

// --- batches -------------------------------------------------------------------------------------

void FlashBatch::put(FlashBytes key, FlashBytes value) {
  const size_t before = bytes_.size();
  try {
    bytes_.insert(bytes_.end(), key.bytes().begin(), key.bytes().end());
    bytes_.insert(bytes_.end(), value.bytes().begin(), value.bytes().end());
    changes_.push_back({key.bytes().size(), value.bytes().size()});
  } catch (...) {
    bytes_.resize(before);
    throw;
  }
}

void FlashBatch::remove(FlashBytes key) {
  put(key, "");
  changes_.back().value_bytes.reset();
}

void FlashBatch::clear() noexcept {
  changes_.clear();
  bytes_.clear();
}

// --- a store that is held ------------------------------------------------------------------------

class FlashStore::Impl {
 public:
  Impl(std::unique_ptr<FlashDevice> device, const FlashGeometry& geometry, uint64_t seed,
       bool only_read)
      : geometry(geometry),
        device(std::move(device), geometry, only_read),
        store(this->device, options_of(seed)) {}

  // Returns an error that says why the store can't be used any more; ok() otherwise.
  Status usable() const {
    return failed_ ? Status(Error{ErrorCode::kStorage,
                                  "a change failed half-way" + why_ + "; open the store again"})
                   : Status();
  }

  // Makes a change, which returns a Status or a Result<bool>. If it fails or throws, the state of
  // memory is unknown, and the store refuses all later calls. Only after kInvalid or kFull does the
  // store go on, unless it is poisoned.
  template <class Change>
  auto change(Change make) -> decltype(make()) {
    CUCKOO_TRY(usable());
    if (device.only_reads()) {
      return invalid("a change of a store that was opened only to read");
    }
    if (visits_ > 0) {
      return invalid("a change inside for_each(); expected reads only");
    }
    failed_ = true;  // until the change has succeeded
    auto done = make();
    if (done.ok() || (!store.poisoned() && (done.error().code == ErrorCode::kInvalid ||
                                            done.error().code == ErrorCode::kFull))) {
      failed_ = false;
      return done;
    }
    Error error = done.error();
    why_ = ": " + error.message;
    if (error.code == ErrorCode::kInvalid || error.code == ErrorCode::kFull) {
      error.code = ErrorCode::kStorage;  // the other codes promise that nothing has changed
    }
    return error;
  }

  Status for_each(const std::function<bool(FlashBytes key, FlashBytes value)>& visit) {
    CUCKOO_TRY(usable());
    const Visit counted(visits_);
    FlashScan scan;
    std::vector<std::byte> key;
    std::vector<std::byte> value;
    while (true) {
      CUCKOO_ASSIGN_OR_RETURN(const bool more, store.next(scan));
      if (!more) {
        return {};
      }
      key.assign(scan.record().key.begin(), scan.record().key.end());
      CUCKOO_TRY(store.value_at(scan, value));
      if (!visit(key, value) || device.released()) {
        return after_visits();
      }
    }
  }

  Status for_each_key(const std::function<bool(FlashBytes key)>& visit) {
    CUCKOO_TRY(usable());
    const Visit counted(visits_);
    Status damage;
    CUCKOO_ASSIGN_OR_RETURN(std::vector<core::FlashStore::Listed> entries, store.entries(&damage));
    std::vector<std::byte> key;
    for (auto& [entry, hash] : entries) {
      Status read = store.read(entry, hash, key, nullptr).take_status();
      if (!read.ok()) {
        if (read.error().code != ErrorCode::kCorrupt) {
          return read;
        }
        damage = damage.ok() ? std::move(read) : std::move(damage);
      } else if (!visit(key) || device.released()) {
        return after_visits();
      }
    }
    return damage;
  }

  const FlashGeometry geometry;
  LogDevice device;
  core::FlashStore store;
  std::vector<std::byte> value;  // of a get() into a text

 private:
  // What a walk returns that ends early.
  Status after_visits() const {
    return device.released()
               ? Status(Error{ErrorCode::kStorage, "the device was released while it was walked"})
               : Status();
  }

  class Visit {
   public:
    explicit Visit(unsigned& count) noexcept : count_(count) { ++count_; }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    ~Visit() { --count_; }

   private:
    unsigned& count_;
  };

  bool failed_ = false;
  std::string why_;
  unsigned visits_ = 0;
};

FlashStore::FlashStore() noexcept = default;
FlashStore::FlashStore(FlashStore&& other) noexcept = default;
FlashStore& FlashStore::operator=(FlashStore&& other) noexcept = default;
FlashStore::FlashStore(std::shared_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
FlashStore::~FlashStore() = default;

// --- opening -------------------------------------------------------------------------------------

Result<FlashStore> FlashStore::open(std::unique_ptr<FlashDevice> device,
                                    const FlashOptions& options) {
  if (device == nullptr) {
    return invalid("no device; expected one to open a store on");
  }
  CUCKOO_TRY(check_options(options));
  const FlashGeometry geometry = device->geometry();
  CUCKOO_TRY(geometry.check());
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<Superblock> found,
                          read_superblock(*device, geometry));
  if (found) {
    auto impl = std::make_shared<Impl>(std::move(device), geometry, found->seed, options.only_read);
    CUCKOO_TRY(impl->store.mount());
    return FlashStore(std::move(impl));
  }
  CUCKOO_ASSIGN_OR_RETURN(const bool blank, is_blank(*device, geometry));
  if (!blank) {
    return corrupt("the device holds no store and is not blank; expected one of both");
  }
  if (!options.create) {
    return invalid("the device is blank; expected a store, or the option create");
  }
  const Superblock superblock{geometry, mix64(process_salt())};
  auto impl = std::make_shared<Impl>(std::move(device), geometry, superblock.seed, false);
  CUCKOO_TRY(impl->store.format());
  CUCKOO_TRY(write_superblock(impl->device.device(), superblock));
  return FlashStore(std::move(impl));
}

Result<FlashStore> FlashStore::open_file(const std::string& path, const FlashOptions& options) {
  CUCKOO_TRY(check_options(options));
  Result<std::unique_ptr<FileDevice>> device =
      options.only_read ? FileDevice::open_to_read(path) : FileDevice::open(path);
  if (!device.ok() && options.create) {
    // create() refuses a path that exists. Then the error of open() is the right one.
    Result<std::unique_ptr<FileDevice>> created = FileDevice::create(path, options.geometry);
    if (created.ok() || created.error().code != ErrorCode::kInvalid ||
        !options.geometry.check().ok()) {
      device = std::move(created);
    }
  }
  CUCKOO_TRY(device.take_status());
  return open(std::move(device.value()), options);
}

Status FlashStore::for_each_sound(
    FlashDevice& device, const std::function<bool(FlashBytes key, FlashBytes value)>& visit) {
  CUCKOO_TRY(visit != nullptr ? Status() : invalid("no function; expected one to call"));
  const FlashGeometry geometry = device.geometry();
  CUCKOO_TRY(geometry.check());
  LentDevice lent(device, geometry);
  core::FlashSalvage salvage(lent.log(), options_of(0));
  CUCKOO_TRY(salvage.begin());
  while (true) {
    CUCKOO_ASSIGN_OR_RETURN(const bool more, salvage.next());
    if (!more || !visit(salvage.key(), salvage.value())) {
      return {};
    }
  }
}

Status FlashStore::close() {
  CUCKOO_TRY(impl_ != nullptr ? Status() : holds_none());
  const std::shared_ptr<Impl> impl = std::exchange(impl_, nullptr);
  if (impl->device.only_reads()) {
    return {};
  }
  return impl->change([&]() -> Status {
    CUCKOO_TRY(impl->store.checkpoint());
    return impl->store.sync();
  });
}

std::unique_ptr<FlashDevice> FlashStore::release() noexcept {
  const std::shared_ptr<Impl> impl = std::exchange(impl_, nullptr);
  return impl != nullptr ? impl->device.release() : nullptr;
}

// --- reading -------------------------------------------------------------------------------------

Result<bool> FlashStore::contains(FlashBytes key) {
  CUCKOO_TRY(impl_ != nullptr ? impl_->usable() : holds_none());
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<FlashEntry> found, impl_->store.find(key.bytes()));
  return found.has_value();
}

Result<std::optional<std::vector<std::byte>>> FlashStore::get(FlashBytes key) {
  std::optional<std::vector<std::byte>> value(std::in_place);
  CUCKOO_ASSIGN_OR_RETURN(const bool found, get(key, *value));
  if (!found) {
    value.reset();
  }
  return value;
}

Result<bool> FlashStore::get(FlashBytes key, std::vector<std::byte>& value) {
  CUCKOO_TRY(impl_ != nullptr ? impl_->usable() : holds_none());
  CUCKOO_ASSIGN_OR_RETURN(const bool found, impl_->store.get(key.bytes(), value));
  if (!found) {
    value.clear();
  }
  return found;
}

Result<bool> FlashStore::get(FlashBytes key, std::string& value) {
  CUCKOO_TRY(impl_ != nullptr ? impl_->usable() : holds_none());
  std::vector<std::byte>& bytes = impl_->value;
  CUCKOO_ASSIGN_OR_RETURN(const bool found, get(key, bytes));
  value.assign(FlashBytes(bytes).text());
  return found;
}

Status FlashStore::for_each(const std::function<bool(FlashBytes key, FlashBytes value)>& visit) {
  const std::shared_ptr<Impl> impl = impl_;  // `visit` may move or destroy this object
  CUCKOO_TRY(impl != nullptr ? Status() : holds_none());
  CUCKOO_TRY(visit != nullptr ? Status() : invalid("no function; expected one to call"));
  return impl->for_each(visit);
}

Status FlashStore::for_each_key(const std::function<bool(FlashBytes key)>& visit) {
  const std::shared_ptr<Impl> impl = impl_;
  CUCKOO_TRY(impl != nullptr ? Status() : holds_none());
  CUCKOO_TRY(visit != nullptr ? Status() : invalid("no function; expected one to call"));
  return impl->for_each_key(visit);
}

// --- changing ------------------------------------------------------------------------------------

Status FlashStore::put(FlashBytes key, FlashBytes value) {
  CUCKOO_TRY(impl_ != nullptr ? Status() : holds_none());
  return impl_->change([&] { return impl_->store.put(key.bytes(), value.bytes()); });
}

Result<bool> FlashStore::insert(FlashBytes key, FlashBytes value) {
  CUCKOO_TRY(impl_ != nullptr ? Status() : holds_none());
  return impl_->change([&] { return impl_->store.insert(key.bytes(), value.bytes()); });
}

Result<bool> FlashStore::remove(FlashBytes key) {
  CUCKOO_TRY(impl_ != nullptr ? Status() : holds_none());
  return impl_->change([&] { return impl_->store.remove(key.bytes()); });
}

Status FlashStore::write(const FlashBatch& batch) {
  CUCKOO_TRY(impl_ != nullptr ? Status() : holds_none());
  std::vector<core::FlashStore::Change> changes;
  changes.reserve(batch.size());
  std::span<const std::byte> left = batch.bytes_;
  const auto take = [&left](size_t bytes) {
    const std::span<const std::byte> taken = left.first(bytes);
    left = left.subspan(bytes);
    return taken;
  };
  for (const FlashBatch::Change& change : batch.changes_) {
    core::FlashStore::Change& one = changes.emplace_back();
    one.key = impl_->store.hashed(take(change.key_bytes));
    if (change.value_bytes) {
      one.value = take(*change.value_bytes);
    }
  }
  return impl_->change([&] { return changes.empty() ? Status() : impl_->store.write(changes); });
}

Status FlashStore::clear() {
  CUCKOO_TRY(impl_ != nullptr ? Status() : holds_none());
  return impl_->change([&] { return impl_->store.clear(); });
}

Status FlashStore::collect() {
  CUCKOO_TRY(impl_ != nullptr ? Status() : holds_none());
  return impl_->change([&] { return impl_->store.collect(); });
}

// Treats a failed sync as a failed change, because the bytes that the sync did not write may be
// lost even if a later sync succeeds.
Status FlashStore::sync() {
  CUCKOO_TRY(impl_ != nullptr ? Status() : holds_none());
  return impl_->change([&] { return impl_->store.sync(); });
}

// --- verifying and figures -----------------------------------------------------------------------

Status FlashStore::check() {
  CUCKOO_TRY(impl_ != nullptr ? impl_->usable() : holds_none());
  return impl_->store.check(nullptr);
}

uint64_t FlashStore::size() const noexcept { return impl_ != nullptr ? impl_->store.size() : 0; }

size_t FlashStore::max_key_bytes() const noexcept {
  return impl_ != nullptr ? impl_->store.max_key_bytes() : 0;
}

FlashGeometry FlashStore::geometry() const noexcept {
  return impl_ != nullptr ? impl_->geometry : FlashGeometry{0, 0, 0, 0, 0};
}

FlashStats FlashStore::stats() const {
  FlashStats stats;
  if (impl_ == nullptr) {
    return stats;
  }
  const core::FlashStore& store = impl_->store;
  const uint32_t unit = impl_->geometry.program_unit_bytes;
  stats.entries = store.size();
  stats.used_bytes = store.charged_units() * unit;
  stats.usable_bytes = store.usable_units() * unit;
  stats.fill = stats.usable_bytes > 0
                   ? static_cast<double>(stats.used_bytes) / static_cast<double>(stats.usable_bytes)
                   : 0;
  stats.blocks = store.geometry().blocks;
  stats.free_blocks = store.blocks().free_count();
  stats.bad_blocks = store.blocks().bad_count();
  stats.user_bytes = store.stats().user_bytes;
  stats.programmed_bytes = store.stats().programmed_bytes;
  stats.erases = store.stats().erases;
  stats.collections = store.stats().collections;
  stats.checkpoints = store.stats().checkpoints;
  const FlashBlocks::Wear wear = store.wear();
  stats.least_erases = wear.min;
  stats.most_erases = wear.max;
  stats.mean_erases = wear.mean;
  stats.deviation_erases = wear.deviation;
  stats.memory_bytes = store.index().memory_bytes() + store.blocks().memory_bytes();
  return stats;
}

}  // namespace v1
}  // namespace cuckoo
