"""Repeatable requests (OASIS Repeatable Requests 1.0) run only once."""

from datetime import timedelta

import pytest

from comptoir.store.writes import REPEATS_DROPPED
from support.client import Record, record
from support.companies import Company
from support.databases import ON_SQLITE, run_sql
from support.refusals import refusal
from support.repeats import repeatable, result
from support.service import Service
from support.together import together

NEW: Record = {"code": "UPS"}


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
