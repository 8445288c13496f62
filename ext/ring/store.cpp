#include "ext/ring/store.hpp"

#include <algorithm>
#include <iterator>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/base/key_hash.hpp"
#include "core/base/page_row.hpp"
#include "ext/table/stored_options.hpp"

namespace cuckoo {

constinit const std::array<ShadowTable, 3> kRingTables = {kConfigTable, kItemsTable, kPagesTable};
namespace {

constexpr uint32_t kRingRecordMagic = 0x474E4952;  // "RING"
constexpr size_t kNodeCrcBytes = 4;
constexpr size_t kNodeBytes = 16;  // id, weight, CRC

constexpr OptionSpec kRingSpecs[] = {
    {"vnodes", OptionKind::kWhole, 1, kMaxVnodes, "a whole number from 1 to 100000", {}},
    {"algorithm", OptionKind::kWord, 0, 0, "ring, ketama or slots", "ring ketama slots"},
    {"seed", OptionKind::kSeed, 0, 0, "a 64-bit integer or random", "random"},
    {"dialect", OptionKind::kWord, 0, 0, "libketama, libmemcached, spy or consistent",
     "libketama libmemcached spy consistent"},
    {"key_hash", OptionKind::kWord, 0, 0,
     "md5, fnv1a_64, fnv1_64, fnv1a_32, fnv1_32, crc32a or one_at_a_time",
     "md5 fnv1a_64 fnv1_64 fnv1a_32 fnv1_32 crc32a one_at_a_time"},
};

constexpr const char* kAlgorithms[] = {"ring", "ketama", "slots"};
constexpr const char* kDialects[] = {"libketama", "libmemcached", "spy", "consistent"};
static_assert(std::size(kDialects) == kKetamaDialects);
constexpr const char* kKeyHashes[] = {"md5",     "fnv1a_64", "fnv1_64",      "fnv1a_32",
                                      "fnv1_32", "crc32a",   "one_at_a_time"};
static_assert(std::size(kKeyHashes) == kKetamaKeyHashes);

template <class Choice>
std::optional<Choice> choice_of(const std::string& word, std::span<const char* const> words) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (word == words[i]) {
      return static_cast<Choice>(i);
    }
  }
  return std::nullopt;
}

constexpr char kConvert[] = "SELECT ?1";
constexpr char kWriteNode[] =
    "INSERT INTO \"%w\".\"%w_items\" VALUES (?1, ?2)"
    " ON CONFLICT (key) DO UPDATE SET value = excluded.value";
constexpr char kEraseNode[] = R"(DELETE FROM "%w"."%w_items" WHERE key = ?1)";
constexpr char kWritePage[] =
    "INSERT INTO \"%w\".\"%w_pages\" VALUES (?1, ?2)"
    " ON CONFLICT (id) DO UPDATE SET page = excluded.page";

// Encodes id, weight, and a CRC of both and the name.
std::array<std::byte, kNodeBytes> encode_node(const RingNode& node) noexcept {
  std::array<std::byte, kNodeBytes> bytes{};
  store_le(bytes.data(), node.id);
  store_le(bytes.data() + 4, bits_of(node.weight));
  const uint32_t crc =
      crc32c(bytes_of(node.name), crc32c(std::span(bytes).first(kNodeBytes - kNodeCrcBytes)));
  store_le(bytes.data() + kNodeBytes - kNodeCrcBytes, crc);
  return bytes;
}

}  // namespace

std::span<const OptionSpec> ring_option_specs() noexcept { return kRingSpecs; }

