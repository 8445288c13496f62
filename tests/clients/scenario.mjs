// run.sh's scenario for the clients in JavaScript, whose connections have much in common: exec(),
// prepare(), and statements with run(), get() and all(). A client gives
//   open(path)           a connection with the extension loaded, which reads integers as BigInt
//   inTransaction(db, f) what that client's users write
// Integers are given as BigInt: a number is a double, and reaches SQLite as REAL.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const extension = process.env.CUCKOO_EXTENSION;
export const path = join(process.argv[2], 'client.db');
export const schema = readFileSync(join(import.meta.dirname, 'schema.sql'), 'utf8');

export const tables = ['users', 'seen', 'ids', 'kv', 'ring'];
export const [ada, bob, zoe] = ['ada@example.org', 'bob@example.org', 'zoë@例え.jp'];
export const [dora, eve, fred] = ['dora@example.org', 'eve@example.org', 'fred@example.org'];
export const [gina, hana] = ['gina@example.org', 'hana@example.org'];
export const large = 2n ** 53n + 1n;
export const largest = 2n ** 63n - 1n;
export const users = [[1n, ada], [2n, bob], [large, zoe]];
export const ids = [1n, 2n, large, largest];
export const askedIds = [large, 2n ** 53n, largest, -(2n ** 63n)];
export const pairs = [['greeting', 'hello'], ['note', 'Grüße 😀'], ['nothing', null],
  ['raw', Buffer.from([0x00, 0xff, 0x80])], ['big', largest]];
export const nodes = [['cache1', 1], ['cache2', 1], ['größe3', 2]];
export const requests = [eve, bob, zoe];

export function show(step, ...values) {
  console.log(`${step}:`, ...values.map((value) =>
    value === null ? 'NULL' : typeof value === 'boolean' ? Number(value) : String(value)));
}

