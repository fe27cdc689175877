"""No function that a request computes holds up the requests of others."""

import pytest

from support.companies import Company
from support.databases import ON_SQLITE
from support.service import Service, StartService
from support.together import together
from support.waiting import until

LONG_TEXTS = "ItemProductTextLongContentsExt"
KEY = "11111111-1111-4111-8111-111111111111"
MOMENT_SECONDS = 0.1
"""A thread that often gives Python's lock back, and takes it again, may keep others from it."""

PAIRS = 24
"""How many pairs of functions stand in one another: each letter costs much in either."""


def chained(text: str) -> str:
    return "toupper(tolower(" * PAIRS + text + "))" * PAIRS


COMPUTED = {
    "of many records": ("contactsExt/$count", {"$filter": f"{chained('displayName')} eq 'x'"}),
    "of one record": (f"{LONG_TEXTS}/$count", {"$filter": f"{chained('base64Text')} eq 'x'"}),
    "of the request": (
        "contactsExt/$count",
        {
            "$filter": " or ".join(["contains(concat(displayName,@long),concat(@part,name2))"] * 3),
            "@long": "'" + "a" * 7_000 + "'",
            "@part": "'" + "a" * 3_000 + "b'",
        },
    ),
}


@pytest.fixture(scope="module")
def service(share_service: StartService) -> Service:
    return share_service()


@pytest.fixture(scope="module")
def company(service: Service) -> Company:
    """A company with texts as long as they may be."""
    company = service.new_company()
    names = [{"number": f"{number}", "displayName": "É" * 4_000} for number in range(300)]
    company.load("contactsExt", *names)
    company.load(LONG_TEXTS, {"systemId": KEY, "base64Text": "abcd" * (1 << 19)})
    return company


@ON_SQLITE
@together("name", COMPUTED)
def test_functions_hold_the_event_loop_for_a_moment_at_most(
    name: str, service: Service, company: Company
) -> None:
    """SQLite computes within the process, where other requests run meanwhile."""
    request = company.build("GET", *COMPUTED[name])

    def is_free() -> bool | None:
        answer, seconds, held = service.timed(request)
        assert answer.status_code == 200
        return held < max(seconds / 3, MOMENT_SECONDS) or None

    # the first time, the statement is compiled as well, and a busy machine disturbs many tries
    until(is_free, "a request during which the event loop is free most of the time")
