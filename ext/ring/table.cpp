#include "ext/ring/table.hpp"

#include "core/base/key_hash.hpp"

#include "ext/sqlite/function.hpp"
#include "ext/sqlite/utf16_text.hpp"

namespace cuckoo {
namespace {

using enum HashRingTable::Column;

constexpr const char* kColumnNames[] = {"node", "weight", "share", "key", "replicas", "replica"};

constexpr double kOwnerCost = 100;
constexpr double kNodeCost = 30;
constexpr double kNodesCost = 1000;
constexpr double kRefusedRingCost = 1e99;

bool is_equality(int op) noexcept {
  return op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_IS;
}

// Returns whether a constraint compares the column's value. LIMIT, OFFSET and tests for NULL don't.
bool is_ring_comparison(int op) noexcept {
  switch (op) {
    case SQLITE_INDEX_CONSTRAINT_ISNULL:
    case SQLITE_INDEX_CONSTRAINT_ISNOTNULL:
    case SQLITE_INDEX_CONSTRAINT_LIMIT:
    case SQLITE_INDEX_CONSTRAINT_OFFSET:
      return false;
    default:
      return true;
  }
}

// Returns the type of the keys. INTEGER and NUMERIC convert a key in the same way.
RingKeyType key_type_of(Affinity affinity) noexcept {
  switch (affinity) {
    case Affinity::kText:
      return RingKeyType::kText;
    case Affinity::kNumeric:
    case Affinity::kInteger:
      return RingKeyType::kNumeric;
    case Affinity::kReal:
      return RingKeyType::kReal;
    case Affinity::kNone:
      break;
  }
  return RingKeyType::kNone;
}

// Returns the declaration of a table that has keys of that type.
const char* key_declaration(RingKeyType type) noexcept {
  switch (type) {
    case RingKeyType::kText:
      return "hash_ring(key TEXT)";
    case RingKeyType::kNumeric:
      return "hash_ring(key INTEGER)";
    case RingKeyType::kReal:
      return "hash_ring(key REAL)";
    case RingKeyType::kNone:
      break;
  }
  return "hash_ring with a key without a type";
}

}  // namespace

// --- creating and connecting -------------------------------------------------------------------

HashRingTable::HashRingTable(const ModuleArguments& arguments)
    : StoredTable(arguments),
      db_(arguments.db),
      options_(arguments, arguments.connection.modules()),
      declared_name_(arguments.table()) {
  const std::vector<ColumnSpec>& columns = options_.columns();
  if (arguments.creating && !columns.empty() &&
      (columns.size() > 1 || !equal_names(columns[0].name, "key"))) {
    throw SqlError(SQLITE_ERROR, declared_name_ + ": column " + printable(columns.back().name) +
                                     ": a hash_ring's columns are fixed; only the key's type may be"
                                     " given, as in hash_ring(key TEXT)");
  }
  if (arguments.creating) {
    refuse_name(declared_name_);
  }
  if (!columns.empty()) {
    key_type_ = columns[0].type;
    key_affinity_ = affinity_of(key_type_);
  }
  live_->set_key_type(key_type_of(key_affinity_));
}

// The hidden command column has the table's name. A hidden column without a type would get NUMERIC
// affinity from the word HIDDEN, and key IN (1, '1') would be one value.
std::string HashRingTable::declaration() const {
  return sql_text(
      "CREATE TABLE x(node TEXT, weight NUMERIC, share REAL HIDDEN, key %s HIDDEN,"
      " replicas INTEGER HIDDEN, replica INTEGER HIDDEN, \"%w\" HIDDEN)",
      key_type_.empty() ? "BLOB" : key_type_.c_str(), declared_name_.c_str());
}

void HashRingTable::create() { live_->create(chosen_ring_options(declared_name_, options_)); }

void HashRingTable::refuse_name(const std::string& table) {
  refuse_own_column("a hash_ring", table, kColumnNames);
}

void HashRingTable::rename(const std::string& name) {
  refuse_name(name);
  live_->rename(name);
}

// --- planning ----------------------------------------------------------------------------------

namespace {

// The constraints on columns that have a meaning only with a key, and on the node.
struct Constraints {
  int node = -1;  // the number of an equality that can be used
  int key = -1;
  int replicas = -1;
  bool other_collation = false;
  bool odd_key = false;  // compared, but not by an equality that can be used
  bool odd_replicas = false;
  bool replica = false;
};

Constraints read_constraints(sqlite3_index_info* info) {
  Constraints found;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    const bool equality = is_equality(constraint.op);
    const bool usable = constraint.usable != 0;
    switch (is_ring_comparison(constraint.op) ? constraint.iColumn : -1) {
      case kNode:
        if (equality && usable && sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") == 0) {
          found.node = i;
        }
        break;
      case kKey:
        if (equality && usable) {
          const bool binary = sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") == 0;
          found.other_collation |= !binary;
          found.key = binary ? i : found.key;
        } else {
          found.odd_key = true;
        }
        break;
      case kReplicas:
        if (equality && usable) {
          found.replicas = i;
        } else {
          found.odd_replicas = true;
        }
        break;
      case kReplica:
        found.replica = true;
        break;
      default:
        break;
    }
  }
  return found;
}

// `columns_used` has columns without a constraint, too. An UPDATE uses all columns, also the
// command column, which a query has no reason to read.
HashRingTable::Plan plan_of(const Constraints& found, uint64_t columns_used) {
  constexpr uint64_t kKeyColumns =
      uint64_t{1} << kKey | uint64_t{1} << kReplicas | uint64_t{1} << kReplica;
  if (found.other_collation) {
    return HashRingTable::kRefuseCollationPlan;
  }
  if (found.key < 0) {
    const bool updates = (columns_used & uint64_t{1} << kCommand) != 0;
    const bool needs_key = found.odd_key || found.replicas >= 0 || found.odd_replicas ||
                           found.replica || (!updates && (columns_used & kKeyColumns) != 0);
    return needs_key         ? HashRingTable::kRefuseNoKeyPlan
           : found.node >= 0 ? HashRingTable::kNodePlan
                             : HashRingTable::kNodesPlan;
  }
  if (found.replicas >= 0) {
    return HashRingTable::kOwnersPlan;
  }
  return found.odd_replicas ? HashRingTable::kRefuseReplicasPlan
         : found.replica    ? HashRingTable::kRefuseReplicaPlan
                            : HashRingTable::kOwnerPlan;
}

}  // namespace

