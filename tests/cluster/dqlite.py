"""Three dqlite nodes, whose leader is killed again and again; dqlite.sh calls it.

  dqlite.py NODE_PROGRAM DIRECTORY KILLS
"""
import contextlib
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time

from dqlite_client import Client, EngineError, LeaderLost
from workload import Failure, Writer, ask_everything, make, measure, require, verify

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

    def running(self):
        return self.process is not None and self.process.poll() is None

    def crashed(self):
        return self.process is not None and self.process.poll() not in (None, -signal.SIGKILL)


class Cluster:
    def __init__(self, program, directory, kills):
        self.crashes, self.most_crashes = 0, 1 + kills // 2
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

    def revive(self):
        """raft 0.15 uses freed memory when a peer is gone, without the extension too: at each kill
        AddressSanitizer finds it in uvSendWriteCb. Some one in ten becomes a crash."""
        for node in self.nodes:
            if node.crashed():
                self.crashes += 1
                print(f"node {node.number} crashed by itself ({node.process.returncode})"
                      " and is started again", flush=True)
                require(self.crashes <= self.most_crashes, "too many crashes to be raft's own")
                node.start()

    def patiently(self, action):
        """Again until it goes: nodes start, elections take place."""
        begun = time.monotonic()
        while True:
            self.revive()
            try:
                return action()
            except (LeaderLost, EngineError) as error:
                require(time.monotonic() - begun < PATIENCE, f"still: {error}")
                time.sleep(0.05)

    def leading(self):
        """The node that leads, by the word of any."""
        for node in self.nodes:
            if not node.running():
                continue
            try:
                client = Client(node.address)
                address = client.leader()
                client.close()
            except LeaderLost:
                continue
            for leader in self.nodes:
                if leader.address == address and leader.running():
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


def write(client, writer):
    """Until the leader is lost."""
    while True:
        writer.transaction(client.execute)


def check(client, writer):
    verify(client.query)
    ask_everything(client.query)
    for table in TABLES:
        client.execute(f"INSERT INTO {table}({table}) VALUES ('check')")
    writer.compare(client.query)
    client.close()


def kill_in_mid_write(cluster, writer, chance):
    """Seconds until there is a leader again."""
    client, victim = cluster.connect(), cluster.leading()
    timer = threading.Timer(chance.uniform(0.5, 2), victim.kill)
    timer.start()
    try:
        write(client, writer)
    except LeaderLost:
        pass
    finally:
        timer.join()
    begun = time.monotonic()
    cluster.connect().close()
    took = time.monotonic() - begun
    cluster.patiently(lambda: check(cluster.connect(), writer))
    if not victim.running():  # it may have crashed by itself and been revived
        victim.start()
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
        dumps = cluster.patiently(lambda: [dump_of(node, directory) for node in cluster.nodes])
        if dumps[0] == dumps[1] == dumps[2]:
            return len(dumps[0])
        require(time.monotonic() - begun < PATIENCE, "the nodes' dumps differ")
        time.sleep(0.5)


def each_leads(cluster, writer):
    for node in cluster.nodes:
        def lead(node=node):
            leader = cluster.leading()
            if leader is not node:
                client = Client(leader.address)
                try:
                    client.transfer(node.number)
                finally:
                    client.close()
                raise LeaderLost(f"node {node.number} does not lead")
            check(cluster.connect(), writer)

        cluster.patiently(lead)


def run(program, directory, kills):
    cluster = Cluster(program, directory, kills)
    chance = random.Random(1)
    try:
        cluster.start()
        client = cluster.connect()
        measure(client.execute)  # now and then 43 ms for anything: TCP waits between dqlite's nodes
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
