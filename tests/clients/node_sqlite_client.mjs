// run.sh's scenario by Node's own node:sqlite: node_sqlite_client.mjs DIRECTORY
import { DatabaseSync } from 'node:sqlite';
import { extension, inTransaction, numbers, own, scalar, scenario } from './scenario.mjs';
import { webChecks } from './web.mjs';

function open(path) {
  const db = new DatabaseSync(path, { allowExtension: true, readBigInts: true });
  db.loadExtension('cuckoo');
  return db;
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

// A session records ordinary tables: the source, and, if told nothing, what is behind the filter too.
function followed() {
  const one = new DatabaseSync(':memory:', { allowExtension: true });
  one.loadExtension(extension);
  one.exec('CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT);'
    + 'CREATE VIRTUAL TABLE f USING cuckoo_filter(a, source = t(a), triggers = on, seed = 1);'
    + "INSERT INTO t VALUES (1, 'old')");
  return one;
}
function applied(options) {
  const from = followed();
  const to = followed();
  to.exec("INSERT INTO t VALUES (9, 'own')");
  const session = from.createSession(options);
  from.exec("INSERT INTO t VALUES (2, 'sent'); UPDATE t SET a = 'changed' WHERE id = 1");
  const whole = to.applyChangeset(session.changeset());
  return whole && scalar(to, 'SELECT cuckoo_check(?)', 'f') === 'ok'
    && scalar(to, "SELECT count(*) FROM t WHERE filter_contains('f', a)") === 3;
}
own("a change set of the source alone keeps the other side's filter in step",
  applied({ table: 't' }));
let conflicts = false;
try {
  conflicts = !applied({});
} catch {
  conflicts = true;
}
own('one of all tables conflicts', conflicts);

await webChecks('node:sqlite', open);
