// CRC-32C (Castagnoli, reflected, polynomial 0x1EDC6F41, initial and final value 0xFFFFFFFF; RFC
// 3720 appendix B.4), with the processor's instruction where it has one (asked at run time).
// crc32c("123456789") = 0xE3069283.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cuckoo {

// `crc` continues an earlier call: crc32c(ab) = crc32c(b, crc32c(a)).
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc = 0) noexcept;
// The portable path, for tests and for processors without the instruction.
uint32_t crc32c_portable(std::span<const std::byte> bytes, uint32_t crc = 0) noexcept;

}  // namespace cuckoo
