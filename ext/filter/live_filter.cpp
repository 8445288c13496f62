#include "ext/filter/live_filter.hpp"

#include <string>

#include "core/base/bytes.hpp"
#include "core/segments/image.hpp"
#include "ext/filter/image_filter.hpp"
#include "ext/filter/source.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {

LiveFilter::LiveFilter(Connection& connection, const std::string& schema, const std::string& table)
    : LiveTable(connection, store_), store_(connection.db(), schema, table) {}

// Some clients bind bytes as TEXT unless they are told to bind a BLOB.
const char* LiveFilter::hint(std::string_view name) noexcept {
  const auto bytes = bytes_of(name);
  return segments::looks_like_image(bytes) || looks_like_legacy_file(bytes) ? kHintBindAsBlob : "";
}

void LiveFilter::create(FilterOptions options) {
  options.salt = XXH3_64bits(table().data(), table().size());
  options.digest = digest_of(options);
  auto filter = std::make_unique<segments::FilterWindow>(options, store_);
  throw_if(table(), filter->create());
  expect_room_for(options.page_bytes);
  KeepLastRowid keep(store_.db());
  store_.create_tables();
  store_options(store_, options, key_form_);
  throw_if(table(), filter->flush());
  set_filter(std::move(filter));
  note_created();
}

void LiveFilter::finish_create() {
  flush();
  birth_ = Birth::kUnannounced;
}

// --- freshness -----------------------------------------------------------------------------------

void LiveFilter::set_filter(std::unique_ptr<segments::FilterWindow> filter) noexcept {
  filter_ = std::move(filter);
  ++filters_made_;
  adopt_options();
}

void LiveFilter::adopt_options() noexcept {
  const FilterOptions& options = filter_->options();
  seed_ = options.seed;
  hash_mask_ = logged_hash(~uint64_t{0}, options.width);
  hashing_ = traits_of(options.spec.kind).pairs ? Hashing::kPairs
             : key_form_.columns > 1            ? Hashing::kTuples
                                                : Hashing::kPlain;
}

// A key of several columns needs no collation here: it is one BLOB, made with its collations.
void LiveFilter::declare_key(const KeyForm& form, std::vector<std::string> names) {
  if (form != key_form_ && !pending()) {  // the stored options are compared again
    filter_.reset();
  }
  key_form_ = form;
  key_names_ = std::move(names);
  const ColumnDomain first = KeyDomain(form, 0).column(0);
  key_affinity_ = first.affinity;
  collation_ = form.columns == 1 ? first.collation : Collation::kBinary;
  if (filter_ != nullptr) {
    adopt_options();
  }
}

void LiveFilter::look_at_storage() {
  expect_own_name();
  if (damage_) [[unlikely]] {
    throw SqlError(*damage_);
  }
  carry_out_rollback();
  if (usable() && has_own_name() && (is_changed() || filter_->pending())) {
    note_current();
    return;
  }
  const DataVersion version = data_version();
  const bool stale = !usable() || !has_own_name() || !version.is_same(seen_version_);
  if (stale || written_amid()) {
    const uint64_t before = stale ? 0 : filter_->newest().history();
    reload();
    // If nothing was written amid the transaction, memory is what a roll-back would leave, too.
    const bool provisional =
        reads_provisionally() && (stale || filter_->newest().history() != before);
    seen_version_ = provisional ? DataVersion() : version;
  }
  note_current();
}

std::unique_ptr<segments::FilterWindow> LiveFilter::stored_filter() {
  return std::make_unique<segments::FilterWindow>(
      stored_options(store_, key_form_, source_.has_value()), store_);
}

// Reads the options again if the filter looks damaged: another connection may have made the table
// anew, or imported an image with other options; or a table of this name may have come back, whose
// blocks have another salt, because a rename was rolled back.
void LiveFilter::reload() {
  top_.forget();
  read_config([this] {
    const FilterStore::Held held(store_);
    if (filter_ == nullptr) {
      set_filter(stored_filter());
    }
    Status status = filter_->refresh();
    if (!status.ok() && status.error().code == ErrorCode::kCorrupt) {
      auto stored = stored_filter();
      if (stored->options().digest != filter_->options().digest ||
          stored->options().salt != filter_->options().salt) {
        set_filter(std::move(stored));
        status = filter_->refresh();
      }
    }
    throw_if(table(), status);
  });
}

