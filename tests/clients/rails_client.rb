# A Rails application's schema in db/structure.sql, by rake's tasks: rails_client.rb DIRECTORY
#
# There is nothing in the application but what these tasks need. It has no scenario: its statements
# are those of active_record_client.rb.
require 'fileutils'
require 'open3'
require 'rails/version'
require 'sqlite3'
require_relative 'scenario'

PATTERNS = [
  [/^CREATE VIRTUAL TABLE seen /, 1], [/^CREATE VIRTUAL TABLE a_guard /, 1],
  [/^CREATE VIRTUAL TABLE kv /, 1], [/^CREATE VIRTUAL TABLE ring /, 1],
  [/seen_data|seen_config|kv_pages|ring_items/, 0], [/TRIGGER|seen_source/, 0]
].freeze

def write(name, text)
  FileUtils.mkdir_p(File.dirname(name))
  File.write(name, text)
end

def rake(*tasks)
  printed, status = Open3.capture2e('rake', *tasks)
  warn printed unless status.success?
  status.success?
end

def connect
  db = SQLite3::Database.new('db/app.db')
  db.enable_load_extension(true)
  db.load_extension(ENV.fetch('CUCKOO_EXTENSION'))
  db
end

def in_database
  db = connect
  yield db
ensure
  db.close
end

# Are the tables right in a database that was just loaded?
def right
  in_database do |db|
    db.execute('INSERT INTO users(email) VALUES (?), (?)', [ADA, BOB])
    db.execute('DELETE FROM users WHERE email = ?', [BOB])
    db.execute("INSERT INTO ring(node) VALUES ('cache1')")
    db.execute("INSERT INTO kv VALUES ('greeting', 'hello')")
    [ADA, BOB].map { |email| db.get_first_value("SELECT filter_contains('seen', ?)", [email]) } ==
      [1, 0] &&
      db.execute('SELECT email FROM a_guard WHERE email IN (?, ?)', [ADA, BOB]) == [[ADA]] &&
      db.get_first_value("SELECT node FROM ring WHERE key = 'k'") == 'cache1' &&
      db.get_first_value("SELECT doc FROM kv WHERE name = 'greeting'") == 'hello' &&
      %w[seen ring kv].all? { |name| db.get_first_value('SELECT cuckoo_check(?)', [name]) == 'ok' }
  end
end

Dir.chdir(ARGV[0])
write('Rakefile', "require_relative 'config/application'\nRails.application.load_tasks\n")
write('config/environment.rb', "require_relative 'application'\nRails.application.initialize!\n")
write('config/application.rb', <<~RUBY)
  require 'rails'
  require 'active_record/railtie'

  class App < Rails::Application
    config.root = File.expand_path('..', __dir__)
    config.load_defaults 6.1
    config.eager_load = false
    config.logger = Logger.new(nil)
    config.active_record.schema_format = :sql
  end
RUBY
write('config/database.yml', "development:\n  adapter: sqlite3\n  database: db/app.db\n")
# The lines of docs/clients.md, "ActiveRecord", then those of docs/web.md.
write('config/initializers/cuckoo.rb', <<~'RUBY')
  require 'active_record/connection_adapters/sqlite3_adapter'

  module LoadCuckoo
    private

    def configure_connection
      super
      @connection.enable_load_extension(true)
      @connection.load_extension('cuckoo')
      @connection.enable_load_extension(false)
    end
  end
  ActiveRecord::ConnectionAdapters::SQLite3Adapter.prepend(LoadCuckoo)

  schema = <<~SQL.tr("\n", ' ')
    SELECT sql || ';' FROM sqlite_schema
    WHERE name NOT IN (SELECT name FROM pragma_table_list WHERE type = 'shadow')
    AND name NOT GLOB 'sqlite_*' AND name NOT GLOB replace('*_source_*_########', '#', '[0-9a-f]')
    ORDER BY rowid
  SQL
  tasks = ActiveRecord::Tasks::DatabaseTasks
  tasks.structure_dump_flags = ['-bail', '-cmd', '.load cuckoo', '-cmd', schema, '-cmd', '.quit']
  tasks.structure_load_flags = ['-cmd', "'.load cuckoo'"]
RUBY
write('db/migrate/20260101000000_tables.rb', <<~RUBY)
  class Tables < ActiveRecord::Migration[6.1]
    def up
      create_table(:users) { |t| t.string :email }
      execute 'CREATE VIRTUAL TABLE seen USING cuckoo_filter(
        email, source = users(email), triggers = on)'
      execute 'CREATE VIRTUAL TABLE a_guard USING filter_guard(seen)'
      execute "CREATE VIRTUAL TABLE kv USING flash_kv(name TEXT, doc, size = '1MB')"
      execute 'CREATE VIRTUAL TABLE ring USING hash_ring'
    end
  end
RUBY

puts "client: Rails #{Rails::VERSION::STRING}, a schema in structure.sql, sqlite3 #{SQLite3::VERSION}"
own('a migration makes the tables', rake('db:migrate') && right)
dumped = File.read('db/structure.sql')
own('structure.sql has our tables, and none of those in which they keep their data',
    PATTERNS.all? { |pattern, count| dumped.scan(pattern).size == count })
own('and the number of the migration', dumped.include?("('20260101000000')"))
in_database { |db| db.execute('VACUUM') }
own('after a VACUUM it is the same', rake('db:schema:dump') &&
                                     File.read('db/structure.sql') == dumped)
own('it is loaded into a new database', rake('db:drop', 'db:create', 'db:schema:load'))
own('filter, guard, store and ring are right there', right)
own('and dumped from there it is the same', rake('db:schema:dump') &&
                                            File.read('db/structure.sql') == dumped)
