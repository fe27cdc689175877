"""Requests meet the faults of rules and of their header: in the answer and in the log."""

import time
from dataclasses import replace

import msgspec
import pytest

from comptoir.auth.tokens import Scope
from support.companies import Company
from support.databases import ON_SQLITE
from support.rehearsal import APPLIED, Rehearsal, code, control_of
from support.service import Service, StartService
from support.together import together

pytestmark = ON_SQLITE  # a fault acts before or after the service reads and writes


def test_a_service_without_faults_has_no_control_endpoint(start_service: StartService) -> None:
    service = start_service()
    admin = service.origin.using(service.tokens.issue([Scope.ADMIN]))
    for path in ("faults", "faults/log", "faults/rules", "faults/clock"):
        assert admin.get(path).status_code == 404
    contacts = service.new_company().get("contactsExt", headers={"Comptoir-Fault": "throttle"})
    assert contacts.status_code == 200
    assert APPLIED not in contacts.headers


def test_a_fault_takes_the_place_of_a_request(company: Company, rehearsal: Rehearsal) -> None:
    for fault, method, status, error in (
        ("throttle", "GET", 429, "Application_TooManyRequests"),
        ("away", "GET", 503, "Internal_Unavailable"),
        ("timeout", "POST", 408, "Request_Timeout"),
        ("lock", "POST", 503, "Internal_DatabaseBusy"),
        ("rights-lost", "GET", 403, "Authorization_RequestDenied"),
        ("vanish", "POST", 404, "BadRequest_ResourceNotFound"),
        ("body; kind=empty", "POST", 500, "Unknown"),
    ):
        body = {"displayName": "New"} if method == "POST" else None
        for name, rules, headers in (("r", [fault], {}), ("header", [], {"Comptoir-Fault": fault})):
            before = company.get("contactsExt/$count").text
            rehearsal.set(*rules)
            sent = company.request(method, "contactsExt", body=body, headers=headers)
            assert (sent.status_code, code(sent)) == (status, error)
            assert sent.headers[APPLIED] == name
            firing = rehearsal.firings()[-1]
            assert (firing.rule, firing.method, firing.client) == (name, method, "tests")
            assert firing.fault.startswith(fault)
            assert firing.request == sent.headers["x-request-id"]
            assert firing.path.endswith("/contactsExt")
            rehearsal.set()
            assert company.get("contactsExt/$count").text == before


def test_a_gateway_answers_with_a_page(company: Company, rehearsed: Service) -> None:
    """In each profile, whatever the client accepts."""
    for fault, status, text in (
        ("away; kind=html", 503, "HTTP Error 503. The service is unavailable."),
        ("away; kind=502", 502, "HTTP Error 502."),
        ("timeout; status=504", 504, "HTTP Error 504."),
    ):
        for each in (company, rehearsed.new_company()):
            headers = {"Comptoir-Fault": fault, "Accept": "application/json"}
            sent = each.get("contactsExt", headers=headers)
            assert (sent.status_code, sent.headers[APPLIED]) == (status, "header")
            assert sent.headers["content-type"].startswith("text/html")
            assert text in sent.text


def test_an_error_may_be_in_xml(company: Company, rehearsal: Rehearsal) -> None:
    rehearsal.set("body; kind=xml")
    sent = company.get("contactsExt")
    assert (sent.status_code, sent.headers["content-type"]) == (500, "application/xml")
    assert sent.text.startswith("<?xml")
    assert sent.headers[APPLIED] == "r"


def test_retry_after_is_as_asked(company: Company, rehearsal: Rehearsal) -> None:
    for parameter, pattern in (
        ("; retry-after=7", "7"),
        ("; retry-after=none", ""),
        ("; retry-after=date", " GMT"),
    ):
        for fault in ("throttle", "away", "away; kind=html"):
            rehearsal.set(f"{fault}{parameter}")
            found = company.get("contactsExt").headers.get("retry-after", "")
            assert found.endswith(pattern)
            assert bool(found) == bool(pattern)


def test_a_body_may_be_truncated_json(company: Company, rehearsal: Rehearsal) -> None:
    whole = company.get("contactsExt")
    rehearsal.set("body; kind=truncated")
    cut = company.get("contactsExt")
    assert (cut.status_code, cut.headers[APPLIED]) == (200, "r")
    assert whole.content.startswith(cut.content)
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(cut.content)
    # it is performed all the same
    assert company.post("contactsExt", {"displayName": "Truncated"}).status_code == 201
    rehearsal.set()
    assert company.listed("contactsExt", {"$filter": "displayName eq 'Truncated'"})


