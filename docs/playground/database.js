// SQLite's C functions and those of packages/wasm/bindings.cpp, from JavaScript.
"use strict";

// What SQLite says of a statement; or what core/ refuses.
class DatabaseError extends Error {}

class Database {
  static kLongest = 20000;  // milliseconds that statements may take

  // Before the first one: the module, and SQLite's functions in it.
  static start(module) {
    Database.module = module;
    const define = (name, result, ...parameters) => module.cwrap(name, result, parameters);
    const n = "number";
    Database.sqlite = {
      open: define("sqlite3_open", n, "string", n),
      close: define("sqlite3_close_v2", n, n),
      prepare: define("sqlite3_prepare_v2", n, n, n, n, n, n),
      step: define("sqlite3_step", n, n),
      finalize: define("sqlite3_finalize", n, n),
      errmsg: define("sqlite3_errmsg", "string", n),
      bindNull: define("sqlite3_bind_null", n, n, n),
      bindInt: define("sqlite3_bind_int", n, n, n, n),
      bindDouble: define("sqlite3_bind_double", n, n, n, n),
      bindText: define("sqlite3_bind_text", n, n, n, n, n, n),
      bindBlob: define("sqlite3_bind_blob", n, n, n, n, n, n),
      columns: define("sqlite3_column_count", n, n),
      name: define("sqlite3_column_name", "string", n, n),
      type: define("sqlite3_column_type", n, n, n),
      text: define("sqlite3_column_text", n, n, n),
      blob: define("sqlite3_column_blob", n, n, n),
      bytes: define("sqlite3_column_bytes", n, n, n),
      limit: define("playground_limit", null, n, n),
    };
    define("playground_start", n)();
  }

  constructor(path = ":memory:") {
    const at = Database.module._malloc(4);
    const code = Database.sqlite.open(path, at);
    this.handle = Database.module.getValue(at, "i32");
    Database.module._free(at);
    if (code !== 0) {
      throw new DatabaseError(Database.sqlite.errmsg(this.handle));
    }
  }

  close() {
    Database.sqlite.close(this.handle);
    this.handle = 0;
  }

  // Runs all statements; the values are bound to each. What has columns gives {columns, rows}, in
  // which an integer is a number, or a BigInt where a number can't hold it, and a BLOB a Uint8Array.
  // `most` rows of each are read. `show`: numbers are {number: SQLite's text}.
  run(sql, values = [], { milliseconds = Database.kLongest, most = Infinity, show = false } = {}) {
    const { module, sqlite } = Database;
    const results = [];
    if (sql.includes("\0")) {
      throw new DatabaseError("SQL with a NUL character");
    }
    const text = this.#copy(new TextEncoder().encode(`${sql}\0`));
    const places = module._malloc(8);
    sqlite.limit(this.handle, milliseconds);
    try {
      for (let at = text; ; at = module.getValue(places + 4, "i32")) {
        this.#check(sqlite.prepare(this.handle, at, -1, places, places + 4));
        const statement = module.getValue(places, "i32");
        if (statement === 0) {
          if (module.HEAPU8[module.getValue(places + 4, "i32")] === 0) {
            return results;
          }
          continue;  // a comment
        }
        try {
          values.forEach((value, i) => this.#bind(statement, i + 1, value));
          const result = this.#read(statement, most, show);
          if (result.columns.length > 0) {
            results.push(result);
          }
        } finally {
          sqlite.finalize(statement);
        }
      }
    } catch (error) {
      error.results = results;
      throw error;
    } finally {
      module._free(places);
      module._free(text);
    }
  }

  // All that the action does, or nothing.
  transaction(action) {
    this.run("BEGIN");
    try {
      action();
      this.run("COMMIT");
    } catch (error) {
      this.run("ROLLBACK");
      throw error;
    }
  }

  rows(sql, ...values) {
    return this.run(sql, values).at(-1).rows;
  }

  // Of the first row.
  row(sql, ...values) {
    return this.rows(sql, ...values)[0];
  }

  value(sql, ...values) {
    return this.row(sql, ...values)[0];
  }

  #check(code) {
    if (code !== 0) {
      throw new DatabaseError(Database.sqlite.errmsg(this.handle));
    }
  }

