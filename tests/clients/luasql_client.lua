-- LuaSQL has no way to load an extension, as docs/clients.md says: luasql_client.lua DIRECTORY
local driver = require('luasql.sqlite3')

local function own(what, ok)
  print('own: ' .. (ok and 'ok' or 'FAILED') .. ' ' .. what)
end

local db = driver.sqlite3():connect(arg[1] .. '/client.db')
local version = db:execute('SELECT sqlite_version()'):fetch()
print('client: ' .. driver._VERSION .. ', SQLite ' .. version)

local function refused(text, sql)
  local result, message = db:execute(sql)
  return result == nil and message:find(text, 1, true) ~= nil
end

own('a connection has no method for it',
  db.load_extension == nil and db.loadextension == nil and db.enable_load_extension == nil)
own("SQL can't load extensions",
  refused('not authorized', "SELECT load_extension('" .. os.getenv('CUCKOO_EXTENSION') .. "')"))
own('so there are no filters',
  refused('no such module', 'CREATE VIRTUAL TABLE seen USING cuckoo_filter(email TEXT)'))
