"""Prints the answer to question.sql, from the installed wheel: ask.py setup.sql question.sql"""

import pathlib
import sqlite3
import sys
import typing

import sqlite_cuckoo


def may_load(db):
    """Whether loading of extensions is on."""
    try:
        db.load_extension("/nowhere")
    except sqlite3.OperationalError as error:
        return "not authorized" not in str(error)
    raise AssertionError("/nowhere was loaded")


def main(setup, question):
    db = sqlite3.connect(":memory:")
    sqlite_cuckoo.load(db)
    for on in (False, True):  # how it is at first depends on how SQLite was built
        db.enable_load_extension(on)
        sqlite_cuckoo.load(db)  # a second time changes nothing
        assert may_load(db) == on, f"loading was {on}, and is not"

    fresh = sqlite3.connect(":memory:")
    fresh.enable_load_extension(False)
    sqlite_cuckoo.load(fresh)
    assert not may_load(fresh), "loading was off, and is on"

    try:
        sqlite_cuckoo.load(object())  # as a connection of a Python without extension loading
    except sqlite3.NotSupportedError as error:
        assert "--enable-loadable-sqlite-extensions" in str(error)
    else:
        raise AssertionError("loaded in nothing")

    package = pathlib.Path(sqlite_cuckoo.__file__).parent
    assert pathlib.Path(sqlite_cuckoo.loadable_path()) == package / "cuckoo.so"
    assert (package / "py.typed").exists()
    assert typing.get_type_hints(sqlite_cuckoo.loadable_path) == {"return": str}

    db.executescript(pathlib.Path(setup).read_text())
    (answer,) = db.execute(pathlib.Path(question).read_text()).fetchone()
    assert answer.split()[0] == sqlite_cuckoo.__version__
    print(answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
