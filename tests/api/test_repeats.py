"""Repeatable requests (OASIS Repeatable Requests 1.0) run only once."""

from collections.abc import Mapping
from datetime import timedelta

import httpx
import pytest

from comptoir.store.writes import REPEATS_DROPPED
from support.client import Record, record, tag_of
from support.companies import Company
from support.databases import ON_SQLITE, run_sql
from support.refusals import refusal
from support.repeats import essence, repeatable, result
from support.samples import PATHS, SAMPLES, SHIPPING_AGENT, WRITABLE
from support.service import Service
from support.together import together

AGENT = PATHS["shippingAgentsExt"]
NEW: Record = {"code": "UPS"}


@pytest.mark.parametrize("resource", WRITABLE)
def test_a_repeated_create_creates_once(resource: str, company: Company) -> None:
    """If the body omits the key, both responses have the same one."""
    body = {name: value for name, value in SAMPLES[resource].items() if name != "id"}
    headers = repeatable(If_Match="*")

    answers = [company.post(resource, body, headers) for _ in range(3)]

    assert answers[0].status_code == 201, answers[0].text
    assert [essence(each) for each in answers] == [essence(answers[0])] * 3
    assert result(answers[0]) == "accepted"
    created = record(answers[0], 201)
    del created["@odata.context"]
    assert company.listed(resource) == [created]
    assert len(company.changes()) == 1


def _sent(company: Company, method: str, headers: Mapping[str, str]) -> httpx.Response:
    body = None if method == "DELETE" else {"code": "NEW", "name": "New"}
    return company.request(method, AGENT, "", body, headers)


@pytest.mark.parametrize("method", ["PATCH", "PUT", "DELETE"])
def test_a_repeated_write_has_the_first_response(method: str, own_stock: Company) -> None:
    """Although its tag is outdated, or the record is deleted."""
    headers = repeatable(If_Match=tag_of(own_stock.get(AGENT)))

    answers = [_sent(own_stock, method, headers) for _ in range(3)]

    assert answers[0].is_success
    assert [essence(each) for each in answers] == [essence(answers[0])] * 3
    assert result(answers[0]) == "accepted"
    verbs = [change.verb for change in own_stock.changes() if change.record == SHIPPING_AGENT]
    assert verbs == ["create", "delete" if method == "DELETE" else "update"]


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
def test_a_repeated_create_by_its_key_creates_once(method: str, company: Company) -> None:
    headers = repeatable(If_None_Match="*")

    answers = [_sent(company, method, headers) for _ in range(2)]

    assert [each.status_code for each in answers] == [201, 201]
    assert essence(answers[0]) == essence(answers[1])
    assert len(company.changes()) == 1


def test_the_response_has_the_record_of_that_time(company: Company) -> None:
    headers = repeatable()
    first = company.post("shippingAgentsExt", NEW, headers)
    path = f"shippingAgentsExt({record(first, 201)['id']})"

    company.patch(path, {"name": "Changed"}, if_match="*")
    after_change = company.post("shippingAgentsExt", NEW, headers)
    company.delete(path, if_match="*")
    after_delete = company.post("shippingAgentsExt", NEW, headers)

    assert essence(after_change) == essence(after_delete) == essence(first)
    assert company.listed("shippingAgentsExt") == []


def test_a_repeat_of_a_write_that_changed_nothing_changes_nothing(own_stock: Company) -> None:
    headers = repeatable(If_Match="*")
    first = own_stock.patch(AGENT, {}, headers=headers)
    own_stock.patch(AGENT, {"name": "Changed"}, if_match="*")
    changed = own_stock.changes()

    assert essence(own_stock.patch(AGENT, {}, headers=headers)) == essence(first)

    assert own_stock.changes() == changed


def test_a_repeat_may_use_the_previous_address(own_stock: Company) -> None:
    """The write itself changed the key, or deleted the record."""
    renaming, deleting = repeatable(If_Match="*"), repeatable(If_Match="*")
    for _ in range(2):
        renamed = own_stock.patch("shippingAgentsExt(code='DHL')", NEW, headers=renaming)
        assert record(renamed)["code"] == "UPS"
    for _ in range(2):
        deleted = own_stock.delete("shippingAgentsExt(code='UPS')", headers=deleting)
        assert (deleted.status_code, result(deleted)) == (204, "accepted")
    lost = own_stock.delete("shippingAgentsExt(code='UPS')", headers=repeatable(If_Match="*"))

    refusal(lost, "Internal_RecordNotFound")
    verbs = [change.verb for change in own_stock.changes() if change.record == SHIPPING_AGENT]
    assert verbs == ["create", "update", "delete"]


def test_a_repeat_may_request_another_format(company: Company) -> None:
    """Only the write is repeated; the format of the response may differ."""
    headers = repeatable()
    first = company.post("shippingAgentsExt", NEW, headers)

    minimal = company.post("shippingAgentsExt", NEW, {**headers, "Prefer": "return=minimal"})
    bare = company.post(
        "shippingAgentsExt", NEW, {**headers, "Accept": "application/json;odata.metadata=none"}
    )

    assert minimal.status_code == 204
    assert minimal.headers["location"] == first.headers["location"]
    assert tag_of(minimal) == tag_of(bare) == tag_of(first)
    assert record(bare, 201)["id"] == record(first, 201)["id"]


