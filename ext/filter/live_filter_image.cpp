// LiveFilter's images: what comes in by merge, import and a source's keys, what goes out by export.
#include <algorithm>
#include <string>

#include "core/filter/cell_layout.hpp"
#include "core/filter/legacy_bloom.hpp"
#include "core/stored/hash_sort.hpp"
#include "core/stored/log.hpp"

#include "ext/filter/image_filter.hpp"
#include "ext/filter/live_filter.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {
namespace {

uint64_t length_limit(sqlite3* db) noexcept {
  return static_cast<uint64_t>(sqlite3_limit(db, SQLITE_LIMIT_LENGTH, -1));
}

}  // namespace

// --- coming in -----------------------------------------------------------------------------------

LiveFilter::Incoming LiveFilter::decode_incoming(std::span<const std::byte> image) {
  Incoming incoming;
  incoming.name = "the image";
  ImageFilter decoded(image, table());
  const ImageHeader& header = decoded.header();
  incoming.options = filter_->options();
  incoming.options.spec = table_spec(header.spec);
  incoming.options.seed = header.seed;
  incoming.options.width = header.width;
  incoming.options.capacity = header.capacity;
  incoming.keys = decoded.keys();
  FilterContents& contents = incoming.contents;
  contents.key_types = incoming.keys.types;
  contents.capacity = header.capacity;
  contents.items = header.items;
  contents.hash_count = header.hash_count;
  contents.mark = header.mark;
  incoming.items = is_multiset(header.spec.kind) ? header.items : header.hash_count;
  incoming.with_hashes = header.with_hashes;
  incoming.geometry = header.geometry;
  if (header.with_hashes) {
    contents.hashes =
        polled([image](const CountedHashSink& sink) { return read_image_hashes(image, sink); },
               [this] { return store_.poll(); });
  }
  contents.filter = decoded.take_filter();
  return incoming;
}

Status LiveFilter::check_keys(const char* command, const Incoming& incoming) const {
  const std::string why = obstacle(incoming.keys, key_domain());
  return why.empty() ? Status() : invalid(std::string(command) + ": " + incoming.name + why);
}

// Could it be merged? The text names the difference and the way out.
Status LiveFilter::check_compatible(const Incoming& incoming) const {
  const FilterOptions& mine = filter_->options();
  const FilterOptions& other = incoming.options;
  const std::string& name = incoming.name;
  const bool by_hashes = incoming.with_hashes && !legacy_;
  if (mine.unique && filter_->newest().multiset() && !(by_hashes && mine.growth)) {
    return invalid("merge: unique = on skips hashes that it has, and " +
                   (by_hashes ? "this table" : name) + " keeps none; make it with growth = on" +
                   (by_hashes ? "" : ", or export it with 'hashes'"));
  }
  if (legacy_ != traits_of(other.spec.kind).pairs) {
    return invalid("merge: " + name + " is " + describe(other.spec.kind) + ", this is " +
                   describe(mine.spec.kind) + "; their hashes have nothing in common");
  }
  if (other.seed != mine.seed) {
    return invalid("merge: " + name +
                   " has another seed; make one of the two with the other's: seed_of = 'table',"
                   " or seed = number");
  }
  CUCKOO_TRY(check_keys("merge", incoming));
  if (other.width < mine.width || (!by_hashes && other.width != mine.width)) {
    return invalid("merge: " + name + " knows " + std::to_string(static_cast<int>(other.width)) +
                   " bits of each hash, this table needs " +
                   std::to_string(static_cast<int>(mine.width)) +
                   "; make this one with seed_of = 'table' and a capacity/fpr of at most 2^46, or"
                   " build the image with this one's fpr");
  }
  if (by_hashes) {
    return {};
  }
  if (other.spec.kind != mine.spec.kind) {
    return invalid("merge: " + name + " is " + describe(other.spec.kind) +
                   " without hashes, this is " + describe(mine.spec.kind) +
                   "; make it with growth = on, or export it with 'hashes'");
  }
  if (incoming.geometry != filter_->newest().base().words()) {
    return invalid("merge: " + name + " has another geometry and no hashes; " +
                   (legacy_ ? "" : "make it with growth = on, export it with 'hashes', or ") +
                   "make both with one capacity and fpr");
  }
  return {};
}

