// run.sh's scenario by Deno's node:sqlite: deno_client.mjs DIRECTORY
import { DatabaseSync } from 'node:sqlite';
import { extension, inTransaction, numbers, own, refused, scalar, scenario } from './scenario.mjs';

function open(path) {
  const db = new DatabaseSync(path, { allowExtension: true, readBigInts: true });
  db.loadExtension('cuckoo');
  return db;
}

console.log(`client: node:sqlite of Deno ${Deno.version.deno}, SQLite`,
  scalar(new DatabaseSync(':memory:'), 'SELECT sqlite_version()'));
const db = scenario({ open, inTransaction });

const { type, typed, untyped, text } = numbers(db);
own('a number arrives as REAL', type === 'real');
own('a key INTEGER or without a type finds it', typed && untyped);
own('a key TEXT does not', !text);

const fails = (words, action) => refused('yes', words, action) === 'yes';
own('without allowExtension it is an error', fails('allowExtension is not enabled',
  () => new DatabaseSync(':memory:').loadExtension(extension)));
// Node.js needs enableLoadExtension(false) for that.
own('there is no enableLoadExtension()', db.enableLoadExtension === undefined);
own("SQL can't load extensions in any case", fails('not authorized',
  () => scalar(db, 'SELECT load_extension(?)', extension)));
own('without readBigInts a large integer is an error', fails('too large',
  () => scalar(new DatabaseSync(':memory:'), 'SELECT 9007199254740993')));

// --allow-ffi for the extension, --allow-read and --allow-write for the database.
for (const permission of ['ffi', 'read', 'write']) {
  const database = new URL(`file://${Deno.args[0]}/permission.db`).pathname;
  const program = `import { DatabaseSync } from 'node:sqlite';
    const db = new DatabaseSync(${JSON.stringify(database)}, { allowExtension: true });
    db.loadExtension(${JSON.stringify(extension)});
    db.exec('CREATE VIRTUAL TABLE IF NOT EXISTS seen USING cuckoo_filter');`;
  const run = async (...flags) => (await new Deno.Command(Deno.execPath(), {
    args: ['run', '--no-prompt', ...flags, 'data:text/javascript,' + encodeURIComponent(program)],
    stderr: 'null',
  }).output()).success;
  const all = ['--allow-ffi', '--allow-read', '--allow-write'];
  own(`it takes --allow-${permission}`,
    await run(...all) && !await run(...all.filter((flag) => flag !== `--allow-${permission}`)));
}
db.close();
