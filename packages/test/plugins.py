"""The installed wheel's plugins, as Datasette and sqlite-utils find and call them, by pluggy."""

import sqlite3

import pluggy


class OfDatasette:
    @pluggy.HookspecMarker("datasette")
    def prepare_connection(conn, database, datasette):
        """As docs.datasette.io has it."""


class OfSqliteUtils:
    @pluggy.HookspecMarker("sqlite_utils")
    def prepare_connection(conn):
        """As sqlite-utils' documentation has it."""


def check(project, hooks, **arguments):
    manager = pluggy.PluginManager(project)
    manager.add_hookspecs(hooks)
    assert manager.load_setuptools_entrypoints(project) == 1, f"{project}: no plugin, or several"
    manager.check_pending()
    (_, found), = manager.list_plugin_distinfo()
    assert found.project_name == "sqlite-cuckoo", found.project_name

    db = sqlite3.connect(":memory:")
    manager.hook.prepare_connection(conn=db, **arguments)
    db.execute("CREATE VIRTUAL TABLE seen USING cuckoo_filter(email TEXT)")
    db.execute("INSERT INTO seen VALUES ('ada@example.org')")
    asked = "SELECT filter_contains('seen', 'ada@example.org')"
    assert db.execute(asked).fetchone() == (1,)
    manager.hook.prepare_connection(conn=db, **arguments)  # a second time changes nothing
    try:
        db.execute("SELECT load_extension('cuckoo')")
    except sqlite3.OperationalError as error:
        assert "not authorized" in str(error), error
    else:
        raise AssertionError(f"{project}: SQL can load extensions")


check("datasette", OfDatasette, database="my", datasette=None)
check("sqlite_utils", OfSqliteUtils)
