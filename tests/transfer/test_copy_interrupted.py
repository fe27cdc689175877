"""The same command resumes an interrupted copy; until its end, the company is invisible."""

import signal
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from comptoir.catalog import MODEL
from comptoir.errors.refusal import OperatorError, Refusal
from comptoir.store.store import SLICE_ROWS
from conftest import stock
from support.command import Command
from support.companies import Company
from support.databases import FreshDatabase, migrated
from support.postgres import Postgres
from support.samples import SAMPLES
from support.service import Service
from support.waiting import until
from transfer.conftest import ON_ONE_PAIR, PAIRS, STEP_ROWS
from transfer.two_databases import TwoDatabases

RESUMES = b"comptoir: interrupted. The same command resumes.\n"
STAGES = (
    "copying changes",
    *(f"copying {each.name}" for each in MODEL.stored[::3]),
    "comparing changes",
    f"comparing {MODEL.stored[-1].name}",
    "finishing",
)
"""Steps of each kind, in their order."""


@pytest.fixture(scope="module")
def mortal() -> Iterator[Postgres]:
    """A PostgreSQL that may be killed."""
    with Postgres() as server:
        yield server


def load_customers(company: Company, step: int) -> int:
    """Load as many records as three steps have; returns their number."""
    many = 2 * step + 1
    company.load("customersExt", *({"number": f"C{at}"} for at in range(many)))
    return many


@pytest.mark.parametrize("pair", PAIRS[:1], ids="-to-".join, indirect=True)
def test_a_copy_resumes_from_every_stage(pair: TwoDatabases, company: Company) -> None:
    """Each run gets further than the run before; the id is reserved."""
    named = ("--id", company.id, "--database", pair.urls[1])
    for stage in STAGES:
        pair.stopped_at(company, stage)
        assert not pair.is_seen(company)
        if stage in (STAGES[0], STAGES[-1]):
            error = pair.command.error("company", "create", "Other", *named)
            assert f"The company {company.id} is being copied, or its copy was" in error
            error = pair.command.error("company", "rename", company.id, "New", *named[2:])
            assert f"the copy or the deletion of the company {company.id} is unfin" in error
    pair.attempt(company)
    assert pair.is_seen(company)
    pair.assert_same(company)


@ON_ONE_PAIR
def test_nothing_is_copied_twice(pair: TwoDatabases, company: Company, small_steps: None) -> None:
    many = load_customers(company, STEP_ROWS)
    pair.stopped_at(company, "copying customersExt", times=2)
    assert pair.copied_so_far(company, "customersExt") == 2 * STEP_ROWS

    out = pair.copied(company)

    order = [each.name for each in MODEL.stored]
    before = 2 * STEP_ROWS + order.index("customersExt")
    assert f"{many + len(SAMPLES)} records, {before} of them there before; equal" in out
    pair.assert_same(company)


def test_the_later_of_two_simultaneous_copies_continues(
    pair: TwoDatabases, company: Company
) -> None:
    with pytest.raises(OperatorError, match="another command copies the company"):
        pair.during(company, lambda: pair.overtake(company), "copying contactsExt")
    pair.assert_same(company)


@pytest.mark.parametrize(
    ("pair", "number"),
    [(("postgres", "sqlite"), signal.SIGTERM), (("sqlite", "postgres"), signal.SIGKILL)],
    indirect=["pair"],
)
def test_a_killed_command_resumes(pair: TwoDatabases, company: Company, number: int) -> None:
    load_customers(company, SLICE_ROWS)
    source, target = pair.urls
    arguments = ("copy", "--from", source, "--to", target, "--company", company.id)
    with pair.command.started(*arguments) as process:
        until(lambda: pair.copied_so_far(company, "customersExt") or None, "copied customers")
        process.send_signal(number)
        assert process.wait() == (-number if number == signal.SIGKILL else 128 + number)
        assert process.stderr is not None
        said = process.stderr.read()
    assert said == (b"" if number == signal.SIGKILL else RESUMES)
    assert not pair.is_seen(company)

    assert "of them there before" in pair.copied(company)
    pair.assert_same(company)


@pytest.mark.parametrize("dies", ["source", "target"])
def test_a_copy_resumes_after_a_kill_of_the_database(
    dies: str, command: Command, mortal: Postgres, fresh_sqlite: FreshDatabase, small_steps: None
) -> None:
    url = migrated(mortal)
    fresh = dict.fromkeys(("source", "target"), fresh_sqlite) | {dies: lambda *_: url}
    with ExitStack() as used:
        services: list[Service] = []
        for side in ("source", "target"):
            (command.folder / side).mkdir()
            services.append(used.enter_context(Service(fresh[side], command.folder / side)))
        pair = used.enter_context(TwoDatabases(command, *services))
        company = stock(pair.source.new_company())
        load_customers(company, STEP_ROWS)
        with pytest.raises(Refusal) as refused:
            pair.during(company, mortal.kill, "copying customersExt")
        assert refused.value.error.status == 503
        mortal.start()

        assert "of them there before" in pair.copied(company)
        pair.assert_same(company)
