// TableFunction<Row>: a table-valued function as a module. What all of them have in common is here:
// the declaration, the arguments and how they are shown again, rowids and the end of the rows.
//
// A Row is the state of one call. It has
//   static void plan(info)            sets the cost; idxNum has a bit for each argument that is
//                                     given, and may get further bits
//   bool start(connection, arguments) begins a call; false: it has no rows
//   bool find(number)                 goes to the row of that number, counted from 0, or to the
//                                     next one that there is; false: there is none
//   bool show(context, column)        optional: otherwise the column shows what it has of the Row
//   static constexpr int kFirstRowid  optional: 1
// start(), find() and show() throw SqlError. kColumns is an array of Column. The last ones, which
// are HIDDEN, are the arguments.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "ext/sqlite/function.hpp"
#include "ext/sqlite/module.hpp"
#include "ext/sqlite/value.hpp"

namespace cuckoo {

// A column of a table-valued function: its declaration, and what it shows of each of these types.
// It is made of functions that return a value, or get the context and show one themselves.
template <class... Of>
class Column {
 public:
  template <class... Get>
  constexpr explicit(false) Column(const char* declared, Get... get) : declaration(declared) {
    (set(get), ...);
  }

  // Returns false if it has nothing to show of that object.
  template <class One>
  bool show(sqlite3_context* context, One& one) const {
    const auto show = std::get<Show<One>>(shows_);
    return show != nullptr && show(context, one);
  }

  const char* declaration;

 private:
  template <class One>
  using Show = bool (*)(sqlite3_context* context, One& one);

  template <class Get>
  constexpr void set(Get get) {
    (set_for<Of>(get), ...);
  }
  template <class One, class Get>
  constexpr void set_for(Get) {
    if constexpr (std::is_invocable_v<Get, One&>) {
      std::get<Show<One>>(shows_) = [](sqlite3_context* context, One& one) {
        return result_of(context, Get()(one));
      };
    } else if constexpr (std::is_invocable_v<Get, sqlite3_context*, One&>) {
      std::get<Show<One>>(shows_) = [](sqlite3_context* context, One& one) {
        Get()(context, one);
        return true;
      };
    }
  }

  std::tuple<Show<Of>...> shows_{};
};

// What a table-valued function was called with.
class Arguments {
 public:
  Arguments(int plan, sqlite3_value** values) noexcept
      : plan_(static_cast<unsigned>(plan)), values_(values) {}

  unsigned plan() const noexcept { return plan_; }  // a bit for each that is given, and plan()'s
  // Returns null if it was not given.
  sqlite3_value* operator[](size_t index) const noexcept {
    const unsigned bit = 1U << index;
    return (plan_ & bit) == 0 ? nullptr : values_[std::popcount(plan_ & (bit - 1))];
  }

 private:
  unsigned plan_;
  sqlite3_value** values_;
};

inline constexpr bool is_declared(const char* declaration, std::string_view word) noexcept {
  return std::string_view(declaration).find(word) != std::string_view::npos;
}

template <class Row, const auto& kColumns>
class TableFunction {
 public:
  class Cursor;

  explicit TableFunction(const ModuleArguments& arguments) : connection_(arguments.connection) {}

  std::string declaration() const {
    std::string columns;
    for (const auto& column : kColumns) {
      columns += (columns.empty() ? "" : ", ") + std::string(column.declaration);
    }
    return "CREATE TABLE x(" + columns + ")";
  }
  bool best_index(sqlite3_index_info* info) {
    if (!take_arguments(info, kFirstArgument)) {
      return false;
    }
    Row::plan(*info);
    return true;
  }

 private:
  static constexpr int kFirstArgument =
      std::find_if(std::begin(kColumns), std::end(kColumns),
                   [](const auto& column) { return is_declared(column.declaration, " HIDDEN"); }) -
      std::begin(kColumns);

  Connection& connection_;
};

template <class Row, const auto& kColumns>
class TableFunction<Row, kColumns>::Cursor {
 public:
  explicit Cursor(TableFunction& function) : connection_(function.connection_) {}

  void filter(int plan, const char*, int, sqlite3_value** values) {
    const Arguments arguments(plan, values);
    for (size_t i = 0; i < given_.size(); ++i) {
      given_[i] = {};
      if (arguments[i] != nullptr) {
        const bool text = is_declared(kColumns[kFirstArgument + i].declaration, " TEXT ");
        given_[i].assign(arguments[i], text ? Affinity::kText : Affinity::kNone);
      }
    }
    number_ = 0;
    more_ = row_.start(connection_, arguments) && row_.find(number_);
  }
  void next() {
    ++number_;
    more_ = row_.find(number_);
  }
  bool eof() const noexcept { return !more_; }
  sqlite3_int64 rowid() const noexcept {
    if constexpr (requires { Row::kFirstRowid; }) {
      return static_cast<sqlite3_int64>(number_) + Row::kFirstRowid;
    }
    return static_cast<sqlite3_int64>(number_) + 1;
  }

  // Shows what the row has, or else the argument as it was given.
  void column(sqlite3_context* context, int index) {
    if (!show(context, kColumns[index]) && index >= kFirstArgument) {
      given_[static_cast<size_t>(index - kFirstArgument)].result(context);
    }
  }

 private:
  bool show(sqlite3_context* context, const auto& column) {
    if constexpr (requires { row_.show(context, column); }) {
      return row_.show(context, column);
    } else {
      return column.show(context, row_);
    }
  }

  Connection& connection_;
  Row row_;
  std::array<KeyCopy, std::size(kColumns) - kFirstArgument> given_;
  uint64_t number_ = 0;  // of the row
  bool more_ = false;
};

// Sets what a call costs, and how many rows it has.
inline void estimate(sqlite3_index_info& info, double cost, int64_t rows) noexcept {
  info.estimatedCost = cost;
  info.estimatedRows = rows;
}
// Says that the rows come in ascending order of this column, so that SQLite need not sort them.
inline void note_order(sqlite3_index_info& info, int column) noexcept {
  info.orderByConsumed =
      info.nOrderBy == 1 && info.aOrderBy[0].iColumn == column && info.aOrderBy[0].desc == 0;
}

}  // namespace cuckoo
