"""Writes a schema as Rails and Laravel do, loads it into a new database, and uses the tables there:
schema_client.py DIRECTORY

Rails 8 writes db/schema.rb: the ordinary tables, then a create_virtual_table for each virtual
table, whose SQL a regular expression takes apart. Debian's Rails is older and has none of this, so
the functions here do the same in Python. Laravel's schema:dump runs the shell's .schema, and takes
some lines out of that. Its migrate gives the rest to the shell.
"""
import os
import re
import sqlite3
import subprocess
import sys

from scenario import ADA, BOB, EVE, EXTENSION, PATH, ZOE, fails, own

# The guard's name sorts before its filter's, so Rails loads it first.
SCHEMA = """
CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT UNIQUE);
CREATE TABLE events(id INTEGER PRIMARY KEY, kind TEXT NOT NULL);
CREATE INDEX events_kind ON events(kind);
CREATE VIRTUAL TABLE seen USING cuckoo_filter(email, source = users(email), triggers = on);
CREATE VIRTUAL TABLE a_guard USING filter_guard(seen);
CREATE VIRTUAL TABLE kinds USING bloom_filter(kind, source = events(kind), triggers = on);
CREATE VIRTUAL TABLE visitors USING cuckoo_filter(name TEXT, generations = 7);
CREATE VIRTUAL TABLE ring USING hash_ring(algorithm = ring, vnodes = 100);
CREATE VIRTUAL TABLE kv USING flash_kv(name TEXT, doc, size = '1MB');
"""
FILTERS = ("seen", "kinds", "visitors")
CHECKED = FILTERS + ("ring", "kv")


def connect(path):
    db = sqlite3.connect(path, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(EXTENSION)
    db.enable_load_extension(False)
    return db


def scalar(db, sql, *values):
    return db.execute(sql, values).fetchone()[0]


def shell(path, *command, script=None):
    """The shell as Laravel runs it. Laravel has no option for extensions, so its users have the
    .load in ~/.sqliterc. A test must not write that file, so -init names another one."""
    settings = os.path.join(sys.argv[1], "sqliterc")
    with open(settings, "w", encoding="utf-8") as file:
        file.write(f".load {EXTENSION}\n")
    return subprocess.run(["sqlite3", "-init", settings, *(["-bail"] if script else []), path,
                           *command], input=script, capture_output=True, text=True)


def tables(db):
    """What is in the schema. Names end in a suffix that is another one in each database."""
    names = db.execute("SELECT name FROM sqlite_schema").fetchall()
    return sorted({re.sub("_[0-9a-f]{8}$", "", name) for (name,) in names})


# --- Rails

def rails_dump(db):
    """The lines of schema.rb: SQL of an ordinary table, or what create_virtual_table is given.

    Rails has its own words for ordinary tables. It takes no triggers, and none of the tables in
    which a virtual table keeps its data.
    """
    ordinary = []
    for (name,) in db.execute(
            "SELECT name FROM pragma_table_list WHERE schema <> 'temp' AND type = 'table'"
            " AND name NOT IN ('sqlite_sequence', 'sqlite_schema') ORDER BY name").fetchall():
        statements = db.execute(
            "SELECT sql FROM sqlite_schema WHERE tbl_name = ? AND sql IS NOT NULL"
            " AND type IN ('table', 'index') ORDER BY type DESC", [name])
        ordinary.append((name, [sql for (sql,) in statements]))
    virtual = []
    for name, sql in db.execute(
            "SELECT name, sql FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL %'"):
        module, arguments = re.search(r"USING\s+(\w+)\s*\((.+)\)", sql, re.I).groups()
        virtual.append((name, module, arguments.split(", ")))
    return ordinary, sorted(virtual)


def rails_load(db, dumped):
    ordinary, virtual = dumped
    for name, statements in ordinary:
        db.execute(f"DROP TABLE IF EXISTS {name}")  # create_table has force: :cascade there
        for sql in statements:
            db.execute(sql)
    for name, module, arguments in virtual:
        db.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS {name} USING {module}"
                   f" ({', '.join(arguments)})")


# --- what the tables are to do in the new database

def fill(db):
    db.executemany("INSERT INTO users(email) VALUES (?)", [[ADA], [BOB], [ZOE]])
    db.executemany("INSERT INTO events(kind) VALUES (?)", [["login"], ["login"], ["logout"]])
    db.execute("DELETE FROM users WHERE email = ?", [BOB])
    db.execute("INSERT INTO visitors VALUES (?)", ["ada"])
    db.execute("INSERT INTO ring(node) VALUES ('cache1'), ('cache2')")
    db.execute("INSERT INTO kv VALUES ('greeting', 'hello')")