// Before anything is read of what would be merged. A table with unique = on skips what it has.
void LiveFilter::expect_mergeable(const Incoming& incoming) const {
  throw_if(table(), check_compatible(incoming));
  const LoggedFilter& newest = filter_->newest();
  if (!newest.options().unique) {
    throw_if(table(), newest.expect_room(incoming.items));
  }
}

// A bad image is the caller's error, not a broken table's.
void LiveFilter::check_hashes(const Incoming& incoming) const {
  if (incoming.contents.hashes != nullptr) {
    const Status status = verify_hashes(incoming.contents);
    if (!status.ok() && status.error().code == ErrorCode::kCorrupt) {
      throw SqlError(SQLITE_ERROR, table() + ": image: " + status.error().message);
    }
    throw_if(table(), status);
  }
}

// An image has pages of its own size.
void LiveFilter::take_pages_of(uint32_t page_bytes, FilterContents& contents) const {
  Result<std::unique_ptr<Filter>> paged = in_pages_of(page_bytes, std::move(contents.filter));
  throw_if(table(), paged.take_status());
  contents.filter = std::move(paged.value());
}

void LiveFilter::take_in(Incoming incoming) {
  FilterContents& contents = incoming.contents;
  LoggedFilter& newest = filter_->newest();
  if (contents.hashes == nullptr || legacy_) {
    take_pages_of(newest.options().page_bytes, contents);
    change_by([&]() -> Status {
      CUCKOO_TRY(newest.unite(*contents.filter, contents.items));
      newest.note_key_types(incoming.keys.types);
      return {};
    });
    return;
  }
  const bool counts = newest.multiset();
  if (counts && newest.options().unique) {
    take_in_new(incoming);
    return;
  }
  throw_if(table(),
           newest.expect_room(is_multiset(incoming.options.spec.kind) ? contents.items
                                                                      : contents.hash_count));
  change_by([&]() -> Status {
    CUCKOO_TRY(filter_->flush());
    constexpr uint64_t kInsertsPerPoll = 1024;
    uint64_t inserted = 0;
    Status status = contents.hashes([&](uint64_t hash, uint64_t count) -> Status {
      for (uint64_t i = 0; i < (counts ? count : 1); ++i) {
        CUCKOO_TRY(newest.insert_soon(hash & hash_mask_));
        if (++inserted % kInsertsPerPoll == 0) {
          CUCKOO_TRY(store_.poll());
        }
      }
      return {};
    });
    if (!status.ok() && status.error().code == ErrorCode::kFull && !newest.keeps_hashes()) {
      filter_->forget();  // nothing of it was written: what storage holds is as before
    }
    CUCKOO_TRY(std::move(status));
    newest.note_key_types(incoming.keys.types);
    return {};
  });
}

// Into a table with unique = on: equal hashes are skipped, what only seems to be present is not.
void LiveFilter::take_in_new(const Incoming& incoming) {
  LoggedFilter& newest = filter_->newest();
  LargeVector<uint64_t> hashes;
  hashes.reserve(incoming.contents.hash_count);
  throw_if(table(), incoming.contents.hashes([&](uint64_t hash, uint64_t) -> Status {
    hashes.push_back(hash & hash_mask_);
    return {};
  }));
  hashes = sorted_by_hash(hashes, newest.options().width);
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  change_by([&]() -> Status {
    CUCKOO_TRY(filter_->flush());
    CUCKOO_ASSIGN_OR_RETURN(const HashSource own, newest.hashes());
    auto next = hashes.begin();
    auto fresh_end = hashes.begin();
    CUCKOO_TRY(own([&](uint64_t hash, uint64_t) -> Status {  // ascending, too
      while (next != hashes.end() && *next < hash) {
        *fresh_end++ = *next++;
      }
      next += next != hashes.end() && *next == hash ? 1 : 0;
      return {};
    }));
    hashes.erase(fresh_end, next);
    constexpr size_t kInsertsPerPoll = 1024;
    for (size_t i = 0; i < hashes.size(); ++i) {
      CUCKOO_TRY(newest.insert(hashes[i]));
      if (i % kInsertsPerPoll == 0) {
        CUCKOO_TRY(store_.poll());
      }
    }
    newest.note_key_types(incoming.keys.types);
    return {};
  });
}