def test_a_slow_response_is_complete(
    faulty: Service, company: Company, rehearsal: Rehearsal
) -> None:
    whole = company.get("contactsExt")
    for kind in ("first-byte", "drip"):
        rehearsal.set(f"slow; seconds=0.05; kind={kind}")
        response, seconds, _ = faulty.timed(company.build("GET", "contactsExt"))
        assert response.content == whole.content
        assert response.headers[APPLIED] == "r"
        assert seconds >= 0.05


def test_a_late_timeout_hides_a_commit(company: Company, rehearsal: Rehearsal) -> None:
    for status in ("408", "504"):
        name = f"Lost {status}"
        rehearsal.set(f"timeout; phase=after; status={status}")
        assert company.post("contactsExt", {"displayName": name}).status_code == int(status)
        # a refusal is hidden as well
        assert company.post("contactsExt", {"nothing": name}).status_code == int(status)
        rehearsal.set()
        assert len(company.listed("contactsExt", {"$filter": f"displayName eq '{name}'"})) == 1


def test_a_token_that_expired_stays_so(
    faulty: Service, company: Company, rehearsal: Rehearsal
) -> None:
    rehearsal.set({"id": "old", "fault": "token-expired", "times": 1})
    for _ in range(2):
        refused = company.get("contactsExt")
        assert (refused.status_code, code(refused)) == (401, "Authentication_InvalidCredentials")
        assert "invalid_token" in refused.headers["www-authenticate"]
        assert refused.headers[APPLIED] == "old"
    fresh = company.using(faulty.tokens.issue())
    assert fresh.get("contactsExt").status_code == 200


def test_a_gateway_refuses_tokens_in_the_form_of_the_profile(
    company: Company, faulty: Service
) -> None:
    other = company.using(faulty.tokens.issue(subject="by a gateway"))
    refused = other.get("contactsExt", headers={"Comptoir-Fault": "token-expired; by=gateway"})
    assert (refused.status_code, code(refused)) == (401, "Authentication_InvalidCredentials")
    assert "The gateway has refused" in refused.json()["error"]["message"]


def test_the_link_to_a_page_expires(company: Company, rehearsal: Rehearsal) -> None:
    rehearsal.set("link-expired; page=2")
    first = company.get("contactsExt")
    assert first.status_code == 200
    link = first.json()["@odata.nextLink"]
    for _ in range(2):
        gone = company.follow(link)
        assert (gone.status_code, code(gone)) == (410, "Request_LinkExpired")
        assert gone.headers[APPLIED] == "r"


def test_the_requests_of_a_batch_meet_faults(company: Company, rehearsal: Rehearsal) -> None:
    rehearsal.set({"id": "r", "fault": "throttle", "match": {"set": "contactsExt", "nth": 2}})
    reads = [{"id": str(number), "method": "GET", "url": "contactsExt"} for number in range(4)]
    response = company.post("$batch", {"requests": reads})
    assert response.status_code == 200
    replies = response.json()["responses"]
    assert [each["status"] for each in replies] == [200, 429, 200, 429]
    assert [each["headers"].get(APPLIED) for each in replies] == [None, "r", None, "r"]
    assert [each.request for each in rehearsal.firings()[-2:]] == [
        response.headers["x-request-id"]
    ] * 2


def test_requests_of_an_atomic_group_meet_faults(company: Company, rehearsal: Rehearsal) -> None:
    for fault, status, stored in (
        ("lock", 503, 0),
        ("away; kind=json", 503, 0),
        ("away; kind=html", 503, 0),
        ("timeout; phase=before", 408, 0),
        ("timeout; phase=after", 408, 2),
    ):
        name = f"In a group with {fault.replace('; ', ' ').replace('=', ' ')}"
        writes = [
            {"id": each, "atomicityGroup": "g", "method": "POST", "url": "contactsExt"}
            | {"body": {"displayName": name}, "headers": {"Content-Type": "application/json"}}
            for each in "ab"
        ]
        rehearsal.set({"id": "r", "fault": fault, "match": {"set": "contactsExt"}})
        replies = company.post("$batch", {"requests": writes}).json()["responses"]
        assert status in [each["status"] for each in replies]
        assert "r" in [each["headers"].get(APPLIED) for each in replies]
        rehearsal.set()
        assert len(company.listed("contactsExt", {"$filter": f"displayName eq '{name}'"})) == stored


