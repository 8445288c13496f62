"""docs/web.md's program for Flask: flask_client.py DIRECTORY

It has no scenario: its statements are those of python_client.py.
"""
import sqlite3
from importlib.metadata import version

import web

app = web.programs("database", "flask_app").app


def user(email):
    response = app.test_client().get(f"/users/{email}")
    return response.get_json()["id"] if response.status_code == 200 else None


def add(events):
    response = app.test_client().post("/events", json=events)
    return response.get_json()["new"] if response.status_code == 200 else None


print("client: Flask", version("flask") + ", SQLite", sqlite3.sqlite_version)
app.logger.disabled = True  # it would print the error that a check asks for
web.web_checks(user, add)
web.connection_checks(web.importlib.import_module("database").connection())
