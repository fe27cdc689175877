"""Failed authentications on their way to the audit log."""

import asyncio
import base64
import binascii
import time
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from comptoir.auth.audit import Act, ActName, Actor
from comptoir.auth.guesses import Guesses
from comptoir.edm.times import Clock
from comptoir.edm.types import is_guid
from comptoir.errors.refusal import Refusal

FREE_ENTRIES = 20
"""The entries of an address in a minute after which it gets the next one only after a wait."""

MOST_WAITING = 1_000
"""The most failures in memory, while they cannot be written; later ones are dropped."""

MOST_CHARACTERS = 200
"""The most characters of what a request sent, and of a reason."""

MOST_OF_OTHERS = 8
"""The most characters of what was sent as the id of a client and is not a Guid."""


class _Named(msgspec.Struct, frozen=True):
    """The claims of a token that name its issuer and its client; both are not verified."""

    iss: str = ""
    client_id: str = ""


class Failures:
    """Failed authentications, each an entry of the audit log, which no address can flood."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._noted = Guesses(clock, FREE_ENTRIES)
        self._acts: list[Act] = []

    def note(self, target: str, address: str, reason: str, request: str) -> None:
        """Note a failure of what claims to be `target`, in the request with this id.

        Does nothing while the address has to wait, as in `Guesses`.
        """
        if self._noted.wait("", address) or len(self._acts) >= MOST_WAITING:
            return
        self._noted.note("", address)
        actor, detail = Actor("", _readable(address), request), f"reason={_readable(reason)}"
        self._acts.append(Act(actor, ActName.AUTHENTICATION_FAILED, _readable(target), detail))

    async def write(self, record: Callable[[Sequence[Act]], Awaitable[None]]) -> None:
        """Record what was noted. What is refused is raised, and the next call repeats it."""
        if not self._acts:
            return
        acts, self._acts = self._acts, []
        try:
            await record(acts)
        except (Refusal, asyncio.CancelledError):
            # after a cancellation, the log may have them twice, which is better than never
            self._acts = [*acts, *self._acts]
            raise


def sent_as_id(client_id: str) -> str:
    """What a client sent as its id; of what no client has as its id, the beginning.

    The rest may be a secret, sent in the wrong place.
    """
    if is_guid(client_id) or len(client_id) <= MOST_OF_OTHERS:
        return client_id
    return f"{client_id[:MOST_OF_OTHERS]}…"


def sent_by(authorization: bytes) -> str:
    """The issuer and the client that a bearer token names, as far as it can be read."""
    _, _, token = authorization.partition(b" ")
    _, _, rest = token.strip().partition(b".")
    payload = rest.partition(b".")[0]
    try:
        decoded = base64.urlsafe_b64decode(payload + b"=" * (-len(payload) % 4))
        named = msgspec.json.decode(decoded, type=_Named)
    except (binascii.Error, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    return f"{named.iss} {named.client_id}".strip()


def _readable(text: str) -> str:
    """The beginning of a text, in which U+FFFD replaces what cannot be printed or stored."""
    return "".join([each if each.isprintable() else "\ufffd" for each in text[:MOST_CHARACTERS]])
