"""Three dqlite nodes, whose leader is killed again and again; dqlite.sh calls it.

  dqlite.py NODE_PROGRAM DIRECTORY KILLS
"""
import contextlib
import os
import random
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import threading
import time

from dqlite_client import Client, EngineError, LeaderLost
from workload import Application, Failure, ask_everything, make, require, verify

DATABASE = "application.db"
TABLES = ("seen", "fixed", "once", "known", "recent", "store", "ring")
PATIENCE = 30  # seconds, for a leader, for followers to catch up


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Node:
    def __init__(self, program, directory, number):
        self.number, self.address = number, f"127.0.0.1:{free_port()}"
        self.directory = os.path.join(directory, f"node{number}")
        self.command = [program, str(number), self.address, self.directory]
        self.process = None
        os.mkdir(self.directory)

    def start(self):
        self.process = subprocess.Popen(self.command)
        with open(self.directory + ".pid", "w", encoding="ascii") as file:
            file.write(str(self.process.pid))

    def kill(self):
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.directory + ".pid")

    def require_running(self):
        require(self.process.poll() is None,
                f"node {self.number} ended by itself: {self.process.returncode}")


class Cluster:
    def __init__(self, program, directory):
        self.nodes = [Node(program, directory, number) for number in (1, 2, 3)]

    def start(self):
        for node in self.nodes:
            node.start()
        client = self.connect()
        for node in self.nodes[1:]:
            self.patiently(lambda node=node: client.add_voter(node.number, node.address))
        client.close()

    def stop(self):
        for node in self.nodes:
            if node.process:
                node.kill()

    def restart(self, node):
        node.start()
        for other in self.nodes:
            other.require_running()

    def patiently(self, action):
        """Again until it goes: nodes start, elections take place."""
        begun = time.monotonic()
        while True:
            try:
                return action()
            except (LeaderLost, EngineError) as error:
                require(time.monotonic() - begun < PATIENCE, f"still: {error}")
                time.sleep(0.05)

    def leading(self):
        """The node that leads, by the word of any."""
        for node in self.nodes:
            if node.process.poll() is not None:
                continue
            try:
                client = Client(node.address)
                address = client.leader()
                client.close()
            except LeaderLost:
                continue
            for leader in self.nodes:
                if leader.address == address and leader.process.poll() is None:
                    return leader
        raise LeaderLost("no node knows a leader")

    def connect(self):
        def attempt():
            client = Client(self.leading().address)
            client.open(DATABASE)
            # Where a transaction spilled its cache, dqlite 1.11 says "disk I/O error" (522), of
            # ordinary tables too.
            client.execute("PRAGMA cache_spill = OFF")
            return client

        return self.patiently(attempt)


class Writer:
    """Writes until the leader is lost. What was acknowledged is known by its keys."""

    def __init__(self):
        self.application = Application(1)
        self.tried, self.acknowledged, self.uncertain = 0, set(), 0

    def statements(self):
        statements = list(self.application.transaction())
        self.tried += 1
        marks = [f"INSERT INTO {table} VALUES ('mark{self.tried}')"
                 for table in ("present", "seen", "fixed", "once")]
        marks += [f"INSERT INTO {table} VALUES ('mark{self.tried}', {self.tried})"
                  for table in ("documents", "store")]
        return statements[:-1] + marks, statements[-1]

    def write(self, client):
        while True:
            statements, end = self.statements()
            for sql in statements:
                client.execute(sql)
            self.uncertain += end == "COMMIT"
            client.execute(end)
            if end == "COMMIT":
                self.uncertain -= 1
                self.acknowledged.add(self.tried)

    def compare(self, client):
        """Nothing acknowledged is lost, nothing else is there but commits cut short."""
        found = {number for number, in client.query(
            "SELECT value FROM documents WHERE key LIKE 'mark%'")}
        lost = self.acknowledged - found
        require(not lost, f"acknowledged and lost: {sorted(lost)[:5]}")
        extra = found - self.acknowledged
        require(len(extra) <= self.uncertain, f"never acknowledged: {sorted(extra)[:5]}")
        for name in ("seen", "fixed", "once"):
            missed = client.query("SELECT key FROM documents WHERE key LIKE 'mark%'"
                                  f" AND NOT filter_contains('{name}', key) LIMIT 3")
            require(not missed, f"{name} misses {missed}")


def check(client):
    verify(client.query)
    ask_everything(client.query)
    for table in TABLES:
        client.execute(f"INSERT INTO {table}({table}) VALUES ('check')")


