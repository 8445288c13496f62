// An object of static storage that is never destroyed, so that code which runs while a process
// ends can still use it.
//
// A function has it as a static variable: static Lasting<std::mutex> mutex. There it exists before
// its first use on every platform. If T's constructor is constexpr, the compiler makes the object,
// and nothing is checked when the program runs. The std::mutex of MinGW-w64, on Windows, has a
// constructor that is not constexpr, so it can be no `constinit` variable. It also has a
// destructor.
#pragma once

namespace cuckoo {

template <typename T>
class Lasting {
 public:
  constexpr Lasting() : object_() {}
  constexpr ~Lasting() {}  // NOLINT(modernize-use-equals-default): "= default" would be deleted
  Lasting(const Lasting&) = delete;
  Lasting& operator=(const Lasting&) = delete;

  T& operator*() noexcept { return object_; }

 private:
  union {
    T object_;
  };
};

}  // namespace cuckoo
