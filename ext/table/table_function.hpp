// TableFunction<Row>: a table-valued function as a module. What all of them have in common is here:
// the declaration, the arguments and how they are shown again, rowids and the end of the rows.
//
// A Row is the state of one call. It has
//   static constexpr int kArguments   how many arguments there are at most
//   static constexpr int kFirstRowid  the first row's rowid
//   static std::span columns()        of Column. The last kArguments are hidden: the arguments
//   static void plan(info)            sets the cost; idxNum has a bit for each argument that is
//                                     given, and may get further bits
//   Row(Connection&)
//   bool start(arguments)             begins a call; false: it has no rows
//   bool find(number)                 goes to the row of that number, counted from 0, or to the
//                                     next one that there is; false: there is none
//   bool show(context, column)        optional: otherwise the column shows what it has of the Row
// start(), find() and show() throw SqlError.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
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

template <class Row>
class TableFunction {
 public:
  class Cursor;

  explicit TableFunction(const ModuleArguments& arguments) : connection_(arguments.connection) {}

  std::string declaration() const {
    std::string columns;
    for (const auto& column : Row::columns()) {
      columns += (columns.empty() ? "" : ", ") + std::string(column.declaration);
    }
    return "CREATE TABLE x(" + columns + ")";
  }
  bool best_index(sqlite3_index_info* info) {
    if (!take_arguments(info, static_cast<int>(first_argument()))) {
      return false;
    }
    Row::plan(*info);
    return true;
  }

 private:
  static size_t first_argument() noexcept { return Row::columns().size() - Row::kArguments; }

  Connection& connection_;
};

template <class Row>
class TableFunction<Row>::Cursor {
 public:
  explicit Cursor(TableFunction& function) : row_(function.connection_) {}

  void filter(int plan, const char*, int, sqlite3_value** values) {
    const Arguments arguments(plan, values);
    for (size_t i = 0; i < given_.size(); ++i) {
      given_[i] = {};
      if (arguments[i] != nullptr) {
        given_[i].assign(arguments[i], is_text(Row::columns()[first_argument() + i].declaration)
                                           ? Affinity::kText
                                           : Affinity::kNone);
      }
    }
    number_ = 0;
    more_ = row_.start(arguments) && row_.find(number_);
  }
  void next() {
    ++number_;
    more_ = row_.find(number_);
  }
  bool eof() const noexcept { return !more_; }
  sqlite3_int64 rowid() const noexcept {
    return static_cast<sqlite3_int64>(number_) + Row::kFirstRowid;
  }

  // Shows what the row has, or else the argument as it was given.
  void column(sqlite3_context* context, int index) {
    const auto& column = Row::columns()[static_cast<size_t>(index)];
    if (!show(context, column) && static_cast<size_t>(index) >= first_argument()) {
      given_[static_cast<size_t>(index) - first_argument()].result(context);
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
  static bool is_text(std::string_view declaration) noexcept {
    return declaration.find(" TEXT ") != std::string_view::npos;
  }

  Row row_;
  std::array<KeyCopy, Row::kArguments> given_;
  uint64_t number_ = 0;  // of the row
  bool more_ = false;
};

// Says that the rows come in ascending order of this column, so that SQLite need not sort them.
inline void note_order(sqlite3_index_info& info, int column) noexcept {
  info.orderByConsumed =
      info.nOrderBy == 1 && info.aOrderBy[0].iColumn == column && info.aOrderBy[0].desc == 0;
}

}  // namespace cuckoo
