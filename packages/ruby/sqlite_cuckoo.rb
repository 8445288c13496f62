# frozen_string_literal: true

# sqlite-cuckoo: filters, a flash store and a hash ring as virtual tables of SQLite.
module SqliteCuckoo
  VERSION = '@version@'

  # The path of the library, to be loaded as an extension of SQLite. It has no suffix, because SQLite
  # adds that of the platform. Whatever asks an extension for its to_path takes this module itself:
  # load_extension() and `extensions:` of sqlite3 from 2.4 on, and Rails' database.yml.
  def self.to_path
    File.join(__dir__, 'sqlite_cuckoo', 'cuckoo')
  end

  # Loads the extension in a connection of the gem sqlite3. Afterwards SQL can't load others there.
  def self.load(connection)
    unless connection.respond_to?(:enable_load_extension)
      raise TypeError, 'load() takes an SQLite3::Database that can load extensions, ' \
                       "not a #{connection.class}"
    end
    connection.enable_load_extension(true)
    begin
      connection.load_extension(to_path)
    ensure
      connection.enable_load_extension(false)
    end
  end
end
