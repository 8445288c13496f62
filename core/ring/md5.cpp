#include "core/ring/md5.hpp"

#include <algorithm>
#include <memory>

#include "core/base/digest.hpp"

namespace cuckoo::core {

Md5Function system_md5() {
  return [digester = std::make_shared<Digester>()](std::span<const std::byte> bytes,
                                                   std::span<std::byte, kMd5Bytes> digest) {
    const std::span<const std::byte> computed = digester->compute(DigestKind::kMd5, bytes);
    std::copy(computed.begin(), computed.end(), digest.begin());
    return !computed.empty();
  };
}

}  // namespace cuckoo::core
