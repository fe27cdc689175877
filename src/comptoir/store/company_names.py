"""The names of companies: a company is not added with the name of another one.

Two names are the same if only their case differs. A database that an earlier release has filled may
have companies with the same name, so no index ensures this.
"""

from collections.abc import Iterable, Iterator, Mapping

from sqlalchemy import select

from comptoir.errors.messages import message, quoted
from comptoir.errors.operator_rows import OperatorRow
from comptoir.plan.read import Row
from comptoir.sql.prepared import Query, Steps
from comptoir.sql.statements import Statements
from comptoir.sql.tables import COMPANY_ID, CONTROL
from comptoir.store.unit import UnitOfWork


def names_query(statements: Statements) -> Query:
    """The statement that reads the ids and names of all companies."""
    companies = statements.tables.companies.c
    return statements.query(select(companies[COMPANY_ID], companies["name"]))


def sorted_names(rows: Iterable[Row]) -> dict[str, str]:
    """The names of companies by id, in the order of the names and ids, from rows of both."""
    by_name = sorted((str(name), str(company_id)) for company_id, name in rows)
    return {company_id: name for name, company_id in by_name}


def check_name(unit: UnitOfWork, row: OperatorRow) -> Steps[None]:
    """Raise `OperatorError` if another company has the name that the unit has given to its own."""
    # until the commit, no other process reads the names here, so it reads this one too
    yield unit.statements.query(select(CONTROL.c.version).with_for_update())
    names = sorted_names((yield names_query(unit.statements)))
    check_other(names, unit.company_id, names[unit.company_id], row)


def check_other(names: Mapping[str, str], company_id: str, name: str, row: OperatorRow) -> None:
    """Raise `OperatorError` if another company than this one has a name."""
    for other, its_name in names.items():
        if other != company_id and its_name.casefold() == name.casefold():
            raise row(company=other, name=quoted(its_name))


def warnings_of(names: Mapping[str, str]) -> Iterator[str]:
    """A warning for each name that several companies have."""
    same: dict[str, list[str]] = {}
    for company_id, name in names.items():
        same.setdefault(name.casefold(), []).append(company_id)
    for ids in same.values():
        if len(ids) > 1:
            yield message(
                f"{len(ids)} companies have the name {quoted(names[ids[0]])}: {', '.join(ids)}",
                "An address by name reaches one of them. Rename the others with "
                "`comptoir company rename`.",
            )
