"""`Server-Timing`: how long the stages of a request took."""

import re

import pytest

from support.batches import documents
from support.companies import Company
from support.samples import SHIPPING_AGENT
from support.service import StartService

NAME = "server-timing"
AGENT = f"shippingAgentsExt({SHIPPING_AGENT})"
STAGES = re.compile(
    r"parse;dur=\d+\.\d+, bind;dur=\d+\.\d+, store;dur=\d+\.\d+, response;dur=\d+\.\d+"
)
READS = (
    AGENT,
    f"{AGENT}/name/$value",
    "shippingAgentsExt",
    "shippingAgentsExt/$count",
    "$metadata",
)


@pytest.fixture(scope="module")
def timed(share_service: StartService) -> Company:
    service = share_service(server_timing="on")
    company = service.new_company()
    company.load("shippingAgentsExt", {"id": SHIPPING_AGENT, "code": "UPS", "name": "United"})
    return company


def test_a_response_has_the_time_of_each_stage(timed: Company) -> None:
    for answer in (*map(timed.get, READS), timed.patch(AGENT, {"name": "Unified"}, "*")):
        assert answer.status_code == 200, answer.text
        assert STAGES.fullmatch(answer.headers[NAME]), answer.url


def test_the_requests_of_a_batch_have_times_of_their_own(timed: Company) -> None:
    entries = [{"id": path, "method": "GET", "url": path} for path in READS]

    for reply in documents(timed, *entries).values():
        assert STAGES.fullmatch(reply.headers[NAME])


def test_a_service_shows_no_times_by_default(stocked: Company) -> None:
    assert NAME not in stocked.get(AGENT).headers
