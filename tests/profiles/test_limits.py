"""The limits of the profile business-central."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import httpx
import pytest

from comptoir.errors.refusal import OperatorError
from support.client import values
from support.clients import add_client
from support.companies import Company
from support.databases import ON_SQLITE, run_sql
from support.refusals import error_in
from support.rehearsal import control_of
from support.service import Service, StartService
from support.together import together

pytestmark = ON_SQLITE  # limits do not depend on the database

SLOW = "600000s"
"""The time of a rate that replaces no request during a test."""


def check_throttled(response: httpx.Response, actual: int, limit: int) -> None:
    assert response.status_code == 429
    assert error_in(response.content).message.startswith(
        f"Too many requests reached. Actual ({actual}). Maximum ({limit})."
    )
    assert "retry-after" not in response.headers


def test_every_client_has_a_rate(start_service: StartService, tmp_path: Path) -> None:
    """Also a token of the operator; a client with a rate of its own has that one."""
    service = start_service(profile="business-central", client_rate=f"3/{SLOW}")
    company = service.new_company()
    client = company.using(add_client(service, tmp_path).token())
    richer = company.using(add_client(service, tmp_path, "--rate", f"4/{SLOW}").token())
    for each, limit in ((company, 3), (client, 3), (richer, 4)):
        answers = [each.get("itemsExt") for _ in range(limit + 1)]
        assert [answer.status_code for answer in answers] == [*[200] * limit, 429]
        check_throttled(answers[-1], limit + 1, limit)
        assert not any("ratelimit" in answer.headers for answer in answers)


def test_a_rate_is_that_of_any_time(start_service: StartService) -> None:
    """The clock of the rehearsal moves by half of the time, in which nothing is replaced."""
    service = start_service(profile="business-central", client_rate="4/600s", faults="on")
    company, control = service.new_company(), control_of(service)
    for wait, allowed in ((0, 4), (300, 0), (301, 4)):
        if wait:
            assert control.advance(f"PT{wait}S").is_success
        statuses = [company.get("itemsExt").status_code for _ in range(5)]
        assert statuses.count(200) == allowed


def test_the_rate_by_default(start_service: StartService) -> None:
    service = start_service(profile="business-central")
    assert service.settings.client_rate == "6000/300s"
    assert service.new_company().get("itemsExt").status_code == 200


def test_an_invalid_rate_is_refused_at_the_start(start_service: StartService) -> None:
    with pytest.raises(OperatorError, match="invalid rate 'fast'"):
        start_service(profile="business-central", client_rate="fast")


def test_requests_of_a_client_wait_for_their_turn(
    start_service: StartService, tmp_path: Path
) -> None:
    """The second begins when the first has ended, although another client's ends before both."""
    arriving = asyncio.Event()

    async def late() -> AsyncIterator[bytes]:
        await arriving.wait()
        yield b'{"code": "A"}'

    async def early() -> AsyncIterator[bytes]:
        # the other requests have begun meanwhile, as far as they may
        for _ in range(1_000):
            await asyncio.sleep(0)
        arriving.set()
        yield b'{"code": "B"}'

    def create(company: Company, body: AsyncIterator[bytes]) -> httpx.Request:
        json = {"Content-Type": "application/json"}
        built = company.build("POST", "shippingAgentsExt", headers=json)
        del built.headers["content-length"]
        return httpx.Request("POST", built.url, headers=built.headers, content=body)

    service = start_service(profile="business-central", running_requests=1)
    company = service.new_company()
    other = company.using(add_client(service, tmp_path).token())
    # known tokens are not looked up, so the requests come to the gate in their order
    assert [each.get("itemsExt").status_code for each in (company, other)] == [200, 200]
    answers = service.send_all(
        [create(company, late()), company.build("GET", "shippingAgentsExt"), create(other, early())]
    )
    assert [each.status_code for each in answers] == [201, 200, 201]
    assert {each["code"] for each in values(answers[1])} >= {"A"}


