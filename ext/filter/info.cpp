#include "ext/filter/info.hpp"

#include <cmath>
#include <numeric>

#include "core/base/page_size.hpp"
#include "ext/filter/filter_messages.hpp"
#include "ext/filter/image_filter.hpp"
#include "ext/filter/live_filter.hpp"
#include "ext/sqlite/function.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {
namespace {

// The columns in the order of the declaration.
struct InfoColumn {
  enum : int {
    kSchema,
    kName,
    kKind,
    kItems,
    kCapacity,
    kLoadFactor,
    kFpr,
    kFprNow,
    kBitsPerKey,
    kFingerprintBits,
    kHashes,
    kGenerations,
    kGenerationItems,
    kMemoryBytes,
    kDiskBytes,
    kLogEntries,
    kProbes,
    kPositives,
    kSeed,  // as text, because JavaScript has no integers above 2^53
    kRotation,
    kUnique,
    kCollation,
    kKeyTypes,
    kMark,
    kMarkFrom,
    kMessage,
    kAdds,
    kRemoves,
    kSegments,
    kPart,
    kParts,
    kError,
    kFilterArgument,
  };
};

void result_share(sqlite3_context* context, double part, uint64_t whole) {
  sqlite3_result_double(context, part / static_cast<double>(whole));
}

// Figures that follow from cells and parameters.
struct Figures {
  FilterKind kind;
  uint64_t capacity;
  double load_factor;
  uint64_t bits;
  double fingerprint_bits;
  uint32_t places_per_key;
};

void figures_column(sqlite3_context* context, int column, const Figures& figures) {
  switch (column) {
    case InfoColumn::kKind:
      return sqlite3_result_text(context, module_name(module_of(figures.kind)), -1, SQLITE_STATIC);
    case InfoColumn::kCapacity:
      return result_count(context, figures.capacity);
    case InfoColumn::kLoadFactor:
      return sqlite3_result_double(context, figures.load_factor);
    case InfoColumn::kBitsPerKey:
      return result_share(context, static_cast<double>(figures.bits), figures.capacity);
    case InfoColumn::kFingerprintBits:
      if (figures.fingerprint_bits != 0) {
        sqlite3_result_double(context, std::round(100 * figures.fingerprint_bits) / 100);
      }
      return;
    case InfoColumn::kHashes:
      return sqlite3_result_int64(context, figures.places_per_key);
    default:
      return;
  }
}

Figures figures_of(const segments::FilterFile& filter) {
  return {filter.options().spec.kind, filter.made_for(),      filter.load_factor(), filter.bits(),
          filter.fingerprint_bits(),  filter.places_per_key()};
}

// Returns the figures. Those of a single key are taken from the first piece; in other pieces they
// differ only by rounding.
Figures figures_of(const segments::MessageHeader& header, const segments::PieceSet& pieces) {
  const Filter& filter = pieces.filter_of(0);
  return {header.spec.kind, header.capacity,           pieces.load_factor(),
          pieces.bits(),    filter.fingerprint_bits(), filter.places_per_key()};
}

// Shows the key's collation or types. The types are NULL if they are not all known.
void key_column(sqlite3_context* context, int column, const KeyDomain& keys) {
  if (column == InfoColumn::kCollation) {
    result_text(context, collations_text(keys.form));
  } else if (keys.knows_types()) {
    result_text(context, key_types_text(keys));
  }
}

void result_mark(sqlite3_context* context, const std::optional<std::vector<std::byte>>& mark) {
  if (mark) {
    result_text(context, segments::mark_text(*mark));
  }
}

std::string joined(const std::vector<uint64_t>& numbers) {
  std::string text;
  for (const uint64_t number : numbers) {
    text += text.empty() ? "" : " ";
    text += std::to_string(number);
  }
  return text;
}

// Counts whole database pages, and the root pages of both shadow tables.
uint64_t disk_bytes(LiveFilter& live, sqlite3* db) {
  const uint64_t page_bytes = database_page_bytes_for(db, live.schema());
  constexpr uint64_t kRootPages = 2;
  return ((live.filter().stored_bytes() + page_bytes - 1) / page_bytes + kRootPages) * page_bytes;
}

}  // namespace

