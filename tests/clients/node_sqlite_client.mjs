// run.sh's scenario by Node's own node:sqlite: node_sqlite_client.mjs DIRECTORY
import { DatabaseSync } from 'node:sqlite';
import { extension, numbers, own, scalar, scenario } from './scenario.mjs';

function open(path) {
  const db = new DatabaseSync(path, { allowExtension: true, readBigInts: true });
  db.loadExtension(extension);
  return db;
}

function inTransaction(db, work) {
  db.exec('BEGIN');
  try {
    work();
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

console.log(`client: node:sqlite of Node.js ${process.versions.node}, SQLite`,
  process.versions.sqlite);
const db = scenario({ open, inTransaction });

const { type, typed, untyped, text } = numbers(db);
own('a number arrives as REAL', type === 'real');
own('a key INTEGER or without a type finds it', typed && untyped);
own('a key TEXT does not', !text);
db.close();

let refusal = '';
try {
  new DatabaseSync(':memory:').loadExtension(extension);
} catch (error) {
  refusal = error.message;
}
own('without allowExtension it is an error', refusal.includes('extension loading is not allowed'));

const plain = new DatabaseSync(':memory:', { allowExtension: true });
plain.loadExtension(extension);
plain.exec("CREATE VIRTUAL TABLE kv USING flash_kv(name TEXT, doc, size = '1MB')");
plain.prepare('INSERT INTO kv VALUES (?, ?)').run('big', 2n ** 63n - 1n);
let tooLarge = false;
try {
  scalar(plain, 'SELECT doc FROM kv');
} catch (error) {
  tooLarge = error instanceof RangeError;
}
own('without readBigInts a large integer is an error', tooLarge);
