"""How current a read must be: the headers that let it be answered by a replica.

`Data-Access-Intent` is Business Central's. `Consistency-Token` is this service's own: every answer
to a write carries one, and a read that sends it back sees that write.
"""

import re
from typing import Literal

import msgspec

from comptoir.errors import BAD_REQUEST, Refusal
from comptoir.request.headers import Headers

INTENT, TOKEN = "Data-Access-Intent", "Consistency-Token"

_INTENT, _TOKEN = INTENT.lower().encode(), TOKEN.lower().encode()

ACCESS = (_INTENT, _TOKEN)
"""The headers as `Headers` has them."""

_FORM = re.compile(rb"\s*([0-9a-f]{1,32})\.([0-9]{1,18})\s*")

Intent = Literal["readonly", "readwrite"]


class Seen(msgspec.Struct, frozen=True):
    """The state that a token stands for: a company's, after its change with this number."""

    incarnation: str
    number: int


class Access(msgspec.Struct, frozen=True):
    """What a client says of its access: whether it reads alone, and what its reads must show."""

    intent: Intent | None
    seen: Seen | None

    @property
    def may_lag(self) -> bool:
        """Whether a read may be answered by a replica that is far enough."""
        if self.intent is None:
            return self.seen is not None
        return self.intent == "readonly"

    def is_of(self, incarnation: str) -> bool:
        """Whether the token, if there is one, is of this incarnation of a company."""
        return self.seen is None or self.seen.incarnation == incarnation


def access(headers: Headers) -> Access | None:
    """Read the headers, None when neither is sent; raises `Refusal` (400) for nonsense."""
    intent, token = headers.get(_INTENT), headers.get(_TOKEN)
    if intent is None and token is None:
        return None
    return Access(
        None if intent is None else _intent(intent), None if token is None else _seen(token)
    )


def _intent(sent: bytes) -> Intent:
    known = sent.strip().lower()
    if known == b"readonly":
        return "readonly"
    if known == b"readwrite":
        return "readwrite"
    raise Refusal(
        BAD_REQUEST,
        f"{INTENT} must be ReadOnly or ReadWrite, not {sent.decode('latin-1')[:40]!r}.",
        target=INTENT,
    )


def _seen(sent: bytes) -> Seen:
    match = _FORM.fullmatch(sent)
    if match is None:
        raise Refusal(
            BAD_REQUEST,
            f"{TOKEN} must be the one of an answer to a write, as it was received, not "
            f"{sent.decode('latin-1')[:40]!r}. Without it a read is answered by the primary "
            "database.",
            target=TOKEN,
        )
    return Seen(match[1].decode(), int(match[2]))