def test_a_rule_says_which_requests_meet_it(
    faulty: Service, company: Company, rehearsal: Rehearsal
) -> None:
    """Its requests are counted for each client."""
    match = {"method": "GET", "path": "/api/*/contactsExt", "set": "contactsExt"}
    rehearsal.set({"id": "r", "fault": "throttle", "match": {**match, "nth": 2}, "times": 2})
    other = company.using(faulty.tokens.issue(subject="other"))
    for client in (company, other):
        statuses = [client.get("contactsExt").status_code for _ in range(6)]
        assert statuses == [200, 429, 200, 429, 200, 200]
        assert [each.count for each in rehearsal.firings()[-2:]] == [2, 4]
    rehearsal.set({"id": "r", "fault": "throttle", "match": {**match, "client": "tests"}})
    assert [each.get("contactsExt").status_code for each in (company, other)] == [429, 200]
    assert company.get("itemsExt").status_code == 200
    assert company.post("contactsExt", {"displayName": "A"}).status_code == 201


def test_a_set_is_matched_at_all_addresses_and_a_path_at_some(
    company: Company, rehearsal: Rehearsal
) -> None:
    contact = company.listed("contactsExt", {"$top": "1"})[0]["id"]
    for match, met in (
        ({"set": "contactsExt"}, [True, True, True, False]),
        ({"path": "*/contactsExt(*)"}, [True, False, False, False]),
        ({"path": "*/contactsExt"}, [False, True, False, False]),
        ({"path": "*/$count"}, [False, False, True, False]),
    ):
        rehearsal.set({"id": "r", "fault": "throttle", "match": match})
        paths = (f"contactsExt({contact})", "contactsExt", "contactsExt/$count", "itemsExt")
        assert [company.get(each).status_code == 429 for each in paths] == met


def test_a_key_meets_a_fault_of_a_header_so_many_times_for_a_client(
    faulty: Service, company: Company, rehearsal: Rehearsal
) -> None:
    sent = {"Comptoir-Fault": " throttle ;retry-after = 0; times=2; key=once"}
    other = company.using(faulty.tokens.issue(subject="other"))
    for client in (company, other):
        statuses = [client.get("contactsExt", headers=sent).status_code for _ in range(3)]
        assert statuses == [429, 429, 200]
    firing = rehearsal.firings()[-1]
    assert (firing.rule, firing.fault) == ("header:once", "throttle; retry-after=0")
    sent = {"Comptoir-Fault": "throttle; times=1; key=another"}
    assert company.get("contactsExt", headers=sent).status_code == 429


@together(
    ("sent", "problem"),
    [("throttl", "Did you mean throttle?"), ("touch; field=nothing", "field in Comptoir-Fault")],
)
def test_a_wrong_header_is_refused(
    sent: str, problem: str, company: Company, rehearsal: Rehearsal
) -> None:
    before = len(rehearsal.firings())
    refused = company.get("contactsExt", headers={"Comptoir-Fault": sent})
    assert (refused.status_code, refused.json()["error"]["target"]) == (400, "Comptoir-Fault")
    assert problem in refused.json()["error"]["message"]
    assert len(rehearsal.firings()) == before


def test_a_window_concerns_every_request_until_its_end(
    faulty: Service, company: Company, rehearsal: Rehearsal
) -> None:
    rehearsal.set({"id": "night", "fault": "away; kind=html; window=600", "times": 1})
    other = company.using(faulty.tokens.issue(subject="other"))
    assert [each.get("contactsExt").status_code for each in (company, other)] == [503, 503]
    assert rehearsal.advance("PT10M").status_code == 200
    assert [each.get("contactsExt").status_code for each in (company, other)] == [200, 200]


def test_a_path_is_the_one_that_the_client_used_or_that_below_the_base_path(
    rehearsed: Service,
) -> None:
    for path, met in (
        ("/v2.0/Production/api/v2.0/companies(*)/contacts", True),
        ("/v2.0/Production/api/v2.0/$batch", False),
        ("/v2.0/Sandbox/*", False),
        ("/api/companies(*)/contacts", True),
    ):
        control = control_of(rehearsed)
        control.set({"id": "r", "fault": "throttle", "match": {"path": path}})
        company = rehearsed.new_company()
        address = "/v2.0/Production/api/v2.0"
        elsewhere = replace(company, root=company.root.replace("/api/", f"{address}/", 1))
        assert (elsewhere.get("contacts").status_code == 429) == met
        if met:
            assert control.firings()[-1].path == f"{address}/companies({company.id})/contacts"
        control.set()


