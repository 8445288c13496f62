"""sqlite-cuckoo: filters, a flash store and a hash ring as virtual tables of SQLite."""

import inspect
import os
import re
import sqlite3
import sys

__all__ = ["load", "loadable_path"]
__version__ = "@version@"


def loadable_path() -> str:
    """The path of the library, to be loaded as an extension of SQLite."""
    library = {"darwin": "cuckoo.dylib", "win32": "cuckoo.dll"}.get(sys.platform, "cuckoo.so")
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), library)


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def load(connection: sqlite3.Connection) -> None:
    """Loads the extension in a connection, and leaves the loading of others as it was: on or off."""
    if isinstance(connection, type):
        raise TypeError(f"load() takes a connection, not the class {_name(connection)}")
    if not isinstance(connection, sqlite3.Connection) and (
        not hasattr(connection, "load_extension")
        or inspect.iscoroutinefunction(connection.load_extension)
    ):
        raise TypeError(f"a {_name(type(connection))} is no connection of sqlite3's kind")
    if not hasattr(connection, "enable_load_extension"):
        raise sqlite3.NotSupportedError(
            "this Python's sqlite3 can't load extensions: it was built without"
            " --enable-loadable-sqlite-extensions"
        )
    path = loadable_path()
    try:
        connection.load_extension(path)  # loading is on
        return
    except Exception as error:  # sqlite3.OperationalError, or another module's own
        if not re.fullmatch(r"(\w+: )?not authorized", str(error)):  # some put their class before it
            raise  # what fails otherwise may have the words in it, in a path
    connection.enable_load_extension(True)
    try:
        connection.load_extension(path)
    finally:
        connection.enable_load_extension(False)
