#include "ext/filter/options.hpp"

#include <cmath>
#include <numbers>

#include "core/base/bytes.hpp"
#include "core/filter/bloom_sizing.hpp"
#include "core/filter/sizing.hpp"
#include "ext/filter/top_keys.hpp"
#include "ext/table/stored_options.hpp"

namespace cuckoo {
namespace {

// The format of the shadow tables. No release had an earlier format.
constexpr uint32_t kFormat = 4;

constexpr OptionSpec kCapacitySpec = {"capacity",
                                      OptionKind::kWhole,
                                      1,
                                      static_cast<double>(kMaxCapacity),
                                      "a whole number from 1 to 2^40",
                                      {}};
constexpr OptionSpec kFprSpec = {"fpr",    OptionKind::kNumber,           kMinRate,
                                 kMaxRate, "a number from 2^-30 to 0.25", {}};
constexpr OptionSpec kGrowthSpec = {"growth", OptionKind::kSwitch, 0, 0, "on or off", {}};
constexpr OptionSpec kSeedSpec = {"seed", OptionKind::kSeed, 0, 0, "a 64-bit integer", {}};
constexpr OptionSpec kSeedOfSpec = {
    "seed_of", OptionKind::kName, 0, 0, "the name of a filter table", {}};
constexpr OptionSpec kSourceSpec = {
    "source", OptionKind::kSource, 0, 0, "table(column) or table(expression)", {}};
constexpr OptionSpec kWhereSpec = {
    "where", OptionKind::kName, 0, 0, "a condition on the columns of the source", {}};
constexpr OptionSpec kTriggersSpec = {"triggers", OptionKind::kSwitch, 0, 0, "on or off", {}};
constexpr OptionSpec kGenerationsSpec = {"generations",
                                         OptionKind::kWhole,
                                         1,
                                         static_cast<double>(kMaxGenerations),
                                         "a whole number from 1 to 64",
                                         {}};

constexpr OptionSpec kUniqueSpec = {"unique", OptionKind::kSwitch, 0, 0, "on or off", {}};
constexpr OptionSpec kTopSpec = {
    "top", OptionKind::kWhole, 1, kMostTopKeys, "a whole number from 1 to 1000", {}};

constexpr OptionSpec kCuckooSpecs[] = {
    kCapacitySpec,
    kFprSpec,
    {"fingerprint_bits", OptionKind::kWhole, 4, 32, "a whole number from 4 to 32", {}},
    kGrowthSpec,
    kSeedSpec,
    kSeedOfSpec,
    kSourceSpec,
    kWhereSpec,
    kTriggersSpec,
    kGenerationsSpec,
    kUniqueSpec,
    kTopSpec,
};

constexpr OptionSpec kBloomSpecs[] = {
    kCapacitySpec,
    kFprSpec,
    {"bits_per_key",
     OptionKind::kNumber,
     kMinBitsPerKey,
     kMaxBitsPerKey,
     "a number from 1 to 128",
     {}},
    {"hashes", OptionKind::kWhole, 1, kMaxBloomHashes, "a whole number from 1 to 64", {}},
    {"layout", OptionKind::kWord, 0, 0, "standard or blocked", "standard blocked"},
    {"counting", OptionKind::kSwitch, 0, 0, "on or off", {}},
    {"hash", OptionKind::kWord, 0, 0, "xxh3 or murmur2", "xxh3 murmur2"},
    kGrowthSpec,
    kSeedSpec,
    kSeedOfSpec,
    kSourceSpec,
    kWhereSpec,
    kTriggersSpec,
    kGenerationsSpec,
    kUniqueSpec,
    kTopSpec,
};

// A filter with at most so many cells can have hashes of 47 bits.
constexpr double kNarrowCells = 0x1p46;

// Refuses options that contradict one another, and names the table.
class Choice {
 public:
  Choice(const std::string& table, const Options& options) : table_(table), options_(options) {}