// --- reading -------------------------------------------------------------------------------------

bool LiveFilter::load_and_probe(uint64_t hash) {
  return value_or_throw(table(), filter_->load_and_probe(hash));
}

HashPair LiveFilter::pair_of(const KeyView& key) const {
  return legacy_hash(bytes_of(key), static_cast<uint32_t>(seed_));
}

uint64_t LiveFilter::hash_of(const KeyView& key) {
  if (collation_ == Collation::kBinary) {
    return hash_key(key, seed_) & hash_mask_;
  }
  const uint64_t hash = hash_key(collated(key, collation_, collated_), seed_);
  keep_if_small(collated_);
  return hash & hash_mask_;
}

KeyDomain LiveFilter::key_domain() const noexcept { return {key_form_, filter_->key_types()}; }

// Called after the key was added, so that a refused key notes no type. Types of removed keys stay.
inline void LiveFilter::note_type_of(const KeyView& key) noexcept {
  uint64_t types = filter_->newest().key_types();
  if (key.type == SQLITE_INTEGER && (types & kIntegerKeys) != 0) [[likely]] {
    return;
  }
  add_types_of(key, types);
  filter_->newest().note_key_types(types);
}

void LiveFilter::add_types_of(const KeyView& key, uint64_t& types) const noexcept {
  if (key_form_.columns > 1) {
    types |= key.column_types;
    return;
  }
  auto of_column = static_cast<uint8_t>(types);
  note_key_type(key, of_column);
  types |= of_column;
}

bool LiveFilter::contains(const KeyView& key) {
  if (!legacy()) {
    return contains(hash_of(key));
  }
  ++probes_;
  const bool found = holds(key);
  positives_ += found ? 1 : 0;
  return found;
}

bool LiveFilter::holds(const KeyView& key) {
  if (!legacy()) {
    return load_and_probe(hash_of(key));
  }
  if (key.type != SQLITE_TEXT && key.type != SQLITE_BLOB) {
    return false;  // such a key is refused, so it can't be there
  }
  return value_or_throw(table(), filter_->newest().contains_pair(pair_of(key)));
}

uint64_t LiveFilter::count(const KeyView& key) {
  if (legacy()) {
    return contains(key) ? 1 : 0;
  }
  return value_or_throw(table(), filter_->count(hash_of(key)));
}

// --- changing ------------------------------------------------------------------------------------

template <class Body>
void LiveFilter::change_followed(Body&& body) {
  if (parts_.some_came()) [[unlikely]] {
    refuse_amid_parts();
  }
  const Changing changing(*this);
  expect_changeable(filter_->options().page_bytes);
  raise(body());
}

template <class Body>
void LiveFilter::change(Body&& body) {
  follow();
  change_followed(std::forward<Body>(body));
}

void LiveFilter::change_by(const std::function<Status()>& body) {
  top_.forget();
  change(body);
}

void LiveFilter::replace_by(FilterOptions options,
                            const std::function<Status(const FilterOptions& options)>& import) {
  options.digest = digest_of(options);
  top_.forget();
  change([&]() -> Status {
    CUCKOO_TRY(import(options));
    try {
      store_options(store_, options, key_form_);
    } catch (const SqlError& error) {  // too late: only undoing the transaction helps
      return Error{ErrorCode::kStorage, error.message(), undoing_code(error.code())};
    }
    return {};
  });
  adopt_options();
}

void LiveFilter::insert(const KeyView& key) {
  if (legacy()) {
    insert_pair(key);
  } else {
    insert_hash(hash_of(key), key);
  }
}

void LiveFilter::insert_integer(int64_t integer) {
  KeyView key;
  key.type = SQLITE_INTEGER;
  key.integer = integer;
  if (legacy()) {
    insert_pair(key);
  } else {
    insert_hash(hash_integer(integer, seed_), key);
  }
}

