"""The bare application: it selects the bytes of a page, joins and sends them.

A page cannot cost less on this server: a row for each record, from one BLOB column of a table
without row ids whose key is the company and the record's key. The responses have the same bytes as
the service's, because `fill` takes them from the service. If the client accepts gzip, they are
compressed in one piece, at the service's level.

Usage: `python bench/bare_page.py FILE`, with a database that `fill` wrote.
"""

import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import cast

import msgspec
from bare_server import serve
from calls import Page, body_of, walk
from processes import Server
from starlette.types import Receive, Scope, Send
from wrk import Scenario

from comptoir.http.compression import response_coding
from comptoir.store.sqlite.connection import PAGE_BYTES, connect

_SCHEMA = """
CREATE TABLE records (company_id TEXT, id TEXT, body BLOB, PRIMARY KEY (company_id, id))
    WITHOUT ROWID;
CREATE TABLE pages (prefer TEXT PRIMARY KEY, company_id TEXT, size INTEGER, head BLOB, tail BLOB);
"""
_SELECT = "SELECT body FROM records WHERE company_id = ? ORDER BY id LIMIT ?"


class _Key(msgspec.Struct):
    id: str


def fill(path: Path, company_id: str, service: Server, scenarios: Sequence[Scenario]) -> Path:
    """Write the records of a service into a new database, and return its path.

    The first pages of the scenarios, whose sizes differ, can then be requested from the
    application. The records come from the last one.
    """
    with closing(sqlite3.connect(path)) as connection, connection:
        # as large as those of the service: a record must fit into one
        connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(_SCHEMA)
        for page in walk(service, scenarios[-1]):
            rows = [
                (company_id, msgspec.json.decode(body, type=_Key).id, bytes(body))
                for body in page.value
            ]
            connection.executemany("INSERT INTO records VALUES (?, ?, ?)", rows)
        for scenario in scenarios:
            body = body_of(service, scenario)
            records = msgspec.json.decode(body, type=Page).value
            joined = b",".join(map(bytes, records))
            head, tail = body.split(joined)
            row = (scenario.headers["Prefer"], company_id, len(records), head, tail)
            connection.execute("INSERT INTO pages VALUES (?, ?, ?, ?, ?)", row)
    return path


def main(path: Path) -> None:
    """Send pages, on a free port, until a signal stops the server."""
    connection = connect(path, writes=False, lock_seconds=5)
    known = "SELECT prefer, company_id, size, head, tail FROM pages"
    pages = {prefer.encode(): rest for prefer, *rest in connection.execute(known)}

    async def application(scope: Scope, _: Receive, send: Send) -> None:
        asked = dict(scope["headers"])
        company_id, size, head, tail = pages[asked[b"prefer"]]
        rows = connection.execute(_SELECT, (company_id, size)).fetchall()
        body = head + b",".join([cast("bytes", each) for (each,) in rows]) + tail
        headers = [(b"content-type", b"application/json;odata.metadata=minimal")]
        coding = response_coding(asked)
        if coding.compressor is not None:
            headers.append((b"content-encoding", coding.name))
            body = coding.compressor()(body, True)
        headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    serve(application)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
