// filter_overlap(a, b): how many keys two filters have in common. Each is a table's name, or an
// image. Both must keep their hashes.
#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/filter/legacy_bloom.hpp"
#include "core/segments/image.hpp"
#include "core/segments/overlap.hpp"
#include "core/segments/window_message.hpp"

#include "ext/filter/functions.hpp"
#include "ext/filter/image_filter.hpp"
#include "ext/filter/key_domain.hpp"
#include "ext/filter/live_filter.hpp"
#include "ext/sqlite/function.hpp"
#include "ext/sqlite/poller.hpp"
#include "ext/sqlite/value.hpp"
#include "ext/table/connection.hpp"
#include "ext/table/registration.hpp"

namespace cuckoo {
namespace {

using segments::Contents;
using segments::HashReader;
using segments::Piece;

SqlError refused(const std::string& why) { return {SQLITE_ERROR, "filter_overlap: " + why}; }

// A bad image is the caller's error, not a broken file's.
void expect_good(const Status& status) {
  if (!status.ok() && status.error().code == ErrorCode::kCorrupt) {
    throw refused(status.error().message);
  }
  throw_if("filter_overlap", status);
}

template <class Value>
Value expect_good(Result<Value> result) {
  expect_good(result.take_status());
  return std::move(result.value());
}

// The hashes of one filter, and what says which hashes of another one are equal.
struct HashedKeys {
  std::string name;
  uint64_t seed = 0;
  HashWidth width = HashWidth::k63Bits;
  KeyDomain keys;
  std::vector<HashReader> readers;  // of each generation
};

Error of_table(const std::string& table, Status status) {
  Error error = status.take_error();
  error.message = table + ": " + error.message;
  return error;
}

HashedKeys keys_of_table(LiveFilter& live) {
  if (live.legacy()) {
    throw refused(live.table() + " has hash = murmur2, which keeps no hashes");
  }
  if (!live.filter().keeps_hashes()) {
    throw refused(live.table() +
                  (live.filter().lacks_hashes()
                       ? "'s contents came without hashes; export them with 'hashes'"
                       : " keeps no hashes, as growth is off; make it with growth = on"));
  }
  const FilterOptions& options = live.filter().options();
  HashedKeys found = {live.table(), options.seed, options.width, live.key_domain(), {}};
  for (HashReader& reader : value_or_throw(live.table(), live.filter().hash_readers())) {
    found.readers.emplace_back([reader = std::move(reader), table = live.table()](
                                   uint64_t from, std::vector<uint64_t>& hashes) {
      Result<uint64_t> next = reader(from, hashes);
      return next.ok() ? std::move(next) : Result<uint64_t>(of_table(table, next.take_status()));
    });
  }
  return found;
}

void expect_hashes(bool with_hashes) {
  if (!with_hashes) {
    throw refused(
        "the image has no hashes; export or build it with 'hashes', from a filter that keeps them");
  }
}

// Reads the hashes of all pieces, which verifies them.
HashReader reader_of(const Contents& contents) {
  expect_hashes(contents.with_hashes);
  std::vector<uint64_t> hashes;
  hashes.reserve(contents.hash_count);
  expect_good(contents.pieces([&](Piece&& piece) -> Status {
    for (const segments::NetHash& entry : piece.hashes) {
      hashes.push_back(entry.hash);
    }
    return {};
  }));
  return segments::reader_of(std::move(hashes));
}

HashedKeys keys_of_image(std::span<const std::byte> bytes, const Poll& poll) {
  HashedKeys found;
  found.name = "the image";
  const auto take_header = [&found](const segments::MessageHeader& header, uint64_t types) {
    found.seed = header.seed;
    found.width = header.width;
    found.keys = {header.keys, types};
  };
  if (looks_like_legacy_file(bytes)) {
    throw refused("the image is of a filter with hash = murmur2, which keeps no hashes");
  }
  if (segments::looks_like_window_message(bytes)) {
    const segments::WindowMessage message =
        expect_good(segments::decode_window_message(bytes, segments::kImagePageBytes, true, poll));
    if (message.from) {
      throw refused("bytes that are changes of a sliding window, expected an image");
    }
    take_header(message.common, message.common.key_types);
    for (const segments::Generation& generation : message.generations) {
      found.readers.push_back(reader_of(*generation.image));
    }
    return found;
  }
  const segments::MessageHeader header = expect_good(segments::decode_image_header(bytes));
  expect_hashes(header.with_hashes);
  take_header(header, header.key_types);
  Contents contents;
  contents.take(header);
  contents.pieces = [bytes, &poll](const segments::PieceSink& sink) {
    return segments::read_image(bytes, true, segments::kImagePageBytes, sink, poll);
  };
  found.readers.push_back(reader_of(contents));
  return found;
}

// Throws unless equal keys have equal hashes, as one of the two compares keys.
void expect_comparable(const HashedKeys& a, const HashedKeys& b) {
  if (a.seed != b.seed) {
    throw refused(a.name + " and " + b.name +
                  " have different seeds; make one with the other's: seed_of = 'table',"
                  " or seed = number");
  }
  if (const std::string why = obstacle(b.keys, a.keys);
      !why.empty() && !obstacle(a.keys, b.keys).empty()) {
    throw refused("with " + a.name + ": " + b.name + why);
  }
}

// A filter that an argument means.
class NamedOrImage {
 public:
  NamedOrImage(sqlite3_context* context, sqlite3_value* value) {
    if (sqlite3_value_type(value) == SQLITE_BLOB) {
      image_ = blob_of(value);
    } else if (sqlite3_value_type(value) == SQLITE_TEXT) {
      table_ = connection_of(context).find<LiveFilter>(text_argument(value));
    } else {
      throw refused("each argument is a filter's name or image");
    }
  }

  void follow() {
    if (table_) {
      table_->follow();
    }
  }
  HashedKeys keys(const Poll& poll) {
    return table_ ? keys_of_table(*table_) : keys_of_image(*image_, poll);
  }

 private:
  Connection::Named<LiveFilter> table_;
  std::optional<std::span<const std::byte>> image_;
};

void filter_overlap(sqlite3_context* context, int, sqlite3_value** values) {
  guarded(context, [&] {
    if (is_null(values[0]) || is_null(values[1])) {
      return;  // as of filter_contains()
    }
    Poller poller(sqlite3_context_db_handle(context));
    const Poll poll = std::ref(poller);
    NamedOrImage a(context, values[0]);
    NamedOrImage b(context, values[1]);
    a.follow();
    b.follow();
    const HashedKeys first = a.keys(poll);
    const HashedKeys second = b.keys(poll);
    expect_comparable(first, second);
    const HashWidth width = std::min(first.width, second.width);
    result_count(context,
                 value_or_throw("filter_overlap",
                                segments::overlap(first.readers, second.readers, width, poll)));
  });
}

}  // namespace

void register_filter_overlap(Registration& registration) {
  registration.function("filter_overlap", 2, SQLITE_INNOCUOUS, filter_overlap);
}

}  // namespace cuckoo
