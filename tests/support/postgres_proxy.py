"""Records the messages of a program to PostgreSQL, whatever driver it uses.

A tap between the two forwards everything. It parses the program's messages (PostgreSQL's
documentation, "Frontend/Backend Protocol"): the texts of statements, and the values that are bound
to their parameters.
"""

import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread
from urllib.parse import urlsplit

from support.ports import LOOPBACK
from support.sockets import InThread, pass_on

Values = Sequence[bytes | None]
"""The values of a statement's parameters, in the binary form of their types; None for null."""

_CHUNK = 1 << 16


def looks_a_type_up(statement: str) -> bool:
    """Whether asyncpg looks up a type, by a recursive query that is slow on Citus."""
    return "RECURSIVE" in statement and "pg_type" in statement


class StatementProxy(InThread):
    """Records the statements that pass, each with the first of its bindings."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.statements: dict[str, list[Values]] = {}
        address, statements = (LOOPBACK, parts.port or 5432), self.statements

        class Connection(BaseRequestHandler):
            def handle(self) -> None:
                with socket.create_connection(address) as database:
                    answers = Thread(target=pass_on, args=(database, self.request))
                    answers.start()
                    reader = _Reader(statements)
                    with suppress(OSError):
                        while chunk := self.request.recv(_CHUNK):
                            reader.read(chunk)
                            database.sendall(chunk)
                    with suppress(OSError):
                        database.shutdown(socket.SHUT_WR)
                    answers.join()

        server = ThreadingTCPServer((LOOPBACK, 0), Connection)
        who = parts.netloc.rpartition("@")[0]
        place = f"{LOOPBACK}:{server.server_address[1]}"
        self.url = parts._replace(netloc=f"{who}@{place}").geturl()
        super().__init__(server)


class _Reader:
    """Parses the messages of a program on one connection."""

    def __init__(self, statements: dict[str, list[Values]]) -> None:
        self._statements = statements
        self._named: dict[bytes, str] = {}
        self._left = b""
        self._has_begun = False

    def read(self, chunk: bytes) -> None:
        self._left += chunk
        for letter, body in self._messages():
            if letter == b"Q":
                self._statements.setdefault(body.rstrip(b"\0").decode(), [])
            elif letter == b"P":
                name, text = body.split(b"\0")[:2]
                self._named[name] = text.decode()
            elif letter == b"B":
                _, name, values = body.split(b"\0", 2)
                bindings = self._statements.setdefault(self._named[name], [])
                if len(bindings) < 3:
                    bindings.append(_values(values))

    def _messages(self) -> Iterator[tuple[bytes, bytes]]:
        """The complete messages so far, with the letters of their types."""
        while True:
            before = 1 if self._has_begun else 0
            if len(self._left) < before + 4:
                return
            (length,) = struct.unpack_from("!i", self._left, before)
            if len(self._left) < before + length:
                return
            letter, body = self._left[:before], self._left[before + 4 : before + length]
            self._left = self._left[before + length :]
            if self._has_begun:
                yield letter, body
            else:
                # a request for TLS is answered, and the program starts again
                self._has_begun = struct.unpack_from("!i", body)[0] != 80877103


def _values(body: bytes) -> Values:
    """The values in a Bind message, after the names."""
    (formats,) = struct.unpack_from("!h", body)
    # 1 is the binary form
    assert set(struct.unpack_from(f"!{formats}h", body, 2)) <= {1}
    at = 2 + 2 * formats
    (count,) = struct.unpack_from("!h", body, at)
    at += 2
    values: list[bytes | None] = []
    for _ in range(count):
        (length,) = struct.unpack_from("!i", body, at)
        at += 4
        values.append(None if length < 0 else body[at : at + length])
        at += max(length, 0)
    return values
