#include "ext/cuckoo_table.hpp"

#include <algorithm>
#include <cmath>

#include "core/key_hash.hpp"

#include "ext/connection.hpp"
#include "ext/statement.hpp"

namespace cuckoo {
namespace {

constexpr OptionSpec kOptionSpecs[] = {
    {"capacity", OptionKind::kWhole, 1, static_cast<double>(kMaxCapacity),
     "a whole number from 1 to 2^40"},
    {"fpr", OptionKind::kNumber, kMinRate, kMaxRate, "a number from 2^-30 to 0.25"},
    {"fingerprint_bits", OptionKind::kWhole, 4, 32, "a whole number from 4 to 32"},
    {"growth", OptionKind::kSwitch, 0, 0, "on or off"},
    {"seed", OptionKind::kSeed, 0, 0, "a 64-bit integer"},
    {"seed_of", OptionKind::kName, 0, 0, "the name of a filter table"},
};

enum Column : int { kKeyColumn = 0, kCountColumn = 1, kCommandColumn = 2 };

constexpr double kProbeCost = 190;  // puts the filter before rowid and primary-key look-ups
constexpr double kCountCost = 1e6;
constexpr double kRefusedCost = 1e99;

// The largest multiple of 64 bytes that, with a checksum behind it, fits one database page as a
// row: SQLite keeps usable - 35 bytes of a cell in its page, the record header takes 4.
uint32_t page_bytes_for(sqlite3* db, const std::string& schema) {
  Statement select(db, sql_text("PRAGMA \"%w\".page_size", schema.c_str()));
  int64_t usable = select.step() ? select.integer(0) : 4096;
  int reserved = -1;
  if (sqlite3_file_control(db, schema.c_str(), SQLITE_FCNTL_RESERVE_BYTES, &reserved) ==
          SQLITE_OK &&
      reserved > 0) {
    usable -= reserved;
  }
  const int64_t room = (usable - 35 - 4 - 4) / 64 * 64;
  return static_cast<uint32_t>(std::clamp<int64_t>(room, 64, 4032));
}

std::string text_of(sqlite3_value* value) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return text == nullptr ? std::string()
                         : std::string(text, static_cast<size_t>(sqlite3_value_bytes(value)));
}

bool is_null(sqlite3_value* value) noexcept { return sqlite3_value_type(value) == SQLITE_NULL; }

}  // namespace

std::span<const OptionSpec> CuckooTable::option_specs() noexcept { return kOptionSpecs; }

// --- creating and connecting -------------------------------------------------------------------

CuckooTable::CuckooTable(const ModuleArguments& arguments)
    : connection_(arguments.connection),
      db_(arguments.db),
      declared_name_(arguments.table()),
      options_(arguments.table(), kOptionSpecs,
               std::span(arguments.texts + 3, static_cast<size_t>(arguments.count - 3)),
               !arguments.creating),
      key_(options_.columns().empty() ? ColumnSpec{"key", ""} : options_.columns()[0]),
      affinity_(affinity_of(key_.type)) {
  if (arguments.creating) {
    if (options_.columns().size() > 1) {
      throw SqlError(SQLITE_ERROR, declared_name_ +
                                       ": one column, the key, expected; there is also " +
                                       options_.columns()[1].name);
    }
    if (equal_names(key_.name, "count")) {
      throw SqlError(SQLITE_ERROR, declared_name_ + ": the key column may not be called count");
    }
    refuse_own_column(declared_name_);
  }
  live_ = connection_.attach(arguments.schema(), arguments.table(), arguments.creating);
  live_->add_instance();
  live_->set_key_affinity(affinity_);
}

CuckooTable::~CuckooTable() { live_->drop_instance(); }

// The hidden command column is called like the table.
void CuckooTable::refuse_own_column(const std::string& table) const {
  if (equal_names(table, key_.name) || equal_names(table, "count")) {
    throw SqlError(SQLITE_ERROR, "a filter may not be called like one of its columns: " + table);
  }
}

std::string CuckooTable::declaration() const {
  return sql_text(R"(CREATE TABLE x("%w" %s PRIMARY KEY, count HIDDEN, "%w" HIDDEN) WITHOUT ROWID)",
                  key_.name.c_str(), key_.type.c_str(), declared_name_.c_str());
}

