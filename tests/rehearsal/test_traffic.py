"""What clients have sent, and the traps that they have met."""

from comptoir.http.redaction import MASK
from support.companies import Company
from support.databases import ON_SQLITE
from support.rehearsal import Rehearsal, Trap
from support.service import Service
from support.together import together

pytestmark = ON_SQLITE  # what clients have sent and met is in memory


def party(service: Service, company: Company, name: str) -> Company:
    """The company for a client with its own name, of whom nothing is known yet."""
    return company.using(service.tokens.issue(subject=name))


def met(rehearsal: Rehearsal, name: str, trap: str) -> tuple[int, int, int, str | None]:
    line: Trap = rehearsal.report(name)[trap]
    return line.met, line.by_fault, line.too_early, line.recovered


def test_the_requests_of_clients_are_listed(company: Company, rehearsal: Rehearsal) -> None:
    rehearsal.set({"id": "busy", "fault": "throttle", "match": {"nth": 2}})
    body = {"displayName": "Ünal", "onlinePassword": "hunter2"}
    created = company.post("contactsExt", body)
    refused = company.get("contactsExt", {"$top": 1}, {"X-Own": "1"})
    first, second = rehearsal.requests()[-2:]
    assert (first.method, first.status, first.fault) == ("POST", 201, "")
    assert first.body == {"displayName": "Ünal", "onlinePassword": MASK}
    assert first.path.endswith(f"/companies({company.id})/contactsExt")
    assert first.request == created.headers["x-request-id"]
    assert (second.status, second.fault, second.body) == (429, "busy", None)
    assert (second.query, second.headers["x-own"]) == ("%24top=1", "1")
    assert second.request == refused.headers["x-request-id"]
    assert "hunter2" not in str(rehearsal.requests())
    assert company.token not in str(rehearsal.requests())
    assert second.headers["authorization"] == MASK


def test_the_requests_of_a_batch_are_its_body(company: Company, rehearsal: Rehearsal) -> None:
    write = {"id": "1", "method": "POST", "url": "contactsExt"}
    body = {"displayName": "A", "onlinePassword": "hunter2"}
    before = len(rehearsal.requests())
    company.post("$batch", {"requests": [{**write, "body": body}]})
    listed = rehearsal.requests()
    assert len(listed) == before + 1
    assert listed[-1].body == {
        "requests": [{**write, "body": {"displayName": "A", "onlinePassword": MASK}}]
    }


def test_no_secret_of_a_header_or_a_query_is_listed(company: Company, rehearsal: Rehearsal) -> None:
    sent = {"X-Api-Key": "hunter2", "X-Forwarded-Authorization": "hunter2", "X-Shop": "1"}
    company.get("contactsExt", "$filter=onlinePassword%20eq%20'hunter2'&api-key=hunter2", sent)
    last = rehearsal.requests()[-1]
    assert "hunter2" not in str(last)
    assert last.headers["x-shop"] == "1"
    assert last.query == "$filter=•••&api-key=•••"


def test_a_request_without_a_token_is_listed(company: Company, rehearsal: Rehearsal) -> None:
    refused = company.using("").get("contactsExt")
    last = rehearsal.requests()[-1]
    assert (last.request, last.status, last.client) == (refused.headers["x-request-id"], 401, "")


@together(
    ("fault", "trap"),
    [
        ("throttle; retry-after=0", "throttling"),
        ("away; kind=html", "gateway-page"),
        ("timeout; status=504", "gateway-page"),
        ("timeout; phase=after", "lost-answer"),
        ("body; kind=xml", "gateway-page"),
    ],
)
def test_a_fault_is_a_trap_until_the_client_succeeds(
    fault: str, trap: str, faulty: Service, company: Company, rehearsal: Rehearsal
) -> None:
    name = f"by {fault}"
    client = party(faulty, company, name)
    rehearsal.set({"id": "r", "fault": fault, "times": 2})
    client.get("contactsExt")
    assert met(rehearsal, name, trap) == (1, 1, 0, "no")
    client.get("contactsExt")
    client.get("contactsExt")
    assert met(rehearsal, name, trap) == (2, 2, 0, "yes")
    assert met(rehearsal, name, "stale-tag") == (0, 0, 0, None)


def test_a_hasty_client_has_not_waited(
    faulty: Service, company: Company, rehearsal: Rehearsal
) -> None:
    rehearsal.set({"id": "r", "fault": "throttle; retry-after=600", "times": 1})
    for name, wait in (("hasty", ""), ("patient", "PT10M")):
        client = party(faulty, company, name)
        client.get("contactsExt")
        if wait:
            rehearsal.advance(wait)
        client.get("contactsExt")
    assert met(rehearsal, "hasty", "throttling") == (1, 1, 1, "no")
    assert met(rehearsal, "patient", "throttling") == (1, 1, 0, "yes")


def test_a_client_meets_traps_by_itself(
    faulty: Service, company: Company, rehearsal: Rehearsal
) -> None:
    client = party(faulty, company, "by itself")
    created = client.post("contactsExt", {"displayName": "Own"}).json()
    path = f"contactsExt({created['id']})"
    assert client.patch(path, {"city": "Graz"}).status_code == 428
    assert client.patch(path, {"city": "Graz"}, 'W/"a3fa8c5e.1"').status_code == 412
    assert met(rehearsal, "by itself", "missing-tag") == (1, 0, 0, "no")
    assert client.patch(path, {"city": "Graz"}, created["@odata.etag"]).status_code == 200
    assert met(rehearsal, "by itself", "missing-tag") == (1, 0, 0, "yes")
    assert met(rehearsal, "by itself", "stale-tag") == (1, 0, 0, "yes")


def test_a_client_follows_the_link_to_the_next_page_or_not(
    faulty: Service, rehearsal: Rehearsal
) -> None:
    company = faulty.new_company()
    company.load("contactsExt", *({"number": each, "displayName": each} for each in "ABC"))
    client = party(faulty, company, "reader")
    link = client.get("contactsExt").json()["@odata.nextLink"]
    assert met(rehearsal, "reader", "page-limit") == (1, 0, 0, "no")
    assert client.follow(link).status_code == 200
    assert met(rehearsal, "reader", "page-limit") == (1, 0, 0, "yes")
