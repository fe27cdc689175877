"""Outside issuers: their keys, their tokens, and what the claims of these give here."""

import asyncio
import hmac
import logging
import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from math import ceil, inf
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec
from joserfc.errors import JoseError
from joserfc.util import urlsafe_b64decode
from msgspec import UNSET, Struct, UnsetType

from comptoir.auth.keys import KEY_TYPES, MIN_RSA_BITS, VerificationKey
from comptoir.auth.records import Issuer, IssuerPolicy, Login, LoginPolicy
from comptoir.auth.roles import Principal
from comptoir.auth.tokens import NumericDate, RegisteredClaims, Scope, scope_names
from comptoir.auth.verification import (
    CLOCK_SKEW,
    PresentedToken,
    check_audience,
    check_times,
    invalid_token,
    parsed_claims,
)
from comptoir.edm.times import Clock
from comptoir.edm.types import is_guid
from comptoir.errors import refusal_rows as rows
from comptoir.errors.messages import quoted
from comptoir.outgoing import Fetch, OutgoingError

MOST_KEYS = 100
"""The most keys of an issuer."""

SHORTEST_FRESH, USUALLY_FRESH, LONGEST_FRESH = 300.0, 3_600.0, 86_400.0
"""Bounds of the seconds for which keys are not fetched again, and the default."""

FETCH_SECONDS = 10.0
"""The longest time for the documents of an issuer together, which requests may wait for."""

RETRY_SECONDS = 30.0
"""Seconds until the next fetch after one that failed, or that an unknown key has caused."""

_MAX_RSA_BITS = 8192
_CURVES = {"EC": ("P-256", "P-384", "P-521"), "OKP": ("Ed25519", "Ed448")}
_MEMBERS = ("kty", "alg", "n", "e", "crv", "x", "y")
_MAX_AGE = re.compile(r"(?:^|[,\s])max-age\s*=\s*\"?([0-9]{1,9})", re.ASCII | re.IGNORECASE)

_log = logging.getLogger(__name__)

Kind = TypeVar("Kind", bound=Struct)


class _Discovery(Struct, frozen=True):
    """The members of a discovery document that are needed (OpenID Connect Discovery, 3)."""

    issuer: str
    jwks_uri: str


class _KeySet(Struct, frozen=True):
    keys: tuple[msgspec.Raw, ...]


class _Key(Struct, frozen=True):
    """The members of a public key (RFC 7517, 4, and RFC 7518, 6)."""

    kid: str
    kty: str
    use: str = "sig"
    key_ops: tuple[str, ...] = ("verify",)
    alg: str = ""
    crv: str = ""
    n: str = ""
    e: str = ""
    x: str = ""
    y: str = ""


class FetchedKeys(Struct, frozen=True):
    """The usable keys of an issuer by `kid`, the seconds for which they are fresh, its document."""

    keys: Mapping[str, VerificationKey]
    seconds: float
    document: bytes


async def fetch_keys(issuer: str, fetch: Fetch, seconds: float = FETCH_SECONDS) -> FetchedKeys:
    """The keys of an issuer; raises `OutgoingError` with what is wrong."""
    address = _discovery_address(issuer)
    try:
        async with asyncio.timeout(seconds):
            content = (await fetch(address)).content
            discovery = _decoded(content, _Discovery, address)
            if discovery.issuer != issuer:
                raise OutgoingError(
                    f"{quoted(address)} is the document of the issuer {quoted(discovery.issuer)}"
                )
            document = await fetch(discovery.jwks_uri)
    except TimeoutError:
        raise OutgoingError(
            f"{quoted(issuer)} did not send its discovery document and its keys within "
            f"{seconds:g} seconds"
        ) from None
    found = _decoded(document.content, _KeySet, discovery.jwks_uri).keys
    if len(found) > MOST_KEYS:
        raise OutgoingError(f"{quoted(discovery.jwks_uri)} has more than {MOST_KEYS} keys")
    keys = dict(pair for each in found if (pair := _usable(each)) is not None)
    if not keys:
        raise OutgoingError(
            f"{quoted(discovery.jwks_uri)} has no key for signatures of a sufficient size"
        )
    return FetchedKeys(keys, _fresh_seconds(document.cache_control), content)


def _discovery_address(issuer: str) -> str:
    return f"{issuer.removesuffix('/')}/.well-known/openid-configuration"


