// The programs of docs/web.md for the clients in JavaScript: they are
// taken out of the document as they are there, and two servers run them on one database.
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { own, scalar } from './scenario.mjs';

const document = readFileSync(join(import.meta.dirname, '../../docs/web.md'), 'utf8');

// The document's block in that language whose first line begins so.
function block(language, firstLine) {
  const parts = document.split(`\n\`\`\`${language}\n${firstLine}`);
  if (parts.length !== 2) throw new Error(`${parts.length - 1} blocks begin with ${firstLine}`);
  return `${firstLine}${parts[1].split('\n```\n')[0]}\n`;
}

function start(cwd) {
  const server = spawn(process.execPath, ['server.mjs'], {
    cwd,
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    let printed = '';
    server.stdout.on('data', (data) => {
      printed += data;
      const port = printed.match(/^port (\d+)\n/)?.[1];
      if (port) resolve({ server, url: `http://localhost:${port}` });
    });
    server.on('exit', (code) => reject(new Error(`server.mjs ended with ${code}`)));
  });
}

const user = async ({ url }, email) => (await fetch(`${url}/users/${email}`)).json();
const add = async ({ url }, events) => (await fetch(`${url}/events`, {
  method: 'POST',
  body: JSON.stringify(events),
})).json();
const events = (...ids) => ids.map((id) => ({ id, body: `body of ${id}` }));

// variant: which database.mjs; open(path): a connection of the test's own.
export async function webChecks(variant, open) {
  const directory = join(process.argv[2], 'web');
  mkdirSync(directory);
  const db = open(join(directory, 'app.db'));
  db.exec(block('sql', 'PRAGMA journal_mode'));
  db.exec("INSERT INTO users(email) VALUES ('ada@example.org')");
  writeFileSync(join(directory, 'server.mjs'), block('js', '// server.mjs'));
  writeFileSync(join(directory, 'database.mjs'), block('js', `// database.mjs, ${variant}`));
  symlinkSync(process.env.CUCKOO_NODE_MODULES, join(directory, 'node_modules'));
  const [one, other] = await Promise.all([start(directory), start(directory)]);
  try {
    await requests(one, other, db);
  } finally {
    one.server.kill();
    other.server.kill();
  }
  db.close();
  process.chdir(directory);
  connectionChecks((await import(join(directory, 'database.mjs'))).db);
}

// db: a connection as the program makes it.
function connectionChecks(db) {
  let refusal = '';
  try {
    scalar(db, "SELECT load_extension('cuckoo')");
  } catch (error) {
    refusal = error.message;
  }
  own("SQL can't load extensions in it", refusal.includes('not authorized'));
  own('it waits five seconds for a lock', scalar(db, 'PRAGMA busy_timeout') === 5000);
  db.close();
}

async function requests(one, other, db) {
  own('a user is found, and an address of nobody is not',
    (await user(one, 'ada@example.org')).id === 1
    && (await user(one, 'eve@example.org')).error === 'not found');
  const added = [];
  for (const ids of ['aba', 'bc', 'ac']) added.push((await add(one, events(...ids))).new);
  own('an event that was sent before is not added', added.join() === '2,1,0');
  const failed = await add(one, [...events('d'), { id: 'e', body: null }]);
  own('of a request that fails nothing is kept, in the table or in the filter',
    failed.error.includes('NOT NULL') && Number(scalar(db, 'SELECT count(*) FROM events')) === 3
    && Number(scalar(db, "SELECT filter_contains('event_ids', 'd')")) === 0);
  own('so its events can be sent again', (await add(one, events('d', 'e'))).new === 2);

  const batches = Array.from({ length: 40 }, (_, batch) => events(...[1, 2, 3].map((i) =>
    `${batch} ${i}`)));
  const answers = await Promise.all([one, other].flatMap((server) =>
    batches.map((batch) => add(server, batch))));
  own('servers that are sent the same events at once add each of them once',
    answers.reduce((sum, answer) => sum + answer.new, 0) === 120
    && Number(scalar(db, 'SELECT count(DISTINCT id) FROM events')) === 125
    && Number(scalar(db, 'SELECT count(*) FROM events')) === 125
    && scalar(db, "SELECT cuckoo_check('event_ids')") === 'ok');
}
