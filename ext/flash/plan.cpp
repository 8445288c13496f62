#include "ext/flash/plan.hpp"

#include <cmath>
#include <optional>

#include "core/flash/layout.hpp"
#include "ext/flash/options.hpp"
#include "ext/sqlite/function.hpp"

namespace cuckoo {
namespace {

constexpr const char* kFunction = "flash_kv_plan";

// The columns in the order of the declaration; the arguments are hidden.
struct FlashPlanColumn {
  enum : int {
    kSizeBytes,
    kSectors,
    kUsableBytes,
    kUsableShare,
    kMaxKeyBytes,
    kSize,
  };
};
constexpr const char* kArguments[] = {"size", "sector_size", "erase_block"};

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

}  // namespace

std::string FlashPlan::declaration() const {
  return "CREATE TABLE x(size_bytes INTEGER, sectors INTEGER, usable_bytes INTEGER,"
         " usable_share REAL, max_key_bytes INTEGER, size HIDDEN, sector_size HIDDEN,"
         " erase_block HIDDEN)";
}

bool FlashPlan::best_index(sqlite3_index_info* info) {
  if (!take_arguments(info, FlashPlanColumn::kSize)) {
    return false;
  }
  info->estimatedCost = 10;
  info->estimatedRows = 1;
  return true;
}

void FlashPlan::Cursor::filter(int plan, const char*, int, sqlite3_value** values) {
  done_ = true;
  arguments_ = {};
  geometry_ = {};
  if ((plan & 1) == 0) {
    throw SqlError(SQLITE_ERROR, std::string(kFunction) +
                                     ": the arguments are a size, and if you like a sector_size"
                                     " and an erase_block");
  }
  double size = 0;
  for (int i = 0, next = 0; i < 3; ++i) {
    if ((plan >> i & 1) == 0) {
      continue;
    }
    sqlite3_value* const value = values[next++];
    if (is_null(value)) {
      return;
    }
    arguments_[static_cast<size_t>(i)].assign(value, Affinity::kNone);
    const double number = argument(value, kArguments[i]);
    if (i == 0) {
      size = number;
    } else {
      (i == 1 ? geometry_.sector_size_bytes : geometry_.sectors_per_block) =
          static_cast<uint32_t>(number);
    }
  }
  throw_if(kFunction, check_geometry(geometry_));
  geometry_.blocks = flash_blocks_for(kFunction, geometry_, size, "the size");
  done_ = false;
}

void FlashPlan::Cursor::column(sqlite3_context* context, int column) {
  const FlashLayout layout(geometry_);
  const uint64_t usable = layout.usable_units(0) * layout.unit_bytes();
  switch (column) {
    case FlashPlanColumn::kSizeBytes:
      return result_count(context, geometry_.size_bytes());
    case FlashPlanColumn::kSectors:
      return result_count(context, geometry_.sectors());
    case FlashPlanColumn::kUsableBytes:
      return result_count(context, usable);
    case FlashPlanColumn::kUsableShare:
      return sqlite3_result_double(
          context, static_cast<double>(usable) / static_cast<double>(geometry_.size_bytes()));
    case FlashPlanColumn::kMaxKeyBytes:
      return result_count(context, layout.max_key_bytes() - 1);  // one is the key's type
    default:
      return arguments_[static_cast<size_t>(column - FlashPlanColumn::kSize)].result(context);
  }
}

}  // namespace cuckoo
