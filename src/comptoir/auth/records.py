"""The clients and outside issuers, as the database has them, and all that is known of them."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from hashlib import sha256
from typing import Protocol, Self

import msgspec

from comptoir.auth.audit import Actor
from comptoir.auth.limits import Rate
from comptoir.auth.roles import Roles
from comptoir.auth.tokens import Scope

EVERY_COMPANY = "*"
"""The word of an operator for all companies."""


class ClientState(StrEnum):
    """Whether a client gets tokens, and whether the service accepts those that it has."""

    ACTIVE = "active"
    DISABLED = "disabled"


class Secret(msgspec.Struct, frozen=True):
    """A secret of a client. `digest` is its SHA-256 in hex, `hint` its first characters.

    `expires_at` is its end in seconds since 1970.
    """

    id: str
    digest: str
    hint: str
    expires_at: int

    @property
    def listed(self) -> str:
        """The text that identifies the secret to the operator, and its end."""
        return f"{self.hint}…{datetime.fromtimestamp(self.expires_at, UTC):%Y-%m-%d}"


def secret_digest(text: str) -> str:
    """The digest that is stored of a secret."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class ClientKey(msgspec.Struct, frozen=True):
    """A public key of a client. `jwk` is its JSON (RFC 7517), `kid` its thumbprint (RFC 7638).

    `x5t` and `x5t_s256` are the thumbprints of its certificate, blank if it has none. `expires_at`
    is its end in seconds since 1970.
    """

    kid: str
    jwk: str
    x5t: str
    x5t_s256: str
    expires_at: int

    @property
    def listed(self) -> str:
        """The text that identifies the key to the operator."""
        return f"key={self.kid}:{datetime.fromtimestamp(self.expires_at, UTC):%Y-%m-%d}"


class Client(msgspec.Struct, frozen=True):
    """A program that gets tokens from the token endpoint.

    `roles` are names; a client with None may do what its scopes allow. `companies` contains ids as
    lower-case Guids; None means every company. `quota` is the most records that it may read in a
    day of UTC; `rate` and `quota` are None without such a limit. Tokens given before `not_before`,
    in epoch seconds, are not valid.
    """

    id: str
    name: str
    scopes: frozenset[str]
    roles: frozenset[str] | None
    companies: frozenset[str] | None
    state: ClientState
    secrets: tuple[Secret, ...]
    keys: tuple[ClientKey, ...] = ()
    rate: Rate | None = None
    quota: int | None = None
    not_before: int = 0

    @property
    def ends_at(self) -> int:
        """When its last secret or key ends; 0 without any."""
        ends = [each.expires_at for each in self.secrets] + [each.expires_at for each in self.keys]
        return max(ends, default=0)

    def disabled(self) -> Self:
        """The client without tokens."""
        return msgspec.structs.replace(self, state=ClientState.DISABLED)

    def enabled(self, now: float) -> Self:
        """The client with tokens that it gets from now on; an active one keeps those it has."""
        if self.state is ClientState.ACTIVE:
            return self
        # tokens have whole seconds, and one of this second may be older
        not_before = math.floor(now) + 1
        return msgspec.structs.replace(self, state=ClientState.ACTIVE, not_before=not_before)

    @property
    def party(self) -> str:
        """The name of the client in the logs."""
        return f"client:{self.name}"

    @property
    def listed(self) -> Sequence[str]:
        """Scopes, roles, companies, limits, secrets and keys, as the operator reads them."""
        roles = [f"role={name}" for name in sorted(self.roles or ())]
        companies = [f"company={each}" for each in sorted(self.companies or ())]
        limits = [
            f"{name}={value}"
            for name, value in (("rate", self.rate), ("quota", self.quota))
            if value is not None
        ]
        secrets = [each.listed for each in self.secrets]
        keys = [each.listed for each in self.keys]
        return [*sorted(self.scopes), *roles, *companies, *limits, *secrets, *keys]


class ConsoleRole(StrEnum):
    """The roles of people; each role includes those before it."""

    VIEWER = "viewer"
    EDITOR = "editor"
    ADMIN = "admin"

    @property
    def scopes(self) -> frozenset[Scope]:
        """The scopes with which a person reads and writes records."""
        return frozenset(_SCOPES[: self.rank + 1])

    @property
    def rank(self) -> int:
        """The position among the roles, from 0."""
        return _RANKS[self]


_RANKS = {each: number for number, each in enumerate(ConsoleRole)}
_SCOPES = (Scope.RECORDS_READ, Scope.RECORDS_WRITE, Scope.ADMIN)


