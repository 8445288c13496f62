# run.sh's scenario by ActiveRecord, with Ruby's sqlite3: active_record_client.rb DIRECTORY
require 'active_record'
require 'active_record/connection_adapters/sqlite3_adapter'
require_relative 'scenario'

# ActiveRecord calls configure_connection for each new connection of its pool.
module LoadCuckoo
  private

  def configure_connection
    super
    @connection.enable_load_extension(true)
    @connection.load_extension('cuckoo')
    @connection.enable_load_extension(false)
    # In place of the timeout: that of sqlite3 1.4 keeps all other threads of Ruby waiting, too.
    @connection.busy_handler { |count| sleep(0.001) && count < 5000 }
  end
end
ActiveRecord::ConnectionAdapters::SQLite3Adapter.prepend(LoadCuckoo)

# A second class has a second pool.
class Second < ActiveRecord::Base
  self.abstract_class = true
end

class User < ActiveRecord::Base
end

class Request < ActiveRecord::Base
end

class Seen < ActiveRecord::Base
  self.table_name = 'seen'
end

class Id < ActiveRecord::Base
end

class Pair < ActiveRecord::Base
  self.table_name = 'kv'
end

# Without a type ActiveRecord takes bytes for text.
class RawPair < Pair
  attribute :doc, :binary
end

class Node < ActiveRecord::Base
  self.table_name = 'ring'
end

def connect(base = ActiveRecord::Base, path: PATH, **options)
  base.establish_connection(adapter: 'sqlite3', database: path, timeout: 5000, **options)
  base.connection
end

def value(sql, *values, on: ActiveRecord::Base)
  on.connection.select_value(on.sanitize_sql([sql, *values]))
end

# With a value that is bound, not written into the statement: a BLOB.
def bound(sql, *values)
  type = ActiveRecord::Type.lookup(:binary)
  values = values.map { |value| value.encoding == Encoding::BINARY ? type.serialize(value) : value }
  ActiveRecord::Base.connection.exec_query(sql, nil, values).rows.dig(0, 0)
end

def contains(email, on: ActiveRecord::Base)
  value("SELECT filter_contains('seen', ?)", email, on: on)
end

def doc(name)
  value('SELECT doc FROM kv WHERE name = ?', name)
end

db = connect
puts "client: ActiveRecord #{ActiveRecord.version}, SQLite #{value('SELECT sqlite_version()')}"
File.readlines(File.join(__dir__, 'schema.sql'), encoding: 'UTF-8').each { |line| db.execute(line) }
show('tables', *db.select_values(
  "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%' ORDER BY 1"
))

ActiveRecord::Base.transaction do
  User.insert_all!([[1, ADA], [2, BOB], [LARGE, ZOE]].map { |id, email| { id: id, email: email } })
  [ADA, BOB, ZOE].each { |email| Seen.create!(email: email) }
  [1, 2, LARGE, LARGEST].each { |id| Id.create!(id: id) }
  Pair.create!(name: 'greeting', doc: 'hello')
  Pair.create!([{ name: 'note', doc: 'Grüße 😀' }, { name: 'nothing', doc: nil }])
  RawPair.create!(name: 'raw', doc: "\x00\xff\x80".b)
  Pair.create!(name: 'big', doc: LARGEST)
  db.execute("INSERT INTO kv(doc) VALUES ('to be')")
  [['cache1', 1], ['cache2', 1], ['größe3', 2]].each do |node, weight|
    Node.create!(node: node, weight: weight)
  end
  [EVE, BOB, ZOE].each { |email| Request.create!(email: email) }
end
show('inserts', *TABLES.map { |table| value("SELECT count(*) FROM #{table}") })

User.joins('JOIN requests USING (email) JOIN seen USING (email)').order(:id)
    .each { |user| show('join', user.id, user.email) }
show('in', *Seen.where(email: [ZOE, EVE, ADA]).order(:email).pluck(:email))

deleted = Array.new(2) { Seen.where(email: BOB).delete_all }
show('delete', *deleted, contains(BOB))

ActiveRecord::Base.transaction do
  Seen.create!(email: DORA)
  # A transaction in another is a savepoint if it is told to be one.
  ActiveRecord::Base.transaction(requires_new: true) do
    Seen.create!(email: FRED)
    Seen.where(email: ADA).delete_all
    Pair.find('greeting').update!(doc: 'bye')
    raise ActiveRecord::Rollback
  end
end
show('savepoint', contains(DORA), contains(FRED), contains(ADA), doc('greeting'))

connect(Second)
of_first = contains(DORA, on: Second)
Second.connection.execute("INSERT INTO seen VALUES ('#{GINA}')")
show('second connection', of_first, contains(GINA))
Second.connection.disconnect!
ActiveRecord::Base.connection.disconnect!

db = connect
show('reopen', value('SELECT count(*) FROM seen'), doc('greeting'),
     *TABLES.drop(1).map { |table| value('SELECT cuckoo_check(?)', table) })

image = value("SELECT filter_export('seen')")
bound("INSERT INTO copy(copy, email) VALUES ('import', ?)", image)
show('image', image.bytesize == value("SELECT length(filter_export('seen'))") ? 1 : 0,
     bound('SELECT filter_contains(?, ?)', image, ADA),
     bound('SELECT filter_contains(?, ?)', image, BOB),
     value('SELECT count(*) FROM copy'), value("SELECT filter_contains('copy', ?)", ZOE))