std::string FilterInfo::declaration() const {
  return "CREATE TABLE x(schema TEXT, name TEXT, kind TEXT, items INTEGER, capacity INTEGER,"
         " load_factor REAL, fpr REAL, fpr_now REAL, bits_per_key REAL, fingerprint_bits REAL,"
         " hashes INTEGER, generations INTEGER, generation_items TEXT, memory_bytes INTEGER,"
         " disk_bytes INTEGER, log_entries INTEGER, probes INTEGER, positives INTEGER, seed TEXT,"
         " rotation INTEGER, \"unique\" INTEGER, collation TEXT, key_types TEXT, mark TEXT,"
         " mark_from TEXT, message TEXT, adds INTEGER, removes INTEGER, segments INTEGER,"
         " part INTEGER, parts INTEGER, error TEXT, filter BLOB HIDDEN)";
}

bool FilterInfo::best_index(sqlite3_index_info* info) {
  info->estimatedCost = 1000;
  info->estimatedRows = 10;
  if (!take_arguments(info, InfoColumn::kFilterArgument)) {
    return false;
  }
  if (info->idxNum != 0) {
    info->estimatedCost = 10;
    info->estimatedRows = 1;
  }
  return true;
}

FilterInfo::Cursor::Cursor(FilterInfo& table) : table_(table) {}

FilterInfo::Cursor::~Cursor() = default;

void FilterInfo::Cursor::filter(int plan, const char*, int, sqlite3_value** values) {
  rows_.clear();
  image_.reset();
  message_.reset();
  past_value_ = false;
  argument_ = {};
  Connection& connection = table_.connection();
  if (plan == 0) {
    rows_.take_all(connection);
    return;
  }
  argument_.assign(values[0], Affinity::kNone);
  switch (sqlite3_value_type(values[0])) {
    case SQLITE_NULL:
      return;
    case SQLITE_TEXT:
      rows_.take(connection, text_argument(values[0]));
      return;
    case SQLITE_BLOB:
      if (is_message(blob_of(values[0]))) {
        message_ = message_info(blob_of(values[0]), "filter_info");
      } else {
        image_ = std::make_unique<ImageFilter>(blob_of(values[0]), "filter_info");
      }
      return;
    default:
      throw SqlError(SQLITE_ERROR,
                     "filter_info: the argument is a filter's name, an image or a message");
  }
}

void FilterInfo::Cursor::next() {
  if (is_value()) {
    past_value_ = true;
  } else {
    rows_.next();
  }
}

void FilterInfo::Cursor::column(sqlite3_context* context, int column) {
  if (column == InfoColumn::kFilterArgument) {
    argument_.result(context);
  } else if (message_) {
    message_column(context, column);
  } else if (image_ != nullptr) {
    image_column(context, column);
  } else {
    table_column(context, column);
  }
}

void FilterInfo::Cursor::message_column(sqlite3_context* context, int column) const {
  const auto count = [context](const std::optional<uint64_t>& number) {
    if (number) {
      result_count(context, *number);
    }
  };
  const MessageInfo& info = *message_;
  switch (column) {
    case InfoColumn::kKind:
      if (info.kind) {
        sqlite3_result_text(context, module_name(module_of(*info.kind)), -1, SQLITE_STATIC);
      }
      return;
    case InfoColumn::kItems:
      return count(info.items);
    case InfoColumn::kDiskBytes:
      return result_count(context, info.bytes);
    case InfoColumn::kCollation:
    case InfoColumn::kKeyTypes:
      return info.keys ? key_column(context, column, *info.keys) : void();
    case InfoColumn::kMark:
      return result_mark(context, info.to);
    case InfoColumn::kMarkFrom:
      return result_mark(context, info.from);
    case InfoColumn::kSeed:
      return info.seed ? result_text(context, seed_text(*info.seed)) : void();
    case InfoColumn::kRotation:
      return count(info.rotation);
    case InfoColumn::kMessage:
      return sqlite3_result_text(context, info.message, -1, SQLITE_STATIC);
    case InfoColumn::kAdds:
      return count(info.adds);
    case InfoColumn::kRemoves:
      return count(info.removes);
    case InfoColumn::kSegments:
      return count(info.segments);
    case InfoColumn::kPart:
      return info.parts > 0 ? result_count(context, info.part) : void();
    case InfoColumn::kParts:
      return info.parts > 0 ? result_count(context, info.parts) : void();
    default:
      return;
  }
}

