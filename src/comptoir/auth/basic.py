"""HTTP Basic (RFC 7617) with the id or the name and a secret of a client, in place of a token."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import TypeGuard

from comptoir import refusal_rows as rows
from comptoir.auth.client_check import ClientCheck, TokenRequest
from comptoir.auth.limits import Limits
from comptoir.auth.principal import Principal
from comptoir.auth.records import Client, RegistrySnapshot
from comptoir.errors import SLOW_DOWN, OAuthRefusal, Refusal, refuse

CACHED_CLIENTS = 10_000


@dataclass(frozen=True, slots=True)
class RequestOrigin:
    """The origin of a request: its address, and whether nobody else reads what it sends.

    `request` is its id in the log.
    """

    address: str
    is_private: bool
    request: str


@dataclass(frozen=True, slots=True)
class _AcceptedLogin:
    """A principal, by what was `known`. As long as it is cached, the account counts."""

    known: RegistrySnapshot
    principal: Principal


class BasicAuthenticator:
    """Authenticates requests by secrets of clients; for use in one event loop only.

    Each request is checked, like one for a token: a guess slows down, and is audited.
    """

    def __init__(self, check: ClientCheck, limits: Limits) -> None:
        self._check = check
        self._limits = limits
        self._accepted: OrderedDict[str, _AcceptedLogin] = OrderedDict()

    async def authenticate(self, authorization: bytes, sender: RequestOrigin) -> Principal:
        """Return the principal of the value of an `Authorization` header.

        Raises `Refusal`: 401 for wrong credentials, or if others may read them; 429 after too many
        wrong ones; 503 if nothing is known of clients.
        """
        if not sender.is_private:
            raise refuse(rows.NOT_PRIVATE, "Authorization")
        text = authorization.decode("latin-1")
        asked = TokenRequest({}, text, "", "", sender.address, sender.request, by_name=True)
        try:
            client, known = await self._check.client(asked)
        except OAuthRefusal as refusal:
            raise _of_api(refusal) from refusal
        accepted = self._accepted.get(client.id)
        if accepted is None or accepted.known is not known:
            accepted = _AcceptedLogin(known, self._principal(client, known))
            self._accepted[client.id] = accepted
            if len(self._accepted) > CACHED_CLIENTS:
                self._accepted.popitem(last=False)
        return accepted.principal

    def _principal(self, client: Client, known: RegistrySnapshot) -> Principal:
        return Principal(
            client.party,
            client.scopes,
            client.companies,
            known.roles.rights_of(client.roles),
            self._limits.account(client.id, client.rate, client.quota),
        )


def is_basic(authorization: bytes | None) -> TypeGuard[bytes]:
    """Whether the value of an `Authorization` header has the scheme Basic."""
    return authorization is not None and authorization[:6].lower() == b"basic "


def _of_api(denial: OAuthRefusal) -> Refusal:
    problem, remedy = denial.problem, denial.remedy
    if denial.error is SLOW_DOWN:
        refusal = refuse(
            rows.TOO_MANY_GUESSES, headers=denial.headers, problem=problem, remedy=remedy
        )
    else:
        refusal = refuse(rows.WRONG_SECRET, "Authorization", problem=problem, remedy=remedy)
    refusal.denial = denial
    return refusal
