#include "ext/flash/functions.hpp"

#include "core/base/bytes.hpp"
#include "ext/flash/map.hpp"
#include "ext/flash/value.hpp"
#include "ext/sqlite/function.hpp"
#include "ext/sqlite/utf16_text.hpp"
#include "ext/table/connection.hpp"
#include "ext/table/registration.hpp"

namespace cuckoo {
namespace {

// Hashes the bytes of a BLOB, and the text of any other value.
template <DigestKind kKind>
void digest(sqlite3_context* context, int, sqlite3_value** values) {
  guarded(context, [&] {
    std::span<const std::byte> bytes;
    std::string buffer;
    switch (sqlite3_value_type(values[0])) {
      case SQLITE_NULL:
        return;
      case SQLITE_BLOB:
        bytes = blob_of(values[0]);
        break;
      default:
        bytes = bytes_of(text_bytes(values[0], buffer));
    }
    const std::string hex =
        hex_of(content_digest(connection_of(context).kept<Digester>(), kKind, bytes));
    result_text(context, hex);
  });
}

void flash_kv_map(sqlite3_context* context, int, sqlite3_value** values) {
  guarded(context, [&] {
    if (const auto name = name_argument(values[0], "flash_kv_map", LiveFlash::kKinds)) {
      const auto table = connection_of(context).find<LiveFlash>(*name);
      result_text(context, draw_flash_map(*table));
    }
  });
}

}  // namespace

void register_flash_functions(Registration& registration) {
  constexpr int kDigestFlags = SQLITE_INNOCUOUS | SQLITE_DETERMINISTIC;
  constexpr auto* sha1 = digest<DigestKind::kSha1>;
  registration.function("cuckoo_sha1", 1, kDigestFlags, sha1);
  registration.function("cuckoo_sha256", 1, kDigestFlags, digest<DigestKind::kSha256>);
  // An application's own sha1() stays, even where SQLite can't tell that there is one.
  if (registration.has("sha1", 1) || !can_call(registration.db(), "sha1(NULL)").value_or(true)) {
    registration.function("sha1", 1, kDigestFlags, sha1);
  }
  registration.function("flash_kv_map", 1, SQLITE_INNOCUOUS, flash_kv_map);
}

}  // namespace cuckoo
