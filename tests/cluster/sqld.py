"""A primary and a replica of libsql's server, killed and started again; sqld.sh calls it.

  sqld.py SERVER_PROGRAM DIRECTORY SECONDS
"""
import base64
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

from workload import Failure, Writer, ask_everything, make, measure, require, verify

TABLES = ("seen", "fixed", "once", "known", "recent", "store", "ring")
PATIENCE = 30  # seconds, for a server to start, for the replica to catch up


class EngineError(Exception):
    pass


class ServerLost(Exception):
    """The connection broke: nobody knows whether a COMMIT counts."""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def from_json(value):
    if value["type"] == "integer":
        return int(value["value"])
    if value["type"] == "blob":
        text = value["base64"]
        return base64.b64decode(text + "=" * (-len(text) % 4))
    return value.get("value")


class Client:
    """One stream of sqld's HTTP interface. The baton it gives names it in the next request."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        self.baton = None

    def query(self, sql):
        body = json.dumps({"baton": self.baton, "requests": [
            {"type": "execute", "stmt": {"sql": sql}}]})
        try:
            self.connection.request("POST", "/v2/pipeline", body)
            response = self.connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise ServerLost(str(error)) from None
        if response.status != 200:
            raise EngineError(f"{response.status} {text[:300]}: {sql[:100]}")
        answer = json.loads(text)
        self.baton = answer["baton"]
        result = answer["results"][0]
        if result["type"] == "error":
            raise EngineError(f"{result['error']['message']}: {sql[:100]}")
        return [tuple(map(from_json, row)) for row in result["response"]["result"]["rows"]]

    execute = query

    def close(self):
        self.connection.close()


class Server:
    def __init__(self, name, program, directory, *options):
        self.name, self.port, self.process = name, free_port(), None
        self.path = os.path.join(directory, name)
        self.command = [program, "--no-welcome", "--db-path", self.path,
                        "--extensions-path", os.path.join(directory, "extensions"),
                        "--http-listen-addr", f"127.0.0.1:{self.port}", *options]

    def start(self):
        with open(self.path + ".log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        with open(self.path + ".pid", "w", encoding="ascii") as file:
            file.write(str(self.process.pid))
        self.patiently(lambda query: query("SELECT cuckoo_version()"))

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.path + ".pid")

    def patiently(self, action):
        """action(query), on new connections, until it goes."""
        begun = time.monotonic()
        while True:
            require(self.process.poll() is None,
                    f"the {self.name} ended by itself: {self.process.returncode}")
            client = Client(self.port)
            try:
                return action(client.query)
            except (ServerLost, EngineError) as error:
                require(time.monotonic() - begun < PATIENCE, f"the {self.name} still says: {error}")
                time.sleep(0.1)
            finally:
                client.close()


class Reader:
    """Asks the replica everything, again and again; each statement must be right by itself. When
    a server comes back, the replica goes through older states once more, those before a table was
    made among them. Until the first one is killed, each table must be there."""

    def __init__(self, replica):
        self.replica, self.rounds, self.failure, self.stopping = replica, 0, None, False
        self.one_was_killed = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        client = Client(self.replica.port)
        try:
            while not self.stopping:
                try:
                    verify(client.query)
                    ask_everything(client.query)
                    self.rounds += 1
                except EngineError as error:
                    if not self.one_was_killed or "no such table" not in str(error):
                        raise
                    time.sleep(0.1)
                except ServerLost:  # it was killed
                    client.close()
                    client = Client(self.replica.port)
                    time.sleep(0.1)
        except (Failure, EngineError) as failure:
            self.failure = failure
        finally:
            client.close()

    def end(self):
        self.stopping = True
        self.thread.join()
        require(self.failure is None, f"reading on the replica: {self.failure}")
        return self.rounds


def write(primary, writer, seconds):
    """False when the primary was lost meanwhile."""
    client, begun = Client(primary.port), time.monotonic()
    try:
        while time.monotonic() - begun < seconds:
            writer.transaction(client.execute)
    except ServerLost:
        return False
    finally:
        client.close()
    return True


def check(server, writer):
    def ask(query):
        verify(query)
        ask_everything(query)
        writer.compare(query)

    server.patiently(ask)


def catch_up(primary, replica):
    """Seconds until the replica has what the primary has."""
    progress = lambda query: query("SELECT transactions FROM progress")
    begun = time.monotonic()
    while replica.patiently(progress) != primary.patiently(progress):
        require(time.monotonic() - begun < PATIENCE, "the replica does not catch up")
        time.sleep(0.05)
    return time.monotonic() - begun


def stored(query):
    """All rows of all ordinary tables, those behind ours among them."""
    names = query("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
                  " AND name NOT LIKE 'libsql%' ORDER BY name")
    return {name: sorted(query(f'SELECT * FROM "{name}"'), key=repr) for name, in names}


def compare_tables(primary, replica):
    """How many there are, and their bytes."""
    one, other = primary.patiently(stored), replica.patiently(stored)
    require(one.keys() == other.keys(), f"tables differ: {one.keys() ^ other.keys()}")
    for name, rows in one.items():
        require(rows == other[name], f"{name} differs")
    return len(one), sum(len(value) for rows in one.values() for row in rows for value in row
                         if isinstance(value, (str, bytes)))


def run(program, directory, seconds):
    grpc = free_port()
    primary = Server("primary", program, directory, "--grpc-listen-addr", f"127.0.0.1:{grpc}")
    replica = Server("replica", program, directory,
                     "--primary-grpc-url", f"http://127.0.0.1:{grpc}")
    reader = None
    try:
        primary.start()
        replica.start()
        client = Client(primary.port)
        measure(client.execute)
        make(client.execute)
        client.close()
        writer = Writer()
        catch_up(primary, replica)
        reader = Reader(replica)

        write(primary, writer, seconds / 4)
        reader.one_was_killed = True
        replica.kill()
        write(primary, writer, seconds / 4)
        replica.start()
        print(f"replica killed: it has all {len(writer.acknowledged)} transactions"
              f" {catch_up(primary, replica):.1f} s after its start", flush=True)
        check(replica, writer)

        timer = threading.Timer(seconds / 4, primary.kill)
        timer.start()
        require(not write(primary, writer, seconds), "the primary was not killed")
        timer.join()
        primary.start()
        check(primary, writer)
        print(f"primary killed: all {len(writer.acknowledged)} acknowledged transactions are there",
              flush=True)
        require(write(primary, writer, seconds / 4), "the primary ended by itself")
        catch_up(primary, replica)
        rounds = reader.end()
        for server in (primary, replica):
            check(server, writer)
        for table in TABLES:
            primary.patiently(lambda query, table=table: query(
                f"INSERT INTO {table}({table}) VALUES ('check')"))
        tables, size = compare_tables(primary, replica)
        print(f"{writer.tried} transactions tried, {len(writer.acknowledged)} acknowledged,"
              f" {writer.uncertain} cut short in COMMIT; {rounds} rounds of reading on the replica")
        print(f"the {tables} tables behind are equal, {size / 1e6:.1f} MB")
    finally:
        if reader is not None:
            reader.stopping = True
        for server in (primary, replica):
            server.kill()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    try:
        run(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    except (Failure, EngineError, ServerLost) as failure:
        sys.exit(f"FAILED: {failure}")
