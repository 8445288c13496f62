// The answers of core's operations, <cuckoo/result.hpp>, and two macros that pass a failure on. The
// caller adds the table's name to the message.
#pragma once

#include <utility>

#include <cuckoo/result.hpp>

// core/filter, core/flash and core/ring have a namespace of their own, because <cuckoo/...> has
// classes of the same names as some of theirs.
namespace cuckoo {
namespace core {}
using namespace core;  // NOLINT(google-build-using-namespace): all of cuckoo sees them
}  // namespace cuckoo

// Returns from the enclosing function when `expression` is a failed Status.
#define CUCKOO_TRY(expression)                                    \
  do {                                                            \
    if (::cuckoo::Status status_ = (expression); !status_.ok()) { \
      return status_;                                             \
    }                                                             \
  } while (false)

// CUCKOO_ASSIGN_OR_RETURN(const Page page, read_page(index)) takes the value of a Result, or
// returns its failure from the enclosing function.
#define CUCKOO_ASSIGN_OR_RETURN(variable, expression) \
  CUCKOO_ASSIGN_OR_RETURN_AS(CUCKOO_UNIQUE_NAME(result_, __LINE__), variable, expression)
// NOLINTBEGIN(bugprone-macro-parentheses): a declaration can't be in parentheses
#define CUCKOO_ASSIGN_OR_RETURN_AS(result, variable, expression) \
  auto result = (expression);                                    \
  if (!result.ok()) {                                            \
    return result.take_status();                                 \
  }                                                              \
  variable = std::move(result.value())
// NOLINTEND(bugprone-macro-parentheses)
#define CUCKOO_UNIQUE_NAME(prefix, line) CUCKOO_UNIQUE_NAME_OF(prefix, line)
#define CUCKOO_UNIQUE_NAME_OF(prefix, line) prefix##line
