"""Functions that take long: stopped in time, and stopped when their client disconnects."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from comptoir.catalog import MODEL
from comptoir.config import Settings
from support.companies import Company
from support.databases import FreshDatabase
from support.refusals import refusal
from support.server import Server
from support.sockets import head, send
from support.waiting import until

LONG_TEXTS = "ItemProductTextLongContentsExt"
KEY = "11111111-1111-4111-8111-111111111111"
HOSTILE = "[ab]*a" + "[ab]{50}" * 7 + "c"
"""Almost each character of a text of a and b leads to a set of places that is new."""


def start(fresh: FreshDatabase, folder: Path, scan_seconds: float) -> Server:
    settings = Settings(
        database=fresh(folder, MODEL),
        keys=str(folder / "keys"),
        scan_seconds=scan_seconds,
        scan_threads=1,
        database_connections=4,
    )
    return Server(settings, folder)


def noise(length: int) -> str:
    """A text of a and b without a period."""
    state, signs = 1, []
    for _ in range(length):
        state = state * 1_103_515_245 + 12_345 & 0x7FFFFFFF
        signs.append("ab"[state >> 16 & 1])
    return "".join(signs)


def stocked(server: Server, length: int) -> Company:
    """A company with one long text."""
    company = server.new_company()
    company.load(LONG_TEXTS, {"systemId": KEY, "languageCode": "DEU", "base64Text": noise(length)})
    return company


def chained(calls: int) -> str:
    """A chain of functions none of which takes long by itself."""
    return "tolower(toupper(" * calls + "base64Text" + "))" * calls + " eq 'x'"


LENGTH = 16 << 20
"""The characters of the text."""

SLOW = {
    "a pattern": f"matchesPattern(base64Text,'{HOSTILE}')",
    "a chain": " or ".join([chained(45)] * 12),
}


@pytest.fixture(params=list(SLOW))
def slow(request: pytest.FixtureRequest) -> str:
    """A filter that takes many seconds on a text of that length."""
    return SLOW[request.param]


@pytest.fixture
def hurried(fresh_database: FreshDatabase, tmp_path: Path) -> Iterator[Server]:
    with start(fresh_database, tmp_path, 0.3) as server:
        yield server


@pytest.fixture
def patient(fresh_database: FreshDatabase, tmp_path: Path) -> Iterator[Server]:
    with start(fresh_database, tmp_path, 600.0) as server:
        yield server


def test_functions_that_take_too_long_are_503(slow: str, hurried: Server) -> None:
    company = stocked(hurried, LENGTH)
    began = time.monotonic()

    for query in ({"$filter": slow}, {"$filter": slow, "$count": "true"}, {"$orderby": slow}):
        answer = company.get(LONG_TEXTS, query)
        refusal(answer, "Internal_Unavailable")
        assert answer.headers["retry-after"] == "5"

    assert time.monotonic() - began < 10
    assert len(company.listed(LONG_TEXTS, {"$filter": "matchesPattern(languageCode,'E')"})) == 1


def test_functions_are_stopped_when_their_client_disconnects(slow: str, patient: Server) -> None:
    """The only place for long reads is free again, and the log has 499."""
    company = stocked(patient, LENGTH)
    path = company.root.removeprefix(patient.origin.root)
    query = company.build("GET", LONG_TEXTS, {"$filter": slow}).url.query.decode()
    given = {"Authorization": f"Bearer {company.token}"}
    with patient.connect() as connection:
        send(connection, head("GET", f"{path}/{LONG_TEXTS}?{query}", given))
        # the request has come when one that came later has its answer
        assert company.get("contactsExt").status_code == 200

    until(lambda: b'"status":499' in patient.log.read_bytes() or None, "a request with 499")
    assert len(company.listed(LONG_TEXTS, {"$filter": "matchesPattern(languageCode,'E')"})) == 1