def test_one_of_many_concurrent_repeats_runs(company: Company) -> None:
    requests = [
        company.build("POST", "shippingAgentsExt", "", NEW, headers)
        for headers in [repeatable()] * 30
    ]

    answers = company.carrier.send_all(requests)

    assert {each.status_code for each in answers} == {201}
    assert [essence(each) for each in answers] == [essence(answers[0])] * 30
    assert len(company.changes()) == 1


def test_another_request_with_the_same_id_is_rejected(own_stock: Company) -> None:
    headers = repeatable(If_Match="*")
    own_stock.patch(AGENT, {"name": "A"}, headers=headers)
    changed = own_stock.changes()
    others = [
        own_stock.patch(AGENT, {"name": "B"}, headers=headers),
        own_stock.patch(AGENT, {"name": "A"}, headers={**headers, "If-Match": '"x"'}),
        own_stock.put(AGENT, {"name": "A"}, headers=headers),
        own_stock.delete(AGENT, headers=headers),
        own_stock.patch(PATHS["itemAttributesExt"], {"name": "A"}, headers=headers),
        own_stock.post("shippingAgentsExt", {"name": "A"}, headers),
    ]

    for other in others:
        refusal(other, "BadRequest", "Repeatability-Request-ID")
        assert result(other) == "rejected"
    assert own_stock.changes() == changed


def test_ids_are_per_client_principal_and_company(company: Company, service: Service) -> None:
    """Another client, principal or company with the same id gets its own result."""
    headers = repeatable()
    named = repeatable(headers["Repeatability-Request-ID"], Repeatability_Client_ID="till 7")
    other = company.using(service.tokens.issue(subject="another"))
    elsewhere = service.new_company()

    answers = [
        company.post("shippingAgentsExt", {"code": "A"}, headers),
        company.post("shippingAgentsExt", {"code": "B"}, named),
        other.post("shippingAgentsExt", {"code": "C"}, headers),
        elsewhere.post("shippingAgentsExt", {"code": "D"}, headers),
    ]

    assert [record(each, 201)["code"] for each in answers] == ["A", "B", "C", "D"]
    assert len({str(record(each, 201)["id"]) for each in answers}) == 4
    again = company.post("shippingAgentsExt", {"code": "B"}, named)
    assert essence(again) == essence(answers[1])


def test_a_refused_write_is_tried_again(own_stock: Company) -> None:
    """A refused write is not stored."""
    headers = repeatable()
    taken = own_stock.post("shippingAgentsExt", {"code": "DHL"}, headers)
    refusal(taken, "Internal_EntityWithSameKeyExists")
    assert result(taken) is None

    own_stock.delete(AGENT, if_match="*")

    answers = [own_stock.post("shippingAgentsExt", {"code": "DHL"}, headers) for _ in range(2)]
    assert record(answers[0], 201)["code"] == "DHL"
    assert essence(answers[0]) == essence(answers[1])


@ON_SQLITE
@together(
    "age",
    [
        timedelta(days=1, seconds=2),
        timedelta(days=10_000),
        timedelta(minutes=-6),
        timedelta(days=-10_000),
    ],
)
def test_a_time_outside_the_window_is_412(age: timedelta, company: Company) -> None:
    """Too long ago, or in the future."""
    answer = company.post("shippingAgentsExt", NEW, repeatable(age=age))

    refusal(answer, "Request_RepeatUntracked", "Repeatability-First-Sent")
    assert result(answer) == "rejected"
    assert company.changes() == []


@ON_SQLITE
@pytest.mark.parametrize("age", [timedelta(hours=23, minutes=59), timedelta(minutes=-4)])
def test_a_request_may_be_a_day_old_and_clocks_may_differ(age: timedelta, company: Company) -> None:
    record(company.post("shippingAgentsExt", NEW, repeatable(age=age)), 201)


@ON_SQLITE
def test_reads_ignore_the_headers(stocked: Company) -> None:
    answer = stocked.get(AGENT, headers={"Repeatability-Request-ID": "x"})

    assert answer.status_code == 200
    assert result(answer) is None


def test_old_writes_are_forgotten_a_few_at_a_time(company: Company, service: Service) -> None:
    """The table does not grow without bound."""
    for number in range(3 * REPEATS_DROPPED):
        company.post("shippingAgentsExt", {"code": f"{number}"}, repeatable())
    url = service.settings.database
    run_sql(url, "UPDATE repeats SET at = '2020-01-01T00:00:00.000Z'")
    left: list[object] = []
    for number in range(4):
        company.post("itemsExt", {"number": f"{number}"}, repeatable())
        count = "SELECT count(*) FROM repeats WHERE company_id = :company"
        left += [held for (held,) in run_sql(url, count, company=company.id)]

    assert left == [2 * REPEATS_DROPPED + 1, REPEATS_DROPPED + 2, 3, 4]
