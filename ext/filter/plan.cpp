#include "ext/filter/plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "core/filter/sizing.hpp"
#include "ext/filter/options.hpp"
#include "ext/sqlite/function.hpp"
#include "ext/sqlite/statement.hpp"

namespace cuckoo {
namespace {

// The columns in the order of the declaration; the arguments are hidden.
struct PlanColumn {
  enum : int {
    kModule,
    kLayout,
    kOptions,
    kBitsPerKey,
    kHashes,
    kMemoryBytes,
    kDiskBytesGrowthOn,
    kDiskBytesGrowthOff,
    kImageBytes,
    kCapacity,
    kFpr,
    kBytes,
  };
};
constexpr int kTwoGiven = 3;    // as bits
constexpr int kBytesGiven = 4;  // also if it is NULL

// A search for a rate looks at rates of three digits, so that they are easy to read: from 9.32e-10,
// above 2^-30, to 0.25. They are numbered in ascending order.
constexpr int kFirstRate = 832;  // 9.32 of the first decade
constexpr int kRatesPerDecade = 900;
constexpr int kLastRate = 8 * kRatesPerDecade + kRatesPerDecade + 150;  // 2.50e-1

double rate_of(int number) noexcept {
  char text[32];
  std::snprintf(text, sizeof text, "%de%d", 100 + number % kRatesPerDecade,
                number / kRatesPerDecade - 12);
  return std::strtod(text, nullptr);
}

[[noreturn]] void refuse_arguments() {
  throw SqlError(SQLITE_ERROR,
                 "filter_plan: the arguments are a capacity and a false positive rate, or two of"
                 " capacity, fpr and bytes, and NULL for the third");
}

// Returns a number in the range that the option has.
double number_argument(sqlite3_value* value, std::string_view option) {
  const OptionSpec& spec = spec_named(option_specs(FilterModule::kCuckoo), option);
  const int type = sqlite3_value_numeric_type(value);
  const double number = sqlite3_value_double(value);
  const bool whole = spec.kind != OptionKind::kWhole || std::floor(number) == number;
  if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || !whole || number < spec.least ||
      number > spec.most) {
    throw SqlError(SQLITE_ERROR, "filter_plan: " + std::string(option) + " is " +
                                     printable(text_argument(value)) + ", expected " +
                                     std::string(spec.range));
  }
  return number;
}

// Returns a number, or a size as options take it.
uint64_t bytes_argument(sqlite3_value* value) {
  constexpr double kMost = 0x1p60;
  const int type = sqlite3_value_type(value);
  const std::optional<double> size =
      type == SQLITE_BLOB ? std::nullopt : parse_size(text_argument(value));
  if (!size || *size < 1 || *size > kMost) {
    throw SqlError(SQLITE_ERROR, "filter_plan: bytes is " + printable(text_argument(value)) +
                                     ", expected a number from 1 to 2^60, or a size like '64MB'");
  }
  return static_cast<uint64_t>(*size);
}

// Returns the shortest text that means exactly that number.
std::string exact_text(double number) {
  char text[32];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, number);
    if (std::strtod(text, nullptr) == number) {
      break;
    }
  }
  return text;
}

}  // namespace

std::string FilterPlans::declaration() const {
  return "CREATE TABLE x(module TEXT, layout TEXT, options TEXT, bits_per_key REAL, hashes INTEGER,"
         " memory_bytes INTEGER, disk_bytes_growth_on INTEGER, disk_bytes_growth_off INTEGER,"
         " image_bytes INTEGER, capacity HIDDEN, fpr HIDDEN, bytes HIDDEN)";
}

bool FilterPlans::best_index(sqlite3_index_info* info) {
  if (!cuckoo::take_arguments(info, PlanColumn::kCapacity)) {
    return false;
  }
  info->estimatedCost = 100;
  info->estimatedRows = 4;
  return true;
}

