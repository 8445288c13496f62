#include "ext/filter/plan.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "ext/filter/options.hpp"
#include "ext/sqlite/function.hpp"
#include "ext/sqlite/statement.hpp"

namespace cuckoo {
namespace {

// In the order of the declaration; the arguments are hidden.
enum Column : int {
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
};
constexpr int kBothGiven = 3;

const OptionSpec& spec_named(std::string_view name) {
  for (const OptionSpec& spec : option_specs(FilterModule::kCuckoo)) {
    if (spec.name == name) {
      return spec;
    }
  }
  throw SqlError(SQLITE_INTERNAL, "filter_plan: no such option");
}

// Of the range that the option has.
double number_argument(sqlite3_value* value, std::string_view option) {
  const OptionSpec& spec = spec_named(option);
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

// As short as it can be written and still be that number.
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
         " image_bytes INTEGER, capacity HIDDEN, fpr HIDDEN)";
}

bool FilterPlans::best_index(sqlite3_index_info* info) {
  if (!take_arguments(info, kCapacity)) {
    return false;
  }
  info->estimatedCost = 100;
  info->estimatedRows = 4;
  return true;
}

void FilterPlans::Cursor::filter(int plan, const char*, int, sqlite3_value** values) {
  row_ = kKinds.size();
  if (plan != kBothGiven) {
    throw SqlError(SQLITE_ERROR,
                   "filter_plan: the arguments are a capacity and a false positive rate");
  }
  for (int i = 0; i < 2; ++i) {
    if (sqlite3_value_type(values[i]) == SQLITE_NULL) {
      return;
    }
  }
  capacity_argument_.assign(key_of(values[0], Affinity::kNone));
  rate_argument_.assign(key_of(values[1], Affinity::kNone));
  capacity_ = static_cast<uint64_t>(number_argument(values[0], "capacity"));
  rate_ = number_argument(values[1], "fpr");
  page_bytes_ = page_bytes_for(db_, "main");
  database_page_bytes_ = database_page_bytes_for(db_, "main");
  row_ = 0;
  compute();
}

void FilterPlans::Cursor::next() {
  ++row_;
  compute();
}

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
    case kModule:
      return sqlite3_result_text(context, module_name(module_of(kind)), -1, SQLITE_STATIC);
    case kLayout:
      return kind == FilterKind::kCuckoo
                 ? sqlite3_result_null(context)
                 : sqlite3_result_text(context, traits_of(kind).name, -1, SQLITE_STATIC);
    case kOptions:
      return result_text(context, options_text(kind));
    case kBitsPerKey:
      return sqlite3_result_double(context, growing_.bits_per_key);
    case kHashes:
      return sqlite3_result_int64(context, growing_.places_per_key);
    case kMemoryBytes:
      return result_count(context, growing_.memory_bytes);
    case kDiskBytesGrowthOn:
      return result_count(context, growing_.disk_bytes(row_bytes, database_page_bytes_));
    case kDiskBytesGrowthOff:
      return result_count(context, fixed_.disk_bytes(row_bytes, database_page_bytes_));
    case kImageBytes:
      return result_count(context, growing_.image_bytes);
    case kCapacity:
      return capacity_argument_.result(context);
    default:
      return rate_argument_.result(context);
  }
}

}  // namespace cuckoo
