// filter_plan(capacity, fpr, bytes, hashes): a table-valued function with one row for each kind and
// layout of filter, which says what it would take. It makes nothing.
//
// Two of the first three are given. `bytes` is what the cells of a filter with growth = off may
// take. Then the greatest capacity that fits is searched for, or the least rate. `hashes` is how
// many cells a key has; without it, the best number is taken. A kind that does not fit, or does not
// let choose the hashes, has no row.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>

#include "core/filter/sizing.hpp"
#include "core/segments/plan.hpp"
#include "ext/filter/functions.hpp"
#include "ext/filter/options.hpp"
#include "ext/table/registration.hpp"
#include "ext/table/shadow_store.hpp"
#include "ext/table/table_function.hpp"

namespace cuckoo {
namespace {

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
                 " capacity, fpr and bytes, and NULL for the third; then hashes, if you like");
}

// Returns a number in the range that the option has.
double number_argument(sqlite3_value* value, std::string_view option) {
  const OptionSpec& spec = spec_named(option_specs(FilterModule::kBloom), option);
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

class FilterPlans {
 public:
  static void plan(sqlite3_index_info& info) noexcept { estimate(info, 100, 4); }
  bool start(Connection& connection, const Arguments& arguments);
  bool find(uint64_t& row);

  FilterKind kind() const noexcept { return kind_; }
  std::string options_text() const;
  // Returns true if the options say growth = off.
  bool only_fixed() const noexcept { return unknown_ != Unknown::kNothing; }
  const segments::FilterPlan& growing() const noexcept { return growing_; }
  const segments::FilterPlan& fixed() const noexcept { return fixed_; }
  uint64_t disk_bytes(const segments::FilterPlan& plan) const noexcept {
    return plan.disk_bytes(page_bytes_ + kPageCrcBytes, database_page_bytes_);
  }
  // Return what was searched for.
  std::optional<uint64_t> capacity() const noexcept {
    return unknown_ == Unknown::kCapacity ? std::optional(capacity_) : std::nullopt;
  }
  std::optional<double> rate() const noexcept {
    return unknown_ == Unknown::kRate ? std::optional(rate_) : std::nullopt;
  }

 private:
  enum class Unknown : uint8_t { kNothing, kCapacity, kRate };
  static constexpr std::array kKinds = {FilterKind::kCuckoo, FilterKind::kBloom,
                                        FilterKind::kBlockedBloom, FilterKind::kCountingBloom};
  void take(sqlite3_value* capacity, sqlite3_value* rate, sqlite3_value* bytes);
  Result<FilterSpec> spec_of(FilterKind kind, uint64_t capacity, double rate) const;
  Result<segments::FilterPlan> plan_of(FilterKind kind, uint64_t capacity, double rate,
                                       bool growth) const;
  [[noreturn]] void refuse_all() const;
  bool solve();
  bool solve_for_capacity();
  bool solve_for_rate();
  bool fits(uint64_t capacity, double rate) const;
  // A filter for fewer than 16 keys has the cells of 16: too many bits for each key, where the
  // hashes are few.
  uint64_t least_capacity() const noexcept { return hashes_ == 0 ? 1 : 16; }

  Unknown unknown_ = Unknown::kNothing;
  uint64_t capacity_ = 0;  // of the row, like rate_
  double rate_ = 0;
  uint64_t bytes_ = 0;                    // 0: not given
  uint32_t hashes_ = 0;                   // 0: not given
  uint32_t page_bytes_ = 0;               // of a filter's pages, in the main database
  uint32_t database_page_bytes_ = 0;      // of the database's own
  FilterKind kind_ = kKinds.front();      // of the row
  segments::FilterPlan growing_, fixed_;  // the row's kind, with growth on and off
};

constexpr Column<FilterPlans> kPlanColumns[] = {
    {"module TEXT", [](FilterPlans& row) { return module_name(module_of(row.kind())); }},
    {"layout TEXT",
     [](FilterPlans& row) {
       return row.kind() == FilterKind::kCuckoo ? std::nullopt
                                                : std::optional(traits_of(row.kind()).name);
     }},
    {"options TEXT", [](FilterPlans& row) { return row.options_text(); }},
    {"bits_per_key REAL", [](FilterPlans& row) { return row.fixed().bits_per_key; }},
    {"hashes INTEGER", [](FilterPlans& row) { return row.fixed().places_per_key; }},
    {"cell_bytes INTEGER", [](FilterPlans& row) { return row.fixed().cell_bytes; }},
    {"memory_bytes_growth_on INTEGER", [](FilterPlans& row) { return row.growing().memory_bytes; }},
    {"memory_bytes_growth_off INTEGER", [](FilterPlans& row) { return row.fixed().memory_bytes; }},
    {"disk_bytes_growth_on INTEGER",
     [](FilterPlans& row) { return row.disk_bytes(row.growing()); }},
    {"disk_bytes_growth_off INTEGER", [](FilterPlans& row) { return row.disk_bytes(row.fixed()); }},
    {"image_bytes INTEGER",
     [](FilterPlans& row) { return (row.only_fixed() ? row.fixed() : row.growing()).image_bytes; }},
    {"capacity HIDDEN", [](FilterPlans& row) { return row.capacity(); }},
    {"fpr HIDDEN", [](FilterPlans& row) { return row.rate(); }},
    {"bytes HIDDEN"},
    {"k HIDDEN"},
};

// If one of two arguments is NULL there is no row, as in a join with a row that lacks the value.
bool FilterPlans::start(Connection& connection, const Arguments& arguments) {
  sqlite3_value* const capacity = arguments[0];
  sqlite3_value* const rate = arguments[1];
  sqlite3_value* const bytes = arguments[2];
  sqlite3_value* const hashes = arguments[3];
  const bool two = capacity != nullptr && rate != nullptr && bytes == nullptr;
  if (!two && bytes == nullptr) {
    refuse_arguments();
  }
  if (two && (is_null(capacity) || is_null(rate))) {
    return false;
  }
  const auto given = [](sqlite3_value* value) {
    return value == nullptr || is_null(value) ? nullptr : value;
  };
  take(given(capacity), given(rate), given(bytes));
  hashes_ = given(hashes) == nullptr ? 0 : static_cast<uint32_t>(number_argument(hashes, "hashes"));
  page_bytes_ = page_bytes_for(connection.db(), "main");
  database_page_bytes_ = database_page_bytes_for(connection.db(), "main");
  return true;
}

void FilterPlans::take(sqlite3_value* capacity, sqlite3_value* rate, sqlite3_value* bytes) {
  const int known = (capacity != nullptr) + (rate != nullptr) + (bytes != nullptr);
  if (known != 2) {
    refuse_arguments();
  }
  unknown_ = bytes == nullptr      ? Unknown::kNothing
             : capacity == nullptr ? Unknown::kCapacity
                                   : Unknown::kRate;
  if (capacity != nullptr) {
    capacity_ = static_cast<uint64_t>(number_argument(capacity, "capacity"));
  }
  if (rate != nullptr) {
    rate_ = number_argument(rate, "fpr");
  }
  bytes_ = bytes == nullptr ? 0 : bytes_argument(bytes);
}

// Goes to this row, or to the first one after it whose kind fits.
bool FilterPlans::find(uint64_t& row) {
  for (const uint64_t first = row; row < kKinds.size(); ++row) {
    kind_ = kKinds[row];
    if (solve()) {
      for (const bool growth : {true, false}) {
        (growth ? growing_ : fixed_) =
            value_or_throw("filter_plan", plan_of(kind_, capacity_, rate_, growth));
      }
      return true;
    }
    if (first == 0 && row + 1 == kKinds.size()) {
      refuse_all();
    }
  }
  return false;
}

// Returns what CREATE makes of the row's options.
Result<FilterSpec> FilterPlans::spec_of(FilterKind kind, uint64_t capacity, double rate) const {
  FilterSpec spec;
  spec.kind = kind;
  spec.rate = rate;
  if (hashes_ != 0) {
    if (kind != FilterKind::kBloom && kind != FilterKind::kCountingBloom) {
      return invalid("the hashes of such a filter can't be chosen");
    }
    spec.hashes = hashes_;
    CUCKOO_ASSIGN_OR_RETURN(const FilterSize size, filter_size(spec, capacity, page_bytes_));
    constexpr double kDigits = 1e4;  // of a number that is easy to read
    const double cells =
        static_cast<double>(size.bits) / (kind == FilterKind::kCountingBloom ? 4 : 1);
    spec.bits_per_key = std::ceil(cells / static_cast<double>(capacity) * kDigits) / kDigits;
    CUCKOO_TRY(check_spec(spec));
  }
  return spec;
}

Result<segments::FilterPlan> FilterPlans::plan_of(FilterKind kind, uint64_t capacity, double rate,
                                                  bool growth) const {
  FilterOptions options;
  CUCKOO_ASSIGN_OR_RETURN(options.spec, spec_of(kind, capacity, rate));
  options.capacity = capacity;
  options.growth = growth;
  options.width = hash_width_for(rate, capacity);
  options.page_bytes = page_bytes_;
  return segments::plan_filter(options);
}

// Says why no kind has a row.
void FilterPlans::refuse_all() const {
  uint64_t least = ~uint64_t{0};
  Status failed;
  for (const FilterKind kind : kKinds) {
    const Result<segments::FilterPlan> plan =
        plan_of(kind, unknown_ == Unknown::kCapacity ? least_capacity() : capacity_,
                unknown_ == Unknown::kRate ? rate_of(kLastRate) : rate_, false);
    if (plan.ok()) {
      least = std::min(least, plan.value().cell_bytes);
    } else {
      failed = plan.error();
    }
  }
  if (least == ~uint64_t{0}) {
    throw SqlError(SQLITE_ERROR, "filter_plan: hashes is " + std::to_string(hashes_) + ": " +
                                     failed.error().message);
  }
  throw SqlError(SQLITE_ERROR,
                 "filter_plan: bytes is " + std::to_string(bytes_) +
                     ", and the cells of no filter take less than " + std::to_string(least) +
                     (unknown_ == Unknown::kCapacity ? " at that fpr"
                                                     : " for that capacity, at an fpr of 0.25"));
}

// --- searching -----------------------------------------------------------------------------------

bool FilterPlans::fits(uint64_t capacity, double rate) const {
  const Result<segments::FilterPlan> plan = plan_of(kind_, capacity, rate, false);
  return plan.ok() && plan.value().cell_bytes <= bytes_;
}

bool FilterPlans::solve() {
  switch (unknown_) {
    case Unknown::kNothing:
      return hashes_ == 0 || plan_of(kind_, capacity_, rate_, false).ok();
    case Unknown::kCapacity:
      return solve_for_capacity();
    case Unknown::kRate:
      return solve_for_rate();
  }
  return false;
}

// A filter for a few more keys may take less memory, if it is cut into more segments. So the search
// goes on from a larger capacity near by, if one fits.
bool FilterPlans::solve_for_capacity() {
  uint64_t found = least_capacity();
  if (!fits(found, rate_)) {
    return false;
  }
  for (uint64_t from = found; from != 0;) {
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

bool FilterPlans::solve_for_rate() {
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

// --- the row -------------------------------------------------------------------------------------

// What was computed for bytes is true of growth = off.
std::string FilterPlans::options_text() const {
  std::string text = "capacity = " + std::to_string(capacity_);
  if (hashes_ == 0) {
    text += ", fpr = " + exact_text(rate_);
  } else {
    const FilterSpec spec = value_or_throw("filter_plan", spec_of(kind_, capacity_, rate_));
    text += ", bits_per_key = " + exact_text(spec.bits_per_key) +
            ", hashes = " + std::to_string(hashes_);
  }
  text += kind_ == FilterKind::kBlockedBloom    ? ", layout = blocked"
          : kind_ == FilterKind::kCountingBloom ? ", counting = on"
                                                : "";
  return only_fixed() ? text + ", growth = off" : text;
}

}  // namespace

void register_filter_plan(Registration& registration) {
  registration.module<TableFunction<FilterPlans, kPlanColumns>>("filter_plan");
}

}  // namespace cuckoo
