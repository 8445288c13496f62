# Prints the answer to question.sql, from the installed gem: ask.rb setup.sql question.sql
require 'sqlite3'
require 'sqlite_cuckoo'

def check(what, right)
  abort "FAILED: #{what}" unless right
end

# The message of the error, or nil.
def error
  yield
  nil
rescue StandardError => e
  e.message
end

def open
  db = SQLite3::Database.new(':memory:')
  SqliteCuckoo.load(db)
  db
end

setup, question = ARGV.map { |name| File.read(name) }
path = SqliteCuckoo.to_path
check('to_path has no suffix', File.basename(path) == 'cuckoo' && File.file?("#{path}.so"))
plain = SQLite3::Database.new(':memory:')
plain.enable_load_extension(true)
plain.load_extension(path)
check('it is enough to load the library',
      plain.get_first_value('SELECT cuckoo_version()') == SqliteCuckoo::VERSION)

db = open
SqliteCuckoo.load(db) # a second time changes nothing
check("SQL can't load extensions afterwards", error do
  db.execute('SELECT load_extension(?)', [path])
end == 'not authorized')
[nil, 'my.db', SQLite3::Database].each do |other|
  check("load(#{other.inspect}) says what it takes",
        error { SqliteCuckoo.load(other) }&.include?("not a #{other.class}"))
end

# A filter that follows a table, its guard, and a transaction that is rolled back.
db.execute_batch(<<~SQL)
  CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT UNIQUE);
  CREATE VIRTUAL TABLE known USING cuckoo_filter(email, source = users(email), triggers = on);
  CREATE VIRTUAL TABLE guarded USING filter_guard(known);
  INSERT INTO users(email) VALUES ('ada'), ('bob');
SQL
found = lambda do |email|
  [db.get_first_value("SELECT filter_contains('known', ?)", [email]),
   db.get_first_value('SELECT id FROM guarded WHERE email = ?', [email])]
end
check('the filter follows its table, and the guard asks both',
      found['ada'] == [1, 1] && found['bob'] == [1, 2] && found['eve'] == [0, nil])
error do
  db.transaction do
    db.execute("INSERT INTO users(email) VALUES ('eve')")
    db.execute("DELETE FROM users WHERE email = 'ada'")
    check('a transaction sees what it did', found['eve'] == [1, 3] && found['ada'] == [0, nil])
    raise 'rolled back'
  end
end
check('a transaction that is rolled back leaves nothing',
      found['ada'] == [1, 1] && found['eve'] == [0, nil] &&
      db.get_first_value("SELECT cuckoo_check('known')") == 'ok')

db.execute_batch(setup)
puts db.get_first_value(question)