FilterOptions CuckooTable::chosen_options() const {
  FilterOptions chosen;
  const auto refuse_both = [this](const char* a, const char* b) {
    if (options_.has(a) && options_.has(b)) {
      throw SqlError(SQLITE_ERROR,
                     declared_name_ + ": options " + a + " and " + b + " exclude one another");
    }
  };
  refuse_both("fpr", "fingerprint_bits");
  refuse_both("seed", "seed_of");
  chosen.capacity = options_.whole("capacity").value_or(chosen.capacity);
  chosen.rate = options_.number("fpr").value_or(chosen.rate);
  chosen.fingerprint_bits = static_cast<uint32_t>(options_.whole("fingerprint_bits").value_or(0));
  chosen.growth = options_.on("growth").value_or(true);
  chosen.page_bytes = page_bytes_for(db_, live_->schema());
  constexpr uint32_t kMostNarrowBits = 15;  // a rate of 8/2^15 = 2^-12
  const bool narrow_rate = chosen.fingerprint_bits != 0 ? chosen.fingerprint_bits <= kMostNarrowBits
                                                        : chosen.rate >= 0x1p-12;
  chosen.width = narrow_rate && chosen.capacity <= (uint64_t{1} << 34) ? HashWidth::k47Bits
                                                                       : HashWidth::k63Bits;
  if (const std::optional<int64_t> seed = options_.seed("seed")) {
    chosen.seed = static_cast<uint64_t>(*seed);
  } else if (const std::optional<std::string> other = options_.text("seed_of")) {
    if (equal_names(*other, declared_name_)) {
      throw SqlError(SQLITE_ERROR, declared_name_ + ": seed_of names another table");
    }
    const std::shared_ptr<LiveFilter> live = connection_.find(*other);
    LiveFilter::Reading reading(*live);
    chosen.seed = live->seed();
  } else {
    sqlite3_randomness(sizeof chosen.seed, &chosen.seed);
  }
  return chosen;
}

void CuckooTable::create() { live_->create(chosen_options()); }

void CuckooTable::destroy() { live_->destroy(); }

void CuckooTable::rename(const std::string& name) {
  refuse_own_column(name);
  live_->rename(live_, name);
}

std::string CuckooTable::integrity() {
  try {
    live_->check();
    return {};
  } catch (const SqlError& error) {
    if ((error.code() & 0xFF) == SQLITE_CORRUPT) {
      return error.message();
    }
    throw;
  }
}

// --- planning ----------------------------------------------------------------------------------

bool CuckooTable::best_index(sqlite3_index_info* info) {
  // count(*) reads no column; but newer versions of SQLite say of a WITHOUT ROWID table that its
  // primary key is always read. If it really is, xColumn refuses.
  constexpr uint64_t kKeyBit = uint64_t{1} << kKeyColumn;
  int plan = (info->colUsed & ~kKeyBit) == 0 ? kCountPlan : kRefuseListPlan;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    if (constraint.iColumn != kKeyColumn || (constraint.op != SQLITE_INDEX_CONSTRAINT_EQ &&
                                             constraint.op != SQLITE_INDEX_CONSTRAINT_IS)) {
      continue;  // LIMIT and OFFSET come with column 0, too
    }
    if (constraint.usable == 0) {
      plan = plan == kCountPlan ? kRefuseListPlan : plan;
      continue;
    }
    if (sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") != 0) {
      plan = kRefuseCollationPlan;
      continue;
    }
    plan = kProbePlan;
    info->aConstraintUsage[i].argvIndex = 1;
    info->aConstraintUsage[i].omit = 1;
    break;
  }
  info->idxNum = plan;
  if (plan == kProbePlan) {
    info->estimatedCost = kProbeCost;
    info->estimatedRows = 1;
    info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
  } else {
    info->estimatedCost = plan == kCountPlan ? kCountCost : kRefusedCost;
    info->estimatedRows = 1000000;
  }
  return true;
}

// --- probing -----------------------------------------------------------------------------------

CuckooTable::Cursor::Cursor(CuckooTable& table) : live_(table.live()), affinity_(table.affinity()) {
  live_.follow();
}

void CuckooTable::Cursor::probe_any(sqlite3_value* value) {
  const KeyView key = key_of(value, affinity_);
  if (key.type == SQLITE_NULL) {
    return;
  }
  hash_ = hash_key(key, live_.seed());
  if (live_.contains(hash_)) {
    rows_left_ = 1;
    key_.assign(key);
  }
}