inline void LiveFilter::insert_hash(uint64_t hash, const KeyView& key) {
  hash &= hash_mask_;
  segments::FilterFile& newest = filter_->newest();
  // insert() writes nothing, so no savepoint comes in between.
  if (may_change() && !keeps_top()) [[likely]] {
    raise(newest.insert(hash));
    note_type_of(key);
    return;
  }
  change_followed([&]() -> Status {
    CUCKOO_TRY(load_top());
    CUCKOO_TRY(newest.insert(hash));
    note_type_of(key);
    return note_top(key, hash);
  });
}

void LiveFilter::insert_copies(const KeyView& key, uint64_t copies) {
  const uint64_t hash = hash_of(key);
  change_followed([&]() -> Status {
    CUCKOO_TRY(load_top());
    CUCKOO_TRY(filter_->newest().insert_copies(hash, copies));
    note_type_of(key);
    return note_top(key, hash);
  });
}

bool LiveFilter::insert_new(const KeyView& key) {
  if (legacy()) {
    const uint64_t items = filter_->items();
    insert_pair(key);  // it is a set, so a present key changes nothing
    return filter_->items() != items;
  }
  bool added = false;
  const uint64_t hash = hash_of(key);
  change_followed([&]() -> Status {
    CUCKOO_ASSIGN_OR_RETURN(added, filter_->insert_new(hash));
    if (added) {
      note_type_of(key);
    }
    return {};
  });
  return added;
}

void LiveFilter::insert_pair(const KeyView& key) {
  if (key.type != SQLITE_TEXT && key.type != SQLITE_BLOB) {
    throw SqlError(SQLITE_MISMATCH,
                   table() + ": with hash = murmur2 a key is TEXT or a BLOB; declare the key TEXT");
  }
  change_followed([&]() -> Status {
    segments::FilterFile& newest = filter_->newest();
    const uint64_t items = newest.items();
    CUCKOO_TRY(newest.insert_pair(pair_of(key)));
    if (!newest.options().unique || newest.items() != items) {
      note_type_of(key);
    }
    return {};
  });
}

bool LiveFilter::remove(const KeyView& key) {
  bool removed = false;
  const uint64_t hash = hash_of(key);
  change([&]() -> Status {
    CUCKOO_TRY(load_top());
    CUCKOO_ASSIGN_OR_RETURN(removed, filter_->newest().remove(hash));
    return note_top(key, hash);
  });
  return removed;
}

uint64_t LiveFilter::remove_copies(const KeyView& key, uint64_t copies) {
  uint64_t removed = 0;
  const uint64_t hash = hash_of(key);
  change([&]() -> Status {
    CUCKOO_TRY(load_top());
    CUCKOO_ASSIGN_OR_RETURN(removed, filter_->newest().remove_copies(hash, copies));
    return note_top(key, hash);
  });
  return removed;
}

LiveFilter::Replaced LiveFilter::replace_key(const KeyView& from, const KeyView& to,
                                             IfPresent if_present) {
  const uint64_t old_hash = hash_of(from);
  const uint64_t new_hash = hash_of(to);
  Replaced replaced = Replaced::kNoSuch;
  change([&]() -> Status {
    CUCKOO_TRY(load_top());
    CUCKOO_ASSIGN_OR_RETURN(replaced, filter_->newest().replace(old_hash, new_hash, if_present));
    if (replaced != Replaced::kDone) {
      return {};
    }
    note_type_of(to);
    CUCKOO_TRY(note_top(from, old_hash));
    return note_top(to, new_hash);
  });
  return replaced;
}

void LiveFilter::expect_origin(uint64_t seed) const {
  if (seed != this->seed() && filter_->items() > 0) {
    throw SqlError(SQLITE_ERROR,
                   table() + ": apply: the message is of a filter with seed " + seed_text(seed) +
                       ", this one has seed " + seed_text(this->seed()) + " and holds " +
                       std::to_string(filter_->items()) +
                       " keys; it follows its own origin alone: 'import' takes any image, and"
                       " 'clear' comes before a new origin");
  }
}

