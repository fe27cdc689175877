"""The fixture `comptoir`: a service with faults, whose records each test finds unchanged."""

from collections.abc import Iterator

import httpx
import pytest

from comptoir.errors.refusal import OperatorError
from comptoir.features.rehearsal.client import report_lines
from comptoir.features.testing.service import Comptoir
from support.together import together
from support.waiting import PATIENCE_SECONDS

AGENTS = "shippingAgentsExt"


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=PATIENCE_SECONDS) as client:
        yield client


class Agents:
    """A client of the shipping agents, with the fixture's token."""

    def __init__(self, http: httpx.Client, comptoir: Comptoir) -> None:
        self._http = http
        self._address = f"{comptoir.url}/companies({comptoir.company})/{AGENTS}"
        self.token = comptoir.token

    def send(
        self, method: str, path: str = "", body: object = None, tag: str | None = None
    ) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}"}
        if tag is not None:
            headers["If-Match"] = tag
        return self._http.request(method, self._address + path, json=body, headers=headers)

    def names(self) -> list[str]:
        return [each["name"] for each in self.send("GET").json()["value"]]


@pytest.fixture
def agents(http: httpx.Client, comptoir: Comptoir) -> Agents:
    return Agents(http, comptoir)


def test_the_address_and_the_token_are_those_of_a_sample_company(agents: Agents) -> None:
    listed = agents.send("GET")
    assert listed.status_code == 200
    assert len(listed.json()["value"]) > 3


def test_records_rules_clock_and_traps_are_reset(
    agents: Agents, comptoir: Comptoir, http: httpx.Client
) -> None:
    before = agents.send("GET").json()["value"]
    first, second, *_ = before
    comptoir.fault("throttle")
    assert agents.send("GET").status_code == 429
    comptoir.reset()
    agents.send("PATCH", f"({first['id']})", {"name": "Renamed"}, "*")
    agents.send("DELETE", f"({second['id']})", tag="*")
    assert agents.send("POST", body={"code": "NEW", "name": "New"}).status_code == 201
    assert comptoir.requests[-1].status == 201
    comptoir.advance("P1D")
    assert agents.send("GET").status_code == 401
    comptoir.reset()
    assert comptoir.requests == []
    assert list(report_lines(comptoir.report())) == ["no client has met a trap"]
    after = Agents(http, comptoir).send("GET")
    assert after.status_code == 200
    untagged = [
        [{**each, "@odata.etag": ""} for each in some] for some in (before, after.json()["value"])
    ]
    assert untagged[0] == untagged[1]
    assert comptoir.requests[-1].fault == ""


def test_a_fault_is_for_the_requests_that_it_matches(agents: Agents, comptoir: Comptoir) -> None:
    comptoir.fault("throttle; retry-after=7", times=1, set=AGENTS, method="GET", nth=2)
    answers = [agents.send("GET") for _ in range(4)]
    assert [each.status_code for each in answers] == [200, 429, 200, 200]
    assert answers[1].headers["retry-after"] == "7"


@together(
    ("fault", "entity_set", "message"),
    [
        ("throtle", AGENTS, "Did you mean throttle?"),
        ("throttle", "shippingAgents", "Did you mean shippingAgentsExt?"),
    ],
)
def test_a_wrong_fault_is_an_error_in_the_test(
    fault: str, entity_set: str, message: str, comptoir: Comptoir
) -> None:
    with pytest.raises(OperatorError) as raised:
        comptoir.fault(fault, set=entity_set)
    assert "/faults/rules returns 400. " in str(raised.value)
    assert message in str(raised.value)


def test_the_clock_goes_on_by_a_duration(agents: Agents, comptoir: Comptoir) -> None:
    comptoir.advance("PT59M")
    assert agents.send("GET").status_code == 200
    comptoir.advance("PT2M")
    assert agents.send("GET").status_code == 401
    agents.token = comptoir.new_token()
    assert agents.send("GET").status_code == 200
    with pytest.raises(OperatorError):
        comptoir.advance("-PT1M")
    # the control endpoint is within reach however far the clock has gone
    comptoir.advance("P360D")
    agents.token = comptoir.new_token()
    assert agents.send("GET").status_code == 200


def test_the_requests_of_the_client_are_listed(agents: Agents, comptoir: Comptoir) -> None:
    comptoir.fault("touch", times=1)
    agent = agents.send("GET", "?$top=1").json()["value"][0]
    agents.send("GET", f"({agent['id']})")
    agents.send("PATCH", f"({agent['id']})", {"name": "Renamed"}, agent["@odata.etag"])
    listed, read, changed = comptoir.requests
    assert (listed.method, listed.query, listed.status) == ("GET", "?$top=1"[1:], 200)
    assert (read.fault, read.body) == ("rule-0", None)
    assert (changed.method, changed.status, changed.body) == ("PATCH", 409, {"name": "Renamed"})
    assert changed.headers["if-match"] == agent["@odata.etag"]
    line = comptoir.report()["stale-tag"]
    assert (line.met, line.recovered) == (1, "no")
    agents.send("PATCH", f"({agent['id']})", {"name": "Renamed"}, "*")
    assert comptoir.report()["stale-tag"].recovered == "yes"
