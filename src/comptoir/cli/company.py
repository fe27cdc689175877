"""`comptoir company`: create, list and delete companies; renew them after a restore."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated
from uuid import uuid4

import typer

from comptoir.catalog import MODEL
from comptoir.cli import options
from comptoir.cli.help import Command, Group
from comptoir.cli.runner import (
    database_settings,
    known_company,
    need_database,
    no_company,
    opened,
    progress_bar,
    run,
    warn,
)
from comptoir.config import Settings
from comptoir.edm.model import Company as KnownCompany
from comptoir.edm.types import TEXT, ValueFault
from comptoir.errors import OperatorError
from comptoir.store.company_names import warnings_of
from comptoir.store.migration import make_ready
from comptoir.store.store import COMPANY_CACHE_SECONDS, Store
from comptoir.transfer.steps import deletable, delete_companies, is_unfinished

app = typer.Typer(
    name="company",
    help="Create, list, renew and delete companies. Every record belongs to one.",
    cls=Group,
    rich_markup_mode=None,
    add_completion=False,
)


@app.command(cls=Command)
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The company's name.")],
    *,
    company_id: Annotated[
        str | None,
        typer.Option("--id", metavar="GUID", help="The company's id; by default, a new one."),
    ] = None,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Create a company and print its id on the last line. Creates the database if missing."""
    settings = database_settings(database, config)
    checked_name(name)
    wanted = options.guid(company_id) if company_id is not None else str(uuid4())
    make_ready(settings, MODEL)
    run(lambda: _create(settings, wanted, name))
    typer.echo(f"{name}\n{wanted}")


@app.command("list", cls=Command)
def list_companies(*, database: options.Database = None, config: options.Config = None) -> None:
    """List the companies by name, one on each line, with the id at the end.

    Warns of each name that several companies have, as an earlier release allowed.
    """
    settings = database_settings(database, config)
    need_database(settings)
    names = run(lambda: _all_names(settings))
    for company_id, name in names.items():
        typer.echo(f"{name} {company_id}")
    for warning in warnings_of(names):
        warn(warning)


@app.command(cls=Command)
def renew(
    company_ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID…", help="The companies' ids, as `comptoir company list` prints them."
        ),
    ] = None,
    *,
    every: Annotated[
        bool,
        typer.Option("--all", help="Renew all companies of the database."),
    ] = False,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Invalidate the entity tags, delta links and Consistency-Tokens of companies.

    Run it immediately after you restore a backup, or promote a standby that may have lost changes.
    The numbers of lost changes are used again, so entity tags that clients have from them would
    match other contents. Records and the change log do not change. Services may be running.
    """
    settings = database_settings(database, config)
    wanted = options.guids(company_ids)
    if bool(wanted) == every:
        raise OperatorError(
            "a renewal needs either ids or --all",
            "Name the companies, or use --all for all of them.",
        )
    need_database(settings)
    run(lambda: _renew(settings, wanted))


@app.command(cls=Command)
def delete(
    company_ids: Annotated[
        list[str],
        typer.Argument(
            metavar="ID…", help="The companies' ids, as `comptoir company list` prints them."
        ),
    ],
    *,
    yes: Annotated[
        bool,
        typer.Option("--yes", help="Delete without a confirmation."),
    ] = False,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Delete companies with all their data. Only a backup can restore them.

    The command asks for each company's name. Services may be running: clients get 404 before the
    first record is deleted. After an interrupt, the same command resumes.
    """
    settings = database_settings(database, config)
    wanted = options.guids(company_ids)
    need_database(settings)
    names = run(lambda: _names(settings, wanted))
    if not yes:
        for company_id in wanted:
            _confirm(company_id, names.get(company_id))
    run(lambda: _delete(settings, wanted), resumes=True)
    for company_id in wanted:
        typer.echo(f"{names.get(company_id, '')} {company_id}: deleted".lstrip())


def checked_name(name: str) -> None:
    """Raise `OperatorError` for an invalid company name."""
    try:
        TEXT.from_text(name)
    except ValueFault as fault:
        raise OperatorError(f"the company's name {fault.problem}", fault.remedy) from None
    if not name.strip() or not name.isprintable():
        raise OperatorError(
            "the company's name is blank or not printable", "Choose a name of printable characters."
        )


async def new_company(store: Store, company_id: str, name: str) -> KnownCompany:
    """Create a company; raises `OperatorError` if the id or the name is in use."""
    if await store.company(company_id) is not None:
        raise OperatorError(f"the company {company_id} already exists", "Choose another id.")
    return await store.create_company(company_id, name)


async def _create(settings: Settings, company_id: str, name: str) -> None:
    async with opened(settings) as store:
        await new_company(store, company_id, name)


async def _renew(settings: Settings, wanted: Sequence[str]) -> None:
    async with opened(settings) as store:
        for company_id in wanted:
            await known_company(store, company_id)
        names = await store.company_names()
        for company_id in wanted or names:
            number = await store.renew(company_id)
            typer.echo(f"{names[company_id]} {company_id}: renewed after change {number}")
        # after this time, no service uses the earlier incarnations
        await asyncio.sleep(COMPANY_CACHE_SECONDS)


async def _names(settings: Settings, wanted: Sequence[str]) -> Mapping[str, str]:
    """The names of companies by id, except those whose deletion is unfinished.

    Raises `OperatorError` for an unknown id, unless an interrupted command has already deleted a
    part of the companies.
    """
    async with opened(settings) as store:
        missing = [each for each in wanted if not await deletable(store, each)]
        if missing and not any([await is_unfinished(store, each) for each in wanted]):
            raise no_company(missing[0])
        return await store.company_names()


def _confirm(company_id: str, name: str | None) -> None:
    """Ask for a company's name, or its id if its row is deleted; raises `OperatorError`."""
    if not sys.stdin.isatty():
        raise OperatorError(
            "a deletion can be confirmed only in a terminal",
            "Use --yes to delete without a confirmation.",
        )
    expected, what = (company_id, "id") if name is None else (name, "name")
    state = ", whose deletion or copy is unfinished," if name is None else ""
    question = f"Delete {name or ''} {company_id}{state} permanently? Type its {what}"
    typer.echo(f"{' '.join(question.split())}: ", nl=False, err=True)
    if sys.stdin.readline().strip() != expected.strip():
        raise OperatorError(
            f"this is not the {what} of the company", "Nothing was deleted; run the command again."
        )


async def _delete(settings: Settings, wanted: Sequence[str]) -> None:
    async with opened(settings) as store:
        with progress_bar("companies") as progress:
            await delete_companies(store, wanted, progress)


async def _all_names(settings: Settings) -> Mapping[str, str]:
    async with opened(settings) as store:
        return await store.company_names()