RingOptions chosen_ring_options(const std::string& table, const Options& options) {
  RingOptions chosen;
  const std::string algorithm = options.text("algorithm").value_or("ring");
  chosen.algorithm = choice_of<RingAlgorithm>(algorithm, kAlgorithms).value();
  const auto refuse = [&](const char* option, const char* where) {
    if (options.has(option)) {
      throw SqlError(SQLITE_ERROR, table + ": option " + option + " goes with algorithm = " +
                                       where + ", not with " + algorithm);
    }
  };
  if (chosen.algorithm != RingAlgorithm::kRing) {
    refuse("vnodes", "ring");
  }
  if (chosen.algorithm == RingAlgorithm::kKetama) {
    refuse("seed", "ring or slots");
  } else {
    refuse("dialect", "ketama");
    refuse("key_hash", "ketama");
    chosen.seed = static_cast<uint64_t>(options.seed("seed").value_or(0));
    if (options.text("seed") == "random") {
      sqlite3_randomness(sizeof chosen.seed, &chosen.seed);
    }
  }
  chosen.vnodes = static_cast<uint32_t>(options.whole("vnodes").value_or(chosen.vnodes));
  chosen.dialect =
      choice_of<KetamaDialect>(options.text("dialect").value_or("libketama"), kDialects).value();
  chosen.key_hash =
      choice_of<KetamaKeyHash>(options.text("key_hash").value_or("md5"), kKeyHashes).value();
  if (!chosen.has_client()) {
    throw SqlError(SQLITE_ERROR,
                   table + ": no client of memcached has key_hash = " +
                       kKeyHashes[static_cast<size_t>(chosen.key_hash)] +
                       " with dialect = " + kDialects[static_cast<size_t>(chosen.dialect)] +
                       "; expected dialect = libmemcached" +
                       (chosen.key_hash == KetamaKeyHash::kCrc32a ? "" : ", spy or consistent"));
  }
  return chosen;
}

std::string describe(const RingOptions& options) {
  std::string text = "hash_ring(algorithm = ";
  text += kAlgorithms[static_cast<size_t>(options.algorithm)];
  if (options.algorithm == RingAlgorithm::kRing) {
    text += ", vnodes = " + std::to_string(options.vnodes);
  }
  if (options.algorithm != RingAlgorithm::kKetama) {
    return text + ", seed = " + std::to_string(static_cast<int64_t>(options.seed)) + ")";
  }
  text += std::string(", dialect = ") + kDialects[static_cast<size_t>(options.dialect)];
  return text + ", key_hash = " + kKeyHashes[static_cast<size_t>(options.key_hash)] + ")";
}

uint64_t digest_of(const RingOptions& options) noexcept {
  std::byte bytes[24] = {};
  bytes[0] = static_cast<std::byte>(options.algorithm);
  bytes[1] = static_cast<std::byte>(options.dialect);
  bytes[2] = static_cast<std::byte>(options.format - 1);
  bytes[3] = static_cast<std::byte>(options.key_hash);
  store_le(bytes + 8, options.seed);
  store_le(bytes + 16, uint64_t{options.vnodes});
  return XXH3_64bits(bytes, sizeof bytes);
}

// --- record --------------------------------------------------------------------------------------

RingRecord::Bytes RingRecord::encode() const noexcept {
  Bytes bytes{};
  store_le(bytes.data(), kRingRecordMagic);
  store_le(bytes.data() + 4, nodes);
  store_le(bytes.data() + 8, changes);
  store_le(bytes.data() + 16, node_digest);
  store_le(bytes.data() + 24, slot_digest);
  store_le(bytes.data() + 32, options_digest);
  store_le(bytes.data() + 44, crc32c(std::span(bytes).first(kBytes - kNodeCrcBytes)));
  return bytes;
}

std::optional<RingRecord> RingRecord::decode(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() != kBytes || load_le<uint32_t>(bytes.data()) != kRingRecordMagic ||
      load_le<uint32_t>(bytes.data() + 44) != crc32c(bytes.first(kBytes - kNodeCrcBytes))) {
    return std::nullopt;
  }
  RingRecord record;
  record.nodes = load_le<uint32_t>(bytes.data() + 4);
  record.changes = load_le<uint64_t>(bytes.data() + 8);
  record.node_digest = load_le<uint64_t>(bytes.data() + 16);
  record.slot_digest = load_le<uint64_t>(bytes.data() + 24);
  record.options_digest = load_le<uint64_t>(bytes.data() + 32);
  const Bytes own = record.encode();  // bytes without a meaning are 0
  return std::equal(own.begin(), own.end(), bytes.begin()) ? std::optional(record) : std::nullopt;
}

