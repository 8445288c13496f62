// run.sh's scenario by TypeORM, with better-sqlite3: typeorm_client.mjs DIRECTORY
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import {
  ada, askedIds, bob, dora, eve, extension, fred, gina, hana, ids, nodes, own, pairs, path,
  requests, said, schema, show, tables, users, zoe,
} from './scenario.mjs';

const require = createRequire(join(process.env.CUCKOO_NODE_MODULES, 'client.js'));
const { DataSource, EntitySchema, In, TableColumn } = require('typeorm');

// The entities name the columns that are asked for; schema.sql made the tables. synchronize is left
// off, because TypeORM would make ordinary tables.
const entity = (name, columns) => new EntitySchema({ name, tableName: name, columns });
const key = (type) => ({ type, primary: true });
const User = entity('users', { id: key('integer'), email: { type: 'text', nullable: true } });
const Request = entity('requests', { rowid: key('integer'), email: { type: 'text' } });
const Seen = entity('seen', { email: key('text') });
const Id = entity('ids', { id: key('integer') });
const Pair = entity('kv', { name: key('text'), doc: { type: 'blob', nullable: true } });
const Node = entity('ring', { node: key('text'), weight: { type: 'integer' } });

async function open() {
  const db = new DataSource({
    type: 'better-sqlite3',
    database: path,
    entities: [User, Request, Seen, Id, Pair, Node],
    prepareDatabase(connection) {
      connection.loadExtension('cuckoo');
      connection.defaultSafeIntegers();
    },
  });
  await db.initialize();
  return db;
}

// The value of the only column of the only row.
async function scalar(db, sql, ...values) {
  return Object.values((await db.query(sql, values))[0])[0];
}

const contains = (db, email) => scalar(db, "SELECT filter_contains('seen', ?)", email);
const doc = async (db, name) => (await db.getRepository(Pair).findOneBy({ name })).doc;

async function refused(word, text, action) {
  try {
    return `no error, ${await action()}`;
  } catch (error) {
    return said(error).includes(text) ? word : said(error);
  }
}

let db = await open();
console.log(`client: TypeORM ${JSON.parse(readFileSync(
    join(process.env.CUCKOO_NODE_MODULES, 'typeorm/package.json'), 'utf8')).version}, SQLite`,
  await scalar(db, 'SELECT sqlite_version()'));
for (const statement of schema.trim().split('\n')) await db.query(statement);
show('tables', ...(await db.query(
  "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%' ORDER BY 1"))
  .map(({ name }) => name));

await db.transaction(async (manager) => {
  await manager.insert(User, users.map(([id, email]) => ({ id, email })));
  await manager.insert(Seen, users.map(([, email]) => ({ email })));
  await manager.insert(Id, ids.map((id) => ({ id })));
  await manager.insert(Pair, pairs.map(([name, value]) => ({ name, doc: value })));
  await manager.query('INSERT INTO kv(doc) VALUES (?)', ['to be']);
  await manager.insert(Node, nodes.map(([node, weight]) => ({ node, weight })));
  for (const email of requests) {
    await manager.query('INSERT INTO requests(email) VALUES (?)', [email]);
  }
});
const counts = [];
for (const table of tables) counts.push(await scalar(db, `SELECT count(*) FROM ${table}`));
show('inserts', ...counts);

const joined = await db.createQueryBuilder(Request, 'r')
  .innerJoin(Seen, 's', 's.email = r.email').innerJoin(User, 'u', 'u.email = s.email')
  .select(['u.id AS id', 'u.email AS email']).orderBy('u.id').getRawMany();
for (const { id, email } of joined) show('join', id, email);
show('in', ...(await db.getRepository(Seen)
  .find({ where: { email: In([zoe, eve, ada]) }, order: { email: 'ASC' } }))
  .map(({ email }) => email));

const removed = [];
for (let i = 0; i < 2; i++) {
  await db.getRepository(Seen).delete({ email: bob });
  removed.push(await scalar(db, 'SELECT changes()'));
}
show('delete', ...removed, await contains(db, bob));

await db.transaction(async (manager) => {
  await manager.insert(Seen, { email: dora });
  // A transaction in another is a savepoint, which an error rolls back.
  await manager.transaction(async (inside) => {
    await inside.insert(Seen, { email: fred });
    await inside.delete(Seen, { email: ada });
    await inside.update(Pair, { name: 'greeting' }, { doc: 'bye' });
    throw new Error('back');
  }).catch(() => {});
});
show('savepoint', await contains(db, dora), await contains(db, fred), await contains(db, ada),
  await doc(db, 'greeting'));

const second = await open();
const ofFirst = await contains(second, dora);
await second.getRepository(Seen).insert({ email: gina });
show('second connection', ofFirst, await contains(db, gina));
await second.destroy();
await db.destroy();

