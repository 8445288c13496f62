# run.sh's scenario by Ruby's sqlite3: ruby_client.rb DIRECTORY
require 'sqlite3'
require_relative 'scenario'
DOC = 'SELECT doc FROM kv WHERE name = ?'.freeze

def connect(path = PATH)
  db = SQLite3::Database.new(path)
  db.enable_load_extension(true)
  db.load_extension('cuckoo')
  db.enable_load_extension(false)
  db
end

def contains(db, email)
  db.get_first_value("SELECT filter_contains('seen', ?)", [email])
end

def insert_all(db, sql, rows)
  db.prepare(sql) { |statement| rows.each { |row| statement.execute(*row) } }
end

db = connect
puts "client: Ruby #{RUBY_VERSION}, sqlite3 #{SQLite3::VERSION}, " \
     "SQLite #{db.get_first_value('SELECT sqlite_version()')}"
db.execute_batch(File.read(File.join(__dir__, 'schema.sql'), encoding: 'UTF-8'))
show('tables', *db.execute(
  "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%' ORDER BY 1"
).flatten)

db.transaction do
  insert_all(db, 'INSERT INTO users VALUES (?, ?)', [[1, ADA], [2, BOB], [LARGE, ZOE]])
  insert_all(db, 'INSERT INTO seen VALUES (?)', [[ADA], [BOB], [ZOE]])
  insert_all(db, 'INSERT INTO ids VALUES (?)', [[1], [2], [LARGE], [LARGEST]])
  insert_all(db, 'INSERT INTO kv VALUES (?, ?)',
             [['greeting', 'hello'], ['note', 'Grüße 😀'], ['nothing', nil],
              ['raw', SQLite3::Blob.new("\x00\xff\x80".b)], ['big', LARGEST]])
  insert_all(db, 'INSERT INTO kv(doc) VALUES (?)', [['to be']])
  insert_all(db, 'INSERT INTO ring(node, weight) VALUES (?, ?)',
             [['cache1', 1], ['cache2', 1], ['größe3', 2]])
  insert_all(db, 'INSERT INTO requests VALUES (?)', [[EVE], [BOB], [ZOE]])
end
show('inserts', *TABLES.map { |table| db.get_first_value("SELECT count(*) FROM #{table}") })

db.execute('SELECT u.id, u.email FROM requests JOIN seen USING (email) ' \
           'JOIN users u USING (email) ORDER BY u.id') { |row| show('join', *row) }
show('in', *db.execute('SELECT email FROM seen WHERE email IN (?, ?, ?) ORDER BY email',
                       [ZOE, EVE, ADA]).flatten)

deleted = Array.new(2) do
  db.execute('DELETE FROM seen WHERE email = ?', [BOB])
  db.changes
end
show('delete', *deleted, contains(db, BOB))

db.transaction do
  db.execute('INSERT INTO seen VALUES (?)', [DORA])
  db.execute('SAVEPOINT inside')
  db.execute('INSERT INTO seen VALUES (?)', [FRED])
  db.execute('DELETE FROM seen WHERE email = ?', [ADA])
  db.execute('UPDATE kv SET doc = ? WHERE name = ?', %w[bye greeting])
  db.execute('ROLLBACK TO inside')
  db.execute('RELEASE inside')
end
show('savepoint', contains(db, DORA), contains(db, FRED), contains(db, ADA),
     db.get_first_value(DOC, ['greeting']))

second = connect
of_first = contains(second, DORA)
second.execute('INSERT INTO seen VALUES (?)', [GINA])
show('second connection', of_first, contains(db, GINA))
second.close
db.close

db = connect
show('reopen', db.get_first_value('SELECT count(*) FROM seen'),
     db.get_first_value(DOC, ['greeting']),
     *TABLES.drop(1).map { |table| db.get_first_value('SELECT cuckoo_check(?)', [table]) })

image = db.get_first_value("SELECT filter_export('seen')")
blob = SQLite3::Blob.new(image)
db.execute("INSERT INTO copy(copy, email) VALUES ('import', ?)", [blob])
show('image',
     image.bytesize == db.get_first_value("SELECT length(filter_export('seen'))") ? 1 : 0,
     db.get_first_value('SELECT filter_contains(?, ?)', [blob, ADA]),
     db.get_first_value('SELECT filter_contains(?, ?)', [blob, BOB]),
     db.get_first_value('SELECT count(*) FROM copy'),
     db.get_first_value("SELECT filter_contains('copy', ?)", [ZOE]))

asked = [LARGE, 2**53, LARGEST, -2**63]
show('integers',
     *asked.map { |id| db.get_first_value("SELECT filter_contains('ids', ?)", [id]) },
     db.get_first_value(DOC, ['big']),
     db.get_first_value('SELECT typeof(doc) FROM kv WHERE name = ?', ['big']))
show('text', db.get_first_value(DOC, ['note']), contains(db, ZOE),
     db.get_first_value('SELECT node FROM ring WHERE key = ?', ['Grüße 😀']))
show('blob', db.get_first_value(DOC, ['raw']).unpack1('H*'),
     db.get_first_value('SELECT doc FROM kv WHERE name = sha1(?)', ['to be']))
show('null', contains(db, nil), db.get_first_value(DOC, ['nothing']),
     db.execute('SELECT email FROM seen WHERE email = ?', [nil]).size)

words = []
db.transaction do
  db.execute('INSERT INTO seen VALUES (?)', [HANA])
  words << refused('duplicate', 'UNIQUE constraint failed: kv.name') do
    db.execute('INSERT INTO kv VALUES (?, ?)', %w[greeting again])
  end
  words << refused('NULL', "a filter can't hold NULL") do
    db.execute('INSERT INTO seen VALUES (?)', [nil])
  end
  words << refused('list', 'does not know its keys') { db.execute('SELECT * FROM seen') }
end
show('refused', *words, contains(db, HANA))

own('an image that was read is bound as a BLOB again, a string in UTF-8 as TEXT',
    db.get_first_value('SELECT typeof(?)', [image]) == 'blob' &&
    db.get_first_value('SELECT typeof(?)', [image.dup.force_encoding('UTF-8')]) == 'text')
own('TEXT for an image: an error that says so',
    refused('yes', 'bind an image as a BLOB, not as TEXT') do
      db.execute("INSERT INTO copy(copy, email) VALUES ('import', ?)",
                 [image.dup.force_encoding('UTF-8')])
    end == 'yes')
