"""Each profile answers the cases as it must."""

import re
from collections.abc import Mapping
from dataclasses import replace

import httpx
import msgspec
import pytest

from comptoir.config import PROFILES
from support.batches import documents
from support.client import record, tag_of
from support.companies import Company
from support.databases import ON_SQLITE, writes_held
from support.profiles import Answered, Asked, Case, cases
from support.refusals import error_in
from support.service import Service, StartService
from support.together import together

BUSINESS_CENTRAL = "business-central"
ABSENT = "00000000-0000-4000-8000-000000000000"
CORRELATED = r"  CorrelationId:  ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.$"


@pytest.fixture(scope="module")
def company(services: Mapping[str, Service], profile: str) -> Company:
    """The company of all cases, of a service with the profile."""
    return services[profile].new_company()


@together("case", cases())
def test_a_profile_answers_each_case(case: Case, profile: str, company: Company) -> None:
    response = sent(company, case.request)
    expected = case.expect if profile == BUSINESS_CENTRAL else case.standard
    assert response.status_code == expected.status, response.text
    if expected.code:
        check_error(response, expected, profile)
    for name, value in expected.headers.items():
        found = response.headers.get(name)
        assert found is not None if value == "…" else found == value, name
    if expected.body:
        members = msgspec.json.decode(response.content)
        assert {name: members[name] for name in expected.body} == expected.body


def test_every_response_names_its_profile(profile: str, company: Company) -> None:
    """Also the pages, and what is refused before the profile has a say."""
    origin = replace(company, root=company.root.partition("/api/")[0])
    responses = [
        company.get("contactsExt"),
        company.get("nothingExt"),
        company.using("").get("contactsExt"),
        origin.get("healthz"),
        origin.get("nothing"),
    ]
    assert [each.status_code for each in responses] == [200, 404, 401, 200, 404]
    wanted = "business-central/28" if profile == BUSINESS_CENTRAL else None
    assert {each.headers.get("comptoir-profile") for each in responses} == {wanted}
    for name in ("request-id", "ms-correlation-x", "x-ms-correlation-request-id"):
        for each in responses:
            if profile == BUSINESS_CENTRAL:
                assert digits(each.headers[name]) == digits_of(each)
            else:
                assert name not in each.headers


def test_a_refusal_in_a_batch_has_the_form_of_the_profile(profile: str, company: Company) -> None:
    """Alone, in an atomic group with those that were not processed, and after an error."""
    absent = f"contactsExt({ABSENT})"
    write = {"method": "DELETE", "url": absent, "headers": {"If-Match": "*"}, "atomicityGroup": "g"}
    new = {"method": "POST", "url": "contactsExt", "body": {"displayName": "Bo"}} | {
        "atomicityGroup": "g",
        "headers": {"Content-Type": "application/json"},
    }
    parts = [{"id": "1", "method": "GET", "url": absent}, {"id": "2", **write}, {"id": "3", **new}]
    response = company.post("$batch", {"requests": parts}, {"Prefer": "continue-on-error"})

    replies = msgspec.json.decode(response.content)["responses"]
    assert [each["status"] for each in replies] == [404, 404, 424]
    for reply in replies:
        error = reply["body"]["error"]
        named = re.search(CORRELATED, error["message"])
        assert (named is not None) is (profile == BUSINESS_CENTRAL)
        if named is not None:
            assert digits(named[1]) == digits_of(response)


@ON_SQLITE  # nothing of this is up to the database
def test_a_body_that_is_not_text(company: Company, profile: str) -> None:
    refused = company.post("contactsExt", b'{"displayName": "\xff"}')
    error = error_in(refused.content)

    assert (refused.status_code, error.code) == (400, "BadRequest")
    invalid = error.message.startswith("Invalid Request Body  CorrelationId")
    assert invalid is (profile == BUSINESS_CENTRAL)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_write_that_waits_too_long_names_the_table(
    profile: str, start_service: StartService
) -> None:
    """Another session keeps the write waiting."""
    service = start_service(profile=profile, lock_seconds=0.3)
    company = service.new_company()
    with writes_held(service.settings.database):
        answer = company.post("shippingAgentsExt", {"code": "A"})
        write = {"id": "1", "method": "POST", "url": "itemAttributesExt", "body": {"name": "A"}}
        in_group = documents(company, {**write, "atomicityGroup": "g"})["1"]

    error = error_in(answer.content)
    if profile == "standard":
        assert (answer.status_code, error.code) == (503, "Internal_DatabaseBusy")
        assert in_group.status == 503
    else:
        assert (answer.status_code, error.code) == (409, "Internal_ServerError")
        assert "a record in table 'Shipping Agent' is being updated" in error.message
        assert in_group.status == 409
        assert "table 'Item Attribute'" in in_group.error.message


def sent(company: Company, asked: Asked) -> httpx.Response:
    """The response to a request about a new record, which was changed once."""
    created = record(company.post("contactsExt", {"displayName": "Al", "city": "Ulm"}), 201)
    path = f"contactsExt({created['id']})"
    stale = str(created["@odata.etag"])
    known = {
        "{id}": str(created["id"]),
        "{stale}": stale,
        "{tag}": tag_of(company.patch(path, {"displayName": "Cy"}, if_match=stale)),
    }

    def filled(text: str) -> str:
        for name, value in known.items():
            text = text.replace(name, value)
        return text

    body = bytes(asked.body)
    for name, value in known.items():
        # within a text in JSON
        body = body.replace(name.encode(), msgspec.json.encode(value)[1:-1])
    headers = {name: filled(value) for name, value in asked.headers.items()}
    return company.request(asked.method, filled(asked.path), body=body or None, headers=headers)


def check_error(response: httpx.Response, expected: Answered, profile: str) -> None:
    """The body is that of the profile: Business Central's has no place, but the request's id."""
    error = error_in(response.content)
    assert error.code == expected.code
    named = re.search(CORRELATED, error.message)
    if profile != BUSINESS_CENTRAL:
        assert named is None
        return
    assert (error.target, error.details) == (None, [])
    assert named is not None
    assert digits(named[1]) == digits_of(response)
    assert error.message[: named.start()] == expected.message


def digits(guid: str) -> str:
    return guid.replace("-", "")


def digits_of(response: httpx.Response) -> str:
    """The id of a response's request, as it is in a Guid."""
    process, _, number = response.headers["x-request-id"].partition("-")
    return f"{process}{number:0>20}"
