<?php
// run.sh's scenario by PHP's SQLite3 class: php -d sqlite3.extension_dir=… php_client.php DIRECTORY
declare(strict_types=1);

$path = $argv[1] . '/client.db';

function connect(string $path): SQLite3
{
    $db = new SQLite3($path);
    $db->enableExceptions(true);
    $db->busyTimeout(5000);
    $db->loadExtension('cuckoo.so');
    return $db;
}

/** A string that is bound as it is, is TEXT. */
final class Blob
{
    public function __construct(public string $bytes)
    {
    }
}

function query(SQLite3 $db, string $sql, mixed ...$values): array
{
    $statement = $db->prepare($sql);
    foreach ($values as $i => $value) {
        if ($value instanceof Blob) {
            $statement->bindValue($i + 1, $value->bytes, SQLITE3_BLOB);
        } else {
            $statement->bindValue($i + 1, $value);
        }
    }
    $result = $statement->execute();
    $rows = [];
    while ($result->numColumns() > 0 && $row = $result->fetchArray(SQLITE3_NUM)) {
        $rows[] = $row;
    }
    return $rows;
}

function scalar(SQLite3 $db, string $sql, mixed ...$values): mixed
{
    return query($db, $sql, ...$values)[0][0];
}

/** @param list<list<mixed>> $rows */
function insertAll(SQLite3 $db, string $sql, array $rows): void
{
    $statement = $db->prepare($sql);
    foreach ($rows as $row) {
        foreach ($row as $i => $value) {
            $blob = $value instanceof Blob;
            $statement->bindValue($i + 1, $blob ? $value->bytes : $value,
                ...($blob ? [SQLITE3_BLOB] : []));
        }
        $statement->execute();
        $statement->reset();
    }
}

function contains(SQLite3 $db, ?string $email): ?int
{
    return scalar($db, "SELECT filter_contains('seen', ?)", $email);
}

function show(string $step, mixed ...$values): void
{
    $shown = array_map(fn($value) => $value === null ? 'NULL' : (string) $value, $values);
    echo "$step: ", implode(' ', $shown), "\n";
}

function refused(string $word, string $text, callable $action): string
{
    try {
        $action();
        return 'no error';
    } catch (Exception $error) {
        return str_contains($error->getMessage(), $text) ? $word : $error->getMessage();
    }
}

function own(string $what, bool $ok): void
{
    echo 'own: ', $ok ? 'ok' : 'FAILED', " $what\n";
}

[$ada, $bob, $zoe] = ['ada@example.org', 'bob@example.org', 'zoë@例え.jp'];
[$dora, $eve, $fred] = ['dora@example.org', 'eve@example.org', 'fred@example.org'];
[$gina, $hana] = ['gina@example.org', 'hana@example.org'];
[$large, $largest] = [9007199254740993, PHP_INT_MAX];
$tables = ['users', 'seen', 'ids', 'kv', 'ring'];

echo 'client: PHP ', PHP_MAJOR_VERSION, '.', PHP_MINOR_VERSION, ', SQLite ',
    SQLite3::version()['versionString'], "\n";
$db = connect($path);
$db->exec(file_get_contents(__DIR__ . '/schema.sql'));
show('tables', ...array_column(query($db,
    "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%' ORDER BY 1"), 0));

$db->exec('BEGIN');
insertAll($db, 'INSERT INTO users VALUES (?, ?)', [[1, $ada], [2, $bob], [$large, $zoe]]);
insertAll($db, 'INSERT INTO seen VALUES (?)', [[$ada], [$bob], [$zoe]]);
insertAll($db, 'INSERT INTO ids VALUES (?)', [[1], [2], [$large], [$largest]]);
insertAll($db, 'INSERT INTO kv VALUES (?, ?)', [['greeting', 'hello'], ['note', 'Grüße 😀'],
    ['nothing', null], ['raw', new Blob("\x00\xff\x80")], ['big', $largest]]);
insertAll($db, 'INSERT INTO kv(doc) VALUES (?)', [['to be']]);
insertAll($db, 'INSERT INTO ring(node, weight) VALUES (?, ?)',
    [['cache1', 1], ['cache2', 1], ['größe3', 2]]);
insertAll($db, 'INSERT INTO requests VALUES (?)', [[$eve], [$bob], [$zoe]]);
$db->exec('COMMIT');
show('inserts', ...array_map(fn($table) => scalar($db, "SELECT count(*) FROM $table"), $tables));

foreach (query($db, 'SELECT u.id, u.email FROM requests JOIN seen USING (email)'
    . ' JOIN users u USING (email) ORDER BY u.id') as $row) {
    show('join', ...$row);
}
show('in', ...array_column(query($db,
    'SELECT email FROM seen WHERE email IN (?, ?, ?) ORDER BY email', $zoe, $eve, $ada), 0));

$deleted = [];
foreach ([1, 2] as $_) {
    query($db, 'DELETE FROM seen WHERE email = ?', $bob);
    $deleted[] = $db->changes();
}
show('delete', ...[...$deleted, contains($db, $bob)]);

