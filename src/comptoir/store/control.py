"""The store of what belongs to no company: the clients of the token endpoint, and issuers.

Every change raises the version of the control tables first. The lock of that row gives changes
their order, and each process notices the new version within a second (`ControlWatch`). The same
transaction adds what was done to the audit log.
"""

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

import msgspec
from sqlalchemy import Table, delete, func, insert, select, update

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
from comptoir.edm.times import instant
from comptoir.edm.types import Stored
from comptoir.errors import operator_rows as problems
from comptoir.errors import refusal_rows
from comptoir.errors.messages import (
    quoted,
    suggestion,
)
from comptoir.errors.refusal import (
    OperatorError,
    Refusal,
)
from comptoir.errors.table import KEY_EXISTS
from comptoir.plan.read import Row
from comptoir.sql.control import ControlStatements, control_tables
from comptoir.sql.prepared import Query, Steps
from comptoir.store.logins import Logins
from comptoir.store.names import names_of, stored_names
from comptoir.store.refusals import database_failed, log_database_error
from comptoir.store.unit import UnitOfWork
from comptoir.store.writer import NO_COMPANY, Writer

READ_SECONDS = 5.0
"""Seconds for a read of the control tables, and for which a client waits for one."""

_UNLIMITED = ""
"""The stored rate of a client without one; its quota is 0."""