void LiveFilter::merge(LiveFilter& other) {
  if (&other == this) {
    throw SqlError(SQLITE_ERROR, table() + ": merge takes another filter than this one");
  }
  follow();
  other.follow();
  if (other.filter_->options().generations > 1) {
    throw SqlError(SQLITE_ERROR, table() + ": merge: " + other.table() +
                                     " is a sliding window; its generations can't be told apart"
                                     " once they are merged");
  }
  LoggedFilter& from = other.filter_->newest();
  Incoming incoming;
  incoming.name = other.table();
  incoming.options = from.options();
  incoming.keys = other.key_domain();
  incoming.items = from.items();
  incoming.with_hashes = from.keeps_hashes();
  incoming.geometry = from.base().words();
  expect_mergeable(incoming);
  Result<FilterContents> contents = from.contents(from.keeps_hashes());
  throw_if(other.table(), contents.take_status());
  incoming.contents = std::move(contents.value());
  take_in(std::move(incoming));
}

void LiveFilter::merge(std::span<const std::byte> image) {
  follow();
  Incoming incoming = decode_incoming(image);
  expect_mergeable(incoming);
  check_hashes(incoming);
  take_in(std::move(incoming));
}

void LiveFilter::import(std::span<const std::byte> image) {
  follow();
  Incoming incoming = decode_incoming(image);
  const FilterOptions& mine = filter_->options();
  if (mine.generations > 1) {
    throw SqlError(SQLITE_ERROR, table() + ": import: a sliding window takes no image; merge does");
  }
  if (incoming.options.spec.kind != mine.spec.kind) {
    throw SqlError(SQLITE_ERROR, table() + ": import: the image is of " +
                                     describe(incoming.options.spec.kind) + ", this is " +
                                     describe(mine.spec.kind) + "; make a table like the image");
  }
  throw_if(table(), check_keys("import", incoming));
  if (const Status status = incoming.options.check(); !status.ok()) {
    throw SqlError(SQLITE_ERROR, table() + ": import: the image is for " + status.error().message);
  }
  check_hashes(incoming);
  take_pages_of(mine.page_bytes, incoming.contents);
  HashCollection once(incoming.options.width);
  if (mine.unique && filter_->newest().multiset()) {
    take_each_once(once, incoming);
  }
  replace_all(incoming.options, std::move(incoming.contents));
}

// What a table with unique = on takes of a multiset's image: made anew from its hashes, which stay
// in `once`.
void LiveFilter::take_each_once(HashCollection& once, Incoming& incoming) {
  FilterContents& contents = incoming.contents;
  if (contents.hashes == nullptr) {
    throw SqlError(SQLITE_ERROR, table() +
                                     ": import: unique = on takes each hash once, and this image"
                                     " has none; export it with 'hashes'");
  }
  throw_if(table(), contents.hashes([&](uint64_t hash, uint64_t) -> Status {
    once.add(hash);
    return {};
  }));
  once.make_unique();
  const FilterOptions& options = incoming.options;
  Result<FilterContents> made =
      once.build(options.spec, options.capacity, HashCollection::Growth::kOn,
                 filter_->options().page_bytes, [this] { return store_.poll(); });
  throw_if(table(), made.take_status());
  made.value().key_types = contents.key_types;
  made.value().mark = contents.mark;
  contents = std::move(made.value());
}

FilterContents LiveFilter::contents_of_pairs(const std::vector<HashPair>& pairs, uint64_t capacity,
                                             uint8_t types) const {
  const FilterOptions& options = filter_->options();
  Result<std::unique_ptr<Filter>> made = make_filter(options.spec, capacity, options.page_bytes);
  throw_if(table(), made.take_status());
  FilterContents contents;
  contents.capacity = capacity;
  contents.key_types = types;
  contents.filter = std::move(made.value());
  BloomFilter& bloom = pairs_of(*contents.filter);
  bloom.pages().complete();
  for (const HashPair& pair : pairs) {
    if (bloom.probe_pair(pair) == Filter::Answer::kPresent) {
      continue;
    }
    if (bloom.full(contents.items, 0, capacity)) {
      throw_if(table(), Error{ErrorCode::kFull,
                              "no more than " + std::to_string(contents.items) +
                                  " of the keys: its capacity of " + std::to_string(capacity) +
                                  " is reached",
                              0});
    }
    bloom.insert_pair(pair);
    ++contents.items;
  }
  return contents;
}