  #copy(bytes) {
    const at = Database.module._malloc(Math.max(1, bytes.length));
    Database.module.HEAPU8.set(bytes, at);
    return at;
  }

  #bind(statement, index, value) {
    const { module, sqlite } = Database;
    const transient = -1;
    if (value === null) {
      this.#check(sqlite.bindNull(statement, index));
    } else if (typeof value === "number") {
      this.#check(
        Number.isInteger(value) && Math.abs(value) < 2 ** 31
          ? sqlite.bindInt(statement, index, value)
          : sqlite.bindDouble(statement, index, value),
      );
    } else {
      const text = typeof value === "string";
      const bytes = text ? new TextEncoder().encode(value) : value;
      const at = this.#copy(bytes);
      const bind = text ? sqlite.bindText : sqlite.bindBlob;
      const code = bind(statement, index, at, bytes.length, transient);
      module._free(at);
      this.#check(code);
    }
  }

  #read(statement, most, show) {
    const { sqlite } = Database;
    const count = sqlite.columns(statement);
    const columns = Array.from({ length: count }, (_, i) => sqlite.name(statement, i));
    const rows = [];
    for (;;) {
      const code = sqlite.step(statement);
      if (code === 101) {  // SQLITE_DONE
        return { columns, rows, more: false };
      }
      if (code !== 100) {  // SQLITE_ROW
        this.#check(code);
      }
      if (rows.length >= most) {
        return { columns, rows, more: true };
      }
      rows.push(columns.map((_, i) => this.#column(statement, i, show)));
    }
  }

  #column(statement, i, show) {
    const { module, sqlite } = Database;
    const bytes = () => {
      const at = sqlite.blob(statement, i);
      return module.HEAPU8.slice(at, at + sqlite.bytes(statement, i));
    };
    switch (sqlite.type(statement, i)) {
      case 1:
      case 2: {
        const real = sqlite.type(statement, i) === 2;
        const text = module.UTF8ToString(sqlite.text(statement, i));
        if (show) {
          return { number: text };
        }
        return real || Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text);
      }
      case 3:
        return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes());
      case 4:
        return bytes();
      default:
        return null;
    }
  }
}

// The functions of bindings.cpp that answer JSON.
const core = {
  start(module) {
    const n = "number";
    const text = "string";
    const define = (name, result, ...parameters) => module.cwrap(name, result, parameters);
    const call = (name, ...parameters) => {
      const raw = define(name, text, ...parameters);
      return (...values) => {
        const answer = JSON.parse(raw(...values));
        if (answer.error !== undefined) {
          throw new DatabaseError(answer.error);
        }
        return answer;
      };
    };
    // Texts of any length: what is passed as "string" is copied onto the stack.
    const callWithLines = (name) => {
      const raw = call(name, n, n);
      return (handle, lines) => {
        const bytes = new TextEncoder().encode(`${lines.join("\n").replaceAll("\0", "")}\0`);
        const at = module._malloc(bytes.length);
        module.HEAPU8.set(bytes, at);
        try {
          return raw(handle, at);
        } finally {
          module._free(at);
        }
      };
    };
    Object.assign(core, {
      filterNew: define("filter_new", n, n, n, n, n),
      filterDelete: define("filter_delete", null, n),
      filterInsert: call("filter_insert", n, text),
      filterInsertLines: callWithLines("filter_insert_lines"),
      filterRemove: call("filter_remove", n, text),
      filterAsk: call("filter_ask", n, text),
      filterState: call("filter_state", n),
      filterStrangers: define("filter_strangers", n, n, n),
      ringNew: define("ring_new", n, n, n, n),
      ringPut: call("ring_put", n, text, n),
      ringRemove: define("ring_remove", null, n, text),
      ringPicture: call("ring_picture", n, n),
      ringKeys: callWithLines("ring_keys"),
    });
  },
};
