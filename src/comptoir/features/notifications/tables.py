"""The tables of subscriptions and of the progress of their deliveries, and their statements.

The lock of the company's row guards each change: a unit of work reads a row, decides, and writes
it. Prepared statements are compiled once for all stores of a process. Their docstrings end with the
values to bind, in order. A row has the columns of its table in order, without the company.
"""

from functools import cache

import sqlalchemy as sa

from comptoir.edm.types import Stored
from comptoir.sql.prepared import Prepared, constant, constant_text, named, prepare
from comptoir.sql.statements import Statements
from comptoir.sql.tables import COMPANY, COMPANY_ID, of_company, service_table, text

METADATA = sa.MetaData()
_number, _any_text = sa.BigInteger(), text()

SUBSCRIPTIONS = service_table(METADATA, "subscriptions", 1, id=text(64), owner=_any_text,
    url=_any_text, sets=_any_text, resource=_any_text, client_state=_any_text, version=_number,
    expires_at=_number, created_at=text(24), modified_at=text(24))  # fmt: skip
"""The receivers of notifications of a set; the end is in epoch seconds.

`sets` has the name of the set, and `resource` the URL of it that the client used. `owner` is the
subject of the client, and `version` the number of its ETag.
"""

LANES = service_table(METADATA, "lanes", 2, subscription=text(64), lane=_number, cursor=_number,
    tries=_number, due_at=_number, holder=text(32), leased_until=_number)  # fmt: skip
"""The progress of the deliveries of each subscription, now of one lane, 0.

`cursor` is the number of the last change that was delivered, and `tries` how many attempts after it
have failed. The next one may begin at `due_at`, on the clock of the profile. Only `holder` delivers
until `leased_until`, on the clock of the processes. Both are in epoch seconds.
"""

SUBSCRIBED = service_table(
    METADATA, "subscribed", 1, per_company=False, company=text(36), since=_number
)
"""The companies that may have subscriptions; only their change logs are followed.

`since` is the time in epoch seconds at which the last subscription was about to be added.
"""


_OF_LANE = sa.and_(of_company(LANES), LANES.c.subscription == SUBSCRIPTIONS.c.id)


@cache
def waiting_lanes(statements: Statements) -> Prepared:
    """The rows of subscriptions and of their lanes that nobody delivers now, as they were created.

    They have ended, or have changes after the cursor and may try. Bind company, time of the
    profile, time of the processes.
    """
    companies = statements.tables.companies
    may_try = sa.and_(LANES.c.cursor < companies.c.change_number, LANES.c.due_at <= named("now"))
    waiting = (
        sa.select(*_others(SUBSCRIPTIONS), *_others(LANES))
        .select_from(companies)
        .join(SUBSCRIPTIONS, of_company(SUBSCRIPTIONS))
        .join(LANES, _OF_LANE)
        .where(
            of_company(companies),
            LANES.c.leased_until <= named("real_now"),
            sa.or_(SUBSCRIPTIONS.c.expires_at <= named("now"), may_try),
        )
        .order_by(SUBSCRIPTIONS.c.created_at, SUBSCRIPTIONS.c.id)
    )
    return prepare(waiting, statements.compiler, (COMPANY, "now", "real_now"))


@cache
def undelivered_times(statements: Statements) -> Prepared:
    """The time of the first change after the cursor of each lane that has such changes: company."""
    changes = statements.tables.changes
    is_undelivered = sa.and_(
        of_company(changes),
        changes.c.number > LANES.c.cursor,
        changes.c.entity_set == SUBSCRIPTIONS.c["sets"],
    )
    undelivered = (
        sa.select(sa.func.min(changes.c["at"]))
        .select_from(SUBSCRIPTIONS)
        .join(LANES, _OF_LANE)
        .join(changes, is_undelivered)
        .where(of_company(SUBSCRIPTIONS))
        .group_by(LANES.c.subscription)
    )
    return prepare(undelivered, statements.compiler, (COMPANY,))


@cache
def tally(statements: Statements) -> Prepared:
    """The time of the last of a set's changes, blank without any, and the number of deletions.

    Bind company, entity set, number before the first, number of the last.
    """
    changes = statements.tables.changes
    deletion = sa.case((changes.c.verb == constant_text("delete"), constant(1)), else_=constant(0))
    found = sa.select(
        # the time never falls as numbers rise
        sa.func.coalesce(sa.func.max(changes.c["at"]), constant_text("")),
        sa.func.coalesce(sa.func.sum(deletion), constant(0)),
    ).where(
        of_company(changes),
        changes.c.entity_set == named("entity_set"),
        changes.c.number > named("since"),
        changes.c.number <= named("until"),
    )
    return prepare(found, statements.compiler, (COMPANY, "entity_set", "since", "until"))


def rows_of(table: sa.Table, *key: Stored) -> sa.Select[*tuple[str | int, ...]]:
    """The rows with a key, which begins with a company, or with its first values."""
    return sa.select(*_others(table)).where(*is_row(table, *key))


def is_row(table: sa.Table, *key: Stored) -> list[sa.ColumnElement[bool]]:
    """The condition on each column of a key, or on its first ones."""
    columns = table.primary_key.columns
    return [column == value for column, value in zip(columns, key, strict=False)]


def _others(table: sa.Table) -> list[sa.Column[str | int]]:
    """The columns of a table without the company."""
    return [column for column in table.columns if column.name != COMPANY_ID]
