"""`comptoir copy`: the copy of a company is equal, with tags and change log."""

import filecmp
import tracemalloc
from pathlib import Path

import pytest

from conftest import stock
from support.client import record, tag_of
from support.companies import Company
from support.refusals import refusal
from support.repeats import essence, repeatable
from support.samples import CONTACT as CONTACT_ID
from support.samples import PATHS, SAMPLES
from support.subscriptions import subscribe
from transfer.conftest import ON_ONE_PAIR, PAIRS
from transfer.two_databases import TwoDatabases, guid, rows_of

AGENT = PATHS["shippingAgentsExt"]
CONTACT = PATHS["contactsExt"]


@pytest.mark.parametrize("pair", [*PAIRS, ("postgres", "postgres")], ids="-to-".join, indirect=True)
def test_every_row_of_every_table_is_copied(pair: TwoDatabases, company: Company) -> None:
    """Fails for a table that a copy would leave out."""
    record(company.patch(AGENT, {"name": "New"}, tag_of(company.get(AGENT)), repeatable()))
    company.admin.begin_load(company.stored, "itemsExt", [{"number": "I9"}])
    company.catch_up("contactsExt")
    subscribe(pair.urls[0], company)
    other = stock(pair.target.new_company())
    kept = rows_of(pair.urls[1], other)

    out = pair.copied(company)

    assert out == (
        f"Test & Söhne {company.id} {company.id}: {len(SAMPLES) + 1} records; "
        f"equal up to change {len(SAMPLES) + 2}\n"
    )
    pair.assert_same(company)
    empty = [table for table, rows in rows_of(pair.urls[0], company).items() if not rows]
    assert empty == ["copies"], "this test needs a row in every table"
    assert rows_of(pair.urls[1], company)["copies"] == []
    assert rows_of(pair.urls[1], other) == kept, "another company of the target"


def test_all_that_is_read_is_the_same(pair: TwoDatabases, company: Company, tmp_path: Path) -> None:
    """Responses, with passwords; the printed change log; dumps; and searches, before an index."""
    company.catch_up("contactsExt")
    pair.attempt(company)
    there = pair.there(company)

    for path in (*PATHS.values(), f"{CONTACT}/onlinePassword"):
        assert essence(there.get(path)) == essence(company.get(path))
    log, copied_log = (
        pair.command.done("changes", "--company", company.id, "--database", url).out
        for url in pair.urls
    )
    assert len(log.splitlines()) == len(SAMPLES)
    assert copied_log == log
    for side, url in zip(("source", "target"), pair.urls, strict=True):
        named = ("--company", company.id, "--database", url)
        pair.command.done("dump", *named, tmp_path / side, "--with-secrets")
    files = [path.name for path in (tmp_path / "source").iterdir()]
    assert len(files) == len(SAMPLES)
    assert (
        filecmp.cmpfiles(tmp_path / "source", tmp_path / "target", files, shallow=False)[0] == files
    )
    found = company.listed("contactsExt", {"$search": "annette"})
    assert len(found) == 1
    assert there.search_lag("contactsExt") == len(company.changes())
    assert there.listed("contactsExt", {"$search": "annette"}) == found
    there.catch_up("contactsExt")
    assert there.listed("contactsExt", {"$search": "annette"}) == found


def test_all_that_was_begun_in_the_source_continues_in_the_target(
    pair: TwoDatabases, company: Company
) -> None:
    """Updates by entity tag, delta links, repeatable writes, and an interrupted load."""
    stale = tag_of(company.get(CONTACT))
    current = tag_of(company.patch(CONTACT, {"city": "Wien"}, stale))
    headers = repeatable(If_Match=tag_of(company.get(AGENT)))
    first = company.patch(AGENT, {"name": "New"}, headers=headers)
    tracked = company.get("contactsExt", headers={"Prefer": "odata.track-changes"})
    digest = company.admin.begin_load(company.stored, "itemsExt", [{"number": "I8"}])
    pair.attempt(company)
    there = pair.there(company)

    assert pair.target.admin.load_progress(company.stored, "itemsExt", digest) == 1
    assert essence(there.patch(AGENT, {"name": "New"}, headers=headers)) == essence(first)
    refusal(there.patch(CONTACT, {"city": "Linz"}, stale), "Request_EntityChanged")
    assert there.changes() == company.changes(), "nothing is done again"
    record(there.patch(CONTACT, {"city": "Linz"}, current))
    *before, last = there.changes()
    assert before == company.changes()
    assert last.number == before[-1].number + 1
    changed = there.follow(tracked.json()["@odata.deltaLink"]).json()["value"]
    assert [(each["id"], each["city"]) for each in changed] == [(CONTACT_ID, "Linz")]


@pytest.mark.parametrize("pair", PAIRS[1:], ids="-to-".join, indirect=True)
def test_memory_does_not_grow_with_what_is_copied(
    pair: TwoDatabases, company: Company, small_steps: None
) -> None:
    """A copy of 7 million characters has few of them in memory."""
    text = "AAAA" * 25_000
    table = "ItemProductTextLongContentsExt"
    company.load(table, *({"systemId": guid(at), "base64Text": text} for at in range(70)))

    tracemalloc.start()
    try:
        report = pair.attempt(company)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert report.records == len(SAMPLES) + 70
    assert peak < 6_000_000


@ON_ONE_PAIR
def test_a_company_may_return(pair: TwoDatabases, company: Company) -> None:
    """The earlier state is a part of the later one."""
    pair.attempt(company)
    there = pair.there(company)
    record(there.patch(AGENT, {"name": "New"}, "*"))

    back = pair.command.done(
        "copy", "--from", pair.urls[1], "--to", pair.urls[0], "--company", company.id
    )

    assert "1 changes followed" in back.out
    pair.assert_same(company)


@ON_ONE_PAIR
def test_a_complete_copy_gets_a_new_name(pair: TwoDatabases, company: Company) -> None:
    pair.attempt(company)
    named = (company.id, f"New {company.id}", "--database", pair.urls[0])
    pair.command.done("company", "rename", *named)

    assert "1 changes followed" in pair.copied(company)

    pair.assert_same(company)
    there = pair.target.client.record(f"companies({company.id})")
    assert there["name"] == f"New {company.id}"


def test_all_companies_are_copied_unless_some_are_named(own_pair: TwoDatabases) -> None:
    empty = own_pair.source.new_company("Empty")
    full = stock(own_pair.source.new_company("Full"))
    third = own_pair.source.new_company("Third")

    only = own_pair.run("--company", third.id.upper(), "--company", third.id)
    every = own_pair.run()

    assert (only.status, every.status) == (0, 0)
    assert only.out == f"Third {third.id}: 0 records; equal up to change 0\n"
    assert every.out.splitlines() == [
        f"Empty {empty.id}: 0 records; equal up to change 0",
        f"Full {full.id}: {len(SAMPLES)} records; equal up to change {len(SAMPLES)}",
        f"Third {third.id}: 0 records, all of them there before; equal up to change 0",
    ]
    listed = [
        own_pair.command.done("company", "list", "--database", each).out for each in own_pair.urls
    ]
    assert listed[0] == listed[1]
    assert len(listed[0].splitlines()) == 3
