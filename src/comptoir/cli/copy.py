"""`comptoir copy`: move companies from one database to another."""

from collections.abc import Sequence
from typing import Annotated

import typer

from comptoir.catalog import MODEL
from comptoir.cli import options
from comptoir.cli.company import all_companies
from comptoir.cli.report import bar, tell_copy
from comptoir.cli.running import (
    database_settings,
    known_company,
    need_database,
    opened,
    run,
)
from comptoir.config import Settings, environment_name
from comptoir.errors import OperatorError
from comptoir.transfer.copy import Copier


def copy(
    *,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="URL",
            envvar=environment_name("from"),
            help="The database that the companies are in: `sqlite:///PATH` or "
            "`postgresql://USER@HOST/NAME`.",
        ),
    ],
    target: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="URL",
            envvar=environment_name("to"),
            help="The database that they are copied to, which must have the current schema.",
        ),
    ],
    company: Annotated[
        list[str] | None,
        typer.Option(
            "--company",
            metavar="GUID",
            envvar=environment_name("company"),
            help="A company to copy; may be given again; by default every company.",
            show_default=False,
        ),
    ] = None,
    anew: Annotated[
        bool,
        typer.Option(
            "--anew",
            envvar=environment_name("anew"),
            help="Drop what an unfinished copy has left in the target, and begin again.",
        ),
    ] = False,
    config: options.Config = None,
) -> None:
    """Copy companies to another database: records with their ids and tags, and the change log.

    A company is compared row by row in the end, and only then seen in the target. Interrupted, the
    same command goes on. The source may be in use, but for the end: stop what writes there, and
    give the command again until it ends well.
    """
    here, there = (database_settings(each, config) for each in (source, target))
    wanted = list(dict.fromkeys([options.guid(each) for each in company or ()]))
    if here.database == there.database:
        raise OperatorError("the source and the target are the same. Name another one with --to.")
    for settings in (here, there):
        need_database(settings)
    run(lambda: _copy(here, there, wanted, anew=anew), resumes=True)


async def _copy(here: Settings, there: Settings, wanted: Sequence[str], *, anew: bool) -> None:
    async with opened(here) as source, opened(there) as target:
        named = {company_id: name for name, company_id in await all_companies(source)}
        companies = [await known_company(source, each) for each in wanted or named]
        with bar("companies") as listener:
            copier = Copier(MODEL, source, target, listener)
            for each in companies:
                await copier.check(each, anew=anew)
            for each in companies:
                tell_copy(f"{named[each.id]} {each.id}", await copier.copy(each, anew=anew))
