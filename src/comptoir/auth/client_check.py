"""The authentication of clients, by a secret or by an assertion."""

import base64
import binascii
import hmac
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeGuard
from urllib.parse import unquote_plus

import msgspec

from comptoir.auth.assertions import ASSERTION_TYPE, Assertion, parse_assertion
from comptoir.auth.failures import Failures, Guesses, sent_as_id
from comptoir.auth.origins import audiences_at
from comptoir.auth.records import (
    Client,
    ClientState,
    RegistrySnapshot,
    WritableRegistry,
    secret_digest,
)
from comptoir.config import Settings
from comptoir.edm.times import Clock
from comptoir.errors import oauth_rows as problems
from comptoir.errors.refusal import OAuthRefusal
from comptoir.errors.table import SLOW_DOWN

MOST_SECRETS = 2
"""The most secrets of a client: one in use, and its successor."""

_CHALLENGE = {"WWW-Authenticate": 'Basic realm="comptoir"'}


class TokenRequest(msgspec.Struct, frozen=True):
    """A request of a client: its form, its `Authorization`, and where it was sent.

    `address` is that of the client, `request` the id of the request in the log. `by_name`: the name
    of a client, which no other has, may take the place of its id.
    """

    form: Mapping[str, str]
    authorization: str | None
    origin: str
    tenant: str
    address: str
    request: str
    by_name: bool = False


class SentSecret(msgspec.Struct, frozen=True):
    """A secret that a client sent. `is_basic`: in the header, not in the form."""

    client_id: str
    text: str
    is_basic: bool


@dataclass(slots=True, eq=False)
class ClientCheck:
    """Authenticates the clients of a registry."""

    registry: WritableRegistry
    settings: Settings
    failures: Failures
    clock: Clock = time.time
    _guesses: Guesses = field(default_factory=Guesses)

    async def client(self, asked: TokenRequest) -> tuple[Client, RegistrySnapshot]:
        """The client of a request, and what is known.

        Raises `OAuthRefusal`: 401 `invalid_client` without usable credentials, alike for clients
        that are unknown or disabled and for wrong credentials; 429 after too many of these.
        """
        try:
            sent = _credentials(asked.form, asked.authorization)
        except OAuthRefusal as error:
            if self.registry.known is not None:
                clients = self.registry.known.clients
                error.client = _name(clients.get(asked.form.get("client_id", "")))
            raise
        # a client that was added a moment ago is known, and one that was disabled is refused
        known = await self.registry.refresh()
        client = known.clients.get(sent.client_id)
        if client is None and asked.by_name:
            client = known.by_name.get(sent.client_id)
        # a client has as many guesses by its name and by its id together
        claimed = sent.client_id if client is None else client.id
        # nothing is awaited from here to a verdict, so that no guess overtakes another
        try:
            if wait := self._guesses.wait(claimed, asked.address):
                raise problems.TOO_MANY_FAILURES(headers={"Retry-After": str(wait)})
            if isinstance(sent, SentSecret):
                return self._by_secret(client, sent), known
            return await self._by_assertion(client, sent, asked), known
        except OAuthRefusal as error:
            error.client = _name(client)
            if error.error is not SLOW_DOWN:
                self._guesses.note(claimed, asked.address)
                error.reason = _why_refused(client, error)
                target = sent_as_id(claimed)
                self.failures.note(target, asked.address, error.reason, asked.request)
            raise

    def _by_secret(self, client: Client | None, sent: SentSecret) -> Client:
        digest, known = secret_digest(sent.text), () if client is None else client.secrets
        found = (each for each in known if hmac.compare_digest(digest, each.digest))
        secret = next(found, None)
        has_expired = secret is not None and secret.expires_at <= self.clock()
        if secret is None or has_expired or not _is_active(client):
            row = problems.EXPIRED_SECRET if has_expired else problems.WRONG_SECRET
            raise row(headers=_CHALLENGE if sent.is_basic else {})
        return client

    async def _by_assertion(
        self, client: Client | None, sent: Assertion, asked: TokenRequest
    ) -> Client:
        now = self.clock()
        sent.check(audiences_at(asked.origin, asked.tenant, self.settings), now)
        is_genuine = client is not None and sent.is_signed_by(client, now)
        if not is_genuine or not _is_active(client):
            raise problems.WRONG_KEY()
        if not await self.registry.use_assertion(
            client.id, sent.claims.jti, math.ceil(sent.claims.exp)
        ):
            raise problems.USED_BEFORE()
        return client


def _credentials(form: Mapping[str, str], authorization: str | None) -> SentSecret | Assertion:
    """The credentials of a request: a secret, in its form or as Basic, or an assertion.

    Raises `OAuthRefusal`: `invalid_client` without credentials of a form that is known, and
    `invalid_request` with more than one kind (RFC 6749, 2.3 and 5.2).
    """
    client_id, secret = form.get("client_id"), form.get("client_secret")
    assertion = form.get("client_assertion")
    if (authorization, secret, assertion).count(None) < 2:
        raise problems.SEVERAL_CREDENTIALS()
    if assertion is not None:
        if form.get("client_assertion_type") != ASSERTION_TYPE:
            raise problems.UNKNOWN_ASSERTION_TYPE(type=ASSERTION_TYPE)
        return parse_assertion(assertion, client_id)
    if authorization is not None:
        sent = _basic(authorization)
        if client_id not in (None, sent.client_id):
            raise problems.SEVERAL_IDS()
        return sent
    if client_id is None or secret is None:
        raise problems.NO_CREDENTIALS()
    return SentSecret(client_id, secret, is_basic=False)


def _basic(authorization: str) -> SentSecret:
    scheme, _, encoded = authorization.partition(" ")
    try:
        if scheme.lower() != "basic":
            raise ValueError
        text = base64.b64decode(encoded.strip(), validate=True).decode()
        client_id, colon, secret = text.partition(":")
        if not colon:
            raise ValueError
        return SentSecret(
            unquote_plus(client_id, errors="strict"),
            unquote_plus(secret, errors="strict"),
            is_basic=True,
        )
    except (ValueError, binascii.Error):
        raise problems.NOT_BASIC(headers=_CHALLENGE) from None


def _is_active(client: Client | None) -> TypeGuard[Client]:
    return client is not None and client.state is ClientState.ACTIVE


def _name(client: Client | None) -> str:
    """The name of a client in the logs; blank for an unknown one."""
    return "" if client is None else client.party


def _why_refused(client: Client | None, refusal: OAuthRefusal) -> str:
    """Why a client has not been authenticated, which only the operator learns."""
    if client is None:
        return "The client is unknown"
    if client.state is not ClientState.ACTIVE:
        return "The client is disabled"
    return refusal.reason
