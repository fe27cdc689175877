"""The source may be written to during a copy: the target is equal at the end."""

from functools import partial

import pytest

from comptoir.errors.refusal import OperatorError
from comptoir.errors.table import COMPANY_NOT_FOUND
from comptoir.features.transfer import copy
from comptoir.store import store
from comptoir.store.snapshot import LOOKUP
from support.client import record, tag_of
from support.companies import Company
from support.history import changes
from support.repeats import essence, repeatable
from support.samples import PATHS, SAMPLES
from transfer.conftest import ON_ONE_PAIR, STEP_ROWS
from transfer.two_databases import TwoDatabases, guid

AGENT = PATHS["shippingAgentsExt"]
CONTACT = PATHS["contactsExt"]
STAGES = ("copying changes", "copying contactsExt", "comparing changes")


def test_writes_during_a_copy_are_followed(pair: TwoDatabases, company: Company) -> None:
    tags: list[str] = []
    deleted = iter(PATHS[name] for name in ("campaignsExt", "shippingAgentsExt", "itemsExt"))

    def write() -> None:
        number = len(tags)
        tags.append(tag_of(company.patch(CONTACT, {"city": f"City {number}"}, "*")))
        record(company.post("contactsExt", {"displayName": "New"}), 201)
        assert company.delete(next(deleted), "*").status_code == 204
        short = record(company.post("campaignsExt", {"number": "CP2"}), 201)
        assert company.delete(f"campaignsExt({short['id']})", "*").status_code == 204
        company.load("salesPricesExt", {"entryNo": 17, "quantity": number})

    report = pair.during(company, write, *STAGES)

    assert report.followed == 6 * len(STAGES)
    assert report.number == len(SAMPLES) + 6 * len(STAGES)
    pair.assert_same(company)
    # its entity tags are valid in the target
    record(pair.there(company).patch(CONTACT, {"city": "Linz"}, tags[-1]))


@ON_ONE_PAIR
def test_unique_values_may_move_between_records_in_different_steps(
    pair: TwoDatabases, company: Company, small_steps: None
) -> None:
    """A record that is not copied yet has the number of a copied one."""
    ids = [guid(at) for at in range(STEP_ROWS + 10)]
    company.load("customersExt", *({"id": key, "number": f"C{at}"} for at, key in enumerate(ids)))
    pair.stopped_at(company, "copying customersExt")
    company.load("customersExt", {"id": ids[0], "number": "C"})
    company.load("customersExt", {"id": ids[-1], "number": "C0"})

    assert pair.attempt(company).followed == 2
    pair.assert_same(company)


def test_unique_values_may_move_among_many_records(pair: TwoDatabases, company: Company) -> None:
    """Each record has the number of the one that is looked up after it."""
    ids = [guid(at) for at in range(2 * LOOKUP + 10)]
    company.load("customersExt", *({"id": key, "number": f"C{at}"} for at, key in enumerate(ids)))

    def rotate() -> None:
        company.load("customersExt", *({"id": each, "number": ""} for each in ids))
        turned = [*range(1, len(ids)), 0]
        company.load(
            "customersExt",
            *({"id": key, "number": f"C{at}"} for at, key in zip(turned, ids, strict=True)),
        )

    report = pair.during(company, rotate, "copying salesPricesExt")

    assert report.followed == 2 * len(ids)
    pair.assert_same(company)


def test_repeatable_writes_that_change_nothing_are_followed(
    pair: TwoDatabases, company: Company
) -> None:
    """Repeatable writes have no change number, and must not be executed again."""
    headers = repeatable(If_Match=tag_of(company.get(AGENT)))
    pair.stopped_at(company, "comparing")
    first = company.patch(AGENT, {}, headers=headers)
    assert pair.attempt(company).followed == 0

    pair.assert_same(company)
    there = pair.there(company)
    record(there.patch(AGENT, {"name": "Other"}, "*"))
    assert essence(there.patch(AGENT, {}, headers=headers)) == essence(first)


@ON_ONE_PAIR
def test_values_that_the_source_trims_meanwhile_do_not_matter(
    pair: TwoDatabases, company: Company
) -> None:
    """They are in no change, so a copy does not follow them."""
    company.patch(AGENT, {"name": "New"}, "*")
    pair.during(
        company, lambda: company.admin.trim_logs(history_days=0), "copying shippingAgentsExt"
    )

    there = pair.there(company)
    assert [each.before for each in changes(company, "$top=1")] == [None]
    assert [each.before for each in changes(there, "$top=1")] != [None]
    assert "all of them there before" in pair.copied(company)


