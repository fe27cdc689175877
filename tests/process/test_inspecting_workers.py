"""What the console shows of requests to processes, also to another worker."""

from dataclasses import replace
from html import unescape
from pathlib import Path
from socket import MSG_PEEK

from comptoir.auth.tokens import Scope
from support.console import Browser, new_code
from support.databases import FreshDatabase
from support.samples import UNKNOWN
from support.server import Server
from support.sockets import read_answer, send
from support.waiting import until
from support.worker_connections import WorkerConnections, process_of


def test_each_worker_shows_the_requests_to_all(two: Server) -> None:
    with WorkerConnections(two, 2) as spread:
        browser = Browser(spread, two.origin.root)
        browser.log_in(new_code(two.admin))
        page = browser.get("/console/requests")
        action = "/console/requests/recording"
        fields = {"level": "bodies", "for": "an hour"}
        page = browser.follow(browser.submit(page, action, **fields))
        assert "of all its 2 workers" in page.text
        company = replace(two.new_company(), carrier=spread)

        def asked() -> set[str] | None:
            """The workers that keep a request."""
            for _ in range(2):
                company.get("shippingAgentsExt")
            listed = browser.get("/console/requests/rows").json()
            kept = {each["id"].partition("-")[0] for each in listed}
            return kept if len(kept) == 2 else None

        until(asked, "requests that both workers keep")
        sent = company.get("nothingExt")

        def shown_by() -> set[str] | None:
            """The workers that show the request."""
            answers = [browser.get("/console/requests/rows") for _ in range(4)]
            wanted = sent.headers["x-request-id"]
            showing = {
                process_of(each) for each in answers if wanted in {row["id"] for row in each.json()}
            }
            return showing if len(showing) == 2 else None

        until(shown_by, "both workers show the request")
        page = browser.get(f"/console/requests/{sent.headers['x-request-id']}")
        assert page.status_code == 200
        assert "✗ resource" in page.text
        browser.submit(browser.get("/console/requests"), action, level="off", **{"for": "an hour"})


def test_a_refused_request_is_not_asked_for_its_body(
    fresh_sqlite: FreshDatabase, tmp_path: Path
) -> None:
    """What has arrived of it is kept if it is the whole; nobody waits for the rest."""
    with Server.over(fresh_sqlite, tmp_path, inspect="bodies") as server:
        browser = Browser(server, server.origin.root)
        browser.log_in(new_code(server.admin))
        company, body = server.new_company(), b'{"name": "not allowed"}'
        reader = server.tokens.issue([Scope.RECORDS_READ])
        path = f"{server.settings.base_path}/companies({company.id})/shippingAgentsExt({UNKNOWN})"
        head = (
            f"PATCH {path} HTTP/1.1\r\nHost: {server.origin.root.partition('//')[2]}\r\n"
            f"Authorization: Bearer {reader}\r\nContent-Type: application/json\r\n"
            f"If-Match: *\r\nContent-Length: {len(body)}\r\n"
        ).encode()
        with server.connect() as connection:
            for sent, rest, is_kept in (
                (head + b"Expect: 100-continue\r\n\r\n", body, False),
                (head + b"\r\n" + body[:9], body[9:], False),
                (head + b"\r\n" + body, b"", True),
            ):
                send(connection, sent)
                # not an interim response, which a client of the standard library skips
                assert connection.recv(12, MSG_PEEK) == b"HTTP/1.1 403"
                refused = read_answer(connection)
                send(connection, rest)
                page = browser.get(f"/console/requests/{refused.headers['x-request-id']}")
                assert ("not allowed" in unescape(page.text)) == is_kept
                assert is_kept or f"A body of {len(body)} bytes, which is not shown." in page.text
