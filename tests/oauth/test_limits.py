"""The limits of a client: rate, requests at once, and records of a day."""

from collections.abc import Mapping
from pathlib import Path

import httpx
import msgspec
import pytest

from support.clients import add_client
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import refusal
from support.service import Service, StartService

POLICY, LIMIT = "RateLimit-Policy", "RateLimit"
DAY = 86_400
SLOW = 600_000
"""Seconds of a rate that replaces no request during a test."""


@pytest.fixture
def shop(service: Service, company: Company, tmp_path: Path) -> Company:
    """The company for a client with a rate and a quota that no test reaches."""
    webshop = add_client(service, tmp_path, "--rate", f"6000/{SLOW}s", "--quota", "1000")
    return company.using(webshop.token())


def limited(company: Company, service: Service, folder: Path, *options: str) -> Company:
    """The company for a client with limits."""
    return company.using(add_client(service, folder, *options).token())


def left(response: httpx.Response, name: str) -> int:
    """What is left of a limit."""
    limits = response.headers[LIMIT].split(", ")
    (found,) = [each for each in limits if each.startswith(f'"{name}";r=')]
    return int(found.split(";")[1].removeprefix("r="))


def batch_of(*urls: str, method: str = "GET", **given: object) -> Mapping[str, object]:
    parts = enumerate(urls)
    return {"requests": [{"id": f"{n}", "method": method, "url": url, **given} for n, url in parts]}


@ON_SQLITE
def test_every_response_to_a_client_has_its_limits(shop: Company) -> None:
    requests = {"itemsExt": 200, "unknown": 404, "itemsExt?$filter=(": 400, "itemsExt/$count": 200}
    for number, (path, status) in enumerate(requests.items(), 1):
        name, _, query = path.partition("?")
        response = shop.get(name, query)
        assert response.status_code == status
        assert response.headers[POLICY] == (
            f'"client";q=6000;w={SLOW}, "records";q=1000;qu="comptoir-records";w={DAY}'
        )
        assert left(response, "client") == 6_000 - number
    batch = shop.post("$batch", batch_of("itemsExt", "itemsExt"))
    assert left(batch, "client") == 6_000 - number - 2


def test_clients_without_limits_have_no_such_headers(
    service: Service, company: Company, tmp_path: Path
) -> None:
    """Neither have the tokens of the command."""
    for each in (company, limited(company, service, tmp_path)):
        response = each.get("itemsExt")
        assert response.status_code == 200
        assert not {POLICY, LIMIT} & set(response.headers)


def test_more_requests_than_the_rate_are_429(
    service: Service, company: Company, tmp_path: Path
) -> None:
    """By all tokens of the client together, and not by another client."""
    webshop = add_client(service, tmp_path, "--rate", "2/6000s")
    for _ in range(2):
        assert company.using(webshop.token()).get("itemsExt").status_code == 200

    refused = company.using(webshop.token()).get("itemsExt")

    error = refusal(refused, "Application_TooManyRequests")
    seconds = refused.headers["Retry-After"]
    assert error.message == (
        f"The client has sent more requests than 2/6000s. Send the request again after {seconds} "
        "seconds."
    )
    assert 2_900 <= int(seconds) <= 3_000
    assert refused.headers[LIMIT] == f'"client";r=0;t={seconds}'
    other = limited(company, service, tmp_path, "--rate", "2/6000s")
    assert other.get("itemsExt").status_code == 200


def test_each_request_of_a_batch_counts(service: Service, company: Company, tmp_path: Path) -> None:
    """A batch beyond the rate is refused as a whole."""
    shop = limited(company, service, tmp_path, "--rate", "10/60000s")
    answer = shop.post("$batch", batch_of(*["itemsExt"] * 6))
    assert answer.status_code == 200
    assert left(answer, "client") == 4

    create = batch_of(*["itemAttributesExt"] * 6, method="POST", body={"name": "Depth"})
    refused = shop.post("$batch", create)

    refusal(refused, "Application_TooManyRequests")
    assert left(refused, "client") == 3
    assert company.listed("itemAttributesExt") == []


