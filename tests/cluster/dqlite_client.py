"""As much of dqlite's wire protocol (version 1) as a test needs. Everything is in words of 8 bytes,
little-endian. A message is a word with its length in words, type and schema, and a body."""
import socket
import struct

LEADER, CLIENT, OPEN, EXEC_SQL, QUERY_SQL = 0, 1, 3, 8, 9
ADD, ASSIGN, DUMP, TRANSFER = 12, 13, 15, 17
FAILURE, NODE, WELCOME, DB, RESULT, ROWS, EMPTY, FILES = 0, 1, 2, 4, 6, 7, 8, 9
VOTER = 0
ROWS_FOLLOW, ROWS_END = 0xEE, 0xFF
NOT_LEADER = (10250, 10506)  # SQLITE_IOERR_NOT_LEADER, SQLITE_IOERR_LEADERSHIP_LOST


class EngineError(Exception):
    pass


class LeaderLost(Exception):
    """The connection broke, or the node leads no longer: nobody knows whether a COMMIT counts."""


def integer(value):
    return struct.pack("<Q", value)


def text(value):
    data = value.encode() + b"\0"
    return data + bytes(-len(data) % 8)


class Body:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        self.at += size
        return self.data[self.at - size:self.at]

    def integer(self):
        return struct.unpack("<Q", self.take(8))[0]

    def text(self):
        end = self.data.index(b"\0", self.at)
        value = self.data[self.at:end].decode()
        self.at = end + 1 + -(end + 1 - self.at) % 8
        return value

    def blob(self):
        size = self.integer()
        value = self.take(size)
        self.take(-size % 8)
        return value

    def value(self, kind):
        if kind == 1:
            return struct.unpack("<q", self.take(8))[0]
        if kind == 2:
            return struct.unpack("<d", self.take(8))[0]
        if kind == 3:
            return self.text()
        if kind == 4:
            return self.blob()
        self.take(8)
        return None

    def rows(self, into):
        """True if more follow in the next message."""
        columns = self.integer()
        for _ in range(columns):
            self.text()
        header = -(-columns // 16) * 8  # a type of four bits for each column
        while self.data[self.at] not in (ROWS_FOLLOW, ROWS_END):
            types = self.take(header)
            into.append(tuple(self.value(types[i // 2] >> 4 * (i % 2) & 15)
                              for i in range(columns)))
        return self.data[self.at] == ROWS_FOLLOW


class Client:
    def __init__(self, address, timeout=20):
        host, port = address.split(":")
        try:
            self.socket = socket.create_connection((host, int(port)), timeout)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.socket.sendall(integer(1))
        except OSError as error:
            raise LeaderLost(str(error)) from None
        self.call(CLIENT, integer(0), WELCOME)
        self.db = None

    def close(self):
        self.socket.close()

    def receive(self, size):
        data = bytearray()
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise LeaderLost("the node closed the connection")
            data += part
        return bytes(data)

    def response(self, expected):
        words, kind = struct.unpack("<IB3x", self.receive(8))
        body = Body(self.receive(8 * words))
        if kind == FAILURE:
            code, message = body.integer(), body.text()
            raise (LeaderLost if code in NOT_LEADER else EngineError)(f"{message} ({code})")
        if kind != expected:
            raise EngineError(f"a response of type {kind}, not {expected}")
        return body

    def call(self, kind, body, expected):
        try:
            self.socket.sendall(struct.pack("<IB3x", len(body) // 8, kind) + body)
            return self.response(expected)
        except OSError as error:
            raise LeaderLost(str(error)) from None

    def leader(self):
        """Its address, or "" if the node knows none."""
        body = self.call(LEADER, integer(0), NODE)
        body.integer()
        return body.text()

    def open(self, name):
        body = self.call(OPEN, text(name) + integer(0) + text(""), DB)
        self.db = struct.unpack("<I", body.take(4))[0]

    def execute(self, sql):
        self.call(EXEC_SQL, integer(self.db) + text(sql), RESULT)

    def query(self, sql):
        rows = []
        body = self.call(QUERY_SQL, integer(self.db) + text(sql), ROWS)
        while body.rows(rows):
            try:
                body = self.response(ROWS)
            except OSError as error:
                raise LeaderLost(str(error)) from None
        return rows

    def add_voter(self, node, address):
        self.call(ADD, integer(node) + text(address), EMPTY)
        self.call(ASSIGN, integer(node) + integer(VOTER), EMPTY)

    def transfer(self, node):
        self.call(TRANSFER, integer(node), EMPTY)

    def dump(self, name):
        """{name: content} of the database's file and its WAL."""
        body = self.call(DUMP, text(name), FILES)
        return {body.text(): body.blob() for _ in range(body.integer())}
