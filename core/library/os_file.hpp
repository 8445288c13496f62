// A file of the operating system, read and written at any place. At most one OsFile writes a file,
// and any number may read it meanwhile. An operation succeeds as a whole or returns an error,
// because every result of a system call is checked.
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

  enum class Open : uint8_t {
    kRead,    // writes nothing, and needs no permission to write
    kWrite,   // fails if another process, or this one, has the file open to write
    kCreate,  // as kWrite; makes an empty file if there is none, whose name survives a power cut
  };
  // `path`: UTF-8.
  static Result<OsFile> open(const std::string& path, Open how);

  Result<uint64_t> size() const;
  Status resize(uint64_t bytes);
  // Resizes an empty file, and takes the room for its bytes, which are zeros. To write to them
  // later takes no more room, but on file systems that write to another place (btrfs, ZFS, APFS).
  Status reserve(uint64_t bytes);
  // Does the same by writing the zeros, for a file system that can't take room otherwise.
  Status fill(uint64_t bytes);
  // Fails at the end of the file, too.
  Status read(uint64_t at, std::span<std::byte> out) const;
  Status write(uint64_t at, std::span<const std::byte> bytes);
  // Makes the file's bytes and its length durable.
  Status sync();
  const std::string& path() const noexcept { return path_; }
  // Closes the file. If open() made it, removes it, otherwise makes it empty.
  void discard() noexcept;

 private:
  Status open_path(Open how);
  void remove() noexcept;
  Error failure(const char* what) const;
  void close() noexcept;

  static constexpr intptr_t kNone = -1;
  intptr_t handle_ = kNone;
  bool is_new_ = false;  // open() made it
  std::string path_;
};

}  // namespace v1
}  // namespace cuckoo