@ON_ONE_PAIR
def test_changes_that_either_side_trims_do_not_matter(pair: TwoDatabases, company: Company) -> None:
    """The last change is kept, from which the next copy goes on."""
    company.patch(AGENT, {"name": "New"}, "*")
    trim = partial(company.admin.trim_logs, 41, log_days=40)
    pair.during(company, trim, "copying shippingAgentsExt")
    there = pair.there(company)
    assert len(changes(there)) > len(changes(company)) == 1

    company.patch(AGENT, {"name": "Newer"}, "*")
    there.admin.trim_logs(41, log_days=40)
    assert pair.attempt(company).followed == 1
    assert [each.number for each in changes(there)] == [each.number for each in changes(company)]
    assert record(there.get(AGENT))["name"] == "Newer"
    assert there.get("contactsExt/$count", {"$search": "contoso"}).text == (
        company.get("contactsExt/$count", {"$search": "contoso"}).text
    )


@ON_ONE_PAIR
def test_a_copy_that_needs_trimmed_changes_starts_again(
    pair: TwoDatabases, company: Company
) -> None:
    """Without them, it would not know which of the copied records have changed."""
    pair.stopped_at(company, "copying shippingAgentsExt")
    company.patch(AGENT, {"name": "New"}, "*")
    company.patch(AGENT, {"name": "Newer"}, "*")
    company.admin.trim_logs(41, log_days=40)
    last = len(SAMPLES)

    error = pair.error(company)
    assert f"begins with change {last + 2}, but its copy has come to change {last}. Start" in error
    pair.attempt(company, restart=True)
    assert record(pair.there(company).get(AGENT))["name"] == "Newer"
    pair.assert_same(company)


@ON_ONE_PAIR
def test_a_copy_gives_up_on_constant_writes_and_resumes_afterwards(
    pair: TwoDatabases, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write after the last comparison is reported, too."""
    monkeypatch.setattr(copy, "ROUNDS", 3)
    numbers = iter(range(1_000))

    def write() -> None:
        record(company.patch(CONTACT, {"city": f"City {next(numbers)}"}, "*"))

    with pytest.raises(
        OperatorError, match="changes faster than its copy, which has reached change"
    ):
        pair.during(company, write, *["comparing changes"] * 3)
    assert not pair.is_seen(company)

    with pytest.raises(OperatorError, match="has changed since its copy was compared"):
        pair.during(company, write, "finishing")

    out = pair.copied(company)
    assert f"equal up to change {len(SAMPLES) + 4}" in out
    assert "1 changes followed" in out
    pair.assert_same(company)


def test_later_writes_are_followed_while_a_service_responds_404(
    pair: TwoDatabases, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those after an interrupt."""
    pair.attempt(company)
    # a service that has just read the company caches it, so the copy must wait
    monkeypatch.undo()
    there = pair.there(company)
    assert there.record(CONTACT)["city"] != "Wien"
    record(company.patch(CONTACT, {"city": "Wien"}, "*"))
    record(company.post("contactsExt", {"displayName": "New"}), 201)
    pair.stopped_at(company, "following")

    refused = [
        there.post("contactsExt", {"displayName": "New"}),
        there.patch(CONTACT, {"city": "Linz"}, "*"),
        there.delete(CONTACT, "*"),
        there.get(CONTACT),
        there.get("contactsExt"),
    ]

    assert [each.status_code for each in refused] == [404] * 5
    assert {each.json()["error"]["code"] for each in refused} == {COMPANY_NOT_FOUND.code}
    record(company.patch(AGENT, {"name": "New"}, "*"))
    assert "1 changes followed" in pair.copied(company)
    pair.assert_same(company)
    assert there.record(CONTACT)["city"] == "Wien"


@ON_ONE_PAIR
def test_a_service_that_still_knows_the_company_writes_nothing(
    pair: TwoDatabases, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "COMPANY_CACHE_SECONDS", 60)
    pair.attempt(company)
    there = pair.there(company)
    there.record(CONTACT)
    record(company.patch(CONTACT, {"city": "Wien"}, "*"))
    pair.stopped_at(company, "following")

    assert there.get(CONTACT).status_code == 200
    assert there.patch(CONTACT, {"city": "Linz"}, "*").status_code == 404
    pair.attempt(company)
    pair.assert_same(company)
