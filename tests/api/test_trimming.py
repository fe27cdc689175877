"""Logs keep their entries for some days; what is asked of the others gets 410, not a gap."""

from collections.abc import Sequence

import pytest

from comptoir.auth.audit import Act, ActName, Actor
from comptoir.features.history import feature
from support.client import record
from support.companies import Company
from support.databases import run_sql
from support.history import Change, changes, of_record
from support.refusals import refusal
from support.service import Service, StartService
from support.subscriptions import subscribe
from support.waiting import until

AGENTS = "shippingAgentsExt"
ITEMS = "itemsExt"
GONE = "Request_LinkExpired"
FEW = 5
MANY = 1_200
"""More than a unit of work trims, or indexes."""


@pytest.fixture(scope="module")
def service(share_service: StartService) -> Service:
    """A service of its own, because all companies are trimmed."""
    return share_service()


def loaded(company: Company, count: int) -> Sequence[str]:
    """The keys of new records, each of which has one change."""
    keys = [f"aaaaaaaa-0000-4000-8000-{at:012d}" for at in range(count)]
    company.load(AGENTS, *[{"id": each, "code": each[-4:], "name": "Old"} for each in keys])
    return keys


def numbers(found: Sequence[Change]) -> list[int]:
    return [each.number for each in found]


def change_late(company: Company, key: str, **values: str) -> None:
    """Change a record a century after the other changes."""
    record(company.patch(f"{AGENTS}({key})", values, "*"))
    statement = (
        "UPDATE changes SET at = '2126-01-01T00:00:00.000Z' WHERE company_id = :id"
        " AND number = (SELECT max(number) FROM changes WHERE company_id = :id)"
    )
    run_sql(company.admin.settings.database, statement, id=company.id)


def test_old_changes_are_trimmed(company: Company) -> None:
    keys = loaded(company, MANY)
    change_late(company, keys[0], name="New")
    change_late(company, keys[1], name="New")
    before = changes(company, size=20_000)
    assert numbers(before) == list(range(MANY + 2, 0, -1))

    for days, later in ((0, 36_000), (40, 39)):
        company.admin.trim_logs(later, log_days=days)
        assert changes(company, size=20_000) == before

    company.admin.trim_logs(41, log_days=40)
    assert changes(company) == before[:2]
    assert before[0].previous == 2


def test_the_last_change_stays(company: Company) -> None:
    loaded(company, FEW)
    company.admin.trim_logs(41, log_days=40)

    assert numbers(changes(company)) == [FEW]
    created = company.post(AGENTS, {"code": "DHL", "name": "First"})
    assert record(created, 201)["name"] == "First"
    assert numbers(changes(company)) == [FEW + 1, FEW]


def test_a_number_that_is_not_kept_is_gone(company: Company) -> None:
    keys = loaded(company, FEW)
    change_late(company, keys[0], name="New")
    company.admin.trim_logs(41, log_days=40)

    for start in (0, 1, FEW - 1):
        error = refusal(company.get("changes", f"from={start}"), GONE)
        assert error.message.startswith(
            f"The change {start} is not kept any longer: the oldest is {FEW + 1}"
        )
        assert error.target == "from"
    assert numbers(changes(company, f"from={FEW + 1}")) == [FEW + 1]
    assert numbers(changes(company, f"from={FEW + 9}")) == [FEW + 1]


def test_a_record_has_the_changes_that_are_kept(company: Company) -> None:
    """None of them is an empty list, because the record exists."""
    keys = loaded(company, FEW)
    change_late(company, keys[0], name="New")
    company.admin.trim_logs(41, log_days=40)

    assert numbers(changes(company, of_record(AGENTS, keys[0]))) == [FEW + 1]
    assert changes(company, of_record(AGENTS, keys[1])) == []
    refusal(company.get("changes", of_record(AGENTS, keys[1], 2)), GONE)
    refusal(company.get("changes", of_record(AGENTS, keys[1], FEW + 1)), "Internal_RecordNotFound")