// --- tables --------------------------------------------------------------------------------------

void RingStore::finalize() noexcept {
  for (Statement* statement : {&convert_, &write_node_, &erase_node_, &write_page_}) {
    *statement = Statement();
  }
  ShadowStore::finalize();
}

void RingStore::create(const RingOptions& options) {
  create_tables();
  write_options(options);
  RingRecord record;
  record.options_digest = digest_of(options);
  write_record(record);
}

void RingStore::write_options(const RingOptions& options) {
  const bool is_ketama = options.algorithm == RingAlgorithm::kKetama;
  const auto write = [this](bool has, const char* key, const auto& value) {
    if (has) {
      write_option(key, value);
    } else {
      erase_option(key);
    }
  };
  write(true, "format", int64_t{options.format});
  write(true, "algorithm", std::string(kAlgorithms[static_cast<size_t>(options.algorithm)]));
  write(options.algorithm == RingAlgorithm::kRing, "vnodes", int64_t{options.vnodes});
  write(is_ketama, "dialect", std::string(kDialects[static_cast<size_t>(options.dialect)]));
  write(is_ketama && options.key_hash != KetamaKeyHash::kMd5, "key_hash",
        std::string(kKeyHashes[static_cast<size_t>(options.key_hash)]));
  write(!is_ketama, "seed", static_cast<int64_t>(options.seed));
}

// --- reading -------------------------------------------------------------------------------------

void RingStore::corrupt(const std::string& what) const {
  throw SqlError(SQLITE_CORRUPT_VTAB, table() + ": corrupt: " + what);
}

RingOptions RingStore::stored_options() {
  const StoredOptions stored(*this);
  RingOptions options;
  options.format = static_cast<uint8_t>(stored.format(1, kRingFormat));
  const auto algorithm = choice_of<RingAlgorithm>(stored.text("algorithm"), kAlgorithms);
  stored.expect(algorithm.has_value(), "algorithm");
  options.algorithm = *algorithm;
  if (options.algorithm == RingAlgorithm::kRing) {
    options.vnodes = static_cast<uint32_t>(stored.whole("vnodes", 1, int64_t{kMaxVnodes}));
  }
  if (options.algorithm == RingAlgorithm::kKetama) {
    const auto dialect = choice_of<KetamaDialect>(stored.text("dialect"), kDialects);
    stored.expect(dialect.has_value(), "dialect");
    options.dialect = *dialect;
    if (stored.has("key_hash")) {  // without the row it is md5
      const auto key_hash = choice_of<KetamaKeyHash>(stored.text("key_hash"), kKeyHashes);
      stored.expect(key_hash.has_value() && *key_hash != KetamaKeyHash::kMd5, "key_hash");
      options.key_hash = *key_hash;
      stored.expect(options.has_client(), "key_hash");
    }
  } else {
    options.seed = static_cast<uint64_t>(stored.whole("seed", INT64_MIN, INT64_MAX));
  }
  stored.expect_no_more();
  return options;
}

