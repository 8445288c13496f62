// For require(), and for a <script>, where it is a global name.
const sqliteCuckooScript = globalThis.document?.currentScript?.src;

async function initSqliteCuckoo({ wasmBinary, locateFile } = {}) {
  const beside = () => (sqliteCuckooScript === undefined
    ? `${__dirname}/sqlite-cuckoo.wasm`
    : new URL("sqlite-cuckoo.wasm", sqliteCuckooScript));
  return sqliteCuckoo.open(wasmBinary ?? await sqliteCuckoo.readModule(
    locateFile?.("sqlite-cuckoo.wasm") ?? beside()));
}

if (typeof module === "object") {
  module.exports = initSqliteCuckoo;
}