  [[noreturn]] void refuse(const std::string& why) const {
    throw SqlError(SQLITE_ERROR, table_ + ": " + why);
  }
  void refuse_both(const char* a, const char* b) const {
    if (options_.has(a) && options_.has(b)) {
      refuse(std::string("options ") + a + " and " + b + " exclude one another");
    }
  }

 private:
  const std::string& table_;
  const Options& options_;
};

FilterKind chosen_bloom_kind(const Choice& choice, const Options& options) {
  const bool blocked = options.text("layout").value_or("standard") == "blocked";
  const bool counting = options.on("counting").value_or(false);
  if (options.text("hash").value_or("xxh3") == "murmur2") {
    if (blocked || counting || options.whole("generations").value_or(1) != 1 ||
        options.on("growth").value_or(false)) {
      choice.refuse(
          "hash = murmur2 is the legacy file's filter: it goes with layout = standard, counting ="
          " off, generations = 1 and growth = off only");
    }
    return FilterKind::kLegacyBloom;
  }
  if (counting && blocked) {
    choice.refuse("counting = on needs layout = standard");
  }
  return counting  ? FilterKind::kCountingBloom
         : blocked ? FilterKind::kBlockedBloom
                   : FilterKind::kBloom;
}

FilterSpec chosen_spec(const Choice& choice, FilterModule module, const Options& options) {
  for (const char* other : {"fingerprint_bits", "bits_per_key", "hashes"}) {
    choice.refuse_both("fpr", other);
  }
  FilterSpec spec;
  spec.kind =
      module == FilterModule::kBloom ? chosen_bloom_kind(choice, options) : FilterKind::kCuckoo;
  spec.rate = options.number("fpr").value_or(spec.rate);
  spec.fingerprint_bits = static_cast<uint32_t>(options.whole("fingerprint_bits").value_or(0));
  spec.bits_per_key = options.number("bits_per_key").value_or(0);
  spec.hashes = static_cast<uint32_t>(options.whole("hashes").value_or(0));
  if (spec.hashes != 0 && spec.kind == FilterKind::kBlockedBloom) {
    choice.refuse("option hashes goes with layout = standard; a blocked filter's are 8 a block");
  }
  if (spec.hashes != 0 && spec.bits_per_key == 0) {  // the bits for which so many hashes are best
    spec.bits_per_key = std::min(spec.hashes / std::numbers::ln2, kMaxBitsPerKey);
  }
  return spec;
}

void check_companions(const Choice& choice, const FilterOptions& chosen, const Options& options) {
  choice.refuse_both("seed", "seed_of");
  const bool triggers = options.on("triggers").value_or(false);
  if (triggers && !options.has("source")) {
    choice.refuse("triggers = on needs a source, the table whose changes it follows");
  }
  if (options.has("where") && !options.has("source")) {
    choice.refuse("where needs a source, whose rows it chooses from");
  }
  if (chosen.generations > 1 && options.has("source")) {
    choice.refuse(
        "generations and source exclude one another: a window forgets what the source still has");
  }
  if (options.has("source") && !options.has("triggers")) {
    choice.refuse(
        "say what becomes of rows that come later: triggers = on makes the filter follow its"
        " source, and then every program that writes to that table must load the extension, or its"
        " INSERT fails; triggers = off makes it a snapshot, which denies rows that come later until"
        " 'rebuild'");
  }
  if (chosen.unique && triggers) {
    choice.refuse(
        "unique and triggers exclude one another: a row whose key is in the filter, or seems to be,"
        " could not be inserted into the source");
  }
  if (chosen.top > 0 && !chosen.counts_copies()) {
    choice.refuse(chosen.unique
                      ? "unique = on holds each key once, so top would have nothing to count"
                      : "top needs a filter that counts: a cuckoo_filter, or a bloom_filter"
                        " with counting = on");
  }
  if (chosen.top > 0 && chosen.key_columns > 1) {
    choice.refuse("top keeps keys of one column, this key has " +
                  std::to_string(static_cast<int>(chosen.key_columns)));
  }
  const bool by_rate = chosen.spec.fingerprint_bits == 0 && chosen.spec.bits_per_key == 0;
  if (by_rate && chosen.spec.kind == FilterKind::kCuckoo &&
      chosen.generation_spec().rate < kMinRate) {
    choice.refuse(
        "fpr is that of all generations together, and each of a cuckoo_filter needs 2^-30; ask for"
        " at least generations * 2^-30, or take a bloom_filter");
  }
}

// Returns the rate of one generation at capacity.
double rate_at_capacity(const std::string& table, const FilterOptions& options) {
  const FilterSpec spec = options.generation_spec();
  if (spec.fingerprint_bits != 0) {
    Result<FilterSize> size = filter_size(spec, options.capacity, options.page_bytes);
    throw_if(table, size.take_status());
    return std::ldexp(8.0, -static_cast<int>(spec.fingerprint_bits));
  }
  Result<std::unique_ptr<Filter>> filter = make_filter(spec, options.capacity, options.page_bytes);
  throw_if(table, filter.ok() ? Status() : filter.take_status());
  return spec.bits_per_key != 0 ? filter.value()->rate(static_cast<double>(options.capacity))
                                : spec.rate;
}

}  // namespace

const char* module_name(FilterModule module) noexcept {
  return module == FilterModule::kCuckoo ? "cuckoo_filter" : "bloom_filter";
}

FilterModule module_of(FilterKind kind) noexcept {
  switch (kind) {
    case FilterKind::kCuckoo:
      return FilterModule::kCuckoo;
    case FilterKind::kBloom:
    case FilterKind::kBlockedBloom:
    case FilterKind::kCountingBloom:
    case FilterKind::kLegacyBloom:
      break;
  }
  return FilterModule::kBloom;
}

std::string seed_text(uint64_t seed) { return std::to_string(static_cast<int64_t>(seed)); }

std::string describe(FilterKind kind) {
  switch (kind) {
    case FilterKind::kCuckoo:
      return "a cuckoo_filter";
    case FilterKind::kBloom:
      return "a bloom_filter with layout = standard";
    case FilterKind::kBlockedBloom:
      return "a bloom_filter with layout = blocked";
    case FilterKind::kCountingBloom:
      return "a bloom_filter with counting = on";
    case FilterKind::kLegacyBloom:
      break;
  }
  return "a bloom_filter with hash = murmur2";
}

std::span<const OptionSpec> option_specs(FilterModule module) noexcept {
  if (module == FilterModule::kCuckoo) {
    return kCuckooSpecs;
  }
  return kBloomSpecs;
}

FilterOptions chosen_options(const std::string& table, FilterModule module, const Options& options,
                             const Surroundings& around) {
  const Choice choice(table, options);
  FilterOptions chosen;
  chosen.key_columns = around.key.columns;
  chosen.collations = around.key.collations;
  chosen.spec = chosen_spec(choice, module, options);
  const bool legacy = traits_of(chosen.spec.kind).pairs;
  if (legacy && around.key.columns > 1) {
    choice.refuse("hash = murmur2 hashes the bytes of one value: it does not go with a key of " +
                  std::to_string(around.key.columns) +
                  " columns; leave it out, or give one column");
  }
  if (legacy && around.key.collations != 0) {
    choice.refuse("hash = murmur2 hashes a key's bytes as they are: it does not go with COLLATE " +
                  collations_text(around.key));
  }
  chosen.capacity = options.whole("capacity").value_or(around.capacity);
  chosen.growth = options.on("growth").value_or(!legacy);
  chosen.generations = options.whole("generations").value_or(1);
  chosen.unique = options.on("unique").value_or(false);
  chosen.top = static_cast<uint32_t>(options.whole("top").value_or(0));
  chosen.page_bytes = around.page_bytes;
  check_companions(choice, chosen, options);
  const double rate = rate_at_capacity(table, chosen);
  const double cells = static_cast<double>(chosen.capacity) / rate;
  const uint64_t generations = chosen.generations;  // together they are as one filter
  chosen.width = legacy ? HashWidth::k63Bits
                        : hash_width_for(rate * static_cast<double>(generations),
                                         chosen.capacity * generations);
  if (const std::optional<SeedSource>& seed_of = around.seed_of) {
    if (legacy != traits_of(seed_of->kind).pairs) {
      choice.refuse("seed_of names a table with another hash: murmur2 and xxh3 can't be merged");
    }
    chosen.seed = seed_of->seed;
    // A wide log can be narrowed for a narrow table, but not the other way round.
    if (seed_of->width == HashWidth::k47Bits && cells <= kNarrowCells) {
      chosen.width = HashWidth::k47Bits;
    }
  } else if (const std::optional<int64_t> seed = options.seed("seed")) {
    chosen.seed = static_cast<uint64_t>(*seed);
    if (legacy && chosen.seed > UINT32_MAX) {
      choice.refuse("with hash = murmur2 a seed is a whole number from 0 to 2^32 - 1");
    }
  } else {
    sqlite3_randomness(sizeof chosen.seed, &chosen.seed);
    chosen.seed = legacy ? chosen.seed & UINT32_MAX : chosen.seed;
  }
  return chosen;
}

uint64_t digest_of(const FilterOptions& options) noexcept {
  const uint64_t words[] = {
      kFormat,
      static_cast<uint64_t>(options.spec.kind),
      options.capacity,
      bits_of(options.spec.rate),
      options.spec.fingerprint_bits,
      bits_of(options.spec.bits_per_key),
      options.spec.hashes,
      static_cast<uint64_t>(options.growth),
      options.generations,
      static_cast<uint64_t>(options.unique) + 2 * uint64_t{options.top},
      static_cast<uint64_t>(options.width),
      options.seed,
      options.page_bytes,
      options.key_columns,
      options.collations,
  };
  std::byte bytes[sizeof words];
  for (size_t i = 0; i < std::size(words); ++i) {
    store_le(&bytes[8 * i], words[i]);
  }
  return XXH3_64bits(bytes, sizeof bytes);
}

// --- stored --------------------------------------------------------------------------------------

void store_options(ShadowStore& store, const FilterOptions& options, const KeyForm& declared) {
  throw_if(store.table(), options.check());  // so that stored options can be read
  for (const char* key : {"fpr", "fingerprint_bits", "bits_per_key", "hashes"}) {
    store.erase_option(key);
  }
  const auto whole = [&store](const char* key, uint64_t value) {
    store.write_option(key, static_cast<int64_t>(value));
  };
  const FilterSpec& spec = options.spec;
  whole("format", kFormat);
  store.write_option("affinity", affinities_text(declared));
  store.write_option("collation", collations_text(options.key_form()));
  whole("kind", static_cast<uint64_t>(spec.kind));
  whole("capacity", options.capacity);
  if (spec.fingerprint_bits != 0) {
    whole("fingerprint_bits", spec.fingerprint_bits);
  } else if (spec.bits_per_key != 0) {
    store.write_option("bits_per_key", spec.bits_per_key);
    if (spec.hashes != 0) {
      whole("hashes", spec.hashes);
    }
  } else {
    store.write_option("fpr", spec.rate);
  }
  store.write_option("growth", std::string(options.growth ? "on" : "off"));
  whole("generations", options.generations);
  if (options.unique) {
    store.write_option("unique", std::string("on"));
  }
  if (options.top > 0) {
    whole("top", options.top);
  }
  whole("seed", options.seed);
  whole("salt", options.salt);
  whole("hash_bits", static_cast<uint64_t>(options.width));
  whole("page_bytes", options.page_bytes);
}

namespace {

FilterSpec stored_spec(const StoredOptions& stored) {
  FilterSpec spec;
  spec.kind =
      static_cast<FilterKind>(stored.whole("kind", static_cast<int64_t>(kFilterKinds.front()),
                                           static_cast<int64_t>(kFilterKinds.back())));
  if (stored.has("fingerprint_bits")) {
    spec.fingerprint_bits = static_cast<uint32_t>(stored.whole("fingerprint_bits", 4, 32));
  } else if (stored.has("bits_per_key")) {
    spec.bits_per_key = stored.number("bits_per_key", kMinBitsPerKey, kMaxBitsPerKey);
    if (stored.has("hashes")) {
      spec.hashes = static_cast<uint32_t>(stored.whole("hashes", 1, kMaxBloomHashes));
    }
  } else {
    spec.rate = stored.number("fpr", 0, 1);
    stored.expect(check_spec(spec).ok(), "fpr");
  }
  const OwnSize own_size = traits_of(spec.kind).own_size;
  stored.expect(spec.fingerprint_bits == 0 || own_size == OwnSize::kFingerprintBits,
                "fingerprint_bits");
  stored.expect(spec.bits_per_key == 0 || own_size == OwnSize::kBitsPerKey, "bits_per_key");
  return spec;
}

}  // namespace

FilterOptions stored_options(ShadowStore& store, const KeyForm& declared, bool sourced) {
  const StoredOptions stored(store);
  FilterOptions options;
  if (const int64_t format = stored.whole("format", INT64_MIN, INT64_MAX);
      format >= 1 && format < int64_t{kFormat}) {
    throw SqlError(SQLITE_CORRUPT_VTAB,
                   store.table() +
                       ": it was made by a version before the first release, in a format that is"
                       " not read any more; drop it, and make it anew");
  }
  stored.format(kFormat, kFormat);
  const std::optional<KeyForm> key = form_of_collations(stored.text("collation"));
  stored.expect(key.has_value(), "collation");
  options.key_columns = key->columns;
  options.collations = key->collations;
  const std::string& affinity = stored.text("affinity");
  if (const char* const other = key->columns != declared.columns         ? "number of columns"
                                : key->collations != declared.collations ? "collation"
                                : affinity != affinities_text(declared)  ? "type"
                                                                         : nullptr;
      other != nullptr) {
    throw SqlError(SQLITE_CORRUPT_VTAB,
                   store.table() + ": corrupt: its key is declared with another " + other +
                       " than the one it was made with, " + shown_types(affinity) +
                       " compared by " + collations_text(*key));
  }
  options.spec = stored_spec(stored);
  options.capacity = static_cast<uint64_t>(stored.whole("capacity", 1, int64_t{1} << 40));
  options.growth = stored.on("growth");
  options.generations =
      static_cast<uint64_t>(stored.whole("generations", 1, static_cast<int64_t>(kMaxGenerations)));
  options.unique = stored.has("unique");
  stored.expect(!options.unique || stored.on("unique"), "unique");
  options.top = stored.has("top") ? static_cast<uint32_t>(stored.whole("top", 1, kMostTopKeys)) : 0;
  options.seed = static_cast<uint64_t>(stored.whole("seed", INT64_MIN, INT64_MAX));
  options.salt = static_cast<uint64_t>(stored.whole("salt", INT64_MIN, INT64_MAX));
  const int64_t bits = stored.whole("hash_bits", 47, 63);
  stored.expect(bits == 47 || bits == 63, "hash_bits");
  options.width = static_cast<HashWidth>(bits);
  options.page_bytes =
      static_cast<uint32_t>(stored.whole("page_bytes", kPageStepBytes, kPageBytes));
  stored.expect(is_page_size(options.page_bytes), "page_bytes");
  if (const Status status = options.check(); !status.ok()) {
    throw SqlError(SQLITE_CORRUPT_VTAB, store.table() + ": corrupt: \"" + store.table() +
                                            "_config\" has options for " + status.error().message);
  }
  if (sourced) {
    stored.expect_no_more({"source", "source_columns", "where", "key_type", "triggers",
                           "source_crc"});  // FilterSource
  } else {
    stored.expect_no_more();
  }
  options.digest = digest_of(options);
  return options;
}

}  // namespace cuckoo
