#include "ext/filter/key_domain.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace cuckoo {
namespace {

constexpr const char* kCollationNames[] = {"BINARY", "NOCASE", "RTRIM"};

std::string affinity_name(Affinity affinity) { return shown_types(affinity_word(affinity)); }

size_t size_before_nul(const KeyView& key) noexcept {
  const void* nul =
      key.size == 0 ? nullptr : std::memchr(key.bytes, 0, static_cast<size_t>(key.size));
  return nul == nullptr ? static_cast<size_t>(key.size)
                        : static_cast<size_t>(static_cast<const char*>(nul) - key.bytes);
}

bool is_upper(char c) noexcept { return static_cast<unsigned char>(c - 'A') < 26; }

bool nocase_changes(const KeyView& key) noexcept {
  const size_t size = static_cast<size_t>(key.size);
  bool upper = false;  // without an early exit, the compiler makes vector instructions of the loop
  const size_t before_nul = size_before_nul(key);
  for (size_t i = 0; i < before_nul; ++i) {
    upper |= is_upper(key.bytes[i]);
  }
  return upper ||
         std::any_of(key.bytes + before_nul, key.bytes + size, [](char c) { return c != '\0'; });
}

bool rtrim_changes(const KeyView& key) noexcept {
  return key.size > 0 && key.bytes[key.size - 1] == ' ';
}

bool differs(const ColumnDomain& from, const ColumnDomain& to, Collation collation) noexcept {
  return (from.collation == collation) != (to.collation == collation);
}

}  // namespace

const char* collation_name(Collation collation) noexcept {
  return kCollationNames[static_cast<size_t>(collation)];
}

std::optional<Collation> collation_named(std::string_view name) {
  const std::string text(name);
  for (size_t i = 0; i < std::size(kCollationNames); ++i) {
    if (sqlite3_stricmp(text.c_str(), kCollationNames[i]) == 0) {
      return static_cast<Collation>(i);
    }
  }
  return std::nullopt;
}

KeyView collated(const KeyView& key, Collation collation, std::string& buffer) {
  KeyView result = key;
  if (key.type != SQLITE_TEXT) {
    return result;
  }
  if (collation == Collation::kRtrim) {
    while (rtrim_changes(result)) {
      --result.size;
    }
  } else if (collation == Collation::kNocase) {
    const size_t before_nul = size_before_nul(key);
    buffer.assign(static_cast<size_t>(key.size), '\0');
    std::transform(key.bytes, key.bytes + before_nul, buffer.begin(),
                   [](char c) { return is_upper(c) ? static_cast<char>(c + ('a' - 'A')) : c; });
    result.bytes = buffer.data();
  }
  return result;
}

void note_key_type(const KeyView& key, uint8_t& types) noexcept {
  switch (key.type) {
    case SQLITE_INTEGER:
      types |= kIntegerKeys;
      break;
    case SQLITE_FLOAT:
      types |= kRealKeys;
      break;
    case SQLITE_BLOB:
      types |= kBlobKeys;
      break;
    case SQLITE_TEXT:
      types |= kTextKeys;
      if ((types & kCasedKeys) == 0 && nocase_changes(key)) {
        types |= kCasedKeys;
      }
      if (rtrim_changes(key)) {
        types |= kPaddedKeys;
      }
      break;
    default:
      break;
  }
}

// --- a key's columns -----------------------------------------------------------------------------

ColumnDomain KeyDomain::column(size_t index) const noexcept {
  const auto at = static_cast<unsigned>(index);
  return {static_cast<Affinity>(form.affinity(at)), static_cast<Collation>(form.collation(at)),
          static_cast<uint8_t>(types >> 8 * at)};
}

void KeyDomain::set(size_t index, const ColumnDomain& column) noexcept {
  const auto at = static_cast<unsigned>(index);
  const auto put = [at](auto& bits, unsigned width, uint64_t value) {
    using Bits = std::remove_reference_t<decltype(bits)>;
    const uint64_t mask = ((uint64_t{1} << width) - 1) << width * at;
    bits = static_cast<Bits>((bits & ~mask) | value << width * at);
  };
  put(form.affinities, 4, static_cast<uint64_t>(column.affinity));
  put(form.collations, 2, static_cast<uint64_t>(column.collation));
  put(types, 8, column.types);
}

bool KeyDomain::knows_types() const noexcept {
  constexpr uint64_t kEachColumn = 0x0101010101010101;
  return (types & kUnknownKeys * kEachColumn) == 0;
}

static std::string types_text(uint8_t types) {
  constexpr const char* kNames[] = {"INTEGER", "REAL", "TEXT", "BLOB"};
  std::string text;
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if ((types >> i & 1) != 0) {
      text += text.empty() ? "" : " ";
      text += kNames[i];
    }
  }
  return text;
}