class Login(msgspec.Struct, frozen=True):
    """A person who may log in, with a role and its companies; None for all."""

    subject: str
    role: ConsoleRole
    companies: frozenset[str] | None

    @property
    def by(self) -> str:
        """The subject in the change log and in the audit log."""
        return f"console:{self.subject}"

    @property
    def listed(self) -> str:
        """Role and companies in one line."""
        companies = "all" if self.companies is None else ",".join(sorted(self.companies))
        return f"{self.role} companies={companies}"


class LoginPolicy(msgspec.Struct, frozen=True):
    """The login of people through an issuer, which knows this service as a client.

    `secret_file` contains the secret of this client, blank if it has none. `roles` are what values
    of the issuer's roles claim are mapped to; a user without any cannot log in. `scopes` are those
    that this service asks for beside `openid`.
    """

    client_id: str
    secret_file: str
    roles: Mapping[str, ConsoleRole]
    scopes: tuple[str, ...] = ()

    @property
    def listed(self) -> list[str]:
        """The options of the command that adds an issuer."""
        return [
            f"console-client-id={self.client_id}",
            *([f"console-secret-file={self.secret_file}"] if self.secret_file else []),
            *[f"console-role={value}={role}" for value, role in self.roles.items()],
            *[f"console-scope={scope}" for scope in self.scopes],
        ]


class IssuerPolicy(msgspec.Struct, frozen=True):
    """The tokens of an issuer that are accepted, and the meaning of their claims.

    `scopes` and `roles` are what the values of its claims are mapped to. `companies` contains ids
    as lower-case Guids; None means every company, and with a `companies_claim`, that names them.
    `required` has the value that each of some claims must have. `refreshed` counts how often the
    operator has asked for new keys. `login` is None if nobody logs in with it.
    """

    audience: str
    algorithms: tuple[str, ...]
    scope_claim: str
    roles_claim: str
    scopes: Mapping[str, tuple[Scope, ...]]
    roles: Mapping[str, tuple[str, ...]]
    companies_claim: str
    companies: tuple[str, ...] | None
    required: Mapping[str, str]
    refreshed: int = 0
    login: LoginPolicy | None = msgspec.field(default=None, name="console")

    @property
    def listed(self) -> list[str]:
        """The options of the command that adds an issuer."""
        mapped = [*self.scopes.items(), *self.roles.items()]
        companies = (EVERY_COMPANY,) if self.companies is None else self.companies
        return [
            f"audience={self.audience}",
            f"algorithms={','.join(self.algorithms)}",
            f"scope-claim={self.scope_claim}",
            f"roles-claim={self.roles_claim}",
            *[f"map={value}={each}" for value, names in mapped for each in names],
            *([f"companies-claim={self.companies_claim}"] if self.companies_claim else []),
            *[f"company={each}" for each in companies],
            *[f"require={name}={value}" for name, value in self.required.items()],
            *(self.login.listed if self.login else []),
        ]


class Issuer(msgspec.Struct, frozen=True):
    """An outside issuer: `url` is the `iss` of its tokens, `name` begins their subjects here."""

    name: str
    url: str
    terms: IssuerPolicy


class RegistrySnapshot(msgspec.Struct, frozen=True, eq=False, dict=True):
    """The control tables as a process knows them, in one of their versions."""

    version: int
    clients: Mapping[str, Client]
    """By id."""
    roles: Roles
    revoked: frozenset[str]
    """The ids (`jti`) of revoked tokens."""
    issuers: Mapping[str, Issuer]
    """By URL."""

    @cached_property
    def by_name(self) -> Mapping[str, Client]:
        """The clients by name, which is unique."""
        return {each.name: each for each in self.clients.values()}

    def next_end(self, now: float) -> float:
        """When the next active client is without a valid secret and key; 0 if none ever is."""
        active = (each for each in self.clients.values() if each.state is ClientState.ACTIVE)
        return min((each.ends_at for each in active if each.ends_at > now), default=0)


class Registry(Protocol):
    """The clients, as this process knows them."""

    @property
    def known(self) -> RegistrySnapshot | None:
        """The last known state, up to a second old; None if that is too old to judge by."""

    @property
    def revoked(self) -> frozenset[str]:
        """The ids (`jti`) of tokens that were revoked when that was last known."""

    async def refresh(self) -> RegistrySnapshot:
        """The current state; raises `Refusal` (503) if the database does not answer."""


class WritableRegistry(Registry, Protocol):
    """A registry that also stores which tokens are revoked, and which assertions were used."""

    async def revoke(self, jti: str, expires_at: int, party: str, actor: Actor) -> None:
        """Revoke the token with this id, which ends at a time in epoch seconds.

        `party` is whom it was given to.
        """

    async def use_assertion(self, client_id: str, jti: str, expires_at: int) -> bool:
        """Whether a client uses an assertion for the first time; it ends in epoch seconds."""
