// A file of the operating system, which no other process has open as an OsFile. It is read and
// written at any place. An operation succeeds as a whole or returns an error, because every result
// of a system call is checked.
//
// Errors: kStorage, with the system's code and its text. A part of a write that failed may have
// been written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <cuckoo/result.hpp>

namespace cuckoo {
inline namespace v1 {

class OsFile {
 public:
  OsFile() noexcept = default;
  OsFile(OsFile&& other) noexcept;
  OsFile& operator=(OsFile&& other) noexcept;
  ~OsFile();

  // Opens a file. With `create`, makes an empty file if there is none; its name survives a power
  // cut. `path`: UTF-8. Fails if another process, or this one, has it open as an OsFile.
  static Result<OsFile> open(const std::string& path, bool create);

  Result<uint64_t> size() const;
  Status resize(uint64_t bytes);
  // Fails at the end of the file, too.
  Status read(uint64_t at, std::span<std::byte> out) const;
  Status write(uint64_t at, std::span<const std::byte> bytes);
  // Makes the file's bytes and its length durable.
  Status sync();
  const std::string& path() const noexcept { return path_; }

 private:
  Status open_path(bool create);
  Error failure(const char* what) const;
  void close() noexcept;

  static constexpr intptr_t kNone = -1;
  intptr_t handle_ = kNone;
  std::string path_;
};

}  // namespace v1
}  // namespace cuckoo