def test_more_requests_than_may_wait_are_refused(start_service: StartService) -> None:
    service = start_service(profile="business-central", running_requests=1, client_requests=2)
    company = service.new_company()
    creates = [company.build("POST", "shippingAgentsExt", body={"code": each}) for each in "ABC"]
    answers = service.send_all(creates)
    assert sorted(each.status_code for each in answers) == [201, 201, 429]
    check_throttled(next(each for each in answers if each.status_code == 429), 3, 2)


def test_a_read_that_takes_too_long_is_408(start_service: StartService) -> None:
    service = start_service(profile="business-central", scan_seconds=0.000_001)
    company = service.new_company()
    agents = ({"code": f"{n}", "name": "miss"} for n in range(10_000))
    company.load("shippingAgentsExt", *agents)
    name = "toupper(" * 40 + "name" + ")" * 40
    query = {"$schemaversion": "2.1", "$filter": f"contains({name},'HIT')"}
    refused = company.get("shippingAgentsExt/$count", query)
    assert refused.status_code == 408, refused.text
    assert error_in(refused.content).message.startswith("The operation took too long.  ")
    assert "retry-after" not in refused.headers


def test_bodies_and_queries_have_the_limits_of_the_profile(
    services: Mapping[str, Service], profile: str
) -> None:
    company = services[profile].new_company()
    padded = b'{"code": "A"' + b" " * (2 << 20) + b"}"
    created = company.post("shippingAgentsExt", padded)
    empty = "$filter=code%20eq%20''"
    queries = [f"{empty[:-1]}{'a' * (length - len(empty))}'" for length in (8_099, 8_100)]
    answers = [company.get("shippingAgentsExt", each) for each in queries]

    is_standard = profile == "standard"
    assert created.status_code == (413 if is_standard else 201)
    assert [each.status_code for each in answers] == [200, 200 if is_standard else 414]


def test_without_its_database_the_service_is_unavailable(start_service: StartService) -> None:
    service = start_service(profile="business-central")
    company = service.new_company()
    away = 'ALTER TABLE "shippingAgentsExt" RENAME TO away'
    service.beside(lambda: run_sql(service.settings.database, away))
    refused = company.get("shippingAgentsExt")
    assert refused.status_code == 503
    error = error_in(refused.content)
    assert error.code == "Application_ServiceUnavailable"
    assert error.message.startswith("The session could not be retrieved from the server.")
    assert "retry-after" in refused.headers


MANY: Mapping[str, tuple[str, bytes, int]] = {
    "objects": ("contactsExt", b'{"people":[' + b"{}," * 400_000 + b"{}]}", 100_000),
    "texts": ("contactsExt", b'{"people":[' + b'"",' * 400_000 + b'""]}', 100_000),
    "arrays": ("contactsExt", b'{"people":' + b"[" * 1_200_000, 100_000),
    "members": ("contactsExt", b'{"number":"1"' + b',"":1' * 250_000 + b"}", 100_000),
    "a batch": ("$batch", b'{"requests":[' + b"{}," * 1_000_000 + b"{}]}", 1_000_000),
}
"""Bodies of more than 1 MiB that need many times their length when they are decoded."""


@together("body", MANY)
def test_a_long_body_with_too_many_values_is_refused(body: str, rehearsed: Company) -> None:
    """Before it is decoded, so that it needs no memory."""
    path, content, most = MANY[body]
    answer = rehearsed.post(path, content)

    assert answer.status_code == 400
    message = error_in(answer.content).message
    assert message.startswith(f"The body exceeds the limit of {most} values"), message


def test_a_long_text_is_one_value(rehearsed: Company) -> None:
    text = '{"a": [1, 2]}, \\"b\\' * 150_000
    answer = rehearsed.post("contactsExt", {"number": "C1", "displayName": text})

    assert "exceeds the limit" not in answer.text
    assert error_in(answer.content).code == "Application_StringExceededLength"
