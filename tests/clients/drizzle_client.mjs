// run.sh's scenario by Drizzle ORM, with better-sqlite3: drizzle_client.mjs DIRECTORY
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import {
  ada, askedIds, bob, dora, eve, extension, fred, gina, hana, ids, nodes, own, pairs, path,
  refused, requests, schema, show, users, zoe,
} from './scenario.mjs';

const require = createRequire(join(process.env.CUCKOO_NODE_MODULES, 'client.js'));
const Database = require('better-sqlite3');
const { drizzle } = require('drizzle-orm/better-sqlite3');
const { asc, eq, inArray, sql } = require('drizzle-orm');
const { customType, integer, sqliteTable, text } = require('drizzle-orm/sqlite-core');

// The tables name the columns that are asked for; schema.sql made them. integer() hands on what
// better-sqlite3 gives: a BigInt here.
const any = customType({ dataType: () => '' });
const user = sqliteTable('users', { id: integer().primaryKey(), email: text() });
const request = sqliteTable('requests', { email: text() });
const seen = sqliteTable('seen', { email: text().primaryKey() });
const id = sqliteTable('ids', { id: integer().primaryKey() });
const kv = sqliteTable('kv', { name: text().primaryKey(), doc: any() });
const ring = sqliteTable('ring', { node: text().primaryKey(), weight: any(), key: text() });
const copy = sqliteTable('copy', { email: any(), copy: text() });

function open() {
  const connection = new Database(path);
  connection.loadExtension(extension);
  connection.defaultSafeIntegers();
  return drizzle({ client: connection });
}

const scalar = (db, query) => db.values(query)[0][0];
const contains = (db, email) => scalar(db, sql`SELECT filter_contains('seen', ${email})`);
const doc = (db, name) => db.select().from(kv).where(eq(kv.name, name)).get().doc;

let db = open();
const { version } = JSON.parse(readFileSync(
  join(process.env.CUCKOO_NODE_MODULES, 'drizzle-orm/package.json'), 'utf8'));
console.log(`client: Drizzle ${version}, SQLite`,
  scalar(db, sql`SELECT sqlite_version()`));
for (const statement of schema.trim().split('\n')) db.run(statement);
show('tables', ...db.values(
  sql`SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%' ORDER BY 1`).flat());

db.transaction((tx) => {
  tx.insert(user).values(users.map(([id, email]) => ({ id, email }))).run();
  tx.insert(seen).values(users.map(([, email]) => ({ email }))).run();
  tx.insert(id).values(ids.map((id) => ({ id }))).run();
  tx.insert(kv).values(pairs.map(([name, doc]) => ({ name, doc }))).run();
  tx.run(sql`INSERT INTO kv(doc) VALUES (${'to be'})`);
  for (const [node, weight] of nodes) {
    tx.run(sql`INSERT INTO ring(node, weight) VALUES (${node}, ${weight})`);
  }
  tx.insert(request).values(requests.map((email) => ({ email }))).run();
});
const counts = [];
for (const table of [user, seen, id, kv, ring]) counts.push(await db.$count(table));
show('inserts', ...counts);

const joined = db.select({ id: user.id, email: user.email }).from(request)
  .innerJoin(seen, eq(seen.email, request.email)).innerJoin(user, eq(user.email, seen.email))
  .orderBy(asc(user.id)).all();
for (const { id, email } of joined) show('join', id, email);
const found = db.select().from(seen).where(inArray(seen.email, [zoe, eve, ada]))
  .orderBy(asc(seen.email)).all();
show('in', ...found.map(({ email }) => email));

const remove = (db, email) => db.delete(seen).where(eq(seen.email, email)).run().changes;
show('delete', remove(db, bob), remove(db, bob), contains(db, bob));