db = await open();
const checks = [];
for (const table of tables.slice(1)) checks.push(await scalar(db, 'SELECT cuckoo_check(?)', table));
show('reopen', await scalar(db, 'SELECT count(*) FROM seen'), await doc(db, 'greeting'), ...checks);

const image = await scalar(db, "SELECT filter_export('seen')");
await db.query("INSERT INTO copy(copy, email) VALUES ('import', ?)", [image]);
show('image',
  BigInt(image.length) === await scalar(db, "SELECT length(filter_export('seen'))"),
  await scalar(db, 'SELECT filter_contains(?, ?)', image, ada),
  await scalar(db, 'SELECT filter_contains(?, ?)', image, bob),
  await scalar(db, 'SELECT count(*) FROM copy'),
  await scalar(db, "SELECT filter_contains('copy', ?)", zoe));

const answers = [];
for (const id of askedIds) answers.push(await scalar(db, "SELECT filter_contains('ids', ?)", id));
show('integers', ...answers, await doc(db, 'big'),
  await scalar(db, 'SELECT typeof(doc) FROM kv WHERE name = ?', 'big'));
show('text', await doc(db, 'note'), await contains(db, zoe),
  await scalar(db, 'SELECT node FROM ring WHERE key = ?', 'Grüße 😀'));
show('blob', (await doc(db, 'raw')).toString('hex'),
  await scalar(db, 'SELECT doc FROM kv WHERE name = sha1(?)', 'to be'));
show('null', await contains(db, null), await doc(db, 'nothing'),
  (await db.query('SELECT email FROM seen WHERE email = ?', [null])).length);

const again = { name: 'greeting', doc: 'again' };
const words = [];
await db.transaction(async (manager) => {
  await manager.insert(Seen, { email: hana });
  words.push(
    await refused('duplicate', 'UNIQUE constraint failed: kv.name',
      () => manager.insert(Pair, again)),
    await refused('NULL', "a filter can't hold NULL",
      () => manager.query('INSERT INTO seen VALUES (?)', [null])),
    await refused('list', 'does not know its keys', () => manager.find(Seen)));
});
show('refused', ...words, await contains(db, hana));

const fails = async (text, action) => await refused('yes', text, action) === 'yes';
const seen = db.getRepository(Seen);
const kv = db.getRepository(Pair);
own('a number arrives as REAL', await scalar(db, 'SELECT typeof(?)', 42) === 'real');
own('find() without a key: an error', await fails('does not know its keys', () => seen.find()));
own('findOneBy() and existsBy() with one answer',
  (await seen.findOneBy({ email: ada })).email === ada
  && await seen.findOneBy({ email: 'nobody' }) === null
  && await seen.existsBy({ email: ada }));
own('upsert(), orUpdate() and orIgnore(): an error',
  await fails('UPSERT not implemented', () => kv.upsert(again, ['name']))
  && await fails('UPSERT not implemented',
    () => kv.createQueryBuilder().insert().values(again).orUpdate(['doc'], ['name']).execute())
  && await fails('UPSERT not implemented',
    () => kv.createQueryBuilder().insert().values(again).orIgnore().execute()));
await db.query('INSERT OR IGNORE INTO kv(name, doc) VALUES (?, ?)', ['greeting', 'again']);
own('INSERT OR IGNORE by query() instead', await doc(db, 'greeting') === 'hello');
await kv.save(again);
own('save() of a flash_kv asks first, and is right', await doc(db, 'greeting') === 'again');
await seen.save({ email: ada });
own('save() of a filter asks first, and adds no key that is probably there',
  await scalar(db, 'SELECT count(*) FROM seen') === 5n);
own("SQL can't load extensions", await fails('not authorized',
  () => db.query('SELECT load_extension(?)', [extension])));
await db.query("INSERT INTO users(id, email) VALUES (7, 'old@example.org')");
await db.query('CREATE VIRTUAL TABLE known USING cuckoo_filter(email, source = users(email),'
  + ' triggers = on)');
const runner = db.createQueryRunner();
await runner.addColumn('users', new TableColumn({ name: 'note', type: 'text', isNullable: true }));
const known = (email) => scalar(db, "SELECT filter_contains('known', ?)", email);
own('a migration makes the table anew and drops the triggers: the filter refuses to be asked',
  await fails("'rebuild'", () => known('old@example.org')));
await db.query("INSERT INTO known(known) VALUES ('rebuild')");
await db.query("INSERT INTO users(id, email) VALUES (8, 'new@example.org')");
own("'rebuild' makes them again",
  await known('old@example.org') === 1n && await known('new@example.org') === 1n);
await db.destroy();
