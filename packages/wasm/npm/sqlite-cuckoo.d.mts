import initSqliteCuckoo from "./sqlite-cuckoo.js";

export default initSqliteCuckoo;
export type SqliteCuckoo = initSqliteCuckoo.SqliteCuckoo;
export type Database = initSqliteCuckoo.Database;
export type Statement = initSqliteCuckoo.Statement;
export type SqliteError = initSqliteCuckoo.SqliteError;
export type Storage = initSqliteCuckoo.Storage;
export type SqlValue = initSqliteCuckoo.SqlValue;
export type BindParams = initSqliteCuckoo.BindParams;
export type ParamsObject = initSqliteCuckoo.ParamsObject;
export type QueryExecResult = initSqliteCuckoo.QueryExecResult;
