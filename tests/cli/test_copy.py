"""`comptoir copy`: a company is in another database what it was, tags and change log included."""

import pytest

from cli.pair import Pair, asked
from comptoir.catalog import MODEL
from comptoir.sql.tables import build_tables
from conftest import stock
from support.client import record, tag_of
from support.office import Company
from support.refusals import refusal
from support.repeats import essence, repeatable
from support.samples import PATHS, SAMPLES

AGENT = PATHS["shippingAgentsExt"]
CONTACT = PATHS["contactsExt"]


@pytest.fixture
def company(pair: Pair) -> Company:
    """A company in the source with the sample of every kind."""
    return stock(pair.source.new_company("Tannhof Holz"))


def test_every_row_of_every_table_is_copied(pair: Pair, company: Company) -> None:
    """A table that copying does not know of would fail here."""
    answer = company.patch(AGENT, {"name": "New"}, tag_of(company.get(AGENT)), repeatable())
    record(answer)
    company.office.begin_load(company.stored, "itemsExt", [{"number": "I9"}])
    company.catch_up("contactsExt")

    out = pair.copied("--company", company.id)

    assert out == (
        f"Tannhof Holz {company.id}: {len(SAMPLES) + 1} records; "
        f"equal up to change {len(SAMPLES) + 2}\n"
    )
    pair.assert_same(company)
    tables = build_tables(MODEL).metadata.tables
    count = "SELECT count(*) FROM \"{}\" WHERE company_id = '{}'"
    empty = [
        each for each in tables if asked(pair.urls[0], count.format(each, company.id)) == [(0,)]
    ]
    assert empty == ["copies"], "the test itself needs a row in every table"
    assert asked(pair.urls[1], count.format("copies", company.id)) == [(0,)]


def test_a_tag_and_the_answers_stay_what_they_were(pair: Pair, company: Company) -> None:
    stale = tag_of(company.get(CONTACT))
    current = tag_of(company.patch(CONTACT, {"city": "Wien"}, stale))
    pair.copied()
    there = pair.there(company)

    refusal(there.patch(CONTACT, {"city": "Linz"}, stale), "Request_EntityChanged")
    changed = there.patch(CONTACT, {"city": "Linz"}, current)

    assert record(changed)["city"] == "Linz"
    before, after = company.changes(), there.changes()
    assert after[:-1] == before
    assert after[-1].number == before[-1].number + 1
    for resource in SAMPLES:
        mine, others = (each.listed(resource) for each in (company, there))
        if resource != "contactsExt":
            assert mine == others


def test_a_write_that_was_done_in_the_source_is_not_done_again(
    pair: Pair, company: Company
) -> None:
    headers = repeatable(If_Match=tag_of(company.get(AGENT)))
    first = company.patch(AGENT, {"name": "New"}, headers=headers)
    pair.copied()
    there = pair.there(company)

    again = there.patch(AGENT, {"name": "New"}, headers=headers)

    assert essence(again) == essence(first)
    assert there.changes() == company.changes()


def test_an_interrupted_load_goes_on_in_the_target(pair: Pair, company: Company) -> None:
    digest = company.office.begin_load(company.stored, "itemsExt", [{"number": "I8"}])
    pair.copied()

    assert pair.target.office.load_mark(company.stored, "itemsExt", digest) == 1


def test_passwords_go_along(pair: Pair, company: Company) -> None:
    pair.copied()
    path = f"{CONTACT}/onlinePassword"
    assert record(pair.there(company).get(path))["value"] == record(company.get(path))["value"]


def test_searches_find_what_was_copied_before_and_behind_their_index(
    pair: Pair, company: Company
) -> None:
    company.catch_up("contactsExt")
    pair.copied()
    there = pair.there(company)
    found = company.listed("contactsExt", {"$search": "annette"})

    assert len(found) == 1
    assert there.search_lag("contactsExt") == len(company.changes())
    assert there.listed("contactsExt", {"$search": "annette"}) == found
    there.catch_up("contactsExt")
    assert there.listed("contactsExt", {"$search": "annette"}) == found


def test_all_companies_are_copied_unless_some_are_named(pair: Pair, company: Company) -> None:
    other = pair.source.new_company("Other")
    third = pair.source.new_company("Third")

    assert pair.copied("--company", third.id.upper(), "--company", third.id).splitlines() == [
        f"Third {third.id}: 0 records; equal up to change 0"
    ]
    assert pair.copied().splitlines() == [
        f"Other {other.id}: 0 records; equal up to change 0",
        f"Tannhof Holz {company.id}: {len(SAMPLES)} records; equal up to change {len(SAMPLES)}",
        f"Third {third.id}: 0 records, all of them there before; equal up to change 0",
    ]
    listed = [pair.command.done("company", "list", "--database", each).out for each in pair.urls]
    assert listed[0] == listed[1]


def test_other_companies_of_the_target_are_left_alone(pair: Pair, company: Company) -> None:
    other = stock(pair.target.new_company("Other"))
    before = other.changes()

    pair.copied()

    assert other.changes() == before
    record(other.get(AGENT))


def test_a_company_may_return(pair: Pair, company: Company) -> None:
    """Its records have gone on meanwhile: what was is a part of what is, and stays refused."""
    pair.copied()
    there = pair.there(company)
    there.patch(AGENT, {"name": "New"}, "*")
    back = pair.command.here("copy", "--from", pair.urls[1], "--to", pair.urls[0])

    assert back.status == 0, back.err
    assert "1 changes followed" in back.out
    assert company.changes() == there.changes()