// A plan that can't answer is expensive, not impossible. So SQLite takes any other plan, and if
// there is none, the statement's error says what is missing.
bool HashRingTable::best_index(sqlite3_index_info* info) {
  const Constraints found = read_constraints(info);
  const Plan plan = plan_of(found, info->colUsed);
  info->idxNum = plan;
  info->estimatedRows = 1;
  const auto take = [info](int constraint, int argument) {
    info->aConstraintUsage[constraint].argvIndex = argument;
    info->aConstraintUsage[constraint].omit = 1;
  };
  switch (plan) {
    case kNodesPlan:
      info->estimatedCost = kNodesCost;
      info->estimatedRows = 100;
      break;
    case kNodePlan:
      take(found.node, 1);
      info->estimatedCost = kNodeCost;
      info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
      break;
    case kOwnerPlan:
      take(found.key, 1);
      info->estimatedCost = kOwnerCost;
      info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
      break;
    case kOwnersPlan:
      take(found.key, 1);
      take(found.replicas, 2);
      info->estimatedCost = kOwnerCost + 20;
      info->estimatedRows = 3;
      break;
    default:
      info->estimatedCost = kRefusedRingCost;
      break;
  }
  return true;
}

// --- changing ----------------------------------------------------------------------------------

std::string HashRingTable::node_name(sqlite3_value* value) const {
  if (is_null(value)) {
    throw SqlError(SQLITE_CONSTRAINT_NOTNULL, "NOT NULL constraint failed: " + name() + ".node");
  }
  if (sqlite3_value_type(value) == SQLITE_BLOB) {
    throw SqlError(SQLITE_MISMATCH, name() + ": a node's name is a text, not a BLOB");
  }
  std::string buffer;
  return std::string(text_bytes(value, buffer));
}

