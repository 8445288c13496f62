// Where a browser keeps database files: IndexedDB, and the origin private file system (OPFS).
//
//   S1  save() writes the whole file at once, and load() reads the whole file. Nothing is stored
//       without save().
//   S2  A file that is being saved is the old one until all of the new one is stored, then the new
//       one. What is saved last stays: two pages that save under one name know nothing of each
//       other.

// The bytes of what save() is given: a Database, or a file's bytes.
const fileOf = (database) =>
  typeof database?.export === "function" ? database.export() : new Uint8Array(database);

const named = (name) => {
  if (typeof name !== "string" || name === "") {
    throw new TypeError("a database is stored under a name");
  }
  return name;
};

// Files are values of one object store; their names are its keys.
const indexedDb = {
  async load(name) {
    const bytes = await this.use("readonly", (store) => store.get(named(name)));
    return bytes ?? null;
  },

  async save(name, database) {
    await this.use("readwrite", (store) => store.put(fileOf(database), named(name)));
  },

  async remove(name) {
    await this.use("readwrite", (store) => store.delete(named(name)));
  },

  names() {
    return this.use("readonly", (store) => store.getAllKeys());
  },

  // What the request of `action` results in, after its transaction is stored.
  async use(mode, action) {
    if (typeof indexedDB === "undefined") {
      throw new Error("there is no IndexedDB here: it is in browsers");
    }
    const connection = await new Promise((resolve, reject) => {
      const request = indexedDB.open("sqlite-cuckoo", 1);
      request.onupgradeneeded = () => request.result.createObjectStore("files");
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    try {
      return await new Promise((resolve, reject) => {
        const transaction = connection.transaction("files", mode, { durability: "strict" });
        const request = action(transaction.objectStore("files"));
        transaction.oncomplete = () => resolve(request.result);
        transaction.onabort = () => reject(transaction.error ?? request.error);
      });
    } finally {
      connection.close();
    }
  },
};

// Files are in a folder; of a name, what a file can't be called is written as %XX.
const opfs = {
  async load(name) {
    try {
      const handle = await (await this.folder()).getFileHandle(this.file(name));
      return new Uint8Array(await (await handle.getFile()).arrayBuffer());
    } catch (error) {
      if (error.name === "NotFoundError") {
        return null;
      }
      throw error;
    }
  },

  async save(name, database) {
    const bytes = fileOf(database);
    const handle = await (await this.folder()).getFileHandle(this.file(name), { create: true });
    if (typeof handle.createWritable !== "function") {
      throw new Error("this browser can't replace a file of OPFS at once: take indexedDb");
    }
    const writable = await handle.createWritable();  // a new file, until close()
    try {
      await writable.write(bytes);
    } catch (error) {
      await writable.abort();
      throw error;
    }
    await writable.close();
  },

  async remove(name) {
    try {
      await (await this.folder()).removeEntry(this.file(name));
    } catch (error) {
      if (error.name !== "NotFoundError") {
        throw error;
      }
    }
  },

  async names() {
    const names = [];
    for await (const name of (await this.folder()).keys()) {
      names.push(decodeURIComponent(name.slice(0, -1)));
    }
    return names.sort();
  },

  file: (name) => `${encodeURIComponent(named(name))}_`,  // so that "." is one as well

  async folder() {
    if (typeof globalThis.navigator?.storage?.getDirectory !== "function") {
      throw new Error("there is no OPFS here: it is in browsers, in pages of https or localhost");
    }
    const root = await navigator.storage.getDirectory();
    return root.getDirectoryHandle("sqlite-cuckoo", { create: true });
  },
};
