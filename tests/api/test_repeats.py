"""Repeatable requests (OASIS Repeatable Requests 1.0) run only once."""

from datetime import timedelta

import pytest

from comptoir.store.writes import REPEATS_DROPPED
from support.client import Record, record
from support.companies import Company
from support.databases import ON_SQLITE, run_sql
from support.refusals import refusal
from support.repeats import essence, repeatable, result
from support.samples import SAMPLES, WRITABLE
from support.service import Service
from support.together import together

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


def test_one_of_many_concurrent_repeats_runs(company: Company) -> None:
    requests = [
        company.build("POST", "shippingAgentsExt", "", NEW, headers)
        for headers in [repeatable()] * 30
    ]

    answers = company.carrier.send_all(requests)

    assert {each.status_code for each in answers} == {201}
    assert [essence(each) for each in answers] == [essence(answers[0])] * 30
    assert len(company.changes()) == 1


def test_ids_are_per_client(company: Company, service: Service) -> None:
    headers = repeatable()
    other = company.using(service.tokens.issue(subject="another"))

    answers = [
        company.post("shippingAgentsExt", {"code": "A"}, headers),
        other.post("shippingAgentsExt", {"code": "C"}, headers),
    ]

    assert [record(each, 201)["code"] for each in answers] == ["A", "C"]


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
