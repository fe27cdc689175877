"""Logins of people through an outside issuer: the code flow of OpenID Connect, with PKCE."""

import asyncio
import base64
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import quote_plus, urlencode

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from comptoir.auth.issuers import BASIC, OPENID, LoginEndpoints, OutsideIssuers
from comptoir.auth.origins import redirect_uri
from comptoir.auth.records import Issuer, Login, LoginPolicy, Registry
from comptoir.auth.verification import CLOCK_SKEW, MAX_TOKEN_BYTES
from comptoir.errors.messages import quoted
from comptoir.features.console import errors
from comptoir.features.console.logins import CODE_SECONDS, new_secret
from comptoir.outgoing import OutgoingError, PostAnswer, PostForm

LONGEST_CODE = 2_048
"""The most characters of a code that an issuer gives."""

_LONGEST_SECRET = 4_096
_OK = 200
_ERROR = re.compile(r"[a-z_]{1,40}")
_PENDING = re.compile(r"([0-9]{1,12})\.([\w-]{22})\.([0-9a-f]{64}|)", re.ASCII)


class PendingLogin(Struct, frozen=True):
    """A login that waits for its user to come back from the issuer with a name, to `back`.

    Only the browser has the secret, from which all that the issuer sees of the login is derived. So
    any process can finish the login, and no other browser and no other issuer can.

    `former` is the digest of the session that the browser has when the login begins, blank without
    one: on the way back from the issuer's site, the browser does not send its cookie.
    """

    issuer: Issuer
    policy: LoginPolicy
    back: str
    begun_at: int
    secret: str
    former: str

    def resumed(self, text: str, now: int) -> "PendingLogin | None":
        """The one with this `text`; None if it is malformed or has ended."""
        found = _PENDING.fullmatch(text)
        # another host, whose clock is ahead, may have begun it
        if found is None or not -CLOCK_SKEW <= now - int(found[1]) < CODE_SECONDS:
            return None
        return replace(self, begun_at=int(found[1]), secret=found[2], former=found[3])

    @property
    def text(self) -> str:
        """The value of the cookie."""
        return f"{self.begun_at}.{self.secret}.{self.former}"

    def derived(self, purpose: Literal["state", "nonce", "verifier"]) -> str:
        """A text that nobody can derive without the secret.

        The user brings back the `state` (RFC 6749, 4.1.1), the ID token contains the `nonce`, and
        the `verifier` proves to the issuer that this login has asked for a code (RFC 7636, 4.1).
        """
        text = f"{purpose} {self.begun_at} {self.issuer.name} {self.former}"
        return _base64url(hmac.digest(self.secret.encode(), text.encode(), "sha256"))


class _TokenAnswer(Struct, frozen=True):
    id_token: str = ""
    error: str = ""


class CodeFlow:
    """Sends users to issuers, and finds out who comes back; for use in one event loop only."""

    def __init__(self, registry: Registry, post: PostForm, issuers: OutsideIssuers) -> None:
        self._registry = registry
        self._post = post
        self._issuers = issuers

    @property
    def choices(self) -> Sequence[str]:
        """The names of the issuers with a login; none while the database is away."""
        known = self._registry.known
        issuers = () if known is None else known.issuers.values()
        return sorted(each.name for each in issuers if each.terms.login is not None)

    async def begun(self, name: str, origin: str, now: int, former: str) -> PendingLogin:
        """A login with an issuer that begins now, at an own origin.

        Raises `Refusal` (404) if users do not log in with it, and 503 while the database is away.
        """
        known = self._registry.known or await self._registry.refresh()
        for each in known.issuers.values():
            if each.name == name and each.terms.login is not None:
                back = redirect_uri(origin, name)
                return PendingLogin(each, each.terms.login, back, now, new_secret(), former)
        raise errors.NO_LOGIN()

    async def address(self, pending: PendingLogin) -> str:
        """The address where the user logs in; raises `OutgoingError`."""
        endpoint = (await self._issuers.endpoints(pending.issuer)).authorization_endpoint
        verifier = pending.derived("verifier").encode()
        query = urlencode(
            {
                "response_type": "code",
                "client_id": pending.policy.client_id,
                "redirect_uri": pending.back,
                "scope": " ".join((OPENID, *pending.policy.scopes)),
                "state": pending.derived("state"),
                "nonce": pending.derived("nonce"),
                "code_challenge": _base64url(hashlib.sha256(verifier).digest()),
                "code_challenge_method": "S256",
            }
        )
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{query}"

    async def user(self, pending: PendingLogin, code: str, iss: str) -> Login:
        """The user who has returned with a code and the `iss` of RFC 9207, or a blank.

        Raises `OutgoingError`, `Refusal` for an ID token that is not valid, and `NoRoleError`.
        """
        issuer, policy = pending.issuer, pending.policy
        document = await self._issuers.endpoints(issuer)
        is_named = iss or document.authorization_response_iss_parameter_supported
        if is_named and iss != issuer.url:
            raise OutgoingError("the answer does not name this issuer (iss)")
        sent = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": pending.back,
            "code_verifier": pending.derived("verifier"),
        }
        fields, authorization = await _authenticated(sent, policy, document)
        answer = await self._post(document.token_endpoint, fields, authorization)
        id_token = _id_token(answer, document.token_endpoint)
        nonce = pending.derived("nonce")
        return await self._issuers.user(id_token, issuer, policy, nonce, pending.begun_at)


async def _authenticated(
    fields: Mapping[str, str], policy: LoginPolicy, document: LoginEndpoints
) -> tuple[Mapping[str, str], str]:
    """The fields of a form of the client, and its `Authorization` (RFC 6749, 2.3.1)."""
    named = {**fields, "client_id": policy.client_id}
    if not policy.secret_file:
        return named, ""
    secret = await asyncio.to_thread(_secret_in, policy.secret_file)
    if BASIC not in document.token_endpoint_auth_methods_supported:
        return {**named, "client_secret": secret}, ""
    credentials = f"{quote_plus(policy.client_id)}:{quote_plus(secret)}"
    return fields, f"Basic {base64.b64encode(credentials.encode()).decode()}"


def _secret_in(file: str) -> str:
    try:
        with Path(file).open(encoding="utf-8") as opened:
            secret = opened.read(_LONGEST_SECRET).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise OutgoingError(f"the secret in {quoted(file)} is unreadable") from error
    if not secret:
        raise OutgoingError(f"the secret in {quoted(file)} is blank")
    return secret


def _id_token(answer: PostAnswer, endpoint: str) -> str:
    """The ID token of an answer; raises `OutgoingError`, which has no part of a token."""
    try:
        found = msgspec.json.decode(answer.body, type=_TokenAnswer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = _TokenAnswer()
    if answer.status != _OK:
        error = f" ({found.error})" if _ERROR.fullmatch(found.error) else ""
        raise OutgoingError(f"{quoted(endpoint)} responded with status {answer.status}{error}")
    if not found.id_token:
        raise OutgoingError(f"{quoted(endpoint)} responded without an ID token")
    if len(found.id_token) > MAX_TOKEN_BYTES:
        raise OutgoingError(
            f"{quoted(endpoint)} responded with an ID token of more than {MAX_TOKEN_BYTES} bytes"
        )
    return found.id_token


def _base64url(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
