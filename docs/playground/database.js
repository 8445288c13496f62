// The npm package's Database as the page uses it, and the functions of packages/wasm/bindings.cpp
// and tables.cpp.
"use strict";

// What core/ refuses, or a view.
class DatabaseError extends Error {}

// The line of the first word of the rest of a text; comments and semicolons are none.
function lineOf(text, rest) {
  const [skipped] = /^(?:[\s;]|--[^\n]*|\/\*[^]*?\*\/)*/.exec(rest);
  const before = text.slice(0, text.length - rest.length + skipped.length);
  return before.split("\n").length;
}

class Database {
  static kLongest = 20000;  // milliseconds that statements may take

  // Before the first one, with what initSqliteCuckoo() gave.
  static start(sqlite) {
    Database.sqlite = sqlite;
    Database.module = sqlite.module;
  }

  constructor(filename) {
    this.connection = new Database.sqlite.Database(null, { filename });
  }

  close() {
    this.connection.close();
  }

  // Runs all statements; the values are bound to each. What has columns gives {columns, rows}, in
  // which an integer is a number, or a BigInt where a number can't hold it, and a BLOB a
  // Uint8Array. `most` rows of each are read. `show`: numbers are {number: SQLite's text}. An error
  // has the results so far, and the number and line of its statement.
  run(sql, values = [], { milliseconds = Database.kLongest, most = Infinity, show = false } = {}) {
    const results = [];
    Database.module._playground_limit(this.connection.handle, milliseconds);
    const statements = this.connection.iterateStatements(sql);
    let [number, rest] = [0, sql];
    try {
      for (;;) {
        rest = statements.getRemainingSQL();
        number += 1;
        const { done, value: statement } = statements.next();
        if (done) {
          return results;
        }
        statement.bind(values);
        const result = this.#read(statement, most, show);
        if (result.columns.length > 0) {
          results.push(result);
        }
      }
    } catch (error) {
      throw Object.assign(error, { results, statement: { number, line: lineOf(sql, rest) } });
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

  #read(statement, most, show) {
    const columns = statement.getColumnNames();
    const rows = [];
    while (statement.step()) {
      if (rows.length >= most) {
        return { columns, rows, more: true };
      }
      const row = statement.get();
      rows.push(show ? row.map((value, i) => this.#shown(value, statement, i)) : row);
    }
    return { columns, rows, more: false };
  }

  #shown(value, statement, i) {
    const number = typeof value === "number" || typeof value === "bigint";
    return number ? { number: statement.getText(i) } : value;
  }
}

// The functions of bindings.cpp and tables.cpp.
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
      filterOther: call("filter_other", n, n, n),
      filterState: call("filter_state", n),
      filterStrangers: define("filter_strangers", n, n, n),
      filterSegments: call("filter_segments", n, text),
      flashBlocks: call("flash_blocks", n, text),
      flashIndex: call("flash_index", n, text),
      flashKey: call("flash_key", n, text, text),
      ringNew: define("ring_new", n, n, n, n),
      ringDelete: define("ring_delete", null, n),
      ringPut: call("ring_put", n, text, n),
      ringRemove: define("ring_remove", null, n, text),
      ringPicture: call("ring_picture", n, n),
      ringKeys: callWithLines("ring_keys"),
    });
  },
};
