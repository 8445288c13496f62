// Adapter<Table>: an ordinary C++ class as an SQLite module. The rules of the C boundary are
// written here once, so that no table can get them wrong.
//
// A Table has
//   Table(const ModuleArguments&)            throws SqlError; called by xCreate and xConnect
//   void create()                            xCreate only: makes the shadow tables; with it also
//                                            destroy() and rename(new_name). Optional: without it
//                                            the module is eponymous-only
//   std::string declaration() const          for sqlite3_declare_vtab
//   void best_index(sqlite3_index_info*)     throws SqlError; returning false = SQLITE_CONSTRAINT
//   using Cursor: Cursor(Table&), filter(idxNum, idxStr, argc, argv), next(), eof() noexcept,
//                 column(context, i), rowid()
// and, where it has them (without update() the table is read-only)
//   static constexpr bool kInnocuous          false: under trusted_schema = off not from views and
//                                            triggers
//   update(argc, argv, rowid&)                                   xUpdate; may answer false for a
//                                                                row that OR IGNORE skips: there it
//                                                                is cheaper than a failure
//   begin()                                                      each writing statement begins
//   sync(), commit() noexcept, rollback() noexcept,              transactions
//   savepoint(n), release(n) noexcept, rollback_to(n) noexcept
//   integrity() -> std::string, static owns_shadow(suffix)
//
// Rules
//   R1  every callback that may throw runs in guard(): nothing is thrown across the boundary.
//   R2  *ppVtab is set last, when nothing can fail any more.
//   R3  the object is deleted in xDestroy only after destroy() succeeded; otherwise SQLite keeps
//       it.
//   R4  a failure frees the error text of the one before it, whether or not it has a text itself.
//   R5  begin/sync/commit/rollback and the savepoint calls are one contract: memory is a cache of
//       the shadow tables, flushed before a savepoint, dropped after a roll-back.
//   R6  a row that OR IGNORE skips leaves no text: SQLite would show it with the next failure.
//   R7  EXISTS opens a cursor for each row: the memory of one is kept for the next.
#pragma once

#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "ext/sqlite/api.hpp"
#include "ext/sqlite/error.hpp"

namespace cuckoo {

class Connection;

struct ModuleArguments {
  Connection& connection;
  sqlite3* db;
  int count;  // of texts: module, schema, table, then the arguments in parentheses
  const char* const* texts;
  bool creating;

  std::string schema() const { return texts[1]; }
  std::string table() const { return texts[2]; }
};

// sqlite3_module as of iVersion 4 (SQLite 3.44), also when compiled against older headers: an older
// library reads only the part it knows.
#if SQLITE_VERSION_NUMBER >= 3044000
using ModuleRecord = sqlite3_module;
#else
struct ModuleRecord : sqlite3_module {
  int (*xIntegrity)(sqlite3_vtab*, const char* schema, const char* table, int flags, char** error);
};
#endif

// Throws SqlError if the statement has empty arguments: SQLite does not pass these on, so `count`
// is less than the statement has. In xCreate the schema has the statement already.
void refuse_empty_arguments(sqlite3* db, const char* schema, const char* table, size_t count);

// Takes the arguments of a table-valued function: its hidden columns from `first` on, compared by
// =. They reach xFilter in their order, and idxNum has a bit for each that is given. Returns false
// if this plan has no value for one of them yet.
bool take_arguments(sqlite3_index_info* info, int first);

// Sets the text that EXPLAIN QUERY PLAN shows after the plan's number.
void describe_plan(sqlite3_index_info* info, const std::string& text);

template <class Table>
class Adapter {
 public:
  static int register_module(sqlite3* db, const char* name, void* client,
                             void (*release)(void*)) noexcept {
    static ModuleRecord record = make_record();
    return sqlite3_create_module_v2(db, name, &record, client, release);
  }

 private:
  struct CursorBox : sqlite3_vtab_cursor {
    explicit CursorBox(Table& table) : sqlite3_vtab_cursor{}, cursor(table) {}
    typename Table::Cursor cursor;
  };
  using CursorMemory = std::allocator<CursorBox>;  // a cursor may need an alignment of 16
  struct Box : sqlite3_vtab {
    explicit Box(const ModuleArguments& arguments)
        : sqlite3_vtab{}, table(arguments), db(arguments.db) {}
    // SQLite does not take the text of a failed xDestroy or xSavepoint.
    ~Box() {
      sqlite3_free(zErrMsg);
      if (spare != nullptr) {
        CursorMemory().deallocate(static_cast<CursorBox*>(spare), 1);
      }
    }
    Box(const Box&) = delete;
    Box& operator=(const Box&) = delete;

    void* take_cursor_memory() {
      return spare != nullptr ? std::exchange(spare, nullptr) : CursorMemory().allocate(1);
    }
    void give_cursor_memory(void* memory) noexcept {
      if (spare == nullptr) {
        spare = memory;
      } else {
        CursorMemory().deallocate(static_cast<CursorBox*>(memory), 1);
      }
    }