double HashRingTable::node_weight(sqlite3_value* value) const {
  const int type = sqlite3_value_numeric_type(value);
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
    throw SqlError(SQLITE_MISMATCH, name() + ": a weight is a number above 0, from 1e-15 to 1e15");
  }
  return sqlite3_value_double(value);
}

uint32_t HashRingTable::node_of_rowid(sqlite3_int64 rowid) const {
  if (rowid >> kIdBits != 0) {
    throw SqlError(SQLITE_ERROR, name() +
                                     ": a key is not stored, it can't be deleted or updated;"
                                     " name the node: WHERE node = …");
  }
  return static_cast<uint32_t>(rowid);
}

void HashRingTable::resolve_conflict(const std::string& node, uint32_t own_id) {
  live_->follow();
  const RingNode* const same = live_->ring().find(node);
  if (same == nullptr || same->id == own_id) {
    return;
  }
  if (sqlite3_vtab_on_conflict(db_) != SQLITE_REPLACE) {
    throw SqlError(SQLITE_CONSTRAINT_UNIQUE, "UNIQUE constraint failed: " + name() + ".node");
  }
  live_->remove(same->id);
}

void HashRingTable::insert(sqlite3_value** columns, sqlite3_int64& rowid) {
  const std::string node = node_name(columns[kNode]);
  const double weight = is_null(columns[kWeight]) ? 1 : node_weight(columns[kWeight]);
  live_->follow();
  const RingNode* const same = live_->ring().find(node);
  if (same != nullptr && sqlite3_vtab_on_conflict(db_) == SQLITE_REPLACE) {
    const uint32_t id = same->id;  // the same node with another weight: its keys stay
    live_->update(id, node, weight);
    rowid = id;
    return;
  }
  resolve_conflict(node, 0);
  rowid = live_->insert(node, weight);
}

void HashRingTable::update_node(sqlite3_int64 rowid, sqlite3_value** columns) {
  const uint32_t id = node_of_rowid(rowid);
  live_->follow();
  const RingNode* const old = live_->ring().find(id);
  if (old == nullptr) {
    return;  // deleted by this very statement
  }
  const std::string node =
      sqlite3_value_nochange(columns[kNode]) != 0 ? old->name : node_name(columns[kNode]);
  const double weight =
      sqlite3_value_nochange(columns[kWeight]) != 0 ? old->weight : node_weight(columns[kWeight]);
  if (node != old->name) {
    resolve_conflict(node, id);
  }
  live_->update(id, node, weight);
}

void HashRingTable::share_was_read(uint32_t id, double share) {
  if (id >= shares_read_.size()) {
    shares_read_.resize(id + size_t{1});
  }
  shares_read_[id] = share;
}

void HashRingTable::refuse_computed(sqlite3_value** columns, sqlite3_value* old_rowid) const {
  for (const int column : {kShare, kKey, kReplicas, kReplica}) {
    if (is_null(columns[column]) || sqlite3_value_nochange(columns[column]) != 0) {
      continue;
    }
    if (column == kShare && old_rowid != nullptr) {
      const auto id = static_cast<uint64_t>(sqlite3_value_int64(old_rowid));
      if (id < shares_read_.size() && shares_read_[id] == sqlite3_value_double(columns[column])) {
        continue;
      }
    }
    throw SqlError(SQLITE_ERROR, name() + ": column " + kColumnNames[column] +
                                     " is computed and can't be written");
  }
}