void CuckooTable::Cursor::filter_other(int plan, sqlite3_value** values) {
  live_.follow();  // a roll-back may have come between
  if (plan == kProbePlan) {
    probe_any(values[0]);
    return;
  }
  if (plan == kCountPlan) {
    rows_left_ = live_.filter().items();
    return;
  }
  if (plan == kRefuseCollationPlan) {
    throw SqlError(SQLITE_ERROR, live_.table() +
                                     ": a filter compares keys with BINARY collation only; write"
                                     " key = value COLLATE BINARY, or put the filter's key on the"
                                     " left of =");
  }
  refuse_to_list();
}

void CuckooTable::Cursor::refuse_to_list() const {
  const std::string& name = live_.table();
  throw SqlError(SQLITE_ERROR,
                 name +
                     ": a filter does not know its keys and can't list them; give a key (key = ?,"
                     " JOIN, EXISTS, filter_contains); to empty it: INSERT INTO " +
                     name + "(" + name + ") VALUES ('clear')");
}

void CuckooTable::Cursor::column(sqlite3_context* context, int column) {
  if (plan_ == kCountPlan) {
    refuse_to_list();
  }
  if (column == kKeyColumn) {
    if (sqlite3_vtab_nochange(context) == 0) {
      key_.result(context);
    }
  } else if (column == kCountColumn && sqlite3_vtab_nochange(context) == 0) {
    live_.follow();  // a roll-back may have come between
    sqlite3_result_int64(context, static_cast<sqlite3_int64>(live_.count(hash_)));
  }
}

// --- changing ----------------------------------------------------------------------------------

uint64_t CuckooTable::hash_to_store(sqlite3_value* value) const {
  const KeyView key = key_of(value, affinity_);
  if (key.type == SQLITE_NULL) {
    throw SqlError(SQLITE_CONSTRAINT_NOTNULL, "NOT NULL constraint failed: " + name() + "." +
                                                  key_.name + ": a filter can't hold NULL");
  }
  return hash_key(key, live_->seed());
}

void CuckooTable::update(int count, sqlite3_value** values, sqlite3_int64& rowid) {
  rowid = sqlite3_last_insert_rowid(db_);
  live_->follow();
  if (count == 1) {  // DELETE
    const KeyView key = key_of(values[0], affinity_);
    if (key.type != SQLITE_NULL) {
      live_->remove(hash_key(key, live_->seed()));
    }
    return;
  }
  sqlite3_value* const key = values[2 + kKeyColumn];
  sqlite3_value* const occurrences = values[2 + kCountColumn];
  sqlite3_value* const command = values[2 + kCommandColumn];
  const bool inserting = is_null(values[0]);
  if (!is_null(occurrences)) {
    throw SqlError(SQLITE_ERROR, name() + ": column count is computed and can't be written");
  }
  if (!is_null(command)) {
    if (!inserting) {
      throw SqlError(SQLITE_ERROR, name() + ": a command is given by INSERT, not by UPDATE");
    }
    run_command(command, key);
    return;
  }
  if (inserting) {
    live_->insert(hash_to_store(key));
    return;
  }
  if (sqlite3_value_nochange(key) != 0) {
    return;
  }
  const uint64_t added = hash_to_store(key);
  const KeyView old_key = key_of(values[0], affinity_);
  if (live_->remove(hash_key(old_key, live_->seed()))) {
    live_->insert(added);
  }
}

void CuckooTable::run_command(sqlite3_value* command, sqlite3_value* argument) {
  const std::string word = lower(text_of(command));
  if (word == "delete") {
    const KeyView key = key_of(argument, affinity_);
    if (key.type != SQLITE_NULL) {
      live_->remove(hash_key(key, live_->seed()));
    }
    return;
  }
  if (word == "resize") {
    const std::optional<double> capacity = parse_number(text_of(argument));
    if (!capacity || *capacity < 1 || *capacity > static_cast<double>(kMaxCapacity) ||
        std::floor(*capacity) != *capacity) {
      throw SqlError(SQLITE_ERROR,
                     name() + ": resize takes a capacity, a whole number from 1 to 2^40");
    }
    live_->resize(static_cast<uint64_t>(*capacity));
    return;
  }
  const bool known = word == "clear" || word == "rebuild" || word == "check";
  if (!known) {
    throw SqlError(SQLITE_ERROR, name() + ": unknown command \"" + printable(text_of(command)) +
                                     "\"; the commands are check, clear, delete, rebuild, resize");
  }
  if (!is_null(argument)) {
    throw SqlError(SQLITE_ERROR, name() + ": " + word + " takes no argument");
  }
  if (word == "clear") {
    live_->clear();
  } else if (word == "rebuild") {
    live_->rebuild();
  } else {
    live_->check();
  }
}

}  // namespace cuckoo
