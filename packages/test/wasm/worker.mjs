// In a worker: the cases, and OPFS.
import initSqliteCuckoo from "/node_modules/sqlite-cuckoo-wasm/sqlite-cuckoo.mjs";
import { reopen, runAll } from "./cases.mjs";

onmessage = async ({ data: known }) => {
  try {
    const SQL = await initSqliteCuckoo();
    await runAll(SQL, known);
    postMessage({ image: await reopen(SQL, SQL.opfs) });
  } catch (error) {
    postMessage({ error: error.message });
  }
};
