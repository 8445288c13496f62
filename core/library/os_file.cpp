#include "core/library/os_file.hpp"

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/result.hpp"

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX  // GCC's headers define it
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#if !defined(__EMSCRIPTEN__) && !defined(__wasi__)
#include <sys/file.h>
#endif
#endif

namespace cuckoo {
inline namespace v1 {
namespace {

constexpr size_t kMostBytesAtOnce = size_t{1} << 30;

Error system_error(int code, const char* what, const std::string& path) {
  return {ErrorCode::kStorage,
          std::string("can't ") + what + " \"" + path +
              "\": " + std::error_code(code, std::system_category()).message(),
          code};
}

}  // namespace

OsFile::OsFile(OsFile&& other) noexcept
    : handle_(std::exchange(other.handle_, kNone)),
      is_new_(other.is_new_),
      path_(std::move(other.path_)) {}

OsFile& OsFile::operator=(OsFile&& other) noexcept {
  if (this != &other) {
    close();
    handle_ = std::exchange(other.handle_, kNone);
    is_new_ = other.is_new_;
    path_ = std::move(other.path_);
  }
  return *this;
}

OsFile::~OsFile() { close(); }

Result<OsFile> OsFile::open(const std::string& path, Open how) {
  const size_t nul = path.find('\0');
  if (nul != std::string::npos) {  // the system would open the file that its beginning names
    return Error{ErrorCode::kStorage,
                 "can't open \"" + path.substr(0, nul) + "…\": a NUL character in its path"};
  }
  OsFile file;
  file.path_ = path;
  CUCKOO_TRY(file.open_path(how));
  return file;
}

Status OsFile::fill(uint64_t bytes) {
  constexpr uint64_t kAtOnce = uint64_t{1} << 20;
  CUCKOO_TRY(resize(bytes));  // it has its length from the beginning
  const std::vector<std::byte> zeros(static_cast<size_t>(std::min(kAtOnce, bytes)));
  for (uint64_t at = 0; at < bytes; at += zeros.size()) {
    const uint64_t left = bytes - at;
    CUCKOO_TRY(write(at, std::span(zeros).first(std::min<uint64_t>(left, zeros.size()))));
  }
  return {};
}

void OsFile::discard() noexcept {
  if (is_new_) {
    remove();
  } else {
    (void)resize(0);
  }
  close();
}

#if defined(_WIN32)

namespace {

HANDLE handle_of(intptr_t handle) noexcept { return reinterpret_cast<HANDLE>(handle); }

OVERLAPPED at_place(uint64_t at) noexcept {
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(at);
  place.OffsetHigh = static_cast<DWORD>(at >> 32);
  return place;
}

}  // namespace

Error OsFile::failure(const char* what) const {
  return system_error(static_cast<int>(GetLastError()), what, path_);
}

void OsFile::close() noexcept {
  if (handle_ != kNone) {
    CloseHandle(handle_of(handle_));
    handle_ = kNone;
  }
}

// Others may read a file that is written, and write a file that is read, as on other systems.
Status OsFile::open_path(Open how) {
  std::wstring wide(path_.size() + 1, L'\0');
  if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path_.c_str(), -1, wide.data(),
                          static_cast<int>(wide.size())) == 0) {
    return failure("open");
  }
  const bool reads = how == Open::kRead;
  const HANDLE opened =
      CreateFileW(wide.c_str(), reads ? GENERIC_READ : GENERIC_READ | GENERIC_WRITE,
                  reads ? FILE_SHARE_READ | FILE_SHARE_WRITE : FILE_SHARE_READ, nullptr,
                  how == Open::kCreate ? OPEN_ALWAYS : OPEN_EXISTING, 0, nullptr);
  if (opened == INVALID_HANDLE_VALUE) {
    return failure("open");
  }
  is_new_ = how == Open::kCreate && GetLastError() != ERROR_ALREADY_EXISTS;
  handle_ = reinterpret_cast<intptr_t>(opened);
  return {};
}

