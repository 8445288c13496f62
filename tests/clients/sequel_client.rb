# run.sh's scenario by Sequel, with Ruby's sqlite3: sequel_client.rb DIRECTORY
require 'sequel'
require_relative 'scenario'

# Sequel calls after_connect for each new connection of its pool.
LOAD = proc do |connection|
  connection.enable_load_extension(true)
  connection.load_extension('cuckoo')
  connection.enable_load_extension(false)
  # In place of the timeout: that of sqlite3 1.4 keeps all other threads of Ruby waiting, too.
  connection.busy_handler { |count| sleep(0.001) && count < 5000 }
end

def connect(**options)
  Sequel.sqlite(PATH, after_connect: LOAD, **options)
end

def contains(db, email)
  db.get(Sequel.function(:filter_contains, 'seen', email))
end

def doc(db, name)
  db[:kv].where(name: name).get(:doc)
end

db = Sequel.sqlite(PATH, after_connect: LOAD)
puts "client: Sequel #{Sequel.version}, SQLite #{db.get(Sequel.function(:sqlite_version))}"
db.run(File.read(File.join(__dir__, 'schema.sql'), encoding: 'UTF-8'))
show('tables', *db[:sqlite_schema].where(Sequel.like(:sql, 'CREATE VIRTUAL%'))
                                  .select_order_map(:name))

db.transaction do
  db[:users].import(%i[id email], [[1, ADA], [2, BOB], [LARGE, ZOE]])
  db[:seen].import([:email], [[ADA], [BOB], [ZOE]])
  db[:ids].import([:id], [[1], [2], [LARGE], [LARGEST]])
  db[:kv].import(%i[name doc],
                 [['greeting', 'hello'], ['note', 'Grüße 😀'], ['nothing', nil],
                  ['raw', Sequel.blob("\x00\xff\x80".b)], ['big', LARGEST]])
  db[:kv].insert(doc: 'to be')
  db[:ring].import(%i[node weight], [['cache1', 1], ['cache2', 1], ['größe3', 2]])
  db[:requests].import([:email], [[EVE], [BOB], [ZOE]])
end
show('inserts', *TABLES.map { |table| db[table.to_sym].count })

db[:requests].join(:seen, [:email]).join(:users, [:email]).order(Sequel[:users][:id])
             .select_map([Sequel[:users][:id], Sequel[:users][:email]])
             .each { |row| show('join', *row) }
show('in', *db[:seen].where(email: [ZOE, EVE, ADA]).select_order_map(:email))

deleted = Array.new(2) { db[:seen].where(email: BOB).delete }
show('delete', *deleted, contains(db, BOB))

db.transaction do
  db[:seen].insert(email: DORA)
  db.transaction(savepoint: true) do
    db[:seen].insert(email: FRED)
    db[:seen].where(email: ADA).delete
    db[:kv].where(name: 'greeting').update(doc: 'bye')
    raise Sequel::Rollback
  end
end
show('savepoint', contains(db, DORA), contains(db, FRED), contains(db, ADA), doc(db, 'greeting'))

second = connect
of_first = contains(second, DORA)
second[:seen].insert(email: GINA)
show('second connection', of_first, contains(db, GINA))
second.disconnect
db.disconnect

db = connect
show('reopen', db[:seen].count, doc(db, 'greeting'),
     *TABLES.drop(1).map { |table| db.get(Sequel.function(:cuckoo_check, table)) })

image = db.get(Sequel.function(:filter_export, 'seen'))
db[:copy].insert(copy: 'import', email: Sequel.blob(image))
asked = ->(email) { db.get(Sequel.function(:filter_contains, Sequel.blob(image), email)) }
length = db.get(Sequel.function(:length, Sequel.function(:filter_export, 'seen')))
show('image', image.bytesize == length ? 1 : 0, asked.call(ADA), asked.call(BOB), db[:copy].count,
     db.get(Sequel.function(:filter_contains, 'copy', ZOE)))

show('integers',
     *[LARGE, 2**53, LARGEST, -2**63].map do |id|
       db.get(Sequel.function(:filter_contains, 'ids', id))
     end,
     doc(db, 'big'), db[:kv].where(name: 'big').get(Sequel.function(:typeof, :doc)))
