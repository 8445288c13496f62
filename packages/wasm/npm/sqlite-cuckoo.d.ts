/** Reads the module, and starts SQLite with the tables and functions of sqlite-cuckoo in it. */
declare function initSqliteCuckoo(
  config?: initSqliteCuckoo.Config,
): Promise<initSqliteCuckoo.SqliteCuckoo>;

declare namespace initSqliteCuckoo {
  /** A bigint is an integer beyond 2^53, or any integer with `useBigInt`. */
  type SqlValue = number | bigint | string | Uint8Array | null;
  type BindValue = SqlValue | boolean | ArrayBuffer | ArrayBufferView | readonly number[];
  /** By place; or by name, with its `:`, `@` or `$`. Names that it has not are ignored. */
  type BindParams = readonly BindValue[] | Readonly<Record<string, BindValue>> | null;
  type ParamsObject = Record<string, SqlValue>;

  interface Config {
    /** Where `sqlite-cuckoo.wasm` is, if it is not beside the script: a URL, in Node.js a path. */
    locateFile?: (file: string) => string | URL;
    /** The bytes of `sqlite-cuckoo.wasm`, if they are there already. */
    wasmBinary?: ArrayBuffer | Uint8Array;
  }

  interface ReadConfig {
    /** Every INTEGER is a bigint. */
    useBigInt?: boolean;
  }

  interface QueryExecResult {
    columns: string[];
    values: SqlValue[][];
  }

  interface AggregateFunctions<State> {
    /** The state before the first row; null if it is left out. */
    init?: () => State;
    step: (state: State, ...values: any[]) => State;
    /** The result; the state itself if it is left out. */
    finalize?: (state: State) => BindValue | undefined;
  }

  /** An error of SQLite. */
  interface SqliteError extends Error {
    /** SQLite's extended result code. */
    readonly code: number;
  }

  /** A prepared statement, by `Database.prepare()`. Free it when it is no longer needed. */
  interface Statement {
    /** Resets the statement, and binds values to its parameters. */
    bind(values?: BindParams): true;
    /** Goes to the next row; false if there is none. */
    step(): boolean;
    /** The row where the statement is, or, with values, the first one. */
    get(values?: BindParams, config?: ReadConfig): SqlValue[];
    getAsObject(values?: BindParams, config?: ReadConfig): ParamsObject;
    /** A column of the row as SQLite writes it; null of NULL. */
    getText(column: number): string | null;
    getColumnNames(): string[];
    getSQL(): string;
    /** Binds the values, runs the statement to its end, and resets it. */
    run(values?: BindParams): void;
    /** Back to before the first row; forgets the values. */
    reset(): true;
    free(): true;
    /** The address of SQLite's statement in the module. */
    readonly handle: number;
  }

  /** Each statement is freed before the next one is made. */
  interface StatementIterator extends IterableIterator<Statement> {
    [Symbol.iterator](): StatementIterator;
    next(): IteratorResult<Statement, undefined>;
    return(): IteratorResult<Statement, undefined>;
    /** What was not run yet; after an error it begins with the statement that is wrong. */
    getRemainingSQL(): string;
  }

  interface Database {
    /** Runs all statements; rows are left out. The values are bound to each statement. */
    run(sql: string, values?: BindParams): this;
    /** Runs all statements; the result has an element for each of them that gave rows. */
    exec(sql: string, values?: BindParams, config?: ReadConfig): QueryExecResult[];
    /** Calls back with each row of the first statement, before it returns. */
    each(
      sql: string,
      values: BindParams | undefined,
      callback: (row: ParamsObject) => void,
      done?: () => void,
      config?: ReadConfig,
    ): this;
    each(
      sql: string,
      callback: (row: ParamsObject) => void,
      done?: () => void,
      config?: ReadConfig,
    ): this;
    /** The first statement of the text. */
    prepare(sql: string, values?: BindParams): Statement;
    iterateStatements(sql: string): StatementIterator;
    /**
     * The bytes of the database file. Statements, functions and settings stay.
     *
     * @throws Error within a transaction that has written
     */
    export(): Uint8Array;
    /** Frees all statements, and forgets what was not exported. */
    close(): void;
    /** The rows that the last INSERT, UPDATE or DELETE has changed. */
    getRowsModified(): number;
    /** A function of SQL; it has as many parameters as `call.length` says. */
    create_function(name: string, call: (...values: any[]) => BindValue | undefined | void): this;
    create_aggregate<State>(name: string, functions: AggregateFunctions<State>): this;
    /** The address of SQLite's connection in the module. */
    readonly handle: number;
  }

  /** Where a browser keeps database files. A file is written and read as a whole. */
  interface Storage {
    /** The file's bytes, for `new Database(bytes)`; null if there is none of that name. */
    load(name: string): Promise<Uint8Array | null>;
    /** Stores what `database.export()` gives, in the place of what has that name. */
    save(name: string, database: Database | Uint8Array): Promise<void>;
    remove(name: string): Promise<void>;
    names(): Promise<string[]>;
  }

  interface DatabaseConstructor {
    readonly prototype: Database;
    /**
     * A new database in memory; or, with the bytes of a database file, a copy of that in memory.
     *
     * @param config.filename a file of the module's own file system instead, which is in memory too
     * @throws SqliteError if the bytes are no database
     */
    new (
      data?: Uint8Array | ArrayBuffer | ArrayBufferView | readonly number[] | null,
      config?: { filename?: string },
    ): Database;
  }

  interface SqliteCuckoo {
    Database: DatabaseConstructor;
    /** For `instanceof`: statements are made by a database. */
    Statement: { readonly prototype: Statement } & Function;
    SqliteError: new (message: string, code: number) => SqliteError;
    /** IndexedDB. */
    indexedDb: Storage;
    /** The origin private file system. */
    opfs: Storage;
    /** What Emscripten made: `module.FS` is the file system. */
    module: any;
  }
}

export = initSqliteCuckoo;
