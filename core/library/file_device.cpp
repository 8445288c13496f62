// The bytes of the file: docs/FORMAT.md, "A flash device in a file".
//
// Invariants
//   I1  a file with a header is as long as its header says, and has its room: create() takes the
//       room and syncs first. A create() that fails leaves no file with a length.
//   I2  a byte of the device is stored as its complement. So the zeros of a new file read as
//       erased.
#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/base/result.hpp"
#include "core/library/flash_geometry.hpp"
#include "core/library/os_file.hpp"

namespace cuckoo {
inline namespace v1 {
namespace {

constexpr std::string_view kMagic = "cuckoo flash\n";
constexpr uint32_t kVersion = 1;
constexpr size_t kHeaderBytes = 64;
constexpr uint64_t kContentAt = 4096;
using Header = std::array<std::byte, kHeaderBytes>;

Header encode(const FlashGeometry& geometry) {
  Header header{};
  std::memcpy(header.data(), kMagic.data(), kMagic.size());
  store_le(&header[16], kVersion);
  store_le(&header[20], geometry.sector_size_bytes);
  store_le(&header[24], geometry.sectors_per_block);
  store_le(&header[28], geometry.program_unit_bytes);
  store_le(&header[32], geometry.blocks);
  store_le(&header[36], geometry.endurance_erases);
  store_le(&header[60], crc32c(std::span(header).first(60)));
  return header;
}

Result<FlashGeometry> decode(const Header& header, const std::string& path) {
  if (std::memcmp(header.data(), kMagic.data(), kMagic.size()) != 0) {
    return corrupt("\"" + path + "\" is no flash device; expected 'cuckoo flash' at its begin");
  }
  if (load_le<uint32_t>(&header[60]) != crc32c(std::span(header).first(60))) {
    return corrupt("the header of \"" + path + "\" has a wrong CRC");
  }
  if (const auto version = load_le<uint32_t>(&header[16]); version != kVersion) {
    return corrupt("\"" + path + "\" has version " + std::to_string(version) + "; expected " +
                   std::to_string(kVersion));
  }
  FlashGeometry geometry;
  geometry.sector_size_bytes = load_le<uint32_t>(&header[20]);
  geometry.sectors_per_block = load_le<uint32_t>(&header[24]);
  geometry.program_unit_bytes = load_le<uint32_t>(&header[28]);
  geometry.blocks = load_le<uint32_t>(&header[32]);
  geometry.endurance_erases = load_le<uint32_t>(&header[36]);
  if (const Status checked = geometry.check(); !checked.ok()) {
    return corrupt("the header of \"" + path + "\": " + checked.error().message);
  }
  return geometry;
}

void complement(std::span<std::byte> bytes) noexcept {
  for (std::byte& byte : bytes) {
    byte = ~byte;
  }
}

// Returns true if create() may make a device of the file, because it is new or create() was
// interrupted. Zeros at its beginning are not enough, because an image of a CD has them, and so has
// a device whose header was lost.
Result<bool> is_unfinished(const OsFile& file) {
  constexpr uint64_t kAtOnce = uint64_t{1} << 20;
  CUCKOO_ASSIGN_OR_RETURN(const uint64_t size, file.size());
  if (size > 0 && size < kContentAt) {
    return false;
  }
  std::vector<std::byte> bytes;
  for (uint64_t at = 0; at < size; at += bytes.size()) {
    bytes.resize(static_cast<size_t>(std::min(kAtOnce, size - at)));
    CUCKOO_TRY(file.read(at, bytes));
    if (!all_zero(bytes)) {
      return false;
    }
  }
  return true;
}

}  // namespace

class FileDevice::Impl {
 public:
  Status open(const std::string& path, OsFile::Open how);
  // Writes the header last.
  Status make(const FlashGeometry& made) {
    CUCKOO_TRY(file.resize(0));  // drops the old bytes, so that all reads as erased
    CUCKOO_TRY(file.reserve(kContentAt + made.size_bytes()));
    CUCKOO_TRY(file.sync());
    CUCKOO_TRY(file.write(0, encode(made)));
    geometry = made;
    return file.sync();
  }
  Status writable() const {
    return only_reads ? Status(Error{ErrorCode::kStorage,
                                     "\"" + file.path() + "\" is open to be read only"})
                      : Status();
  }

  OsFile file;
  FlashGeometry geometry;
  bool only_reads = false;
  std::vector<std::byte> buffer;  // of a program or an erase
};

FileDevice::FileDevice(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
FileDevice::~FileDevice() = default;
FlashGeometry FileDevice::geometry() const noexcept { return impl_->geometry; }

Result<std::unique_ptr<FileDevice>> FileDevice::create(const std::string& path,
                                                       const FlashGeometry& geometry) {
  CUCKOO_TRY(geometry.check());
  auto impl = std::make_unique<Impl>();
  CUCKOO_ASSIGN_OR_RETURN(impl->file, OsFile::open(path, OsFile::Open::kCreate));
  CUCKOO_ASSIGN_OR_RETURN(const bool unfinished, is_unfinished(impl->file));
  if (!unfinished) {
    return invalid("\"" + path + "\" exists; expected no file there");
  }
  if (Status made = impl->make(geometry); !made.ok()) {
    impl->file.discard();
    return made.take_error();
  }
  return std::unique_ptr<FileDevice>(new FileDevice(std::move(impl)));
}

// Opens a file that has a device.
Status FileDevice::Impl::open(const std::string& path, OsFile::Open how) {
  only_reads = how == OsFile::Open::kRead;
  CUCKOO_ASSIGN_OR_RETURN(file, OsFile::open(path, how));
  CUCKOO_ASSIGN_OR_RETURN(const uint64_t size, file.size());
  if (size < kContentAt) {
    return corrupt("\"" + path + "\" is no flash device: it has " + std::to_string(size) +
                   " bytes; expected a header of " + std::to_string(kContentAt));
  }
  Header header{};
  CUCKOO_TRY(file.read(0, header));
  CUCKOO_ASSIGN_OR_RETURN(geometry, decode(header, path));
  const uint64_t expected = kContentAt + geometry.size_bytes();
  if (size < expected) {
    return corrupt("\"" + path + "\" has " + std::to_string(size) + " bytes; expected " +
                   std::to_string(expected));
  }
  return {};
}

Result<std::unique_ptr<FileDevice>> FileDevice::open(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  CUCKOO_TRY(impl->open(path, OsFile::Open::kWrite));
  return std::unique_ptr<FileDevice>(new FileDevice(std::move(impl)));
}

Result<std::unique_ptr<FileDevice>> FileDevice::open_to_read(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  CUCKOO_TRY(impl->open(path, OsFile::Open::kRead));
  return std::unique_ptr<FileDevice>(new FileDevice(std::move(impl)));
}

Status FileDevice::read(uint64_t address, std::span<std::byte> out) {
  CUCKOO_TRY(expect_readable(impl_->geometry, address, out.size()));
  CUCKOO_TRY(impl_->file.read(kContentAt + address, out));
  complement(out);
  return {};
}

Status FileDevice::program(uint64_t address, std::span<const std::byte> units) {
  CUCKOO_TRY(expect_programmable(impl_->geometry, address, units.size()));
  CUCKOO_TRY(impl_->writable());
  impl_->buffer.assign(units.begin(), units.end());
  complement(impl_->buffer);
  return impl_->file.write(kContentAt + address, impl_->buffer);
}

Status FileDevice::erase(uint32_t block) {
  CUCKOO_TRY(expect_block(impl_->geometry, block));
  CUCKOO_TRY(impl_->writable());
  const uint32_t bytes = impl_->geometry.block_bytes();
  impl_->buffer.assign(bytes, std::byte{0});
  return impl_->file.write(kContentAt + uint64_t{block} * bytes, impl_->buffer);
}

Status FileDevice::sync() { return impl_->only_reads ? Status() : impl_->file.sync(); }

}  // namespace v1
}  // namespace cuckoo