class ControlStore:
    """Reads and changes the control tables; all methods raise `Refusal` as reads and writes do."""

    def __init__(
        self,
        statements: ControlStatements,
        fetch: Callable[[Query], Awaitable[list[Row]]],
        writer: Writer,
        sets: Sequence[str],
    ) -> None:
        """`sets` are the names of the entity sets to which roles give rights."""
        self._statements = statements
        self._query = statements.query
        self._tables = control_tables()
        self._fetch = fetch
        self._writer = writer
        self._sets = sets
        self.logins = Logins(statements, fetch, writer, self._record)
        """The logins of people."""

    async def version(self) -> int:
        """The version of the control tables."""
        return _number(await self._fetch(self._statements.version.query()))

    async def load(self) -> RegistrySnapshot:
        """All that is known, in the version that is read first or a later one.

        Rows that this release cannot read are a fault of the database (503).
        """
        try:
            return await self._load()
        except (ValueError, OperatorError) as error:
            log_database_error(f"the control tables cannot be read: {error}")
            raise database_failed(refusal_rows.UNREADABLE_CLIENTS) from error

    async def _load(self) -> RegistrySnapshot:
        secrets_of, keys_of = self._tables.client_secrets, self._tables.client_keys
        version = await self.version()
        secrets: dict[str, list[Secret]] = {}
        for client_id, secret_id, digest, hint, _, expires_at, _ in await self._fetch(
            self._query(select(secrets_of).order_by(secrets_of.c.created_at, secrets_of.c.id))
        ):
            secret = Secret(str(secret_id), str(digest), str(hint), int(expires_at))
            secrets.setdefault(str(client_id), []).append(secret)
        keys: dict[str, list[ClientKey]] = {}
        for client_id, kid, jwk, x5t, x5t_s256, expires_at in await self._fetch(
            self._query(select(keys_of).order_by(keys_of.c.expires_at, keys_of.c.kid))
        ):
            key = ClientKey(str(kid), str(jwk), str(x5t), str(x5t_s256), int(expires_at))
            keys.setdefault(str(client_id), []).append(key)
        rows = await self._fetch(self._by_name(self._tables.clients))
        clients = [_client(row, secrets, keys) for row in rows]
        roles = Roles(await self.roles(), self._sets)
        issuers = await self.issuers()
        revoked = await self._fetch(self._query(select(self._tables.revoked.c.jti)))
        return RegistrySnapshot(
            version,
            {each.id: each for each in clients},
            roles,
            frozenset([str(jti) for (jti,) in revoked]),
            {each.url: each for each in issuers},
        )

    async def roles(self) -> list[Role]:
        """All roles by name."""
        rows = await self._fetch(self._by_name(self._tables.roles))
        return [
            Role(str(name), msgspec.json.decode(str(document), type=dict[str, str]))
            for name, document in rows
        ]

    async def put_roles(self, roles: Sequence[Role], actor: Actor) -> None:
        """Add roles, or replace those that have the same names."""
        table = self._tables.roles

        def change() -> Steps[None]:
            for each in roles:
                yield self._query(delete(table).where(table.c.name == each.name))
                document = msgspec.json.encode(each.letters).decode()
                yield self._query(insert(table).values((each.name, document)))

        acts = [Act(actor, ActName.ROLE_APPLY, each.name, each.listed) for each in roles]
        await self._change(change, *acts)

    async def remove_role(self, name: str, actor: Actor) -> None:
        """Remove a role; raises `OperatorError` if it does not exist, or if it is in use."""
        table = self._tables.roles

        def change() -> Steps[None]:
            yield from self._check_roles([name])
            clients = [_client(row, {}, {}) for row in (yield self._by_name(self._tables.clients))]
            owner = next((each.name for each in clients if name in (each.roles or ())), None)
            if owner is not None:
                raise problems.ROLE_OF_CLIENT(client=owner, role=name)
            for issuer in _issuers((yield self._by_name(self._tables.issuers))):
                if any(name in names for names in issuer.terms.roles.values()):
                    raise problems.ROLE_OF_ISSUER(issuer=issuer.name, role=name)
            yield self._query(delete(table).where(table.c.name == name))

        await self._change(change, Act(actor, ActName.ROLE_REMOVE, name))

    async def add_client(self, client: Client, actor: Actor) -> None:
        """Add a client with its secrets.

        Raises `OperatorError` if its name is taken, or if one of its roles does not exist.
        """
        now = instant(datetime.now(UTC))

        def change() -> Steps[None]:
            if (yield self._client_named(client.name)):
                raise problems.CLIENT_EXISTS(name=quoted(client.name))
            yield from self._check_roles(client.roles or ())
            terms = _terms(client).values()
            row = (client.id, client.name, *terms, client.state, now, client.not_before)
            yield self._query(insert(self._tables.clients).values(row))
            for each in client.secrets:
                yield self._add_secret(client.id, each, now)

        detail = " ".join([client.id, *client.listed])
        await self._change(change, Act(actor, ActName.CLIENT_ADD, client.name, detail))

    async def add_secret(self, name: str, secret: Secret, actor: Actor) -> None:
        """Add a secret; raises `OperatorError` if the client does not exist or has two secrets."""
        now = instant(datetime.now(UTC))

        def change() -> Steps[None]:
            client_id = yield from self._id_of(name)
            if len((yield self._secret_hints(client_id))) >= MOST_SECRETS:
                raise problems.TOO_MANY_CREDENTIALS(client=name, what="secret", most=MOST_SECRETS)
            yield self._add_secret(client_id, secret, now)

        await self._change(change, Act(actor, ActName.SECRET_ADD, name, secret.listed))

    async def remove_secret(self, name: str, hint: str, actor: Actor) -> None:
        """Remove the secret that begins with `hint`; raises `OperatorError` if there is none."""
        table = self._tables.client_secrets

        def change() -> Steps[None]:
            client_id = yield from self._id_of(name)
            hints = yield self._secret_hints(client_id)
            found = [secret_id for secret_id, known in hints if known == hint]
            if not found:
                raise problems.NO_SECRET(client=name, hint=quoted(hint))
            yield self._query(
                delete(table).where(table.c.client == client_id, table.c.id == found[0])
            )

        await self._change(change, Act(actor, ActName.SECRET_REMOVE, name, f"{hint}…"))

    async def add_key(self, name: str, key: ClientKey, actor: Actor) -> None:
        """Add a key; raises `OperatorError` if the client does not exist, or cannot have it."""

        def change() -> Steps[None]:
            client_id = yield from self._id_of(name)
            kids = [kid for (kid,) in (yield self._key_ids(client_id))]
            if key.kid in kids:
                raise problems.CLIENT_HAS_KEY(client=name, kid=key.kid)
            if len(kids) >= MOST_KEYS:
                raise problems.TOO_MANY_CREDENTIALS(client=name, what="key", most=MOST_KEYS)
            row = (client_id, key.kid, key.jwk, key.x5t, key.x5t_s256, key.expires_at)
            yield self._query(insert(self._tables.client_keys).values(row))

        await self._change(change, Act(actor, ActName.KEY_ADD, name, key.listed))

    async def remove_key(self, name: str, kid: str, actor: Actor) -> None:
        """Remove a key; raises `OperatorError` if the client does not have it."""
        table = self._tables.client_keys

        def change() -> Steps[None]:
            client_id = yield from self._id_of(name)
            kids = yield self._key_ids(client_id)
            if all(each != kid for (each,) in kids):
                raise problems.NO_KEY(client=name, kid=quoted(kid))
            yield self._query(delete(table).where(table.c.client == client_id, table.c.kid == kid))

        await self._change(change, Act(actor, ActName.KEY_REMOVE, name, kid))

    async def use_assertion(self, client_id: str, jti: str, expires_at: int) -> bool:
        """Add a used assertion, until its end in epoch seconds; False if it was used before.

        Also deletes some that have ended. Only the key of the table decides, so that one of several
        processes succeeds.
        """

        def work(_: UnitOfWork) -> Steps[None]:
            # a host whose clock is late may accept it for so long
            ended = int(time.time()) - CLOCK_SKEW
            yield self._statements.drop_ended_assertions.query(ended)
            yield self._statements.add_assertion.query(client_id, jti, expires_at)

        try:
            await self._writer.submit(NO_COMPANY, work)
        except Refusal as refusal:
            if refusal.error is not KEY_EXISTS:
                raise
            return False
        return True

    async def change_client(self, changed: Callable[[Client], Client], act: Act) -> None:
        """Change the client that is the target of an act.

        `changed` returns the client as it shall be, from one without its secrets and keys. Raises
        `OperatorError` if there is none with this name, or if one of its new roles does not exist.
        """
        table = self._tables.clients

        def change() -> Steps[None]:
            former = _client((yield from self._row_of(act.target)), {}, {})
            client = changed(former)
            yield from self._check_roles((client.roles or frozenset()) - (former.roles or set()))
            yield self._query(
                update(table)
                .where(table.c.id == client.id)
                .values(**_terms(client), state=client.state, not_before=client.not_before)
            )

        await self._change(change, act)

    async def remove_client(self, name: str, actor: Actor) -> None:
        """Remove a client with its secrets and keys; raises `OperatorError` if there is none."""
        tables = self._tables

        def change() -> Steps[None]:
            client_id = yield from self._id_of(name)
            for table in (tables.client_secrets, tables.client_keys):
                yield self._query(delete(table).where(table.c.client == client_id))
            yield self._query(delete(tables.clients).where(tables.clients.c.id == client_id))

        await self._change(change, Act(actor, ActName.CLIENT_REMOVE, name))

    async def revoke(self, jti: str, expires_at: int, party: str, actor: Actor) -> None:
        """Add a token to those that are revoked, until its end in epoch seconds.

        `party` is whom it was given to.
        """
        table = self._tables.revoked

        def change() -> Steps[None]:
            yield self._query(delete(table).where(table.c.expires_at < int(time.time())))
            if not (yield self._query(select(table.c.jti).where(table.c.jti == jti))):
                yield self._query(insert(table).values((jti, expires_at)))

        await self._change(change, Act(actor, ActName.TOKEN_REVOKE, jti, party))

    async def subscribed(self) -> list[tuple[str, int]]:
        """The companies that may have subscriptions, and since when in epoch seconds."""
        rows = await self._fetch(self._statements.subscribed.query())
        return [(str(company_id), int(since)) for company_id, since in rows]

    def subscribed_companies(self, *, locks: bool = False) -> Steps[list[str]]:
        """The ids of these companies; with `locks`, no other unit of work does this meanwhile."""
        if locks:
            yield self._statements.lock_version.query()
        rows = yield self._statements.subscribed.query()
        return [str(company_id) for company_id, _ in rows]

    async def add_subscribed(self, company_id: str) -> None:
        """Add a company that is about to have a subscription, from now on."""
        now = int(time.time())

        def work(_: UnitOfWork) -> Steps[None]:
            yield self._statements.lock_version.query()
            yield self._drop_subscribed(company_id, now)
            yield self._query(insert(self._tables.subscribed).values((company_id, now)))

        await self._writer.submit(NO_COMPANY, work)

    async def drop_subscribed(self, company_id: str, until: int) -> None:
        """Remove a company without subscriptions, unless it was added after a time."""

        def work(_: UnitOfWork) -> Steps[None]:
            yield self._drop_subscribed(company_id, until)

        await self._writer.submit(NO_COMPANY, work)

    def _drop_subscribed(self, company_id: str, until: int) -> Query:
        table = self._tables.subscribed
        return self._query(
            delete(table).where(table.c.company == company_id, table.c.since <= until)
        )

    async def record(self, acts: Sequence[Act]) -> None:
        """Add acts that change nothing to the audit log."""

        def work(_: UnitOfWork) -> Steps[None]:
            yield self._statements.lock_version.query()
            yield from self._record(acts)

        await self._writer.submit(NO_COMPANY, work)

    async def audit(self, since: int, limit: int) -> list[AuditEntry]:
        """Up to `limit` entries of the audit log after the one with the number `since`."""
        number = self._tables.audit.c.number
        entries = select(self._tables.audit).where(number > since).order_by(number).limit(limit)
        rows = await self._fetch(self._query(entries))
        return [AuditEntry(int(number), *map(str, rest)) for number, *rest in rows]

    async def last_audited(self) -> int:
        """The number of the last entry of the audit log, 0 without one."""
        return _number(await self._fetch(self._statements.last_audited.query()))

    async def issuers(self) -> list[Issuer]:
        """All outside issuers by name."""
        return _issuers(await self._fetch(self._by_name(self._tables.issuers)))

    async def add_issuer(self, issuer: Issuer, actor: Actor) -> None:
        """Add an outside issuer.

        Raises `OperatorError` if its name or URL is taken, or if one of its roles does not exist.
        """

        def change() -> Steps[None]:
            for each in _issuers((yield self._by_name(self._tables.issuers))):
                if each.name == issuer.name or each.url == issuer.url:
                    raise problems.ISSUER_EXISTS(name=each.name, url=each.url)
            yield from self._check_roles(
                [name for names in issuer.terms.roles.values() for name in names]
            )
            row = (issuer.name, issuer.url, _document(issuer.terms))
            yield self._query(insert(self._tables.issuers).values(row))

        detail = " ".join([issuer.url, *issuer.terms.listed])
        await self._change(change, Act(actor, ActName.ISSUER_ADD, issuer.name, detail))

    async def refresh_issuer(self, name: str, actor: Actor) -> None:
        """Let each process fetch the keys of an issuer; raises `OperatorError` if there is none."""
        table = self._tables.issuers

        def change() -> Steps[None]:
            terms = (yield from self._issuer_named(name)).terms
            refreshed = msgspec.structs.replace(terms, refreshed=terms.refreshed + 1)
            yield self._query(
                update(table).where(table.c.name == name).values(document=_document(refreshed))
            )

        await self._change(change, Act(actor, ActName.ISSUER_REFRESH, name))

    async def remove_issuer(self, name: str, actor: Actor) -> None:
        """Remove an outside issuer, and end the sessions of its users.

        Raises `OperatorError` if there is none.
        """
        table, begin = self._tables.issuers, f"{name}:"
        sessions = self._tables.console_sessions
        is_of_issuer = func.substr(sessions.c.subject, 1, len(begin)) == begin

        def change() -> Steps[None]:
            yield from self._issuer_named(name)
            yield self._query(delete(table).where(table.c.name == name))
            yield self._query(delete(sessions).where(is_of_issuer))

        await self._change(change, Act(actor, ActName.ISSUER_REMOVE, name))

    def _issuer_named(self, name: str) -> Steps[Issuer]:
        for each in _issuers((yield self._by_name(self._tables.issuers))):
            if each.name == name:
                return each
        raise problems.UNKNOWN_ISSUER(name=quoted(name))

    def _check_roles(self, names: Iterable[str]) -> Steps[None]:
        known = {str(name) for name, _ in (yield self._by_name(self._tables.roles))}
        for name in sorted(set(names) - known):
            raise problems.NO_ROLE(suggested=suggestion(name, known), name=quoted(name))

    def _id_of(self, name: str) -> Steps[Stored]:
        return (yield from self._row_of(name))[0]

    def _row_of(self, name: str) -> Steps[Row]:
        rows = yield self._client_named(name)
        if not rows:
            raise problems.UNKNOWN_CLIENT(name=quoted(name))
        return rows[0]

    def _by_name(self, table: Table) -> Query:
        return self._query(select(table).order_by(table.c.name))

    def _client_named(self, name: str) -> Query:
        clients = self._tables.clients
        return self._query(select(clients).where(clients.c.name == name))

    def _secret_hints(self, client_id: Stored) -> Query:
        secrets = self._tables.client_secrets
        return self._query(
            select(secrets.c.id, secrets.c.hint).where(secrets.c.client == client_id)
        )

    def _add_secret(self, client_id: Stored, secret: Secret, now: str) -> Query:
        row = (client_id, secret.id, secret.digest, secret.hint, now, secret.expires_at)
        return self._query(insert(self._tables.client_secrets).values((*row, 0)))

    def _key_ids(self, client_id: Stored) -> Query:
        keys = self._tables.client_keys
        return self._query(select(keys.c.kid).where(keys.c.client == client_id))

    async def _change(self, change: Callable[[], Steps[None]], *acts: Act) -> None:
        """Make a change in a transaction of its own, which raises the version and has its acts."""

        def work(_: UnitOfWork) -> Steps[None]:
            yield self._statements.raise_version.query()
            yield from change()
            yield from self._record(acts)

        await self._writer.submit(NO_COMPANY, work, alone=True)

    def _record(self, acts: Iterable[Act]) -> Steps[None]:
        """Add acts to the audit log; the transaction has the lock of the row of `control`."""
        statements = self._statements
        last = _number((yield statements.last_audited.query()))
        at = instant(datetime.now(UTC))
        yield statements.add_audited.many(
            [(number, at, *each.recorded) for number, each in enumerate(acts, last + 1)]
        )


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