void LiveFilter::clear() {
  change([&]() -> Status {
    CUCKOO_TRY(filter_->clear());
    return erase_top();
  });
}

void LiveFilter::make_anew() {
  read_config([this] {
    auto filter = stored_filter();
    throw_if(table(), filter->create_anew());
    set_filter(std::move(filter));
  });
  note_current();
}

void LiveFilter::rotate(std::optional<uint64_t> number) {
  change_by([&] { return number ? filter_->rotate_to(*number) : filter_->rotate(); });
}

void LiveFilter::resize(uint64_t capacity) {
  change_by([&]() -> Status {
    segments::FilterFile& newest = filter_->newest();
    if (legacy()) {
      return invalid(
          "hash = murmur2 keeps no hashes to rebuild from; make the table with a source");
    }
    if (!newest.options().growth) {
      return invalid(
          "growth = off keeps no hashes to rebuild from; make the table with growth = on, or with a"
          " source");
    }
    return newest.rebuild(capacity != 0 ? capacity : newest.capacity());
  });
}

// --- checking ------------------------------------------------------------------------------------

// Checks pending entries, too, as they would be stored.
void LiveFilter::check_stored() {
  follow();
  if (source_) {
    (void)FilterSource(store_, key_names_).stored();
  }
  const FilterStore::Held held(store_);
  if (stored_options(store_, key_form_, source_.has_value()).digest != filter_->options().digest) {
    throw_if(table(), corrupt("options that are not those of the filter"));
  }
  throw_if(table(), filter_->check(standing().has_value()));
  (void)top();  // reads the rows
}

void LiveFilter::check() {
  check_stored();
  if (source_) {
    check_source(*this, *source_);
  }
}

// --- parts of a message --------------------------------------------------------------------------

const std::optional<AwaitedParts::Standing>& LiveFilter::standing() {
  carry_out_rollback();
  return parts_.standing(filter_->options());
}

void LiveFilter::refuse_amid_parts() {
  if (parts_.some_came() && filter_ != nullptr) {
    carry_out_rollback();
    parts_.expect_none(filter_->options());
  }
}

// Writes blocks that are not part of the filter. If that fails half-way, SQLite undoes the writes.
void LiveFilter::write_beside(const std::function<Status()>& write) {
  const Changing changing(*this);
  expect_changeable(filter_->options().page_bytes);
  const Status status = write();
  phase_ = std::min(phase_, Phase::kCurrent);  // so that insert_hash() asks for parts
  LiveTable::raise(status, true);
}

void LiveFilter::stage(const segments::MessagePart& part) {
  write_beside([&] { return parts_.add(filter_->options(), part); });
}

void LiveFilter::use_staged(const segments::MessagePart& last,
                            const std::function<void(const segments::MessageBytes& message)>& use) {
  parts_.use(filter_->options(), last, use);
  write_beside([&] { return parts_.erase(filter_->options()); });
}

// --- transactions --------------------------------------------------------------------------------

void LiveFilter::write_pending() {
  if (filter_ != nullptr) {
    raise(filter_->flush());
  }
}

void LiveFilter::finish_changes() {
  if (filter_ != nullptr) {
    refuse_amid_parts();
    const Changing changing(*this);
    raise(filter_->finish_load());
  }
}

void LiveFilter::commit() noexcept {
  if (filter_ != nullptr) {
    filter_->committed();
    if (phase_ >= Phase::kCurrent) {
      see_own_version();
    }
  }
  parts_.end_transaction();
  end_transaction();
}

void LiveFilter::undo_transaction() noexcept {
  if (filter_ != nullptr) {
    filter_->forget();
    filter_->committed();  // so that the next transaction starts afresh
  }
  parts_.end_transaction();
}

void LiveFilter::undo_to(int) noexcept {
  parts_.forget();
  if (filter_ != nullptr) {
    filter_->forget();
  }
}

}  // namespace cuckoo
