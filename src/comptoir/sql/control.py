"""The control tables, which belong to no company: clients, roles, sessions, the audit log.

Their metadata is separate from that of `build_tables`, whose tables are copied, deleted and
distributed by company.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    delete,
    func,
    select,
    tuple_,
    update,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.type_api import TypeEngine

from comptoir.sql.column_types import text
from comptoir.sql.prepared import Query, constant, named, prepare, prepare_insert, query_of

ENDED_AT_ONCE = 100
"""The most ended assertions that are deleted when one is added."""


@dataclass(frozen=True, eq=False, slots=True)
class ControlTables:
    """The control tables; `control` has one row, whose version every change raises."""

    metadata: MetaData
    control: Table
    clients: Table
    client_secrets: Table
    roles: Table

    revoked: Table
    """The ids of tokens that were revoked, until their end in epoch seconds."""

    issuers: Table
    """Outside issuers; the document has the terms of their tokens."""

    client_keys: Table
    """The public keys of clients as JWK, until their end in epoch seconds.

    `x5t` and `x5t_s256` are the thumbprints of a certificate, blank for a key without one.
    """

    assertions: Table
    """The ids of the assertions that clients have used, until their end in epoch seconds."""

    subscribed: Table
    """The companies that may have subscriptions; only their change logs are followed.

    `since` is the time in epoch seconds at which the last subscription was about to be added.
    """

    rehearsal: Table
    """Not used: earlier releases stored here what the processes of a service with faults shared."""

    console_codes: Table
    """The codes that begin sessions of the console, by the SHA-256 of each."""

    console_sessions: Table
    """The sessions of the console, by the SHA-256 of each one's secret. Times: epoch seconds."""

    console_guesses: Table
    """Not used: earlier releases stored here the failed logins of the last minute."""

    audit: Table
    """The audit log, numbered without gaps under the lock of the row of `control`."""


@cache
def control_tables() -> ControlTables:
    """Declare the control tables."""
    metadata = MetaData()
    number, any_text, instant = BigInteger(), text(), text(24)
    tables = ControlTables(
        metadata,
        control=_table(metadata, "control", 1, version=number),
        clients=_table(
            metadata,
            "clients",
            1,
            id=text(36),
            name=any_text,
            scopes=any_text,
            roles=any_text,
            companies=any_text,
            rate=any_text,
            quota=number,
            state=any_text,
            created_at=instant,
            not_before=number,
        ),
        client_secrets=_table(
            metadata,
            "client_secrets",
            2,
            client=text(36),
            id=text(16),
            digest=text(64),
            hint=text(8),
            created_at=instant,
            expires_at=number,
            used_at=number,
        ),
        roles=_table(metadata, "roles", 1, name=text(64), document=any_text),
        revoked=_table(metadata, "revoked", 1, jti=text(255), expires_at=number),
        issuers=_table(metadata, "issuers", 1, name=text(64), url=any_text, document=any_text),
        client_keys=_table(
            metadata,
            "client_keys",
            2,
            client=text(36),
            kid=text(64),
            jwk=any_text,
            x5t=text(32),
            x5t_s256=text(48),
            expires_at=number,
        ),
        assertions=_table(
            metadata, "assertions", 2, client=text(36), jti=text(255), expires_at=number
        ),
        subscribed=_table(metadata, "subscribed", 1, company=text(36), since=number),
        rehearsal=_table(metadata, "rehearsal", 1, version=number, document=any_text),
        console_codes=_login_table(metadata, "console_codes", "expires_at", "used_at"),
        console_sessions=_login_table(
            metadata, "console_sessions", "created_at", "seen_at", "expires_at"
        ),
        console_guesses=_guess_table(metadata, "console_guesses"),
        audit=_table(
            metadata,
            "audit",
            1,
            number=number,
            at=instant,
            by=any_text,
            address=any_text,
            request=any_text,
            act=any_text,
            target=any_text,
            detail=any_text,
        ),
    )
    Index("ix_assertions_expires_at", tables.assertions.c.expires_at)
    Index("ix_console_guesses_network", tables.console_guesses.c.network)
    Index("ix_revoked_expires_at", tables.revoked.c.expires_at)
    Index("ux_clients_name", tables.clients.c["name"], unique=True)
    Index("ux_issuers_url", tables.issuers.c.url, unique=True)
    return tables


