// filter_parts(filter, mark, bytes [, 'hashes']): a table-valued function with one row for each
// part of the message that filter_changes(filter, mark [, 'hashes']) gives at once. No part is
// longer than `bytes`. Memory holds one part and one segment of the filter.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/segments/message_part.hpp"
#include "core/segments/message_stream.hpp"
#include "ext/filter/filter_messages.hpp"
#include "ext/filter/functions.hpp"
#include "ext/filter/live_filter.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/table/registration.hpp"
#include "ext/table/table_function.hpp"

namespace cuckoo {
namespace {

constexpr double kLeastBytes = 1e6;
constexpr double kMostBytes = 0x1p30;
// SQLite's limit also holds for a whole row, and a table may have other columns beside a piece.
constexpr uint64_t kRestOfRow = 1024;

// Returns how many bytes a part may have.
uint64_t part_bytes(sqlite3* db, sqlite3_value* value) {
  const std::optional<double> bytes = parse_size(text_argument(value));
  if (!bytes || *bytes < kLeastBytes || *bytes > kMostBytes) {
    throw SqlError(SQLITE_ERROR, "filter_parts: the third argument is " +
                                     (sqlite3_value_type(value) == SQLITE_NULL
                                          ? std::string("NULL")
                                          : "\"" + printable(text_argument(value)) + "\"") +
                                     ", expected how many bytes a part may have: 1 MB to 1 GB");
  }
  const uint64_t limit = length_limit(db);
  if (limit < segments::kLeastSliceBytes + segments::kPartOverheadBytes + kRestOfRow) {
    throw SqlError(SQLITE_TOOBIG, "filter_parts: no BLOB may be longer than " +
                                      std::to_string(limit) + " bytes (SQLITE_LIMIT_LENGTH)");
  }
  return std::min(static_cast<uint64_t>(*bytes), limit - kRestOfRow);
}

class FilterParts {
 public:
  static void plan(sqlite3_index_info& info) noexcept {
    note_order(info, 0);  // a sort would hold all parts
    estimate(info, 1e6, 100);
  }
  bool start(Connection& connection, const Arguments& arguments);
  bool find(uint64_t index);

  uint64_t part() const noexcept { return index_ + 1; }
  uint64_t parts() const noexcept { return cut_.parts(); }
  const std::vector<std::byte>& piece() const noexcept { return piece_; }

 private:
  void end() noexcept;

  Connection::Named<LiveFilter> filter_;
  std::pair<uint64_t, uint64_t> filters_made_;  // of the filter, when the stream was made
  segments::MessageStream stream_;
  segments::MessageCut cut_;
  uint64_t index_ = 0;  // of the part
  std::vector<std::byte> piece_;
};

constexpr Column<FilterParts> kPartColumns[] = {
    {"part INTEGER", [](FilterParts& row) { return row.part(); }},
    {"parts INTEGER", [](FilterParts& row) { return row.parts(); }},
    {"piece BLOB",
     [](sqlite3_context* context, FilterParts& row) { result_blob(context, row.piece()); }},
    {"filter HIDDEN"},
    {"mark HIDDEN"},
    {"bytes HIDDEN"},
    {"hashes HIDDEN"},
};

void FilterParts::end() noexcept {
  piece_ = {};
  stream_ = {};
  filter_ = {};
}

bool FilterParts::start(Connection& connection, const Arguments& arguments) {
  end();
  constexpr unsigned kThreeGiven = 7;
  constexpr unsigned kAllGiven = 15;
  if (arguments.plan() != kThreeGiven && arguments.plan() != kAllGiven) {
    throw SqlError(SQLITE_ERROR,
                   "filter_parts: the arguments are a filter's name, a mark or NULL, how many bytes"
                   " a part may have, and perhaps 'hashes'");
  }
  if (is_null(arguments[0])) {
    return false;
  }
  if (sqlite3_value_type(arguments[0]) != SQLITE_TEXT) {
    throw SqlError(SQLITE_ERROR, "filter_parts: the first argument is a filter's name");
  }
  const bool with_hashes = arguments[3] != nullptr &&
                           hashes_argument("filter_parts", "fourth", text_argument(arguments[3]));
  const uint64_t bytes = part_bytes(connection.db(), arguments[2]);
  const auto mark = mark_argument("filter_parts", arguments[1]);
  filter_ = connection.find<LiveFilter>(text_argument(arguments[0]));
  stream_ = FilterMessages(*filter_).stream_since(mark, with_hashes);
  filters_made_ = filter_->filters_made();
  cut_ = {stream_.id(), stream_.bytes(), bytes - segments::kPartOverheadBytes};
  return true;
}

// This connection may write the filter between two rows. If a roll-back or a rename made LiveFilter
// replace its filter, the stream's data are gone. Then this throws.
bool FilterParts::find(uint64_t index) {
  if (index == cut_.parts()) {
    end();
    return false;
  }
  index_ = index;
  filter_->follow();
  if (filter_->filters_made() != filters_made_) {
    throw SqlError(SQLITE_ABORT, "filter_parts: " + filter_->table() +
                                     " changed while its message was made; ask for it again");
  }
  Result<std::vector<std::byte>> slice = stream_.next(cut_.slice_bytes);
  throw_if(filter_->table(), slice.take_status());
  piece_ = segments::encode_part({cut_, index_, slice.value()});
  return true;
}

}  // namespace

void register_filter_parts(Registration& registration) {
  registration.module<TableFunction<FilterParts, kPartColumns>>("filter_parts");
}

}  // namespace cuckoo
