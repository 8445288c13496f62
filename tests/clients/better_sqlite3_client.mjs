// run.sh's scenario by better-sqlite3: better_sqlite3_client.mjs DIRECTORY
import { copyFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ada, contains, extension, numbers, own, path, scalar, scenario } from './scenario.mjs';
import { webChecks } from './web.mjs';

const require = createRequire(join(process.env.CUCKOO_NODE_MODULES, 'client.js'));
const Database = require('better-sqlite3');

function open(path) {
  const db = new Database(path);
  db.loadExtension(extension);
  db.defaultSafeIntegers();
  return db;
}

function inTransaction(db, work) {
  db.transaction(work)();
}

const { version } = require('better-sqlite3/package.json');
const sqlite = new Database(':memory:').prepare('SELECT sqlite_version()').pluck().get();
console.log(`client: better-sqlite3 ${version}, SQLite`, sqlite);
const db = scenario({ open, inTransaction });

const { type, typed, untyped, text } = numbers(db);
own('a number arrives as REAL', type === 'real');
own('a key INTEGER or without a type finds it', typed && untyped);
own('a key TEXT does not', !text);

const plain = new Database(':memory:');
own('without defaultSafeIntegers() a large integer is rounded',
  plain.prepare('SELECT 9007199254740993').pluck().get() === 9007199254740992);

await db.backup(`${path}.backup`);
const copy = open(`${path}.backup`);
own('a copy by backup() is whole',
  scalar(copy, "SELECT cuckoo_check('seen')") === 'ok' && contains(copy, ada) === 1n);

// node:sqlite is a second SQLite in this process. The two must not open one file: the locks of both
// end when either closes it.
const other = new DatabaseSync(':memory:', { allowExtension: true });
let refusal = '';
try {
  other.loadExtension(extension);
} catch (error) {
  refusal = error.message;
}
own('a second SQLite of the process is refused, and told the way out',
  refusal.includes('serves another SQLite library of this process already; load a copy'));
const second = join(dirname(path), 'cuckoo2.so');
copyFileSync(extension, second);
other.loadExtension(second);
other.exec("CREATE VIRTUAL TABLE seen USING cuckoo_filter; INSERT INTO seen VALUES ('x')");
own('it takes a copy of the file, and both work',
  contains(other, 'x') === 1 && contains(copy, ada) === 1n);

await webChecks('better-sqlite3', open);
