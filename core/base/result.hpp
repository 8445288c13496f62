// What a core operation answers: nothing or an Error (Status), a value or an Error (Result<T>).
//
// core throws nothing but std::bad_alloc. An Error's message says what was wrong and what was
// expected; the caller adds the table's name.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace cuckoo {

enum class ErrorCode {
  kInvalid,       // an argument out of range; nothing was changed
  kFull,          // no room; nothing was changed
  kCorrupt,       // stored bytes that break an invariant
  kInterrupted,   // the caller's poll() asked to stop
  kStorage,       // the storage underneath failed; storage_code is its own code
  kFlashFailure,  // a flash block failed: worn out or bad from the start
};

struct Error {
  ErrorCode code = ErrorCode::kInvalid;
  std::string message;
  int storage_code = 0;
};

class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(Error error) : error_(std::make_unique<Error>(std::move(error))) {}

  bool ok() const noexcept { return error_ == nullptr; }
  const Error& error() const noexcept { return *error_; }
  Error take_error() { return std::move(*error_); }

 private:
  std::unique_ptr<Error> error_;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : status_(std::move(error)) {}
  Result(Status failure) : status_(std::move(failure)) {}

  bool ok() const noexcept { return status_.ok(); }
  const Error& error() const noexcept { return status_.error(); }
  Status take_status() { return std::move(status_); }
  T& value() noexcept { return value_; }
  const T& value() const noexcept { return value_; }

 private:
  T value_{};
  Status status_;
};

inline Error corrupt(std::string message) { return {ErrorCode::kCorrupt, std::move(message)}; }
inline Error invalid(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }

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
// NOLINTBEGIN(bugprone-macro-parentheses): what is declared stands in none
#define CUCKOO_ASSIGN_OR_RETURN_AS(result, variable, expression) \
  auto result = (expression);                                    \
  if (!result.ok()) {                                            \
    return result.take_status();                                 \
  }                                                              \
  variable = std::move(result.value())
// NOLINTEND(bugprone-macro-parentheses)
#define CUCKOO_UNIQUE_NAME(prefix, line) CUCKOO_UNIQUE_NAME_OF(prefix, line)
#define CUCKOO_UNIQUE_NAME_OF(prefix, line) prefix##line
