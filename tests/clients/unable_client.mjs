// Packages that have no way to load an extension, as docs/clients.md says: @libsql/client and Turso
// Database. unable_client.mjs DIRECTORY
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { extension, own, path, said } from './scenario.mjs';

const modules = process.env.CUCKOO_NODE_MODULES;
const require = createRequire(join(modules, 'client.js'));
const { createClient } = require('@libsql/client');
const { connect } = require('@tursodatabase/database');

const version = (name) =>
  JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8')).version;
console.log(`client: @libsql/client ${version('@libsql/client')},`,
  `Turso Database ${version('@tursodatabase/database')}`);

async function refused(text, action) {
  try {
    await action();
    return false;
  } catch (error) {
    return said(error).includes(text);
  }
}

const load = `SELECT load_extension('${extension}')`;
const create = 'CREATE VIRTUAL TABLE seen USING cuckoo_filter(email TEXT)';

const client = createClient({ url: `file:${path}` });
own('@libsql/client has no loadExtension()', client.loadExtension === undefined);
own("its SQL can't load extensions", await refused('not authorized', () => client.execute(load)));
own('so there are no filters', await refused('no such module', () => client.execute(create)));
client.close();

const turso = await connect(`${path}.turso`);
const all = async (sql) => (await turso.prepare(sql)).all();
own("Turso Database's loadExtension() says that it is not implemented",
  await refused('not implemented', () => turso.loadExtension(extension)));
own("its SQL can't load extensions",
  await refused('extension loading is disabled', () => all(load)));
own('so there are no filters there', await refused('no such module', () => all(create)));
await turso.close();
