"""`comptoir sample`, `reset` and `serve --quickstart`: the sample company, and its first state."""

import asyncio
import csv
import shlex
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import click
from msgspec.structs import replace

from comptoir.cli.company import checked_name, new_company
from comptoir.cli.options import YES, option_or_variable, settings_options
from comptoir.cli.runner import (
    answer,
    known_company,
    model_of,
    opened,
    ready_model,
    shown_progress,
    use_store,
)
from comptoir.config import Settings, environment_name
from comptoir.edm.model import Company, EntitySet, Model
from comptoir.features.samples import errors as problems
from comptoir.features.transfer.commands import find_files
from comptoir.features.transfer.files import FileSource
from comptoir.features.transfer.load import LOADED_BY, load_source
from comptoir.plan.read import Bounds, CountPlan, all_records
from comptoir.store.baselines import CompanyMark, Records, marked, restore
from comptoir.store.ledger import CREATE
from comptoir.store.migration import make_ready
from comptoir.store.snapshot import ShowProgress
from comptoir.store.store import Store

RESET_BY = "comptoir reset"
"""The author of the changes of a reset in the change log."""

_OF_TOKENS = ("keys", "token_issuer", "token_audience")
"""The settings that `comptoir token` reads."""

SAMPLE_NAME = "Comptoir Sample"
"""The default name of a sample company."""

_FOLDER = Path(__file__).parent


@click.command()
@option_or_variable("--company-name", default=SAMPLE_NAME, help="The company's name.")
@settings_options("database")
def sample(settings: Settings, company_name: str) -> None:
    """Create a sample company and print its id at the end. Creates the database if missing."""
    checked_name(company_name)
    model = ready_model(settings)
    company_id = str(uuid4())

    async def create(store: Store) -> None:
        company = await new_company(store, company_id, company_name)
        with shown_progress() as show_progress:
            await fill(store, company, show_progress)

    use_store(settings, create, model)
    click.echo(f"{company_name}\n{company_id}")


def sample_files(model: Model) -> Mapping[EntitySet, Path]:
    """The sample's files for the sets of a model, in the order in which `fill` loads them."""
    files = sorted(_FOLDER.glob("*.csv"))
    return find_files([each for each in files if _is_for(model, each)], model)


def _is_for(model: Model, path: Path) -> bool:
    """Whether a model has the set of a file with its columns, and not another one of its name."""
    entity_set = model.by_name.get(path.stem)
    if entity_set is None or entity_set.name != path.stem:
        return False
    with path.open(encoding="utf-8", newline="") as file:
        return set(next(csv.reader(file))) <= entity_set.type.by_name.keys()


async def fill(store: Store, company: Company, show_progress: ShowProgress) -> None:
    """Load the sample's files into a company; records that are equal are left unchanged."""
    for entity_set, path in sample_files(store.statements.model).items():
        report = await load_source(
            store, company, FileSource(path), entity_set, show_progress, keep_good=False
        )
        if not report.written:
            found = report.errors[0]
            raise problems.UNUSABLE_SAMPLE(
                path=path, line=found.line, column=found.column, reason=found.reason
            )


@click.command()
@YES
@settings_options("database")
def reset(settings: Settings, yes: bool) -> None:
    """Bring the sample company of `serve --quickstart` back to its first state.

    The command asks first, and touches no other company. It writes the records that differ, all or
    none, and logs these changes. So services may be running, and delta links and the ETags of
    unchanged records remain valid.
    """
    first = use_store(settings, lambda store: _first_state(settings, store))
    question = f"Undo all changes of {SAMPLE_NAME} {first.company.id}? Type yes: "
    if not yes and answer(question, noun="reset", verb="reset").lower() != "yes":
        raise problems.RESET_NOT_CONFIRMED()
    use_store(settings, lambda store: restore(store, store.statements.model, [first], RESET_BY))
    click.echo(f"{SAMPLE_NAME} {first.company.id}: restored to its first state")


