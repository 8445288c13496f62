#include "ext/filter/parts.hpp"

#include <algorithm>
#include <utility>

#include "ext/filter/filter_messages.hpp"
#include "ext/filter/functions.hpp"
#include "ext/sqlite/function.hpp"
#include "ext/sqlite/options.hpp"

namespace cuckoo {
namespace {

// The columns in the order of the declaration; the arguments are hidden.
struct PartColumn {
  enum : int { kPart, kParts, kPiece, kFilter, kMark, kBytes, kHashes };
};
constexpr int kThreeGiven = 7;
constexpr int kAllGiven = 15;

constexpr double kLeastBytes = 1e6;
constexpr double kMostBytes = 0x1p30;
// SQLite's limit also holds for a whole row, and a table may have other columns beside a piece.
constexpr uint64_t kRestOfRow = 1024;

}  // namespace

std::string FilterParts::declaration() const {
  return "CREATE TABLE x(part INTEGER, parts INTEGER, piece BLOB, filter HIDDEN, mark HIDDEN,"
         " bytes HIDDEN, hashes HIDDEN)";
}

bool FilterParts::best_index(sqlite3_index_info* info) {
  if (!take_arguments(info, PartColumn::kFilter)) {
    return false;
  }
  // Parts come in ascending order. SQLite is told so, because a sort would hold all of them.
  info->orderByConsumed = info->nOrderBy == 1 && info->aOrderBy[0].iColumn == PartColumn::kPart &&
                                  info->aOrderBy[0].desc == 0
                              ? 1
                              : 0;
  info->estimatedCost = 1e6;
  info->estimatedRows = 100;
  return true;
}

uint64_t FilterParts::Cursor::part_bytes(sqlite3_value* value) const {
  const std::optional<double> bytes = parse_size(text_argument(value));
  if (!bytes || *bytes < kLeastBytes || *bytes > kMostBytes) {
    throw SqlError(SQLITE_ERROR, "filter_parts: the third argument is " +
                                     (sqlite3_value_type(value) == SQLITE_NULL
                                          ? std::string("NULL")
                                          : "\"" + printable(text_argument(value)) + "\"") +
                                     ", expected how many bytes a part may have: 1 MB to 1 GB");
  }
  const uint64_t limit = length_limit(connection_.db());
  if (limit < segments::kLeastSliceBytes + segments::kPartOverheadBytes + kRestOfRow) {
    throw SqlError(SQLITE_TOOBIG, "filter_parts: no BLOB may be longer than " +
                                      std::to_string(limit) + " bytes (SQLITE_LIMIT_LENGTH)");
  }
  return std::min(static_cast<uint64_t>(*bytes), limit - kRestOfRow);
}

void FilterParts::Cursor::end() noexcept {
  piece_ = {};
  stream_ = {};
  filter_ = {};
}

void FilterParts::Cursor::filter(int plan, const char*, int, sqlite3_value** values) {
  end();
  if (plan != kThreeGiven && plan != kAllGiven) {
    throw SqlError(SQLITE_ERROR,
                   "filter_parts: the arguments are a filter's name, a mark or NULL, how many bytes"
                   " a part may have, and perhaps 'hashes'");
  }
  if (sqlite3_value_type(values[0]) == SQLITE_NULL) {
    return;
  }
  if (sqlite3_value_type(values[0]) != SQLITE_TEXT) {
    throw SqlError(SQLITE_ERROR, "filter_parts: the first argument is a filter's name");
  }
  name_argument_.assign(values[0], Affinity::kNone);
  mark_argument_.assign(values[1], Affinity::kNone);
  bytes_argument_.assign(values[2], Affinity::kNone);
  const bool with_hashes =
      plan == kAllGiven && hashes_argument("filter_parts", "fourth", text_argument(values[3]));
  if (with_hashes) {
    hashes_argument_.assign(values[3], Affinity::kNone);
  }
  const uint64_t bytes = part_bytes(values[2]);
  const auto mark = cuckoo::mark_argument("filter_parts", values[1]);
  filter_ = connection_.find<LiveFilter>(text_argument(values[0]));
  stream_ = FilterMessages(*filter_).stream_since(mark, with_hashes);
  filters_made_ = filter_->filters_made();
  cut_ = {stream_.id(), stream_.bytes(), bytes - segments::kPartOverheadBytes};
  index_ = 0;
  make();
}

void FilterParts::Cursor::next() {
  if (++index_ == cut_.parts()) {
    end();
  } else {
    make();
  }
}

// This connection may write the filter between two rows. If a roll-back or a rename made LiveFilter
// replace its filter, the stream's data are gone. Then this throws.
void FilterParts::Cursor::make() {
  filter_->follow();
  if (filter_->filters_made() != filters_made_) {
    throw SqlError(SQLITE_ABORT, "filter_parts: " + filter_->table() +
                                     " changed while its message was made; ask for it again");
  }
  Result<std::vector<std::byte>> slice = stream_.next(cut_.slice_bytes);
  throw_if(filter_->table(), slice.take_status());
  piece_ = segments::encode_part({cut_, index_, slice.value()});
}

void FilterParts::Cursor::column(sqlite3_context* context, int column) {
  switch (column) {
    case PartColumn::kPart:
      return result_count(context, index_ + 1);
    case PartColumn::kParts:
      return result_count(context, cut_.parts());
    case PartColumn::kPiece:
      return result_blob(context, piece_);
    case PartColumn::kFilter:
      return name_argument_.result(context);
    case PartColumn::kMark:
      return mark_argument_.result(context);
    case PartColumn::kBytes:
      return bytes_argument_.result(context);
    default:
      return hashes_argument_.result(context);
  }
}

}  // namespace cuckoo
