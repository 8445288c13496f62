#include "ext/filter/aggregates.hpp"

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/key_hash.hpp"
#include "core/filter/sizing.hpp"
#include "core/segments/hash_collection.hpp"
#include "core/segments/image.hpp"

#include "ext/filter/image_filter.hpp"
#include "ext/filter/image_union.hpp"
#include "ext/filter/options.hpp"
#include "ext/filter/tuple_key.hpp"
#include "ext/sqlite/function.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/sqlite/poller.hpp"
#include "ext/sqlite/value.hpp"
#include "ext/table/registration.hpp"

namespace cuckoo {
namespace {

using segments::Contents;
using segments::HashCollection;
using segments::HashCounts;

// The seed of an image if none is given. It is fixed, so that images made anywhere can be united.
constexpr uint64_t kImageSeed = 0;

// Returns the pointer in the aggregate's memory, which SQLite zeroes and frees, to our own object.
template <class State>
State*& state_of(sqlite3_context* context) {
  auto* slot = static_cast<State**>(sqlite3_aggregate_context(context, sizeof(State*)));
  if (slot == nullptr) {
    throw std::bad_alloc();
  }
  return *slot;
}

// Takes the state out of the aggregate. The aggregate holds the state only between two calls. After
// a failed call SQLite still asks for a result, but the aggregate is empty by then.
template <class State>
std::unique_ptr<State> take_state(sqlite3_context* context) noexcept {
  auto* slot = static_cast<State**>(sqlite3_aggregate_context(context, 0));
  return slot == nullptr ? nullptr : std::unique_ptr<State>(std::exchange(*slot, nullptr));
}

// --- building ------------------------------------------------------------------------------------

struct Build {
  FilterSpec spec;
  uint64_t capacity = 0;  // 0: as many as there are keys
  uint64_t seed = kImageSeed;
  bool with_hashes = false;
  // How many columns every key has, if cuckoo_key() made all keys; else 1; 0 if there is no key
  // yet.
  size_t columns = 0;
  uint8_t key_types = 0;      // as keys of one column
  uint64_t column_types = 0;  // of `columns` columns
  HashCollection keys;
  std::string text;