void OsFile::remove() noexcept {
  close();  // a file that is open can't be removed
  std::wstring wide(path_.size() + 1, L'\0');
  if (MultiByteToWideChar(CP_UTF8, 0, path_.c_str(), -1, wide.data(),
                          static_cast<int>(wide.size())) != 0) {
    DeleteFileW(wide.c_str());
  }
}

// A file that is not sparse takes room for its length.
Status OsFile::reserve(uint64_t bytes) { return resize(bytes); }

Result<uint64_t> OsFile::size() const {
  LARGE_INTEGER bytes;
  if (GetFileSizeEx(handle_of(handle_), &bytes) == 0) {
    return failure("get the size of");
  }
  return static_cast<uint64_t>(bytes.QuadPart);
}

Status OsFile::resize(uint64_t bytes) {
  FILE_END_OF_FILE_INFO end{};
  end.EndOfFile.QuadPart = static_cast<LONGLONG>(bytes);
  if (SetFileInformationByHandle(handle_of(handle_), FileEndOfFileInfo, &end, sizeof end) == 0) {
    return failure("resize");
  }
  return {};
}

Status OsFile::read(uint64_t at, std::span<std::byte> out) const {
  while (!out.empty()) {
    OVERLAPPED place = at_place(at);
    DWORD done = 0;
    const auto wanted = static_cast<DWORD>(std::min(out.size(), kMostBytesAtOnce));
    if (ReadFile(handle_of(handle_), out.data(), wanted, &done, &place) == 0) {
      return failure("read");
    }
    if (done == 0) {
      return system_error(ERROR_HANDLE_EOF, "read", path_);
    }
    at += done;
    out = out.subspan(done);
  }
  return {};
}

Status OsFile::write(uint64_t at, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    OVERLAPPED place = at_place(at);
    DWORD done = 0;
    const auto wanted = static_cast<DWORD>(std::min(bytes.size(), kMostBytesAtOnce));
    if (WriteFile(handle_of(handle_), bytes.data(), wanted, &done, &place) == 0) {
      return failure("write");
    }
    if (done == 0) {
      return system_error(ERROR_WRITE_FAULT, "write", path_);
    }
    at += done;
    bytes = bytes.subspan(done);
  }
  return {};
}

Status OsFile::sync() {
  return FlushFileBuffers(handle_of(handle_)) != 0 ? Status() : Status(failure("sync"));
}

#else

namespace {

// Repeats a call until no signal interrupts it.
template <class Call>
auto uninterrupted(Call call) {
  while (true) {
    const auto done = call();
    if (done >= 0 || errno != EINTR) {
      return done;
    }
  }
}

// Makes the name of a new file durable. The name is a part of the file's folder.
Status sync_folder(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int opened =
      uninterrupted([&] { return ::open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY); });
  if (opened < 0) {
    return system_error(errno, "open the folder", folder);
  }
  const int synced = uninterrupted([&] { return ::fsync(opened); });
  const int code = errno;
  (void)::close(opened);
  // EINVAL: this file system has nothing to sync in a folder.
  return synced == 0 || code == EINVAL ? Status() : Status(system_error(code, "sync", folder));
}

Status lock(int file, const std::string& path) {
#if defined(__EMSCRIPTEN__) || defined(__wasi__)
  (void)file;
  (void)path;
  return {};
#else
  if (uninterrupted([&] { return ::flock(file, LOCK_EX | LOCK_NB); }) == 0) {
    return {};
  }
  if (errno == EWOULDBLOCK) {
    return Error{ErrorCode::kStorage,
                 "\"" + path + "\" is open already, here or in another process", EWOULDBLOCK};
  }
  return system_error(errno, "lock", path);
#endif
}

int sync_file(int file) {
#if defined(__APPLE__)
  if (::fcntl(file, F_FULLFSYNC) == 0) {  // fsync() may leave the bytes in the disk's own memory
    return 0;
  }
  return ::fsync(file);
#elif defined(__linux__)
  return ::fdatasync(file);
#else
  return ::fsync(file);
#endif
}

}  // namespace

