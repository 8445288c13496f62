"""What the Python clients have in common: the values of run.sh's scenario, and how to print."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
EXTENSION = os.environ["CUCKOO_EXTENSION"]
PATH = os.path.join(sys.argv[1], "client.db") if len(sys.argv) > 1 else None

TABLES = ("users", "seen", "ids", "kv", "ring")
ADA, BOB, ZOE = "ada@example.org", "bob@example.org", "zoë@例え.jp"
DORA, EVE, FRED = "dora@example.org", "eve@example.org", "fred@example.org"
GINA, HANA = "gina@example.org", "hana@example.org"
LARGE, LARGEST = 2**53 + 1, 2**63 - 1
USERS = [(1, ADA), (2, BOB), (LARGE, ZOE)]
IDS = [1, 2, LARGE, LARGEST]
ASKED_IDS = [LARGE, 2**53, LARGEST, -(2**63)]
PAIRS = [("greeting", "hello"), ("note", "Grüße 😀"), ("nothing", None),
         ("raw", b"\x00\xff\x80"), ("big", LARGEST)]
NODES = [("cache1", 1), ("cache2", 1), ("größe3", 2)]
REQUESTS = [EVE, BOB, ZOE]


def schema():
    with open(os.path.join(HERE, "schema.sql"), encoding="utf-8") as file:
        return file.read()


def show(step, *values):
    print(step + ":", *["NULL" if value is None else int(value) if value is True or value is False
                        else value for value in values])


def refused(word, text, action):
    """The word if the action is an error with that text, else what it did."""
    try:
        return f"no error, {action()}"
    except Exception as error:  # whatever class this client has for it
        return word if text in str(error) else f"{type(error).__name__}: {error}"


def fails(text, action):
    return refused("yes", text, action) == "yes"


def own(what, ok):
    """A check of this client's own."""
    print("own:", "ok" if ok else "FAILED", what)
