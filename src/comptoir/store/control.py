"""The store of what belongs to no company: clients, roles, issuers, the audit log.

Every change raises the version of the control tables first. The lock of that row gives changes
their order, and each process notices the new version within a second (`ControlWatch`). The same
transaction adds what was done to the audit log.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import msgspec
from sqlalchemy import Column, Select, Table, delete, func, insert, select, tuple_, update
from sqlalchemy.sql import ClauseElement

from comptoir.auth.audit import Act, ActName, Actor, AuditEntry
from comptoir.auth.client_check import MOST_SECRETS
from comptoir.auth.client_keys import MOST_KEYS
from comptoir.auth.limits import parse_rate
from comptoir.auth.records import (
    Client,
    ClientKey,
    ClientState,
    Issuer,
    IssuerPolicy,
    RegistrySnapshot,
    Secret,
)
from comptoir.auth.roles import Role, Roles
from comptoir.auth.tokens import scope_names
from comptoir.auth.verification import CLOCK_SKEW
from comptoir.edm.times import Clock, instant
from comptoir.edm.types import Stored
from comptoir.errors import operator_rows as problems
from comptoir.errors import refusal_rows
from comptoir.errors.messages import quoted, suggestion
from comptoir.errors.refusal import OperatorError, Refusal
from comptoir.errors.table import KEY_EXISTS
from comptoir.plan.read import Row
from comptoir.sql.prepared import Query, Steps, prepare, prepare_insert
from comptoir.sql.statements import Statements
from comptoir.sql.tables import (
    ASSERTIONS,
    AUDIT,
    CLIENT_KEYS,
    CLIENT_SECRETS,
    CLIENTS,
    CONTROL,
    ISSUERS,
    REVOKED,
    ROLES,
    USER,
    feature_tables,
)
from comptoir.store.refusals import IS_REPEATED, database_failed, log_database_error
from comptoir.store.writer import NO_COMPANY, Writer

READ_SECONDS = 5.0
"""Seconds for a read of the control tables, and for which a client waits for one."""

PERIOD_SECONDS = 1.0
"""Seconds between two reads of the version."""

QUICK_SECONDS = 1.0
"""Seconds after which a failed read shows that the database does not answer."""

STALE_SECONDS = 60.0
"""Seconds without a successful read after which nothing is known."""

ENDED_AT_ONCE = 100
"""The most ended assertions that are deleted when one is added."""

_LAST_AUDITED = select(func.coalesce(func.max(AUDIT.c.number), 0))

_log = logging.getLogger(__name__)

T = TypeVar("T")
P = ParamSpec("P")
Credential = TypeVar("Credential", bound=msgspec.Struct)

_ALL = "*"
"""The stored names of what may access all companies, or has no roles."""

_UNLIMITED = ""
"""The stored rate of a client without one; its quota is 0."""


def _change(
    work: Callable[Concatenate["ControlStore", P], Steps[Sequence[Act]]],
) -> Callable[Concatenate["ControlStore", P], Coroutine[None, None, None]]:
    """Make a change in a transaction of its own, which raises the version and logs its acts."""

    @wraps(work)
    async def changed(self: "ControlStore", /, *given: P.args, **named: P.kwargs) -> None:
        def unit() -> Steps[None]:
            yield self.query(update(CONTROL).values(version=CONTROL.c.version + 1))
            yield from self.log((yield from work(self, *given, **named)))

        await self.transact(unit, alone=True)

    return changed


class ControlStore:
    """Reads and changes the control tables; all methods raise `Refusal` as reads and writes do."""

    def __init__(
        self, statements: Statements, fetch: Callable[[Query], Awaitable[list[Row]]], writer: Writer
    ) -> None:
        self.query = statements.query
        """A statement over the control tables, with the values in it."""
        self._dialect = statements.compiler
        self._fetch = fetch
        self._writer = writer
        self._sets = [each.name for each in statements.model.per_company]
        """The entity sets to which roles give rights."""

    async def fetch(self, statement: ClauseElement) -> list[Row]:
        """The rows of a statement over the control tables."""
        return await self._fetch(self.query(statement))

    def prepared(
        self, statement: ClauseElement, *names: str
    ) -> Callable[..., Awaitable[list[Row]]]:
        """A read that is compiled once: it takes the values with these names."""
        prepared = prepare(statement, self._dialect, names)

        async def rows(*values: Stored) -> list[Row]:
            return await self._fetch(prepared.query(*values))

        return rows

    def drop(self, table: Table, **values: Stored) -> Query:
        """Delete the rows with these values."""
        return self.query(delete(table).where(*[table.c[each] == values[each] for each in values]))

    def lock(self) -> Query:
        """Lock the version of the control tables until the end of the transaction."""
        return self.query(select(CONTROL.c.version).with_for_update())

    async def transact(self, work: Callable[[], Steps[T]], *, alone: bool = False) -> T:
        """Run a unit of work of the control tables; see `Writer.submit`."""
        return await self._writer.submit(NO_COMPANY, lambda _: work(), alone=alone)

    async def version(self) -> int:
        """The version of the control tables."""
        return _number(await self.fetch(select(CONTROL.c.version)))

    async def load(self) -> RegistrySnapshot:
        """All that is known, in the version that is read first or a later one.

        Rows that this release cannot read are an error of the database (503).
        """
        try:
            return await self._load()
        except (ValueError, OperatorError) as error:
            log_database_error(f"the control tables cannot be read: {error}")
            raise database_failed(refusal_rows.UNREADABLE_CLIENTS) from error

    async def _load(self) -> RegistrySnapshot:
        version = await self.version()
        secrets = await self._credentials(Secret, CLIENT_SECRETS, "created_at", "id")
        keys = await self._credentials(ClientKey, CLIENT_KEYS, "expires_at", "kid")
        clients = [_client(row, secrets, keys) for row in await self.fetch(_by_name(CLIENTS))]
        roles = Roles(await self.roles(), self._sets)
        issuers = await self.issuers()
        revoked = await self.fetch(select(REVOKED.c.jti))
        return RegistrySnapshot(
            version,
            {each.id: each for each in clients},
            roles,
            frozenset([str(jti) for (jti,) in revoked]),
            {each.url: each for each in issuers},
        )

    async def _credentials(
        self, kind: type[Credential], table: Table, *order: str
    ) -> dict[str, list[Credential]]:
        """The secrets or the keys of each client, by its id."""
        names = [each.name for each in msgspec.structs.fields(kind)]
        columns = [table.c[name] for name in ("client", *names)]
        ordered = select(*columns).order_by(*[table.c[name] for name in order])
        found: dict[str, list[Credential]] = {}
        for client_id, *values in await self.fetch(ordered):
            credential = msgspec.convert(dict(zip(names, values, strict=True)), kind)
            found.setdefault(str(client_id), []).append(credential)
        return found

    async def roles(self) -> list[Role]:
        """All roles by name."""
        rows = await self.fetch(_by_name(ROLES))
        return [
            Role(str(name), msgspec.json.decode(str(document), type=dict[str, str]))
            for name, document in rows
        ]

    @_change
    def put_roles(self, roles: Sequence[Role], actor: Actor) -> Steps[Sequence[Act]]:
        """Add roles, or replace those that have the same names."""
        for each in roles:
            yield self.drop(ROLES, name=each.name)
            document = msgspec.json.encode(each.letters).decode()
            yield self.query(insert(ROLES).values((each.name, document)))
        return [Act(actor, ActName.ROLE_APPLY, each.name, each.listed) for each in roles]

    @_change
    def remove_role(self, name: str, actor: Actor) -> Steps[Sequence[Act]]:
        """Remove a role; raises `OperatorError` if it does not exist, or if it is in use."""
        yield from self._check_roles([name])
        clients = [_client(row, {}, {}) for row in (yield self.query(_by_name(CLIENTS)))]
        owner = next((each.name for each in clients if name in (each.roles or ())), None)
        if owner is not None:
            raise problems.ROLE_OF_CLIENT(client=owner, role=name)
        for issuer in _issuers((yield self.query(_by_name(ISSUERS)))):
            if any(name in names for names in issuer.terms.roles.values()):
                raise problems.ROLE_OF_ISSUER(issuer=issuer.name, role=name)
        yield self.drop(ROLES, name=name)
        return [Act(actor, ActName.ROLE_REMOVE, name)]

    @_change
    def add_client(self, client: Client, actor: Actor) -> Steps[Sequence[Act]]:
        """Add a client with its secrets.

        Raises `OperatorError` if its name is taken, or if one of its roles does not exist.
        """
        now = instant(datetime.now(UTC))
        if (yield self._client_named(client.name)):
            raise problems.CLIENT_EXISTS(name=quoted(client.name))
        yield from self._check_roles(client.roles or ())
        terms = _terms(client).values()
        row = (client.id, client.name, *terms, client.state, now, client.not_before)
        yield self.query(insert(CLIENTS).values(row))
        for each in client.secrets:
            yield self._add_secret(client.id, each, now)
        detail = " ".join([client.id, *client.listed])
        return [Act(actor, ActName.CLIENT_ADD, client.name, detail)]

    @_change
    def add_secret(self, name: str, secret: Secret, actor: Actor) -> Steps[Sequence[Act]]:
        """Add a secret; raises `OperatorError` if the client does not exist or has two secrets."""
        client_id, hints = yield from self._ids(name, CLIENT_SECRETS.c.hint)
        if len(hints) >= MOST_SECRETS:
            raise problems.TOO_MANY_CREDENTIALS(client=name, what="secret", most=MOST_SECRETS)
        yield self._add_secret(client_id, secret, instant(datetime.now(UTC)))
        return [Act(actor, ActName.SECRET_ADD, name, secret.listed)]

    @_change
    def remove_secret(self, name: str, hint: str, actor: Actor) -> Steps[Sequence[Act]]:
        """Remove the secret that begins with `hint`; raises `OperatorError` if there is none."""
        client_id, hints = yield from self._ids(name, CLIENT_SECRETS.c.hint)
        if hint not in hints:
            raise problems.NO_SECRET(client=name, hint=quoted(hint))
        yield self.drop(CLIENT_SECRETS, client=client_id, hint=hint)
        return [Act(actor, ActName.SECRET_REMOVE, name, f"{hint}…")]

    @_change
    def add_key(self, name: str, key: ClientKey, actor: Actor) -> Steps[Sequence[Act]]:
        """Add a key; raises `OperatorError` if the client does not exist, or cannot have it."""
        client_id, kids = yield from self._ids(name, CLIENT_KEYS.c.kid)
        if key.kid in kids:
            raise problems.CLIENT_HAS_KEY(client=name, kid=key.kid)
        if len(kids) >= MOST_KEYS:
            raise problems.TOO_MANY_CREDENTIALS(client=name, what="key", most=MOST_KEYS)
        yield self.query(insert(CLIENT_KEYS).values((client_id, *msgspec.structs.astuple(key))))
        return [Act(actor, ActName.KEY_ADD, name, key.listed)]

    @_change
    def remove_key(self, name: str, kid: str, actor: Actor) -> Steps[Sequence[Act]]:
        """Remove a key; raises `OperatorError` if the client does not have it."""
        client_id, kids = yield from self._ids(name, CLIENT_KEYS.c.kid)
        if kid not in kids:
            raise problems.NO_KEY(client=name, kid=quoted(kid))
        yield self.drop(CLIENT_KEYS, client=client_id, kid=kid)
        return [Act(actor, ActName.KEY_REMOVE, name, kid)]

    async def use_assertion(self, client_id: str, jti: str, expires_at: int) -> bool:
        """Add a used assertion, until its end in epoch seconds; False if it was used before.

        Also deletes some that have ended. Only the key of the table decides, so that one of several
        processes succeeds.
        """
        key, ends = (ASSERTIONS.c.client, ASSERTIONS.c.jti), ASSERTIONS.c.expires_at

        def work() -> Steps[None]:
            # a host whose clock is late may accept it for so long
            has_ended = ends < int(time.time()) - CLOCK_SKEW
            ended = select(*key).where(has_ended).order_by(ends).limit(ENDED_AT_ONCE)
            yield self.query(delete(ASSERTIONS).where(tuple_(*key).in_(ended)))
            yield self.query(insert(ASSERTIONS).values((client_id, jti, expires_at)))

        try:
            await self.transact(work)
        except Refusal as refusal:
            if refusal.error is not KEY_EXISTS:
                raise
            return False
        return True

    @_change
    def change_client(self, changed: Callable[[Client], Client], act: Act) -> Steps[Sequence[Act]]:
        """Change the client that is the target of an act.

        `changed` returns the client as it shall be, from one without its secrets and keys. Raises
        `OperatorError` if there is none with this name, or if one of its new roles does not exist.
        """
        former = _client((yield from self._row_of(act.target)), {}, {})
        client = changed(former)
        yield from self._check_roles((client.roles or frozenset()) - (former.roles or set()))
        yield self.query(
            update(CLIENTS)
            .where(CLIENTS.c.id == client.id)
            .values(**_terms(client), state=client.state, not_before=client.not_before)
        )
        return [act]

    @_change
    def remove_client(self, name: str, actor: Actor) -> Steps[Sequence[Act]]:
        """Remove a client with its secrets and keys; raises `OperatorError` if there is none."""
        client_id, *_ = yield from self._row_of(name)
        for table in (CLIENT_SECRETS, CLIENT_KEYS):
            yield self.drop(table, client=client_id)
        yield self.drop(CLIENTS, id=client_id)
        return [Act(actor, ActName.CLIENT_REMOVE, name)]

    @_change
    def revoke(self, jti: str, expires_at: int, party: str, actor: Actor) -> Steps[Sequence[Act]]:
        """Add a token to those that are revoked, until its end in epoch seconds.

        `party` is whom it was given to.
        """
        yield self.query(delete(REVOKED).where(REVOKED.c.expires_at < int(time.time())))
        if not (yield self.query(select(REVOKED.c.jti).where(REVOKED.c.jti == jti))):
            yield self.query(insert(REVOKED).values((jti, expires_at)))
        return [Act(actor, ActName.TOKEN_REVOKE, jti, party)]

    async def record(self, acts: Sequence[Act]) -> None:
        """Add acts that change nothing to the audit log."""

        def work() -> Steps[None]:
            yield self.lock()
            yield from self.log(acts)

        await self.transact(work)

    async def audit(self, since: int, limit: int) -> list[AuditEntry]:
        """Up to `limit` entries of the audit log after the one with the number `since`."""
        number = AUDIT.c.number
        entries = select(AUDIT).where(number > since).order_by(number).limit(limit)
        rows = await self.fetch(entries)
        return [AuditEntry(int(number), *map(str, rest)) for number, *rest in rows]

    async def last_audited(self) -> int:
        """The number of the last entry of the audit log, 0 without one."""
        return _number(await self.fetch(_LAST_AUDITED))

    async def issuers(self) -> list[Issuer]:
        """All outside issuers by name."""
        return _issuers(await self.fetch(_by_name(ISSUERS)))

    @_change
    def add_issuer(self, issuer: Issuer, actor: Actor) -> Steps[Sequence[Act]]:
        """Add an outside issuer.

        Raises `OperatorError` if its name or URL is taken, or if one of its roles does not exist.
        """
        for each in _issuers((yield self.query(_by_name(ISSUERS)))):
            if each.name == issuer.name or each.url == issuer.url:
                raise problems.ISSUER_EXISTS(name=each.name, url=each.url)
        yield from self._check_roles(
            [name for names in issuer.terms.roles.values() for name in names]
        )
        row = (issuer.name, issuer.url, _document(issuer.terms))
        yield self.query(insert(ISSUERS).values(row))
        detail = " ".join([issuer.url, *issuer.terms.listed])
        return [Act(actor, ActName.ISSUER_ADD, issuer.name, detail)]

    @_change
    def refresh_issuer(self, name: str, actor: Actor) -> Steps[Sequence[Act]]:
        """Let each process fetch the keys of an issuer; raises `OperatorError` if there is none."""
        terms = (yield from self._issuer_named(name)).terms
        refreshed = msgspec.structs.replace(terms, refreshed=terms.refreshed + 1)
        yield self.query(
            update(ISSUERS).where(ISSUERS.c.name == name).values(document=_document(refreshed))
        )
        return [Act(actor, ActName.ISSUER_REFRESH, name)]

    @_change
    def remove_issuer(self, name: str, actor: Actor) -> Steps[Sequence[Act]]:
        """Remove an outside issuer, and end the sessions of its users.

        Raises `OperatorError` if there is none.
        """
        begin = f"{name}:"
        yield from self._issuer_named(name)
        yield self.drop(ISSUERS, name=name)
        for table in feature_tables():
            if USER in table.info:
                user = table.c[table.info[USER]]
                is_of_issuer = func.substr(user, 1, len(begin)) == begin
                yield self.query(delete(table).where(is_of_issuer))
        return [Act(actor, ActName.ISSUER_REMOVE, name)]

    def _issuer_named(self, name: str) -> Steps[Issuer]:
        for each in _issuers((yield self.query(_by_name(ISSUERS)))):
            if each.name == name:
                return each
        raise problems.UNKNOWN_ISSUER(name=quoted(name))

    def _check_roles(self, names: Iterable[str]) -> Steps[None]:
        known = {str(name) for name, _ in (yield self.query(_by_name(ROLES)))}
        for name in sorted(set(names) - known):
            raise problems.NO_ROLE(suggested=suggestion(name, known), name=quoted(name))

    def _ids(self, name: str, column: Column[str]) -> Steps[tuple[Stored, Sequence[Stored]]]:
        """The id of a client, and what identifies each of its secrets or keys to the operator."""
        client_id, *_ = yield from self._row_of(name)
        rows = yield self.query(select(column).where(column.table.c.client == client_id))
        return client_id, [found for (found,) in rows]

    def _row_of(self, name: str) -> Steps[Row]:
        rows = yield self._client_named(name)
        if not rows:
            raise problems.UNKNOWN_CLIENT(name=quoted(name))
        return rows[0]

    def _client_named(self, name: str) -> Query:
        return self.query(select(CLIENTS).where(CLIENTS.c.name == name))

    def _add_secret(self, client_id: Stored, secret: Secret, now: str) -> Query:
        row = (client_id, secret.id, secret.digest, secret.hint, now, secret.expires_at)
        return self.query(insert(CLIENT_SECRETS).values((*row, 0)))

    def log(self, acts: Iterable[Act]) -> Steps[None]:
        """Add acts to the audit log; the transaction has the lock of the row of `control`."""
        last = _number((yield self.query(_LAST_AUDITED)))
        at = instant(datetime.now(UTC))
        add = prepare_insert(AUDIT, [each.name for each in AUDIT.columns], self._dialect)
        yield add.many([(number, at, *each.recorded) for number, each in enumerate(acts, last + 1)])


class ControlWatch:
    """Reads the control tables again when their version has changed; a `Registry`.

    Reads follow one after another, and concurrent callers share one that begins after their call.
    """

    def __init__(self, control: ControlStore, clock: Clock = time.monotonic) -> None:
        self._control = control
        self._clock = clock
        self.known: RegistrySnapshot | None = None
        """The result of the last read; None before the first, or if it is stale."""
        self.revoked: frozenset[str] = frozenset()
        """The ids (`jti`) of revoked tokens by the last read that succeeded, however old."""
        self._read_at = clock()
        self._is_silent = False
        self._reading = asyncio.Lock()
        self._begun = self._succeeded = 0
        """The numbers of the last read that began, and of the last one that succeeded."""

    @property
    def age(self) -> float:
        """Seconds since the last read that succeeded, or since the start."""
        return self._clock() - self._read_at

    async def refresh(self) -> RegistrySnapshot:
        """The current state; raises `Refusal` (503) if the database does not answer in time.

        After a read that failed only after a second, it raises at once until a poll succeeds.
        """
        if self._is_silent:
            raise refusal_rows.UNANSWERED()
        return await self._read_in_time()

    async def revoke(self, jti: str, expires_at: int, party: str, actor: Actor) -> None:
        """Revoke a token, which this process then refuses at once, and others within a second."""
        await self._control.revoke(jti, expires_at, party, actor)
        await self.refresh()

    async def use_assertion(self, client_id: str, jti: str, expires_at: int) -> bool:
        """Whether a client uses an assertion for the first time, in any process."""
        return await self._control.use_assertion(client_id, jti, expires_at)

    async def poll(self) -> None:
        """Read once; raises `Refusal`."""
        try:
            await self._read_in_time()
        except Refusal:
            # the first read that fails is logged where it fails
            if not IS_REPEATED.get():
                _log.warning("clients cannot be read from the database")
            raise
        finally:
            if self.age > STALE_SECONDS:
                self.known = None
        if IS_REPEATED.get():
            _log.warning("clients can be read from the database again")

    async def _read_in_time(self) -> RegistrySnapshot:
        began, asked = self._clock(), self._begun
        try:
            async with asyncio.timeout(READ_SECONDS), self._reading:
                known = self.known
                # another caller may have read in the meantime
                return known if known and self._succeeded > asked else await self._read()
        except TimeoutError:
            self._is_silent = True
            raise refusal_rows.UNANSWERED() from None
        except Refusal:
            # each request may ask a database that refuses quickly
            self._is_silent = self._clock() - began > QUICK_SECONDS
            raise

    async def _read(self) -> RegistrySnapshot:
        self._begun += 1
        known = self.known
        if known is None or known.version != await self._control.version():
            known = await self._control.load()
        self.known, self.revoked = known, known.revoked
        self._read_at, self._succeeded = self._clock(), self._begun
        self._is_silent = False
        return known


def names_of(stored: str) -> frozenset[str] | None:
    """A stored set of names, such as the companies of a client; None for all, or for no roles."""
    return None if stored == _ALL else msgspec.json.decode(stored, type=frozenset[str])


def stored_names(names: Iterable[str] | None) -> str:
    """The text that is stored for names, None for all."""
    return _ALL if names is None else msgspec.json.encode(sorted(names)).decode()


def _by_name(table: Table) -> Select[*tuple[str | int, ...]]:
    return select(table).order_by(table.c.name)


def _number(rows: Sequence[Row]) -> int:
    return int(rows[0][0])


def _client(
    row: Row, secrets: Mapping[str, Sequence[Secret]], keys: Mapping[str, Sequence[ClientKey]]
) -> Client:
    client_id, name, scopes, roles, companies, rate, quota, state, _, not_before = map(str, row)
    return Client(
        client_id,
        name,
        frozenset(scope_names(scopes)),
        names_of(roles),
        names_of(companies),
        ClientState(state),
        tuple(secrets.get(client_id, ())),
        tuple(keys.get(client_id, ())),
        None if rate == _UNLIMITED else parse_rate(rate),
        int(quota) or None,
        int(not_before),
    )


def _terms(client: Client) -> Mapping[str, Stored]:
    """The rights of a client, in the order of the columns."""
    return {
        "scopes": " ".join(sorted(client.scopes)),
        "roles": stored_names(client.roles),
        "companies": stored_names(client.companies),
        "rate": str(client.rate or _UNLIMITED),
        "quota": client.quota or 0,
    }


def _issuers(rows: Iterable[Row]) -> list[Issuer]:
    return [
        Issuer(str(name), str(url), msgspec.json.decode(str(document), type=IssuerPolicy))
        for name, url, document in rows
    ]


def _document(terms: IssuerPolicy) -> str:
    return msgspec.json.encode(terms).decode()
