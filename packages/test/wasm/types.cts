import initSqliteCuckoo = require("sqlite-cuckoo-wasm");

async function open(bytes: initSqliteCuckoo.SqlValue): Promise<initSqliteCuckoo.Database> {
  const { Database } = await initSqliteCuckoo();
  return new Database(bytes instanceof Uint8Array ? bytes : null);
}
void open(null);