  explicit Build(HashWidth width) : keys(width) {}
  void note_other(const KeyView& key) noexcept;
  KeyDomain domain() const noexcept;
};

// Notes the types of a key that is no integer.
void Build::note_other(const KeyView& key) noexcept {
  note_key_type(key, key_types);
  const std::optional<TupleColumns> tuple =
      key.type == SQLITE_BLOB ? decode_tuple(bytes_of(key)) : std::nullopt;
  const size_t its_columns = tuple ? tuple->count : 1;
  columns = columns == 0 || columns == its_columns ? its_columns : 1;
  for (size_t i = 0; tuple && i < tuple->count; ++i) {
    auto types = static_cast<uint8_t>(column_types >> 8 * i);
    note_key_type(tuple->keys[i], types);
    column_types |= uint64_t{types} << 8 * i;
  }
}

KeyDomain Build::domain() const noexcept {
  KeyDomain domain;
  if (columns > 1) {
    domain.form.columns = static_cast<uint8_t>(columns);
    domain.types = column_types;
  } else {
    domain.types = key_types;
  }
  return domain;
}

std::string shown_argument(sqlite3_value* value) { return printable(text_argument(value)); }

template <FilterKind kKind>
constexpr const char* kBuildName = kKind == FilterKind::kCuckoo ? "cuckoo_build" : "bloom_build";

// Throws before the image is made, if an image with so many hashes or more would be too long.
void check_length(const Build& build, uint64_t capacity, uint64_t hash_count,
                  const std::string& name, uint64_t limit) {
  throw_if(name, segments::check_image_bytes(build.spec, build.keys.width(), capacity, false,
                                             build.with_hashes ? hash_count : 0, limit));
}

// Reads the arguments after the key, as the group's first row has them. NULL means the default.
std::unique_ptr<Build> start_build(FilterKind kind, const std::string& name, int count,
                                   sqlite3_value** values) {
  const auto refuse = [&name](const std::string& why) {
    return SqlError(SQLITE_ERROR, name + ": " + why);
  };
  const auto given = [&](int index) {
    return index < count && sqlite3_value_type(values[index]) != SQLITE_NULL;
  };
  enum : int { kRate = 1, kCapacity = 2, kSeed = 3, kHashes = 4 };
  FilterSpec spec;
  spec.kind = kind;
  uint64_t capacity = 0;
  if (given(kRate)) {
    const int type = sqlite3_value_numeric_type(values[kRate]);
    spec.rate = sqlite3_value_double(values[kRate]);
    if ((type != SQLITE_FLOAT && type != SQLITE_INTEGER) ||
        !(spec.rate >= kMinRate && spec.rate <= kMaxRate)) {
      throw refuse("fpr is \"" + shown_argument(values[kRate]) +
                   "\", expected a number from 2^-30 to 0.25");
    }
  }
  if (given(kCapacity)) {
    const std::optional<double> number = parse_number(text_argument(values[kCapacity]));
    if (!number || *number < 1 || *number > static_cast<double>(kMaxCapacity) ||
        std::floor(*number) != *number) {
      throw refuse("capacity is \"" + shown_argument(values[kCapacity]) +
                   "\", expected a whole number from 1 to 2^40");
    }
    capacity = static_cast<uint64_t>(*number);
  }
  auto build = std::make_unique<Build>(hash_width_for(spec.rate, capacity));
  build->spec = spec;
  build->capacity = capacity;
  if (given(kSeed)) {
    if (sqlite3_value_numeric_type(values[kSeed]) != SQLITE_INTEGER) {
      throw refuse("seed is \"" + shown_argument(values[kSeed]) + "\", expected a 64-bit integer");
    }
    build->seed = static_cast<uint64_t>(sqlite3_value_int64(values[kSeed]));
  }
  if (given(kHashes)) {
    if (lower(text_argument(values[kHashes])) != "hashes") {
      throw refuse("the fifth argument is \"" + shown_argument(values[kHashes]) +
                   "\", expected 'hashes' or NULL");
    }
    build->with_hashes = true;
  }
  return build;
}

template <FilterKind kKind>
void build_step(sqlite3_context* context, int count, sqlite3_value** values) {
  guarded(context, [&] {
    Build*& slot = state_of<Build>(context);
    std::unique_ptr<Build> build(std::exchange(slot, nullptr));
    if (build == nullptr) {
      build = start_build(kKind, kBuildName<kKind>, count, values);
      if (build->capacity != 0) {
        check_length(*build, build->capacity, 0, kBuildName<kKind>,
                     length_limit(sqlite3_context_db_handle(context)));
      }
    }
    if (is_plain_integer(values[0], Affinity::kNone)) {
      build->keys.add(hash_integer(sqlite3_value_int64(values[0]), build->seed));
      build->key_types |= kIntegerKeys;
      build->columns = 1;
    } else if (const KeyView key = key_of(values[0], Affinity::kNone, build->text);
               key.type != SQLITE_NULL) {
      build->keys.add(hash_key(key, build->seed));
      build->note_other(key);
    }
    slot = build.release();
  });
}

template <FilterKind kKind>
void build_final(sqlite3_context* context) {
  guarded(context, [&] {
    const std::unique_ptr<Build> build = take_state<Build>(context);
    if (build == nullptr) {
      sqlite3_result_null(context);
      return;
    }
    const std::string name = kBuildName<kKind>;
    const uint64_t limit = length_limit(sqlite3_context_db_handle(context));
    Poller poller(sqlite3_context_db_handle(context));
    Result<HashCounts> counts = build->keys.count(std::ref(poller));
    throw_if(name, counts.take_status());
    const uint64_t needed = counts.value().capacity(kKind);
    check_length(*build, build->capacity != 0 ? build->capacity : needed, counts.value().distinct,
                 name, limit);
    Result<Contents> contents = build->keys.build(
        build->spec, build->capacity, HashCollection::Growth::kOff, segments::kImagePageBytes,
        std::ref(poller),
        build->with_hashes ? HashCollection::Hashes::kKept : HashCollection::Hashes::kLeftOut);
    throw_if(name, contents.take_status());
    segments::MessageHeader header =
        image_header(build->spec, build->keys.width(), build->seed, build->domain());
    header.capacity = contents.value().capacity;
    header.items = contents.value().items;
    header.with_hashes = build->with_hashes;
    Result<std::vector<std::byte>> image =
        segments::encode_image(header, contents.value().pieces, limit);
    throw_if(name, image.take_status());
    result_blob(context, image.value());
  });
}

// --- uniting -------------------------------------------------------------------------------------

constexpr char kUnion[] = "filter_union";

struct Union {
  Poller poller;
  ImageUnion images;

  explicit Union(sqlite3_context* context)
      : poller(sqlite3_context_db_handle(context)),
        images(kUnion, length_limit(sqlite3_context_db_handle(context)), std::ref(poller)) {}
};

void union_step(sqlite3_context* context, int, sqlite3_value** values) {
  guarded(context, [&] {
    if (sqlite3_value_type(values[0]) == SQLITE_NULL) {
      return;
    }
    Union*& slot = state_of<Union>(context);
    std::unique_ptr<Union> united(std::exchange(slot, nullptr));
    if (sqlite3_value_type(values[0]) != SQLITE_BLOB) {
      throw SqlError(SQLITE_ERROR,
                     std::string(kUnion) + ": the argument is an image" + kHintBindAsBlob);
    }
    if (united == nullptr) {
      united = std::make_unique<Union>(context);
    }
    united->images.add(blob_of(values[0]));
    slot = united.release();
  });
}

void union_final(sqlite3_context* context) {
  guarded(context, [&] {
    const std::unique_ptr<Union> united = take_state<Union>(context);
    if (united == nullptr) {
      sqlite3_result_null(context);
    } else {
      result_blob(context, united->images.encode());
    }
  });
}

}  // namespace

void register_filter_aggregates(Registration& registration) {
  constexpr int kFlags = SQLITE_INNOCUOUS | SQLITE_DETERMINISTIC;
  for (int arguments = 1; arguments <= 5; ++arguments) {
    registration.aggregate(kBuildName<FilterKind::kCuckoo>, arguments, kFlags,
                           build_step<FilterKind::kCuckoo>, build_final<FilterKind::kCuckoo>);
    registration.aggregate(kBuildName<FilterKind::kBloom>, arguments, kFlags,
                           build_step<FilterKind::kBloom>, build_final<FilterKind::kBloom>);
  }
  registration.aggregate(kUnion, 1, kFlags, union_step, union_final);
}

}  // namespace cuckoo
