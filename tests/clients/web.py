"""The programs of docs/web.md for the clients in Python: each is taken
out of the document as it is there, and run in a directory of its own.
"""
import importlib
import os
import sqlite3
import sys
import threading

from scenario import EXTENSION, HERE, own

DOCUMENTS = os.path.join(HERE, "..", "..", "docs")
ADA, EVE = "ada@example.org", "eve@example.org"
TIMES = 10
THREADS = 8
opened = []  # how often a program called sqlite3.connect()


def block(language, first_line, document="web.md"):
    """The document's block in that language whose first line begins so."""
    with open(os.path.join(DOCUMENTS, document), encoding="utf-8") as file:
        parts = file.read().split(f"\n```{language}\n{first_line}")
    if len(parts) != 2:
        raise LookupError(f"{len(parts) - 1} blocks begin with {first_line!r}, not one")
    return first_line + parts[1].split("\n```\n")[0] + "\n"


def connect():
    """A connection of the test's own."""
    db = sqlite3.Connection("app.db")
    db.enable_load_extension(True)
    db.load_extension(EXTENSION)
    db.enable_load_extension(False)
    return db


def programs(*names):
    """Makes the database, writes the programs beside it, and imports the last of them."""
    directory = os.path.join(sys.argv[1], "web")
    os.mkdir(directory)
    os.chdir(directory)
    with connect() as db:
        db.executescript(block("sql", "PRAGMA journal_mode"))
        db.execute("INSERT INTO users(email) VALUES (?)", [ADA])
    db.close()
    for name in names:
        with open(f"{name}.py", "w", encoding="utf-8") as file:
            file.write(block("python", f"# {name}.py"))

    real = sqlite3.connect

    def counted(*arguments, **options):
        opened.append(arguments)
        return real(*arguments, **options)

    sqlite3.connect = sqlite3.dbapi2.connect = counted
    sys.path.insert(0, directory)
    return importlib.import_module(names[-1])


def events(*ids):
    return [{"id": id, "body": f"body of {id}"} for id in ids]


def scalar(sql):
    db = connect()
    try:
        return db.execute(sql).fetchone()[0]
    finally:
        db.close()


def web_checks(user, add):
    """user(email) returns an id or None; add(events) how many were new, or None after an error."""
    own("a user is found, and an address of nobody is not", user(ADA) == 1 and user(EVE) is None)
    own("an event that was sent before is not added",
        [add(events("a", "b", "a")), add(events("b", "c")), add(events("a", "c"))] == [2, 1, 0])
    own("of a request that fails nothing is kept, in the table or in the filter",
        add(events("d") + [{"id": "e", "body": None}]) is None
        and scalar("SELECT count(*) FROM events") == 3
        and scalar("SELECT filter_contains('event_ids', 'd')") == 0)
    own("so its events can be sent again", add(events("d", "e")) == 2)
    for _ in range(TIMES):
        user(ADA)
        add(events("a"))
    own("connections are kept: not one for each request", 1 <= len(opened) <= 3)
    own("the database is in WAL mode", scalar("PRAGMA journal_mode") == "wal")

    # Each id is in the requests of two threads.
    requests = [[events(*[f"{thread // 2} {batch} {i}" for i in range(5)])
                 for batch in range(TIMES)] for thread in range(THREADS)]
    answers = [[] for _ in requests]

    def send(mine, answered):
        for batch in mine:
            answered.append(add(batch))

    threads = [threading.Thread(target=send, args=pair) for pair in zip(requests, answers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    given = [new for answered in answers for new in answered]
    distinct = THREADS // 2 * TIMES * 5
    own("threads that send the same events at once add each of them once",
        None not in given and sum(given) == distinct
        and scalar("SELECT count(*) FROM events") == 5 + distinct
        and scalar("SELECT count(DISTINCT id) FROM events") == 5 + distinct
        and scalar("SELECT cuckoo_check('event_ids')") == "ok")
    own("at most one connection a thread", len(opened) <= THREADS + 3)


def connection_checks(db):
    """db: a connection as the program makes it."""
    try:
        db.execute("SELECT load_extension('cuckoo')")
        refusal = ""
    except sqlite3.OperationalError as error:
        refusal = str(error)
    own("SQL can't load extensions in it", "not authorized" in refusal)
    own("it waits five seconds for a lock",
        db.execute("PRAGMA busy_timeout").fetchone()[0] == 5000)