    Table table;
    sqlite3* db;
    void* spare = nullptr;  // R7
  };

  static constexpr bool kCreated = requires(Table & table) { table.create(); };
  static constexpr bool is_innocuous() noexcept {
    if constexpr (requires { Table::kInnocuous; }) {
      return Table::kInnocuous;
    }
    return true;
  }

  static Table& table_of(sqlite3_vtab* vtab) noexcept { return static_cast<Box*>(vtab)->table; }
  static typename Table::Cursor& cursor_of(sqlite3_vtab_cursor* cursor) noexcept {
    return static_cast<CursorBox*>(cursor)->cursor;
  }

  // R1, R4
  template <class Body>
  [[gnu::always_inline]] static int guarded(sqlite3_vtab* vtab, Body&& body) noexcept {
    char* message = nullptr;
    const int code =
        guard([&message](const char* text) { message = sqlite3_mprintf("%s", text); }, body);
    if (code != SQLITE_OK) [[unlikely]] {
      sqlite3_free(std::exchange(vtab->zErrMsg, message));
    }
    return code;
  }

  static int open_table(sqlite3* db, void* client, int count, const char* const* texts,
                        sqlite3_vtab** vtab, char** error, bool creating) noexcept {
    return guard(
        [error](const char* text) {
          sqlite3_free(*error);
          *error = sqlite3_mprintf("%s", text);
        },
        [&] {
          auto box = std::make_unique<Box>(ModuleArguments{
              **static_cast<std::shared_ptr<Connection>*>(client), db, count, texts, creating});
          const auto expect = [db](int code) {
            if (code != SQLITE_OK) {
              throw SqlError(interrupt_code(code, sqlite3_errmsg(db)), sqlite3_errmsg(db));
            }
          };
          if constexpr (is_innocuous()) {
            expect(sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS));
          }
          expect(sqlite3_vtab_config(db, SQLITE_VTAB_CONSTRAINT_SUPPORT, 1));
          expect(sqlite3_declare_vtab(db, box->table.declaration().c_str()));
          if constexpr (kCreated) {
            if (creating) {
              refuse_empty_arguments(db, texts[1], texts[2], static_cast<size_t>(count - 3));
              box->table.create();
            }
          }
          *vtab = box.release();  // R2
        });
  }