async def _first_state(settings: Settings, store: Store) -> CompanyMark:
    """The sample company, and the records of a new one.

    Raises `OperatorError` unless there is one company with this name, and it began with these
    records.
    """
    company = await _named(store)
    with TemporaryDirectory(prefix="comptoir-reset-") as folder:
        model = store.statements.model
        records = await _new_records(settings, model, company, Path(folder) / "sample.db")
    wanted = [(name, str(key)) for name, rows in records.items() for key in rows]
    loaded = [
        (each.entity_set, each.record)
        for each in await store.changes(company, 0, len(wanted))
        if each.verb == CREATE and each.by == LOADED_BY
    ]
    if sorted(loaded) != sorted(wanted):
        raise problems.ANOTHER_SAMPLE(company=company.id)
    return CompanyMark(company, 0, records)


async def _named(store: Store) -> Company:
    """The only company with the name of the sample."""
    names = await store.company_names()
    found = [company_id for company_id, name in names.items() if name == SAMPLE_NAME]
    if not found:
        raise problems.NO_SAMPLE(name=SAMPLE_NAME)
    if len(found) > 1:
        raise problems.SEVERAL_SAMPLES(count=len(found), name=SAMPLE_NAME)
    return await known_company(store, found[0])


async def _new_records(
    settings: Settings, model: Model, company: Company, database: Path
) -> Records:
    """The records of a new sample, created in a database of its own."""
    apart = replace(settings, database=f"sqlite:///{database}", read_database="")
    await asyncio.to_thread(make_ready, apart, model)
    async with opened(apart, model) as store:
        new = await store.create_company(company.id, SAMPLE_NAME)
        # before the question, progress would look like that of the reset
        await fill(store, new, lambda *_: None)
        (mark,) = await marked(store, model)
    return mark.records


def prepared(settings: Settings) -> Callable[[Settings], None]:
    """Create the sample company in an up-to-date database on first use.

    Returns what prints its id, and commands to try, when the service listens.
    """
    company_id = use_store(settings, find_or_fill, model_of(settings), resumes=True)
    return partial(announce, company_id=company_id)


async def find_or_fill(store: Store) -> str:
    """The id of the sample company, which is created on first use."""
    names = await store.company_names()
    found = [each for each, name in names.items() if name == SAMPLE_NAME]
    company = await store.company(found[0]) if found else None
    if company is None:
        click.echo(f"Creating the company {SAMPLE_NAME}, on first use.")
        company = await store.create_company(str(uuid4()), SAMPLE_NAME)
    # the last table is empty if the load was interrupted, which then resumes
    files = [*sample_files(store.statements.model)]
    if files and not await store.count(CountPlan(all_records(files[-1]), Bounds(company))):
        with shown_progress() as show_progress:
            await fill(store, company, show_progress)
    return company.id


def announce(settings: Settings, company_id: str) -> None:
    """Print commands to try.

    The socket listens already, so the commands wait until the service has started.
    """
    click.echo(f"Company: {SAMPLE_NAME} {company_id}")
    click.echo("Paste this into another terminal:")
    click.echo(commands(settings, company_id))


def commands(settings: Settings, company_id: str) -> str:
    """Shell commands that get a token, list a contact and change another one, in any folder."""
    folder = Path.cwd()
    variables = [
        f"{environment_name(name)}={shlex.quote(str(getattr(settings, name)))} "
        for name in _OF_TOKENS
        if getattr(settings, name) != getattr(Settings(), name)
    ]
    here = shlex.quote(f"{settings.base_url}/companies({company_id})")
    curl = 'curl -sSw \'\\n\' -H "Authorization: Bearer $TOKEN" "$HERE'
    return f"""\
export TOKEN=$(cd {shlex.quote(str(folder))} &&
  {"".join(variables)}{_program(folder)} token)
HERE={here}
{curl}/contactsExt?\\$top=1"
{curl}/contactsExt(number='CT000001')" \\
  -X PATCH -H 'If-Match: *' -H 'Content-Type: application/json' -d '{{"city": "Bremen"}}'"""


def _program(folder: Path) -> str:
    """The command that runs this program within a folder."""
    started = Path(sys.argv[0]).absolute()
    if started.name != "comptoir":
        return f"{shlex.quote(sys.executable)} -m comptoir"
    path = started.relative_to(folder) if started.is_relative_to(folder) else started
    return shlex.quote(str(path))
