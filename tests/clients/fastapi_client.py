"""docs/web.md's program for FastAPI: fastapi_client.py DIRECTORY

It has no scenario: its statements are those of python_client.py.
"""
import sqlite3

import fastapi
from fastapi.testclient import TestClient

import web

app = web.programs("database", "fastapi_app").app


def user(email):
    response = client.get(f"/users/{email}")
    return response.json()["id"] if response.status_code == 200 else None


def add(events):
    response = client.post("/events", json=events)
    return response.json()["new"] if response.status_code == 200 else None


print("client: FastAPI", fastapi.__version__ + ", SQLite", sqlite3.sqlite_version)
with TestClient(app, raise_server_exceptions=False) as client:
    web.web_checks(user, add)
web.connection_checks(web.importlib.import_module("database").connection())