db.transaction((tx) => {
  tx.insert(seen).values({ email: dora }).run();
  // A transaction in another is a savepoint; rollback() is an error that goes up to here.
  try {
    tx.transaction((inside) => {
      inside.insert(seen).values({ email: fred }).run();
      remove(inside, ada);
      inside.update(kv).set({ doc: 'bye' }).where(eq(kv.name, 'greeting')).run();
      inside.rollback();
    });
  } catch (error) {
    if (error.constructor.name !== 'TransactionRollbackError') throw error;
  }
});
show('savepoint', contains(db, dora), contains(db, fred), contains(db, ada), doc(db, 'greeting'));

const second = open();
const ofFirst = contains(second, dora);
second.insert(seen).values({ email: gina }).run();
show('second connection', ofFirst, contains(db, gina));
second.$client.close();
db.$client.close();

db = open();
show('reopen', await db.$count(seen), doc(db, 'greeting'),
  ...['seen', 'ids', 'kv', 'ring'].map((table) => scalar(db, sql`SELECT cuckoo_check(${table})`)));

const image = scalar(db, sql`SELECT filter_export('seen')`);
db.insert(copy).values({ copy: 'import', email: image }).run();
show('image', BigInt(image.length) === scalar(db, sql`SELECT length(filter_export('seen'))`),
  scalar(db, sql`SELECT filter_contains(${image}, ${ada})`),
  scalar(db, sql`SELECT filter_contains(${image}, ${bob})`),
  await db.$count(copy), scalar(db, sql`SELECT filter_contains('copy', ${zoe})`));

show('integers',
  ...askedIds.map((id) => scalar(db, sql`SELECT filter_contains('ids', ${id})`)),
  doc(db, 'big'), scalar(db, sql`SELECT typeof(doc) FROM kv WHERE name = ${'big'}`));
show('text', doc(db, 'note'), contains(db, zoe),
  db.select({ node: ring.node }).from(ring).where(eq(ring.key, 'Grüße 😀')).get().node);
show('blob', doc(db, 'raw').toString('hex'),
  db.select().from(kv).where(eq(kv.name, sql`sha1(${'to be'})`)).get().doc);
show('null', contains(db, null), doc(db, 'nothing'),
  db.values(sql`SELECT email FROM seen WHERE email = ${null}`).length);

const again = { name: 'greeting', doc: 'again' };
const words = [];
db.transaction((tx) => {
  tx.insert(seen).values({ email: hana }).run();
  words.push(
    refused('duplicate', 'UNIQUE constraint failed: kv.name',
      () => tx.insert(kv).values(again).run()),
    refused('NULL', "a filter can't hold NULL",
      () => tx.insert(seen).values({ email: null }).run()),
    refused('list', 'does not know its keys', () => tx.select().from(seen).all()));
});
show('refused', ...words, contains(db, hana));

own('a number arrives as REAL', scalar(db, sql`SELECT typeof(${42})`) === 'real');
const fails = (text, action) => refused('yes', text, action) === 'yes';
own('all() and get() without a key: an error',
  fails('does not know its keys', () => db.select().from(seen).all())
  && fails('does not know its keys', () => db.select().from(seen).get()));
own('get() with one answers',
  db.select().from(seen).where(eq(seen.email, ada)).get().email === ada
  && db.select().from(seen).where(eq(seen.email, 'nobody')).get() === undefined);
own('onConflictDoNothing() and onConflictDoUpdate(): an error',
  fails('UPSERT not implemented',
    () => db.insert(kv).values(again).onConflictDoNothing().run())
  && fails('UPSERT not implemented', () => db.insert(kv).values(again)
    .onConflictDoUpdate({ target: kv.name, set: { doc: 'again' } }).run()));
own('INSERT OR IGNORE and OR REPLACE by sql`…` instead',
  db.run(sql`INSERT OR IGNORE INTO ${kv} VALUES (${'greeting'}, ${'again'})`).changes === 0
  && db.run(sql`INSERT OR REPLACE INTO ${kv} VALUES (${'greeting'}, ${'new'})`).changes === 1);
own('delete().returning(): an error', fails('DELETE RETURNING is not available',
  () => db.delete(seen).where(eq(seen.email, ada)).returning().all()));
