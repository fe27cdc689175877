"""Functions that take long: stopped in time, and stopped when their client disconnects."""

import random
import time
from collections.abc import Mapping

import httpx

from process.conftest import StartServer
from support.client import page
from support.companies import Company
from support.refusals import refusal
from support.server import Server
from support.sockets import in_full, reset_at_end, send
from support.waiting import PATIENCE_SECONDS, until

FEW = {"scan_threads": 1, "database_connections": 4}
LONG_TEXTS = "ItemProductTextLongContentsExt"
KEY = "11111111-1111-4111-8111-111111111000"
HOSTILE = "[ab]*a" + "[ab]{50}" * 7 + "c"
"""A pattern that takes seconds for each text, as no set of its states occurs twice."""


def random_text(length: int) -> str:
    """A text of a and b without a period."""
    return random.Random(1).randbytes(length).translate(b"ab" * 128).decode()


def company_with_long_texts(server: Server, count: int) -> Company:
    company, text = server.new_company(), random_text(LENGTH)
    ids = (f"{KEY[:-3]}{number:03}" for number in range(count))
    company.load(
        LONG_TEXTS, *({"systemId": i, "languageCode": "DEU", "base64Text": text} for i in ids)
    )
    return company


def chained(calls: int) -> str:
    """Nested calls, each of which is quick."""
    return "tolower(toupper(" * calls + "base64Text" + "))" * calls + " eq 'x'"


LENGTH = 1 << 16
"""The characters of a text. A pattern is stopped at its end."""

COUNT = 64
"""The records with such a text."""

SLOW = {
    "a pattern": f"matchesPattern(base64Text,'{HOSTILE}')",
    "a chain": " or ".join([chained(45)] * 12),
}


def test_functions_that_take_too_long_are_503(start_server: StartServer) -> None:
    server = start_server(scan_seconds=0.1, **FEW)
    company = company_with_long_texts(server, COUNT)
    began = time.monotonic()

    for slow in SLOW.values():
        for query in ({"$filter": slow}, {"$filter": slow, "$count": "true"}, {"$orderby": slow}):
            answer = company.get(LONG_TEXTS, query)
            refusal(answer, "Internal_Unavailable")
            assert answer.headers["retry-after"] == "5"

    # each of them takes longer if nothing stops it
    assert time.monotonic() - began < PATIENCE_SECONDS
    quick = {"$filter": "matchesPattern(languageCode,'E')", "$select": "languageCode"}
    # a slow machine may need the time of a scan for a short one too
    found = until(lambda: answered(company, quick), "a scan that ends in time")
    assert len(page(found).value) == COUNT


def answered(company: Company, query: Mapping[str, str]) -> httpx.Response | None:
    """The response to a read of long texts, unless it took too long."""
    answer = company.get(LONG_TEXTS, query)
    return None if answer.status_code == 503 else answer


def test_functions_are_stopped_when_their_client_disconnects(start_server: StartServer) -> None:
    """The only scanning thread is free again, and the log has 499."""
    server = start_server(scan_seconds=600.0, **FEW)
    company = company_with_long_texts(server, COUNT)
    for number, slow in enumerate(SLOW.values(), 1):
        with server.connect() as connection:
            reset_at_end(connection)
            send(connection, in_full(company.build("GET", LONG_TEXTS, {"$filter": slow})))
            # the request has arrived when a later one has its response
            assert company.get("contactsExt").status_code == 200

        server.wait_for_log('"status":499', number)
        quick = {"$filter": "matchesPattern(languageCode,'E')", "$select": "languageCode"}
        assert len(company.listed(LONG_TEXTS, quick)) == COUNT
