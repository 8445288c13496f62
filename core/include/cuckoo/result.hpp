// The results of operations: a Status is ok or an Error, a Result<T> is a value or an Error.
//
// The functions of this folder's headers throw only std::bad_alloc. An Error's message names what
// was wrong, and what would have been right. You may call error() of a success: it is an empty
// Error. You may call value() of a failure: it is T(). On a variable both return a reference, on a
// temporary a value, so that `for (auto& move : a.moves_to(b).value())` is right. All functions
// take O(1).
#pragma once

#if !defined(_MSVC_LANG) && __cplusplus < 202002L
#error "sqlite-cuckoo's headers need C++20: -std=c++20"
#endif

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
  kBadMessage,    // what another filter sent is damaged; nothing was changed
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
  const Error& error() const& noexcept {
    static const Error none;
    return error_ != nullptr ? *error_ : none;
  }
  Error error() && { return take_error(); }
  Error take_error() { return error_ != nullptr ? std::move(*error_) : Error(); }

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
  const Error& error() const& noexcept { return status_.error(); }
  Error error() && { return status_.take_error(); }
  Status take_status() { return std::move(status_); }
  T& value() & noexcept { return value_; }
  const T& value() const& noexcept { return value_; }
  T value() && { return std::move(value_); }

 private:
  T value_{};
  Status status_;
};

inline Error corrupt(std::string message) { return {ErrorCode::kCorrupt, std::move(message)}; }
inline Error bad_message(std::string message) {
  return {ErrorCode::kBadMessage, std::move(message)};
}
inline Error invalid(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }

}  // namespace cuckoo