def test_more_requests_at_once_than_the_setting_are_429(
    start_service: StartService, tmp_path: Path
) -> None:
    """Also without a rate; requests end with their responses, whatever these are."""
    narrow = start_service(client_requests=2)
    company = narrow.new_company()
    shop = limited(company, narrow, tmp_path)
    for round_of_three in range(3):
        names = [f"{round_of_three} {number}" for number in range(3)]
        creates = [shop.build("POST", "itemAttributesExt", body={"name": name}) for name in names]
        answers = narrow.send_all(creates)
        assert sorted(each.status_code for each in answers) == [201, 201, 429]
        (refused,) = [each for each in answers if each.status_code == 429]
        error = refusal(refused, "Application_TooManyRequests")
        assert error.message.startswith("The client has 2 requests under way.")
        assert refused.headers["Retry-After"] == "1"
        assert shop.get("unknown").status_code == 404
        narrow.abandon(shop.build("GET", "itemAttributesExt"), 3)
    assert len(company.listed("itemAttributesExt")) == 6


def test_the_records_of_a_response_count(service: Service, tmp_path: Path) -> None:
    company = service.new_company()
    for number in range(5):
        company.load(
            "contactsExt", {"number": f"{number}", "type": "Company", "companyNumber": "0"}
        )
    options = ("--quota", "100", "--company", company.stored.id)
    webshop = add_client(service, tmp_path, *options, scope="records.read")
    shop, expected = company.using(webshop.token()), 100
    for path, query, records in (
        ("contactsExt", "", 5),
        ("contactsExt", "$top=2", 2),
        # the related record of both is read once
        ("contactsExt", "$top=2&$expand=company", 3),
        ("contactsExt(number='1')", "", 1),
        ("contactsExt(number='1')/displayName", "", 1),
        ("contactsExt/$count", "", 0),
        ("companies", "$expand=contactsExt", 6),
        ("contactsExt(number='7')", "", 0),
    ):
        client = service.client.using(shop.token) if path == "companies" else shop
        assert client.get(path, query).status_code in {200, 404}
        expected -= records
        assert left(shop.get("contactsExt/$count"), "records") == expected, (path, query)
    # changes count too
    tracked = shop.get("contactsExt", headers={"Prefer": "odata.track-changes"})
    company.load("contactsExt", {"number": "8"}, {"number": "9"})
    changed = shop.follow(tracked.json()["@odata.deltaLink"])
    assert left(changed, "records") == left(tracked, "records") - 2


def test_a_client_that_has_read_its_records_waits_for_the_next_day(
    service: Service, tmp_path: Path
) -> None:
    """The response that exceeds the quota is complete, and the rest of a batch is refused."""
    company = service.new_company()
    company.load("contactsExt", *({"number": f"{number}"} for number in range(5)))
    shop = limited(company, service, tmp_path, "--quota", "3")

    answer = shop.post("$batch", batch_of("contactsExt", "contactsExt"))

    responses = msgspec.json.decode(answer.content)["responses"]
    assert [each["status"] for each in responses] == [200, 429]
    assert len(responses[0]["body"]["value"]) == 5
    refused = shop.get("contactsExt")
    error = refusal(refused, "Application_TooManyRequests")
    assert error.message.startswith("The client has read the 3 records of its day.")
    seconds = refused.headers["Retry-After"]
    assert 0 < int(seconds) <= DAY
    assert refused.headers[LIMIT] == f'"records";r=0;t={seconds}'


def test_changed_limits_bind_the_tokens_of_a_client(
    service: Service, company: Company, tmp_path: Path
) -> None:
    """What the client has read today remains counted."""
    company.load("itemsExt", {"number": "1"})
    webshop = add_client(service, tmp_path, "--rate", f"2/{SLOW}s")
    shop = company.using(webshop.token())
    assert [shop.get("itemsExt").status_code for _ in range(3)] == [200, 200, 429]

    def change(*options: str) -> httpx.Response:
        """Change the client, ask for a token, with which the service knows it, and read."""
        webshop.command.done("client", "change", webshop.name, *options)
        webshop.token()
        return shop.get("itemsExt")

    assert left(change("--rate", f"10/{SLOW}s"), "client") == 9
    assert left(change("--quota", "5"), "client") == 8
    assert left(shop.get("itemsExt"), "records") == 3
    assert left(change("--quota", "9"), "records") == 6
    assert not {POLICY, LIMIT} & set(change("--without", "rate", "--without", "quota").headers)
