"""`comptoir check`: compare the stored JSON of records with their columns."""

from collections.abc import Sequence
from contextlib import aclosing
from typing import Annotated

import typer

from comptoir.catalog import MODEL
from comptoir.cli import options
from comptoir.cli.company import company_names
from comptoir.cli.runner import (
    database_settings,
    known_company,
    need_database,
    opened,
    progress_bar,
    run,
)
from comptoir.config import Settings, environment_name
from comptoir.transfer.check import Checker, CheckReport


def check(
    *,
    company: Annotated[
        list[str] | None,
        typer.Option(
            "--company",
            metavar="GUID",
            envvar=environment_name("company"),
            help="A company to check. May be repeated; by default, all companies.",
            show_default=False,
        ),
    ] = None,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            envvar=environment_name("repair"),
            help="Store wrong and outdated JSON again, from the columns.",
        ),
    ] = False,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Compare the stored JSON of all records with their columns, and repair it.

    Services send JSON without reading the columns. JSON is wrong if they differ, and the exit
    status is 1 if it is not repaired. JSON that is missing, or that the service knows to be
    outdated, only makes reads slower. A repair changes neither entity tags nor the change log.
    Services may be running. After an interrupt, the same command resumes.
    """
    settings = database_settings(database, config)
    wanted = options.guids(company)
    need_database(settings)
    reports = run(lambda: _check(settings, wanted, repairs=repair), resumes=repair)
    total = CheckReport(
        records=sum(each.records for each in reports),
        wrong=sum(each.wrong for each in reports),
        outdated=sum(each.outdated for each in reports),
    )
    typer.echo(f"total: {_summary(total, repairs=repair)}")
    if total.wrong and not repair:
        raise typer.Exit(1)


async def _check(settings: Settings, wanted: Sequence[str], *, repairs: bool) -> list[CheckReport]:
    reports: list[CheckReport] = []
    async with opened(settings) as store:
        names = await company_names(store)
        for company in [await known_company(store, each) for each in wanted or names]:
            name = f"{names[company.id]} {company.id}"
            with progress_bar(name) as progress:
                checker = Checker(store, company, progress, repairs=repairs)
                async with aclosing(checker.check(MODEL.stored)) as checked:
                    async for entity_set, report in checked:
                        reports.append(report)
                        if report.wrong or report.outdated:
                            found = _summary(report, repairs=repairs)
                            typer.echo(f"{name}: {entity_set.name}: {found}{_keys(report)}")
    return reports


def _summary(report: CheckReport, *, repairs: bool) -> str:
    """The counts of a report in words."""
    counted = f"{report.records} records, {report.wrong} wrong, {report.outdated} outdated"
    return f"{counted}; repaired" if repairs and (report.wrong or report.outdated) else counted


def _keys(report: CheckReport) -> str:
    """The keys of the first records with wrong JSON, in words."""
    if not report.wrong:
        return ""
    more = ", …" if report.wrong > len(report.wrong_keys) else ""
    return f"; wrong: {', '.join(map(str, report.wrong_keys))}{more}"
