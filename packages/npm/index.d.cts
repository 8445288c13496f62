/** What `load` needs of a connection: node:sqlite, better-sqlite3 and bun:sqlite have it. */
export interface Database {
  loadExtension(file: string, entryPoint?: string): unknown;
}

/**
 * The path of this platform's library, to be loaded as an extension of SQLite.
 *
 * @throws Error if there is no library for this platform, or its package is not installed.
 */
export declare function getLoadablePath(): string;

/**
 * Loads sqlite-cuckoo in a connection. Every connection that uses one of its tables needs it.
 *
 * node:sqlite: the connection must have been opened with `{ allowExtension: true }`.
 */
export declare function load(db: Database): void;
