"""Records that are contained in others, navigation that is checked, and actions of records."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import httpx
import msgspec
import pytest

from comptoir.auth.tokens import Scope
from comptoir.errors.refusal import OperatorError
from comptoir.store import unit
from support.client import Client
from support.companies import Company
from support.contract import without_control
from support.history import changes
from support.orders import ORDERS, read_orders
from support.roles import tokens_of_roles
from support.service import Service, StartService
from support.together import together
from support.waiting import until

EDM = "{http://docs.oasis-open.org/odata/ns/edm}"
NO_ID = "00000000-0000-0000-0000-000000000000"
NO_ONE = "11111111-1111-1111-1111-111111111111"


@pytest.fixture(scope="module", params=["standard", "business-central"])
def service(
    request: pytest.FixtureRequest,
    share_service: StartService,
    tmp_path_factory: pytest.TempPathFactory,
) -> Service:
    return share_service(read_orders(tmp_path_factory.mktemp("orders")), profile=request.param)


@pytest.fixture
def is_rehearsed(service: Service) -> bool:
    return service.settings.profile == "business-central"


@pytest.fixture
def namespace(is_rehearsed: bool) -> str:
    return "Microsoft.NAV" if is_rehearsed else "Comptoir"


def _new(company: Company, path: str, body: Mapping[str, object] | None = None) -> str:
    made = company.post(path, body or {})
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


def _ids(company: Company, path: str) -> set[str]:
    return {each["id"] for each in company.get(path).json()["value"]}


def _act(company: Client, path: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
    return company.request("POST", path, headers=headers)


def _deleted(company: Company) -> list[str]:
    return [each.entity_set for each in company.changes() if each.verb == "delete"]


def test_contained_records_are_created_below_their_record(company: Company) -> None:
    order, other = _new(company, "orders", {"number": "A"}), _new(company, "orders")
    made = company.post(f"orders({order})/lines", {"text": "One"})
    assert (made.status_code, made.json()["orderId"]) == (201, order)
    line = made.json()["id"]
    # the address of a record is that in its own set, wherever it was created
    assert made.headers["Location"].endswith(f"/lines({line})")
    assert made.json()["@odata.context"].endswith("/lines/$entity")
    _new(company, f"orders({order})/lines", {"orderId": order})
    wrong = company.post(f"orders({order})/lines", {"orderId": other})
    assert (wrong.status_code, wrong.json()["error"]["message"].split(". ")[0]) == (
        400,
        f"orderId must be '{order}' at this address",
    )
    assert company.post(f"orders({NO_ONE})/lines", {}).status_code == 404
    assert company.post(f"orders({order})/others", {}).status_code == 405
    assert len(_ids(company, f"orders({order})/lines")) == 2
    assert _ids(company, f"orders({other})/lines") == set()


def test_contained_records_have_the_constants_of_their_address(
    company: Company, is_rehearsed: bool
) -> None:
    order, blank = _new(company, "orders", {"number": "A"}), _new(company, "orders")
    note = company.post(f"orders({order})/notes", {"of": ""}).json()
    assert (note["of"], note["kind"]) == ("A", "Order")
    assert company.post(f"orders({order})/notes", {"kind": "Quote"}).status_code == 400
    # an empty value relates no records
    refused = company.post(f"orders({blank})/notes", {})
    assert refused.status_code == 404
    if not is_rehearsed:
        assert "No record contains notes at this address. Update the " in refused.text


def test_contained_records_are_written_below_their_own_record_alone(company: Company) -> None:
    order, other = _new(company, "orders"), _new(company, "orders")
    line = _new(company, f"orders({order})/lines")
    for path, status in ((f"orders({other})", 404), (f"orders({order})", 200)):
        changed = company.patch(f"{path}/lines({line})", {"text": "Two"}, "*")
        assert changed.status_code == status
        replaced = company.put(f"{path}/lines({line})", {"orderId": order, "text": "Three"}, "*")
        assert replaced.status_code == status
    assert company.get(f"orders({order})/lines({line})").json()["text"] == "Three"
    assert company.delete(f"orders({other})/lines({line})", "*").status_code == 404
    assert company.delete(f"orders({order})/lines({line})", "*").status_code == 204


def test_a_record_is_deleted_with_all_that_it_contains(company: Company) -> None:
    order, other = _new(company, "orders", {"number": "A"}), _new(company, "orders")
    lines = [_new(company, f"orders({each})/lines") for each in (order, order, other)]
    part, kept = (_new(company, f"lines({each})/parts") for each in lines[1:])
    _new(company, f"orders({order})/notes")
    quote = _new(company, "notes", {"of": "A", "kind": "Quote"})
    before = {
        str(each["id"]): without_control(each)
        for entity_set in ("lines", "parts", "notes", "orders")
        for each in company.listed(entity_set)
    }
    assert company.delete(f"orders({order})", "*").status_code == 204
    assert sorted(_deleted(company)) == ["lines", "lines", "notes", "orders", "parts"]
    assert _deleted(company)[-1] == "orders"
    history = [each for each in changes(company) if each.verb == "delete"]
    assert len(history) == 5
    assert all(each.before == before[each.record] for each in history)
    assert _ids(company, "lines") == {lines[2]}
    assert _ids(company, "parts") == {kept} != {part}
    assert _ids(company, "notes") == {quote}
    assert company.get(f"lines({lines[0]})").status_code == 404


def test_a_record_that_contains_too_many_is_not_deleted(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unit, "MOST_CONTAINED", 2)
    order = _new(company, "orders")
    lines = [_new(company, f"orders({order})/lines") for _ in range(3)]
    refused = company.delete(f"orders({order})", "*")
    assert (refused.status_code, _deleted(company)) == (400, [])
    assert "contains more than 2 records" in refused.text
    company.delete(f"lines({lines[0]})", "*")
    assert company.delete(f"orders({order})", "*").status_code == 204


def test_requests_of_a_batch_refer_to_what_contains_their_records(
    company: Company, namespace: str
) -> None:
    def request(name: str, url: str, body: dict[str, object], **more: object) -> dict[str, object]:
        return {"id": name, "method": "POST", "url": url, "body": body, **more}

    for group in ({}, {"atomicityGroup": "g"}):
        requests = [
            request("1", "orders", {}, **group),
            request("2", "$1/lines", {"text": "One"}, dependsOn=["1"], **group),
            request("3", f"$1/{namespace}.release", {}, dependsOn=["1"], **group),
        ]
        for each in requests:
            each["headers"] = {"Content-Type": "application/json"}
        answers = company.post("$batch", {"requests": requests}).json()["responses"]
        assert [each["status"] for each in answers] == [201, 201, 204]
        order = answers[0]["body"]["id"]
        assert answers[1]["body"]["orderId"] == order
        assert company.get(f"orders({order})").json()["status"] == "Released"


def test_a_checked_reference_names_a_record(company: Company) -> None:
    term = _new(company, "terms", {"code": "14D"})
    for body in (
        {"termId": term, "termCode": "14D"},
        {"termId": term.upper()},
        {"termId": NO_ID, "termCode": ""},
        {},
    ):
        order = _new(company, "orders", body)
    for body in ({"termId": NO_ONE}, {"termCode": "30D"}):
        refused = company.post("orders", body)
        assert (refused.status_code, refused.json()["error"].get("target", "")) in (
            (400, next(iter(body))),
            (400, ""),
        )
        assert company.patch(f"orders({order})", body, "*").status_code == 400
    assert company.patch(f"orders({order})", {"termId": term}, "*").status_code == 200


def test_an_action_changes_its_record(company: Company, namespace: str) -> None:
    order = company.post("orders", {"number": "A"})
    path = f"orders({order.json()['id']})"
    before = datetime.fromisoformat(order.json()["changedAt"])
    # both may happen within a millisecond
    until(lambda: datetime.now(UTC) > before + timedelta(milliseconds=1) or None, "later")
    done = _act(company, f"{path}/{namespace}.release")
    assert (done.status_code, done.content) == (204, b"")
    after = company.get(path)
    assert done.headers["ETag"] == after.json()["@odata.etag"] != order.headers.get("ETag")
    assert [after.json()[each] for each in ("status", "confirmed")] == ["Released", True]
    assert datetime.fromisoformat(after.json()["changedAt"]) > before
    assert [each.verb for each in company.changes()] == ["create", "update"]
    # what changes nothing is not a change
    assert company.post(f"{path}/{namespace.lower()}.RELEASE", {"any": 1}).status_code == 204
    assert company.get(path).json()["@odata.etag"] == after.json()["@odata.etag"]
    line = _new(company, f"{path}/lines")
    assert _act(company, f"lines({line})/order/{namespace}.release").status_code == 204


def test_an_action_is_refused_as_an_update_is(
    company: Company, namespace: str, is_rehearsed: bool
) -> None:
    order = company.post("orders", {})
    path = f"orders({order.json()['id']})"
    address = f"{path}/{namespace}.release"
    stale = order.json()["@odata.etag"]
    company.patch(path, {"number": "B"}, "*")
    act = partial(_act, company, address)
    assert act({"If-Match": stale}).status_code == (409 if is_rehearsed else 412)
    assert company.get(path).json()["status"] == "Draft"
    assert act({"If-Match": company.get(path).json()["@odata.etag"]}).status_code == 204
    shown = company.get(address)
    assert (shown.status_code, shown.headers["Allow"]) == (405, "POST")
    assert company.post(address, b"{").status_code == 400
    assert _act(company, f"orders({NO_ONE})/{namespace}.release").status_code == 404
    assert _act(company, f"orders/{namespace}.release").status_code == 404
    assert _act(company, f"lines({NO_ONE})/{namespace}.release").status_code in (404, 501)
    missing = _act(company, f"{path}/{namespace}.post")
    assert missing.status_code == 501
    unknown = _act(company, f"{path}/{namespace}.releas")
    assert unknown.status_code == 404
    if not is_rehearsed:
        assert missing.json()["error"]["message"].startswith("The action post is not supported.")
        assert f"Did you mean {namespace}.release?" in unknown.json()["error"]["message"]


@together(
    ("old", "new", "problem"),
    [
        (
            'lines = { to = "lines[]"',
            'lines = { to = "lines"',
            ":24:50: lines cannot be contained.",
        ),
        ('"terms", on = { termId', '"terms[]", on = { termId', "check does not apply to terms[]."),
        ('status = "Released"', 'state = "Released"', "state is not a known property of orders."),
        ("confirmed = true", "confirmed = 1", ":31:45: confirmed is not valid: 1 must be true or"),
        ("post = {}", "Lines = {}", "Lines has the name of lines."),
        ('status = "Rel', 'changedAt = "2024-01-01T00:00:00Z", a = "', "cannot set changedAt."),
    ],
)
def test_faults_are_found_in_the_file(old: str, new: str, problem: str, tmp_path: Path) -> None:
    assert ORDERS.count(old) == 1
    with pytest.raises(OperatorError) as refused:
        read_orders(tmp_path, old, new)
    assert problem in "\n".join(refused.value.details)


def test_the_documents_name_what_is_contained_and_actions(
    service: Service, company: Company, namespace: str, is_rehearsed: bool
) -> None:
    xml = ElementTree.fromstring(company.get("$metadata").content)
    declared = {
        (kind.get("Name"), each.get("Name")): each.get("ContainsTarget")
        for kind in xml.iter(f"{EDM}EntityType")
        for each in kind.iter(f"{EDM}NavigationProperty")
    }
    assert declared["order", "lines"] == declared["order", "notes"] == "true"
    assert declared["order", "others"] is declared["order", "term"] is None
    bound = {each.get("Path") for each in xml.iter(f"{EDM}NavigationPropertyBinding")}
    assert {"others", "lines", "term"} <= bound
    actions = {
        each.get("Name"): [parameter.get("Type") for parameter in each]
        for each in xml.iter(f"{EDM}Action")
    }
    assert actions == {each: [f"{namespace}.order"] for each in ("release", "post")}
    company_path = "/companies({company_id})"
    paths = msgspec.json.decode(service.origin.get("docs/openapi.json").content)["paths"]
    order = f"{company_path}/orders({{id}})"
    assert "post" in paths[f"{order}/lines"]
    assert "post" not in paths[f"{order}/others"]
    assert list(paths[f"{order}/{namespace}.release"]) == ["parameters", "post"]
    assert f"{order}/{namespace}.post" not in paths
    if is_rehearsed:
        (defined,) = service.client.get(
            "entityDefinitions", "$filter=entityName eq 'order'"
        ).json()["value"]
        assert [each["name"] for each in defined["actions"]] == ["release", "post"]


def test_actions_and_contained_records_need_the_rights_of_writes(
    service: Service, company: Company, namespace: str
) -> None:
    order = _new(company, "orders")
    path = f"orders({order})"
    roles = {
        "reader": {"orders": "R", "lines": "R"},
        "writer": {"orders": "RM", "lines": "RI"},
        "inserter": {"orders": "RI", "lines": "I"},
    }
    tokens = tokens_of_roles(service, roles)
    status = {}
    for name, token in tokens.items():
        client = company.using(token)
        done = _act(client, f"{path}/{namespace}.release")
        status[name] = done.status_code, client.post(f"{path}/lines", {}).status_code
    # a path along navigation needs the right to read what it leads to
    assert status == {"reader": (403, 403), "writer": (204, 201), "inserter": (403, 403)}
    reading = company.using(service.tokens.issue(scopes=[Scope.RECORDS_READ]))
    assert _act(reading, f"{path}/{namespace}.release").status_code == 403
