"""Copies that are refused: an error in one line, and nothing visible in the target."""

from pathlib import Path

import pytest

from comptoir.catalog import MODEL
from comptoir.errors.refusal import OperatorError
from comptoir.store.urls import redacted
from conftest import stock
from support.client import record
from support.companies import Company
from support.databases import FreshDatabase, run_sql
from support.samples import CUSTOMER, PATHS, SAMPLES
from transfer.conftest import ON_ONE_PAIR, STEP_ROWS
from transfer.two_databases import TwoDatabases

pytestmark = ON_ONE_PAIR
"""Which databases they are says nothing about what is refused."""

CONTACT = PATHS["contactsExt"]
UNKNOWN = "deadbeef-dead-4eef-8ead-deadbeefdead"


LAST = "ffffffff-ffff-4fff-8fff-ffffffffffff"
"""The last key: a missing record with it would be copied by the next attempt."""

CUSTOMERS = f"UPDATE \"customersExt\" SET {{}} WHERE id = '{CUSTOMER}'"
CHANGED = CUSTOMERS.format("city = 'Atlantis'")
TEXTS = "ItemProductTextLongContentsExt"
COLUMNS = ", ".join(f'"{name}"' for name in SAMPLES[TEXTS] if name != "systemId")

DIFFERENCES = (
    (
        f"in customersExt, the row {CUSTOMER} differs",
        CHANGED,
        CUSTOMERS.format(f"city = '{SAMPLES['customersExt']['city']}'"),
    ),
    (
        f"in customersExt, the row {CUSTOMER} differs",
        CUSTOMERS.format("record_version = record_version + 90"),
        CUSTOMERS.format("record_version = record_version - 90"),
    ),
    (
        "in changes, the row 2 is missing",
        "UPDATE changes SET number = 99 WHERE number = 2",
        "UPDATE changes SET number = 2 WHERE number = 99",
    ),
    (
        f"in {TEXTS}, the row {UNKNOWN} is missing in the source",
        (
            f'INSERT INTO "{TEXTS}" (company_id, record_version, "systemId", {COLUMNS}) '
            f"SELECT company_id, record_version, '{UNKNOWN}', {COLUMNS} FROM \"{TEXTS}\" WHERE true"
        ),
        f'DELETE FROM "{TEXTS}" WHERE "systemId" = \'{UNKNOWN}\'',
    ),
)
"""Where a copy differs, and the statements that cause and undo that."""


def test_a_copy_that_differs_is_invisible(pair: TwoDatabases, company: Company) -> None:
    """Only `--restart` copies a missing record."""
    company.load("customersExt", {"id": LAST, "number": "C2"})
    pair.stopped_at(company, "comparing")

    def tamper(statement: str) -> None:
        run_sql(pair.urls[1], f"{statement} AND company_id = '{company.id}'")

    def check(place: str) -> None:
        with pytest.raises(OperatorError) as refused:
            pair.attempt(company)
        error = str(refused.value)
        assert f"the company {company.id} differs between the target and the source" in error
        assert f"{place}. It is not visible in the target. Drop it and start again with" in error
        assert not pair.is_seen(company)

    for place, tampering, undoing in DIFFERENCES:
        tamper(tampering)
        check(place)
        tamper(undoing)
    tamper(f"DELETE FROM \"customersExt\" WHERE id = '{CUSTOMER}'")
    for _ in range(2):
        check(f"in customersExt, the row {CUSTOMER} is missing")

    assert f"{len(SAMPLES) + 1} records; equal" in pair.copied(company, "--restart")
    pair.assert_same(company)


def test_a_change_of_a_complete_copy_is_reported(pair: TwoDatabases, company: Company) -> None:
    pair.attempt(company)
    run_sql(pair.urls[1], f"{CHANGED} AND company_id = '{company.id}'")

    error = pair.error(company)

    assert f"in customersExt, the row {CUSTOMER} differs. Name another target with --to." in error
    assert pair.is_seen(company)
    assert "--restart" not in pair.error(company, "--restart")

    run_sql(pair.urls[1], f"UPDATE companies SET name = 'X' WHERE company_id = '{company.id}'")
    assert "its own row differs" in pair.error(company)