def _login_table(metadata: MetaData, name: str, /, *times: str) -> Table:
    """A table of logins by their digests, with times in epoch seconds."""
    return _table(
        metadata,
        name,
        1,
        digest=text(64),
        subject=text(),
        role=text(),
        companies=text(),
        **{each: BigInteger() for each in times},
    )


def _guess_table(metadata: MetaData, name: str) -> Table:
    """A table of failed logins."""
    number = BigInteger()
    table = _table(metadata, name, 1, number=number, network=text(64), at=number)
    # programs of revision 0011 add wrong codes without it
    table.append_column(Column("issuer", text(), nullable=False, server_default=""))
    return table


def _table(
    metadata: MetaData, name: str, key: int, /, **columns: TypeEngine[str] | TypeEngine[int]
) -> Table:
    """A table whose first `key` columns are its key."""
    return Table(
        name,
        metadata,
        *[
            Column(each, column_type, nullable=False, autoincrement=False)
            for each, column_type in columns.items()
        ],
        PrimaryKeyConstraint(*list(columns)[:key], name=f"pk_{name}"),
    )


class ControlStatements:
    """Frequent statements, prepared; the others are compiled where they are used (`query`).

    Each docstring ends with the values to bind, in order.
    """

    def __init__(self, dialect: Dialect) -> None:
        tables = control_tables()
        version, sessions = tables.control.c.version, tables.console_sessions
        subscribed = tables.subscribed.c
        self._dialect = dialect

        self.version = prepare(select(version), dialect)
        """The version of the control tables."""

        self.raise_version = prepare(
            update(tables.control).values(version=version + constant(1)), dialect
        )
        """Raise the version, and lock it until the end of the transaction."""

        self.lock_version = prepare(select(version).with_for_update(), dialect)
        """Lock the version until the end of the transaction."""

        self.subscribed = prepare(
            select(subscribed.company, subscribed.since).order_by(subscribed.company), dialect
        )
        """The companies that may have subscriptions, and since when."""

        self.session = prepare(
            select(*sessions.columns).where(sessions.c.digest == named("digest")),
            dialect,
            ("digest",),
        )
        """A session: digest."""

        self.last_audited = prepare(
            select(func.coalesce(func.max(tables.audit.c.number), constant(0))), dialect
        )
        """The number of the last entry of the audit log, 0 without one."""

        self.add_audited = prepare_insert(tables.audit, _names(tables.audit), dialect)
        """Add an entry: number, time, by, address, request, act, target, detail."""

        self._prepare_assertions(tables.assertions, dialect)

    def query(self, statement: ClauseElement) -> Query:
        """Compile a statement that is rarely needed, with the values in it."""
        return query_of(statement, self._dialect)

    def _prepare_assertions(self, assertions: Table, dialect: Dialect) -> None:
        self.add_assertion = prepare_insert(assertions, _names(assertions), dialect)
        """Add a used assertion: client, id, end in epoch seconds."""

        key = (assertions.c.client, assertions.c.jti)
        ended = (
            select(*key)
            .where(assertions.c.expires_at < named("now"))
            .order_by(assertions.c.expires_at)
            .limit(constant(ENDED_AT_ONCE))
            .offset(constant(0))
        )
        self.drop_ended_assertions = prepare(
            delete(assertions).where(tuple_(*key).in_(ended)), dialect, ("now",)
        )
        """Delete some assertions that ended before a time: epoch seconds."""


@cache
def control_statements(dialect: Dialect) -> ControlStatements:
    """The statements over the control tables in a dialect, compiled once for all stores."""
    return ControlStatements(dialect)


def _names(table: Table) -> Sequence[str]:
    return [column.name for column in table.columns]
