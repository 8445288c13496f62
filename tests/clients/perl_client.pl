# run.sh's scenario by Perl's DBI and DBD::SQLite: perl_client.pl DIRECTORY
use strict;
use warnings;
use utf8;
use DBI qw(:sql_types);
use DBD::SQLite;
use FindBin qw($Bin);

binmode STDOUT, ':encoding(UTF-8)';
my $path = "$ARGV[0]/client.db";

sub connect_to {
    my ($file) = @_;
    my $db = DBI->connect("dbi:SQLite:dbname=$file", '', '',
        { RaiseError => 1, PrintError => 0, AutoCommit => 1, sqlite_unicode => 1 });
    $db->sqlite_enable_load_extension(1);
    $db->sqlite_load_extension($ENV{CUCKOO_EXTENSION});
    $db->sqlite_enable_load_extension(0);
    return $db;
}

# DBI binds a value as TEXT, unless it is told the type. [type, value] tells it.
sub integer { return [SQL_BIGINT, $_[0]] }
sub blob { return [SQL_BLOB, $_[0]] }

sub bind_all {
    my ($statement, @values) = @_;
    for my $i (0 .. $#values) {
        my ($type, $value) = ref $values[$i] ? @{ $values[$i] } : (SQL_VARCHAR, $values[$i]);
        $statement->bind_param($i + 1, $value, $type);
    }
}

sub run {
    my ($db, $sql, @values) = @_;
    my $statement = $db->prepare_cached($sql);
    bind_all($statement, @values);
    return $statement->execute + 0;
}

sub rows {
    my ($db, $sql, @values) = @_;
    my $statement = $db->prepare($sql);
    bind_all($statement, @values);
    $statement->execute;
    return @{ $statement->fetchall_arrayref };
}

sub scalar_of {
    my @rows = rows(@_);
    return $rows[0][0];
}

sub contains {
    my ($db, $email) = @_;
    return scalar_of($db, "SELECT filter_contains('seen', ?)", $email);
}

sub show {
    my ($step, @values) = @_;
    print join(' ', "$step:", map { defined $_ ? $_ : 'NULL' } @values), "\n";
}

sub refused {
    my ($word, $text, $action) = @_;
    my $result = eval { $action->(); 1 };
    return $result ? 'no error' : index($@, $text) >= 0 ? $word : $@;
}

sub own {
    my ($what, $ok) = @_;
    print 'own: ', ($ok ? 'ok' : 'FAILED'), " $what\n";
}

my $db = connect_to($path);
print "client: Perl ", substr($^V, 1), ", DBD::SQLite $DBD::SQLite::VERSION, SQLite ",
    scalar_of($db, 'SELECT sqlite_version()'), "\n";

open my $file, '<:encoding(UTF-8)', "$Bin/schema.sql" or die "schema.sql: $!";
$db->do($_) while defined($_ = <$file>);
close $file;
my @tables = qw(users seen ids kv ring);
show('tables', map { $_->[0] }
    rows($db, "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%' ORDER BY 1"));

my ($ada, $bob, $zoe) = ('ada@example.org', 'bob@example.org', 'zoë@例え.jp');
my ($dora, $eve, $fred) = ('dora@example.org', 'eve@example.org', 'fred@example.org');
my ($gina, $hana) = ('gina@example.org', 'hana@example.org');
my ($large, $largest) = (9007199254740993, 9223372036854775807);

$db->begin_work;
for ([1, $ada], [2, $bob], [$large, $zoe]) {
    run($db, 'INSERT INTO users VALUES (?, ?)', integer($_->[0]), $_->[1]);
    run($db, 'INSERT INTO seen VALUES (?)', $_->[1]);
}
run($db, 'INSERT INTO ids VALUES (?)', integer($_)) for 1, 2, $large, $largest;
run($db, 'INSERT INTO kv VALUES (?, ?)', @$_)
    for ['greeting', 'hello'], ['note', 'Grüße 😀'], ['nothing', undef],
    ['raw', blob("\x00\xff\x80")], ['big', integer($largest)];
run($db, 'INSERT INTO kv(doc) VALUES (?)', 'to be');
run($db, 'INSERT INTO ring(node, weight) VALUES (?, ?)', $_->[0], integer($_->[1]))
    for ['cache1', 1], ['cache2', 1], ['größe3', 2];
run($db, 'INSERT INTO requests VALUES (?)', $_) for $eve, $bob, $zoe;
$db->commit;
show('inserts', map { scalar_of($db, "SELECT count(*) FROM $_") } @tables);

show('join', @$_) for rows($db, 'SELECT u.id, u.email FROM requests JOIN seen USING (email)'
        . ' JOIN users u USING (email) ORDER BY u.id');