std::string key_types_text(const KeyDomain& keys) {
  std::string text;
  for (size_t i = 0; i < keys.columns() && keys.types != 0; ++i) {
    text += (i == 0 ? "" : ", ") + types_text(keys.column(i).types);
  }
  return text;
}

template <class WordOf>
static std::string listed(const KeyForm& form, WordOf&& word_of) {
  std::string text;
  for (unsigned i = 0; i < form.columns; ++i) {
    text += i == 0 ? "" : ", ";
    text += word_of(i);
  }
  return text;
}

std::string collations_text(const KeyForm& form) {
  return listed(form, [&form](unsigned i) {
    return collation_name(static_cast<Collation>(form.collation(i)));
  });
}

std::string affinities_text(const KeyForm& form) {
  return listed(
      form, [&form](unsigned i) { return affinity_word(static_cast<Affinity>(form.affinity(i))); });
}

std::optional<KeyForm> form_of_collations(std::string_view text) {
  constexpr std::string_view kBetween = ", ";
  KeyDomain keys;
  size_t columns = 0;
  for (bool more = true; more; ++columns) {
    const size_t end = text.find(kBetween);
    const std::optional<Collation> collation = collation_named(text.substr(0, end));
    if (!collation || columns == kMaxKeyColumns) {
      return std::nullopt;
    }
    keys.set(columns, {Affinity::kNone, *collation, 0});
    more = end != std::string_view::npos;
    text.remove_prefix(more ? end + kBetween.size() : 0);
  }
  keys.form.columns = static_cast<uint8_t>(columns);
  return keys.form;
}

// --- which keys go together ----------------------------------------------------------------------

std::string obstacle(const ColumnDomain& from, const ColumnDomain& to) {
  const bool one_affinity = from.affinity == to.affinity;
  if (one_affinity && from.collation == to.collation) {
    return {};
  }
  const bool unknown = (from.types & kUnknownKeys) != 0;
  const auto affinity_changes = [&](uint8_t types, const char* what) {
    return (from.types & types) != 0 ? std::string(" holds ") + what +
                                           " keys, which could become others in a key of type " +
                                           affinity_name(to.affinity) + "; give both keys one type"
                                     : std::string();
  };
  std::string why;
  if (!one_affinity && to.affinity == Affinity::kText) {
    why = affinity_changes(kIntegerKeys | kRealKeys, "INTEGER or REAL");
  } else if (!one_affinity && to.affinity != Affinity::kNone) {
    why = affinity_changes(kTextKeys, "TEXT");
    if (why.empty() && to.affinity == Affinity::kReal) {
      why = affinity_changes(kIntegerKeys, "INTEGER");
    }
  }
  // If a filter was made before types were noted, two different types count as two kinds of keys.
  if (why.empty() && unknown && !one_affinity && from.affinity != Affinity::kNone &&
      to.affinity != Affinity::kNone) {
    why = " has keys of type " + affinity_name(from.affinity) + ", this one of type " +
          affinity_name(to.affinity) + "; give both keys one type";
  }
  const bool cased = unknown || (from.types & kCasedKeys) != 0;
  const bool padded = unknown || (from.types & kPaddedKeys) != 0;
  if (why.empty() && ((cased && differs(from, to, Collation::kNocase)) ||
                      (padded && differs(from, to, Collation::kRtrim)))) {
    why =
        std::string(" compares keys by ") + collation_name(from.collation) + ", this one by " +
        collation_name(to.collation) +
        ", which tell some of them apart differently; give both keys one collation, or build it of"
        " values that both leave alone: lower(x) for NOCASE, rtrim(x) for RTRIM";
  }
  return why;
}

std::string of_column(size_t index, size_t columns) {
  return columns == 1 ? "" : ", in column " + std::to_string(index + 1) + " of the key,";
}

std::string obstacle(const KeyDomain& from, const KeyDomain& to) {
  if (from.types == 0) {
    return {};  // no key was added
  }
  const size_t columns = to.columns();
  const auto shown = [](size_t count) {
    return std::to_string(count) + (count == 1 ? " column" : " columns");
  };
  if (from.columns() != columns) {
    return " has keys of " + shown(from.columns()) + ", this one of " + shown(columns) +
           "; make both of one number of columns, an image of several by"
           " cuckoo_build(cuckoo_key(a, b)) or bloom_build(cuckoo_key(a, b))";
  }
  for (size_t i = 0; i < columns; ++i) {
    if (const std::string why = obstacle(from.column(i), to.column(i)); !why.empty()) {
      return of_column(i, columns) + why;
    }
  }
  return {};
}

}  // namespace cuckoo
