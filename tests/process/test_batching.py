"""Batches over sockets: responses in pieces, concurrent requests, and stops."""

import http.client
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from support.batches import HTTP, MULTIPART, Entry, replies, send_documents
from support.companies import Company
from support.log import line_about
from support.server import Server
from support.waiting import PATIENCE_SECONDS, until

CONTACTS = 1_001


@pytest.fixture(scope="module")
def company(server: Server) -> Company:
    company = server.new_company()
    company.load(
        "contactsExt",
        *(
            {
                "id": f"{number:08d}-0000-4000-8000-000000000000",
                "number": f"K{number:04d}",
                "displayName": "x" * 100,
            }
            for number in range(CONTACTS)
        ),
    )
    return company


def test_many_pages_are_sent_in_pieces(company: Company) -> None:
    """The client of the standard library reads the response of unknown length."""
    target = urlsplit(f"{company.root}/$batch")
    request = f"--batch_1\n{HTTP}\nGET contactsExt HTTP/1.1\n\n"
    body = f"{request * 5}--batch_1--".replace("\n", "\r\n").encode()
    headers = {"Authorization": f"Bearer {company.token}", "Content-Type": MULTIPART}
    connection = http.client.HTTPConnection(target.netloc, timeout=PATIENCE_SECONDS)
    with closing(connection):
        connection.request("POST", target.path, body, headers)
        response = connection.getresponse()
        content = response.read()
        assert response.getheader("Transfer-Encoding") == "chunked"
        assert response.getheader("Content-Length") is None
        connection.request("POST", target.path, b"--batch_1--", headers)
        assert connection.getresponse().status == 200

    assert content.count(b"HTTP/1.1 200 OK\r\n") == 5
    assert content.count(b'"number":"K0999"') == 5


def test_other_requests_run_during_a_batch(server: Server, company: Company) -> None:
    """A read during a batch of twenty pages does not wait for the end of the batch."""
    entries: Sequence[Entry] = [
        {"id": str(number), "method": "GET", "url": "contactsExt"} for number in range(20)
    ]

    def asked() -> bool | None:
        """Whether the log has more than ten reads that ended before the batch."""
        since = server.log.stat().st_size
        reads: list[str] = []
        with ThreadPoolExecutor(1) as threads:
            batch = threads.submit(send_documents, company, entries)
            while not batch.done():
                answer = company.get("shippingAgentsExt")
                assert answer.status_code == 200
                reads.append(answer.headers["x-request-id"])
        assert len(replies(batch.result())) == len(entries)
        line_about(server, f"{company.root.removeprefix(server.origin.root)}/$batch", since)
        before, _, _ = server.log.read_text()[since:].partition("$batch")
        return len([each for each in reads if each in before]) > 10 or None

    # a slow machine may send the reads when the batch has ended
    until(asked, "reads that end before the batch")