$db->exec('BEGIN');
query($db, 'INSERT INTO seen VALUES (?)', $dora);
$db->exec('SAVEPOINT inside');
query($db, 'INSERT INTO seen VALUES (?)', $fred);
query($db, 'DELETE FROM seen WHERE email = ?', $ada);
query($db, 'UPDATE kv SET doc = ? WHERE name = ?', 'bye', 'greeting');
$db->exec('ROLLBACK TO inside; RELEASE inside');
$db->exec('COMMIT');
$doc = 'SELECT doc FROM kv WHERE name = ?';
show('savepoint', contains($db, $dora), contains($db, $fred), contains($db, $ada),
    scalar($db, $doc, 'greeting'));

$second = connect($path);
$ofFirst = contains($second, $dora);
query($second, 'INSERT INTO seen VALUES (?)', $gina);
show('second connection', $ofFirst, contains($db, $gina));
$second->close();
$db->close();

$db = connect($path);
show('reopen', scalar($db, 'SELECT count(*) FROM seen'), scalar($db, $doc, 'greeting'),
    ...array_map(fn($table) => scalar($db, 'SELECT cuckoo_check(?)', $table),
        array_slice($tables, 1)));

$image = scalar($db, "SELECT filter_export('seen')");
query($db, "INSERT INTO copy(copy, email) VALUES ('import', ?)", new Blob($image));
show('image', (int) (strlen($image) === scalar($db, "SELECT length(filter_export('seen'))")),
    scalar($db, 'SELECT filter_contains(?, ?)', new Blob($image), $ada),
    scalar($db, 'SELECT filter_contains(?, ?)', new Blob($image), $bob),
    scalar($db, 'SELECT count(*) FROM copy'),
    scalar($db, "SELECT filter_contains('copy', ?)", $zoe));

$answers = array_map(fn($id) => scalar($db, "SELECT filter_contains('ids', ?)", $id),
    [$large, 9007199254740992, $largest, PHP_INT_MIN]);
show('integers', ...[...$answers, scalar($db, $doc, 'big'),
    scalar($db, 'SELECT typeof(doc) FROM kv WHERE name = ?', 'big')]);
show('text', scalar($db, $doc, 'note'), contains($db, $zoe),
    scalar($db, 'SELECT node FROM ring WHERE key = ?', 'Grüße 😀'));
show('blob', bin2hex(scalar($db, $doc, 'raw')),
    scalar($db, 'SELECT doc FROM kv WHERE name = sha1(?)', 'to be'));
show('null', contains($db, null), scalar($db, $doc, 'nothing'),
    count(query($db, 'SELECT email FROM seen WHERE email = ?', null)));

$db->exec('BEGIN');
query($db, 'INSERT INTO seen VALUES (?)', $hana);
$words = [
    refused('duplicate', 'UNIQUE constraint failed: kv.name',
        fn() => query($db, 'INSERT INTO kv VALUES (?, ?)', 'greeting', 'again')),
    refused('NULL', "a filter can't hold NULL",
        fn() => query($db, 'INSERT INTO seen VALUES (?)', null)),
    refused('list', 'does not know its keys', fn() => query($db, 'SELECT * FROM seen')),
];
$db->exec('COMMIT');
show('refused', ...[...$words, contains($db, $hana)]);

// Its own.
own('an int arrives as INTEGER, a numeric string as TEXT',
    scalar($db, 'SELECT typeof(?)', 42) === 'integer'
    && scalar($db, 'SELECT typeof(?)', '42') === 'text');
$db->exec('CREATE VIRTUAL TABLE untyped USING cuckoo_filter(id, seed = 1);'
    . 'INSERT INTO untyped VALUES (42); INSERT INTO ids VALUES (42)');
own("without a type '42' is not found",
    scalar($db, "SELECT filter_contains('untyped', ?)", '42') === 0);
own('a key INTEGER finds it', scalar($db, "SELECT filter_contains('ids', ?)", '42') === 1);
own('an image without SQLITE3_BLOB: an error that says so',
    refused('yes', 'bind an image as a BLOB, not as TEXT', fn() => query($db,
        "INSERT INTO copy(copy, email) VALUES ('import', ?)", $image)) === 'yes');
own('SQLite3 is in defensive mode', ini_get('sqlite3.defensive') === '1');
own('so does filter_contains()', refused('yes', 'bind an image as a BLOB, not as TEXT', fn() =>
    query($db, 'SELECT filter_contains(?, ?)', $image, $ada)) === 'yes');
$load = '(new SQLite3(":memory:"))->loadExtension("cuckoo.so");';
own('without sqlite3.extension_dir nothing can be loaded', str_contains((string) shell_exec(
    PHP_BINARY . ' -d display_errors=1 -r ' . escapeshellarg($load) . ' 2>&1'), 'are disabled'));
own("SQL can't load extensions", refused('yes', 'not authorized', fn() =>
    query($db, 'SELECT load_extension(?)', getenv('CUCKOO_EXTENSION'))) === 'yes');
own('nor by PDO', refused('yes', 'not authorized', fn() => (new PDO('sqlite::memory:'))
    ->query("SELECT load_extension('" . getenv('CUCKOO_EXTENSION') . "')")) === 'yes');