def test_a_delta_link_keeps_what_it_needs(company: Company) -> None:
    """By default, it is valid for thirty days."""
    keys = loaded(company, FEW)
    wishes = {"Prefer": "odata.track-changes, odata.maxpagesize=20000"}
    link = str(company.get(AGENTS, headers=wishes).json()["@odata.deltaLink"])
    record(company.patch(f"{AGENTS}({keys[0]})", {"name": "Second"}, "*"))
    change_late(company, keys[1], name="Third")

    company.admin.trim_logs(29, log_days=1)
    assert [each["name"] for each in company.follow(link).json()["value"]] == ["Second", "Third"]

    company.admin.trim_logs(31, log_days=1)
    error = refusal(company.follow(link), GONE)
    assert "Read the collection again" in error.message


def test_a_count_does_not_depend_on_the_log(company: Company) -> None:
    """A service counts a set once, then by the changes since."""
    keys = loaded(company, MANY)
    assert company.get(f"{AGENTS}/$count").text == str(MANY)
    record(company.post(AGENTS, {"code": "DHL", "name": "First"}), 201)
    change_late(company, keys[0], name="New")
    company.admin.trim_logs(41, log_days=40)

    assert company.get(f"{AGENTS}/$count").text == str(MANY + 1)
    company.delete(f"{AGENTS}({keys[1]})", "*")
    assert company.get(f"{AGENTS}/$count").text == str(MANY)


def test_a_search_does_not_depend_on_the_log(company: Company) -> None:
    """An index may be built again, as after an upgrade or a copy, when the log has few changes."""
    keys = loaded(company, MANY)
    change_late(company, keys[0], name="New")
    company.admin.trim_logs(41, log_days=40)
    assert company.admin.search_lag(company.stored, AGENTS) == 0

    def is_exact() -> None:
        assert company.get(f"{AGENTS}/$count", {"$search": "old"}).text == str(MANY - 1)
        found = company.listed(AGENTS, {"$search": keys[-1][-4:]})
        assert [each["id"] for each in found] == [keys[-1]]
        found = company.listed(AGENTS, {"$search": "new"})
        assert [each["id"] for each in found] == [keys[0]]

    is_exact()
    statement = "UPDATE search_marks SET layout = 'other' WHERE company_id = :id"
    run_sql(company.admin.settings.database, statement, id=company.id)
    is_exact()
    company.catch_up(AGENTS)
    assert company.admin.search_lag(company.stored, AGENTS) == 0
    is_exact()
    for key, name in ((keys[0], "Old"), (keys[1], "New")):
        record(company.patch(f"{AGENTS}({key})", {"name": name}, "*"))
    found = company.listed(AGENTS, {"$search": "new"})
    assert [each["id"] for each in found] == [keys[1]]


def test_changes_stay_until_subscriptions_are_notified(
    start_service: StartService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change of the set that nobody was notified of keeps itself and what follows."""
    service = start_service(profile="business-central")
    first, second = service.new_company(), service.new_company()
    for company in (first, second):
        for number in ("1", "2", "3", "4"):
            resource = ITEMS if number == "2" else AGENTS
            name = "number" if resource == ITEMS else "code"
            record(company.post(resource, {name: number}), 201)
        old = "UPDATE changes SET at = '202' || number || :rest WHERE company_id = :id"
        rest = "-01-01T00:00:00.000Z"
        run_sql(service.settings.database, old, id=company.id, rest=rest)
    subscribe(service.settings.database, first)
    monkeypatch.setattr(feature, "TRIM_SECONDS", 0.01)
    trims = start_service(profile="business-central", log_days=1)

    def is_trimmed() -> bool | None:
        first_changes = "SELECT number FROM changes WHERE number = 1"
        return run_sql(service.settings.database, first_changes) == [] or None

    trims.beside(lambda: until(is_trimmed, "trimmed"))
    assert numbers(changes(first)) == [4, 3, 2]
    assert numbers(changes(second)) == [4]


def test_the_audit_log_is_trimmed_but_not_its_last_entry(service: Service) -> None:
    control, act = service.admin.control, Act(Actor("service"), ActName.KEYS_ROTATE, "key")
    service.admin.wait(control.record([act] * MANY))

    def audited() -> list[int]:
        return [each.number for each in service.admin.wait(control.audit(0, 10_000))]

    before = audited()
    for days, later in ((0, 36_000), (40, 39)):
        service.admin.trim_logs(later, log_days=days)
        assert audited() == before
    service.admin.trim_logs(41, log_days=40)
    assert audited() == before[-1:]
    service.admin.wait(control.record([act]))
    assert audited() == [before[-1], before[-1] + 1]