def measure(cluster):
    """Milliseconds of a transaction of 50 rows, the median: now and then one takes 43 ms, whatever
    it writes, because TCP waits between dqlite's nodes."""
    client = cluster.connect()
    for name, declaration, row in (
            ("an ordinary table", "TABLE speed(key TEXT PRIMARY KEY, value) WITHOUT ROWID",
             "{}, {}"),
            ("cuckoo_filter", "VIRTUAL TABLE speed USING cuckoo_filter(key TEXT)", "{}"),
            ("flash_kv", "VIRTUAL TABLE speed USING flash_kv(key TEXT, value)", "{}, {}")):
        client.execute(f"CREATE {declaration}")
        times = []
        for first in range(0, 10_000, 50):
            keys = [f"'key{i * 7919 % 1_000_003}'" for i in range(first, first + 50)]
            values = ", ".join(f"({row.format(key, key)})" for key in keys)
            begun = time.monotonic()
            client.execute(f"INSERT INTO speed VALUES {values}")
            times.append(1000 * (time.monotonic() - begun))
        client.execute("DROP TABLE speed")
        print(f"50 rows into {name}: {statistics.median(times):.1f} ms", flush=True)
    client.close()


def kill_in_mid_write(cluster, writer, chance):
    """Seconds until there is a leader again."""
    client, victim = cluster.connect(), cluster.leading()
    timer = threading.Timer(chance.uniform(0.5, 2), victim.kill)
    timer.start()
    try:
        writer.write(client)
    except LeaderLost:
        pass
    finally:
        timer.join()
    begun = time.monotonic()
    client = cluster.connect()
    took = time.monotonic() - begun
    check(client)
    writer.compare(client)
    client.close()
    cluster.restart(victim)
    return took


def dump_of(node, directory):
    """The text of .dump of a node's files, after a checkpoint, and its database, checked."""
    client = Client(node.address)
    files = client.dump(DATABASE)
    client.close()
    path = os.path.join(directory, f"dump{node.number}.db")
    for name, content in files.items():
        with open(path + name[len(DATABASE):], "wb") as file:
            file.write(content)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.enable_load_extension(True)
    db.load_extension(os.environ["CUCKOO_EXTENSION"])
    query = lambda sql: db.execute(sql).fetchall()
    verify(query)
    ask_everything(query)
    db.close()
    for end in ("-wal", "-shm"):
        if os.path.exists(path + end):
            os.remove(path + end)
    return subprocess.run(["sqlite3", "-batch", "-init", "/dev/null", path, ".dump"],
                          capture_output=True, check=True).stdout


def compare_dumps(cluster, directory):
    begun = time.monotonic()
    while True:
        dumps = [dump_of(node, directory) for node in cluster.nodes]
        if dumps[0] == dumps[1] == dumps[2]:
            return len(dumps[0])
        require(time.monotonic() - begun < PATIENCE, "the nodes' dumps differ")
        time.sleep(0.5)


def each_leads(cluster, writer):
    for node in cluster.nodes:
        def hand_over(node=node):
            leader = cluster.leading()
            if leader is not node:
                client = Client(leader.address)
                try:
                    client.transfer(node.number)
                finally:
                    client.close()
                raise LeaderLost(f"node {node.number} does not lead")
            return cluster.connect()

        client = cluster.patiently(hand_over)
        check(client)
        writer.compare(client)
        client.close()


def run(program, directory, kills):
    cluster = Cluster(program, directory)
    chance = random.Random(1)
    try:
        cluster.start()
        measure(cluster)
        client = cluster.connect()
        make(client.execute)
        client.close()
        writer = Writer()
        for number in range(kills):
            took = kill_in_mid_write(cluster, writer, chance)
            print(f"leader killed, {number + 1} of {kills}: a new one after {took:.1f} s; all"
                  f" {len(writer.acknowledged)} acknowledged transactions are there", flush=True)
        each_leads(cluster, writer)
        print(f"each node led: {writer.tried} transactions tried, {len(writer.acknowledged)}"
              f" acknowledged, {writer.uncertain} cut short in COMMIT")
        size = compare_dumps(cluster, directory)
        print(f"the three nodes' dumps are the same {size / 1e6:.1f} MB")
    finally:
        cluster.stop()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    try:
        run(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    except (Failure, EngineError, LeaderLost) as failure:
        sys.exit(f"FAILED: {failure}")