// A transaction of node:sqlite, which has nothing of its own for one.
export function inTransaction(db, work) {
  db.exec('BEGIN');
  try {
    work();
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

// The word if the action is an error with that text, else what it did.
export function refused(word, text, action) {
  try {
    return `no error, ${action()}`;
  } catch (error) {
    return said(error).includes(text) ? word : said(error);
  }
}

// An ORM wraps the error of SQLite, some more than once.
export function said(error) {
  return error.cause ? `${error.message} ${said(error.cause)}` : error.message;
}

export function own(what, ok) {
  console.log('own:', ok ? 'ok' : 'FAILED', what);
}

export function scalar(db, sql, ...values) {
  return Object.values(db.prepare(sql).get(...values))[0];
}

export const contains = (db, email) => scalar(db, "SELECT filter_contains('seen', ?)", email);

export function scenario({ open, inTransaction }) {
  let db = open(path);
  db.exec(schema);
  const named = db.prepare(
    "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%' ORDER BY 1").all();
  show('tables', ...named.map(({ name }) => name));

  inTransaction(db, () => {
    const addUser = db.prepare('INSERT INTO users VALUES (?, ?)');
    const addSeen = db.prepare('INSERT INTO seen VALUES (?)');
    for (const [id, email] of users) {
      addUser.run(id, email);
      addSeen.run(email);
    }
    const addId = db.prepare('INSERT INTO ids VALUES (?)');
    for (const id of ids) addId.run(id);
    const addPair = db.prepare('INSERT INTO kv VALUES (?, ?)');
    for (const pair of pairs) addPair.run(...pair);
    db.prepare('INSERT INTO kv(doc) VALUES (?)').run('to be');
    const addNode = db.prepare('INSERT INTO ring(node, weight) VALUES (?, ?)');
    for (const node of nodes) addNode.run(...node);
    const addRequest = db.prepare('INSERT INTO requests VALUES (?)');
    for (const email of requests) addRequest.run(email);
  });
  show('inserts', ...tables.map((table) => scalar(db, `SELECT count(*) FROM ${table}`)));

  const joined = db.prepare('SELECT u.id, u.email FROM requests JOIN seen USING (email)' +
    ' JOIN users u USING (email) ORDER BY u.id').all();
  for (const { id, email } of joined) show('join', id, email);
  const found = db.prepare('SELECT email FROM seen WHERE email IN (?, ?, ?) ORDER BY email')
    .all(zoe, eve, ada);
  show('in', ...found.map(({ email }) => email));

  const remove = db.prepare('DELETE FROM seen WHERE email = ?');
  const removed = [remove.run(bob).changes, remove.run(bob).changes];
  show('delete', ...removed, contains(db, bob));

  inTransaction(db, () => {
    db.prepare('INSERT INTO seen VALUES (?)').run(dora);
    db.exec('SAVEPOINT inside');
    db.prepare('INSERT INTO seen VALUES (?)').run(fred);
    remove.run(ada);
    db.prepare('UPDATE kv SET doc = ? WHERE name = ?').run('bye', 'greeting');
    db.exec('ROLLBACK TO inside; RELEASE inside');
  });
  const greeting = "SELECT doc FROM kv WHERE name = 'greeting'";
  show('savepoint', contains(db, dora), contains(db, fred), contains(db, ada),
    scalar(db, greeting));

  const second = open(path);
  const ofFirst = contains(second, dora);
  second.prepare('INSERT INTO seen VALUES (?)').run(gina);
  show('second connection', ofFirst, contains(db, gina));
  second.close();
  db.close();

  db = open(path);
  show('reopen', scalar(db, 'SELECT count(*) FROM seen'), scalar(db, greeting),
    ...tables.slice(1).map((table) => scalar(db, 'SELECT cuckoo_check(?)', table)));

  const image = scalar(db, "SELECT filter_export('seen')");
  db.prepare("INSERT INTO copy(copy, email) VALUES ('import', ?)").run(image);
  show('image', BigInt(image.length) === scalar(db, "SELECT length(filter_export('seen'))"),
    scalar(db, 'SELECT filter_contains(?, ?)', image, ada),
    scalar(db, 'SELECT filter_contains(?, ?)', image, bob),
    scalar(db, 'SELECT count(*) FROM copy'),
    scalar(db, "SELECT filter_contains('copy', ?)", zoe));

  const doc = 'SELECT doc FROM kv WHERE name = ?';
  show('integers', ...askedIds.map((id) => scalar(db, "SELECT filter_contains('ids', ?)", id)),
    scalar(db, doc, 'big'), scalar(db, 'SELECT typeof(doc) FROM kv WHERE name = ?', 'big'));
  show('text', scalar(db, doc, 'note'), contains(db, zoe),
    scalar(db, 'SELECT node FROM ring WHERE key = ?', 'Grüße 😀'));
  show('blob', Buffer.from(scalar(db, doc, 'raw')).toString('hex'),
    scalar(db, 'SELECT doc FROM kv WHERE name = sha1(?)', 'to be'));
  show('null', contains(db, null), scalar(db, doc, 'nothing'),
    db.prepare('SELECT email FROM seen WHERE email = ?').all(null).length);

  const words = [];
  inTransaction(db, () => {
    db.prepare('INSERT INTO seen VALUES (?)').run(hana);
    words.push(
      refused('duplicate', 'UNIQUE constraint failed: kv.name',
        () => db.prepare('INSERT INTO kv VALUES (?, ?)').run('greeting', 'again')),
      refused('NULL', "a filter can't hold NULL",
        () => db.prepare('INSERT INTO seen VALUES (?)').run(null)),
      refused('list', 'does not know its keys', () => db.prepare('SELECT * FROM seen').all()));
  });
  show('refused', ...words, contains(db, hana));
  return db;
}

// What a number is for SQLite, and what it finds in filters whose keys are 1, 2 and 3, by the type
// of the key.
export function numbers(db) {
  const answers = { type: scalar(db, 'SELECT typeof(?)', 2) };
  for (const [name, type] of [['typed', 'INTEGER'], ['untyped', ''], ['text', 'TEXT']]) {
    db.exec(`CREATE VIRTUAL TABLE ${name} USING cuckoo_filter(id ${type}, seed = 1);
             INSERT INTO ${name} VALUES (1), (2), (3)`);
    answers[name] = scalar(db, `SELECT filter_contains('${name}', ?)`, 2) === 1n;
  }
  return answers;
}
