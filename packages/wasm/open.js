// From the module's bytes to what initSqliteCuckoo() gives.

// The bytes of a file: Node.js reads paths and file: URLs, browsers fetch.
async function readModule(place) {
  const fs = globalThis.process?.getBuiltinModule?.("node:fs");
  if (fs !== undefined && !/^https?:/.test(place)) {
    return fs.readFileSync(place);
  }
  const answer = await fetch(place);
  if (!answer.ok) {
    throw new Error(`${place}: ${answer.status} ${answer.statusText}`);
  }
  return new Uint8Array(await answer.arrayBuffer());
}

// Without bytes Emscripten's loader has them in itself.
async function open(wasmBinary) {
  const module = await openModule(wasmBinary === undefined ? {} : { wasmBinary });
  return { ...offer(module), indexedDb, opfs };
}
