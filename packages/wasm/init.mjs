export default async function initSqliteCuckoo({ wasmBinary, locateFile } = {}) {
  return sqliteCuckoo.open(wasmBinary ?? await sqliteCuckoo.readModule(
    locateFile?.("sqlite-cuckoo.wasm") ?? new URL("./sqlite-cuckoo.wasm", import.meta.url)));
}