// If one of two arguments is NULL there is no row, as in a join with a row that lacks the value.
void FilterPlans::Cursor::filter(int plan, const char*, int, sqlite3_value** values) {
  row_ = kKinds.size();
  if (plan != kTwoGiven && (plan & kBytesGiven) == 0) {
    refuse_arguments();
  }
  if (plan == kTwoGiven && (sqlite3_value_type(values[0]) == SQLITE_NULL ||
                            sqlite3_value_type(values[1]) == SQLITE_NULL)) {
    return;
  }
  take_arguments(plan, values);
  page_bytes_ = page_bytes_for(db_, "main");
  database_page_bytes_ = database_page_bytes_for(db_, "main");
  row_ = 0;
  move_to_row();
  if (eof()) {
    throw SqlError(SQLITE_ERROR,
                   "filter_plan: bytes is " + std::to_string(bytes_) +
                       ", and no filter takes less than " + std::to_string(least_bytes()) +
                       (unknown_ == Unknown::kCapacity ? " at that fpr"
                                                       : " for that capacity, at an fpr of 0.25"));
  }
}

void FilterPlans::Cursor::take_arguments(int given, sqlite3_value** values) {
  const auto next = [&](int bit) -> sqlite3_value* {
    sqlite3_value* const value = (given & bit) != 0 ? *values++ : nullptr;
    return value != nullptr && sqlite3_value_type(value) != SQLITE_NULL ? value : nullptr;
  };
  sqlite3_value* const capacity = next(1);
  sqlite3_value* const rate = next(2);
  sqlite3_value* const bytes = next(kBytesGiven);
  const int known = (capacity != nullptr) + (rate != nullptr) + (bytes != nullptr);
  if (known != 2) {
    refuse_arguments();
  }
  unknown_ = bytes == nullptr      ? Unknown::kNothing
             : capacity == nullptr ? Unknown::kCapacity
                                   : Unknown::kRate;
  bytes_ = 0;
  if (capacity != nullptr) {
    capacity_argument_.assign(capacity, Affinity::kNone);
    capacity_ = static_cast<uint64_t>(number_argument(capacity, "capacity"));
  }
  if (rate != nullptr) {
    rate_argument_.assign(rate, Affinity::kNone);
    rate_ = number_argument(rate, "fpr");
  }
  if (bytes != nullptr) {
    bytes_argument_.assign(bytes, Affinity::kNone);
    bytes_ = bytes_argument(bytes);
  }
}

// Goes to this row, or to the first one after it whose kind fits.
void FilterPlans::Cursor::move_to_row() {
  while (!eof() && !solve()) {
    ++row_;
  }
  compute();
}

void FilterPlans::Cursor::next() {
  ++row_;
  move_to_row();
}

// --- searching -----------------------------------------------------------------------------------

bool FilterPlans::Cursor::fits(uint64_t capacity, double rate) const {
  FilterOptions options = options_of(kKinds[row_], true);
  options.capacity = capacity;
  options.spec.rate = rate;
  options.width = hash_width_for(rate, capacity);
  const Result<segments::FilterPlan> plan = segments::plan_filter(options);
  return plan.ok() && plan.value().memory_bytes <= bytes_;
}

bool FilterPlans::Cursor::solve() {
  switch (unknown_) {
    case Unknown::kNothing:
      return true;
    case Unknown::kCapacity:
      return solve_for_capacity();
    case Unknown::kRate:
      return solve_for_rate();
  }
  return false;
}

// A filter for a few more keys may take less memory, if it is cut into more segments. So the search
// goes on from a larger capacity near by, if one fits.
bool FilterPlans::Cursor::solve_for_capacity() {
  if (!fits(1, rate_)) {
    return false;
  }
  uint64_t found = 1;
  for (uint64_t from = 1; from != 0;) {
    found = from;
    uint64_t beyond = kMaxCapacity + 1;
    while (beyond - found > 1) {
      const uint64_t middle = found + (beyond - found) / 2;
      (fits(middle, rate_) ? found : beyond) = middle;
    }
    from = 0;
    constexpr uint64_t kSteps = 64;
    for (uint64_t step = 1; step <= kSteps / 8 && from == 0; ++step) {
      const uint64_t larger = found + std::max<uint64_t>(found / kSteps, 1) * step;
      from = larger <= kMaxCapacity && fits(larger, rate_) ? larger : 0;
    }
  }
  capacity_ = found;
  return true;
}