def test_a_copy_with_writes_of_its_own_is_left_alone(pair: TwoDatabases, company: Company) -> None:
    pair.attempt(company)
    there = pair.there(company)
    record(there.patch(CONTACT, {"city": "Wien"}, "*"))
    assert "is not an earlier state of the one in the source" in pair.error(company)

    record(company.patch(CONTACT, {"city": "Graz"}, "*"))
    record(company.patch(CONTACT, {"city": "Linz"}, "*"))
    for more in ((), ("--restart",)):
        assert "is not an earlier state of the one in the source" in pair.error(company, *more)
    assert there.record(CONTACT)["city"] == "Wien"
    assert len(there.changes()) == len(SAMPLES) + 1


def test_another_company_with_the_same_id_is_left_alone(
    pair: TwoDatabases, company: Company
) -> None:
    """And no other company is copied by the same command."""
    other = stock(pair.source.new_company())
    named = ("--id", company.id, "--database", pair.urls[1])
    pair.command.done("company", "create", "Other", *named)

    error = pair.error(other, "--company", company.id)

    assert f"the target already has a company {company.id}" in error
    assert pair.there(company).listed("contactsExt") == []
    assert pair.copied_so_far(other, "changes") == 0


def test_a_company_whose_name_the_target_has_is_refused(pair: TwoDatabases) -> None:
    early, late = (stock(pair.source.new_company(name)) for name in ("Früh", "Spät"))
    made = [pair.target.new_company("FRÜH").id]
    assert f"the company {made[0]} has the name 'FRÜH' already. Name another" in pair.error(early)
    assert pair.copied_so_far(early, "changes") == 0

    def take() -> None:
        named = ("company", "create", "spät", "--database", pair.urls[1])
        made.append(pair.command.run(*named).last_word)

    with pytest.raises(OperatorError, match="has the name 'spät' already"):
        pair.during(late, take, "finishing")
    assert not pair.is_seen(late)
    pair.command.done("company", "delete", made[1], "--yes", "--database", pair.urls[1])
    pair.attempt(late)
    pair.assert_same(late)


def test_only_anew_drops_an_unfinished_copy_from_another_source(
    pair: TwoDatabases, company: Company, fresh_sqlite: FreshDatabase, tmp_path: Path
) -> None:
    pair.stopped_at(company, "copying customersExt")
    url = fresh_sqlite(tmp_path, MODEL)
    pair.command.done("company", "create", "Elsewhere", "--id", company.id, "--database", url)
    copy = ("copy", "--from", url, "--to", pair.urls[1])

    assert "has an unfinished copy of a company" in pair.command.error(*copy)
    assert pair.copied_so_far(company, "customersExt") == 1
    pair.command.done(*copy, "--restart")

    assert pair.is_seen(company)
    assert pair.there(company).listed("customersExt") == []


def test_a_copy_does_not_resume_from_an_unfinished_drop(
    pair: TwoDatabases, company: Company, small_steps: None
) -> None:
    company.load("customersExt", *({"number": f"C{at}"} for at in range(STEP_ROWS + 10)))
    pair.stopped_at(company, "comparing")
    pair.stopped_at(company, "dropping customersExt", restart=True)
    assert pair.copied_so_far(company, "customersExt") == 11

    assert "or one that is being dropped" in pair.error(company)
    assert f"{len(SAMPLES) + STEP_ROWS + 10} records; equal" in pair.copied(company, "--restart")
    pair.assert_same(company)


WRONG = [
    ("--from {one}", "Missing option '--to'"),
    ("--to {one}", "Missing option '--from'"),
    ("--from {one} --to {one}", "the source and the target are the same"),
    ("--from {one} --to sqlite:///none.db", "the database none.db does not exist"),
    ("--from sqlite:///none.db --to {one}", "the database none.db does not exist"),
    ("--from {one} --to mysql://x/y", "invalid database '"),
    ("--from {one} --to {two} --company 17", "'17' is not a company's id"),
    (f"--from {{one}} --to {{two}} --company {UNKNOWN}", f"the company {UNKNOWN} does not exist"),
]


def test_a_wrong_argument_is_an_error_in_one_line(pair: TwoDatabases) -> None:
    one, two = pair.urls
    for arguments, reason in WRONG:
        assert reason in pair.command.error("copy", *arguments.format(one=one, two=two).split())
    assert not (pair.command.folder / "none.db").exists()


def test_a_target_that_is_not_migrated_is_refused(pair: TwoDatabases, postgres_url: str) -> None:
    error = pair.command.error("copy", "--from", pair.urls[0], "--to", postgres_url)

    assert "comptoir migrate" in error
    assert postgres_url not in error
    assert redacted(postgres_url) in error
