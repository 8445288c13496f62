// run.sh's scenario by Knex, with better-sqlite3: knex_client.mjs DIRECTORY
import { createRequire } from 'node:module';
import { join } from 'node:path';
import {
  ada, askedIds, bob, dora, eve, extension, fred, gina, hana, ids, nodes, own, pairs, path,
  requests, said, schema, show, tables, users, zoe,
} from './scenario.mjs';

const require = createRequire(join(process.env.CUCKOO_NODE_MODULES, 'client.js'));
const Knex = require('knex');

function open() {
  return Knex({
    client: 'better-sqlite3',
    connection: { filename: path },
    useNullAsDefault: true,
    pool: {
      afterCreate(connection, done) {
        connection.loadExtension(extension);
        connection.defaultSafeIntegers();
        done(null, connection);
      },
    },
  });
}

// The value of the only column of the only row.
async function scalar(query) {
  return Object.values((await query)[0])[0];
}

const contains = (knex, email) =>
  scalar(knex.select(knex.raw('filter_contains(?, ?)', ['seen', email])));

const doc = async (knex, name) => (await knex('kv').where({ name }).first('doc')).doc;

async function refused(word, text, query) {
  try {
    return `no error, ${await query}`;
  } catch (error) {
    return said(error).includes(text) ? word : said(error);
  }
}

let knex = open();
const sqlite = await scalar(knex.select(knex.raw('sqlite_version()')));
console.log(`client: Knex ${require('knex/package.json').version}, SQLite`, sqlite);

for (const statement of schema.trim().split('\n')) await knex.raw(statement);
show('tables', ...await knex('sqlite_schema').whereLike('sql', 'CREATE VIRTUAL%').orderBy('name')
  .pluck('name'));

await knex.transaction(async (trx) => {
  await trx('users').insert(users.map(([id, email]) => ({ id, email })));
  await trx('seen').insert(users.map(([, email]) => ({ email })));
  await trx('ids').insert(ids.map((id) => ({ id })));
  await trx('kv').insert(pairs.map(([name, value]) => ({ name, doc: value })));
  await trx('kv').insert({ doc: 'to be' });
  await trx('ring').insert(nodes.map(([node, weight]) => ({ node, weight })));
  await trx('requests').insert(requests.map((email) => ({ email })));
});
const counts = [];
for (const table of tables) counts.push(await scalar(knex(table).count()));
show('inserts', ...counts);

const joined = await knex('requests').join('seen', 'seen.email', 'requests.email')
  .join('users', 'users.email', 'seen.email').orderBy('users.id').select('users.id', 'users.email');
for (const { id, email } of joined) show('join', id, email);
show('in', ...await knex('seen').whereIn('email', [zoe, eve, ada]).orderBy('email').pluck('email'));

const removed = [await knex('seen').where({ email: bob }).del(),
  await knex('seen').where({ email: bob }).del()];
show('delete', ...removed, await contains(knex, bob));

await knex.transaction(async (trx) => {
  await trx('seen').insert({ email: dora });
  // A transaction in another is a savepoint, which an error rolls back.
  await trx.transaction(async (inside) => {
    await inside('seen').insert({ email: fred });
    await inside('seen').where({ email: ada }).del();
    await inside('kv').where({ name: 'greeting' }).update({ doc: 'bye' });
    throw new Error('back');
  }).catch(() => {});
});
show('savepoint', await contains(knex, dora), await contains(knex, fred),
  await contains(knex, ada), await doc(knex, 'greeting'));

const second = open();
const ofFirst = await contains(second, dora);
await second('seen').insert({ email: gina });
show('second connection', ofFirst, await contains(knex, gina));
await second.destroy();
await knex.destroy();

knex = open();
const checks = [];
for (const table of tables.slice(1)) {
  checks.push(await scalar(knex.select(knex.raw('cuckoo_check(?)', [table]))));
}
show('reopen', await scalar(knex('seen').count()), await doc(knex, 'greeting'), ...checks);

const image = await scalar(knex.select(knex.raw('filter_export(?)', ['seen'])));
await knex('copy').insert({ copy: 'import', email: image });
const length = await scalar(knex.select(knex.raw('length(filter_export(?))', ['seen'])));
show('image', BigInt(image.length) === length,
  await scalar(knex.select(knex.raw('filter_contains(?, ?)', [image, ada]))),
  await scalar(knex.select(knex.raw('filter_contains(?, ?)', [image, bob]))),
  await scalar(knex('copy').count()),
  await scalar(knex.select(knex.raw('filter_contains(?, ?)', ['copy', zoe]))));

const answers = [];
for (const id of askedIds) {
  answers.push(await scalar(knex.select(knex.raw('filter_contains(?, ?)', ['ids', id]))));
}
show('integers', ...answers, await doc(knex, 'big'),
  await scalar(knex('kv').where({ name: 'big' }).select(knex.raw('typeof(doc)'))));
show('text', await doc(knex, 'note'), await contains(knex, zoe),
  (await knex('ring').where({ key: 'Grüße 😀' }).first('node')).node);
show('blob', (await doc(knex, 'raw')).toString('hex'),
  await scalar(knex('kv').where('name', knex.raw('sha1(?)', ['to be'])).select('doc')));
show('null', await contains(knex, null), await doc(knex, 'nothing'),
  (await knex.raw('SELECT email FROM seen WHERE email = ?', [null])).length);

const words = [];
await knex.transaction(async (trx) => {
  await trx('seen').insert({ email: hana });
  words.push(
    await refused('duplicate', 'UNIQUE constraint failed: kv.name',
      trx('kv').insert({ name: 'greeting', doc: 'again' })),
    await refused('NULL', "a filter can't hold NULL", trx('seen').insert({ email: null })),
    await refused('list', 'does not know its keys', trx('seen').select()));
});
show('refused', ...words, await contains(knex, hana));

own('a number arrives as REAL',
  await scalar(knex.select(knex.raw('typeof(?)', [42]))) === 'real');
const unlisted = async (query) => await refused('yes', 'does not know its keys', query) === 'yes';
own('select() and first() without a key: an error',
  await unlisted(knex('seen').select()) && await unlisted(knex('seen').first()));
own('first() with one answers', (await knex('seen').where({ email: ada }).first()).email === ada
  && await knex('seen').where({ email: 'nobody' }).first() === undefined);
const noUpsert = async (query) =>
  await refused('yes', 'UPSERT not implemented', query) === 'yes';
const again = { name: 'greeting', doc: 'again' };
own('onConflict().ignore() and .merge(): an error',
  await noUpsert(knex('kv').insert(again).onConflict('name').ignore())
  && await noUpsert(knex('kv').insert(again).onConflict('name').merge()));
const put = async (how, name, value) =>
  (await knex.raw(`INSERT OR ${how} INTO kv(name, doc) VALUES (?, ?)`, [name, value])).changes;
own('INSERT OR IGNORE and OR REPLACE by raw() instead',
  await put('IGNORE', 'greeting', 'again') === 0 && await put('REPLACE', 'greeting', 'new') === 1);
await knex.destroy();
