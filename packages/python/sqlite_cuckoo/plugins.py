"""A plugin of Datasette and of sqlite-utils: each connection that they open has the extension.

Only they import this module, by the wheel's entry points. Both bring pluggy, so the wheel does not
ask for it.
"""

import sqlite3

import pluggy

from sqlite_cuckoo import load

__all__ = ["prepare_connection"]


@pluggy.HookimplMarker("datasette")
@pluggy.HookimplMarker("sqlite_utils")
def prepare_connection(conn: sqlite3.Connection) -> None:
    """Loads the extension. Datasette passes its name of the database too, which this ignores."""
    load(conn)