_NOTHING = FetchedKeys({}, 0.0, b"")

NoteFetch = Callable[[str, str], None]
"""Called with the URL of an issuer and the outcome of a fetch: success or failed."""


@dataclass(slots=True, eq=False)
class IssuerKeys:
    """The keys and the document of one issuer; for use in one event loop only.

    `keys_changed` is called when the issuer has other keys than before, and `note_fetch` with the
    issuer and the outcome of each fetch.
    """

    issuer: str
    fetch: Fetch
    stale_seconds: float
    keys_changed: Callable[[], None]
    clock: Clock = time.monotonic
    note_fetch: NoteFetch = lambda *_: None
    _found: FetchedKeys = _NOTHING
    _failure: str = ""
    _refreshed: int | None = None
    _fresh_until: float = -inf
    _believed_until: float = -inf
    _retry_at: float = -inf
    _fetching: asyncio.Task[None] | None = None

    @property
    def seconds_left(self) -> float:
        """The seconds for which a token of a known key need not be compared with the keys."""
        now = self.clock()
        until = self._fresh_until if now < self._fresh_until else self._retry_at
        return min(until, self._believed_until) - now

    async def key(self, kid: str, refreshed: int) -> VerificationKey:
        """The key with a name.

        Another number of `refreshed` than in the last call asks for new keys. Raises `Refusal`: 401
        for an unknown key, 503 if the issuer has been away for too long.
        """
        await self._keep_fresh(kid, refreshed)
        now = self.clock()
        if now >= self._believed_until:
            seconds = max(1, ceil(self._retry_at - now))
            raise rows.UNREACHABLE_ISSUER("Authorization", seconds=seconds)
        key = self._found.keys.get(kid)
        if key is None:
            raise invalid_token(rows.FOREIGN_KEY)
        return key

    async def document(self, refreshed: int) -> bytes:
        """The discovery document, as old as the keys; `refreshed` as for a key.

        Raises `OutgoingError` if the issuer has been away for too long.
        """
        await self._keep_fresh(None, refreshed)
        if self.clock() >= self._believed_until:
            raise OutgoingError(self._failure)
        return self._found.document

    async def stop(self) -> None:
        """Cancel a fetch."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.wait((self._fetching,))

    async def _keep_fresh(self, kid: str | None, refreshed: int) -> None:
        """Fetch the keys if that is due, and wait for them if the request needs them."""
        if self._fetching is not None and self._needs(kid):
            # it may have begun before the issuer had the key; a client that disconnects does not
            # end it, since others may wait for it
            await asyncio.shield(self._fetching)
        now = self.clock()
        is_asked_for = self._refreshed is not None and refreshed != self._refreshed
        self._refreshed = refreshed
        is_needed = is_asked_for or self._needs(kid)
        may_begin = is_asked_for or now >= self._retry_at
        if self._fetching is None and may_begin and (is_needed or now >= self._fresh_until):
            if now < self._believed_until and self._needs(kid):
                self._retry_at = now + RETRY_SECONDS
            self._fetching = asyncio.create_task(self._fetch_keys())
        if self._fetching is not None and is_needed:
            await asyncio.shield(self._fetching)

    def _needs(self, kid: str | None) -> bool:
        is_unknown = kid is not None and kid not in self._found.keys
        return is_unknown or self.clock() >= self._believed_until

    async def _fetch_keys(self) -> None:
        try:
            fetched = await fetch_keys(self.issuer, self.fetch)
        except OutgoingError as error:
            _log.warning("the keys of the issuer %s were not fetched: %s", self.issuer, error)
            self.note_fetch(self.issuer, "failed")
            self._failure = str(error)
            self._retry_at = self.clock() + RETRY_SECONDS
        else:
            self.note_fetch(self.issuer, "success")
            former, self._found = self._found, fetched
            self._fresh_until = self.clock() + fetched.seconds
            self._believed_until = self._fresh_until + self.stale_seconds
            if former.keys != fetched.keys:
                self.keys_changed()
        finally:
            self._fetching = None


def _usable(encoded: msgspec.Raw) -> tuple[str, VerificationKey] | None:
    """The name of a key and the key; None if it does not verify signatures, or not safely."""
    try:
        found = msgspec.json.decode(encoded, type=_Key)
        if found.use != "sig" or "verify" not in found.key_ops or not _is_safe(found):
            return None
        members = {name: value for name in _MEMBERS if (value := getattr(found, name))}
        return found.kid, KEY_TYPES[found.kty].import_key(members)
    except (JoseError, ValueError, RecursionError):
        return None


def _is_safe(key: _Key) -> bool:
    if key.kty != "RSA":
        return key.crv in _CURVES.get(key.kty, ())
    # joserfc only warns of a short one
    bits = int.from_bytes(urlsafe_b64decode(key.n.encode())).bit_length()
    return MIN_RSA_BITS <= bits <= _MAX_RSA_BITS


def _decoded(content: bytes, kind: type[Kind], address: str) -> Kind:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise OutgoingError(
            f"{quoted(address)} is not the document of an issuer: {error}"
        ) from error


def _fresh_seconds(cache_control: str) -> float:
    found = _MAX_AGE.search(cache_control)
    seconds = USUALLY_FRESH if found is None else float(found[1])
    return min(max(seconds, SHORTEST_FRESH), LONGEST_FRESH)


OPENID = "openid"
"""The scope that makes a request one of OpenID Connect."""

BASIC = "client_secret_basic"
"""The usual way by which a client sends its secret to an issuer."""

RESERVED_NAMES = frozenset({"client", "console", "cli"})
"""The beginnings of subjects that are not of an issuer."""

_OF_ID_TOKENS = ("nonce", "at_hash", "c_hash", "s_hash")
"""Claims that access tokens do not have (OpenID Connect Core, 2 and 3)."""


_BY_NAME = frozenset({Scope.RECORDS_READ, Scope.RECORDS_WRITE})
"""The scopes that a token has by their names; other issuers may mean something else by the rest."""


class NoRoleError(Exception):
    """A person has no role, for a reason that concerns the operator."""


class _IdClaims(RegisteredClaims, frozen=True, kw_only=True):
    """The claims of an ID token (OpenID Connect Core, 2)."""

    iat: NumericDate
    nonce: str
    azp: str | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class OutsideToken:
    """A token of an outside issuer: its principal and roles.

    Until `expires_at`, it need not be compared with the keys of its issuer.
    """

    principal: Principal
    roles: frozenset[str] | None
    issuer: Issuer
    expires_at: float


class LoginEndpoints(Struct, frozen=True):
    """The members of a discovery document that concern logins."""

    authorization_endpoint: str
    token_endpoint: str
    # the default of OpenID Connect Discovery, 3
    token_endpoint_auth_methods_supported: tuple[str, ...] = (BASIC,)
    authorization_response_iss_parameter_supported: bool = False


def login_endpoints(issuer: str, content: bytes) -> LoginEndpoints:
    """The members of the discovery document of an issuer for logins; raises `OutgoingError`."""
    document = _decoded(content, LoginEndpoints, _discovery_address(issuer))
    for url in (document.authorization_endpoint, document.token_endpoint):
        if not _is_endpoint(url):
            raise OutgoingError(
                f"the endpoint {quoted(url)} of {quoted(issuer)} is not an https URL, or has a "
                "fragment"
            )
    return document


def _is_endpoint(url: str) -> bool:
    """Whether a URL is one to which a query can be added (RFC 6749, 3.1)."""
    if not url.isascii() or not url.isprintable() or "#" in url:
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme == "https" and bool(parts.hostname)


@dataclass(slots=True, eq=False)
class OutsideIssuers:
    """Verifies the tokens of outside issuers; for use in one event loop only.

    `new_keys` makes the keys of the issuer with a URL. `clock` is that of the tokens.
    """

    new_keys: Callable[[str], IssuerKeys]
    clock: Clock = time.time
    _keys: dict[str, IssuerKeys] = field(default_factory=dict)

    async def verify(self, token: PresentedToken, issuer: Issuer) -> OutsideToken:
        """Verify a token that names an issuer; raises `Refusal` (401, or 503 without keys)."""
        terms = issuer.terms
        kid = token.kid(terms.algorithms)
        keys = self._keys_of(issuer.url)
        payload = token.payload(await keys.key(kid, terms.refreshed))
        registered = parsed_claims(payload, RegisteredClaims)
        check_audience(registered, terms.audience)
        now = self.clock()
        check_times(registered, now, now - CLOCK_SKEW)
        claims = parsed_claims(payload, dict[str, object])
        if any(name in claims for name in _OF_ID_TOKENS):
            raise invalid_token(rows.ID_TOKEN)
        _check_required(claims, terms)
        names = {name for text in _values(claims, terms.scope_claim) for name in scope_names(text)}
        values = names | _values(claims, terms.roles_claim)
        mapped = {scope for value in values for scope in terms.scopes.get(value, ())}
        principal = Principal(
            f"{issuer.name}:{registered.sub}",
            frozenset(names & _BY_NAME | mapped),
            _companies(claims, terms),
        )
        ends = min(registered.exp + CLOCK_SKEW, now + keys.seconds_left)
        return OutsideToken(principal, _roles(values, terms), issuer, ends)

    async def user(
        self, id_token: str, issuer: Issuer, policy: LoginPolicy, nonce: str, begun_at: int
    ) -> Login:
        """The person whom an ID token names; raises `NoRoleError` for other users.

        The login with this nonce has begun in a second since 1970. Raises `Refusal` as `verify`
        does, for what OpenID Connect Core, 3.1.3.7, forbids.
        """
        terms = issuer.terms
        token = PresentedToken(id_token)
        kid = token.kid(terms.algorithms)
        payload = token.payload(await self._keys_of(issuer.url).key(kid, terms.refreshed))
        registered = parsed_claims(payload, _IdClaims)
        fits = {
            "iss": registered.iss == issuer.url,
            # a token for others too could come from one of them
            "aud": registered.aud in (policy.client_id, [policy.client_id]),
            "azp": registered.azp in (UNSET, policy.client_id),
            "nonce": hmac.compare_digest(registered.nonce.encode(), nonce.encode()),
            "iat": registered.iat >= begun_at - CLOCK_SKEW,
        }
        if wrong := [claim for claim, is_fitting in fits.items() if not is_fitting]:
            raise invalid_token(rows.OTHER_LOGIN, claim=wrong[0])
        now = self.clock()
        check_times(registered, now, now - CLOCK_SKEW)
        claims = parsed_claims(payload, dict[str, object])
        _check_required(claims, terms)
        values = _values(claims, terms.roles_claim)
        roles = [policy.roles[value] for value in values if value in policy.roles]
        if not roles:
            found = "its values have no role" if values else "the ID token does not have it"
            raise NoRoleError(f"roles are in the claim {quoted(terms.roles_claim)}, and {found}")
        highest = max(roles, key=lambda role: role.rank)
        return Login(f"{issuer.name}:{registered.sub}", highest, _companies(claims, terms))

    async def endpoints(self, issuer: Issuer) -> LoginEndpoints:
        """The members of the document of an issuer for logins; raises `OutgoingError`."""
        document = await self._keys_of(issuer.url).document(issuer.terms.refreshed)
        return login_endpoints(issuer.url, document)

    async def stop(self) -> None:
        """Cancel the fetches."""
        for each in self._keys.values():
            await each.stop()

    def _keys_of(self, url: str) -> IssuerKeys:
        keys = self._keys.get(url)
        if keys is None:
            keys = self._keys[url] = self.new_keys(url)
        return keys


def _check_required(claims: Mapping[str, object], terms: IssuerPolicy) -> None:
    for name, value in terms.required.items():
        if value not in _values(claims, name):
            raise invalid_token(rows.CLAIM_LACKS_VALUE, claim=name)


def _roles(values: Collection[str], terms: IssuerPolicy) -> frozenset[str] | None:
    """The roles of a token; None if no value gives one, so that the scopes alone decide."""
    if not terms.roles:
        return None
    return frozenset(role for value in values for role in terms.roles.get(value, ()))


def _companies(claims: Mapping[str, object], terms: IssuerPolicy) -> frozenset[str] | None:
    if not terms.companies_claim:
        return None if terms.companies is None else frozenset(terms.companies)
    return frozenset(
        each.lower() for each in _values(claims, terms.companies_claim) if is_guid(each)
    )


def _values(claims: Mapping[str, object], name: str) -> set[str]:
    """The texts of a claim, which may be one text; its name may be a path, such as `a.b`."""
    found = claims.get(name)
    if found is None:
        found = claims
        for step in name.split("."):
            found = found.get(step) if isinstance(found, dict) else None
    if isinstance(found, str):
        return {found}
    return {each for each in found if isinstance(each, str)} if isinstance(found, list) else set()