std::vector<RingNode> RingStore::stored_nodes() {
  std::vector<RingNode> nodes;
  Statement select(db(), sql_text(R"(SELECT key, value FROM "%w"."%w_items")", schema().c_str(),
                                  table().c_str()));
  while (select.step()) {
    RingNode node;
    node.name = select.text(0);
    const std::span<const std::byte> stored = select.bytes(1);
    if (select.type(0) != SQLITE_TEXT || select.type(1) != SQLITE_BLOB ||
        stored.size() != kNodeBytes) {
      corrupt("\"" + table() + "_items\" has a row that is no node");
    }
    node.id = load_le<uint32_t>(stored.data());
    node.weight = real_from_bits(load_le<uint64_t>(stored.data() + 4));
    const std::array<std::byte, kNodeBytes> expected = encode_node(node);
    if (!std::equal(stored.begin(), stored.end(), expected.begin())) {
      corrupt("checksum of node " + printable(node.name));
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::vector<std::vector<std::byte>> RingStore::stored_slots(uint64_t seed) {
  std::vector<std::vector<std::byte>> rows;
  Statement select(db(), sql_text(R"(SELECT id, page FROM "%w"."%w_pages" ORDER BY id)",
                                  schema().c_str(), table().c_str()));
  while (select.step()) {
    if (select.integer(0) != static_cast<int64_t>(rows.size()) ||
        rows.size() == SlotOwners::kRows || select.type(1) != SQLITE_BLOB) {
      corrupt("\"" + table() + "_pages\" has rows that are not its slots");
    }
    const Result<std::span<const std::byte>> content =
        decode_page_row(select.bytes(1), select.integer(0), seed);
    if (!content.ok()) {
      corrupt(content.error().message);
    }
    rows.emplace_back(content.value().begin(), content.value().end());
  }
  return rows;
}

std::shared_ptr<HashRing> RingStore::load(const RingRecord& record) {
  const RingOptions options = stored_options();
  if (digest_of(options) != record.options_digest) {
    corrupt("options that do not belong to the record");
  }
  Result<std::shared_ptr<HashRing>> made = HashRing::make(options);
  throw_if(table(), made.take_status());
  std::shared_ptr<HashRing> ring = std::move(made.value());
  const std::vector<std::vector<std::byte>> slots = stored_slots(options.seed);
  throw_if(table(), ring->load(stored_nodes(), slots));
  for (uint32_t row = 0; row < slots.size(); ++row) {
    if (ring->slots().encode_row(row) != slots[row]) {
      corrupt("row " + std::to_string(row) + " of \"" + table() +
              "_pages\" has other slots than"
              " its own");
    }
  }
  if (ring->node_count() != record.nodes || ring->node_digest() != record.node_digest ||
      ring->slots().digest() != record.slot_digest) {
    corrupt("nodes or slots that do not belong to the record");
  }
  return ring;
}

// --- writing -------------------------------------------------------------------------------------

void RingStore::expect_storable(const std::string& name) {
  constexpr unsigned char kNotAscii = 0x80;
  if (std::none_of(name.begin(), name.end(), [](unsigned char c) { return c >= kNotAscii; })) {
    return;
  }
  Statement& convert = ready(convert_, kConvert);
  const Statement::Reset resetting{convert};
  if (!convert.bind(1, name).step() || convert.text(0) != name) {
    throw SqlError(SQLITE_ERROR, table() +
                                     ": a node's name is text that the database's encoding"
                                     " can hold, which is not so of " +
                                     printable(name));
  }
}

void RingStore::write_node(const RingNode& node) {
  const std::array<std::byte, kNodeBytes> bytes = encode_node(node);
  ready(write_node_, kWriteNode)
      .bind(1, node.name)
      .bind(2, std::span<const std::byte>(bytes))
      .run();
}

void RingStore::erase_node(const std::string& name) {
  ready(erase_node_, kEraseNode).bind(1, name).run();
}

void RingStore::erase_all() {
  for (const char* sql : {R"(DELETE FROM "%w"."%w_items")", R"(DELETE FROM "%w"."%w_pages")"}) {
    Statement(db(), sql_text(sql, schema().c_str(), table().c_str())).run();
  }
}

void RingStore::write_slots(HashRing& ring) {
  const SlotOwners::ChangedRows changed = ring.take_changed_slot_rows();
  if (ring.slots().empty()) {
    if (changed.any()) {
      Statement(db(), sql_text(R"(DELETE FROM "%w"."%w_pages")", schema().c_str(), table().c_str()))
          .run();
    }
    return;
  }
  for (uint32_t row = 0; row < SlotOwners::kRows; ++row) {
    if (changed[row]) {
      const std::vector<std::byte> stored =
          encode_page_row(ring.slots().encode_row(row), row, ring.options().seed);
      ready(write_page_, kWritePage)
          .bind(1, int64_t{row})
          .bind(2, std::span<const std::byte>(stored))
          .run();
    }
  }
}

void RingStore::write_record(const RingRecord& record) {
  throw_if(table(), ShadowStore::write_record(record.encode()));
}

}  // namespace cuckoo
