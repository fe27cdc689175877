"""`comptoir company`: create, list, rename and delete companies; renew them after a restore."""

import asyncio
from collections.abc import Mapping, Sequence
from uuid import uuid4

import click

from comptoir.auth.fields import guid, guids
from comptoir.cli.options import YES, checked, settings_options
from comptoir.cli.runner import (
    answer,
    known_company,
    need_database,
    ready_model,
    shown_progress,
    store_command,
    use_store,
    warn,
)
from comptoir.config import Settings
from comptoir.edm.model import Company as KnownCompany
from comptoir.edm.types import TEXT, EdmError
from comptoir.errors import operator_rows as problems
from comptoir.store.company_names import warnings_of
from comptoir.store.company_steps import delete_companies, not_deletable, rename_company
from comptoir.store.store import COMPANY_CACHE_SECONDS, Store

IDS = "The companies' ids, as `comptoir company list` prints them."


@click.group()
def company() -> None:
    """Create, list, rename, renew and delete companies. Every record belongs to one."""


@company.command()
@click.argument("name", metavar="NAME", help="The company's name.")
@click.option(
    "--id",
    "company_id",
    metavar="GUID",
    callback=checked(guid),
    help="The company's id; by default, a new one.",
)
@settings_options("database")
def create(settings: Settings, name: str, company_id: str | None) -> None:
    """Create a company and print its id on the last line. Creates the database if missing."""
    checked_name(name)
    wanted = company_id or str(uuid4())
    model = ready_model(settings)
    use_store(settings, lambda store: new_company(store, wanted, name), model)
    click.echo(f"{name}\n{wanted}")


@company.command("list")
@store_command
async def list_companies(store: Store) -> None:
    """List the companies by name, one on each line, with the id at the end.

    Warns of each name that several companies have, as an earlier release allowed.
    """
    names = await store.company_names()
    for company_id, name in names.items():
        click.echo(f"{name} {company_id}")
    for warning in warnings_of(names):
        warn(warning)


@company.command()
@click.argument("company_id", metavar="ID", callback=checked(guid), help="The company's id.")
@click.argument("name", metavar="NAME", help="The company's new name.")
@store_command
async def rename(store: Store, company_id: str, name: str) -> None:
    """Give a company another name, `displayName` included.

    Services may be running. When the command has ended, they know the company by its new name
    alone. The company's entity tag changes, those of its records do not.
    """
    checked_name(name)
    former = await rename_company(store, company_id, name, by="comptoir company rename")
    # after this time, no service uses the former name
    await asyncio.sleep(COMPANY_CACHE_SECONDS)
    click.echo(f"{name} {company_id}: renamed from {former}")


@company.command()
@click.argument("wanted", metavar="ID…", nargs=-1, callback=checked(guids), help=IDS)
@click.option("--all", "every", is_flag=True, help="Renew all companies of the database.")
@store_command
async def renew(store: Store, wanted: Sequence[str] | None, every: bool) -> None:
    """Invalidate the entity tags, delta links and Consistency-Tokens of companies.

    Run it immediately after you restore a backup, or promote a standby that may have lost changes.
    The numbers of lost changes are used again, so entity tags that clients have from them would
    match other contents. Records and the change log do not change. Services may be running.
    """
    if bool(wanted) == every:
        raise problems.NOTHING_TO_RENEW()
    for company_id in wanted or ():
        await known_company(store, company_id)
    names = await store.company_names()
    for company_id in wanted or names:
        number = await store.renew(company_id)
        click.echo(f"{names[company_id]} {company_id}: renewed after change {number}")
    # after this time, no service uses the earlier incarnations
    await asyncio.sleep(COMPANY_CACHE_SECONDS)


@company.command()
@click.argument("wanted", metavar="ID…", nargs=-1, required=True, callback=checked(guids), help=IDS)
@YES
@settings_options("database")
def delete(settings: Settings, wanted: Sequence[str], yes: bool) -> None:
    """Delete companies with all their data. Only a backup can restore them.

    The command asks for each company's name. Services may be running: clients get 404 before the
    first record is deleted. After an interrupt, the same command resumes.
    """
    model = need_database(settings)
    names = use_store(settings, lambda store: _names(store, wanted), model)
    if not yes:
        for company_id in wanted:
            _confirm(company_id, names.get(company_id))
    with shown_progress() as show:
        use_store(
            settings, lambda store: delete_companies(store, wanted, show), model, resumes=True
        )
    for company_id in wanted:
        click.echo(f"{names.get(company_id, '')} {company_id}: deleted".lstrip())


def checked_name(name: str) -> None:
    """Raise `OperatorError` for an invalid company name."""
    try:
        TEXT.from_text(name)
    except EdmError as error:
        raise problems.INVALID_COMPANY_NAME(error=error) from None
    if not name.strip() or not name.isprintable():
        raise problems.UNPRINTABLE_COMPANY_NAME()


async def new_company(store: Store, company_id: str, name: str) -> KnownCompany:
    """Create a company; raises `OperatorError` if the id or the name is in use."""
    if await store.company(company_id) is not None:
        raise problems.COMPANY_EXISTS(id=company_id)
    return await store.create_company(company_id, name)


async def _names(store: Store, wanted: Sequence[str]) -> Mapping[str, str]:
    """The names of companies by id, except those whose deletion is unfinished.

    Raises `OperatorError` for an unknown id, unless an interrupted command has already deleted a
    part of the companies.
    """
    for company_id in await not_deletable(store, wanted):
        raise problems.NO_COMPANY(id=company_id)
    return await store.company_names()


def _confirm(company_id: str, name: str | None) -> None:
    """Ask for a company's name, or its id if its row is deleted; raises `OperatorError`."""
    expected, what = (company_id, "id") if name is None else (name, "name")
    state = ", whose deletion or copy is unfinished," if name is None else ""
    question = f"Delete {name or ''} {company_id}{state} permanently? Type its {what}"
    question = f"{' '.join(question.split())}: "
    if answer(question, noun="deletion", verb="delete") != expected.strip():
        raise problems.DELETION_NOT_CONFIRMED(what=what)
