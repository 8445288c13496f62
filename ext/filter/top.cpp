// filter_top(filter): a table-valued function with the keys that a filter made with `top` has most
// often, and their counts, the highest first.
#include <vector>

#include "ext/filter/functions.hpp"
#include "ext/filter/live_filter.hpp"
#include "ext/table/connection.hpp"
#include "ext/table/registration.hpp"
#include "ext/table/table_function.hpp"

namespace cuckoo {
namespace {

class FilterTop {
 public:
  static void plan(sqlite3_index_info& info) noexcept { estimate(info, 100, 100); }
  bool start(Connection& connection, const Arguments& arguments);
  bool find(uint64_t index) {
    index_ = index;
    return index < kept_.size();
  }

  const TopKeys::Kept& row() const { return kept_[index_]; }

 private:
  std::vector<TopKeys::Kept> kept_;
  uint64_t index_ = 0;
};

constexpr Column<FilterTop> kTopColumns[] = {
    {"key", [](sqlite3_context* context, FilterTop& top) { top.row().key.result(context); }},
    {"count INTEGER", [](FilterTop& top) { return top.row().count; }},
    {"filter HIDDEN"},
};

bool FilterTop::start(Connection& connection, const Arguments& arguments) {
  kept_.clear();
  if (arguments[0] == nullptr) {
    throw SqlError(SQLITE_ERROR, "filter_top: the argument is a filter's name");
  }
  if (is_null(arguments[0])) {
    return false;
  }
  const auto live = connection.find<LiveFilter>(text_argument(arguments[0]));
  live->follow();
  if (live->filter().options().top == 0) {
    throw SqlError(SQLITE_ERROR,
                   "filter_top: " + live->table() + " keeps no keys; make it with the option top");
  }
  kept_ = live->top();
  return true;
}

}  // namespace

void register_filter_top(Registration& registration) {
  registration.module<TableFunction<FilterTop, kTopColumns>>("filter_top");
}

}  // namespace cuckoo