  static int x_create(sqlite3* db, void* client, int count, const char* const* texts,
                      sqlite3_vtab** vtab, char** error) {
    return open_table(db, client, count, texts, vtab, error, true);
  }
  static int x_connect(sqlite3* db, void* client, int count, const char* const* texts,
                       sqlite3_vtab** vtab, char** error) {
    return open_table(db, client, count, texts, vtab, error, false);
  }
  static int x_disconnect(sqlite3_vtab* vtab) {
    delete static_cast<Box*>(vtab);
    return SQLITE_OK;
  }
  static int x_destroy(sqlite3_vtab* vtab) {
    const int code = guarded(vtab, [vtab] { table_of(vtab).destroy(); });
    if (code == SQLITE_OK) {  // R3
      delete static_cast<Box*>(vtab);
    }
    return code;
  }
  static int x_best_index(sqlite3_vtab* vtab, sqlite3_index_info* info) {
    bool usable = true;
    const int code = guarded(vtab, [&] {
      if constexpr (requires { table_of(vtab).note_planned(); }) {
        table_of(vtab).note_planned();
      }
      usable = table_of(vtab).best_index(info);
    });
    return code == SQLITE_OK && !usable ? SQLITE_CONSTRAINT : code;
  }
  static int x_open(sqlite3_vtab* vtab, sqlite3_vtab_cursor** cursor) {
    return guarded(vtab, [&] {
      Box& box = *static_cast<Box*>(vtab);
      void* const memory = box.take_cursor_memory();
      try {
        *cursor = new (memory) CursorBox(box.table);
      } catch (...) {
        box.give_cursor_memory(memory);
        throw;
      }
    });
  }
  static int x_close(sqlite3_vtab_cursor* cursor) {
    auto* const box = static_cast<CursorBox*>(cursor);
    Box& table = *static_cast<Box*>(cursor->pVtab);
    box->~CursorBox();
    table.give_cursor_memory(box);
    return SQLITE_OK;
  }
  static int x_filter(sqlite3_vtab_cursor* cursor, int number, const char* text, int count,
                      sqlite3_value** values) {
    return guarded(cursor->pVtab, [&] { cursor_of(cursor).filter(number, text, count, values); });
  }
  static int x_next(sqlite3_vtab_cursor* cursor) {
    return guarded(cursor->pVtab, [&] { cursor_of(cursor).next(); });
  }
  static int x_eof(sqlite3_vtab_cursor* cursor) {
    static_assert(noexcept(cursor_of(cursor).eof()));
    return cursor_of(cursor).eof() ? 1 : 0;
  }
  static int x_column(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int column) {
    return guarded(cursor->pVtab, [&] { cursor_of(cursor).column(context, column); });
  }
  static int x_rowid(sqlite3_vtab_cursor* cursor, sqlite3_int64* rowid) {
    return guarded(cursor->pVtab, [&] { *rowid = cursor_of(cursor).rowid(); });
  }
  static int x_update(sqlite3_vtab* vtab, int count, sqlite3_value** values, sqlite3_int64* rowid) {
    bool skipped = false;
    const int code = guarded(vtab, [&] {
      if constexpr (std::is_same_v<decltype(table_of(vtab).update(count, values, *rowid)), bool>) {
        skipped = !table_of(vtab).update(count, values, *rowid);
      } else {
        table_of(vtab).update(count, values, *rowid);
      }
    });
    if ((code & 0xFF) == SQLITE_CONSTRAINT) {
      forget_skipped(vtab);
    }
    return skipped ? SQLITE_CONSTRAINT : code;
  }
  // R6
  static void forget_skipped(sqlite3_vtab* vtab) noexcept {
    if (sqlite3_vtab_on_conflict(static_cast<Box*>(vtab)->db) == SQLITE_IGNORE) {
      sqlite3_free(std::exchange(vtab->zErrMsg, nullptr));
    }
  }
  static int x_begin(sqlite3_vtab* vtab) {
    return guarded(vtab, [vtab] { table_of(vtab).begin(); });
  }
  static int x_sync(sqlite3_vtab* vtab) {
    return guarded(vtab, [vtab] { table_of(vtab).sync(); });
  }
  static int x_commit(sqlite3_vtab* vtab) {
    static_assert(noexcept(table_of(vtab).commit()));
    table_of(vtab).commit();
    return SQLITE_OK;
  }
  static int x_rollback(sqlite3_vtab* vtab) {
    static_assert(noexcept(table_of(vtab).rollback()));
    table_of(vtab).rollback();
    return SQLITE_OK;
  }
  static int x_savepoint(sqlite3_vtab* vtab, int number) {
    return guarded(vtab, [&] { table_of(vtab).savepoint(number); });
  }
  static int x_release(sqlite3_vtab* vtab, int number) {
    static_assert(noexcept(table_of(vtab).release(number)));
    table_of(vtab).release(number);
    return SQLITE_OK;
  }
  static int x_rollback_to(sqlite3_vtab* vtab, int number) {
    static_assert(noexcept(table_of(vtab).rollback_to(number)));
    table_of(vtab).rollback_to(number);
    return SQLITE_OK;
  }
  static int x_rename(sqlite3_vtab* vtab, const char* name) {
    return guarded(vtab, [&] { table_of(vtab).rename(name); });
  }
  static int x_shadow_name(const char* suffix) { return Table::owns_shadow(suffix) ? 1 : 0; }
  static int x_integrity(sqlite3_vtab* vtab, const char*, const char*, int, char** error) {
    return guarded(vtab, [&] {
      const std::string problem = table_of(vtab).integrity();
      if (!problem.empty()) {
        *error = sqlite3_mprintf("%s", problem.c_str());
        if (*error == nullptr) {
          throw std::bad_alloc();  // no text would say that all is well
        }
      }
    });
  }

  static ModuleRecord make_record() noexcept {
    ModuleRecord record{};
    record.iVersion = 4;
    record.xConnect = x_connect;
    record.xBestIndex = x_best_index;
    record.xDisconnect = x_disconnect;
    record.xOpen = x_open;
    record.xClose = x_close;
    record.xFilter = x_filter;
    record.xNext = x_next;
    record.xEof = x_eof;
    record.xColumn = x_column;
    record.xRowid = x_rowid;
    if constexpr (kCreated) {
      record.xCreate = x_create;
      record.xDestroy = x_destroy;
      record.xRename = x_rename;
    } else {
      record.xDestroy = x_disconnect;
    }
    if constexpr (requires(Table & table, sqlite3_int64 & rowid) {
                    table.update(0, nullptr, rowid);
                  }) {
      record.xUpdate = x_update;
    }
    if constexpr (requires(Table & table) { table.begin(); }) {
      record.xBegin = x_begin;
    }
    if constexpr (requires(Table & table) { table.sync(); }) {  // R5: all of them
      record.xSync = x_sync;
      record.xCommit = x_commit;
      record.xRollback = x_rollback;
      record.xSavepoint = x_savepoint;
      record.xRelease = x_release;
      record.xRollbackTo = x_rollback_to;
    }
    if constexpr (requires { Table::owns_shadow(""); }) {
      record.xShadowName = x_shadow_name;
    }
    if constexpr (requires(Table & table) { table.integrity(); }) {
      record.xIntegrity = x_integrity;
    }
    return record;
  }
};

}  // namespace cuckoo