def test_a_batch_is_met_at_the_address_that_the_client_used(rehearsed: Service) -> None:
    control = control_of(rehearsed)
    batch = "/BC/api/v2.0/$batch"
    control.set({"id": "r", "fault": "batch-rollback", "match": {"path": batch}})
    company = rehearsed.new_company()
    agents = {"url": f"companies({company.id})/shippingAgentsExt", "body": {"code": "A"}}
    write = {"id": "1", "method": "POST", **agents, "headers": {"Content-Type": "application/json"}}
    sent = rehearsed.origin.using(company.token).post(
        batch[1:], {"requests": [write]}, {"Isolation": "snapshot"}
    )
    assert [each["status"] for each in sent.json()["responses"]] == [503]
    assert [each.path for each in control.firings()][-1:] == [batch]
    control.set()


def test_a_profile_writes_the_refusals_of_faults(rehearsed: Service) -> None:
    company, rejected = rehearsed.new_company(), "The server has rejected the client credentials."
    for fault, status, error, message in (
        ("lock", 409, "Internal_ServerError", "because a record in table 'Contact' is being"),
        ("vanish", 404, "BadRequest_ResourceNotFound", "for the segment 'contactsExt'."),
        ("throttle", 429, "Application_TooManyRequests", "Actual (101). Maximum (100)."),
        ("away", 503, "Application_ServiceUnavailable", "The session could not be"),
        ("timeout", 408, "Request_Timeout", "The operation took too long."),
        ("token-expired", 401, "Authentication_InvalidCredentials", rejected),
    ):
        refused = company.post("contactsExt", {}, {"Comptoir-Fault": fault})
        assert (refused.status_code, code(refused)) == (status, error)
        assert message in refused.json()["error"]["message"]
        assert refused.json()["error"].keys() == {"code", "message"}
    fresh = company.using(rehearsed.tokens.issue())
    for parameter, wait in (("", None), ("; retry-after=7", "7")):
        throttled = fresh.get("contactsExt", headers={"Comptoir-Fault": f"throttle{parameter}"})
        assert throttled.headers.get("retry-after") == wait
    for name in "AB":
        fresh.post("contactsExt", {"displayName": name})
    first = fresh.get("contactsExt", headers={"Prefer": "odata.maxpagesize=1"})
    gone = fresh.follow(first.json()["@odata.nextLink"], {"Comptoir-Fault": "link-expired"})
    assert (gone.status_code, code(gone)) == (400, "SkipTokenIsNoLongerValid")


def test_a_gateway_refuses_a_token(rehearsed: Service) -> None:
    for accept in ("*/*", "application/xml", "application/json;q=0"):
        company = rehearsed.new_company()
        refused = company.get(
            "contactsExt", headers={"Comptoir-Fault": "token-expired; by=gateway", "Accept": accept}
        )
        assert (refused.status_code, refused.headers["content-type"]) == (401, "application/xml")
        assert refused.text == (
            '<error xmlns="http://docs.oasis-open.org/odata/ns/metadata"><code>Unauthorized</code>'
            "<message>The credentials provided are incorrect</message></error>"
        )
        # the token has expired for later requests too, until the client gets another one
        asked = company.get("contactsExt", headers={"Accept": "text/html, application/json"})
        assert (asked.status_code, asked.headers["content-type"]) == (401, "application/json")
        assert asked.json() == {
            "error": {"code": "Unauthorized", "message": "The credentials provided are incorrect"}
        }
        fresh = company.using(rehearsed.tokens.issue(subject=accept))
        assert fresh.get("contactsExt").status_code == 200


def test_tokens_for_the_control_end_by_the_real_time(
    faulty: Service, company: Company, rehearsal: Rehearsal
) -> None:
    """A token of the token endpoint begins by the clock that was moved on."""
    ahead = faulty.tokens.issue([Scope.FAULTS], clock=lambda: time.time() + 86_400)
    over = faulty.tokens.issue([Scope.FAULTS], clock=lambda: time.time() - 86_400)
    later, former = (rehearsal.client.using(each) for each in (ahead, over))
    assert [each.get("log").status_code for each in (later, former)] == [401, 401]
    assert rehearsal.advance("P1D").status_code == 200
    assert company.get("contactsExt").status_code == 401
    assert [each.get("log").status_code for each in (later, former)] == [200, 401]
    assert rehearsal.client.post("reset", {}).status_code == 204
    assert company.get("contactsExt").status_code == 200