Error OsFile::failure(const char* what) const { return system_error(errno, what, path_); }

void OsFile::close() noexcept {
  if (handle_ != kNone) {
    (void)::close(static_cast<int>(handle_));  // sync() has written what matters
    handle_ = kNone;
  }
}

Status OsFile::open_path(Open how) {
  constexpr mode_t kForAll = 0666;            // less the umask
  const auto open_with = [this](int flags) {  // not waiting for the other end of a pipe
    return uninterrupted(
        [&] { return ::open(path_.c_str(), flags | O_CLOEXEC | O_NONBLOCK, kForAll); });
  };
  if (how == Open::kCreate) {
    handle_ = open_with(O_RDWR | O_CREAT | O_EXCL);
    is_new_ = handle_ >= 0;
  }
  if (!is_new_ && (how != Open::kCreate || errno == EEXIST)) {
    handle_ = open_with(how == Open::kRead    ? O_RDONLY
                        : how == Open::kWrite ? O_RDWR
                                              : O_RDWR | O_CREAT);
  }
  if (handle_ < 0) {
    handle_ = kNone;
    return failure("open");
  }
  struct stat found {};
  if (::fstat(static_cast<int>(handle_), &found) != 0) {
    return failure("look at");
  }
  if (!S_ISREG(found.st_mode)) {
    return Error{ErrorCode::kStorage, "can't open \"" + path_ + "\": it is no regular file"};
  }
  if (how != Open::kRead) {
    CUCKOO_TRY(lock(static_cast<int>(handle_), path_));
  }
  Status named = how == Open::kCreate ? sync_folder(path_) : Status();
  if (!named.ok() && is_new_) {
    discard();
  }
  return named;
}

void OsFile::remove() noexcept { (void)::unlink(path_.c_str()); }

Status OsFile::reserve(uint64_t bytes) {
#if defined(__linux__)
  const int done = uninterrupted(
      [&] { return ::fallocate(static_cast<int>(handle_), 0, 0, static_cast<off_t>(bytes)); });
  if (done == 0) {
    return {};
  }
  if (errno != EOPNOTSUPP && errno != EINVAL && errno != ENOSYS) {
    return failure("take the room for");
  }
#endif
  return fill(bytes);
}

Result<uint64_t> OsFile::size() const {
  struct stat found {};
  if (::fstat(static_cast<int>(handle_), &found) != 0) {
    return failure("get the size of");
  }
  return static_cast<uint64_t>(found.st_size);
}

Status OsFile::resize(uint64_t bytes) {
  const int done = uninterrupted(
      [&] { return ::ftruncate(static_cast<int>(handle_), static_cast<off_t>(bytes)); });
  return done == 0 ? Status() : Status(failure("resize"));
}

Status OsFile::read(uint64_t at, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t done = uninterrupted([&] {
      return ::pread(static_cast<int>(handle_), out.data(), std::min(out.size(), kMostBytesAtOnce),
                     static_cast<off_t>(at));
    });
    if (done < 0) {
      return failure("read");
    }
    if (done == 0) {
      return Error{ErrorCode::kStorage,
                   "\"" + path_ + "\" ends at byte " + std::to_string(at) + "; expected more"};
    }
    at += static_cast<uint64_t>(done);
    out = out.subspan(static_cast<size_t>(done));
  }
  return {};
}

Status OsFile::write(uint64_t at, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = uninterrupted([&] {
      return ::pwrite(static_cast<int>(handle_), bytes.data(),
                      std::min(bytes.size(), kMostBytesAtOnce), static_cast<off_t>(at));
    });
    if (done < 0) {
      return failure("write");
    }
    if (done == 0) {
      return system_error(ENOSPC, "write", path_);
    }
    at += static_cast<uint64_t>(done);
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
  return {};
}

Status OsFile::sync() {
  const int done = uninterrupted([&] { return sync_file(static_cast<int>(handle_)); });
  return done == 0 ? Status() : Status(failure("sync"));
}

#endif

}  // namespace v1
}  // namespace cuckoo
