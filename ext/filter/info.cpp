// filter_info([filter]): a table-valued function with one row for each filter table, or one row for
// that filter, image or message. A table that can't be read has its error in its row, and the
// others are shown, too.
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ext/filter/filter_messages.hpp"
#include "ext/filter/functions.hpp"
#include "ext/filter/image_filter.hpp"
#include "ext/filter/live_filter.hpp"
#include "ext/filter/message_info.hpp"
#include "ext/table/registration.hpp"
#include "ext/table/table_function.hpp"
#include "ext/table/table_rows.hpp"

namespace cuckoo {
namespace {

using FilterRow = const TableRows<LiveFilter>::Found;
using InfoColumn = Column<FilterRow, LiveFilter, const ImageFilter, const MessageInfo>;

class FilterInfo {
 public:
  static void plan(sqlite3_index_info& info) noexcept {
    estimate(info, info.idxNum != 0 ? 10 : 1000, info.idxNum != 0 ? 1 : 10);
  }
  bool start(Connection& connection, const Arguments& arguments);
  bool find(uint64_t number) {
    return message_ || image_ != nullptr ? number == 0 : rows_.find(number);
  }
  bool show(sqlite3_context* context, const InfoColumn& column);

 private:
  std::unique_ptr<ImageFilter> image_;  // instead of tables
  std::optional<MessageInfo> message_;  // instead of tables
  TableRows<LiveFilter> rows_;
};

const segments::FilterFile& newest(LiveFilter& table) noexcept { return table.filter().newest(); }

const char* module_text(FilterKind kind) noexcept { return module_name(module_of(kind)); }

double share(double part, uint64_t whole) noexcept { return part / static_cast<double>(whole); }

std::optional<double> rounded(double fingerprint_bits) noexcept {
  return fingerprint_bits == 0 ? std::nullopt
                               : std::optional(std::round(100 * fingerprint_bits) / 100);
}

// Returns nothing if the types are not all known.
std::optional<std::string> types_text(const KeyDomain& keys) {
  return keys.knows_types() ? std::optional(key_types_text(keys)) : std::nullopt;
}

std::optional<std::string> text_of(const std::optional<std::vector<std::byte>>& mark) {
  return mark ? std::optional(segments::mark_text(*mark)) : std::nullopt;
}

// Returns it as text, because JavaScript has no integers above 2^53.
std::optional<std::string> text_of(const std::optional<uint64_t>& seed) {
  return seed ? std::optional(seed_text(*seed)) : std::nullopt;
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
uint64_t disk_bytes(LiveFilter& live) {
  const uint64_t page_bytes = database_page_bytes_for(live.store().db(), live.schema());
  constexpr uint64_t kRootPages = 2;
  return ((live.filter().stored_bytes() + page_bytes - 1) / page_bytes + kRootPages) * page_bytes;
}

// An image's figures of a single key are taken from the first piece; in other pieces they differ
// only by rounding.
constexpr InfoColumn kInfoColumns[] = {
    {"schema TEXT", [](FilterRow& row) { return row.schema; }},
    {"name TEXT", [](FilterRow& row) { return row.table; }},
    {"kind TEXT", [](LiveFilter& table) { return module_text(newest(table).options().spec.kind); },
     [](const ImageFilter& image) { return module_text(image.header().spec.kind); },
     [](const MessageInfo& message) {
       return message.kind ? std::optional(module_text(*message.kind)) : std::nullopt;
     }},
    {"items INTEGER", [](LiveFilter& table) { return table.filter().items(); },
     [](const ImageFilter& image) {
       const std::vector<uint64_t> items = image.generation_items();
       return std::accumulate(items.begin(), items.end(), uint64_t{0});
     },
     [](const MessageInfo& message) { return message.items; }},
    {"capacity INTEGER", [](LiveFilter& table) { return newest(table).made_for(); },
     [](const ImageFilter& image) { return image.header().capacity; }},
    {"load_factor REAL", [](LiveFilter& table) { return newest(table).load_factor(); },
     [](const ImageFilter& image) { return image.pieces().load_factor(); }},
    {"fpr REAL", [](LiveFilter& table) { return table.filter().target_rate(); },
     [](const ImageFilter& image) { return image.target_rate(); }},
    {"fpr_now REAL", [](LiveFilter& table) { return table.filter().rate_now(); },
     [](const ImageFilter& image) { return image.rate_now(); }},
    {"bits_per_key REAL",
     [](LiveFilter& table) {
       return share(static_cast<double>(newest(table).bits()), newest(table).made_for());
     },
     [](const ImageFilter& image) {
       return share(static_cast<double>(image.pieces().bits()), image.header().capacity);
     }},
    {"fingerprint_bits REAL",
     [](LiveFilter& table) { return rounded(newest(table).fingerprint_bits()); },
     [](const ImageFilter& image) {
       return rounded(image.pieces().filter_of(0).fingerprint_bits());
     }},
    {"hashes INTEGER", [](LiveFilter& table) { return newest(table).places_per_key(); },
     [](const ImageFilter& image) { return image.pieces().filter_of(0).places_per_key(); }},
    {"generations INTEGER", [](LiveFilter& table) { return table.filter().options().generations; },
     [](const ImageFilter& image) { return image.generations(); }},
    {"generation_items TEXT",
     [](LiveFilter& table) { return joined(table.filter().generation_items()); },
     [](const ImageFilter& image) { return joined(image.generation_items()); }},
    {"memory_bytes INTEGER", [](LiveFilter& table) { return table.filter().memory_bytes(); },
     [](const ImageFilter& image) { return image.memory_bytes(); }},
    {"disk_bytes INTEGER", [](LiveFilter& table) { return disk_bytes(table); },
     [](const ImageFilter& image) { return image.bytes(); },
     [](const MessageInfo& message) { return message.bytes; }},
    {"log_entries INTEGER", [](LiveFilter& table) { return table.filter().log_entries(); },
     [](const ImageFilter& image) { return image.hash_count(); }},
    {"probes INTEGER", [](LiveFilter& table) { return table.probes(); }},
    {"positives INTEGER", [](LiveFilter& table) { return table.positives(); }},
    {"false_positives INTEGER", [](LiveFilter& table) { return table.false_positives(); }},
    {"seed TEXT", [](LiveFilter& table) { return seed_text(table.filter().options().seed); },
     [](const ImageFilter& image) { return seed_text(image.header().seed); },
     [](const MessageInfo& message) { return text_of(message.seed); }},
    {"rotation INTEGER",
     [](LiveFilter& table) {
       return table.filter().single() ? std::nullopt : std::optional(table.filter().rotation());
     },
     [](const ImageFilter& image) { return image.rotation(); },
     [](const MessageInfo& message) { return message.rotation; }},
    {"\"unique\" INTEGER", [](LiveFilter& table) { return table.filter().options().unique; }},
    {"collation TEXT", [](LiveFilter& table) { return collations_text(table.key_domain().form); },
     [](const ImageFilter& image) { return collations_text(image.keys().form); },
     [](const MessageInfo& message) {
       return message.keys ? std::optional(collations_text(message.keys->form)) : std::nullopt;
     }},
    {"key_types TEXT", [](LiveFilter& table) { return types_text(table.key_domain()); },
     [](const ImageFilter& image) { return types_text(image.keys()); },
     [](const MessageInfo& message) {
       return message.keys ? types_text(*message.keys) : std::nullopt;
     }},
    {"mark TEXT", [](LiveFilter& table) { return text_of(FilterMessages(table).mark()); },
     [](const ImageFilter& image) { return text_of(image.mark()); },
     [](const MessageInfo& message) { return text_of(message.to); }},
    {"mark_from TEXT", [](const MessageInfo& message) { return text_of(message.from); }},
    {"message TEXT", [](const ImageFilter&) { return "image"; },
     [](const MessageInfo& message) { return message.message; }},
    {"adds INTEGER", [](const MessageInfo& message) { return message.adds; }},
    {"removes INTEGER", [](const MessageInfo& message) { return message.removes; }},
    {"segments INTEGER",
     [](LiveFilter& table) {
       return table.filter().options().generations > 1 ? std::nullopt
                                                       : std::optional(newest(table).segments());
     },
     [](const ImageFilter& image) { return image.segments(); },
     [](const MessageInfo& message) { return message.segments; }},
    {"part INTEGER",
     [](const MessageInfo& message) {
       return message.parts > 0 ? std::optional(message.part) : std::nullopt;
     }},
    {"parts INTEGER",
     [](const MessageInfo& message) {
       return message.parts > 0 ? std::optional(message.parts) : std::nullopt;
     }},
    {"error TEXT",
     [](FilterRow& row) { return row.error.empty() ? std::nullopt : std::optional(row.error); }},
    {"filter BLOB HIDDEN"},
};

bool FilterInfo::start(Connection& connection, const Arguments& arguments) {
  rows_.clear();
  image_.reset();
  message_.reset();
  sqlite3_value* const argument = arguments[0];
  if (argument == nullptr) {
    rows_.take_all(connection);
    return true;
  }
  switch (sqlite3_value_type(argument)) {
    case SQLITE_NULL:
      return false;
    case SQLITE_TEXT:
      rows_.take(connection, text_argument(argument));
      return true;
    case SQLITE_BLOB:
      if (is_message(blob_of(argument))) {
        message_ = message_info(blob_of(argument), "filter_info");
      } else {
        image_ = std::make_unique<ImageFilter>(blob_of(argument), "filter_info");
      }
      return true;
    default:
      throw SqlError(SQLITE_ERROR,
                     "filter_info: the argument is a filter's name, an image or a message");
  }
}

bool FilterInfo::show(sqlite3_context* context, const InfoColumn& column) {
  if (message_) {
    return column.show(context, std::as_const(*message_));
  }
  if (image_ != nullptr) {
    return column.show(context, std::as_const(*image_));
  }
  return column.show(context, rows_.row()) ||
         (rows_.row().error.empty() && column.show(context, rows_.followed()));
}

}  // namespace

void register_filter_info(Registration& registration) {
  registration.module<TableFunction<FilterInfo, kInfoColumns>>("filter_info");
}

}  // namespace cuckoo
