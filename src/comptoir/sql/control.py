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
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    cast,
    delete,
    func,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.type_api import TypeEngine

from comptoir.sql.column_types import text
from comptoir.sql.prepared import constant, named, prepare, prepare_insert, whole

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
    """Each statement's docstring ends with the values to bind, in order."""

    def __init__(self, dialect: Dialect) -> None:
        tables = control_tables()
        version = tables.control.c.version

        self.version = prepare(select(version), dialect)
        """The version of the control tables."""

        self.raise_version = prepare(
            update(tables.control).values(version=version + constant(1)), dialect
        )
        """Raise the version, and lock it until the end of the transaction."""

        self.lock_version = prepare(select(version).with_for_update(), dialect)
        """Lock the version until the end of the transaction."""

        self._prepare_clients(tables.clients, dialect)
        self._prepare_secrets(tables.client_secrets, dialect)
        self._prepare_roles(tables.roles, dialect)
        self._prepare_revoked(tables.revoked, dialect)
        self._prepare_issuers(tables.issuers, dialect)
        self._prepare_keys(tables.client_keys, dialect)
        self._prepare_assertions(tables.assertions, dialect)
        self._prepare_subscribed(tables.subscribed, dialect)
        self._prepare_codes(tables.console_codes, dialect)
        self._prepare_sessions(tables.console_sessions, dialect)
        self._prepare_audit(tables.audit, dialect)

    def _prepare_clients(self, clients: Table, dialect: Dialect) -> None:
        is_client = clients.c.id == named("is_id")

        self.clients = prepare(select(*clients.columns).order_by(clients.c.name), dialect)
        """All clients by name."""

        self.add_client = prepare_insert(clients, _names(clients), dialect)
        """Add a client: id, name, scopes, roles, companies, rate, quota, state, time, first iat."""

        self.client_named = prepare(
            select(*clients.columns).where(clients.c.name == named("name")), dialect, ("name",)
        )
        """A client: name."""

        changing = ("scopes", "roles", "companies", "rate", "quota", "state", "not_before")
        self.set_client = prepare(
            update(clients)
            .where(is_client)
            .values({each: named(f"set_{each}") for each in changing}),
            dialect,
            ("is_id", *(f"set_{each}" for each in changing)),
        )
        """Change a client: id, scopes, roles, companies, rate, quota, state, first iat."""

        self.drop_client = prepare(delete(clients).where(is_client), dialect, ("is_id",))
        """Delete a client: id."""

    def _prepare_secrets(self, secrets: Table, dialect: Dialect) -> None:
        self.client_secrets = prepare(
            select(*secrets.columns).order_by(secrets.c.created_at, secrets.c.id), dialect
        )
        """The secrets of all clients, in the order of their creation."""

        self.add_client_secret = prepare_insert(secrets, _names(secrets), dialect)
        """Add a secret: client, id, digest, hint, time, end in epoch seconds, 0.

        Earlier releases have the last use in place of 0.
        """

        self.secret_hints = prepare(
            select(secrets.c.id, secrets.c.hint).where(secrets.c.client == named("is_client")),
            dialect,
            ("is_client",),
        )
        """The ids and first characters of a client's secrets: client."""

        self.drop_client_secret = prepare(
            delete(secrets).where(
                secrets.c.client == named("is_client"), secrets.c.id == named("is_id")
            ),
            dialect,
            ("is_client", "is_id"),
        )
        """Delete a secret: client, id."""

        self.drop_client_secrets = prepare(
            delete(secrets).where(secrets.c.client == named("is_client")), dialect, ("is_client",)
        )
        """Delete the secrets of a client: id."""

    def _prepare_roles(self, roles: Table, dialect: Dialect) -> None:
        self.roles = prepare(select(*roles.columns).order_by(roles.c.name), dialect)
        """All roles by name."""

        self.add_role = prepare_insert(roles, _names(roles), dialect)
        """Add a role: name, document."""

        self.drop_role = prepare(
            delete(roles).where(roles.c.name == named("name")), dialect, ("name",)
        )
        """Delete a role: name."""

    def _prepare_revoked(self, revoked: Table, dialect: Dialect) -> None:
        self.revoked = prepare(select(revoked.c.jti), dialect)
        """The ids of the revoked tokens."""

        self.is_revoked = prepare(
            select(revoked.c.jti).where(revoked.c.jti == named("jti")), dialect, ("jti",)
        )
        """The id of a revoked token: id."""

        self.add_revoked = prepare_insert(revoked, _names(revoked), dialect)
        """Add a revoked token: id, end in epoch seconds."""

        self.drop_revoked = prepare(
            delete(revoked).where(revoked.c.expires_at < named("now")), dialect, ("now",)
        )
        """Delete the revoked tokens that ended before a time: epoch seconds."""

    def _prepare_issuers(self, issuers: Table, dialect: Dialect) -> None:
        is_named = issuers.c.name == named("is_name")

        self.issuers = prepare(select(*issuers.columns).order_by(issuers.c.name), dialect)
        """All issuers by name."""

        self.add_issuer = prepare_insert(issuers, _names(issuers), dialect)
        """Add an issuer: name, URL, document."""

        self.set_issuer_document = prepare(
            update(issuers).where(is_named).values(document=named("set_document")),
            dialect,
            ("is_name", "set_document"),
        )
        """Replace the document of an issuer: name, document."""

        self.drop_issuer = prepare(delete(issuers).where(is_named), dialect, ("is_name",))
        """Delete an issuer: name."""

    def _prepare_keys(self, keys: Table, dialect: Dialect) -> None:
        is_client = keys.c.client == named("is_client")

        self.client_keys = prepare(
            select(*keys.columns).order_by(keys.c.expires_at, keys.c.kid), dialect
        )
        """The keys of all clients, in the order of their ends."""

        self.add_client_key = prepare_insert(keys, _names(keys), dialect)
        """Add a key: client, kid, JWK, two thumbprints, end in epoch seconds."""

        self.key_ids = prepare(select(keys.c.kid).where(is_client), dialect, ("is_client",))
        """The ids of a client's keys: client."""

        self.drop_client_key = prepare(
            delete(keys).where(is_client, keys.c.kid == named("is_kid")),
            dialect,
            ("is_client", "is_kid"),
        )
        """Delete a key: client, kid."""

        self.drop_client_keys = prepare(delete(keys).where(is_client), dialect, ("is_client",))
        """Delete the keys of a client: id."""

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

    def _prepare_subscribed(self, subscribed: Table, dialect: Dialect) -> None:
        company, since = subscribed.c.company, subscribed.c.since

        self.subscribed = prepare(select(company, since).order_by(company), dialect)
        """The companies that may have subscriptions, and since when."""

        self.add_subscribed = prepare_insert(subscribed, _names(subscribed), dialect)
        """Add a company: id, epoch seconds."""

        self.drop_subscribed = prepare(
            delete(subscribed).where(company == named("company"), since <= named("until")),
            dialect,
            ("company", "until"),
        )
        """Delete a company that was added up to a time: id, epoch seconds."""

    def _prepare_codes(self, codes: Table, dialect: Dialect) -> None:
        self.add_code = prepare_insert(codes, _names(codes), dialect)
        """Add a code: digest, subject, role, companies, end, time of use or 0."""

        self.code = prepare(
            select(*codes.columns).where(codes.c.digest == named("digest")), dialect, ("digest",)
        )
        """A code: digest."""

        self.use_code = prepare(
            update(codes).where(codes.c.digest == named("is_digest")).values(used_at=named("now")),
            dialect,
            ("is_digest", "now"),
        )
        """Note the use of a code: digest, epoch seconds."""

        self.drop_codes_of = prepare(
            delete(codes).where(codes.c.subject == named("subject")), dialect, ("subject",)
        )
        """Delete the codes of a subject: its name."""

        self.drop_ended_codes = prepare(
            delete(codes).where(codes.c.expires_at <= named("now")), dialect, ("now",)
        )
        """Delete the codes that have ended: epoch seconds."""

    def _prepare_sessions(self, sessions: Table, dialect: Dialect) -> None:
        is_digest = sessions.c.digest == named("is_digest")

        self.add_session = prepare_insert(sessions, _names(sessions), dialect)
        """Add a session: digest, subject, role, companies, time, time of last use, end."""

        self.session = prepare(select(*sessions.columns).where(is_digest), dialect, ("is_digest",))
        """A session: digest."""

        self.sessions = prepare(
            select(*sessions.columns)
            .order_by(sessions.c.seen_at.desc(), sessions.c.digest)
            .limit(whole("limit"))
            .offset(constant(0)),
            dialect,
            ("limit",),
        )
        """The sessions by their last use, the latest first: limit."""

        self.note_seen = prepare(
            update(sessions).where(is_digest).values(seen_at=named("now")),
            dialect,
            ("is_digest", "now"),
        )
        """Note the use of a session: digest, epoch seconds."""

        self.drop_session = prepare(delete(sessions).where(is_digest), dialect, ("is_digest",))
        """Delete a session: digest."""

        self.drop_sessions_of = prepare(
            delete(sessions).where(sessions.c.subject == named("subject")), dialect, ("subject",)
        )
        """Delete the sessions of a subject: its name."""

        self.drop_sessions_from = prepare(
            delete(sessions).where(
                func.substr(sessions.c.subject, constant(1), cast(whole("length"), Integer))
                == named("begin")
            ),
            dialect,
            ("length", "begin"),
        )
        """Delete the sessions of the subjects of an issuer: length of their begin, their begin."""

        self.drop_ended_sessions = prepare(
            delete(sessions).where(
                or_(sessions.c.expires_at <= named("now"), sessions.c.seen_at <= named("idle"))
            ),
            dialect,
            ("now", "idle"),
        )
        """Delete the sessions that have ended: epoch seconds, last use of one that is idle."""

    def _prepare_audit(self, audit: Table, dialect: Dialect) -> None:
        number = audit.c.number

        self.last_audited = prepare(select(func.coalesce(func.max(number), constant(0))), dialect)
        """The number of the last entry of the audit log, 0 without one."""

        self.add_audited = prepare_insert(audit, _names(audit), dialect)
        """Add an entry: number, time, by, address, request, act, target, detail."""

        self.audited = prepare(
            select(*audit.columns)
            .where(number > named("since"))
            .order_by(number)
            .limit(whole("limit"))
            .offset(constant(0)),
            dialect,
            ("since", "limit"),
        )
        """The entries after a number, in order: number, limit."""


@cache
def control_statements(dialect: Dialect) -> ControlStatements:
    """The statements over the control tables in a dialect, compiled once for all stores."""
    return ControlStatements(dialect)


def _names(table: Table) -> Sequence[str]:
    return [column.name for column in table.columns]