void LiveFilter::replace(const std::function<void(const KeyVisitor& visit)>& for_each_key,
                         uint64_t capacity) {
  follow();
  const FilterOptions options = filter_->options();
  capacity = capacity != 0 ? capacity : filter_->newest().capacity();
  uint8_t types = 0;
  if (legacy_) {
    std::vector<HashPair> pairs;
    for_each_key([&](const KeyView& key) {
      if (key.type != SQLITE_TEXT && key.type != SQLITE_BLOB) {
        throw SqlError(SQLITE_MISMATCH, "with hash = murmur2 a key is TEXT or a BLOB");
      }
      pairs.push_back(pair_of(key));
      note_key_type(key, types);
    });
    replace_all(options, contents_of_pairs(pairs, capacity, types));
    return;
  }
  HashCollection keys(options.width);
  for_each_key([&](const KeyView& key) {
    keys.add(hash_of(key));
    note_key_type(key, types);
  });
  if (options.unique) {
    keys.make_unique();
  }
  Result<FilterContents> contents =
      keys.build(options.spec, capacity,
                 options.growth ? HashCollection::Growth::kOn : HashCollection::Growth::kOff,
                 options.page_bytes, [this] { return store_.poll(); });
  throw_if(table(), contents.take_status());
  contents.value().key_types = types;
  replace_all(options, std::move(contents.value()));
}

void LiveFilter::replace_all(const FilterOptions& options, FilterContents contents) {
  FilterOptions next = options;
  next.digest = digest_of(next);
  change_by([&]() -> Status {
    CUCKOO_TRY(filter_->newest().import(next, std::move(contents)));
    try {
      store_options(store_, next);
    } catch (const SqlError& error) {  // too late for anything but undoing the transaction
      return Error{ErrorCode::kStorage, error.message(), undoing_code(error.code())};
    }
    return {};
  });
  adopt_options();
}

// --- going out -----------------------------------------------------------------------------------

std::vector<std::byte> LiveFilter::export_image(bool with_hashes) {
  if (filter_->options().generations > 1) {
    throw SqlError(SQLITE_ERROR, table() + ": a sliding window can't be exported as one image");
  }
  const uint64_t limit = length_limit(store_.db());
  throw_if(table(), check_image_bytes(filter_->newest().base(), limit));
  Result<FilterContents> contents = filter_->newest().contents(with_hashes);
  throw_if(table(), contents.take_status());
  const FilterOptions& options = filter_->options();
  ImageHeader header = image_header(options.spec, options.width, options.seed, key_domain());
  set_mark(header, contents.value().mark);
  header.capacity = contents.value().capacity;
  header.items = contents.value().items;
  header.hash_count = with_hashes ? contents.value().hash_count : 0;
  Result<std::vector<std::byte>> image = encode_image(
      header, *contents.value().filter, with_hashes ? &contents.value().hashes : nullptr, limit);
  throw_if(table(), image.take_status());
  return std::move(image.value());
}

std::vector<std::byte> LiveFilter::export_legacy_file() {
  if (!legacy_) {
    throw SqlError(SQLITE_ERROR, table() +
                                     ": only a bloom_filter with hash = murmur2 has a legacy"
                                     " file, this is " +
                                     describe(filter_->options().spec.kind));
  }
  throw_if(table(),
           check_legacy_file_bytes(filter_->newest().base().words(), length_limit(store_.db())));
  Result<FilterContents> contents = filter_->newest().contents(false);
  throw_if(table(), contents.take_status());
  LegacyFile file;
  file.seed = static_cast<uint32_t>(seed_);
  file.rate = filter_->target_rate();
  file.capacity = contents.value().capacity;
  file.items = contents.value().items;
  file.filter = std::move(contents.value().filter);
  Result<std::vector<std::byte>> bytes = encode_legacy_file(file);
  throw_if(table(), bytes.take_status());
  return std::move(bytes.value());
}

}  // namespace cuckoo
