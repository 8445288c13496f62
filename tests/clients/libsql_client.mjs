// run.sh's scenario by libsql, the synchronous package of libSQL: libsql_client.mjs DIRECTORY
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { extension, numbers, own, refused, scalar, scenario } from './scenario.mjs';

const modules = process.env.CUCKOO_NODE_MODULES;
const require = createRequire(join(modules, 'client.js'));
const Database = require('libsql');

// The scenario passes values one by one. libsql takes a lone Buffer or null for an object of named
// values, so it gets an array.
class Connection extends Database {
  prepare(sql) {
    const statement = super.prepare(sql);
    return {
      run: (...values) => statement.run(values),
      get: (...values) => statement.get(values),
      all: (...values) => statement.all(values),
    };
  }
}

function open(path) {
  const db = new Connection(path);
  db.loadExtension(extension);
  db.defaultSafeIntegers();
  return db;
}

function inTransaction(db, work) {
  db.transaction(work)();
}

const { version } = JSON.parse(readFileSync(join(modules, 'libsql/package.json'), 'utf8'));
console.log(`client: libsql ${version}, SQLite`,
  scalar(new Database(':memory:'), 'SELECT sqlite_version()'));
const db = scenario({ open, inTransaction });

const { type, typed, untyped, text } = numbers(db);
own('a number arrives as REAL', type === 'real');
own('a key INTEGER or without a type finds it', typed && untyped);
own('a key TEXT does not', !text);
own("SQL can't load extensions", refused('yes', 'not authorized',
  () => scalar(db, 'SELECT load_extension(?)', extension)) === 'yes');
own('without defaultSafeIntegers() a large integer is rounded',
  scalar(new Database(':memory:'), 'SELECT 9007199254740993') === 9007199254740992);

const plain = new Database(':memory:').prepare('SELECT typeof(?) AS type');
let refusal = '';
try {
  plain.get(null);
} catch (error) {
  refusal = String(error);
}
own('a lone null is an error, but not in an array',
  refusal !== '' && plain.get([null]).type === 'null');
const program = `const Database = require(${JSON.stringify(join(modules, 'libsql'))});
  new Database(':memory:').prepare('SELECT ?').get(Buffer.from([1]));`;
own('a lone Buffer ends the process, but not in an array',
  spawnSync(process.execPath, ['-e', program]).status !== 0
  && plain.get([Buffer.from([1])]).type === 'blob');
