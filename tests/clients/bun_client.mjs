// run.sh's scenario by bun:sqlite: bun_client.mjs DIRECTORY
import { Database } from 'bun:sqlite';
import { extension, numbers, own, scenario } from './scenario.mjs';

function open(path) {
  const db = new Database(path, { safeIntegers: true, create: true });
  db.loadExtension(extension);
  return db;
}

function inTransaction(db, work) {
  db.transaction(work)();
}

const { version } = new Database(':memory:').query('SELECT sqlite_version() AS version').get();
console.log(`client: Bun ${Bun.version}, SQLite`, version);
const db = scenario({ open, inTransaction });

const { type, typed, untyped, text } = numbers(db);
own('a whole number arrives as INTEGER', type === 'integer'
  && db.query('SELECT typeof(?) AS type').get(2 ** 40).type === 'integer');
own('a key of any type finds it', typed && untyped && text);
own('another number arrives as REAL',
  db.query('SELECT typeof(?) AS type').get(0.5).type === 'real');
own('without safeIntegers a large integer is rounded',
  new Database(':memory:').query('SELECT 9007199254740993 AS id').get().id === 9007199254740992);