def right(db):
    def contains(table, key):
        return scalar(db, "SELECT filter_contains(?, ?)", table, key)

    return {
        "filter": [contains("seen", email) for email in (ADA, BOB, ZOE, EVE)] == [1, 0, 1, 0],
        "guard": db.execute("SELECT email FROM a_guard WHERE email IN (?, ?, ?, ?) ORDER BY id",
                            [ADA, BOB, ZOE, EVE]).fetchall() == [(ADA,), (ZOE,)],
        "Bloom filter": [contains("kinds", kind) for kind in ("login", "logout", "none")]
                        == [1, 1, 0],
        "window": contains("visitors", "ada") == 1 and contains("visitors", "eve") == 0,
        "ring": scalar(db, "SELECT node FROM ring WHERE key = 'user:42'") in ("cache1", "cache2"),
        "kv": scalar(db, "SELECT doc FROM kv WHERE name = 'greeting'") == "hello",
        "checks": [scalar(db, "SELECT cuckoo_check(?)", table) for table in CHECKED]
                  == ["ok"] * len(CHECKED),
    }


def filled_is_right(db):
    fill(db)
    wrong = [what for what, ok in right(db).items() if not ok]
    for what in wrong:
        print("wrong:", what)
    return not wrong


def rails(old):
    dumped = rails_dump(old)
    new = connect(PATH + ".rails")
    rails_load(new, dumped)
    own("a guard that is made before its filter has no columns in that connection",
        fails("no such column: email", lambda: new.execute("SELECT email FROM a_guard")))
    new.close()
    new = connect(PATH + ".rails")
    own("Rails' schema gives the same tables and triggers", tables(new) == tables(old))
    own("filters, guard, store and ring are right in it", filled_is_right(new))

    # create_table drops a table that is there already, and so its triggers.
    rails_load(new, dumped)
    own("loaded over its own database: a filter with triggers refuses to be asked",
        fails("'rebuild'", lambda: scalar(new, "SELECT filter_contains('seen', 'x')")))
    for name in ("seen", "kinds"):
        new.execute(f"INSERT INTO {name}({name}) VALUES ('rebuild')")
    new.execute("INSERT INTO users(email) VALUES (?)", [EVE])
    own("'rebuild' makes the triggers again",
        scalar(new, "SELECT filter_contains('seen', ?)", EVE) == 1 and tables(new) == tables(old))
    new.close()

    # The regular expression takes one line, with parentheses.
    def one(sql):
        db = connect(":memory:")
        db.execute(sql)
        return rails_dump(db)

    own("a CREATE VIRTUAL TABLE of several lines, or without parentheses: Rails fails",
        fails("NoneType", lambda: one("CREATE VIRTUAL TABLE f USING cuckoo_filter(\n  email TEXT)"))
        and fails("NoneType", lambda: one("CREATE VIRTUAL TABLE f USING cuckoo_filter")))


# --- Laravel

def laravel_8(dumped, _):
    return "".join(line + "\n" for line in dumped.splitlines()
                   if "sqlite_sequence" not in line.lower() and line)


def laravel_9(dumped, _):
    return re.sub(r"CREATE TABLE sqlite_.+?\);[\r\n]+", "", dumped, flags=re.I | re.S) + "\n"


def laravel_newest(dumped, db):
    """Takes the shadow tables out, too."""
    schema = laravel_9(dumped, db)
    for (name,) in db.execute("SELECT name FROM pragma_table_list WHERE type = 'shadow'"):
        create = f"^CREATE TABLE IF NOT EXISTS (['\"]){re.escape(name)}\\1[^;]*;\n"
        schema = re.sub(create, "", schema, flags=re.M)
    return schema


def laravel(old):
    for what, command, wash in (("Laravel 8", ".schema", laravel_8),
                                ("Laravel 9", ".schema --indent", laravel_9),
                                ("the newest Laravel", ".schema --indent", laravel_newest)):
        path = f"{PATH}.{wash.__name__}"
        loaded = shell(path, script=wash(shell(PATH, command).stdout, old))
        if loaded.stderr:
            print("wrong:", loaded.stderr)
        own(f"the schema of {what} loads without an error",
            loaded.returncode == 0 and not loaded.stderr)
        new = connect(path)
        own(f"that of {what} gives the same tables and triggers", tables(new) == tables(old))
        own(f"filters, guard, store and ring are right in that of {what}", filled_is_right(new))
        new.close()


database = connect(PATH)
database.executescript(SCHEMA)
print("client: schemas as Rails and Laravel write them, SQLite", sqlite3.sqlite_version)
rails(database)
laravel(database)
