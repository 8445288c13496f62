"""Prints the answer to question.sql, from the installed wheel: ask.py setup.sql question.sql"""

import pathlib
import sqlite3
import sys
import types
import typing

import sqlite_cuckoo


def may_load(db):
    """Whether loading of extensions is on."""
    try:
        db.load_extension("/nowhere")
    except sqlite3.OperationalError as error:
        return "not authorized" not in str(error)
    raise AssertionError("/nowhere was loaded")


class Awaited:
    async def load_extension(self, path):
        raise AssertionError("loaded")


class Bare:
    """As sqlite3.Connection is in a Python without extension loading."""


def refuses_others(db):
    for other in (None, "my.db", db.cursor(), Awaited(), sqlite3.Connection):
        try:
            sqlite_cuckoo.load(other)
        except TypeError as error:
            kind = other if isinstance(other, type) else type(other)
            assert f"{kind.__module__}.{kind.__qualname__}" in str(error)
        else:
            raise AssertionError(f"loaded in {other!r}")

    real = sqlite_cuckoo.sqlite3
    sqlite_cuckoo.sqlite3 = types.SimpleNamespace(
        Connection=Bare, NotSupportedError=sqlite3.NotSupportedError
    )
    try:
        sqlite_cuckoo.load(Bare())
    except sqlite3.NotSupportedError as error:
        assert "--enable-loadable-sqlite-extensions" in str(error)
    else:
        raise AssertionError("loaded in nothing")
    finally:
        sqlite_cuckoo.sqlite3 = real


def stays_on(db):
    """A load that fails, in a folder with such a name, leaves loading as it was."""
    real = sqlite_cuckoo.loadable_path
    sqlite_cuckoo.loadable_path = lambda: "/not authorized/cuckoo.so"
    try:
        sqlite_cuckoo.load(db)
    except sqlite3.OperationalError:
        assert may_load(db), "a failed load switched loading off"
    else:
        raise AssertionError("nothing was loaded")
    finally:
        sqlite_cuckoo.loadable_path = real


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

    refuses_others(db)
    stays_on(db)

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