void HashRingTable::update(int count, sqlite3_value** values, sqlite3_int64& rowid) {
  rowid = sqlite3_last_insert_rowid(db_);
  if (count == 1) {
    const uint32_t id = node_of_rowid(sqlite3_value_int64(values[0]));
    live_->follow();
    if (live_->ring().find(id) != nullptr) {
      live_->remove(id);
    }
    return;
  }
  sqlite3_value** const columns = values + 2;
  const bool inserting = is_null(values[0]);
  if (!inserting) {
    node_of_rowid(sqlite3_value_int64(values[0]));  // throws for the row of a key
  }
  refuse_computed(columns, inserting ? nullptr : values[0]);
  if (!is_null(columns[kCommand])) {
    if (!inserting) {
      throw SqlError(SQLITE_ERROR, name() + ": a command is given by INSERT, not by UPDATE");
    }
    sqlite3_value* const argument = is_null(columns[kNode]) ? columns[kWeight] : columns[kNode];
    run_command(*this, commands(), columns[kCommand], argument);
    return;
  }
  const bool keeps_rowid = inserting
                               ? is_null(values[1])
                               : sqlite3_value_int64(values[0]) == sqlite3_value_int64(values[1]);
  if (!keeps_rowid) {
    throw SqlError(SQLITE_ERROR, name() + ": the rowid is given by the table");
  }
  if (inserting) {
    insert(columns, rowid);
  } else {
    update_node(sqlite3_value_int64(values[0]), columns);
  }
}

// Throws if the image contradicts an option that CREATE names. The import replaces other options.
void HashRingTable::expect_own_options(const RingImage& image) const {
  const RingOptions own = chosen_ring_options(name(), options_);
  const RingOptions& its = image.options;
  const bool is_ketama = its.algorithm == RingAlgorithm::kKetama;
  const auto expect = [&](const char* option, bool equal) {
    if (options_.has(option) && !equal) {
      throw SqlError(SQLITE_ERROR, name() + ": import: the image is of a " + describe(its) +
                                       ", which this table's option " + option +
                                       " forbids; make a table like the image, or without options");
    }
  };
  expect("algorithm", its.algorithm == own.algorithm);
  expect("vnodes", its.algorithm == RingAlgorithm::kRing && its.vnodes == own.vnodes);
  expect("seed", !is_ketama && (its.seed == own.seed || options_.text("seed") == "random"));
  expect("dialect", is_ketama && its.dialect == own.dialect);
  expect("key_hash", is_ketama && its.key_hash == own.key_hash);
  if (image.key_type != live_->key_type()) {
    throw SqlError(SQLITE_ERROR, name() + ": import: the image is of a " +
                                     key_declaration(image.key_type) + ", this is a " +
                                     key_declaration(live_->key_type()) +
                                     ", which hashes some keys otherwise; make a table like the"
                                     " image");
  }
}

void HashRingTable::run_import(sqlite3_value* value) {
  if (sqlite3_value_type(value) != SQLITE_BLOB) {
    throw SqlError(SQLITE_ERROR, name() +
                                     ": import takes an image, a BLOB made by"
                                     " hash_ring_export(); bind an image as a BLOB, not as TEXT");
  }
  const Result<RingImage> image = decode_ring_image(blob_of(value));
  if (!image.ok()) {
    throw SqlError(SQLITE_ERROR, name() + ": import: " + image.error().message);
  }
  expect_own_options(image.value());
  live_->import(image.value());
}

std::span<const Command<HashRingTable>> HashRingTable::commands() noexcept {
  using Argument = Command<HashRingTable>::Argument;
  static constexpr Command<HashRingTable> kAll[] = {
      {"check", Argument::kNone, &HashRingTable::run_check},
      {"clear", Argument::kNone, &HashRingTable::run_clear},
      {"import", Argument::kTaken, &HashRingTable::run_import},
  };
  return kAll;
}

}  // namespace cuckoo