bool FilterPlans::Cursor::solve_for_rate() {
  if (!fits(capacity_, rate_of(kLastRate))) {
    return false;
  }
  int too_small = kFirstRate - 1;
  int found = kLastRate;
  while (found - too_small > 1) {
    const int middle = too_small + (found - too_small) / 2;
    (fits(capacity_, rate_of(middle)) ? found : too_small) = middle;
  }
  rate_ = rate_of(found);
  return true;
}

// Returns the least memory that any kind takes: for one key, or at the greatest rate.
uint64_t FilterPlans::Cursor::least_bytes() const {
  uint64_t least = ~uint64_t{0};
  for (const FilterKind kind : kKinds) {
    FilterOptions options = options_of(kind, true);
    options.capacity = unknown_ == Unknown::kCapacity ? 1 : capacity_;
    options.spec.rate = unknown_ == Unknown::kCapacity ? rate_ : rate_of(kLastRate);
    options.width = hash_width_for(options.spec.rate, options.capacity);
    const Result<segments::FilterPlan> plan = segments::plan_filter(options);
    least = plan.ok() ? std::min(least, plan.value().memory_bytes) : least;
  }
  return least;
}

// --- the row -------------------------------------------------------------------------------------

FilterOptions FilterPlans::Cursor::options_of(FilterKind kind, bool growth) const {
  FilterOptions options;
  options.spec.kind = kind;
  options.spec.rate = rate_;
  options.capacity = capacity_;
  options.growth = growth;
  options.width = hash_width_for(rate_, capacity_);
  options.page_bytes = page_bytes_;
  return options;
}

void FilterPlans::Cursor::compute() {
  if (eof()) {
    return;
  }
  for (const bool growth : {true, false}) {
    Result<segments::FilterPlan> plan = segments::plan_filter(options_of(kKinds[row_], growth));
    throw_if("filter_plan", plan.ok() ? Status() : plan.take_status());
    (growth ? growing_ : fixed_) = plan.value();
  }
}

std::string FilterPlans::Cursor::options_text(FilterKind kind) const {
  std::string sizes = "capacity = " + std::to_string(capacity_) + ", fpr = " + exact_text(rate_);
  switch (kind) {
    case FilterKind::kBlockedBloom:
      return sizes + ", layout = blocked";
    case FilterKind::kCountingBloom:
      return sizes + ", counting = on";
    case FilterKind::kCuckoo:
    case FilterKind::kBloom:
    case FilterKind::kLegacyBloom:
      return sizes;
  }
  return {};
}

void FilterPlans::Cursor::column(sqlite3_context* context, int column) {
  const FilterKind kind = kKinds[row_];
  const auto row_bytes = static_cast<uint32_t>(options_of(kind, true).row_bytes());
  switch (column) {
    case PlanColumn::kModule:
      return sqlite3_result_text(context, module_name(module_of(kind)), -1, SQLITE_STATIC);
    case PlanColumn::kLayout:
      return kind == FilterKind::kCuckoo
                 ? sqlite3_result_null(context)
                 : sqlite3_result_text(context, traits_of(kind).name, -1, SQLITE_STATIC);
    case PlanColumn::kOptions:
      return result_text(context, options_text(kind));
    case PlanColumn::kBitsPerKey:
      return sqlite3_result_double(context, growing_.bits_per_key);
    case PlanColumn::kHashes:
      return sqlite3_result_int64(context, growing_.places_per_key);
    case PlanColumn::kMemoryBytes:
      return result_count(context, growing_.memory_bytes);
    case PlanColumn::kDiskBytesGrowthOn:
      return result_count(context, growing_.disk_bytes(row_bytes, database_page_bytes_));
    case PlanColumn::kDiskBytesGrowthOff:
      return result_count(context, fixed_.disk_bytes(row_bytes, database_page_bytes_));
    case PlanColumn::kImageBytes:
      return result_count(context, growing_.image_bytes);
    case PlanColumn::kCapacity:
      return unknown_ == Unknown::kCapacity ? result_count(context, capacity_)
                                            : capacity_argument_.result(context);
    case PlanColumn::kFpr:
      return unknown_ == Unknown::kRate ? sqlite3_result_double(context, rate_)
                                        : rate_argument_.result(context);
    default:
      return bytes_ == 0 ? sqlite3_result_null(context) : bytes_argument_.result(context);
  }
}

}  // namespace cuckoo
