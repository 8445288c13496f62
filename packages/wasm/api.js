// The classes of the npm package, over SQLite's C functions: what sql.js offers, by the same names.
// packages/wasm/build.sh puts this file, storage.js and Emscripten's loader into one.
//
//   A1  A Database knows its statements, and the texts of which it makes statements one by one, as
//       long as they are not freed: close() frees them.
//   A2  All other memory that is taken of the module is given back before the call ends, also after
//       an error. SQLite copies what is bound or returned to it.
//   A3  No JavaScript error passes through SQLite: a function's becomes the statement's error.
//   A4  HEAPU8 is asked for anew after each call into the module, because memory that grows moves.
//   A5  A statement that runs is neither reset nor freed by a function that it calls.

// What SQLite says of a statement; `code` is its extended result code.
class SqliteError extends Error {
  constructor(message, code) {
    super(message);
    this.name = "SqliteError";
    this.code = code;
  }
}

// Of the module that openModule() gave: { Database, Statement, … }.
function offer(module) {
  const kOk = 0;
  const kNoMemory = 7;
  const kRow = 100;
  const kDone = 101;
  const kTransient = -1;  // SQLite copies the bytes
  const kWriting = 2;     // of sqlite3_txn_state()
  const [kInteger, kReal, kText, kBlob] = [1, 2, 3, 4];

  const encoder = new TextEncoder();
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const word = (at) => new DataView(module.HEAPU8.buffer).getInt32(at, true);
  const slice = (at, size) => module.HEAPU8.slice(at, at + size);
  const message = (handle) => module.UTF8ToString(module._sqlite3_errmsg(handle));

  const fail = (text, code) => {
    throw new SqliteError(text, code);
  };

  const copy = (bytes) => {
    const at = module._malloc(Math.max(1, bytes.length));
    if (at === 0) {
      fail("out of memory", kNoMemory);
    }
    module.HEAPU8.set(bytes, at);
    return at;
  };

  // Gives the action memory with these bytes, as long as it runs.
  const withBytes = (bytes, action) => {
    const at = copy(bytes);
    try {
      return action(at, bytes.length);
    } finally {
      module._free(at);
    }
  };
  const withText = (text, action) => withBytes(encoder.encode(`${text}\0`), action);

  // Statements and names end at a NUL character, so what follows it would be lost.
  const whole = (what, text) => {
    if (typeof text !== "string") {
      throw new TypeError(`${what} is to be a string, not ${describe(text)}`);
    }
    return text.includes("\0") ? fail(`${what} has a NUL character`, 1) : text;
  };

  function describe(value) {
    return value === null || typeof value !== "object"
      ? String(value)
      : (value.constructor?.name ?? "an object");
  }

  // The bytes of what is a BLOB; null of anything else. An array of numbers is one, as in sql.js.
  function bytesOf(value) {
    if (value instanceof Uint8Array) {
      return value;
    }
    if (value instanceof ArrayBuffer) {
      return new Uint8Array(value);
    }
    if (ArrayBuffer.isView(value)) {
      return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    }
    return Array.isArray(value) ? Uint8Array.from(value) : null;
  }

  // Hands a value to SQLite by one of the functions of `to`; `cause` says what it was for.
  function hand(value, to, cause) {
    switch (typeof value) {
      case "boolean":
        return to.integer(Number(value), 0);
      case "number":
        return Number.isSafeInteger(value)
          ? to.integer(value >>> 0, Math.floor(value / 2 ** 32))  // its two halves
          : to.real(value);
      case "bigint":
        if (BigInt.asIntN(64, value) !== value) {
          throw new RangeError(`${cause}: ${value} does not fit into 64 bits`);
        }
        return to.integer(Number(BigInt.asUintN(32, value)), Number(value >> 32n));
      case "string":
        return withBytes(encoder.encode(value), to.text);
      default: {
        const bytes = bytesOf(value);
        if (value !== null && bytes === null) {
          throw new TypeError(`${cause}: SQLite has no type for ${describe(value)}`);
        }
        return bytes === null ? to.nothing() : withBytes(bytes, to.blob);
      }
    }
  }

  // The bytes come after the text, which may have to be made first.
  const blobAt = (from, ...at) => {
    const start = from.blob(...at);
    return slice(start, from.bytes(...at));
  };
  const textAt = (from, ...at) => {
    const start = from.text(...at);
    return decoder.decode(slice(start, from.bytes(...at)));
  };

  // The value of SQLite that is at `at`, by the functions that read it.
  function take(from, useBigInt, ...at) {
    switch (from.type(...at)) {
      case kInteger: {
        const number = from.real(...at);
        return !useBigInt && Number.isSafeInteger(number) ? number : BigInt(textAt(from, ...at));
      }
      case kReal:
        return from.real(...at);
      case kText:
        return textAt(from, ...at);
      case kBlob:
        return blobAt(from, ...at);
      default:
        return null;
    }
  }
  const column = {
    type: module._sqlite3_column_type,
    real: module._sqlite3_column_double,
    text: module._sqlite3_column_text,
    blob: module._sqlite3_column_blob,
    bytes: module._sqlite3_column_bytes,
  };
  const argument = {
    type: module._sqlite3_value_type,
    real: module._sqlite3_value_double,
    text: module._sqlite3_value_text,
    blob: module._sqlite3_value_blob,
    bytes: module._sqlite3_value_bytes,
  };

  // --- functions of SQL that are written in JavaScript; module.cpp calls these

  const functions = new Map();
  let lastFunction = 0;
  const result = (context, value) =>
    hand(value === undefined ? null : value, {
      integer: (low, high) => module._cuckoo_result_integer(context, low, high),
      real: (number) => module._sqlite3_result_double(context, number),
      text: (at, size) => module._sqlite3_result_text(context, at, size, kTransient),
      blob: (at, size) => module._sqlite3_result_blob(context, at, size, kTransient),
      nothing: () => module._sqlite3_result_null(context),
    }, "a function's result");
  const attempt = (context, action) => {
    try {
      action();
    } catch (error) {
      const bytes = encoder.encode(String(error?.message ?? error));
      const at = module._malloc(bytes.length + 1);
      if (at === 0) {
        module._sqlite3_result_error_nomem(context);
      } else {
        module.HEAPU8.set(bytes, at);
        module._sqlite3_result_error(context, at, bytes.length);
        module._free(at);
      }
    }
  };
  const takeArguments = (count, values) =>
    Array.from({ length: count }, (_, i) => take(argument, false, word(values + 4 * i)));

  module.functions = {
    call(context, count, values, id) {
      attempt(context, () =>
        result(context, functions.get(id).call(...takeArguments(count, values))));
    },
    step(context, count, values, id, key) {
      attempt(context, () => {
        const { init, step, states } = functions.get(id);
        const state = states.has(key) ? states.get(key) : init();
        states.set(key, step(state, ...takeArguments(count, values)));
      });
    },
    end(context, id, key) {
      attempt(context, () => {
        const { init, finalize, states } = functions.get(id);
        const state = states.has(key) ? states.get(key) : init();
        states.delete(key);
        result(context, finalize(state));
      });
    },
    forget: (id) => functions.delete(id),
  };

  // --- statements

  class Statement {
    #database;
    #freed;
    #runs = false;

    constructor(handle, database, freed) {
      this.handle = handle;  // the module's address of it, 0 once it is freed
      this.#database = database;
      this.#freed = freed;
    }

    bind(values) {
      this.reset();
      if (Array.isArray(values)) {
        values.forEach((value, i) => this.#bind(i + 1, value));
      } else if (values !== null && typeof values === "object") {
        for (const [name, value] of Object.entries(values)) {
          const index = withText(name, (at) =>
            module._sqlite3_bind_parameter_index(this.handle, at));
          if (index !== 0) {
            this.#bind(index, value);
          }
        }
      } else if (values !== null && values !== undefined) {
        throw new TypeError(`bind() takes an array or an object, not ${describe(values)}`);
      }
      return true;
    }

    step() {
      this.#atRest();
      this.#runs = true;
      try {
        const code = module._sqlite3_step(this.handle);
        if (code !== kRow && code !== kDone) {
          this.#check(code);
        }
        return code === kRow;
      } finally {
        this.#runs = false;
      }
    }

    get(values, { useBigInt = false } = {}) {
      this.#bindAndStep(values);
      const count = module._sqlite3_data_count(this.handle);
      return Array.from({ length: count }, (_, i) => take(column, useBigInt, this.handle, i));
    }

    getAsObject(values, config) {
      const row = this.get(values, config);
      const names = this.getColumnNames();
      // Not Object.fromEntries of an ordinary object: a column may be called __proto__.
      return names.reduce((object, name, i) => Object.defineProperty(object, name,
        { value: row[i], writable: true, enumerable: true, configurable: true }), {});
    }

    // A column of the row as SQLite writes it: 1.0 and 1 differ. Null of NULL.
    getText(index) {
      this.#open();
      const type = column.type(this.handle, index);
      return type >= kInteger && type <= kBlob ? textAt(column, this.handle, index) : null;
    }

    getColumnNames() {
      this.#open();
      return Array.from({ length: module._sqlite3_column_count(this.handle) }, (_, i) =>
        module.UTF8ToString(module._sqlite3_column_name(this.handle, i)));
    }

    getSQL() {
      this.#open();
      return module.UTF8ToString(module._sqlite3_sql(this.handle));
    }

    run(values) {
      if (values !== null && values !== undefined) {
        this.bind(values);
      }
      try {
        while (this.step());
      } finally {
        this.reset();
      }
    }

    reset() {
      this.#atRest();
      module._sqlite3_reset(this.handle);  // its result is that of the last step
      module._sqlite3_clear_bindings(this.handle);
      return true;
    }

    free() {
      if (this.handle !== 0) {
        this.#atRest();
        module._sqlite3_finalize(this.handle);
        this.handle = 0;
        this.#freed(this);
      }
      return true;
    }

    #bindAndStep(values) {
      this.#open();
      if (values !== null && values !== undefined) {
        this.bind(values);
        this.step();
      }
    }

    #open() {
      if (this.handle === 0) {
        throw new Error("Statement closed");
      }
    }

    #atRest() {
      this.#open();
      if (this.#runs) {
        throw new Error("this statement runs: it can't be used by a function that it calls");
      }
    }

    #check(code) {
      if (code !== kOk) {
        const { handle } = this.#database;
        fail(message(handle), module._sqlite3_extended_errcode(handle));
      }
    }

    #bind(index, value) {
      const { handle } = this;
      this.#check(hand(value, {
        integer: (low, high) => module._cuckoo_bind_integer(handle, index, low, high),
        real: (number) => module._sqlite3_bind_double(handle, index, number),
        text: (at, size) => module._sqlite3_bind_text(handle, index, at, size, kTransient),
        blob: (at, size) => module._sqlite3_bind_blob(handle, index, at, size, kTransient),
        nothing: () => module._sqlite3_bind_null(handle, index),
      }, `parameter ${index}`));
    }
  }

  // The statements of an SQL text, one after the other; each is freed before the next one is made.
  class StatementIterator {
    #prepare;
    #freed;
    #text;  // the module's address of it, 0 once it is freed
    #at;
    #current = null;
    #remaining = "";

    constructor(sql, prepare, freed) {
      this.#prepare = prepare;
      this.#freed = freed;
      this.#text = this.#at = copy(encoder.encode(`${whole("SQL", sql)}\0`));
    }

    [Symbol.iterator]() {
      return this;
    }

    next() {
      this.#current?.free();
      this.#current = null;
      try {
        while (this.#text !== 0 && module.HEAPU8[this.#at] !== 0) {
          const { statement, end } = this.#prepare(this.#at);
          this.#at = end;
          if (statement !== null) {  // a comment is none
            this.#current = statement;
            return { done: false, value: statement };
          }
        }
      } catch (error) {
        this.free();  // for…of calls return() after errors of its own alone
        throw error;
      }
      return this.return();
    }

    return(value) {
      this.free();
      return { done: true, value };
    }

    getRemainingSQL() {
      return this.#text === 0 ? this.#remaining : module.UTF8ToString(this.#at);
    }

    free() {
      if (this.#text !== 0) {
        this.#current?.free();
        this.#remaining = this.getRemainingSQL();
        module._free(this.#text);
        this.#text = 0;
        this.#freed(this);
      }
    }
  }

  // --- connections

  class Database {
    #toFree = new Set();

    // A new database in memory; or the one whose file has these bytes; or the file of that name in
    // the module's own file system, which is in memory too.
    constructor(data = null, { filename = ":memory:" } = {}) {
      const bytes = data === null || data === undefined ? new Uint8Array(0) : bytesOf(data);
      if (bytes === null) {
        throw new TypeError(`a database is made of bytes, not of ${describe(data)}`);
      }
      if (bytes.length > 0 && filename !== ":memory:") {
        throw new TypeError("a database is made of bytes or of a file, not of both");
      }
      this.handle = 0;  // the module's address of it, 0 once it is closed
      const code = withText(whole("filename", filename), (name) =>
        withBytes(new Uint8Array(4), (place) => {
          const opened = module._sqlite3_open(name, place);
          this.handle = word(place);
          return opened;
        }));
      try {
        this.#check(code);
        if (bytes.length > 0) {
          this.#fill(bytes);
        }
      } catch (error) {
        this.close();
        throw error;
      }
    }

    run(sql, values) {
      for (const statement of this.iterateStatements(sql)) {
        statement.run(values);
      }
      return this;
    }

    exec(sql, values, config) {
      const results = [];
      for (const statement of this.iterateStatements(sql)) {
        statement.bind(values);
        if (statement.step()) {
          const rows = { columns: statement.getColumnNames(), values: [] };
          results.push(rows);
          do {
            rows.values.push(statement.get(null, config));
          } while (statement.step());
        }
      }
      return results;
    }

    each(sql, values, callback, done, config) {
      if (typeof values === "function") {
        return this.each(sql, null, values, callback, done);
      }
      const statement = this.prepare(sql, values);
      try {
        while (statement.step()) {
          callback(statement.getAsObject(null, config));
        }
      } finally {
        statement.free();
      }
      done?.();
      return this;
    }

    prepare(sql, values) {
      this.#open();
      const { statement } = withText(whole("SQL", sql), (at) => this.#prepare(at));
      if (statement === null) {
        throw new Error("Nothing to prepare");
      }
      try {
        statement.bind(values);
      } catch (error) {
        statement.free();
        throw error;
      }
      return statement;
    }

    iterateStatements(sql) {
      this.#open();
      const iterator = new StatementIterator(sql, (at) => this.#prepare(at), this.#freed);
      this.#toFree.add(iterator);
      return iterator;
    }

    // The bytes of its file. Statements, functions and settings stay.
    export() {
      this.#open();
      if (module._sqlite3_txn_state(this.handle, 0) === kWriting) {
        throw new Error("export() within a transaction: commit it, or roll it back, before");
      }
      return withBytes(new Uint8Array(4), (place) => {
        const at = module._cuckoo_serialize(this.handle, place);
        const size = word(place) >>> 0;
        try {
          return at === 0 && size > 0 ? fail("out of memory", kNoMemory) : slice(at, size);
        } finally {
          module._sqlite3_free(at);
        }
      });
    }

    close() {
      if (this.handle !== 0) {
        for (const one of this.#toFree) {
          one.free();
        }
        module._sqlite3_close_v2(this.handle);
        this.handle = 0;
      }
    }

    getRowsModified() {
      this.#open();
      return module._sqlite3_changes(this.handle);
    }

    // A function of a name and number of parameters takes the place of the one that has both.
    create_function(name, call) {
      return this.#define(name, call.length, { call });
    }

    create_aggregate(name, { init = () => null, step, finalize = (state) => state }) {
      if (typeof step !== "function") {
        throw new TypeError(`the aggregate ${name} has no function step`);
      }
      return this.#define(name, step.length - 1, { init, step, finalize, states: new Map() });
    }

    #define(name, count, definition) {
      this.#open();
      lastFunction += 1;
      functions.set(lastFunction, definition);  // SQLite forgets it if it is refused
      const aggregate = definition.step === undefined ? 0 : 1;
      this.#check(withText(whole("a function's name", name), (at) =>
        module._cuckoo_create_function(this.handle, at, count, lastFunction, aggregate)));
      return this;
    }

    // A file in WAL mode can't be opened in memory. Its header says so in two bytes, which are the
    // only difference.
    #fill(bytes) {
      const at = module._sqlite3_malloc(bytes.length);
      if (at === 0) {
        fail("out of memory", kNoMemory);
      }
      module.HEAPU8.set(bytes, at);
      if (bytes.length >= 20 && bytes[18] === 2 && bytes[19] === 2) {
        module.HEAPU8.fill(1, at + 18, at + 20);
      }
      this.#check(module._cuckoo_deserialize(this.handle, at, bytes.length));
      this.exec("SELECT count(*) FROM sqlite_schema");  // an error here if this is no database
    }

    #freed = (one) => this.#toFree.delete(one);

    // The statement at the head of the module's text there, null for a comment, and its end.
    #prepare(at) {
      return withBytes(new Uint8Array(8), (place) => {
        this.#check(module._sqlite3_prepare_v2(this.handle, at, -1, place, place + 4));
        const handle = word(place);
        const end = word(place + 4);
        if (handle === 0) {
          return { statement: null, end };
        }
        const statement = new Statement(handle, this, this.#freed);
        this.#toFree.add(statement);
        return { statement, end };
      });
    }

    #open() {
      if (this.handle === 0) {
        throw new Error("Database closed");
      }
    }

    #check(code) {
      if (code !== kOk) {
        const text = this.handle === 0 ? "out of memory" : message(this.handle);
        fail(text, this.handle === 0 ? code : module._sqlite3_extended_errcode(this.handle));
      }
    }
  }

  if (module._cuckoo_start() !== kOk) {
    fail("out of memory", kNoMemory);
  }
  return { Database, Statement, SqliteError, module };
}