show('text', doc(db, 'note'), contains(db, ZOE), db[:ring].where(key: 'Grüße 😀').get(:node))
show('blob', doc(db, 'raw').unpack1('H*'),
     db[:kv].where(name: Sequel.function(:sha1, 'to be')).get(:doc))
show('null', contains(db, nil), doc(db, 'nothing'),
     db['SELECT email FROM seen WHERE email = ?', nil].all.size)

words = []
db.transaction do
  db[:seen].insert(email: HANA)
  words << refused('duplicate', 'UNIQUE constraint failed: kv.name') do
    db[:kv].insert(name: 'greeting', doc: 'again')
  end
  words << refused('NULL', "a filter can't hold NULL") { db[:seen].insert(email: nil) }
  words << refused('list', 'does not know its keys') { db[:seen].all }
end
show('refused', *words, contains(db, HANA))

unlisted = ->(&query) { refused('yes', 'does not know its keys', &query) == 'yes' }
own('all and first without a key: an error', unlisted.call { db[:seen].all } &&
    unlisted.call { db[:seen].first })
own('first with one answers', db[:seen].first(email: ADA) == { email: ADA } &&
    db[:seen].first(email: 'nobody').nil?)
own('insert_conflict without a target is INSERT OR IGNORE, or OR REPLACE',
    db[:kv].insert_conflict.insert_sql(name: 'a').start_with?('INSERT OR IGNORE') &&
    db[:kv].insert_conflict(:replace).insert_sql(name: 'a').start_with?('INSERT OR REPLACE') &&
    db[:kv].insert_conflict.insert(name: 'greeting', doc: 'again') &&
    doc(db, 'greeting') == 'hello')
own('with a target it is an UPSERT: an error',
    refused('yes', 'UPSERT not implemented') do
      db[:kv].insert_conflict(target: :name).insert(name: 'greeting', doc: 'again')
    end == 'yes')
own("SQL can't load extensions", refused('yes', 'not authorized') do
  db.get(Sequel.function(:load_extension, ENV.fetch('CUCKOO_EXTENSION')))
end == 'yes')

# A migration that makes the table anew drops the filter's triggers.
db.run("INSERT INTO users(email) VALUES ('old@example.org')")
db.run('CREATE VIRTUAL TABLE known USING ' \
       'cuckoo_filter(email, source = users(email), triggers = on)')
db.alter_table(:users) { set_column_type :email, String }
own('set_column_type drops the triggers: the filter refuses to be asked',
    refused('yes', "'rebuild'") do
      db.get(Sequel.function(:filter_contains, 'known', 'old@example.org'))
    end == 'yes')
db[:known].insert(known: 'rebuild')
db[:users].insert(email: 'new@example.org')
own("'rebuild' makes them again", %w[old@example.org new@example.org].all? do |email|
  db.get(Sequel.function(:filter_contains, 'known', email)) == 1
end)
db.disconnect

# Threads that share a pool. Each id is sent by two of them.
pool = connect(max_connections: 8)
pool.transaction_mode = :immediate
pool.run('CREATE TABLE events(id TEXT)')
pool.run('CREATE VIRTUAL TABLE event_ids USING ' \
         'cuckoo_filter(id TEXT, capacity = 1e6, fpr = 1e-9, unique = on)')
added = Array.new(8) do |worker|
  Thread.new do
    (0...10).sum do |batch|
      pool.transaction do
        (0...4).sum do |i|
          id = "#{worker / 2} #{batch} #{i}"
          new = pool['INSERT OR IGNORE INTO event_ids VALUES (?)', id].update
          pool[:events].insert(id: id) if new == 1
          new
        end
      end
    end
  end
end.sum(&:value)
own('8 threads that send the same ids at once add each of them once',
    added == 160 && pool[:events].count == 160 &&
    pool[:events].distinct.select(:id).count == 160 &&
    pool.get(Sequel.function(:cuckoo_check, 'event_ids')) == 'ok')
pool.disconnect