show('in', map { $_->[0] }
    rows($db, 'SELECT email FROM seen WHERE email IN (?, ?, ?) ORDER BY email', $zoe, $eve, $ada));

my $delete = 'DELETE FROM seen WHERE email = ?';
my @deleted = (run($db, $delete, $bob), run($db, $delete, $bob));
show('delete', @deleted, contains($db, $bob));

$db->begin_work;
run($db, 'INSERT INTO seen VALUES (?)', $dora);
$db->do('SAVEPOINT inside');
run($db, 'INSERT INTO seen VALUES (?)', $fred);
run($db, $delete, $ada);
run($db, 'UPDATE kv SET doc = ? WHERE name = ?', 'bye', 'greeting');
$db->do('ROLLBACK TO inside');
$db->do('RELEASE inside');
$db->commit;
my $doc = 'SELECT doc FROM kv WHERE name = ?';
show('savepoint', (map { contains($db, $_) } $dora, $fred, $ada),
    scalar_of($db, $doc, 'greeting'));

my $second = connect_to($path);
my $of_first = contains($second, $dora);
run($second, 'INSERT INTO seen VALUES (?)', $gina);
show('second connection', $of_first, contains($db, $gina));
$_->disconnect for $second, $db;

$db = connect_to($path);
show('reopen', scalar_of($db, 'SELECT count(*) FROM seen'), scalar_of($db, $doc, 'greeting'),
    map { scalar_of($db, 'SELECT cuckoo_check(?)', $_) } @tables[1 .. 4]);

my $image = scalar_of($db, "SELECT filter_export('seen')");
run($db, "INSERT INTO copy(copy, email) VALUES ('import', ?)", blob($image));
show('image', length($image) == scalar_of($db, "SELECT length(filter_export('seen'))") ? 1 : 0,
    scalar_of($db, 'SELECT filter_contains(?, ?)', blob($image), $ada),
    scalar_of($db, 'SELECT filter_contains(?, ?)', blob($image), $bob),
    scalar_of($db, 'SELECT count(*) FROM copy'),
    scalar_of($db, "SELECT filter_contains('copy', ?)", $zoe));

show('integers',
    (map { scalar_of($db, "SELECT filter_contains('ids', ?)", integer($_)) }
        $large, 9007199254740992, $largest, -9223372036854775807 - 1),
    scalar_of($db, $doc, 'big'),
    scalar_of($db, 'SELECT typeof(doc) FROM kv WHERE name = ?', 'big'));
show('text', scalar_of($db, $doc, 'note'), contains($db, $zoe),
    scalar_of($db, 'SELECT node FROM ring WHERE key = ?', 'Grüße 😀'));
show('blob', unpack('H*', scalar_of($db, $doc, 'raw')),
    scalar_of($db, 'SELECT doc FROM kv WHERE name = sha1(?)', 'to be'));
show('null', contains($db, undef), scalar_of($db, $doc, 'nothing'),
    scalar(rows($db, 'SELECT email FROM seen WHERE email = ?', undef)));

$db->begin_work;
run($db, 'INSERT INTO seen VALUES (?)', $hana);
my @words = (
    refused('duplicate', 'UNIQUE constraint failed: kv.name',
        sub { run($db, 'INSERT INTO kv VALUES (?, ?)', 'greeting', 'again') }),
    refused('NULL', "a filter can't hold NULL",
        sub { run($db, 'INSERT INTO seen VALUES (?)', undef) }),
    refused('list', 'does not know its keys', sub { rows($db, 'SELECT * FROM seen') }));
$db->commit;
show('refused', @words, contains($db, $hana));

# Its own.
own('execute(42) arrives as TEXT',
    ($db->selectrow_array('SELECT typeof(?)', undef, 42))[0] eq 'text');
$db->do('CREATE VIRTUAL TABLE untyped USING cuckoo_filter(id, seed = 1)');
$db->do('INSERT INTO untyped VALUES (42)');
$db->do('INSERT INTO ids VALUES (42)');
own('without a type it does not find 42',
    !($db->selectrow_array("SELECT filter_contains('untyped', ?)", undef, 42))[0]);
own('a key INTEGER finds it',
    ($db->selectrow_array("SELECT filter_contains('ids', ?)", undef, 42))[0]);
own('so does sqlite_see_if_its_a_number, without a type', do {
    local $db->{sqlite_see_if_its_a_number} = 1;
    ($db->selectrow_array("SELECT filter_contains('untyped', ?)", undef, 42))[0];
});
own('an image without SQL_BLOB: an error that says so',
    refused('yes', 'bind an image as a BLOB, not as TEXT',
        sub { run($db, "INSERT INTO copy(copy, email) VALUES ('import', ?)", $image) }) eq 'yes');