void FilterInfo::Cursor::image_column(sqlite3_context* context, int column) const {
  switch (column) {
    case InfoColumn::kItems: {
      const std::vector<uint64_t> items = image_->generation_items();
      return result_count(context, std::accumulate(items.begin(), items.end(), uint64_t{0}));
    }
    case InfoColumn::kFpr:
      return sqlite3_result_double(context, image_->target_rate());
    case InfoColumn::kFprNow:
      return sqlite3_result_double(context, image_->rate_now());
    case InfoColumn::kGenerations:
      return result_count(context, image_->generations());
    case InfoColumn::kGenerationItems:
      return result_text(context, joined(image_->generation_items()));
    case InfoColumn::kMemoryBytes:
      return result_count(context, image_->memory_bytes());
    case InfoColumn::kDiskBytes:
      return result_count(context, image_->bytes());
    case InfoColumn::kLogEntries:
      return result_count(context, image_->hash_count());
    case InfoColumn::kCollation:
    case InfoColumn::kKeyTypes:
      return key_column(context, column, image_->keys());
    case InfoColumn::kMark:
      return result_mark(context, image_->mark());
    case InfoColumn::kSeed:
      return result_text(context, seed_text(image_->header().seed));
    case InfoColumn::kRotation:
      return image_->rotation() ? result_count(context, *image_->rotation()) : void();
    case InfoColumn::kMessage:
      return sqlite3_result_text(context, "image", -1, SQLITE_STATIC);
    case InfoColumn::kSegments:
      return result_count(context, image_->segments());
    default:
      return figures_column(context, column, figures_of(image_->header(), image_->pieces()));
  }
}

void FilterInfo::Cursor::table_column(sqlite3_context* context, int column) {
  const TableRows<LiveFilter>::Found& found = rows_.row();
  if (column == InfoColumn::kSchema) {
    return result_text(context, found.schema);
  }
  if (column == InfoColumn::kName) {
    return result_text(context, found.table);
  }
  if (!found.error.empty()) {
    return column == InfoColumn::kError ? result_text(context, found.error)
                                        : sqlite3_result_null(context);
  }
  LiveFilter& live = *found.live;
  live.follow();
  const segments::FilterWindow& filter = live.filter();
  switch (column) {
    case InfoColumn::kError:
      return;
    case InfoColumn::kCollation:
    case InfoColumn::kKeyTypes:
      return key_column(context, column, live.key_domain());
    case InfoColumn::kMark:
      return result_mark(context, FilterMessages(live).mark());
    case InfoColumn::kItems:
      return result_count(context, filter.items());
    case InfoColumn::kFpr:
      return sqlite3_result_double(context, filter.target_rate());
    case InfoColumn::kFprNow:
      return sqlite3_result_double(context, filter.rate_now());
    case InfoColumn::kGenerations:
      return result_count(context, filter.options().generations);
    case InfoColumn::kGenerationItems:
      return result_text(context, joined(filter.generation_items()));
    case InfoColumn::kMemoryBytes:
      return result_count(context, filter.memory_bytes());
    case InfoColumn::kDiskBytes:
      return result_count(context, disk_bytes(live, table_.connection().db()));
    case InfoColumn::kLogEntries:
      return result_count(context, filter.log_entries());
    case InfoColumn::kProbes:
      return result_count(context, live.probes());
    case InfoColumn::kPositives:
      return result_count(context, live.positives());
    case InfoColumn::kSeed:
      return result_text(context, seed_text(filter.options().seed));
    case InfoColumn::kRotation:
      return filter.single() ? void() : result_count(context, filter.rotation());
    case InfoColumn::kUnique:
      return sqlite3_result_int(context, filter.options().unique ? 1 : 0);
    case InfoColumn::kSegments:
      return filter.options().generations > 1 ? void()
                                              : result_count(context, filter.newest().segments());
    default:
      return figures_column(context, column, figures_of(filter.newest()));
  }
}

}  // namespace cuckoo
