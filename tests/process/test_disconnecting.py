"""A disconnect ends the work on a response, and a stop does not wait for it."""

import random
import socket
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec

from process.conftest import StartServer
from support.companies import Company
from support.log import line_about
from support.server import Server
from support.sockets import in_full, send

RECORDS = 2_000
WHOLE = {"Prefer": f"odata.maxpagesize={RECORDS}"}
TRACKED = {"Prefer": f"odata.maxpagesize={RECORDS}, odata.track-changes"}
JSON = {"Content-Type": "application/json"}
PAGE = f"contactsExt?$filter=number ne ''&$top={RECORDS}".replace(" ", "%20")


def fill(company: Company) -> None:
    """Add contacts that do not compress well."""
    chosen = random.Random(1)
    rows = [
        {"number": f"{number:05}", "displayName": b64encode(chosen.randbytes(3_000)).decode()}
        for number in range(RECORDS)
    ]
    company.load("contactsExt", *rows)


def batch_of(count: int) -> bytes:
    """A batch in JSON that requests the same page several times."""
    part = {"method": "GET", "url": PAGE, "headers": WHOLE}
    return msgspec.json.encode(
        {"requests": [{"id": f"{number}", **part} for number in range(count)]}
    )


def multipart_of(count: int) -> bytes:
    """The same batch in multipart/mixed."""
    inner = "\n".join(f"{name}: {value}" for name, value in WHOLE.items())
    part = (
        "--b\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\n"
        f"GET {PAGE} HTTP/1.1\n{inner}\n\n\n"
    )
    return (part * count + "--b--\n").replace("\n", "\r\n").encode()


@contextmanager
def begun(
    server: Server,
    company: Company,
    address: str,
    headers: Mapping[str, str],
    body: bytes | None = None,
) -> Iterator[str]:
    """Send a request and read the start of its response; yields the path, then disconnects."""
    method = "GET" if body is None else "POST"
    request = company.build(method, address, body=body, headers=headers)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.connect(server.address)
        send(connection, in_full(request))
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
        yield request.url.path


def test_the_work_ends_when_a_client_disconnects(start_server: StartServer) -> None:
    """A page or a batch of any kind; then a stop does not wait for batches of minutes."""
    server = start_server()
    company = server.new_company()
    fill(company)
    for address, headers, body in (
        ("contactsExt", WHOLE, None),
        ("contactsExt", {**WHOLE, "Accept-Encoding": "gzip"}, None),
        ("contactsExt", {**WHOLE, "Accept-Encoding": "zstd"}, None),
        ("contactsExt?$expand=company", WHOLE, None),
        ("contactsExt?$apply=filter(number%20ne%20'')", WHOLE, None),
        ("contactsExt", TRACKED, None),
        ("$batch", JSON, batch_of(3)),
        ("$batch", {"Content-Type": "multipart/mixed; boundary=b"}, multipart_of(3)),
        ("$batch", {**JSON, "Accept-Encoding": "gzip"}, batch_of(3)),
    ):
        since = server.log.stat().st_size
        with begun(server, company, address, headers, body) as path:
            pass
        line = line_about(server, path, since)
        assert line.status == 499, (address, headers)
        pages = 1 if body else 0.5
        assert 0 < line.bytes < RECORDS * 4_000 * pages, (address, headers)
        assert company.get("itemsExt").status_code == 200

    since = server.log.stat().st_size
    for _ in range(3):
        with begun(server, company, "$batch", JSON, batch_of(100)):
            pass
    server.ask_to_stop()
    server.wait()

    log = server.log.read_text()
    assert log[since:].count('"status":499') == 3, log
    assert "Traceback" not in log
    assert '"level":"error"' not in log
