// flash_kv_plan(size [, sector_size, erase_block]): a table-valued function with one row, which
// says how much of a device of that size rows can use. It makes nothing.
#include <cmath>
#include <iterator>
#include <optional>
#include <span>
#include <string>

#include "core/flash/device.hpp"
#include "core/flash/layout.hpp"
#include "ext/flash/functions.hpp"
#include "ext/flash/options.hpp"
#include "ext/table/registration.hpp"
#include "ext/table/table_function.hpp"

namespace cuckoo {
namespace {

constexpr const char* kFunction = "flash_kv_plan";

// Returns a number, or a size like '64MB', in the range of the option of that name.
double argument(sqlite3_value* value, const char* name) {
  const OptionSpec& spec = spec_named(flash_option_specs(), name);
  const int type = sqlite3_value_numeric_type(value);
  const std::optional<double> number =
      type == SQLITE_INTEGER || type == SQLITE_FLOAT ? std::optional(sqlite3_value_double(value))
      : spec.kind == OptionKind::kSize               ? parse_size(text_argument(value))
                                                     : std::nullopt;
  const bool whole = number && (spec.kind != OptionKind::kWhole || std::floor(*number) == *number);
  if (!whole || *number < spec.least || *number > spec.most) {
    throw SqlError(SQLITE_ERROR, std::string(kFunction) + ": " + name + " is " +
                                     printable(text_argument(value)) + ", expected " +
                                     std::string(spec.range));
  }
  return *number;
}

struct FlashPlan {
  static void plan(sqlite3_index_info& info) noexcept { estimate(info, 10, 1); }
  bool start(Connection& connection, const Arguments& arguments);
  bool find(uint64_t number) const noexcept { return number == 0; }

  FlashLayout layout() const { return FlashLayout(geometry); }
  uint64_t usable_bytes() const { return layout().usable_units(0) * layout().unit_bytes(); }

  FlashGeometry geometry;
};

constexpr Column<FlashPlan> kFlashPlanColumns[] = {
    {"size_bytes INTEGER", [](FlashPlan& row) { return row.geometry.size_bytes(); }},
    {"sectors INTEGER", [](FlashPlan& row) { return row.geometry.sectors(); }},
    {"usable_bytes INTEGER", [](FlashPlan& row) { return row.usable_bytes(); }},
    {"usable_share REAL",
     [](FlashPlan& row) {
       return static_cast<double>(row.usable_bytes()) /
              static_cast<double>(row.geometry.size_bytes());
     }},
    {"max_key_bytes INTEGER",
     [](FlashPlan& row) { return row.layout().max_key_bytes() - 1; }},  // one is the key's type
    {"size HIDDEN"},
    {"sector_size HIDDEN"},
    {"erase_block HIDDEN"},
};

bool FlashPlan::start(Connection&, const Arguments& arguments) {
  if (arguments[0] == nullptr) {
    throw SqlError(SQLITE_ERROR, std::string(kFunction) +
                                     ": the arguments are a size, and if you like a sector_size"
                                     " and an erase_block");
  }
  geometry = {};
  constexpr const char* kNames[] = {"size", "sector_size", "erase_block"};
  double numbers[] = {0, double(geometry.sector_size_bytes), double(geometry.sectors_per_block)};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (arguments[i] == nullptr) {
      continue;
    }
    if (is_null(arguments[i])) {
      return false;
    }
    numbers[i] = argument(arguments[i], kNames[i]);
  }
  geometry.sector_size_bytes = static_cast<uint32_t>(numbers[1]);
  geometry.sectors_per_block = static_cast<uint32_t>(numbers[2]);
  throw_if(kFunction, check_geometry(geometry));
  geometry.blocks = flash_blocks_for(kFunction, geometry, numbers[0], "the size");
  return true;
}

}  // namespace

void register_flash_plan(Registration& registration) {
  registration.module<TableFunction<FlashPlan, kFlashPlanColumns>>(kFunction);
}

}  // namespace cuckoo
