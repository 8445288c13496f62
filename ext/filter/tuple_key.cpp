#include "ext/filter/tuple_key.hpp"

#include <cmath>
#include <cstring>

#include "core/base/bytes.hpp"
#include "core/base/key_hash.hpp"
#include "ext/sqlite/error.hpp"

namespace cuckoo {
namespace {

constexpr char kTupleMagic[] = {'C', 'K', 'T'};
constexpr size_t kTupleFrontBytes = sizeof kTupleMagic + 1;
constexpr size_t kColumnFrontBytes = 5;
constexpr size_t kMostTupleBytes = size_t{1}
                                   << 30;  // nearly the most that SQLite lets one value have

}  // namespace

// --- making --------------------------------------------------------------------------------------

KeyView TupleKey::make(const KeyDomain& keys, sqlite3_value** values) {
  const size_t columns = keys.columns();
  begin(columns);
  for (size_t i = 0; i < columns; ++i) {
    const ColumnDomain column = keys.column(i);
    const KeyView key = key_of(values[i], column.affinity, text_);
    if (key.type == SQLITE_NULL) {
      return {};
    }
    add(key, column.collation);
  }
  return view();
}

void TupleKey::begin(size_t columns) {
  const char front[] = {kTupleMagic[0], kTupleMagic[1], kTupleMagic[2], static_cast<char>(columns)};
  buffer_.assign(front, sizeof front);
  columns_ = 0;
  types_ = 0;
}

void TupleKey::add(const KeyView& key, Collation collation, uint8_t types) {
  note_key_type(key, types);
  types_ |= uint64_t{types} << 8 * columns_++;
  if (key.type == SQLITE_INTEGER) {
    put_number(KeyKind::kInteger, static_cast<uint64_t>(key.integer));
  } else if (key.type == SQLITE_FLOAT) {
    const std::optional<int64_t> integer = whole_number(key.real);
    put_number(integer ? KeyKind::kInteger : KeyKind::kReal,
               integer ? static_cast<uint64_t>(*integer) : bits_of(key.real));
  } else {
    const KeyView compared =
        collation == Collation::kBinary ? key : collated(key, collation, collated_);
    put(key.type == SQLITE_TEXT ? KeyKind::kText : KeyKind::kBlob, compared.bytes,
        static_cast<size_t>(compared.size));
  }
}

void TupleKey::put_number(KeyKind kind, uint64_t number) {
  std::byte column[kColumnFrontBytes + sizeof number];
  column[0] = static_cast<std::byte>(kind);
  store_le(&column[1], static_cast<uint32_t>(sizeof number));
  store_le(&column[kColumnFrontBytes], number);
  buffer_.append(reinterpret_cast<const char*>(column), sizeof column);
}

void TupleKey::put(KeyKind kind, const void* content, size_t size) {
  std::byte front[kColumnFrontBytes];
  front[0] = static_cast<std::byte>(kind);
  store_le(&front[1], static_cast<uint32_t>(size));
  buffer_.append(reinterpret_cast<const char*>(front), sizeof front);
  if (buffer_.size() + size > kMostTupleBytes) {
    throw SqlError(SQLITE_TOOBIG, "a key of several columns has more than 1 GB");
  }
  if (size > 0) {  // a zeroblob of no bytes may have no content
    buffer_.append(static_cast<const char*>(content), size);
  }
}

KeyView TupleKey::view() const noexcept {
  KeyView key;
  key.type = SQLITE_BLOB;
  key.bytes = buffer_.data();
  key.size = static_cast<int>(buffer_.size());
  key.column_types = types_;
  return key;
}

// --- reading -------------------------------------------------------------------------------------

// Takes a column off the front of `rest`. Returns false if there is none that a TupleKey would
// make.
static bool take_column(std::span<const std::byte>& rest, KeyView& key) noexcept {
  if (rest.size() < kColumnFrontBytes) {
    return false;
  }
  const auto kind = static_cast<KeyKind>(rest[0]);
  const auto size = load_le<uint32_t>(&rest[1]);
  rest = rest.subspan(kColumnFrontBytes);
  if (size > rest.size()) {
    return false;
  }
  const std::span<const std::byte> content = rest.first(size);
  rest = rest.subspan(size);
  switch (kind) {
    case KeyKind::kInteger:
      key.type = SQLITE_INTEGER;
      key.integer = size == 8 ? static_cast<int64_t>(load_le<uint64_t>(content.data())) : 0;
      return size == 8;
    case KeyKind::kReal:
      key.type = SQLITE_FLOAT;
      key.real = size == 8 ? real_from_bits(load_le<uint64_t>(content.data())) : 0;
      return size == 8 && !std::isnan(key.real) && !whole_number(key.real);
    case KeyKind::kText:
    case KeyKind::kBlob:
      key.type = kind == KeyKind::kText ? SQLITE_TEXT : SQLITE_BLOB;
      key.bytes = reinterpret_cast<const char*>(content.data());
      key.size = static_cast<int>(size);
      return true;
  }
  return false;
}

std::optional<TupleColumns> decode_tuple(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < kTupleFrontBytes ||
      std::memcmp(bytes.data(), kTupleMagic, sizeof kTupleMagic) != 0) {
    return std::nullopt;
  }
  TupleColumns columns;
  columns.count = static_cast<size_t>(bytes[sizeof kTupleMagic]);
  if (columns.count < 2 || columns.count > kMaxKeyColumns) {
    return std::nullopt;
  }
  std::span<const std::byte> rest = bytes.subspan(kTupleFrontBytes);
  for (size_t i = 0; i < columns.count; ++i) {
    if (!take_column(rest, columns.keys[i])) {
      return std::nullopt;
    }
  }
  return rest.empty() ? std::optional(columns) : std::nullopt;
}

}  // namespace cuckoo