show('integers',
     *[LARGE, 2**53, LARGEST, -2**63].map { |id| value("SELECT filter_contains('ids', ?)", id) },
     Pair.find('big').doc, value("SELECT typeof(doc) FROM kv WHERE name = 'big'"))
show('text', Pair.find('note').doc, contains(ZOE), Node.find_by(key: 'Grüße 😀').node)
show('blob', RawPair.find('raw').doc.unpack1('H*'),
     value('SELECT doc FROM kv WHERE name = sha1(?)', 'to be'))
show('null', contains(nil), Pair.find('nothing').doc, Seen.where('email = ?', nil).to_a.size)

words = []
ActiveRecord::Base.transaction do
  Seen.create!(email: HANA)
  words << refused('duplicate', 'UNIQUE constraint failed: kv.name') do
    Pair.create!(name: 'greeting', doc: 'again')
  end
  words << refused('NULL', "a filter can't hold NULL") { Seen.create!(email: nil) }
  words << refused('list', 'does not know its keys') { Seen.all.to_a }
end
show('refused', *words, contains(HANA))

unlisted = ->(&query) { refused('yes', 'does not know its keys', &query) == 'yes' }
own('all and first without a key: an error', unlisted.call { Seen.all.to_a } &&
    unlisted.call { Seen.take })
own('find_by with one answers', Seen.find_by(email: ADA).email == ADA &&
    Seen.find_by(email: 'nobody').nil? && Seen.exists?(email: ADA))
own('a hidden column is no attribute, but where() takes it',
    !Node.column_names.include?('key') && Node.where(key: 'Grüße 😀').count == 1)
own('update! of a flash_kv is an UPDATE by its key',
    Pair.find('greeting').update!(doc: 'good morning') && doc('greeting') == 'good morning')
own('the key of a filter or a flash_kv is its primary key; a ring has none',
    [Seen, Pair, Node].map(&:primary_key) == ['email', 'name', nil])
again = [{ name: 'greeting', doc: 'again' }]
no_upsert = ->(&query) { refused('yes', 'UPSERT not implemented', &query) == 'yes' }
own('insert_all and upsert_all are UPSERTs: an error',
    no_upsert.call { Pair.insert_all(again) } && no_upsert.call { Pair.upsert_all(again) } &&
    no_upsert.call { Seen.insert_all([{ email: ADA }]) })
own('insert_all! adds',
    Seen.insert_all!([{ email: 'one' }, { email: 'two' }]) && contains('two') == 1)
asked = []
ActiveSupport::Notifications.subscribe('sql.active_record') { |*, event| asked << event[:sql] }
Seen.find_or_create_by!(email: ADA)
own('find_or_create_by asks first', asked.size == 1 && asked[0].start_with?('SELECT'))
own("SQL can't load extensions", refused('yes', 'not authorized') do
  value('SELECT load_extension(?)', ENV.fetch('CUCKOO_EXTENSION'))
end == 'yes')

# A migration that makes the table anew drops the filter's triggers.
User.create!(id: 7, email: 'old@example.org')
db.execute('CREATE VIRTUAL TABLE known USING ' \
           'cuckoo_filter(email, source = users(email), triggers = on)')
db.change_column(:users, :email, :string)
own('change_column drops the triggers: the filter refuses to be asked',
    refused('yes', "'rebuild'") do
      value("SELECT filter_contains('known', 'old@example.org')")
    end == 'yes')
db.execute("INSERT INTO known(known) VALUES ('rebuild')")
User.create!(id: 8, email: 'new@example.org')
own("'rebuild' makes them again", %w[old@example.org new@example.org].all? do |email|
  value("SELECT filter_contains('known', ?)", email) == 1
end)

# Threads that share a pool. Each id is sent by two of them.
db.execute('CREATE TABLE events(id TEXT)')
db.execute('CREATE VIRTUAL TABLE event_ids USING ' \
           'cuckoo_filter(id TEXT, capacity = 1e6, fpr = 1e-9, unique = on)')
db.disconnect!
connect(pool: 9)
added = Array.new(8) do |worker|
  Thread.new do
    ActiveRecord::Base.connection_pool.with_connection do |own_db|
      (0...10).sum do |batch|
        # transaction() of ActiveRecord 6.1 can't begin IMMEDIATE.
        own_db.execute('BEGIN IMMEDIATE')
        count = (0...4).sum do |i|
          id = "#{worker / 2} #{batch} #{i}"
          new = own_db.update("INSERT OR IGNORE INTO event_ids VALUES ('#{id}')")
          own_db.execute("INSERT INTO events VALUES ('#{id}')") if new == 1
          new
        end
        own_db.execute('COMMIT')
        count
      end
    end
  end
end.sum(&:value)
own('8 threads that send the same ids at once add each of them once',
    added == 160 && value('SELECT count(*) FROM events') == 160 &&
    value('SELECT count(DISTINCT id) FROM events') == 160 &&
    value("SELECT cuckoo_check('event_ids')") == 'ok')
