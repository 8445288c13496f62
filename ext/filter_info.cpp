#include "ext/filter_info.hpp"

#include "ext/connection.hpp"
#include "ext/live_filter.hpp"
#include "ext/statement.hpp"

namespace cuckoo {
namespace {

// In the order of the declaration.
enum Column : int {
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
  kFilterArgument,
};

void result_text(sqlite3_context* context, const std::string& text) {
  sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

void result_count(sqlite3_context* context, uint64_t count) {
  sqlite3_result_int64(context, static_cast<sqlite3_int64>(count));
}

double bits_per_key(const LoggedFilter& filter) {
  const CuckooGeometry& geometry = filter.geometry();
  return static_cast<double>(geometry.buckets) * geometry.shape.bits() /
         static_cast<double>(filter.capacity());
}

// Every shadow row has a database page of its own.
int64_t disk_bytes(LiveFilter& live, sqlite3* db) {
  Statement page_size(db, sql_text("PRAGMA \"%w\".page_size", live.schema().c_str()));
  const int64_t bytes = page_size.step() ? page_size.integer(0) : 4096;
  constexpr int64_t kRootPages = 4;
  return (static_cast<int64_t>(live.filter().stored_rows()) + kRootPages) * bytes;
}

double fingerprint_bits(const LoggedFilter& filter) {
  return filter.geometry().shape.bits() / static_cast<double>(kBucketSlots);
}

}  // namespace

std::string FilterInfo::declaration() const {
  return "CREATE TABLE x(schema, name, kind, items, capacity, load_factor, fpr, fpr_now,"
         " bits_per_key, fingerprint_bits, hashes, generations, generation_items, memory_bytes,"
         " disk_bytes, log_entries, probes, positives, filter HIDDEN)";
}

bool FilterInfo::best_index(sqlite3_index_info* info) {
  info->estimatedCost = 1000;
  info->estimatedRows = 10;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    if (constraint.iColumn != kFilterArgument || constraint.op != SQLITE_INDEX_CONSTRAINT_EQ) {
      continue;
    }
    if (constraint.usable == 0) {
      return false;  // an argument that this plan can't have yet
    }
    info->aConstraintUsage[i].argvIndex = 1;
    info->aConstraintUsage[i].omit = 1;
    info->idxNum = 1;
    info->estimatedCost = 10;
    info->estimatedRows = 1;
  }
  return true;
}

void FilterInfo::Cursor::filter(int plan, const char*, int, sqlite3_value** values) {
  filters_.clear();
  row_ = 0;
  Connection& connection = table_.connection();
  if (plan == 0) {
    filters_ = connection.all();
    return;
  }
  if (sqlite3_value_type(values[0]) == SQLITE_NULL) {
    return;
  }
  if (sqlite3_value_type(values[0]) != SQLITE_TEXT) {
    throw SqlError(SQLITE_ERROR, "filter_info: the argument is a filter's name");
  }
  filters_.push_back(
      connection.find(std::string(reinterpret_cast<const char*>(sqlite3_value_text(values[0])),
                                  static_cast<size_t>(sqlite3_value_bytes(values[0])))));
}

void FilterInfo::Cursor::column(sqlite3_context* context, int column) {
  LiveFilter& live = *filters_[row_];
  const LiveFilter::Reading reading(live);
  const LoggedFilter& filter = live.filter();
  switch (column) {
    case kSchema:
      return result_text(context, live.schema());
    case kName:
      return result_text(context, live.table());
    case kKind:
      return sqlite3_result_text(context, "cuckoo_filter", -1, SQLITE_STATIC);
    case kItems:
      return result_count(context, filter.items());
    case kCapacity:
      return result_count(context, filter.capacity());
    case kLoadFactor:
      return sqlite3_result_double(context, filter.load_factor());
    case kFpr:
      return sqlite3_result_double(context, filter.target_rate());
    case kFprNow:
      return sqlite3_result_double(context, filter.rate_now());
    case kBitsPerKey:
      return sqlite3_result_double(context, bits_per_key(filter));
    case kFingerprintBits:
      return sqlite3_result_double(context, fingerprint_bits(filter));
    case kHashes:
      return sqlite3_result_int(context, 2);
    case kGenerations:
      return sqlite3_result_int(context, 1);
    case kGenerationItems:
      return result_text(context, std::to_string(filter.items()));
    case kMemoryBytes:
      return result_count(context, filter.memory_bytes());
    case kDiskBytes:
      return sqlite3_result_int64(context, disk_bytes(live, table_.connection().db()));
    case kLogEntries:
      return result_count(context, filter.log_entries());
    case kProbes:
      return result_count(context, live.probes());
    case kPositives:
      return result_count(context, live.positives());
    default:
      return;
  }
}

}  // namespace cuckoo
