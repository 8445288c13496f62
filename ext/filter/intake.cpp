#include "ext/filter/intake.hpp"

#include <algorithm>
#include <memory>

#include "core/filter/cell_layout.hpp"
#include "core/filter/legacy_bloom.hpp"
#include "core/segments/image.hpp"
#include "core/stored/hash_sort.hpp"

#include "ext/filter/image_filter.hpp"
#include "ext/filter/live_filter.hpp"

namespace cuckoo {
namespace {

using segments::Contents;
using segments::FilterFile;
using segments::Piece;
using segments::PieceSink;
using segments::PieceSource;

constexpr uint64_t kHashesPerPoll = 1024;
constexpr uint64_t kLegacyFrontBytes = 64;  // the header's length

// Returns the hashes of pieces that have them.
HashSource hashes_of(PieceSource pieces) {
  return [pieces = std::move(pieces)](const CountedHashSink& sink) {
    return pieces([&](Piece&& piece) -> Status {
      for (const segments::NetHash& entry : piece.hashes) {
        CUCKOO_TRY(sink(entry.hash, static_cast<uint64_t>(entry.net)));
      }
      return {};
    });
  };
}

// Returns a source that gives `first` the first time, and makes the piece again each later time.
PieceSource one_piece(Piece first, std::function<Result<Piece>()> again) {
  auto kept = std::make_shared<std::optional<Piece>>(std::move(first));
  return [kept = std::move(kept), again = std::move(again)](const PieceSink& sink) -> Status {
    if (std::optional<Piece> piece = std::exchange(*kept, std::nullopt)) {
      return sink(*std::move(piece));
    }
    CUCKOO_ASSIGN_OR_RETURN(Piece piece, again());
    return sink(std::move(piece));
  };
}

}  // namespace

void Intake::refuse(const std::string& why) const {
  throw SqlError(SQLITE_ERROR, live_.table() + ": " + command_ + ": " + why);
}

// --- images --------------------------------------------------------------------------------------

void Intake::verify(const Incoming& incoming) const {
  uint64_t bits = 0;
  const Status status = incoming.contents.pieces([&](Piece&& piece) -> Status {
    bits += piece.filter->bits();
    return {};
  });
  if (!status.ok() && status.error().code == ErrorCode::kCorrupt) {
    refuse(status.error().message);
  }
  throw_if(live_.table(), status);
  if (const uint64_t capacity = incoming.contents.capacity; bits < capacity / 2) {
    refuse("image with a geometry too small for its capacity of " + std::to_string(capacity));
  }
  const uint64_t items = incoming.contents.items;
  if (!is_multiset(incoming.options.spec.kind) && bits < items / 2) {
    refuse("image with a geometry too small for its " + std::to_string(items) + " items");
  }
}

Intake::Incoming Intake::decode_legacy(const segments::MessageBytes& message) const {
  const FilterOptions& mine = live_.filter().options();
  const uint32_t page_bytes = mine.page_bytes;
  auto kept = std::make_shared<std::vector<std::byte>>();  // for bytes that are not in memory
  const auto bytes = value_or_throw(live_.table(), message.read(0, message.size(), *kept));
  Result<LegacyFile> decoded = decode_legacy_file(bytes, page_bytes);
  if (!decoded.ok()) {
    refuse(decoded.error().message);
  }
  const auto piece_of = [](LegacyFile file) {
    Piece piece;
    piece.capacity = file.capacity;
    piece.items = file.items;
    piece.filter = std::move(file.filter);
    return piece;
  };
  LegacyFile& file = decoded.value();
  Incoming incoming;
  incoming.options = mine;
  incoming.options.spec = {};
  incoming.options.spec.kind = FilterKind::kLegacyBloom;
  incoming.options.spec.rate = file.rate;
  incoming.options.seed = file.seed;
  incoming.options.width = HashWidth::k63Bits;
  incoming.options.capacity = incoming.contents.capacity = file.capacity;
  incoming.keys.types = kUnknownKeys;
  incoming.contents.key_types = kUnknownKeys;
  incoming.contents.items = file.items;
  incoming.contents.pieces =
      one_piece(piece_of(std::move(file)), [bytes, kept, page_bytes, piece_of]() -> Result<Piece> {
        CUCKOO_ASSIGN_OR_RETURN(LegacyFile again, decode_legacy_file(bytes, page_bytes));
        return piece_of(std::move(again));
      });
  return incoming;
}

bool Intake::is_legacy_file(const segments::MessageBytes& image) const {
  std::vector<std::byte> buffer;
  return looks_like_legacy_file(
      value_or_throw(live_.table(), image.front(kLegacyFrontBytes, buffer)));
}

// Returns what the image's header says, without the pieces.
Intake::Incoming Intake::described(const segments::MessageBytes& image) const {
  const Result<segments::MessageHeader> decoded = segments::decode_image_header(image);
  if (!decoded.ok()) {
    refuse(decoded.error().message);
  }
  const segments::MessageHeader& header = decoded.value();
  Incoming incoming;
  incoming.options = live_.filter().options();
  incoming.options.spec = segments::created_spec(header.spec);
  incoming.options.seed = header.seed;
  incoming.options.width = header.width;
  incoming.options.capacity = header.capacity;
  incoming.keys = {header.keys, header.key_types};
  incoming.most_items = is_multiset(header.spec.kind) ? header.items : header.hash_count;
  Contents& contents = incoming.contents;
  contents.take(header);
  return incoming;
}

Intake::Incoming Intake::decode(const segments::MessageBytes& image) const {
  if (is_legacy_file(image)) {
    return decode_legacy(image);
  }
  Incoming incoming = described(image);
  Contents& contents = incoming.contents;
  contents.pieces = [&live = live_, image, page_bytes = incoming.options.page_bytes,
                     with_hashes = contents.with_hashes](const PieceSink& sink) {
    return segments::read_image(image, with_hashes, page_bytes, sink,
                                [&live] { return live.store().poll(); });
  };
  if (contents.with_hashes) {
    incoming.hashes = hashes_of(contents.pieces);
  }
  verify(incoming);
  return incoming;
}

void Intake::expect_keys(const Incoming& incoming) const {
  if (const std::string why = obstacle(incoming.keys, live_.key_domain()); !why.empty()) {
    refuse(incoming.name + why);
  }
}

// --- merge ---------------------------------------------------------------------------------------

// Throws if a merge can't succeed, before anything is read. But a table with unique = on skips
// hashes that it has, so whether the rest fits is known only afterwards.
void Intake::expect_mergeable(const Incoming& incoming) const {
  const FilterFile& newest = live_.filter().newest();
  const FilterOptions& mine = newest.options();
  const FilterOptions& other = incoming.options;
  const std::string& name = incoming.name;
  const bool legacy = live_.legacy();
  const bool by_hashes = incoming.hashes != nullptr && !legacy;
  if (mine.unique && newest.multiset() && !(by_hashes && mine.growth)) {
    refuse("unique = on skips hashes that it has, and " + (by_hashes ? "this table" : name) +
           " keeps none; make it with growth = on" +
           (by_hashes ? "" : ", or export it with 'hashes'"));
  }
  if (legacy != traits_of(other.spec.kind).pairs) {
    refuse(name + " is " + describe(other.spec.kind) + ", this is " + describe(mine.spec.kind) +
           "; their hashes have nothing in common");
  }
  if (other.seed != mine.seed) {
    refuse(name +
           " has another seed; make one of the two with the other's: seed_of = 'table',"
           " or seed = number");
  }
  expect_keys(incoming);
  if (other.width < mine.width || (!by_hashes && other.width != mine.width)) {
    refuse(name + " knows " + std::to_string(static_cast<int>(other.width)) +
           " bits of each hash, this table needs " + std::to_string(static_cast<int>(mine.width)) +
           "; make this one with seed_of = 'table' and a capacity/fpr of at most 2^46, or"
           " build the image with this one's fpr");
  }
  if (!by_hashes) {
    expect_cells(incoming);
  }
  if (!mine.unique) {
    throw_if(live_.table(), newest.expect_room(incoming.most_items));
  }
}

// Throws if the cells can't be united. Without hashes there is no other way.
void Intake::expect_cells(const Incoming& incoming) const {
  FilterFile& newest = live_.filter().newest();
  const FilterKind kind = newest.options().spec.kind;
  if (incoming.options.spec.kind != kind) {
    refuse(incoming.name + " is " + describe(incoming.options.spec.kind) +
           " without hashes, this is " + describe(kind) +
           "; make it with growth = on, or export it with 'hashes'");
  }
  const Status united = newest.expect_united(incoming.contents);
  if (!united.ok() && united.error().code == ErrorCode::kInvalid) {
    refuse(incoming.name + " has another geometry and no hashes; " +
           (live_.legacy() ? "" : "make it with growth = on, export it with 'hashes', or ") +
           "make both with one capacity and fpr");
  }
  throw_if(live_.table(), united);
}

void Intake::take_in(const Incoming& incoming) {
  FilterFile& newest = live_.filter().newest();
  const HashWidth width = newest.options().width;
  if (incoming.hashes == nullptr || live_.legacy()) {
    live_.change_by([&]() -> Status {
      CUCKOO_TRY(newest.unite(incoming.contents));
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
  throw_if(live_.table(), newest.expect_room(incoming.most_items));
  live_.change_by([&]() -> Status {
    CUCKOO_TRY(live_.filter().flush());
    uint64_t inserted = 0;
    Status status = incoming.hashes([&](uint64_t hash, uint64_t count) -> Status {
      return for_each_part(counts ? count : 1, [&](uint64_t copies) -> Status {
        CUCKOO_TRY(newest.insert_copies(logged_hash(hash, width), copies));
        return ++inserted % kHashesPerPoll == 0 ? live_.store().poll() : Status();
      });
    });
    if (!status.ok() && status.error().code == ErrorCode::kFull) {
      live_.filter().forget();  // nothing was written, so storage is as before
    }
    CUCKOO_TRY(std::move(status));
    newest.note_key_types(incoming.keys.types);
    return {};
  });
}

// Takes hashes into a table with unique = on. Skips a hash that the table has, but not one that
// only seems to be present.
void Intake::take_in_new(const Incoming& incoming) {
  FilterFile& newest = live_.filter().newest();
  const HashWidth width = newest.options().width;
  LargeVector<uint64_t> hashes;
  hashes.reserve(incoming.contents.hash_count);
  throw_if(live_.table(), incoming.hashes([&](uint64_t hash, uint64_t) -> Status {
    hashes.push_back(logged_hash(hash, width));
    return {};
  }));
  hashes = sorted_by_hash(hashes, width);
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  live_.change_by([&]() -> Status {
    auto next = hashes.begin();
    auto fresh_end = hashes.begin();
    CUCKOO_TRY(newest.for_each_hash([&](uint64_t hash, uint64_t) -> Status {  // ascending, too
      while (next != hashes.end() && *next < hash) {
        *fresh_end++ = *next++;
      }
      next += next != hashes.end() && *next == hash ? 1 : 0;
      return {};
    }));
    hashes.erase(fresh_end, next);
    CUCKOO_TRY(newest.expect_room(hashes.size()));
    for (size_t i = 0; i < hashes.size(); ++i) {
      CUCKOO_TRY(newest.insert(hashes[i]));
      if (i % kHashesPerPoll == 0) {
        CUCKOO_TRY(live_.store().poll());
      }
    }
    newest.note_key_types(incoming.keys.types);
    return {};
  });
}

void Intake::merge(LiveFilter& other) {
  if (&other == &live_) {
    throw SqlError(SQLITE_ERROR, live_.table() + ": merge takes another filter than this one");
  }
  live_.follow();
  live_.refuse_amid_parts();
  other.follow();
  if (other.filter().options().generations > 1) {
    refuse(other.table() +
           " is a sliding window; its generations can't be told apart once they are merged");
  }
  FilterFile& from = other.filter().newest();
  Incoming incoming;
  incoming.name = other.table();
  incoming.options = from.options();
  incoming.keys = other.key_domain();
  incoming.most_items = from.items();
  incoming.contents = value_or_throw(other.table(), from.contents(from.keeps_hashes()));
  if (from.keeps_hashes()) {
    incoming.hashes = [&from](const CountedHashSink& sink) { return from.for_each_hash(sink); };
  }
  expect_mergeable(incoming);
  take_in(incoming);
}

void Intake::merge(std::span<const std::byte> image) {
  live_.follow();
  live_.refuse_amid_parts();
  const Incoming incoming = decode(image);
  expect_mergeable(incoming);
  take_in(incoming);
}

// --- import --------------------------------------------------------------------------------------

bool Intake::holds_each_once() const {
  const FilterFile& newest = live_.filter().newest();
  return newest.multiset() && newest.options().unique;
}

void Intake::expect_importable(const Incoming& incoming) const {
  const FilterOptions& mine = live_.filter().options();
  if (incoming.options.spec.kind != mine.spec.kind) {
    refuse("the image is of " + describe(incoming.options.spec.kind) + ", this is " +
           describe(mine.spec.kind) + "; make a table like the image");
  }
  expect_keys(incoming);
  if (command_ == "apply") {
    live_.expect_origin(incoming.options.seed);
    if (holds_each_once() && !incoming.contents.unique) {
      refuse("unique = on follows only what is unique, too; 'import' takes each hash once");
    }
  }
  if (const Status status = incoming.options.check(); !status.ok()) {
    refuse("the image is for " + status.error().message);
  }
  const Contents& contents = incoming.contents;
  if (holds_each_once() && !contents.with_hashes && !contents.unique) {
    refuse("unique = on takes each hash once, and this image has none; export it with 'hashes'");
  }
  // A copy that follows another filter takes what that one has.
  const bool takes_all = mine.growth || holds_each_once() || command_ != "import";
  if (!takes_all && traits_of(mine.spec.kind).slot_per_item && contents.items > contents.capacity) {
    refuse("the image has " + std::to_string(contents.items) +
           " items, and with growth = off its"
           " capacity of " +
           std::to_string(contents.capacity) + " is the most; make the table with growth = on");
  }
}

void Intake::expect_importable(const segments::MessageBytes& image) const {
  if (!is_legacy_file(image)) {  // a legacy file is read as a whole
    expect_importable(described(image));
  }
}

void Intake::import(const segments::MessageBytes& image) {
  Incoming incoming = decode(image);
  expect_importable(incoming);
  segments::HashCollection once(incoming.options.width);
  if (holds_each_once() && incoming.hashes != nullptr) {
    take_each_once(once, incoming);
  }
  replace_all(incoming.options, incoming.contents, command_ + ": ");
}

// Makes the contents of a multiset's image anew, for a table with unique = on, with each hash once.
// The hashes stay in `once`.
void Intake::take_each_once(segments::HashCollection& once, Incoming& incoming) {
  throw_if(live_.table(), incoming.hashes([&](uint64_t hash, uint64_t) -> Status {
    once.add(hash);
    return {};
  }));
  once.make_unique();
  const FilterOptions& options = incoming.options;
  Result<Contents> made =
      once.build(options.spec, options.capacity, segments::HashCollection::Growth::kOn,
                 options.page_bytes, [this] { return live_.store().poll(); });
  throw_if(live_.table(), made.take_status());
  made.value().key_types = incoming.contents.key_types;
  made.value().unique = incoming.contents.unique;
  made.value().mark = incoming.contents.mark;
  incoming.contents = std::move(made.value());
}

// --- the keys of a source ------------------------------------------------------------------------

// Replaces the contents of a filter of pairs. It has no hashes, so its piece is made again each
// time that it is asked for.
void Intake::replace_pairs(const KeySource& for_each_key, uint64_t capacity) {
  const FilterOptions options = live_.filter().options();
  uint64_t types = 0;
  std::vector<HashPair> pairs;
  for_each_key([&](const KeyView& key) {
    if (key.type != SQLITE_TEXT && key.type != SQLITE_BLOB) {
      throw SqlError(SQLITE_MISMATCH, "with hash = murmur2 a key is TEXT or a BLOB");
    }
    pairs.push_back(live_.pair_of(key));
    live_.add_types_of(key, types);
  });
  const auto make = [&]() -> Result<Piece> {
    Piece piece;
    piece.capacity = capacity;
    CUCKOO_ASSIGN_OR_RETURN(piece.filter, make_filter(options.spec, capacity, options.page_bytes));
    BloomFilter& bloom = pairs_of(*piece.filter);
    bloom.pages().complete();
    for (const HashPair& pair : pairs) {
      if (bloom.probe_pair(pair) == Filter::Answer::kPresent) {
        continue;
      }
      if (bloom.full(piece.items, capacity)) {
        return Error{ErrorCode::kFull,
                     "no more than " + std::to_string(piece.items) +
                         " of the keys: its capacity of " + std::to_string(capacity) +
                         " is reached",
                     0};
      }
      bloom.insert_pair(pair);
      ++piece.items;
    }
    return piece;
  };
  Result<Piece> piece = make();
  throw_if(live_.table(), piece.take_status());
  Contents contents;
  contents.capacity = capacity;
  contents.items = piece.value().items;
  contents.key_types = types;
  contents.pieces = one_piece(std::move(piece.value()), make);
  replace_all(options, contents);
}

void Intake::replace(const KeySource& for_each_key, uint64_t capacity) {
  live_.follow();
  const FilterOptions options = live_.filter().options();
  capacity = capacity != 0 ? capacity : live_.filter().newest().capacity();
  if (live_.legacy()) {
    replace_pairs(for_each_key, capacity);
    return;
  }
  uint64_t types = 0;
  segments::HashCollection keys(options.width);
  for_each_key([&](const KeyView& key) {
    keys.add(live_.hash_of(key));
    live_.add_types_of(key, types);
  });
  if (options.unique) {
    keys.make_unique();
  }
  Result<Contents> contents = keys.build(
      options.spec, capacity,
      options.growth ? segments::HashCollection::Growth::kOn
                     : segments::HashCollection::Growth::kOff,
      options.page_bytes, [this] { return live_.store().poll(); },
      options.growth ? segments::HashCollection::Hashes::kKept
                     : segments::HashCollection::Hashes::kLeftOut);
  throw_if(live_.table(), contents.take_status());
  contents.value().key_types = types;
  replace_all(options, contents.value());
  live_.find_top(for_each_key);
}

void Intake::replace_all(const FilterOptions& options, const Contents& contents,
                         const std::string& prefix) {
  live_.replace_by(options, [&](const FilterOptions& next) {
    Status status = live_.filter().newest().import(next, contents);
    return !status.ok() && status.error().code == ErrorCode::kInvalid
               ? invalid(prefix + status.error().message)
               : std::move(status);
  });
}

}  // namespace cuckoo
